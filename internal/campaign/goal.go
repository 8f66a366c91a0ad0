package campaign

import (
	"github.com/google/uuid"

	"adnet/internal/money"
)

// GoalStatus says what makes the bids of a campaign.
type GoalStatus string

// The states of a goal.
const (
	GoalOff      GoalStatus = "off"      // bid_amount is the bid: without a goal, or with one that it cannot pursue
	GoalLearning GoalStatus = "learning" // fewer than [GoalLearns] conversions: it bids at most [DefaultBid]
	GoalActive   GoalStatus = "active"   // bid_amount is the cap
)

// GoalLearns is how many verified conversions end the learning of a goal.
const GoalLearns = 10

// The bounds of the multiplier of a goal's bids.
const (
	MinMultiplier = money.USD / 4
	MaxMultiplier = 4 * money.USD
)

// Pursuit is how far the goal of a campaign got. Settled conversions set it (consumers/goal), no
// edit does.
type Pursuit struct {
	GoalStatus GoalStatus `json:"goal_status"`
	// GoalMultiplier is what bids are multiplied by so that the goal is met, six decimals.
	GoalMultiplier money.Micros `json:"goal_multiplier"`
	// GoalPrice is what a conversion may cost before the multiplier; 0 while that is not known.
	GoalPrice money.Micros `json:"goal_price"`
	// GoalConversions is how many verified conversions were learnt from.
	GoalConversions int64 `json:"goal_conversions"`
}

// GoalRecord is a campaign with a goal and the state of its control, which only consumers/goal
// reads; nil before the first.
type GoalRecord struct {
	Campaign Campaign
	State    []byte // JSON
}

// GoalChange is a new state of the control of a campaign, and what its auctions go by from now on;
// nil for no change.
type GoalChange struct {
	CampaignID uuid.UUID
	Seen       int64 // the config version that the change was made for
	State      []byte
	Pursuit    *Pursuit
}

// ByConversions says whether what auctions take c to be worth goes by how often its clicks convert.
func (c *Campaign) ByConversions() bool { return c.Billing() == CPA || c.Pursues() }

// Pursues says whether the goal of c makes its bids. Campaigns of earlier builds may have one
// beside another billing model, or without a target: they go on as manual ones.
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

// normalizeGoal brings what is known of the goal into the form that stores keep.
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

// SameGoal says whether two states of a campaign have the same goal, so that what is known of the
// one holds for the other.
func (c *Campaign) SameGoal(o *Campaign) bool {
	roas := func(c *Campaign) money.Micros {
		if c.TargetROAS == nil {
			return 0
		}
		return *c.TargetROAS
	}
	return c.Goal == o.Goal && c.Billing() == o.Billing() && c.TargetCPA == o.TargetCPA && roas(c) == roas(o)
}

// Offer is what c brings to an auction: the most that a billed unit (1,000 impressions, a click, a
// conversion) may cost, which is never above bid_amount, and, where a goal makes the bids, what a
// conversion may cost now; 0 where bid is the bid.
func (c *Campaign) Offer() (bid, aim money.Micros) {
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

// setBidForGoal gives a campaign whose owner states a goal and no bid_amount the highest cap, and
// one that leaves its goal at that cap the default bid: it was never meant as a bid.
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

// checkGoal refuses a goal that the campaign cannot pursue. What an earlier build stored is refused
// only when the fields that decide it are set.
func (f *Fields) checkGoal(c *Campaign) error {
	if c.Goal == GoalManual || c.Pursues() ||
		f.Goal == nil && f.BillingModel == nil && f.BillingEvent == nil && f.TargetCPA == nil && !f.TargetROAS.Given {
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
			"must be above 0 where optimization_goal is target_cpa: it is what a conversion may cost on average, in USD",
		)
	}
	return invalid(
		"target_roas",
		"must be above 0 where optimization_goal is target_roas: it is the value of conversions that each USD spent "+
			"is to bring",
	)
}
