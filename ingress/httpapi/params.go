package httpapi

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/internal/errs"
)

// Params says which values the parameters of a route's query may have, by name: a named one has
// such a value, whether this request uses it or not. An empty value counts as absent. Other names
// are ignored.
type Params map[string]Form

// Form is what a value may be.
type Form struct {
	what string // completes "must be"
	fits func(text string) bool
}

// The forms that many parameters have.
var (
	IDForm  = Form{"a UUID", func(text string) bool { _, err := ParseID("", text); return err == nil }}
	DayForm = Form{
		"a date like 2026-01-31 (UTC)",
		func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil },
	}
	// TimeForm is RFC 3339, or a UTC day.
	TimeForm = Form{"a time like 2026-01-31T12:00:00Z or a day like 2026-01-31", func(text string) bool {
		_, err := ParseTime(text)
		return err == nil
	}}
	MonthForm = Form{
		"a month like 2026-01", func(text string) bool { _, err := time.Parse("2006-01", text); return err == nil },
	}
	TextForm = Form{"a text", func(text string) bool { return text != "" }}
)

// WordForm is one of words.
func WordForm(words ...string) Form {
	return Form{"one of " + strings.Join(words, ", "), func(text string) bool { return slices.Contains(words, text) }}
}

// NumberForm is a whole number from low to high.
func NumberForm(low, high int) Form {
	what := "a whole number from " + strconv.Itoa(low) + " to " + strconv.Itoa(high)
	return Form{what, func(text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= low && n <= high
	}}
}

// ParseTime reads RFC 3339 or a UTC day.
func ParseTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	return time.Parse(time.DateOnly, text)
}

// check refuses a query of c that has a value of another form than p says.
func (p Params) check(c *gin.Context) error {
	if len(p) == 0 || c.Request.URL.RawQuery == "" {
		return nil
	}
	for name, values := range c.Request.URL.Query() {
		form, known := p[name]
		if !known {
			continue
		}
		for _, text := range values {
			if !form.fits(text) {
				return errs.New(
					errs.InvalidRequest, "%s must be %s; leave it out if you mean none", name, form.what,
				).With("field", name)
			}
		}
	}
	return nil
}

// asked is what c says of the parameter that chooses an action, and whether it is empty, which is
// not the same as absent.
func (e *entrance) asked(c *gin.Context) (value string, empty bool) {
	if e.value != "" {
		return e.value, false
	}
	values := c.QueryArray(e.param)
	if len(values) == 0 {
		return "", false
	}
	return values[0], values[0] == ""
}
