package suitability

import "adnet/internal/campaign/subject"

// Ruled returns the subject of [subject.Never] that a rule finds in a single text, or
// [subject.None]. The learnt table does not count: its guess is no reason to hold an advertiser's
// word for review.
func Ruled(text string) subject.ID {
	if v := Judge(text, User); v.By == ByRule {
		return v.Never
	}
	return subject.None
}
