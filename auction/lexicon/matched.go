package lexicon

import (
	"iter"
	"slices"
	"strings"
	"unicode"

	"adnet/auction/words"
)

// Matched returns up to most words of texts whose terms were recorded for a request. recorded is
// ascending, as returned by [Reader.Recorded]. The words have the order and, but for case, the form
// of the texts, without duplicates and without words of a special category. The result reveals
// nothing of the request that is not in the texts.
func Matched(recorded []uint32, texts []string, most int) (matched []string) {
	for form := range named(recorded, texts) {
		if !slices.Contains(matched, form) {
			matched = append(matched, form)
		}
		if len(matched) == most {
			break
		}
	}
	return matched
}

// Named returns the words of texts whose terms are among recorded, by recorded id, as [Matched].
func Named(recorded []uint32, texts []string) map[uint32]string {
	found := map[uint32]string{}
	for form, id := range named(recorded, texts) {
		for _, id := range []uint32{id, LikeID(id)} {
			if _, known := slices.BinarySearch(recorded, id); known && found[id] == "" {
				found[id] = form
			}
		}
	}
	return found
}

// named yields the words of texts whose terms were recorded, with the ids of the terms.
func named(recorded []uint32, texts []string) iter.Seq2[string, uint32] {
	return func(yield func(string, uint32) bool) {
		var r words.Reader
		for _, text := range texts {
			for _, word := range strings.FieldsFunc(
				text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c) },
			) {
				r.Reset()
				r.ReadStated(word, words.Unit)
				for _, term := range r.Terms() {
					id := TermID(term.Text)
					if !contains(recorded, id) || Special(term.Text) {
						continue
					}
					form := strings.ToLower(word)
					if term.Kind == words.Letters { // the word may be a whole sentence
						form = term.Text
					}
					if !yield(form, id) {
						return
					}
				}
			}
		}
	}
}

// contains reports whether a term was recorded, either as a word of the request or as one that a
// word resembles.
func contains(recorded []uint32, id uint32) bool {
	_, own := slices.BinarySearch(recorded, id)
	_, alike := slices.BinarySearch(recorded, LikeID(id))
	return own || alike
}
