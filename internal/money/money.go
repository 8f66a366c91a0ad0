// Package money holds the two currencies of adnet as integers.
//
// Amounts of cash are [Micros], millionths of a US dollar; nothing in adnet holds cash as a float.
// Credits are whole units of a second asset and are never converted implicitly.
package money

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"adnet/internal/money/decimal"
)

// Micros is an amount of cash in micro-USD: 1 USD is 1,000,000. A bid "per mille" (CPM) is also
// held in Micros, as the price of 1,000 impressions.
type Micros int64

// Credits counts publisher Credits. One valid unique impression mints one.
type Credits int64

// USD is one US dollar.
const USD Micros = 1_000_000

// Max is the largest amount that [Parse] accepts, 10 billion USD. 922 such amounts overflow an
// int64, so sums of callers' amounts use [Micros.AddSaturated].
const Max = 10_000_000_000 * USD

// ErrSyntax reports a text that is not a plain decimal number of dollars.
var ErrSyntax = errors.New("not a decimal amount of USD")

// ErrRange reports an amount beyond ±[Max] or finer than a micro-dollar.
var ErrRange = errors.New("amount out of range (at most six decimals, at most 10,000,000,000 USD)")

// Parse reads a JSON number of dollars exactly, without passing through a float. It accepts an
// exponent as JSON does ("5e-2") and rejects anything finer than a micro-dollar. Errors:
// [ErrSyntax], [ErrRange].
func Parse(s string) (Micros, error) { return parse(s, false) }

// Round is [Parse] with rounding to the nearest micro-dollar: programs that compute an amount write
// more decimals than they mean (0.1 + 0.2 is 0.30000000000000004). A negative amount stays
// negative.
func Round(s string) (Micros, error) { return parse(s, true) }

func parse(s string, round bool) (Micros, error) {
	mantissa, exponent, err := splitExponent(s)
	if err != nil {
		return 0, err
	}
	negative := strings.HasPrefix(mantissa, "-")
	mantissa = strings.TrimPrefix(mantissa, "-")
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	if whole == "" || hasPoint && fraction == "" || !digits(whole) || !digits(fraction) {
		return 0, ErrSyntax
	}
	fraction = strings.TrimRight(fraction, "0")
	shift := exponent - len(fraction) + 6
	number := strings.TrimLeft(whole+fraction, "0")
	for shift < 0 && strings.HasSuffix(number, "0") {
		number, shift = number[:len(number)-1], shift+1
	}
	if number == "" {
		return 0, nil
	}
	up := Micros(0)
	if shift < 0 && round {
		number, up = nearest(number, -shift)
		shift = 0
	}
	if shift < 0 || len(number)+shift > 17 {
		return 0, ErrRange
	}
	n, err := strconv.ParseInt(number+strings.Repeat("0", shift), 10, 64)
	amount := Micros(n) + up
	if err != nil || amount > Max {
		return 0, ErrRange
	}
	if negative {
		return -max(amount, 1), nil
	}
	return amount, nil
}

// nearest cuts the last digits off a number; up is 1 if they were half of a unit or more.
func nearest(number string, last int) (rest string, up Micros) {
	from := len(number) - last
	if from >= 0 && number[from] >= '5' {
		up = 1
	}
	return "0" + number[:max(from, 0)], up
}

// splitExponent splits off the exponent. An exponent too large for an int becomes one beyond every
// valid number.
func splitExponent(s string) (mantissa string, exponent int, err error) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0, nil
	}
	exponent, err = strconv.Atoi(s[i+1:])
	switch {
	case errors.Is(err, strconv.ErrRange):
		exponent = min(max(exponent, -1<<30), 1<<30)
	case err != nil:
		return "", 0, ErrSyntax
	}
	if exponent > 30 {
		return "", 0, ErrRange
	}
	return s[:i], exponent, nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Append writes m as a JSON number of dollars with the fewest decimals.
func (m Micros) Append(b []byte) []byte { return decimal.AppendMillionths(b, int64(m)) }

// String returns the amount in dollars, "3.37".
func (m Micros) String() string { return string(m.Append(nil)) }

// MarshalJSON writes a JSON number of dollars.
func (m Micros) MarshalJSON() ([]byte, error) { return m.Append(nil), nil }

// UnmarshalJSON reads a JSON number of dollars by [Round]. Errors: [ErrSyntax], [ErrRange].
func (m *Micros) UnmarshalJSON(b []byte) error {
	v, err := Round(string(b))
	if err != nil {
		return err
	}
	*m = v
	return nil
}

// PerMille returns the price of one unit of a CPM amount, rounded down: an advertiser never pays
// more than the bid.
func (m Micros) PerMille() Micros { return m / 1000 }

// AddSaturated returns m + n, at most the largest Micros and at least the smallest.
func (m Micros) AddSaturated(n Micros) Micros {
	sum := m + n
	switch {
	case m > 0 && n > 0 && sum < 0:
		return math.MaxInt64
	case m < 0 && n < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// MulDiv returns m × num ÷ den rounded down, saturating at the largest Micros instead of
// overflowing. m, num ≥ 0 and den > 0.
func (m Micros) MulDiv(num, den int64) Micros {
	if num != 0 && int64(m) > math.MaxInt64/num {
		return Micros(math.MaxInt64/den) - 1
	}
	return Micros(int64(m) * num / den)
}
