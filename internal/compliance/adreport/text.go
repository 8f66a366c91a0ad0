package adreport

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func clean(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most &&
		!strings.ContainsFunc(
			text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' },
		)
}

// Addresses returns the e-mails in left without duplicates.
func Addresses(left []string) []string {
	slices.Sort(left)
	left = slices.Compact(left)
	return slices.DeleteFunc(left, func(address string) bool { return address == "" })
}
