package payment

import (
	"fmt"
	"strings"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// UnknownType is the reason for parking an event of a type that is neither handled nor harmless.
const UnknownType = "events of this type are not known"

// Unapplied is a provider's event with an amount that cannot be applied.
type Unapplied struct {
	Provider  ledger.Provider
	EventID   string
	Type      string
	PaymentID string       // the provider's payment or object, whatever the event names
	Amount    money.Micros // 0 if it cannot be read or is in another currency than USD
	Currency  string
	Illegible bool // the amount cannot be read
	Why       string
}

// Delivery returns the parked delivery of u. Errors: errs.InvalidRequest without a usable event id.
func (u Unapplied) Delivery() (Delivery, error) {
	if !ledger.IsReference(u.EventID) {
		return Delivery{}, errs.New(errs.InvalidRequest, "the event has no usable id")
	}
	if !ledger.IsReference(u.PaymentID) {
		u.PaymentID = ""
	}
	switch {
	case u.Illegible:
		u.Amount = 0
		u.Why += ", its amount cannot be read"
	case u.Amount == 0:
		u.Why += ", the currency is " + plain(u.Currency)
	}
	return Delivery{
		Notice: ledger.Notice{Provider: u.Provider, EventID: u.EventID, PaymentID: u.PaymentID, Amount: u.Amount},
		Type:   u.Type, Parked: u.Why,
	}, nil
}

// typeOf returns the storable part of a provider's event type.
func typeOf(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, text)
	return text[:min(100, len(text))]
}

// ForeignCurrency parks a delivery about money that is not USD: adnet converts no currencies.
// Without a usable event and payment a person would have nothing to look up.
func ForeignCurrency(n ledger.Notice, currency string) (Delivery, error) {
	n.Amount = max(1, n.Amount)
	if err := n.Valid(); err != nil {
		return Delivery{}, err
	}
	n.Amount = 0
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
