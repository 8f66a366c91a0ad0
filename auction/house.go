package auction

import (
	"cmp"
	"slices"

	"adnet/auction/index"
	"adnet/auction/ranker"
)

// House returns the campaign of an owner to show as a house ad after an auction without a winner:
// the best match among ids that gate lets pass, or nil. Targeting, formats, dates and blocks apply
// as in [Decide]. Nothing is paid for a house ad, so bids and the floors of the request do not
// count. The campaign's own floor does.
//
// It checks each campaign: callers pass few ids.
func House(req *Request, snapshot *Snapshot, owner ID, ids []ID, gate Gate) *Campaign {
	query := req.query()
	query.Floor, query.SilentFloor, query.Views = 0, 0, true
	matcher, table := index.NewMatcher(snapshot, &query), snapshot.Table()
	type fit struct {
		*Campaign
		match ranker.Match
	}
	var fits []fit
	for _, id := range ids {
		c := snapshot.Get(id)
		// A guarantee: no account gets another account's campaign shown for free, whatever is in
		// ids.
		if c == nil || c.Advertiser != owner || blocked(req, c) {
			continue
		}
		if found, _, ok := matcher.Match(c); ok && !found.Irrelevant {
			fits = append(fits, fit{c, table.Match(found.Signals)})
		}
	}
	slices.SortFunc(fits, func(a, b fit) int {
		return cmp.Or(
			cmp.Compare(b.match, a.match), index.CompareTies(&query, a.Campaign, b.Campaign),
			compareID(a.Campaign, b.Campaign),
		)
	})
	free := Valuation{}
	for _, f := range fits {
		if gate == nil || gate.Check(f.Campaign, free) == "" {
			return f.Campaign
		}
	}
	return nil
}
