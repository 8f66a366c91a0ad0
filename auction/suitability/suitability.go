// Package suitability judges a conversation before an ad is sold beside it: whether a person in
// need, a harm that is asked for, a child or another subject of [subject.Never] is there, and which
// sensitive subjects.
//
// It is a pure function of the texts: no input or output, no clock, no randomness, integers only. A
// refusal costs a fraction of a cent and an ad beside a suicide costs a person, so it leans towards
// refusing.
package suitability

import "adnet/internal/subject"

// By is what decided a verdict.
type By uint8

// What decides.
const (
	ByNothing    By = iota
	ByRule          // a phrase or a pattern
	ByTable         // the learnt table
	ByFlag          // what the publisher said: a flag, an age, a category
	ByClassifier    // the operator's own
	ByMemory        // an earlier turn of the session
)

// String is the name of by in APIs; empty for [ByNothing].
func (by By) String() string {
	return [...]string{"", "rule", "table", "flag", "classifier", "memory"}[by]
}

// Speaker is whose text is read.
type Speaker uint8

// The speakers. What others say (instructions, pages that tools fetched) is not judged.
const (
	User Speaker = iota
	Assistant
)

// Verdict is what was found in a conversation. The zero value is an ordinary one.
type Verdict struct {
	// Never is the subject beside which no ad is shown, [subject.None] for none.
	Never subject.ID
	// By is what decided Never.
	By By
	// Lasts reports whether the verdict is about the person: then later turns of the conversation
	// have no ads either. What only an assistant said does not last.
	Lasts bool
	// Sensitive are the sensitive subjects.
	Sensitive subject.Set
}

// Refuse adds a subject of [subject.Never] to v. The first that decided stays, but one that lasts
// replaces one that does not.
func (v *Verdict) Refuse(id subject.ID, by By, lasts bool) {
	if v.Never == subject.None || lasts && !v.Lasts {
		v.Never, v.By, v.Lasts = id, by, lasts
	}
}

// Add adds the verdict on another text of the conversation to v.
func (v *Verdict) Add(other Verdict) {
	if other.Never != subject.None {
		v.Refuse(other.Never, other.By, other.Lasts)
	}
	v.Sensitive |= other.Sensitive
}

// Subject is the subject that is reported for v: that of Never, else the first sensitive one.
func (v *Verdict) Subject() subject.ID {
	if v.Never != subject.None {
		return v.Never
	}
	return v.Sensitive.First()
}

// Tier is the tier of v.
func (v *Verdict) Tier() subject.Tier { return v.Subject().Tier() }
