package track

import (
	"slices"

	"golang.org/x/text/currency"
)

// usd is the currency of all money in adnet.
const usd = "USD"

// newCurrencies are codes of ISO 4217 that are younger than the table of x/text.
var newCurrencies = []string{"MRU", "SLE", "UYW", "VED", "VES", "XAD", "XCG", "ZWG"}

// isCurrency reports whether code is an upper-case code of ISO 4217 that stands for money: neither
// "no currency" nor the code for tests.
func isCurrency(code string) bool {
	if slices.Contains(newCurrencies, code) {
		return true
	}
	unit, err := currency.ParseISO(code)
	return err == nil && unit.String() == code && code != "XXX" && code != "XTS"
}

// foreignValue explains the use of a value in another currency.
func foreignValue(code string) string {
	return "the value in " + code + " is recorded, but reports and target_roas include values in USD only"
}
