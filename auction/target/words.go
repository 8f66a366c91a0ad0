package target

// appendToken appends the term of a token, if a campaign targets it. Most words of a context are
// not targeted.
func (s *segment) appendToken(ids []uint32, token string) []uint32 {
	if s.words.may(token) {
		if id, ok := s.vocab[dimToken][token]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// wordSet answers whether a word may be in a set, from a bit for a few of its bytes (benchmark row
// auction).
type wordSet [1 << 10]uint64

func wordsOf(vocab map[string]uint32) *wordSet {
	set := new(wordSet)
	for word := range vocab {
		set.add(word)
	}
	return set
}

func (w *wordSet) add(word string) {
	bit := wordBit(word)
	w[bit/64] |= 1 << (bit % 64)
}

func (w *wordSet) may(word string) bool {
	bit := wordBit(word)
	return w[bit/64]&(1<<(bit%64)) != 0
}

// wordBit mixes the length and four bytes.
func wordBit(word string) uint32 {
	n := len(word)
	if n == 0 {
		return 0
	}
	h := uint32(word[0]) | uint32(word[n/3])<<8 | uint32(word[n/2])<<16 | uint32(word[n-1])<<24
	return (h ^ uint32(n)*0x85ebca6b) * 0x9e3779b1 >> 16
}
