package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// People leave out marks, or write a letter with a mark as two. So a term with marks has up to two
// plainer forms, in which it is also looked for ([Plainer]). The marks that no language needs to
// tell words apart in writing are not read at all (see [unread]).

// unread reports whether a rune is a sign that only teaches or decorates: the vowels and accents of
// Arabic and Hebrew, and the Arabic stroke that widens a word.
func unread(r rune) bool {
	switch {
	case r < 0x0591 || r > 0x08FF:
		return false
	case r <= 0x05C7:
		return r != 0x05BE && r != 0x05C0 && r != 0x05C3 && r != 0x05C6
	case r >= 0x0610 && r <= 0x061A, r == 0x0640, r >= 0x064B && r <= 0x0652, r >= 0x0656 && r <= 0x065F, r == 0x0670,
		r >= 0x06D6 && r <= 0x06DC, r >= 0x08D3:
		return unicode.IsMark(r) || r == 0x0640
	}
	return false
}

// Plainer returns the forms in which a term of a script with blanks is written without its marks:
// bare without them ("pho" of "phở"), and paired with the German and Scandinavian pairs of letters
// ("groess" of "größe", as a term). Each is empty if it equals the term or is a common or weak word.
func Plainer(term string) (bare, paired string) {
	if isASCII(term) {
		return "", ""
	}
	bare = plain(strip(term), term)
	if strings.ContainsAny(term, pairedLetters) {
		paired = plain(strip(pairs.Replace(term)), term)
	}
	return bare, paired
}

// plain returns a plainer form as a term, or nothing.
func plain(form, term string) string {
	form, common := known(form)
	if common || form == "" || form == term || weak(form) {
		return ""
	}
	return form
}

const pairedLetters = "äöüåøæ"

var pairs = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa", "ø", "oe", "æ", "ae")

// strip returns a term in lower case without the marks that people leave out.
func strip(term string) string {
	var out strings.Builder
	letters := []rune(term)
	for i := 0; i < len(letters); i++ {
		if isNasal(letters[i:]) {
			out.WriteRune(anusvara)
			i++
			continue
		}
		out.WriteString(stripped(letters[i]))
	}
	return out.String()
}

// stripped returns a letter without its marks.
func stripped(r rune) string {
	switch plain, ok := unmarked[r]; {
	case ok:
		return plain
	case r >= 0x0300 && r <= 0x036F, r == 0x093C: // marks that form no letter of their own; the nukta
		return ""
	case r >= utf8.RuneSelf && unicode.In(r, unicode.Latin, unicode.Greek):
		base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
		if plain, ok := unmarked[base]; ok { // ǽ, ǿ
			return plain
		}
		return string(base)
	}
	return string(r)
}

const (
	anusvara = 'ं'
	virama   = '\u094d'
)

// isNasal reports whether a Devanagari text begins with a nasal before another consonant, for which
// many write the anusvara.
func isNasal(text []rune) bool {
	return len(text) > 2 && strings.ContainsRune("ङञणनम", text[0]) && text[1] == virama &&
		text[2] >= 'क' && text[2] <= 'ह'
}

// unmarked holds letters that have no decomposition, or whose decomposition is not what people
// write for them.
var unmarked = map[rune]string{
	'ł': "l", 'đ': "d", 'ð': "d", 'ø': "o", 'ı': "i", 'ħ': "h", 'ŧ': "t", 'æ': "ae", 'œ': "oe", 'þ': "th",
	'ŋ': "n", 'ə': "e", 'ё': "е", 'ѐ': "е", 'ѝ': "и",
	'أ': "ا", 'إ': "ا", 'آ': "ا", 'ٱ': "ا", 'ة': "ه", 'ى': "ي", 'ی': "ي", 'ئ': "ي", 'ؤ': "و", 'ک': "ك",
	'ँ': "ं",
}

// SameMarks reports whether two terms with one bare form may be the same word: where both have
// marks, those of one include those of the other. "phố" and "phở" are different words.
func SameMarks(a, b string) bool {
	if utf8.RuneCountInString(a) != utf8.RuneCountInString(b) {
		return !latin(a) && !latin(b)
	}
	more, fewer := true, true // a has the marks of b, b those of a
	for _, r := range a {
		s, size := utf8.DecodeRuneInString(b)
		b = b[size:]
		if r != s && unicode.In(r, unicode.Latin, unicode.Greek) {
			more, fewer = more && includes(r, s), fewer && includes(s, r)
		}
	}
	return more || fewer
}

// includes reports whether a letter is another with further marks.
func includes(r, bare rune) bool {
	if plain, ok := unmarked[r]; ok {
		return plain == string(bare)
	}
	all := norm.NFD.String(string(r))
	for _, mark := range norm.NFD.String(string(bare)) {
		if !strings.ContainsRune(all, mark) {
			return false
		}
	}
	return true
}

func latin(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return unicode.In(r, unicode.Latin, unicode.Greek)
}

// Marking is how much a language needs the marks of a word.
type Marking uint8

// The markings of a word.
const (
	// Optional marks are often left out: "café", "phở".
	Optional Marking = iota
	// Paired marks are more often written as two letters: "schön" is "schoen", rarely "schon".
	Paired
	// Distinct letters are letters of their own: "año" is not "ano".
	Distinct
)

// MarkingOf returns the marking of a term.
func MarkingOf(term string) Marking {
	switch {
	case strings.ContainsAny(term, "ñå"):
		return Distinct
	case strings.ContainsAny(term, pairedLetters):
		return Paired
	}
	return Optional
}

// Arabic reports whether a term is in the Arabic script.
func Arabic(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return unicode.Is(unicode.Arabic, r)
}
