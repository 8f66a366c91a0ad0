package words

import (
	"strings"
	"sync/atomic"

	"github.com/kljensen/snowball/english"
)

// stem is the form in which a word is compared: the English stem of a word of ASCII letters, any
// other as it is.
func stem(word string) string {
	stem, _ := known(word)
	return stem
}

// known is the stem of a word in lower case, and whether it is one of [commonWords].
func known(word string) (stem string, common bool) {
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word, false
		}
	}
	h := Hash(word)
	places := (*[ways]atomic.Pointer[stemmed])(stems[h%uint32(len(stems))&^(ways-1):])
	for i := range uint32(ways) {
		if one := places[(h+i)%ways].Load(); one != nil && one.word == word {
			return one.stem, one.common
		}
	}
	made := learn(string([]byte(word)))
	for i, moved := uint32(0), made; i < ways && moved != nil; i++ {
		moved = places[(h+i)%ways].Swap(moved)
	}
	return made.stem, made.common
}

func learn(word string) *stemmed {
	made := &stemmed{word: word, stem: word, common: commonWords[word]}
	if len(word) >= 3 {
		made.stem = english.Stem(word, false)
	}
	if strings.HasPrefix(word, made.stem) { // most are: one line of the cache for both
		made.stem = word[:len(made.stem)]
	}
	return made
}

// stems remembers the stems of words, because stemming takes a microsecond and most words are
// common. A word has four places, beside each other, by its hash: the memory is bounded whatever is
// asked, and common words that meet do not drive each other out. With two places one word in forty
// of the demo was stemmed again every time.
var stems [1 << 15]atomic.Pointer[stemmed]

// ways is how many places a word has.
const ways = 4

type stemmed struct {
	word, stem string
	common     bool
}
