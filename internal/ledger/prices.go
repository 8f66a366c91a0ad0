package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/money"
)

// HighestBid is the highest bid ever of a campaign for a billing model.
type HighestBid struct {
	CampaignID   uuid.UUID
	BillingModel campaign.BillingModel
	Bid          money.Micros
}

// HighestCharge is the highest charge for a single event of a campaign. BillingModel is empty for
// events without a token.
type HighestCharge struct {
	CampaignID   uuid.UUID
	BillingModel campaign.BillingModel
	Charge       money.Micros
}

// CompareBids compares charges with bids: whatever happened to tokens, keys and the log, no event
// may have cost more than the highest bid of its campaign.
func CompareBids(charges []HighestCharge, bids []HighestBid) Check {
	type of struct {
		campaign uuid.UUID
		model    campaign.BillingModel
	}
	most := make(map[of]money.Micros, 2*len(bids))
	for _, b := range bids {
		price, models := b.Bid, []campaign.BillingModel{b.BillingModel, ""}
		if b.BillingModel == campaign.CPM { // paid on impression or on view
			price, models = price.PerMille(), append(models, campaign.VCPM)
		}
		for _, model := range models {
			key := of{b.CampaignID, model}
			most[key] = max(most[key], price)
		}
	}
	slices.SortFunc(charges, func(a, b HighestCharge) int {
		return cmp.Or(compareIDs(a.CampaignID, b.CampaignID), cmp.Compare(a.BillingModel, b.BillingModel))
	})
	check := Check{Name: CheckBids}
	for _, c := range charges {
		if limit := most[of{c.CampaignID, c.BillingModel}]; c.Charge > limit {
			if check.Got++; check.Got == 1 {
				check.Detail = fmt.Sprintf(
					"campaign %s: an event was charged %d micro-USD, its highest bid allows %d", c.CampaignID,
					int64(c.Charge), int64(limit),
				)
			}
		}
	}
	return check
}
