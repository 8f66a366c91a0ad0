package analytics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/report"
)

// The thresholds of a recorded term in a month, those of the view known_terms.
const (
	fewestSessions   = 50
	fewestPublishers = 3

	maxTermMonths = 3 // with one that begins on another node's clock
)

// termUse counts the sessions and publishers of a term in a month, until it is known.
type termUse struct {
	sessions   map[int64]struct{}
	publishers map[uuid.UUID]struct{}
}

// known reports whether enough sessions and publishers used the term.
func (u *termUse) known() bool {
	return u != nil && len(u.sessions) >= fewestSessions && len(u.publishers) >= fewestPublishers
}

// termMonths holds the use of terms by month.
type termMonths map[time.Time]map[uint32]*termUse

func monthOf(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// mark notes the use of the terms of an auction. Months before the last are forgotten.
func (m *termMonths) mark(a *report.Auction) {
	if a.Outcome.PClick == 0 || a.Outcome.SessionMark <= 0 || len(a.Outcome.Terms) == 0 {
		return
	}
	if *m == nil {
		*m = termMonths{}
	}
	month := monthOf(a.At)
	if (*m)[month] == nil {
		maps.DeleteFunc(*m, func(of time.Time, _ map[uint32]*termUse) bool {
			return of.Before(month.AddDate(0, -1, 0))
		})
		if len(*m) >= maxTermMonths {
			return
		}
		(*m)[month] = map[uint32]*termUse{}
	}
	for _, term := range a.Outcome.Terms {
		use := (*m)[month][term]
		if use == nil {
			use = &termUse{map[int64]struct{}{}, map[uuid.UUID]struct{}{}}
			(*m)[month][term] = use
		}
		if len(use.sessions) < fewestSessions {
			use.sessions[a.Outcome.SessionMark] = struct{}{}
		}
		if len(use.publishers) < fewestPublishers {
			use.publishers[a.DeveloperID] = struct{}{}
		}
	}
}

// recorded returns the terms of an auction that may be stored, and shown.
func (m termMonths) recorded(a *report.Auction) []uint32 {
	if a.Outcome.PClick == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.Outcome.Terms), func(term uint32) bool {
		return !m[monthOf(a.At)][term].known()
	})
}

// Terms counts q's events by the recorded terms of their requests, among the newest stored auctions.
func (r *Store) Terms(_ context.Context, q report.Query) ([]report.TermCounts, error) {
	if err := report.CheckTerms(&q); err != nil {
		return nil, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	sums := map[uint32]*report.Counts{}
	r.withTerms(q, func(terms []uint32, counts *report.Counts) {
		for _, term := range terms {
			addTo(sums, term, counts)
		}
	})
	list := make([]report.TermCounts, 0, len(sums))
	for term, counts := range sums {
		list = append(list, report.TermCounts{Term: term, Counts: *counts})
	}
	slices.SortFunc(list, func(a, b report.TermCounts) int {
		return cmp.Or(cmp.Compare(b.Spend, a.Spend), cmp.Compare(a.Term, b.Term))
	})
	return list[:min(len(list), report.MaxTerms)], nil
}

// WithTerms counts q's events whose requests have one of terms, among the newest stored auctions.
func (r *Store) WithTerms(_ context.Context, q report.Query, terms []uint32) (sum report.Counts, err error) {
	if err := report.CheckTerms(&q); err != nil {
		return sum, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.withTerms(q, func(of []uint32, counts *report.Counts) {
		if slices.ContainsFunc(of, func(term uint32) bool { return slices.Contains(terms, term) }) {
			sum.Add(*counts)
		}
	})
	return sum, nil
}

// withTerms gives the counts of q's events of each auction, with its terms. The mutex is held.
func (r *Store) withTerms(q report.Query, give func(terms []uint32, counts *report.Counts)) {
	of := selectionOf(q)
	for _, record := range r.explained.byID {
		if !record.recorded || len(record.auction.Outcome.Terms) == 0 {
			continue
		}
		var counts report.Counts
		for i := range record.events {
			row := &record.events[i]
			key := ids{row.AdvertiserID, row.CampaignID, row.DeveloperID}
			if on := day.Of(row.ReceivedAt); on >= q.Since && on <= q.Until && of.matches(&key) {
				count(&counts, row)
			}
		}
		if counts != (report.Counts{}) {
			give(record.auction.Outcome.Terms, &counts)
		}
	}
}
