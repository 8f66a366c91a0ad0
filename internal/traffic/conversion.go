package traffic

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// ConversionName returns the normal form of a conversion type: types with one form are one type. It
// is toNFKC_Casefold (The Unicode Standard, section 3.13) without spaces at the ends.
func ConversionName(kind string) string {
	if isConversionName(kind) {
		return kind
	}
	for range mostFolds { // a bound, since a stranger writes kind
		name := norm.NFKC.String(fold(norm.NFKC.String(kind)))
		name = strings.TrimSpace(strings.Map(visible, name))
		if name == kind {
			break
		}
		kind = name
	}
	return kind
}

// mostFolds is the number of passes after which a text has its normal form: one is enough for nearly
// all, and the last confirms it.
const mostFolds = 8

// fold folds case. [cases.Fold] exchanges the two cases of Cherokee letters; the folded ones are the
// capitals (The Unicode Standard, section 5.18).
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToUpper(r)
		}
		return r
	}, cases.Fold().String(text))
}

// isConversionName recognizes the normal form of nearly every type, without an allocation.
func isConversionName(kind string) bool {
	for i := range len(kind) {
		if c := kind[i]; c < ' ' || c >= 0x7f || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return kind == "" || kind[0] != ' ' && kind[len(kind)-1] != ' '
}

// visible drops the runes that Unicode lets a program ignore.
func visible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// ConversionType returns the normal form of kind for grouping. Advertisers name their conversions
// freely (at most 64 bytes); for other senders the result is a word of a list, or "other".
func ConversionType(kind string) string {
	kind = ConversionName(kind)
	if kind == "" {
		return ""
	}
	if known := listed(kind, conversionTypes[:]); known != "" {
		return known
	}
	return "other"
}

var conversionTypes = [...]string{
	"purchase", "sale", "order", "signup", "sign_up", "registration", "lead", "install", "app_install", "subscription",
	"subscribe",
	"trial", "start_trial", "download", "add_to_cart", "checkout", "contact", "booking", "donation", "page_view",
	"view_content", "other",
}
