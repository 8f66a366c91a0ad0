package campaign_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// one is a store with one campaign.
type one struct {
	campaign.Store
	c campaign.Campaign
}

func (o one) Campaign(context.Context, uuid.UUID) (campaign.Campaign, error) { return o.c, nil }

// The value is that of the first condition that holds, and each condition has a value of its own.
func TestDelivery(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	before, after := now.Add(-time.Minute), now.Add(time.Minute)
	finding := func(holds bool) []campaign.Violation { return []campaign.Violation{{Rule: "r", Holds: holds}} }
	owner := account.User{ID: uuid.New()}
	type edit = func(*campaign.Campaign)
	for name, at := range map[string]struct {
		want  campaign.Delivery
		reach campaign.Reach
		edits []edit
	}{
		"funded":              {want: campaign.Delivering},
		"draft":               {want: campaign.DeliveryDraft, edits: []edit{status(campaign.Draft)}},
		"in review, unfunded": {want: campaign.DeliveryInReview, edits: []edit{status(campaign.InReview), balance(0)}},
		"paused, unfunded":    {want: campaign.DeliveryPaused, edits: []edit{status(campaign.Paused), balance(0)}},
		"rejected":            {want: campaign.DeliveryRejected, edits: []edit{status(campaign.Rejected)}},
		"archived":            {want: campaign.DeliveryArchived, edits: []edit{status(campaign.Archived)}},
		"waits for a reviewer": {want: campaign.DeliveryInReview, edits: []edit{
			func(c *campaign.Campaign) { c.PolicyViolations = finding(false) },
		}},
		"unsafe link": {want: campaign.HeldBack, edits: []edit{
			func(c *campaign.Campaign) { c.PolicyViolations = finding(true) },
		}},
		"suspended":            {want: campaign.HeldBack, edits: []edit{func(c *campaign.Campaign) { c.Suspend(true) }}},
		"unreviewed":           {want: campaign.DeliveryInReview, reach: campaign.Nowhere},
		"unreviewed, in pages": {want: campaign.Delivering, reach: campaign.Pages},
		"nothing paid in":      {want: campaign.Unfunded, edits: []edit{balance(0)}},
		"in debt":              {want: campaign.Unfunded, edits: []edit{balance(-money.USD)}},
		"less than a unit":     {want: campaign.Unfunded, edits: []edit{balance(4_999)}},
		"exactly a unit":       {want: campaign.Delivering, edits: []edit{balance(5_000)}},
		"less than a click": {want: campaign.Unfunded, edits: []edit{
			balance(money.USD - 1), func(c *campaign.Campaign) { c.BillingModel, c.BidAmount = campaign.CPC, money.USD },
		}},
		"Credits pay": {want: campaign.Delivering, edits: []edit{
			balance(0), func(c *campaign.Campaign) { c.CreditFunded = true },
		}},
		"ended, unfunded": {want: campaign.DeliveryEnded, edits: []edit{
			balance(0), func(c *campaign.Campaign) { c.EndAt = &before },
		}},
		"starts later": {want: campaign.Scheduled, edits: []edit{func(c *campaign.Campaign) { c.StartAt = &after }}},
		"starts later, unfunded": {want: campaign.Unfunded, edits: []edit{
			balance(0), func(c *campaign.Campaign) { c.StartAt = &after },
		}},
		"all spent": {want: campaign.BudgetSpent, edits: []edit{
			balance(0), func(c *campaign.Campaign) { c.SpentTotal = c.TotalBudget - 4_999 },
		}},
		"the day is spent": {want: campaign.DaySpent, edits: []edit{
			func(c *campaign.Campaign) { c.SpentToday = c.DailyBudget },
		}},
		"the day is spent, unfunded": {want: campaign.Unfunded, edits: []edit{
			balance(0), func(c *campaign.Campaign) { c.SpentToday = c.DailyBudget },
		}},
	} {
		c := campaign.Campaign{
			ID: uuid.New(), AdvertiserID: owner.ID, Status: campaign.Active, BillingModel: campaign.CPM,
			BidAmount: 5 * money.USD, DailyBudget: 50 * money.USD, TotalBudget: 500 * money.USD, Balance: 10 * money.USD,
		}
		for _, edit := range at.edits {
			edit(&c)
		}
		read := func(prepaid bool) campaign.Delivery {
			service := campaign.NewService(campaign.Deps{
				Store: one{c: c}, Now: func() time.Time { return now }, Unreviewed: at.reach, Prepaid: prepaid,
			})
			got, err := service.Get(t.Context(), owner, c.ID)
			require.NoError(t, err)
			return got.Delivery
		}
		require.Equal(t, at.want, read(true), name)
		require.NotEqual(t, campaign.Unfunded, read(false), name)
	}
}

func status(s campaign.Status) func(*campaign.Campaign) {
	return func(c *campaign.Campaign) { c.Status = s }
}

func balance(m money.Micros) func(*campaign.Campaign) {
	return func(c *campaign.Campaign) { c.Balance = m }
}
