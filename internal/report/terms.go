package report

import (
	"slices"

	"adnet/internal/errs"
)

// ByTerm splits events by the words of their requests. An event has several, so that its groups do
// not add up, and [Query] does not take it: [TermCounts] are counted apart.
const ByTerm Breakdown = "term"

// MaxTermDays is the maximum number of days of a query by term: recorded terms are stored for 30.
const MaxTermDays = 31

// TermCounts counts the events of requests with a recorded term.
type TermCounts struct {
	Term uint32 // id
	Counts
}

// MaxTerms is the maximum number of terms of an answer, those with the largest spend.
const MaxTerms = MaxGroups

// CheckTerms returns nil if the terms of q can be counted. Errors: errs.InvalidRequest with the
// field.
func CheckTerms(q *Query) error {
	switch {
	case q.Breakdown != ByTerm || q.Then != "":
		return errs.New(
			errs.InvalidRequest, "term is a breakdown alone: a request has several terms",
		).With("field", "breakdown")
	case q.Until-q.Since >= MaxTermDays:
		return errs.New(
			errs.InvalidRequest, "a breakdown by term covers at most %d days", MaxTermDays,
		).With("field", "since")
	}
	return nil
}

// TermGroups sets the groups of r to the counts of terms by their word, by spend then word, and one
// last group, OthersKey, of the events without a word. within counts the events with one. Terms
// without a word are not shown.
func (r *Result) TermGroups(counted []TermCounts, words map[uint32]string, within Counts) {
	sums := map[string]*Counts{}
	for i := range counted {
		if word := words[counted[i].Term]; word != "" {
			if sums[word] == nil {
				sums[word] = new(Counts)
			}
			sums[word].Add(counted[i].Counts)
		}
	}
	r.Groups = make([]Group, 0, len(sums))
	for word, counts := range sums {
		r.Groups = append(r.Groups, Group{Key: word, Counts: *counts})
	}
	slices.SortFunc(r.Groups, BySpend)
	rest := Group{Key: OthersKey, Counts: r.Counts}
	if rest.sub(&within); rest.Counts != (Counts{}) {
		r.Groups = append(r.Groups, rest)
	}
}
