package suitability

import (
	"math"
	"slices"
	"unicode/utf8"
)

// vocabulary holds the words of the rules for lookup. It is immutable.
type vocabulary struct {
	exact   hashTable // by the hash of a word: its item, with [joinable]
	stems   stems     // at the beginning of words
	tails   stems     // within words and at their end
	slips   []uint32  // mended words by their hash, and by their hash without one letter
	letters []uint16  // of the mended words, concatenated
	begins  []uint32  // start of each
	sizes   [longestPart + 1][]uint16
	known   knownWords // words of ordinary texts, which are never treated as misspelt
}

// joinable marks words to which others may be joined.
const joinable = 1 << 31

// item returns the item of a word, or 0.
func (v *vocabulary) item(hash uint64) uint32 { return v.exact.get(hash) &^ joinable }

// mended returns the letters of a mended word.
func (v *vocabulary) mended(id uint16) []uint16 { return v.letters[v.begins[id]:v.begins[id+1]] }

// stem is the fixed part of `word*`, `*word` or `*word*`.
type stem struct {
	letters    []rune
	open, shut bool // the word may have letters before it, or after it
	item       uint32
}

// stemKey is the number of letters by which a stem is looked up.
const stemKey = 3

// part reports whether other words may be joined to the word with this hash.
func (v *vocabulary) part(hash uint64) bool { return v.exact.get(hash)&joinable != 0 }

// Bounds of mended words.
const (
	fewestMended = 4 // letters
	fewestMasked = 4
)

// near returns the word of the rules within one slip of letters: one letter added, missing or
// replaced, or two neighbours swapped.
func (v *vocabulary) near(letters []rune, hash uint64, steps *int) (word []uint16, ok bool) {
	if len(letters) < fewestMended-1 || len(letters) > longestPart+1 {
		return nil, false
	}
	if word := v.slipped(letters, hash, oneSlip, steps); word != nil {
		return word, true
	}
	for i := range letters {
		*steps += 2
		if word := v.slipped(letters, hashWithout(letters, i), oneSlip, steps); word != nil {
			return word, true
		}
	}
	return nil, false
}

// slipped returns a word with this hash that fits letters, or nil.
func (v *vocabulary) slipped(letters []rune, hash uint64, fits fitting, steps *int) []uint16 {
	at, mark := slipPlace(hash, len(v.slips))
	for ; v.slips[at] != 0; at = (at + 1) % len(v.slips) {
		*steps++
		if v.slips[at]&^maxMended != mark {
			continue
		}
		if word := v.mended(uint16(v.slips[at])); fits(word, letters) {
			return word
		}
	}
	return nil
}

// fitting reports whether letters may stand for a word of the rules.
type fitting func(word []uint16, letters []rune) bool

// maxMended is the maximum number of mended words: their number fits in the low bits of a slot.
const maxMended = 1<<16 - 1

// slipPlace returns the slot of a hash, and the mark of its entries.
func slipPlace(hash uint64, slots int) (at int, mark uint32) {
	return int((hash * mix >> 32) * uint64(slots) >> 32), uint32(hash)&^maxMended | 1<<16
}

// mends enters words so that misspelt forms are found.
func (v *vocabulary) mends(words []string) {
	entries := 1
	for _, word := range words {
		entries += 1 + utf8.RuneCountInString(word)
	}
	v.slips = make([]uint32, 2*entries)
	if len(words) > maxMended {
		words = words[:maxMended]
	}
	for i, word := range words {
		v.begins = append(v.begins, uint32(len(v.letters)))
		letters := []rune(word)
		for _, r := range letters {
			v.letters = append(v.letters, uint16(r))
		}
		v.sizes[len(letters)] = append(v.sizes[len(letters)], uint16(i))
		v.slip(hashOf(letters), uint16(i))
		if len(letters) < fewestMended {
			continue
		}
		for skip := range letters {
			if skip == 0 || letters[skip] != letters[skip-1] { // else the hash is the same as before
				v.slip(hashWithout(letters, skip), uint16(i))
			}
		}
	}
	v.begins = append(v.begins, uint32(len(v.letters)))
}

func hashWithout(letters []rune, skip int) uint64 {
	h := uint64(offset)
	for i, r := range letters {
		if i != skip {
			h = hashOn(h, r)
		}
	}
	return h
}

func (v *vocabulary) slip(hash uint64, id uint16) {
	at, mark := slipPlace(hash, len(v.slips))
	for v.slips[at] != 0 {
		at = (at + 1) % len(v.slips)
	}
	v.slips[at] = mark | uint32(id)
}

