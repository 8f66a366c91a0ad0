package httpapi

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/internal/errs"
)

// Params holds the allowed forms of a route's query parameters by name. A value must have the form
// of its parameter even where the request does not use it.
type Params map[string]Form

// Form describes the valid values of a parameter.
type Form struct {
	what string // completes "must be"
	fits func(text string) bool
}

// Common forms.
var (
	IDForm  = Form{"a UUID", func(text string) bool { _, err := ParseID("", text); return err == nil }}
	DayForm = Form{
		"a date like 2026-01-31 (UTC)",
		func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil },
	}
	// TimeForm accepts RFC 3339, or a UTC day.
	TimeForm = Form{"a time like 2026-01-31T12:00:00Z or a day like 2026-01-31", func(text string) bool {
		_, err := ParseTime(text)
		return err == nil
	}}
	MonthForm = Form{
		"a month like 2026-01", func(text string) bool { _, err := time.Parse("2006-01", text); return err == nil },
	}
	// SwitchForm accepts true and false, in the spellings of [switchOf].
	SwitchForm = Form{
		"true or false (also 1, yes, on and 0, no, off)",
		func(text string) bool { _, ok := switchOf(text); return ok },
	}
	TextForm = Form{"a text", func(text string) bool { return text != "" }}
)

// switchOf returns the truth value of a parameter, in any case. ok is false if it has none.
func switchOf(text string) (on, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "true", "t", "yes", "y", "on":
		return true, true
	case "0", "false", "f", "no", "n", "off":
		return false, true
	}
	return false, false
}

// WordForm accepts one of words.
func WordForm(words ...string) Form {
	return Form{"one of " + strings.Join(words, ", "), func(text string) bool { return slices.Contains(words, text) }}
}

// WordsForm accepts one to most different words of words, separated by commas.
func WordsForm(most int, words ...string) Form {
	return Form{
		"at most " + strconv.Itoa(most) + " different of " + strings.Join(words, ", ") + ", separated by a comma",
		func(text string) bool {
			list := strings.Split(text, ",")
			for i, word := range list {
				if !slices.Contains(words, word) || slices.Contains(list[:i], word) {
					return false
				}
			}
			return len(list) <= most
		},
	}
}

// QueryWords returns the words of a parameter of the query whose form is [WordsForm], none if it is
// absent.
func QueryWords(c *gin.Context, name string) []string {
	if text := c.Query(name); text != "" {
		return strings.Split(text, ",")
	}
	return nil
}

// NumberForm accepts a whole number from low to high.
func NumberForm(low, high int) Form {
	what := "a whole number from " + strconv.Itoa(low) + " to " + strconv.Itoa(high)
	return Form{what, func(text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= low && n <= high
	}}
}

// ParseTime parses RFC 3339 or a UTC day.
func ParseTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	return time.Parse(time.DateOnly, text)
}

// check rejects the values of a parameter if one breaks its form.
func (p Params) check(name string, values []string) error {
	form, known := p[name]
	if !known {
		return nil
	}
	for _, text := range values {
		if !form.fits(text) {
			return errs.New(
				errs.InvalidRequest, "%s must be %s; leave it out if you mean none", name, form.what,
			).With("field", name)
		}
	}
	return nil
}

// selected returns the value of the parameter that selects an action, and reports whether it is
// empty, which is not the same as absent.
func (e *entrance) selected(c *gin.Context) (value string, empty bool) {
	if e.value != "" {
		return e.value, false
	}
	values := c.QueryArray(e.param)
	if len(values) == 0 {
		return "", false
	}
	return values[0], values[0] == ""
}
