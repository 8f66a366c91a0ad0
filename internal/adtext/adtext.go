// Package adtext reads the texts and links of an ad as a model, or a person in a hurry, reads them:
// behind look-alike letters, invisible characters, encodings and percent signs. It says what it
// found and what it could not read; what follows from either is decided in internal/campaign.
//
// Nothing that it finds proves bad will, and finding nothing proves no good will: a finding is a
// reason for a person to look.
//
// The look-alikes are those of UTS 39 (Unicode 17), by go.mau.fi/util/confusable; scripts and
// properties are those of the standard library.
package adtext

import (
	"strings"
	"unicode"

	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"
)

// Hidden says whether s has characters that are not seen, or that change the order of those that
// are: default-ignorable code points, variation selectors, bidirectional controls, private and
// unassigned code points, line and paragraph separators. What belongs to an emoji is seen.
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

// ignorable is the property Default_Ignorable_Code_Point, with the few format characters that the
// standard leaves out of it.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const (
	joiner      = '\u200d' // joins emoji to one picture
	textForm    = '\ufe0e' // shows the character before it as text
	pictureForm = '\ufe0f' // shows the character before it as an emoji
	keycap      = '\u20e3' // draws a key around a digit
)

func ofEmoji(r rune) bool { return r == joiner || r == textForm || r == pictureForm }

// takesPicture is true of characters after which a joiner or a selector is part of a picture.
func takesPicture(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk, unicode.Sm) || r == pictureForm ||
		strings.ContainsRune("0123456789#*‼⁉〰〽ℹ", r)
}

// bare is s without marks and without characters that are not seen.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Me) || unseen(r) && r != '\n' {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// Plain is s with every letter that looks like one of ASCII replaced by it, in compatibility form,
// without marks and hidden characters. It is for patterns and never shown.
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

// fold maps texts that can be taken for each other to one text: the UTS 39 skeleton of the
// lower-case compatibility form, without marks, with digits that stand for letters as these. Lists
// and texts are folded alike, so what it makes of honest letters does not matter.
func fold(s string) string {
	s = bare(strings.ToLower(norm.NFKC.String(s)))
	s = bare(strings.ToLower(confusable.Skeleton(s)))
	return norm.NFC.String(leet.Replace(s))
}

// leet has the digits and signs that are written for letters. The skeleton has made l of 1 and |,
// and o of 0; i and l become one, as each stands for 1.
var leet = strings.NewReplacer(
	"l", "i", "!", "i", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "7", "t", "8", "b", "9", "g", "€", "e",
)

// compact is the folded s without anything between its letters, so that spaces, dots and hyphens
// hide nothing, and languages without spaces need no rule of their own.
func compact(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, fold(s))
}
