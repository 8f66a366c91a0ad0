package httpapi

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wholes rewrites a body that was rejected because of 191.0 or 2e3 in place of an integer: JSON has
// one kind of number, and JSON Schema counts these as integers. rewritten is false if err has
// another cause. Only rejected bodies pay for it.
func wholes(body []byte, err error) (plain []byte, rewritten bool) {
	var refused *json.SemanticError
	if !errors.As(err, &refused) || refused.JSONKind != '0' || !isInteger(refused.GoType) {
		return nil, false
	}
	var text bytes.Buffer
	in, out := jsontext.NewDecoder(bytes.NewReader(body)), jsontext.NewEncoder(&text)
	for {
		t, err := in.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return text.Bytes(), rewritten
		case err != nil:
			return nil, false
		case t.Kind() == '0':
			number := whole(t.String())
			rewritten = rewritten || number != t.String()
			err = out.WriteValue(jsontext.Value(number))
		default:
			err = out.WriteToken(t)
		}
		if err != nil {
			return nil, false
		}
	}
}

func isInteger(t reflect.Type) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t != nil && isWhole(t.Kind())
}

// whole returns a JSON number without point and exponent if it is an integer up to 2^53, the
// largest that every JSON reader holds exactly. Other numbers are returned as they are.
func whole(number string) string {
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return number
	}
	return strconv.FormatInt(int64(f), 10)
}
