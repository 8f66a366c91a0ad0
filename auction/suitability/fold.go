package suitability

import (
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"adnet/internal/compliance/adtext"
)

// kind is the role of a character in reading words.
type kind uint8

const (
	space   kind = iota // ends a word
	stop                // ends a word and a sentence
	letter              // of a script that separates words by spaces
	sign                // of a script without spaces: each is a word of its own
	digit               // 0 to 9
	mask                // may stand for a letter within a word
	joins               // an apostrophe: the word continues without it
	quote               // a quotation mark
	nothing             // invisible, or a mark
)

// glyph is a character as read: its letters without case and marks. Few have more than one.
type glyph struct {
	kind    kind
	letters []rune
}

// lastPage bounds the characters whose glyphs are stored by code point.
const lastPage = 0x3100

// pages returns the glyphs of the common scripts.
var pages = sync.OnceValue(func() *[lastPage]glyph {
	all := new([lastPage]glyph)
	for r := range rune(lastPage) {
		all[r] = glyphOf(r)
	}
	return all
})

func read(r rune) glyph {
	if r < lastPage {
		return pages()[r]
	}
	return glyphOf(r)
}

// typed are letters without removable marks that people replace when typing.
var typed = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'đ': "d", 'Đ': "d", 'ı': "i", 'İ': "i", 'ł': "l", 'Ł': "l", 'ø': "o", 'Ø': "o", 'æ': "ae",
	'Æ': "ae", 'œ': "oe", 'Œ': "oe",
	'ى': "ي", 'ة': "ه", 'ک': "ك", 'ی': "ي", 'ё': "е", 'Ё': "е", 'ँ': "ं", 'ـ': "",
}

func glyphOf(r rune) glyph {
	switch {
	case r == '\n' || r == '\r', isStop(r):
		return glyph{kind: stop}
	case isQuote(r):
		return glyph{kind: quote}
	case isApostrophe(r):
		return glyph{kind: joins}
	case unicode.IsDigit(r):
		return glyph{kind: digit, letters: []rune{'0' + digitOf(r)}}
	case isMask(r):
		return glyph{kind: mask, letters: []rune{r}}
	case unicode.IsSpace(r):
		return glyph{kind: space}
	case adtext.Unseen(r):
		return glyph{kind: nothing}
	}
	if as, ok := typed[r]; ok {
		if as == "" {
			return glyph{kind: nothing}
		}
		return glyph{kind: letter, letters: []rune(as)}
	}
	var letters []rune
	for _, part := range decomposed(r) {
		if bare(part) {
			continue
		}
		letters = append(letters, unicode.ToLower(part))
	}
	switch {
	case len(letters) == 0 && (unicode.IsMark(r) || unicode.IsLetter(r)):
		return glyph{kind: nothing}
	case len(letters) == 0 || !unicode.IsLetter(letters[0]) && !unicode.IsMark(letters[0]):
		return glyphOfSymbol(letters)
	case unspaced(letters[0]):
		return glyph{kind: sign, letters: letters}
	}
	return glyph{kind: letter, letters: letters}
}

// glyphOfSymbol reads the results of compatibility forms: a full-width digit, a circled letter.
func glyphOfSymbol(letters []rune) glyph {
	if len(letters) > 0 && letters[0] >= '0' && letters[0] <= '9' {
		return glyph{kind: digit, letters: letters[:1]}
	}
	if len(letters) == 1 && isMask(letters[0]) {
		return glyph{kind: mask, letters: letters}
	}
	return glyph{kind: space}
}

// decomposed returns r in compatibility form, with its marks separated unless they form letters of
// their own: kana with voice marks and Hangul syllables stay whole.
func decomposed(r rune) []rune {
	if r >= 0x3000 {
		return []rune(norm.NFKC.String(string(r)))
	}
	return []rune(norm.NFKD.String(string(r)))
}

// bare reports whether a mark is removed. Vowel signs are letters in Devanagari and Thai.
func bare(r rune) bool {
	switch {
	case unicode.Is(unicode.Devanagari, r):
		return r == '\u093c' // nukta
	case unicode.Is(unicode.Thai, r):
		return r >= '\u0e47' && r <= '\u0e4e' // tones and silence
	}
	return unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r)
}

// unspaced reports whether r's script does not separate words by spaces, or not always: Hangul is
// written with and without them.
func unspaced(r rune) bool {
	return unicode.In(
		r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar,
	) ||
		r == 'ー'
}

func isApostrophe(r rune) bool {
	return r == '\'' || r == '’' || r == '‘' || r == 'ʼ' || r == '`' || r == '´' || r == '＇'
}

func isQuote(r rune) bool {
	switch r {
	case '"', '“', '”', '„', '«', '»', '「', '」', '『', '』', '《', '》', '＂':
		return true
	}
	return false
}

// isOpening reports whether a quotation mark opens a quotation. The closing mark of German is the
// opening one of English; inside a quotation it is read as closing.
func isOpening(r rune) bool {
	switch r {
	case '“', '„', '«', '「', '『', '《':
		return true
	}
	return false
}

func isStop(r rune) bool {
	switch r {
	case '.', '!', '?', ';', '…', '。', '！', '？', '؟', '؛', '।', '॥', '｡':
		return true
	}
	return false
}

// isMask reports whether people write r in place of a letter, or to hide one.
func isMask(r rune) bool {
	switch r {
	case '*', '#', '@', '$', '|', '€', '+', '_', '(', '•', '×', '¡', '£', '%':
		return true
	}
	return false
}

// stands maps digits and signs to the letters they are written for; 1 and | also stand for l.
var stands = map[rune]rune{
	'0': 'o', '1': 'i', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'g', '7': 't', '8': 'b', '9': 'g',
	'@': 'a', '$': 's', '|': 'i', '€': 'e', '+': 't', '(': 'c', '!': 'i', '¡': 'i', '£': 'l',
}

// hidden stands for a masked letter.
const hidden = '\x01'

func digitOf(r rune) rune {
	for base := r; ; base-- { // digits come in runs of ten that begin with 0
		if !unicode.IsDigit(base-1) || r-base == 9 {
			return (r - base) % 10
		}
	}
}
