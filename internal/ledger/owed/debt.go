package owed

import (
	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/money"
)

// Former is what a campaign paid for before, per click or conversion.
type Former struct {
	Billing campaign.BillingModel
	// Bid is the highest of these bids, micro-USD.
	Bid money.Micros
}

// debts returns what campaigns showed while they paid for other acts than now, if they were never
// charged the price of one. The counters do not tell the ads of one model from those of another, so
// all ads that were not charged count.
func (j *judge) debts() (debts []Campaign) {
	for i := range j.in.Campaigns {
		c := &j.in.Campaigns[i]
		for _, f := range c.Former {
			if j.owes(c, f) {
				debts = append(debts, Campaign{
					ID: uuid.NewSHA1(c.ID, []byte(f.Billing)), Family: c.Family, Billing: f.Billing, Bid: f.Bid,
					Impressions: c.Impressions - c.Billed,
				})
			}
		}
	}
	return debts
}

// owes reports whether a former model of c is still owed for. Of clicks, far more are expected than
// of conversions, so they are, too, if c pays for conversions now and had less than half of them.
func (j *judge) owes(c *Campaign, f Former) bool {
	switch {
	case c.Charged >= f.Bid || c.Impressions <= c.Billed:
		return false
	case c.Billing == campaign.CPM:
		return true
	}
	return c.Billing == campaign.CPA && f.Billing == campaign.CPC &&
		times(2*c.Clicks, Same) < times(c.Impressions, j.click)
}
