package auction

import (
	"cmp"
	"slices"

	"adnet/auction/ranker"
	"adnet/auction/target"
)

// House is which campaign of an owner may be shown as a house ad, where an auction ended without a
// winner: of those named by ids, the best match that gate lets pass; nil for none. Targeting,
// formats, dates and blocks hold as in [Decide]. Nothing is paid for it, so bids do not count, and
// neither do the floors of the request; that of the campaign itself does.
//
// It looks at each campaign: callers name few.
func House(req *Request, snapshot *Snapshot, owner ID, ids []ID, gate Gate) *Campaign {
	query := req.query()
	query.Floor, query.SilentFloor, query.Views = 0, 0, true
	matcher, table := target.NewMatcher(snapshot, &query), snapshot.Table()
	type fit struct {
		*Campaign
		match ranker.Match
	}
	var fits []fit
	for _, id := range ids {
		c := snapshot.Get(id)
		// A guarantee: no account is shown another's campaign for nothing, whatever ids say.
		if c == nil || c.Advertiser != owner || blocked(req, c) {
			continue
		}
		if found, _, ok := matcher.Match(c); ok && !found.Irrelevant {
			fits = append(fits, fit{c, table.Match(found.Signals)})
		}
	}
	slices.SortFunc(fits, func(a, b fit) int {
		return cmp.Or(
			cmp.Compare(b.match, a.match), target.CompareTies(&query, a.Campaign, b.Campaign),
			compareID(a.Campaign, b.Campaign),
		)
	})
	free := Offer{}
	for _, f := range fits {
		if gate == nil || gate.Check(f.Campaign, free) == "" {
			return f.Campaign
		}
	}
	return nil
}
