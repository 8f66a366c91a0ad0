package campaign

import (
	"github.com/google/uuid"

	"adnet/internal/money"
)

// GoalStatus is the source of a campaign's bids.
type GoalStatus string

// The states of a goal.
const (
	GoalOff      GoalStatus = "off"      // bid_amount is the bid: no goal, or a goal that it cannot pursue
	GoalLearning GoalStatus = "learning" // fewer than [GoalLearns] conversions: it bids at most [DefaultBid]
	GoalActive   GoalStatus = "active"   // bid_amount is the cap
)

// GoalLearns is the number of verified conversions that ends the learning phase of a goal.
const GoalLearns = 10

// The bounds of the multiplier of a goal's bids.
const (
	MinMultiplier = money.USD / 4
	MaxMultiplier = 4 * money.USD
)

// Pursuit is the progress of a campaign toward its goal. Settled conversions set it
// (consumers/goal), edits do not.
type Pursuit struct {
	GoalStatus GoalStatus `json:"goal_status"`
	// GoalMultiplier is the factor for bids that makes the campaign meet its goal, six decimals.
	GoalMultiplier money.Micros `json:"goal_multiplier"`
	// GoalPrice is the target price of a conversion before the multiplier; 0 while unknown.
	GoalPrice money.Micros `json:"goal_price"`
	// GoalConversions is the number of verified conversions learned from.
	GoalConversions int64 `json:"goal_conversions"`
}

// GoalRecord is a campaign with a goal and the state of its control. Only consumers/goal reads the
// state; it is nil before the first run.
type GoalRecord struct {
	Campaign Campaign
	State    []byte // JSON
}

// GoalChange is a new state of a campaign's control and the pursuit for its future auctions, nil
// for no change.
type GoalChange struct {
	CampaignID uuid.UUID
	Seen       int64 // the config version that the change is based on
	State      []byte
	Pursuit    *Pursuit
}

// ByConversions reports whether the value of c in auctions depends on its conversion rate.
func (c *Campaign) ByConversions() bool { return c.Billing() == CPA || c.Pursues() }

// Pursues reports whether the goal of c determines its bids.
func (c *Campaign) Pursues() bool {
	if c.Billing() != CPM {
		return false
	}
	switch c.Goal {
	case GoalTargetCPA:
		return c.TargetCPA > 0
	case GoalTargetROAS:
		return c.TargetROAS != nil && *c.TargetROAS > 0
	case GoalMaxConversions:
		return true
	}
	return false
}

// normalizeGoal brings the state of the goal into the form that stores use.
func (c *Campaign) normalizeGoal() {
	if c.GoalMultiplier == 0 {
		c.GoalMultiplier = money.USD
	}
	switch {
	case !c.Pursues():
		c.Pursuit = Pursuit{GoalStatus: GoalOff, GoalMultiplier: money.USD, GoalConversions: c.GoalConversions}
		return
	case c.GoalConversions < GoalLearns:
		c.GoalStatus = GoalLearning
	default:
		c.GoalStatus = GoalActive
	}
	if c.Goal == GoalTargetCPA {
		c.GoalPrice = c.TargetCPA
	}
}

// SameGoal reports whether two states of a campaign have the same goal, so that the progress of one
// is valid for the other.
func (c *Campaign) SameGoal(o *Campaign) bool {
	roas := func(c *Campaign) money.Micros {
		if c.TargetROAS == nil {
			return 0
		}
		return *c.TargetROAS
	}
	return c.Goal == o.Goal && c.Billing() == o.Billing() && c.TargetCPA == o.TargetCPA && roas(c) == roas(o)
}

// AuctionBid returns c's bid for an auction. bid is the maximum price of a billed unit (1,000
// impressions, a click, a conversion) and never above bid_amount. aim is the current target price
// of a conversion if a goal determines the bids, else 0.
func (c *Campaign) AuctionBid() (bid, aim money.Micros) {
	if !c.Pursues() {
		return c.BidAmount, 0
	}
	if c.GoalConversions < GoalLearns || c.GoalPrice <= 0 {
		bid = min(c.BidAmount, DefaultBid)
	} else {
		bid = c.BidAmount
	}
	if c.GoalPrice <= 0 {
		return bid, 0
	}
	m := max(MinMultiplier, min(MaxMultiplier, c.GoalMultiplier))
	price := min(c.GoalPrice, MaxTotalBudget)
	return bid, max(1, price/money.USD*m+price%money.USD*m/money.USD)
}

// setBidForGoal sets the highest cap for a campaign with a goal and no bid_amount. A campaign that
// drops its goal at that cap gets the default bid, since the cap was never meant as a bid.
func (f *Fields) setBidForGoal(c *Campaign, had Goal, created bool) {
	if f.BidAmount != nil || f.Goal == nil {
		return
	}
	switch manual := *f.Goal == GoalManual; {
	case created && !manual:
		c.BidAmount = MaxBid
	case !created && manual && had != GoalManual && c.BidAmount == MaxBid:
		c.BidAmount = DefaultBid
	}
}

// checkGoal rejects a goal that the campaign cannot pursue.
func (c *Campaign) checkGoal() error {
	if c.Goal == GoalManual || c.Pursues() {
		return nil
	}
	switch {
	case c.BillingModel != CPM:
		return invalid("optimization_goal",
			"%s needs billing_model cpm: with %s each %s has its stated price, so there is no bid to steer; set "+
				"billing_model to cpm, or optimization_goal to manual",
			c.Goal, c.BillingModel, map[BillingModel]string{CPC: "click", CPA: "conversion"}[c.BillingModel])
	case c.BillingEvent == OnView:
		return invalid(
			"optimization_goal",
			"%s needs billing_event impression: its bids are for impressions; set billing_event to impression, or "+
				"optimization_goal to manual", c.Goal,
		)
	case c.Goal == GoalTargetCPA:
		return invalid(
			"target_cpa",
			"must be above 0 if optimization_goal is target_cpa: it is the average cost of a conversion, in USD",
		)
	}
	return invalid(
		"target_roas",
		"must be above 0 if optimization_goal is target_roas: it is the value of conversions per USD spent",
	)
}
