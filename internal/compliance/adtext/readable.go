package adtext

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Languages are the languages in which instructions are recognised, as ISO 639-1 codes.
var Languages = []string{"de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh"}

// letters are the letters of [Languages] beyond a to z, except those of scripts that are supported
// as a whole.
const letters = "äöüßàâæçéèêëîïôœùûÿñáíóúãõìòąćęłńśźż" + "абвгдежзийклмнопрстуфхцчшщъыьэюяё"

// read are the scripts used only by Languages.
var read = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// OtherLanguage reports whether s has letters that none of [Languages] uses, or none of their
// words. A single letter on its own, like the β of a beta test, is a symbol.
func OtherLanguage(s string) bool {
	for _, word := range words(norm.NFC.String(s)) {
		alone := utf8.RuneCountInString(word) == 1 && unicode.In([]rune(word)[0], unicode.Greek)
		if !alone && strings.ContainsFunc(word, foreign) {
			return true
		}
	}
	return strange(s)
}

func foreign(r rune) bool {
	if !unicode.IsLetter(r) || unicode.In(r, read...) || unicode.In(r, unicode.Common) {
		return false
	}
	r = unicode.ToLower(r)
	return (r < 'a' || r > 'z') && !strings.ContainsRune(letters, r)
}

// words returns the runs of letters, marks and digits in s.
func words(s string) []string {
	return strings.FieldsFunc(
		s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) },
	)
}

// MixedScripts reports whether a word of s is not highly restrictive (UTS 39, section 5.2): neither
// in one script, nor in Latin with Han and kana, with Han and Bopomofo, or with Han and Hangul.
func MixedScripts(s string) bool {
	for _, word := range words(s) {
		if !highlyRestrictive(word) {
			return true
		}
	}
	return false
}

// together lists the scripts that may be mixed in a word.
var together = [][]*unicode.RangeTable{
	{unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana},
	{unicode.Latin, unicode.Han, unicode.Bopomofo},
	{unicode.Latin, unicode.Han, unicode.Hangul},
}

func highlyRestrictive(word string) bool {
	first := scriptOf(word)
	if first == nil || within(word, first) {
		return true
	}
	for _, scripts := range together {
		if within(word, scripts...) {
			return true
		}
	}
	return false
}

// scriptOf returns the script of the first letter of word that has a script of its own, nil if
// there is none.
func scriptOf(word string) *unicode.RangeTable {
	for _, r := range word {
		if unicode.In(r, unicode.Common, unicode.Inherited) {
			continue
		}
		for _, script := range unicode.Scripts {
			if unicode.Is(script, r) {
				return script
			}
		}
	}
	return nil
}

func within(word string, scripts ...*unicode.RangeTable) bool {
	for _, r := range word {
		if !unicode.In(r, unicode.Common, unicode.Inherited) && !unicode.In(r, scripts...) {
			return false
		}
	}
	return true
}

// Unreadable reports whether s hides its words from a simple reader: in letters of another form
// (full width, mathematical, in circles, of emoji), under marks, spaced out, between digits,
// without vowels, in signs instead of letters, in escapes, or in base64 or hexadecimal.
func Unreadable(s string) bool {
	return formed(s) || marked(s) || spaced(s) || switches(s) || voiceless(s) || wordless(s) ||
		escapes.MatchString(s) || len(encoded(s)) > 0
}

// escapes matches the escape sequences of programs and links.
var escapes = regexp.MustCompile(
	`(?i)(%[0-9a-f]{2}){3}|(\\(u\{?|x|0?)[0-9a-f]{2,6}\}?\s*){2}|(U\+[0-9a-f]{4,6}[\s,]*){2}`,
)

const fewestSigns = 16 // minimum length of a text that may consist of signs instead of letters

// wordless reports whether a text consists of signs and digits, such as Morse code, Braille or the
// numbers of letters.
func wordless(s string) bool {
	letters, all := 0, 0
	for _, r := range s {
		if unicode.IsSpace(r) {
			continue
		}
		if all++; unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		}
	}
	return all >= fewestSigns && 3*letters < all
}

