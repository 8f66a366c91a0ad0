package lexicon

// Shared reports whether two campaigns share a content word of their texts or stated tokens, so
// that they compete for the same requests.
func Shared(a, b *Text) bool {
	var first, second Reader
	mine := map[string]bool{}
	for _, term := range first.terms(a) {
		if content(term.Kind) {
			mine[term.Text] = true
		}
	}
	for _, term := range second.terms(b) {
		if content(term.Kind) && mine[term.Text] {
			return true
		}
	}
	return false
}
