package suitability

import (
	"strings"

	"adnet/internal/subject"
)

// Reader reads a conversation and judges it. The zero value is ready; reused, it spares
// allocations. One goroutine at a time may use it.
type Reader struct{ verdict Verdict }

// Reset begins another conversation.
func (r *Reader) Reset() { r.verdict = Verdict{} }

// Read judges one text of the conversation.
func (r *Reader) Read(text string, by Speaker) {
	lower := strings.ToLower(text)
	if strings.Contains(lower, "kill myself") {
		r.verdict.Refuse(subject.Suicide, ByRule, by == User)
	}
	if strings.Contains(lower, "diabetes") {
		r.verdict.Sensitive |= subject.SetOf(subject.Health)
	}
}

// Verdict is the verdict on what was read since Reset.
func (r *Reader) Verdict() Verdict { return r.verdict }
