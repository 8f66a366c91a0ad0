package campaign

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// The valid range of campaign dates. Nodes store seconds since 1970 in 32 bits.
var (
	firstDate = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDate  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Date is a field with a time, or null for none.
type Date struct {
	Set bool
	At  *time.Time // whole seconds, UTC; nil clears
}

// UnmarshalJSON parses an RFC 3339 time or null. Fractions of a second are cut off. Any other form
// is an error.
func (d *Date) UnmarshalJSON(b []byte) error {
	d.Set, d.At = true, nil
	if string(b) == "null" {
		return nil
	}
	text, err := jsontext.AppendUnquote(nil, b)
	if err != nil {
		return errForm("a time like 2026-01-31T10:00:00Z, or null")
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return errForm("a time like 2026-01-31T10:00:00Z, or null")
	}
	at = at.UTC().Truncate(time.Second)
	d.At = &at
	return nil
}

// errForm describes the valid form of a field in plain words. Readers of bodies prefix the field's
// name.
type errForm string

// Wants returns the valid form of the field.
func (e errForm) Wants() string { return string(e) }

func (e errForm) Error() string { return "it must be " + string(e) }

// Started reports whether c's start has passed at now.
func (c *Campaign) Started(now time.Time) bool { return c.StartAt == nil || !now.Before(*c.StartAt) }

// Ended reports whether c's end has passed at now.
func (c *Campaign) Ended(now time.Time) bool { return c.EndAt != nil && !now.Before(*c.EndAt) }

func checkDates(c *Campaign) error {
	for _, date := range []struct {
		field string
		at    *time.Time
	}{{"start_at", c.StartAt}, {"end_at", c.EndAt}} {
		if date.at != nil && (date.at.Before(firstDate) || !date.at.Before(lastDate)) {
			return invalid(date.field, "must be a time from %d to %d, or null", firstDate.Year(), lastDate.Year()-1)
		}
	}
	if c.StartAt != nil && c.EndAt != nil && !c.EndAt.After(*c.StartAt) {
		return invalid("end_at", "must be after start_at")
	}
	return nil
}

func cloneTime(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	copied := *at
	return &copied
}

// normalizeDate returns at in the form that stores use.
func normalizeDate(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	normal := at.UTC().Truncate(time.Second)
	return &normal
}
