package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"adnet/internal/day"
)

// MaxPaidDays is the maximum number of days for which a publisher reads its advertisers.
const MaxPaidDays = 92

// The bounds below which a publisher does not learn what an advertiser paid on a day.
const (
	FewestPaid = 100 // impressions of an advertiser
	FewestLots = 2   // campaigns or bids, each with FewestInLot impressions
	// FewestInLot keeps a second campaign of a few impressions from passing the rule: the sum would
	// still state the bid of the first.
	FewestInLot = 10
)

// Paid sums an advertiser's payments to a publisher on one UTC day.
type Paid struct {
	Day        day.Day
	Advertiser uuid.UUID
	Counts     // impressions, clicks, Spend and Credits only; the others are the advertiser's
	Lots       int64
}

// PaidQuery selects the advertisers of a publisher. Since and Until are UTC days, both included.
type PaidQuery struct {
	DeveloperID  uuid.UUID
	Since, Until day.Day
}

// MaxPaid is the maximum number of pairs of advertiser and day in an answer, those with the most
// impressions.
const MaxPaid = 20_000

// disclosable reports whether the publisher may learn the sum of an advertiser's day, from which no
// bid follows.
func (p *Paid) disclosable() bool { return p.Impressions() >= FewestPaid && p.Lots >= FewestLots }

// Disclosed returns the days of advertisers that a publisher may read, in the order of list.
//
// The rule judges each day of an advertiser alone, whatever was asked for, so that the difference of
// two periods, or of a period and its days, is itself a sum of disclosed days. The publisher knows
// its totals, so what it does not see of a day is a sum that it knows, too: where that sum would
// break the rule, the smallest disclosed advertiser joins it. own reports the publisher's own
// advertisers, which it sees and which cover no other.
func Disclosed(list []Paid, own func(uuid.UUID) bool) (seen []Paid) {
	days := map[day.Day][]*Paid{}
	for i := range list {
		days[list[i].Day] = append(days[list[i].Day], &list[i])
	}
	hidden := map[*Paid]bool{}
	for _, cells := range days {
		hide(cells, own, hidden)
	}
	for i := range list {
		if !hidden[&list[i]] {
			seen = append(seen, list[i])
		}
	}
	return seen
}

// hide adds the cells of a day that are not disclosed to hidden.
func hide(cells []*Paid, own func(uuid.UUID) bool, hidden map[*Paid]bool) {
	var rest Paid
	var shown []*Paid
	join := func(p *Paid) {
		hidden[p] = true
		rest.Add(p.Counts)
		rest.Lots += p.Lots
	}
	for _, p := range cells {
		switch {
		case own(p.Advertiser):
		case p.disclosable():
			shown = append(shown, p)
		default:
			join(p)
		}
	}
	if rest.Counts == (Counts{}) {
		return
	}
	slices.SortFunc(shown, func(a, b *Paid) int {
		return cmp.Or(
			cmp.Compare(a.Impressions(), b.Impressions()), strings.Compare(a.Advertiser.String(), b.Advertiser.String()),
		)
	})
	for _, p := range shown {
		if rest.disclosable() {
			return
		}
		join(p)
	}
}

// PaidGroups sums the disclosed days as groups of q, and adds the rest of r's counts as
// [OthersKey].
func (r *Result) PaidGroups(q *Query, seen []Paid) {
	sums := map[[2]string]*Counts{}
	key := func(by Breakdown, p *Paid) string {
		switch by {
		case ByAdvertiser:
			return p.Advertiser.String()
		case ByDay:
			return p.Day.String()
		}
		return ""
	}
	for i := range seen {
		pair := [2]string{key(q.Breakdown, &seen[i]), key(q.Then, &seen[i])}
		if sums[pair] == nil {
			sums[pair] = new(Counts)
		}
		sums[pair].Add(seen[i].Counts)
	}
	r.Groups = make([]Group, 0, len(sums))
	for pair, counts := range sums {
		r.Groups = append(r.Groups, Group{Key: pair[0], Then: pair[1], Counts: *counts})
	}
	q.Sort(r.Groups)
	r.Groups = r.Groups[:min(len(r.Groups), MaxGroups)]
	r.Groups = append(r.Groups, r.others(q)...)
}
