package account

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ccojocar/zxcvbn-go/data"
)

// wordSet holds the hashes of a set of words, in ascending order. A map of the words would take
// eight times the memory in each ingress node, which loads them to check its administrator's
// password.
type wordSet struct {
	seed   maphash.Seed
	hashes []uint64
}

func (w wordSet) has(word string) bool {
	_, found := slices.BinarySearch(w.hashes, maphash.String(w.seed, word))
	return found
}

// commonWords holds the passwords and words that attackers try first: the lists of zxcvbn with the
// most common passwords, names and English words. They are loaded when a password is first chosen.
var commonWords = sync.OnceValues(func() (wordSet, error) {
	set := wordSet{seed: maphash.MakeSeed()}
	for _, name := range []string{"Passwords", "English", "MaleNames", "FemaleNames", "Surnames"} {
		text, err := data.Asset("data/" + name + ".json")
		if err != nil {
			return wordSet{}, err
		}
		var content struct{ List []string }
		if err := json.Unmarshal(text, &content); err != nil {
			return wordSet{}, err
		}
		set.hashes = slices.Grow(set.hashes, len(content.List))
		for _, word := range content.List {
			set.hashes = append(set.hashes, maphash.String(set.seed, word))
		}
	}
	slices.Sort(set.hashes)
	set.hashes = slices.Clip(slices.Compact(set.hashes))
	return set, nil
})

// rows are sequences of adjacent keys: keyboard rows and the alphabet.
var rows = []string{
	"1234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm",
	"abcdefghijklmnopqrstuvwxyz",
}

// plain reverses the usual substitutions for letters.
var plain = strings.NewReplacer(
	"@", "a", "4", "a", "3", "e", "1", "i", "!", "i", "0", "o", "$", "s", "5", "s", "7", "t", "+", "t",
)

// isCommon reports whether a password is easy to guess: a common word with digits and punctuation
// around it, only digits and punctuation, a repetition, or a walk along the keyboard. It fails if a
// list cannot be read.
func isCommon(password string) (bool, error) {
	text := strings.ToLower(strings.TrimSpace(password))
	words, err := commonWords()
	if err != nil {
		return false, err
	}
	core := strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	// A substituted letter may be the first or last character.
	ending := strings.TrimRightFunc(strings.TrimLeftFunc(plain.Replace(text), notLetter), notLetter)
	for _, candidate := range []string{text, core, plain.Replace(core), ending} {
		unit := candidate[:period(candidate)]
		if words.has(candidate) || words.has(unit) {
			return true, nil
		}
	}
	return core == "" || period(text) <= len(text)/2 || walks(text, 1) || walks(text, 2), nil
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// period returns the length in bytes of the shortest text whose repetition is s, len(s) if s does
// not repeat.
func period(s string) int {
	for n := 1; n <= len(s)/2; n++ {
		if s[n:] == s[:len(s)-n] {
			return n
		}
	}
	return len(s)
}

// walks reports whether nearly every character equals the character step positions before it, or is
// its neighbor on a keyboard row.
func walks(s string, step int) bool {
	breaks := 0
	for i := step; i < len(s); i++ {
		if s[i] != s[i-step] && !beside(s[i-step:i-step+1], s[i:i+1]) {
			breaks++
		}
	}
	return breaks <= 2*step
}

func beside(a, b string) bool {
	for _, row := range rows {
		if strings.Contains(row, a+b) || strings.Contains(row, b+a) {
			return true
		}
	}
	return false
}
