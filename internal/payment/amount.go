package payment

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is the number of levels of an amount that [IsAmount] reads. Anything deeper is an amount.
const maxDepth = 4

// nonZero are the digits of an amount above 0.
const nonZero = "123456789"

// priced are the members of a provider's object that have prices and limits, or texts of others.
var priced = map[string]bool{
	"billing_thresholds": true, "coupon": true, "discount": true, "metadata": true, "plan": true, "price": true,
	"product": true, "restrictions": true,
}

// HasAmount reports whether a provider's object has an amount in any form: in a member, or in a
// member of a member or of an element of a list. Stripe's lists have their elements in data.
func HasAmount(object jsontext.Value) bool {
	for _, o := range members(object) {
		if hasOwn(o) {
			return true
		}
		for name, value := range o {
			if priced[name] {
				continue
			}
			for _, inner := range members(value) {
				if hasOwn(inner) || slices.ContainsFunc(members(inner["data"]), hasOwn) {
					return true
				}
			}
		}
	}
	return false
}

// hasOwn reports whether a member of o is an amount.
func hasOwn(o map[string]jsontext.Value) bool {
	for name, value := range o {
		if namesAmount(name) && IsAmount(value) {
			return true
		}
	}
	return false
}

// members returns an object, or the objects of a list; none for other values.
func members(value jsontext.Value) (list []map[string]jsontext.Value) {
	switch value.Kind() {
	case '{':
		list = make([]map[string]jsontext.Value, 1)
		if json.Unmarshal(value, &list[0]) != nil {
			return nil
		}
	case '[':
		var elements []jsontext.Value
		if json.Unmarshal(value, &elements) != nil {
			return nil
		}
		for _, e := range elements {
			if e.Kind() == '{' {
				list = append(list, members(e)...)
			}
		}
	}
	return list
}

// namesAmount reports whether a member's name is that of an amount.
func namesAmount(name string) bool {
	name = strings.ToLower(name)
	return name == "total" || name == "net" || strings.Contains(name, "amount")
}

// IsAmount reports whether the value of an amount is other than nothing or zero.
func IsAmount(value jsontext.Value) bool { return isAmount(value, 0) }

// isAmount is IsAmount for the parts of an amount, too: there a text without a digit above 0, such as
// a currency, is no amount.
func isAmount(value jsontext.Value, depth int) bool {
	switch value.Kind() {
	case 't':
		return depth == 0
	case '0':
		digits, _, _ := strings.Cut(strings.ToLower(string(value)), "e")
		return strings.ContainsAny(digits, nonZero)
	case '"':
		var text string
		if json.Unmarshal(value, &text) != nil {
			return false
		}
		if depth == 0 {
			return strings.Trim(text, "+-0., ") != ""
		}
		return strings.ContainsAny(text, nonZero)
	case '[':
		var list []jsontext.Value
		if json.Unmarshal(value, &list) != nil {
			return false
		}
		for _, part := range list {
			if depth >= maxDepth || isAmount(part, depth+1) {
				return true
			}
		}
	case '{':
		var parts map[string]jsontext.Value
		if json.Unmarshal(value, &parts) != nil {
			return false
		}
		for _, part := range parts {
			if depth >= maxDepth || isAmount(part, depth+1) {
				return true
			}
		}
	}
	return false
}
