// Package typed reads secrets that people type or paste: codes and tokens. It accepts the digits,
// dashes, spaces and other separators of their keyboards and editors.
package typed

import (
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxCode is the maximum length in bytes of a code as typed. The longest code, a recovery code, has
// 19 characters, each of up to four bytes, with some signs between them.
const MaxCode = 256

// Code returns the canonical form of a code without regard to case: lower case, ASCII digits,
// letters and digits only. People group digits with dashes, spaces, points, commas, slashes and
// quotation marks. Decimal digits of every script count as digits.
func Code(text string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return r
		}
		return -1
	}, canonical(text, -1)))
}

// Token returns the canonical form of a token in base64url, whose alphabet has both cases and the
// hyphen: every dash is a hyphen, and spaces, such as those of a wrapped line, are dropped.
func Token(text string) string { return canonical(text, '-') }

// canonical returns a text in Unicode form NFKC with ASCII digits, without spaces and invisible
// characters, and with dash in place of each dash; -1 drops them.
func canonical(text string, dash rune) string {
	if plain(text) && (dash == '-' || strings.IndexByte(text, '-') < 0) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case isDash(r):
			return dash
		case unicode.IsSpace(r), unicode.IsControl(r), r == '\u2800', // a blank of Braille
			unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector),
			unicode.Is(unicode.Me, r): // the key around an emoji digit
			return -1
		}
		return digit(r)
	}, norm.NFKC.String(text))
}

// plain reports whether a text has only visible ASCII characters.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// isDash reports whether a rune is a dash, or is typed for one: the minus sign, the hyphen bullet,
// the modifier letter, and the long vowel sign on the hyphen's key of Japanese keyboards.
func isDash(r rune) bool {
	switch r {
	case '\u2212', '\u2043', '\u02d7', '\u30fc':
		return true
	}
	return unicode.Is(unicode.Pd, r)
}

// digit returns the ASCII digit of a decimal digit, and any other rune unchanged. Unicode encodes
// the ten digits of a script in ascending order (The Unicode Standard, section 4.6).
func digit(r rune) rune {
	if r < 0x80 || !unicode.Is(unicode.Nd, r) {
		return r
	}
	at := sort.Search(len(zeros), func(i int) bool { return zeros[i] > r })
	return '0' + (r-zeros[at-1])%10
}

// zeros holds, ascending, the first digit of each run of decimal digits; a run has some tens.
var zeros = func() (list []rune) {
	for _, of := range unicode.Nd.R16 {
		list = append(list, rune(of.Lo))
	}
	for _, of := range unicode.Nd.R32 {
		list = append(list, rune(of.Lo))
	}
	return list
}()
