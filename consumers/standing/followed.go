package standing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
)

// followed holds the part of all campaigns that standings need. A minute reads only the changed
// ones.
type followed struct {
	all  map[uuid.UUID]follow
	head int64
}

type follow struct {
	advertiser uuid.UUID
	version    int64
	billing    campaign.BillingModel
	bid        money.Micros
	credits    money.Micros // the total budget, if Credits pay for it
	standing   campaign.Standing
	goal       bool
	delivers   bool
	approved   bool // by a person
}

// follow reads the campaigns that changed since the last call.
func (f *followed) follow(ctx context.Context, from campaign.Changes) error {
	for {
		changed, head, err := from.ChangedCampaigns(ctx, f.head, page)
		if err != nil {
			return err
		}
		if head < f.head { // the store was restored to an earlier state
			f.head, f.all = 0, nil
			continue
		}
		if f.all == nil {
			f.all = map[uuid.UUID]follow{}
		}
		for i := range changed {
			f.all[changed[i].ID] = of(&changed[i])
		}
		f.head = head
		if len(changed) < page {
			return nil
		}
	}
}

func of(c *campaign.Campaign) follow {
	k := follow{
		advertiser: c.AdvertiserID, version: c.ConfigVersion, billing: c.BillingModel, bid: c.BidAmount,
		standing: c.Standing, goal: c.Pursues(), delivers: c.Delivers(), approved: c.ApprovedByPerson(),
	}
	if c.CreditFunded {
		k.credits = c.TotalBudget
	}
	return k
}

// reviewed returns the advertisers of which a person approved a campaign.
func (f *followed) reviewed() map[uuid.UUID]bool {
	of := map[uuid.UUID]bool{}
	for _, k := range f.all {
		if k.approved {
			of[k.advertiser] = true
		}
	}
	return of
}

// charges holds the charges of the days before yesterday, which change seldom.
type charges struct {
	store  Store
	today  day.Day
	restAt time.Time
	rest   []standing.Charge
}

// read returns the charges of the last [standing.Days].
func (c *charges) read(ctx context.Context, now time.Time) ([]standing.Charge, error) {
	today := day.Of(now)
	if c.today != today || now.Sub(c.restAt) >= restEvery || now.Before(c.restAt) {
		rest, err := c.store.BackedCharges(ctx, standing.Since(today), today-2)
		if err != nil {
			return nil, err
		}
		c.rest, c.today, c.restAt = rest, today, now
	}
	recent, err := c.store.BackedCharges(ctx, today-1, today)
	if err != nil {
		return nil, err
	}
	return append(recent, c.rest...), nil
}
