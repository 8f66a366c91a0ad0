package suitability

import "adnet/internal/subject"

// Ruled returns the subject of [subject.Never] that a rule finds in a text read alone,
// [subject.None] for none: the learnt table guesses, which is no reason to hold an advertiser's
// word.
func Ruled(text string) subject.ID {
	if v := Judge(text, User); v.By == ByRule {
		return v.Never
	}
	return subject.None
}
