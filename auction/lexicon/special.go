package lexicon

import (
	"sync"
	"unicode/utf8"

	"adnet/auction/suitability"
	"adnet/auction/words"
)

// Special reports whether a term reveals a person's health, sex life, origin, opinion, belief,
// union membership, genetic or biometric data (GDPR Art. 9). Such a term serves the auction of its
// request and is neither recorded nor learnt.
// A word is special with and without its marks.
func Special(term string) bool {
	set := special()
	if set[term] || letterGroup(term) {
		return set[term]
	}
	bare, paired := words.Plainer(term)
	return set[bare] || set[paired]
}

// Prepare compiles the rules of [suitability] and the special terms, which takes a few tenths of a
// second, before the first table and the first conversation need them.
func Prepare() {
	suitability.Prepare()
	special()
}

// specialOf returns the special terms of a table.
func specialOf(n *names) idSet {
	set := newIDSet(n.len())
	if n.len() == 0 {
		return set // without waiting for the rules to be compiled
	}
	for id := range uint32(n.len()) {
		if Special(n.of(id)) { // also where only its plainer form is
			set.add(id)
		}
	}
	return set
}

// special holds the terms that package words makes of the words of special subjects.
var special = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	var r words.Reader
	for _, word := range suitability.SpecialWords() {
		r.Reset()
		r.ReadStated(word, words.Unit)
		for _, term := range r.Terms() {
			// A single letter of a script without blanks is too ambiguous to be special.
			if term.Kind != words.Letters || utf8.RuneCountInString(term.Text) > 1 {
				set[term.Text] = true
				bare, paired := words.Plainer(term.Text)
				set[bare], set[paired] = true, true
			}
		}
	}
	delete(set, "")
	return set
})
