// Package day defines adnet's units of time: UTC days, minutes and months, and the time inside a
// UUIDv7. All of them are plain numbers, so they are cheap map keys and the same on every node.
package day

import "time"

// Day is a UTC day, counted from 1970-01-01.
type Day int32

// Of returns the UTC day of t.
func Of(t time.Time) Day { return Day(t.Unix() / 86400) }

// Time returns the first instant of the day, UTC.
func (d Day) Time() time.Time { return time.Unix(int64(d)*86400, 0).UTC() }

// String returns the day as 2006-01-02.
func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// Minute is a UTC minute, counted from 1970-01-01.
type Minute int64

// MinuteOf returns the UTC minute of t.
func MinuteOf(t time.Time) Minute { return Minute(t.Unix() / 60) }

// Time returns the first instant of the minute, UTC.
func (m Minute) Time() time.Time { return time.Unix(int64(m)*60, 0).UTC() }
