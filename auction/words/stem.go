package words

import (
	"strings"
	"sync/atomic"

	"github.com/kljensen/snowball/english"
)

// stem returns the form in which a word is compared: the English stem of a word of ASCII letters,
// any other word unchanged.
func stem(word string) string {
	stem, _ := known(word)
	return stem
}

// known returns the stem of a word in lower case and reports whether it is one of [commonWords].
func known(word string) (stem string, common bool) {
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word, false
		}
	}
	h := Hash(word)
	places := (*[ways]atomic.Pointer[stemmed])(stems[h%uint32(len(stems))&^(ways-1):])
	for i := range uint32(ways) {
		if entry := places[(h+i)%ways].Load(); entry != nil && string(entry.text[:entry.length]) == word {
			return entry.of(word), entry.common
		}
	}
	fresh := learn(word)
	for i, moved := uint32(0), fresh; i < ways && moved != nil && len(word) <= len(fresh.text); i++ {
		moved = places[(h+i)%ways].Swap(moved)
	}
	return fresh.of(word), fresh.common
}

func learn(word string) *stemmed {
	fresh := &stemmed{length: uint8(len(word)), prefix: uint8(len(word)), common: commonWords[word]}
	copy(fresh.text[:], word)
	if len(word) < 3 {
		return fresh
	}
	if stem := english.Stem(word, false); strings.HasPrefix(word, stem) {
		fresh.prefix = uint8(len(stem))
	} else {
		fresh.other = strings.Clone(stem)
	}
	return fresh
}

// of returns the stem of the word, most often a part of it.
func (s *stemmed) of(word string) string {
	if s.other != "" {
		return s.other
	}
	return word[:s.prefix]
}

// stems caches the stems of words, because stemming takes a microsecond and most words are common.
// A word has four adjacent slots by its hash: the memory is bounded whatever requests contain, and
// colliding common words do not evict each other. With two slots one word in forty of the demo was
// stemmed again every time.
var stems [1 << 15]atomic.Pointer[stemmed]

// ways is the number of slots of a word.
const ways = 4

// stemmed is a word with its text, so that a lookup compares it within one cache line (benchmark
// row ad_request_100k). Longer words are stemmed each time.
type stemmed struct {
	text           [24]byte
	other          string // the stem, if the word does not begin with it
	length, prefix uint8  // of the word, and of the stem that begins it
	common         bool
}
