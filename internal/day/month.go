package day

import (
	"time"

	"adnet/internal/errs"
)

// Month is a UTC month: twelve times the year, plus 0 for January.
type Month int32

// MonthOf returns the UTC month of t.
func MonthOf(t time.Time) Month { return Month(t.UTC().Year()*12 + int(t.UTC().Month()) - 1) }

// ParseMonth parses 2006-01. Errors: errs.InvalidRequest.
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil || t.Year() < 1970 {
		return 0, errs.New(errs.InvalidRequest, "month must be a month like 2026-01").With("field", "month")
	}
	return MonthOf(t), nil
}

// Start returns the first instant of the month, UTC.
func (m Month) Start() time.Time {
	return time.Date(int(m)/12, time.Month(int(m)%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// End returns the first instant after the month, UTC.
func (m Month) End() time.Time { return (m + 1).Start() }

// String returns the month as 2006-01.
func (m Month) String() string { return m.Start().Format("2006-01") }
