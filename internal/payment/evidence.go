package payment

import (
	"fmt"
	"strings"

	"adnet/internal/ledger"
)

// ForeignCurrency parks a delivery about money that is not USD: adnet converts no currencies.
// Without a usable event and payment a person would have nothing to look up.
func ForeignCurrency(n ledger.Notice, currency string) (Delivery, error) {
	n.Amount = max(1, n.Amount)
	if err := n.Valid(); err != nil {
		return Delivery{}, err
	}
	return Delivery{Notice: n, Parked: fmt.Sprintf("the currency is %s, only USD is credited", plain(currency))}, nil
}

// plain returns at most eight letters of a supposed currency.
func plain(text string) string {
	text = strings.ToUpper(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, text))
	if text == "" {
		return "not named"
	}
	return text[:min(8, len(text))]
}
