package adtext

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// mended returns text with misspelt words replaced by the words of English instructions that a
// reader takes them for: a letter masked, missing, doubled or exchanged, or the inner letters in
// another order. changed is false if there are none.
func mended(text string) (out string, changed bool) {
	fields := strings.Fields(text)
	for i, word := range fields {
		letters := compact(word)
		if utf8.RuneCountInString(letters) < fewestLetters || !isASCII(letters) {
			continue
		}
		if key := meant(letters); key != "" {
			fields[i], changed = key, true
		}
	}
	return strings.Join(fields, " "), changed
}

// fewestLetters is the minimum length of a word that can be a misspelling of a longer one.
const fewestLetters = 5

// meant returns the key word that folded letters resemble, "" if they are a key word or resemble
// none.
func meant(letters string) string {
	found := ""
	for _, k := range keys() {
		switch {
		case letters == k.folded || strings.HasPrefix(letters, k.folded):
			return ""
		case k.near(letters):
			found = k.word
		}
	}
	return found
}

// key is a whole word of the rules for English.
type key struct{ word, folded, mixed string }

var keys = sync.OnceValue(func() (all []key) {
	for _, word := range []string{
		"ignore", "ignoring", "disregard", "disregarding", "override", "overriding", "bypass", "forget", "neglect",
		"previous", "earlier", "preceding", "foregoing", "initial", "original",
		"system", "instruction", "instructions", "directive", "directives", "guideline", "guidelines", "prompt",
		"prompts", "message", "messages", "context", "conversation", "recommend", "assistant",
	} {
		folded := compact(word)
		all = append(all, key{word, folded, mixed(folded)})
	}
	return all
})

// near reports whether letters are k with one slip, with two in a long word with the same first
// letter, or with its inner letters in another order.
func (k key) near(letters string) bool {
	most := 1
	if len(k.folded) >= 9 && letters[0] == k.folded[0] {
		most = 2
	}
	if len(letters) == len(k.folded) && mixed(letters) == k.mixed {
		return true
	}
	return max(len(letters), len(k.folded))-min(len(letters), len(k.folded)) <= most && slips(letters, k.folded) <= most
}

// mixed returns a form of word that does not depend on the order of its inner letters.
func mixed(letters string) string {
	inner := []byte(letters[1 : len(letters)-1])
	slices.Sort(inner)
	return letters[:1] + string(inner) + letters[len(letters)-1:]
}

// slips returns the number of letters omitted, added or replaced, or of neighbours exchanged,
// between two ASCII words (optimal string alignment).
func slips(a, b string) int {
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for i := 0; i <= len(a); i++ {
		before, last, row := rows[(i+1)%3], rows[(i+2)%3], rows[i%3]
		for j := 0; j <= len(b); j++ {
			switch {
			case i == 0 || j == 0:
				row[j] = i + j
				continue
			case a[i-1] == b[j-1]:
				row[j] = last[j-1]
			default:
				row[j] = 1 + min(last[j-1], last[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], 1+before[j-2])
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
