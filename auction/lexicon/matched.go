package lexicon

import (
	"slices"
	"strings"
	"unicode"

	"adnet/auction/words"
)

// Matched are the words of texts whose terms were recorded of a request, ascending as
// [Reader.Recorded] made them: in the order and, but for case, the form in which the texts have
// them, at most so many, none twice and none of a special category. Of the request it shows nothing
// that the texts do not say.
func Matched(recorded []uint32, texts []string, most int) (matched []string) {
	var r words.Reader
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(
			text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c) },
		) {
			r.Reset()
			r.ReadStated(word, words.One)
			for _, term := range r.Terms() {
				if !asked(recorded, TermID(term.Text)) || Special(term.Text) {
					continue
				}
				said := strings.ToLower(word)
				if term.Kind == words.Letters { // the word may be a whole sentence
					said = term.Text
				}
				if !slices.Contains(matched, said) {
					matched = append(matched, said)
				}
				if len(matched) == most {
					return matched
				}
			}
		}
	}
	return matched
}

// asked says whether a term was recorded, said or looked like.
func asked(recorded []uint32, id uint32) bool {
	_, said := slices.BinarySearch(recorded, id)
	_, alike := slices.BinarySearch(recorded, LikeID(id))
	return said || alike
}
