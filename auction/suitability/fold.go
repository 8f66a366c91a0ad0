package suitability

import (
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"adnet/internal/adtext"
)

// kind is what a character is to a reader of words.
type kind uint8

const (
	space   kind = iota // ends a word
	stop                // ends a sentence, too
	letter              // of a script whose words are parted by spaces
	sign                // of a script whose words are not: each is a word of its own
	digit               // 0 to 9
	mask                // may stand for a letter within a word
	joins               // an apostrophe: the word goes on without it
	quote               // a quotation mark
	nothing             // not seen, or a mark
)

// glyph is a character as it is read: its letters without case and marks. Few have more than one.
type glyph struct {
	kind    kind
	letters []rune
}

// lastPage bounds the characters whose glyphs are kept by code point.
const lastPage = 0x3100

// pages has the glyphs of the common scripts; ascii those of ASCII in the form of the fast path.
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

// typed are letters that people type for others, and have no marks to remove.
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

// glyphOfSymbol reads what compatibility forms come to: a full-width digit, a circled letter.
func glyphOfSymbol(letters []rune) glyph {
	if len(letters) > 0 && letters[0] >= '0' && letters[0] <= '9' {
		return glyph{kind: digit, letters: letters[:1]}
	}
	if len(letters) == 1 && isMask(letters[0]) {
		return glyph{kind: mask, letters: letters}
	}
	return glyph{kind: space}
}

// decomposed is r in compatibility form, with its marks apart where they are no letters of their
// own: kana with voice marks and Hangul syllables stay whole.
func decomposed(r rune) []rune {
	if r >= 0x3000 {
		return []rune(norm.NFKC.String(string(r)))
	}
	return []rune(norm.NFKD.String(string(r)))
}

// bare reports whether a mark is removed. Vowel signs are letters to who reads Devanagari and Thai.
func bare(r rune) bool {
	switch {
	case unicode.Is(unicode.Devanagari, r):
		return r == '\u093c' // nukta
	case unicode.Is(unicode.Thai, r):
		return r >= '\u0e47' && r <= '\u0e4e' // tones and silence
	}
	return unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r)
}

// unspaced reports whether words of r's script are not parted by spaces, or not always: Hangul is
// written with them and without.
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

// isOpening reports whether a quotation mark begins what is quoted. A German text ends with the
// mark that begins an English one, which is read as an end where something is quoted.
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

// isMask reports whether people write r for a letter, or to hide one.
func isMask(r rune) bool {
	switch r {
	case '*', '#', '@', '$', '|', '€', '+', '_', '(', '•', '×', '¡', '£', '%':
		return true
	}
	return false
}

// stands are the letters that digits and signs are written for; 1 and | stand for l, too.
var stands = map[rune]rune{
	'0': 'o', '1': 'i', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'g', '7': 't', '8': 'b', '9': 'g',
	'@': 'a', '$': 's', '|': 'i', '€': 'e', '+': 't', '(': 'c', '!': 'i', '¡': 'i', '£': 'l',
}

// hidden stands for a letter that is not shown.
const hidden = '\x01'

func digitOf(r rune) rune {
	for base := r; ; base-- { // digits come in tens that begin with 0
		if !unicode.IsDigit(base-1) || r-base == 9 {
			return (r - base) % 10
		}
	}
}