// oneSlip reports whether a and b differ by at most one letter, or by two swapped neighbours.
func oneSlip(a []uint16, b []rune) bool {
	for len(a) > 0 && len(b) > 0 && rune(a[0]) == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && rune(a[len(a)-1]) == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	switch {
	case len(a) <= 1 && len(b) <= 1:
		return true
	case len(a) == 2 && len(b) == 2:
		return rune(a[0]) == b[1] && rune(a[1]) == b[0]
	}
	return false
}

// hidden returns the word of the rules that matches letters, where [hidden] stands for any letter.
func (v *vocabulary) hidden(letters []rune, steps *int) (word []uint16, ok bool) {
	if len(letters) < fewestMasked || len(letters) > longestPart {
		return nil, false
	}
	hiddenLetters := 0
	for _, r := range letters {
		if r == hidden {
			hiddenLetters++
		}
	}
	if hiddenLetters == 0 {
		h := hashOf(letters)
		word := v.slipped(letters, h, covers, steps)
		return word, word != nil
	}
	if hiddenLetters*2 > len(letters) {
		return nil, false
	}
	if hiddenLetters == 1 { // look up by the other letters
		word := v.slipped(letters, hashWithout(letters, slices.Index(letters, hidden)), covers, steps)
		return word, word != nil
	}
	for _, id := range v.sizes[len(letters)] {
		*steps++
		if word := v.mended(id); covers(word, letters) {
			return word, true
		}
	}
	return nil, false
}

func covers(word []uint16, letters []rune) bool {
	if len(word) != len(letters) {
		return false
	}
	for i, r := range letters {
		if r != hidden && r != rune(word[i]) {
			return false
		}
	}
	return true
}

// items appends the items of a word in the rules: the word itself, and the stems in it.
func (v *vocabulary) items(dst []uint32, letters []rune, item uint32, steps *int) []uint32 {
	if item != 0 {
		dst = append(dst, item)
	}
	if len(letters) < stemKey {
		return dst
	}
	dst = v.stems.in(dst, letters, 0)
	*steps += 2 + len(letters)
	for i := 0; i <= len(letters)-stemKey; i++ {
		dst = v.tails.in(dst, letters, i)
	}
	return dst
}

// stems indexes stems by their first letters.
type stems struct {
	filter [64]uint64 // of the hashes of first letters
	of     map[uint64][]stem
}

func (s *stems) add(entry stem) {
	at := gram(entry.letters)
	s.filter[at*mix>>58] |= 1 << (at * mix >> 52 & 63)
	if s.of == nil {
		s.of = map[uint64][]stem{}
	}
	s.of[at] = append(s.of[at], entry)
}

const mix = 0x9e3779b97f4a7c15

// in appends the stems found in letters at a position.
func (s *stems) in(dst []uint32, letters []rune, at int) []uint32 {
	key := gram(letters[at:])
	if s.filter[key*mix>>58]>>(key*mix>>52&63)&1 == 0 {
		return dst
	}
	for _, entry := range s.of[key] {
		if entry.in(letters, at) {
			dst = append(dst, entry.item)
		}
	}
	return dst
}

func (s *stem) in(letters []rune, at int) bool {
	return (s.open || at == 0) && len(letters)-at >= len(s.letters) &&
		(s.shut || len(letters)-at == len(s.letters)) && slices.Equal(letters[at:at+len(s.letters)], s.letters)
}

// gram returns the first letters of a text as a number.
func gram(letters []rune) uint64 {
	return uint64(letters[0])<<42 ^ uint64(letters[1])<<21 ^ uint64(letters[2])
}

// hashTable maps hashes to numbers above 0 with open addressing. A slot holds the upper half of a
// hash and its number.
type hashTable []uint64

func newHashTable(n int) hashTable { return make(hashTable, n+n/2+1) }

// place returns the first slot to try for a hash, and the mark of its entry.
func (t hashTable) place(hash uint64) (at int, mark uint64) {
	return int((hash * mix >> 32) * uint64(len(t)) >> 32), hash &^ math.MaxUint32
}

// after returns the slot after another. It does not divide, since every word is looked up.
func (t hashTable) after(at int) int {
	if at++; at < len(t) {
		return at
	}
	return 0
}

// put adds a hash that is not in the table.
func (t hashTable) put(hash uint64, value uint32) {
	at, mark := t.place(hash)
	for t[at] != 0 {
		at = t.after(at)
	}
	t[at] = mark | uint64(value)
}

// get returns the number of a hash, 0 for an unknown one.
func (t hashTable) get(hash uint64) uint32 {
	if len(t) == 0 {
		return 0
	}
	for at, mark := t.place(hash); t[at] != 0; at = t.after(at) {
		if t[at]&^math.MaxUint32 == mark {
			return uint32(t[at])
		}
	}
	return 0
}
