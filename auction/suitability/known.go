package suitability

import "encoding/binary"

// knownWords is a set of words of ordinary texts by their hashes. It has false positives: such a
// word is never treated as misspelt.
type knownWords string

func (k knownWords) has(hash uint64) bool {
	if len(k) == 0 {
		return false
	}
	for _, bit := range k.bits(hash) {
		if k[bit/8]>>(bit%8)&1 == 0 {
			return false
		}
	}
	return true
}

// bits returns the bit positions of a word.
func (k knownWords) bits(hash uint64) (bits [4]uint64) {
	n := uint64(len(k)) * 8
	for i := range bits {
		hash = (hash ^ hash>>29) * mix
		bits[i] = (hash >> 32) * n >> 32
	}
	return bits
}

// Words returns the content of words.bin: thresholds, and the words of ordinary texts in a set of
// size bytes.
func Words(thresholds [Outputs]int32, ordinary []string, size int) []byte {
	file := make([]byte, 4*Outputs+size)
	for i, t := range thresholds {
		binary.LittleEndian.PutUint32(file[4*i:], uint32(t))
	}
	set := file[4*Outputs:]
	var t tokens
	for _, text := range ordinary {
		t.read(text)
		for i := range t.list {
			if tok := &t.list[i]; tok.sign || tok.to-tok.from < fewestMended-1 || tok.to-tok.from > longestPart+1 {
				continue // such a word is never mended
			}
			for _, bit := range knownWords(set).bits(t.list[i].hash) {
				set[bit/8] |= 1 << (bit % 8)
			}
		}
	}
	return file
}
