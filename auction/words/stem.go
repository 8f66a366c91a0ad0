package words

import (
	"sync/atomic"

	"github.com/kljensen/snowball/english"
)

// stem is the form in which a word is compared: the English stem of a word of ASCII letters, any
// other as it is.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word
		}
	}
	at := Hash(word) % uint32(len(stems))
	newer, older := &stems[at], &stems[at^1]
	for _, place := range [...]*atomic.Pointer[stemmed]{newer, older} {
		if known := place.Load(); known != nil && known.word == word {
			return known.stem
		}
	}
	made := &stemmed{word: string([]byte(word))}
	made.stem = english.Stem(made.word, false)
	older.Store(newer.Load())
	newer.Store(made)
	return made.stem
}

// stems remembers the stems of words, because stemming takes a microsecond and most words are
// common. A word has two places by its hash, so the memory is bounded whatever is asked, and two
// common words that meet do not drive each other out.
var stems [1 << 15]atomic.Pointer[stemmed]

type stemmed struct{ word, stem string }
