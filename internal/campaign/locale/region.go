package locale

import (
	"strings"

	"golang.org/x/text/language"
)

// Region returns the canonical code of a country (ISO 3166-1 as two letters) or of a part of one
// (ISO 3166-2): of a code of two or three letters or three digits in any case, with a hyphen or an
// underscore before the part ("USA", "840", "deu_by"), or of a country's name in any language.
//
// The code is empty if the country is unknown. current is false for a code that is no longer or
// never was the country's own ("UK").
func Region(text string) (code string, current bool) {
	if isPlainRegion(text) {
		return text, true
	}
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxLength {
		return "", false
	}
	country, part, parted := strings.Cut(strings.ToUpper(strings.ReplaceAll(text, "_", "-")), "-")
	if len(country) > 3 || parted && !isPart(part) || !isWord(country) {
		return namedRegion(text)
	}
	if usual, is := otherCodes[country]; is {
		country = usual
	}
	parsed, err := language.ParseRegion(country)
	region := parsed.Canonicalize()
	if err != nil || !region.IsCountry() {
		return namedRegion(text)
	}
	code = region.String()
	current = code == country || region.ISO3() == country || '0' <= country[0] && country[0] <= '9'
	if parted {
		code += "-" + part
	}
	return code, current
}

// otherCodes holds codes of countries that are in use beside those of ISO 3166-1: of the European
// Union, of older tables, and of Kosovo.
var otherCodes = map[string]string{"EL": "GR", "ROM": "RO", "XKX": "XK", "XKS": "XK", "TMP": "TL", "ZAR": "CD"}

// isPlainRegion reports whether a text is canonical at first sight: a current country's two letters
// in upper case, with or without a part.
func isPlainRegion(text string) bool {
	if len(text) < 2 || !plainRegions.has(text[0]-'A', text[1]-'A') {
		return false
	}
	return len(text) == 2 || text[2] == '-' && isPart(text[3:])
}

// isPart reports whether a text in upper case has the form of a subdivision's code.
func isPart(text string) bool { return len(text) >= 1 && len(text) <= 3 && isWord(text) }

func isWord(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

var plainRegions = pairsOf('A', func(code string) bool {
	region, err := language.ParseRegion(code)
	return err == nil && region.IsCountry() && region.Canonicalize().String() == code
})
