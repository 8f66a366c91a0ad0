package campaign

import (
	"slices"
	"time"

	"adnet/internal/money"
)

// Delivery is the effect of a campaign's state: status, review, dates, budgets and balance together.
// Clients must expect further values, since each new condition of delivery adds one.
type Delivery string

// The values. Those up to [HeldBack] follow from the status and the review alone.
const (
	DeliveryDraft    Delivery = "draft"
	DeliveryInReview Delivery = "in_review" // also live, with a finding or version that a reviewer must approve
	DeliveryPaused   Delivery = "paused"
	DeliveryRejected Delivery = "rejected"
	DeliveryArchived Delivery = "archived"
	HeldBack         Delivery = "held_back"    // a finding that no approval clears, or a suspended account
	DeliveryEnded    Delivery = "ended"        // end_at has passed
	BudgetSpent      Delivery = "budget_spent" // the rest of the total budget pays for no further unit
	Unfunded         Delivery = "unfunded"     // prepaid, and the balance pays for no further unit
	Scheduled        Delivery = "scheduled"    // start_at has not come
	DaySpent         Delivery = "day_spent"    // the rest of today's budget pays for no further unit
	Delivering       Delivery = "delivering"
)

// deliveries lists the values.
var deliveries = list(
	DeliveryDraft, DeliveryInReview, DeliveryPaused, DeliveryRejected, DeliveryArchived, HeldBack, DeliveryEnded,
	BudgetSpent, Unfunded, Scheduled, DaySpent, Delivering,
)

// UnitPrice returns the most that one billed unit (impression, view, click or conversion) costs.
func (c *Campaign) UnitPrice() money.Micros {
	bid, _ := c.AuctionBid()
	if c.Billing().Thousands() {
		return bid.PerMille()
	}
	return bid
}

// SpentOut reports whether the rest of c's total budget pays for no further unit.
func (c *Campaign) SpentOut() bool { return c.Short(c.TotalBudget - c.SpentTotal) }

// DayOut reports whether the rest of c's budget of the day pays for no further unit.
func (c *Campaign) DayOut() bool { return c.Short(c.DailyBudget - c.SpentToday) }

// Short reports whether an amount pays for no further unit of c. Nothing and a debt never do.
func (c *Campaign) Short(amount money.Micros) bool { return amount < max(1, c.UnitPrice()) }

// Unfunded reports whether c lacks a deposit. prepaid is the installation's rule (ADNET_PREPAID).
// A campaign that Credits fund has its whole budget from the start.
func (c *Campaign) Unfunded(prepaid bool) bool {
	return prepaid && !c.CreditFunded && c.Short(c.Balance)
}

// delivery returns the effect of c's state at now. The first condition that holds is the value, so
// that the owner reads first what stays in the way when all else is mended.
func (s *Service) delivery(c *Campaign, now time.Time) Delivery {
	switch {
	case c.Status != Active:
		return Delivery(c.Status)
	case s.deps.Unreviewed.Of(c) == Nowhere:
		return c.stoppedBy()
	case c.Ended(now):
		return DeliveryEnded
	case c.SpentOut():
		return BudgetSpent
	case c.Unfunded(s.deps.Prepaid): // before the start, which cures itself
		return Unfunded
	case !c.Started(now):
		return Scheduled
	case c.DayOut():
		return DaySpent
	}
	return Delivering
}

// stoppedBy returns the delivery of a live campaign that is shown nowhere.
func (c *Campaign) stoppedBy() Delivery {
	if slices.ContainsFunc(c.PolicyViolations, func(v Violation) bool { return v.Holds }) {
		return HeldBack
	}
	return DeliveryInReview
}
