// Package suitability judges a conversation before an ad is sold beside it. It detects the subjects
// of [subject.Never] (a person in need, a request for harm, a child and others) and sensitive
// subjects.
//
// It is a pure function of the texts, without I/O, clock or randomness, and computes with integers
// only. It leans towards refusing, because a refusal costs a fraction of a cent and an ad beside a
// suicide costs a person.
package suitability

import "adnet/internal/campaign/subject"

// By is the source of a verdict.
type By uint8

// The sources of a verdict.
const (
	ByNothing    By = iota
	ByRule          // a phrase or a pattern
	ByTable         // the learnt table
	ByFlag          // a statement of the publisher: a flag, an age, a category
	ByClassifier    // the operator's own classifier
	ByMemory        // an earlier turn of the session
)

// String returns the name of by in APIs, empty for [ByNothing].
func (by By) String() string {
	return [...]string{"", "rule", "table", "flag", "classifier", "memory"}[by]
}

// Speaker is the author of a text.
type Speaker uint8

// The speakers. Other texts (instructions, pages fetched by tools) are not judged.
const (
	User Speaker = iota
	Assistant
)

// Verdict is the result for a conversation. The zero value is an ordinary one.
type Verdict struct {
	// Never is the subject beside which no ad is shown, [subject.None] for none.
	Never subject.ID
	// By is the source of Never.
	By By
	// Lasts reports whether the verdict is about the person: then later turns of the conversation
	// have no ads either. A verdict on text of the assistant alone does not last.
	Lasts bool
	// Sensitive are the sensitive subjects.
	Sensitive subject.Set
}

// Refuse adds a subject of [subject.Never] to v. The first verdict stays, except that a lasting one
// replaces one that does not last.
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

// Subject returns the reported subject of v: Never, else the first sensitive one.
func (v *Verdict) Subject() subject.ID {
	if v.Never != subject.None {
		return v.Never
	}
	return v.Sensitive.First()
}

// Tier returns the tier of v.
func (v *Verdict) Tier() subject.Tier { return v.Subject().Tier() }
