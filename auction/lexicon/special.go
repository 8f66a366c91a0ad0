package lexicon

import (
	"sync"
	"unicode/utf8"

	"adnet/auction/suitability"
	"adnet/auction/words"
)

// Special says that a term tells about health, sex life, origin, opinion, belief, union, genes or
// body measures of a person (GDPR Art. 9). Such a term serves the auction it came with and is
// neither recorded nor learnt about.
func Special(term string) bool { return special()[term] }

// Prepare compiles what the first table and the first conversation need, which takes a few tenths
// of a second: the rules of [suitability] and the special terms.
func Prepare() {
	suitability.Prepare()
	special()
}

// specialOf are the terms of a table that are special.
func specialOf(n *names) idSet {
	set := newIDSet(n.len())
	if n.len() == 0 {
		return set // without waiting for the rules to be compiled
	}
	for term := range special() {
		if id := n.id(term); id != None {
			set.add(id)
		}
	}
	return set
}

// special holds the terms that the analyzer makes of the words of special subjects.
var special = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	var r words.Reader
	for _, word := range suitability.SpecialWords() {
		r.Reset()
		r.ReadStated(word, words.One)
		for _, term := range r.Terms() {
			// A single letter of a script without blanks says too little to be special.
			if term.Kind != words.Letters || utf8.RuneCountInString(term.Text) > 1 {
				set[term.Text] = true
			}
		}
	}
	return set
})
