package words

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"adnet/internal/jsonscan/eight"
)

// script is a class of scripts in which words are found the same way.
type script uint8

const (
	spaced script = iota // blanks separate words
	han                  // Chinese and Japanese
	hangul               // words with endings
	thai                 // Thai, Khmer, Lao: no blanks, letters with marks
)

// groups returns the least and the greatest number of letters of a group.
func (s script) groups() (least, most int) {
	switch s {
	case han:
		return 1, 2
	case hangul:
		return 1, 3
	case thai:
		return 2, 4
	}
	return 3, 5
}

// words estimates the number of words in a run of letters.
func (s script) words(letters int) int {
	switch s {
	case han:
		return (letters + 1) / 2
	case thai:
		return (letters + 3) / 4
	}
	return 1
}

// scriptOf returns the script of a word's rune. Marks, digits and signs of no script take the
// surrounding one.
func scriptOf(r rune, within script) script {
	switch {
	case r < 0x0E00:
		if markRunes.has(r) {
			return within
		}
		return spaced
	case r <= 0x0EFF, r >= 0x1780 && r <= 0x17FF:
		return thai
	case r >= 0x1100 && r <= 0x11FF, r >= 0xAC00 && r <= 0xD7FF, r >= 0x3130 && r <= 0x318F:
		return hangul
	case r >= 0x3005 && r <= 0x30FF, r >= 0x31F0 && r <= 0x31FF, r >= 0x3400 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF,
		r >= 0x20000 && r <= 0x3FFFF:
		return han
	case unicode.IsMark(r):
		return within
	}
	return spaced
}

// wordBytes are the letters and digits of ASCII, as a table because it is used for every byte of a
// context (benchmark row ad_request_100k).
var wordBytes = func() (of [256]bool) {
	for c := range of {
		of[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	return of
}()

// isWordRune reports whether a rune that is not ASCII is part of a word.
func isWordRune(r rune) bool {
	if r < 1<<16 {
		return r != utf8.RuneError && wordRunes.has(r)
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// ignorable reports whether a rune is invisible where it is not supported (Unicode property
// Default_Ignorable_Code_Point), so that it may be hidden in a word.
func ignorable(r rune) bool {
	if r < 1<<16 && !ignorableRows[r>>rowBits] || r < 0xAD {
		return false
	}
	if r >= 0xFFF9 && r <= 0xFFFB || unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		r >= 0x13430 && r <= 0x13455 {
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// canonical returns a text in NFKC without ignorable characters and marks that are not read, in its
// original case and in folded case, with equal offsets. A capital whose lower case has another
// length is lower in both.
func canonical(text string) (original, lower string) {
	if isASCII(text) {
		return text, lowerASCII(text)
	}
	if settled(text) {
		return cases(text)
	}
	text = strings.Map(func(r rune) rune {
		if ignorable(r) || unread(r) {
			return -1
		}
		return r
	}, text)
	if !settled(text) {
		text = norm.NFKC.String(text)
	}
	return cases(text)
}

// settled reports whether a text is in NFKC for certain, without ignorable characters and marks that
// are not read: it has only characters that are, and none that combines with another. The usual
// characters of most scripts are, and a comparison of ranges costs a third of the library's check
// (benchmark row ad_request_100k).
func settled(text string) bool {
	for _, r := range text {
		switch {
		case r < 0xa0: // ASCII and controls
		case 0xc0 <= r && r <= 0x131: // Latin letters with marks
		case 0x2018 <= r && r <= 0x201f: // quotation marks
		case 0x400 <= r && r <= 0x45f: // Cyrillic
		case 0x3041 <= r && r <= 0x3096, 0x30a1 <= r && r <= 0x30fa: // kana
		case 0x4e00 <= r && r <= 0x9fa5: // ideographs
		case 0xac00 <= r && r <= 0xd7a3: // Hangul syllables
		default:
			return false
		}
	}
	return true
}

// cases returns a text in its original case and in folded case, with equal offsets. Folded case is
// lower case with ss for ß and one form of sigma: their capitals have only one (Unicode, section
// 5.18).
func cases(text string) (original, lower string) {
	capitals := strings.IndexFunc(text, func(r rune) bool { return lowerRune(r) != r || r == 'ß' || r == 'ς' })
	if capitals < 0 {
		return text, text
	}
	var low strings.Builder
	low.Grow(len(text) + utf8.UTFMax)
	low.WriteString(text[:capitals])
	longer := false
	for _, r := range text[capitals:] {
		small := lowerRune(r)
		longer = longer || utf8.RuneLen(small) != utf8.RuneLen(r)
		switch small {
		case 'ß': // as long as its two letters
			low.WriteString("ss")
		case 'ς':
			low.WriteRune('σ')
		default:
			low.WriteRune(small)
		}
	}
	if !longer {
		return text, low.String()
	}
	var out strings.Builder
	for _, r := range text {
		if small := lowerRune(r); utf8.RuneLen(small) != utf8.RuneLen(r) {
			r = small
		}
		out.WriteRune(r)
	}
	return out.String(), low.String()
}

// The next two functions handle eight bytes at a time, because they run over every byte of a
// context (benchmark rows ad_request_100k, rtb_100k).
func isASCII(s string) bool {
	var all uint64
	for ; len(s) >= 8; s = s[8:] {
		all |= eight.Of(s)
	}
	for i := range len(s) {
		all |= uint64(s[i])
	}
	return eight.Wide(all) == 0
}

// lowerASCII equals strings.ToLower for ASCII texts.
func lowerASCII(s string) string {
	var lower strings.Builder
	lower.Grow(len(s))
	var low [8]byte
	for ; len(s) >= 8; s = s[8:] {
		v := eight.Of(s)
		// 0x80 in each byte from A to Z
		upper := (v + (0x80-'A')*eight.Ones) &^ (v + (0x80-'Z'-1)*eight.Ones) & eight.Tops
		binary.LittleEndian.PutUint64(low[:], v|upper>>2)
		lower.Write(low[:])
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower.WriteByte(c)
	}
	return lower.String()
}
