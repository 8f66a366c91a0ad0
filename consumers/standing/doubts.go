package standing

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account/family"
	"adnet/internal/ledger/owed"
)

// pair is a campaign at a publisher, by its developer id.
type pair struct{ campaign, developer uuid.UUID }

// doubts holds the counters of campaigns at publishers with an open case about their acts.
type doubts struct {
	ads    Ads
	cases  Cases
	pairs  map[pair]bool
	readAt time.Time
	of     map[uuid.UUID]owed.Doubted // by campaign
}

// read brings the counters up to date: after a change of the cases, and every hour, as acts at these
// publishers wait. Publishers of the advertiser's own family are left out, as none of their
// acts count. Errors: those of the store and the source; the next call reads again.
func (d *doubts) read(ctx context.Context, now time.Time, of relations) error {
	open, err := d.cases.OpenActCases(ctx)
	if err != nil {
		return err
	}
	pairs, developers := map[pair]bool{}, map[uuid.UUID]bool{}
	for id, list := range open {
		k, known := of.campaigns[id]
		if !known {
			continue
		}
		for _, developer := range list {
			if of.developers[developer] != family.Of(of.families, k.advertiser).Family {
				pairs[pair{id, developer}], developers[developer] = true, true
			}
		}
	}
	if maps.Equal(pairs, d.pairs) && now.Sub(d.readAt) < restEvery && !now.Before(d.readAt) {
		return nil
	}
	d.pairs, d.of = nil, map[uuid.UUID]owed.Doubted{}
	if len(pairs) > 0 {
		counts, err := d.ads.PublisherCounts(ctx, 0, slices.Collect(maps.Keys(developers)))
		if err != nil {
			return err
		}
		for _, c := range counts {
			if pairs[pair{c.CampaignID, c.DeveloperID}] {
				sum := d.of[c.CampaignID]
				sum.Impressions += c.Impressions
				sum.Clicks += c.Clicks
				sum.Conversions += c.Conversions
				d.of[c.CampaignID] = sum
			}
		}
	}
	d.pairs, d.readAt = pairs, now
	return nil
}
