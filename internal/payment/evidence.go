package payment

import (
	"fmt"
	"strings"

	"adnet/internal/ledger"
)

// ForeignCurrency parks a delivery about money that is not USD: nothing is converted here. Without a usable event
// and payment there is nothing that a person could look up.
func ForeignCurrency(n ledger.Notice, currency string) (Delivery, error) {
	n.Amount = max(1, n.Amount)
	if err := n.Valid(); err != nil {
		return Delivery{}, err
	}
	return Delivery{Notice: n, Parked: fmt.Sprintf("the currency is %s, only USD is credited", plain(currency))}, nil
}

// plain is at most eight letters of what should be a currency.
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
