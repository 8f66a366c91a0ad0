package rtb

import (
	"math"
	"strconv"
	"strings"

	"adnet/internal/money"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The types of this file read what is used of a request and let everything else pass: a value of a kind that
// the standard does not name counts as absent, because exchanges send such values and none of them makes the
// request malformed. Only a text that is no JSON is an error.

// text is a string.
type text string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = ""
	if dec.PeekKind() != '"' {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*t = text(token.String())
	return nil
}

// whole is an integer, also written as a float, a string or a boolean.
type whole struct {
	set bool
	n   int64
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *whole) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*w = whole{}
	switch kind := dec.PeekKind(); kind {
	case '0', '"':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if n, ok := parseWhole(token.String()); ok {
			*w = whole{true, n}
		}
		return nil
	case 't', 'f':
		*w = whole{set: true}
		if kind == 't' {
			w.n = 1
		}
	}
	return dec.SkipValue()
}

func parseWhole(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	return int64(max(min(f, math.MaxInt32), math.MinInt32)), true
}

func (w whole) is(n int64) bool { return w.set && w.n == n }

// amount is a price of 1,000 impressions. One that cannot be read is bad, not zero: nobody may bid below a floor
// that was meant.
type amount struct {
	micros money.Micros // never negative
	given  bool
	bad    bool
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *amount) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*a = amount{}
	switch dec.PeekKind() {
	case '0', '"':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*a = parseAmount(token.String())
		a.given = strings.TrimSpace(token.String()) != ""
		return nil
	case 'n':
	default:
		*a = amount{given: true, bad: true}
	}
	return dec.SkipValue()
}

// parseAmount reads dollars, rounded up to a micro-dollar unless a float's own noise is all that is left.
func parseAmount(s string) amount {
	s = strings.TrimSpace(s)
	if s == "" {
		return amount{}
	}
	if exact, err := money.Parse(s); err == nil {
		return amount{micros: max(exact, 0)}
	}
	f, err := strconv.ParseFloat(s, 64)
	if math.IsNaN(f) || err != nil && !math.IsInf(f, 1) {
		return amount{bad: true}
	}
	f *= float64(money.USD)
	if f >= float64(money.Max) {
		return amount{micros: money.Max}
	}
	if near := math.Round(f); math.Abs(f-near) < 1e-3 {
		f = near
	}
	return amount{micros: money.Micros(max(math.Ceil(f), 0))}
}

// texts is a list of strings; a single string is a list of one.
type texts []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *texts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = (*t)[:0]
	switch dec.PeekKind() {
	case '"':
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*t = texts{token.String()}
		return nil
	case '[':
		return elements(dec, func() error {
			var s text
			if dec.PeekKind() != '"' {
				return dec.SkipValue()
			}
			if err := s.UnmarshalJSONFrom(dec); err != nil {
				return err
			}
			*t = append(*t, string(s))
			return nil
		})
	}
	return dec.SkipValue()
}

// wholes is a list of integers.
type wholes []int64

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *wholes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*w = (*w)[:0]
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	return elements(dec, func() error {
		var n whole
		if err := n.UnmarshalJSONFrom(dec); err != nil {
			return err
		}
		if n.set {
			*w = append(*w, n.n)
		}
		return nil
	})
}

// object is an object that may be absent.
type object[T any] struct {
	set bool
	v   T
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *object[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*o = object[T]{}
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	o.set = true
	return json.UnmarshalDecode(dec, &o.v)
}

// objects is a list of objects. bad says that something in it is none.
type objects[T any] struct {
	list []T
	bad  bool
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *objects[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	o.list, o.bad = o.list[:0], false
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	return elements(dec, func() error {
		if dec.PeekKind() != '{' {
			o.bad = true
			return dec.SkipValue()
		}
		o.list = append(o.list, *new(T))
		return json.UnmarshalDecode(dec, &o.list[len(o.list)-1])
	})
}

// elements calls each for every element of the array that comes next; each must read exactly one value.
func elements(dec *jsontext.Decoder, each func() error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for {
		switch dec.PeekKind() {
		case ']':
			_, err := dec.ReadToken()
			return err
		case 0:
			_, err := dec.ReadToken() // the error
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// decodeOptions: of a name that occurs twice the last value counts, as in every exchange's own decoder, and half of
// a surrogate pair, as a cut title ends in, is a replacement character.
func decodeOptions() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
