// Package share holds shares of a whole, such as the probability that an ad answers a request, as
// integers.
package share

import (
	"math"
	"strconv"
	"strings"

	"adnet/internal/money/decimal"
)

// Share is a share of a whole in parts per million, from 0 to [Whole].
type Share int64

// Whole is the whole: 1.
const Whole Share = decimal.Unit

// ErrForm reports a text that is not a number from 0 to 1.
var ErrForm error = form{}

type form struct{}

func (form) Error() string { return "not " + form{}.Wants() }

// Wants completes "must be".
func (form) Wants() string { return "a number from 0 to 1" }

// Valid reports whether s is from 0 to 1.
func (s Share) Valid() bool { return s >= 0 && s <= Whole }

// Parse reads a JSON number from 0 to 1, rounded to the nearest millionth: programs that compute a
// share write more decimals than they mean (0.1 + 0.2 is 0.30000000000000004). Errors: [ErrForm],
// also for a number outside by less than a millionth.
func Parse(text string) (Share, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" { // ParseFloat accepts more than JSON does
		return 0, ErrForm
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) || strings.HasPrefix(text, "-") && f != 0 {
		return 0, ErrForm
	}
	return Share(math.Round(f * float64(Whole))), nil
}

// MarshalJSON writes a number with at most six decimals.
func (s Share) MarshalJSON() ([]byte, error) { return decimal.AppendMillionths(nil, int64(s)), nil }

// UnmarshalJSON implements json.Unmarshaler with [Parse].
func (s *Share) UnmarshalJSON(b []byte) (err error) {
	*s, err = Parse(string(b))
	return err
}
