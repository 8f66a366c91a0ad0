package main

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// marked are the languages of the sets whose words have marks that people leave out.
var marked = []string{"ar", "da", "de", "es", "fr", "it", "pt", "sr", "tr"}

// markRows measure requests typed without marks, in the languages that have some. Only requests with
// marks count.
func (u *suite) markRows() (rows []row) {
	for _, want := range []struct {
		set, how  string
		typed     func(text, lang string) string
		must, aim float64
	}{
		{"xsid", "without marks", unmarked, 0.60, 0.75}, {"xsid", "with oe for ö", pairwise, 0.60, 0.75},
		{demoName, "without marks", unmarked, 0.60, 0.75}, {demoName, "with oe for ö", pairwise, 0.60, 0.75},
	} {
		s := u.sets[want.set]
		var requests []question
		for _, q := range open(s.inScope(), "") {
			text := want.typed(q.Context, q.Lang)
			if slices.Contains(marked, q.Lang) && text != norm.NFC.String(q.Context) {
				q.Context = text
				requests = append(requests, q)
			}
		}
		r := row{
			Name: "first ad right, floor off: " + want.set + " typed " + want.how, Must: want.must, Aim: want.aim,
			Of: len(requests),
		}
		u.in(s, nil, func(w world) { r.Value = right(w, requests) })
		rows = append(rows, r)
	}
	return rows
}

// unmarked returns a text as a keyboard without marks types it.
func unmarked(text, _ string) string {
	return bareLetters.Replace(norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(text))))
}

var bareLetters = strings.NewReplacer(
	"ø", "o", "Ø", "O", "æ", "ae", "Æ", "AE", "ı", "i", "ß", "ss", "đ", "d", "Đ", "D", "ł", "l", "œ", "oe", "ة", "ه",
	"ى", "ي",
)

// pairwise returns a German or Danish text with pairs of letters in place of those with marks.
func pairwise(text, lang string) string {
	if lang != "de" && lang != "da" {
		return norm.NFC.String(text)
	}
	return letterPairs.Replace(norm.NFC.String(text))
}

var letterPairs = strings.NewReplacer(
	"ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "å", "aa", "Å", "Aa", "ø", "oe",
	"Ø", "Oe", "æ", "ae", "Æ", "Ae",
)
