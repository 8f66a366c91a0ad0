package main

import (
	"math/rand/v2"
	"strings"
	"unicode"
)

// The number of letters per mistyped one.
const (
	letterInTen    = 10
	letterInTwenty = 20
)

// hurried returns text with one letter in ten mistyped.
func hurried(text string, r *rand.Rand) string { return mistyped(text, r, letterInTen) }

// mistyped returns text with one letter in of mistyped: left out, doubled, replaced, or swapped
// with the next.
func mistyped(text string, r *rand.Rand, of int) string {
	letters := []rune(text)
	out := make([]rune, 0, len(letters)+8)
	for i := 0; i < len(letters); i++ {
		if !unicode.IsLetter(letters[i]) || r.IntN(of) > 0 {
			out = append(out, letters[i])
			continue
		}
		switch r.IntN(4) {
		case 0:
		case 1:
			out = append(out, letters[i], letters[i])
		case 2:
			out = append(out, neighbour(letters[i], r))
		default:
			if i+1 < len(letters) && unicode.IsLetter(letters[i+1]) {
				out = append(out, letters[i+1], letters[i])
				i++
			} else {
				out = append(out, letters[i])
			}
		}
	}
	return string(out)
}

// neighbour returns another letter of the alphabet of r.
func neighbour(r rune, from *rand.Rand) rune {
	if r|0x20 >= 'a' && r|0x20 <= 'z' {
		return 'a' + rune(from.IntN(26))
	}
	return r + 1 - rune(2*from.IntN(2))
}

// masks are the ways in which people hide letters from filters.
var masks = []func(word []rune, r *rand.Rand) string{
	func(word []rune, r *rand.Rand) string { // digits and signs that look alike
		return strings.NewReplacer("i", "1", "e", "3", "a", "@", "o", "0", "s", "$").Replace(string(word))
	},
	func(word []rune, r *rand.Rand) string { // a letter replaced by a star
		at := 1 + r.IntN(len(word)-2)
		return string(word[:at]) + "*" + string(word[at+1:])
	},
	func(word []rune, r *rand.Rand) string { // letters of another alphabet
		return strings.NewReplacer("a", "а", "e", "е", "o", "о", "c", "с", "i", "і").Replace(string(word))
	},
	func(word []rune, r *rand.Rand) string { // letters separated
		return strings.Join(strings.Split(string(word), ""), ".")
	},
	func(word []rune, r *rand.Rand) string { // an invisible character
		at := 1 + r.IntN(len(word)-2)
		return string(word[:at]) + "\u200b" + string(word[at:])
	},
}

// masked returns text with some longer words hidden from filters that read letters only.
func masked(text string, r *rand.Rand) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		letters := []rune(word)
		if len(letters) < 4 || strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsLetter(c) }) ||
			r.IntN(3) > 0 {
			continue
		}
		words[i] = masks[r.IntN(len(masks))](letters, r)
	}
	return strings.Join(words, " ")
}
