// Package adtext analyses the texts and links of an ad as a model, or a person in a hurry, would
// read them: behind look-alike letters, invisible characters, encodings and percent signs. It
// reports findings and unreadable texts. Package internal/campaign decides the consequences.
//
// A finding does not prove bad intent, and no finding does not prove good intent: a finding is a
// reason for a person to look.
//
// The look-alikes are those of UTS 39 (Unicode 17), from go.mau.fi/util/confusable. Scripts and
// properties come from the standard library.
package adtext

import (
	"strings"
	"unicode"

	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"
)

// Hidden reports whether s has characters that are invisible or change the order of visible ones:
// default-ignorable code points, variation selectors, bidirectional controls, private and
// unassigned code points, line and paragraph separators. Parts of an emoji count as visible.
func Hidden(s string) bool {
	var before rune
	for _, r := range s {
		if unseen(r) && !(ofEmoji(r) && takesPicture(before)) {
			return true
		}
		before = r
	}
	return false
}

func unseen(r rune) bool {
	return !unicode.IsGraphic(r) || ignorable(r) || r == brailleBlank
}

const brailleBlank = '\u2800' // a letter-like symbol without a dot

// ignorable reports whether r has the property Default_Ignorable_Code_Point or is one of the few
// format characters that the standard excludes from it.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const (
	joiner      = '\u200d' // joins emoji into one picture
	textForm    = '\ufe0e' // shows the preceding character as text
	pictureForm = '\ufe0f' // shows the preceding character as an emoji
	keycap      = '\u20e3' // draws a key around a digit
)

func ofEmoji(r rune) bool { return r == joiner || r == textForm || r == pictureForm }

// takesPicture reports whether a joiner or selector after r is part of a picture.
func takesPicture(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk, unicode.Sm) || r == pictureForm ||
		strings.ContainsRune("0123456789#*‼⁉〰〽ℹ", r)
}

// Blank reports whether s has no visible character.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unseen(r) })
}

// bare returns s without marks and invisible characters.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Me) || unseen(r) && r != '\n' {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// Plain returns s in compatibility form, without marks and hidden characters, with every letter
// that looks like an ASCII letter replaced by that letter. It is for matching patterns and never
// shown.
func Plain(s string) string {
	var b strings.Builder
	for _, r := range bare(norm.NFKC.String(s)) {
		if like := confusable.GetReplacement(r); r > unicode.MaxASCII && isASCII(like) && like != "" {
			b.WriteString(like)
			continue
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// fold maps texts that look alike to the same text: the UTS 39 skeleton of the lower-case
// compatibility form, without marks, with digits that stand for letters replaced by them. Lists and
// texts are folded alike, so distorted honest letters do no harm.
func fold(s string) string {
	s = bare(strings.ToLower(norm.NFKC.String(s)))
	s = bare(strings.ToLower(confusable.Skeleton(s)))
	return norm.NFC.String(leet.Replace(s))
}

// leet maps digits and signs to the letters that they replace. The skeleton has already turned 1
// and | into l and 0 into o. i and l become the same letter, since 1 stands for both.
var leet = strings.NewReplacer(
	"l", "i", "!", "i", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "7", "t", "8", "b", "9", "g", "€", "e",
)

// compact returns the folded s without anything between its letters. Spaces, dots and hyphens then
// hide nothing, and languages without spaces need no special rule.
func compact(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, fold(s))
}