// symbols have letters as their compatibility form, but are ordinary signs.
const symbols = "™℠№ªº℃℉Åℓ㈱㊙㊗"

// formed reports whether s has letters whose compatibility form is a different ASCII letter.
func formed(s string) bool {
	flags, half, signs := 0, false, 0
	for _, r := range s {
		switch {
		case r >= 0x1F1E6 && r <= 0x1F1FF: // two of them are a flag, one is a letter, many are a text
			half = !half
			if flags++; flags > maxFlags {
				return true
			}
			continue
		case half:
			return true
		// white letters in black circles and squares, Braille
		case r >= 0x1F150 && r <= 0x1F189, r > brailleBlank && r <= brailleBlank+0xFF:
			if signs++; signs > 2 {
				return true
			}
			continue
		}
		if r <= unicode.MaxASCII || strings.ContainsRune(symbols, r) {
			continue
		}
		if form := norm.NFKC.String(string(r)); form != string(r) && strings.ContainsFunc(form, asciiLetter) {
			return true
		}
	}
	return half
}

const maxFlags = 8 // letters: four flags

func asciiLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// marked reports whether s has marks that remain after composition: no supported language uses
// them.
func marked(s string) bool {
	return strings.ContainsFunc(norm.NFC.String(s), func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me) && r != keycap && !ofEmoji(r)
	})
}

const maxSpaced = 4 // consecutive single letters: U S B C

func spaced(s string) bool {
	run := 0
	for _, word := range words(s) {
		r, size := utf8.DecodeRuneInString(word)
		if size < len(word) || !unicode.IsLetter(r) || unicode.In(r, read...) {
			run = 0
			continue
		}
		if run++; run > maxSpaced {
			return true
		}
	}
	return false
}

const maxSwitches = 3 // between letters and digits of one word: h264 has one, k8s two, 3d4u three

func switches(s string) bool {
	for _, word := range words(s) {
		count, before := 0, rune(0)
		for _, r := range word {
			if before != 0 && unicode.IsLetter(r) != unicode.IsLetter(before) {
				count++
			}
			before = r
		}
		if count > maxSwitches {
			return true
		}
	}
	return false
}

// voiceless reports whether a Latin text has too few vowels for any of [Languages], as most ciphers
// produce. Words in capitals are names.
func voiceless(s string) bool {
	vowels, all := 0, 0
	for _, word := range words(bare(s)) {
		if !isASCII(word) || strings.ToUpper(word) == word {
			continue
		}
		for _, r := range strings.ToLower(word) {
			switch {
			case strings.ContainsRune("aeiouy", r):
				vowels++
				all++
			case r >= 'a' && r <= 'z':
				all++
			}
		}
	}
	return all >= 16 && vowels*100 < 25*all
}

const minEncoded = 11 // minimum number of base64 or hexadecimal characters to decode

// encoded returns the texts encoded in parts of s, or in s without its spaces.
func encoded(s string) (texts []string) {
	parts := strings.FieldsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !asciiLetter(r) && (r < '0' || r > '9') && !strings.ContainsRune("+/=-_", r)
	})
	for _, part := range append(parts, strings.Join(strings.Fields(s), "")) {
		if len(part) < minEncoded {
			continue
		}
		bare := strings.TrimRight(part, "=")
		for _, decode := range []func(string) ([]byte, error){
			base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString, hex.DecodeString,
		} {
			if text, err := decode(bare); err == nil && prose(text) {
				texts = append(texts, string(text))
				break
			}
		}
	}
	return texts
}

// prose reports whether b is probably text written by a person: eight random bytes are not.
func prose(b []byte) bool {
	s, of := string(b), 0
	for _, r := range s {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return false
		}
		if unicode.IsLetter(r) || r == ' ' {
			of++
		}
	}
	count := utf8.RuneCountInString(s)
	return count >= 8 && of*10 >= count*8
}
