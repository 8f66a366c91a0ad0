package goal

import (
	"math"
	"time"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
)

// Constants of the control, found with the simulated week (goaltest).
const (
	// prior is the weight of the ranking's predictions against real conversions, in conversions.
	prior = 10
	// gain is the strength of the reaction of bids to a debt of conversions: at 30 conversions a
	// debt of one changes them by gain ÷ (30 + gainAt).
	gain   = 4.0
	gainAt = 20
	// delay is the mean time from an impression to the report of its conversion. Money counts as
	// wasted only after that delay.
	delay = 2 * time.Hour
	// memory is the time over which predicted and real conversions are compared: both drift.
	memory = 4 * 24 * time.Hour
	// hunger is the rate (e-fold) at which max_conversions raises its bids when it spends nothing
	// of a day's budget for a day. plan is the part of the remaining budget that it aims to spend.
	hunger = 8.0
	plan   = 0.95
)

// Totals holds the settled result of a campaign's events: the charges, and the verified conversions
// with their stated value.
type Totals struct {
	Spend       money.Micros `json:"spend"`
	Conversions int64        `json:"conversions"`
	Value       money.Micros `json:"value"`
}

func totalsOf(c *report.Counts) Totals {
	return Totals{Spend: c.Spend, Conversions: c.Conversions(), Value: c.ConversionUSD}
}

// since returns the difference to an earlier reading of the same counters, which never fall.
func (t Totals) since(earlier Totals) Totals {
	return Totals{
		Spend:       max(0, t.Spend-earlier.Spend),
		Conversions: max(0, t.Conversions-earlier.Conversions),
		Value:       max(0, t.Value-earlier.Value),
	}
}

// State is the state of a campaign's control from minute to minute. Amounts are in micro-USD.
type State struct {
	Goal campaign.Goal `json:"goal"`
	// Target is the number of the goal that the other fields belong to.
	Target money.Micros `json:"target"`
	At     time.Time    `json:"at"`
	// Since is the first day that Seen counts.
	Since day.Day `json:"since"`
	Seen  Totals  `json:"seen"`
	// All counts since the goal was set. Known counts the conversions before.
	All   Totals `json:"all"`
	Known int64  `json:"known"`
	// Waiting is spend too recent to judge. Debt is the spend beyond the permitted cost of the
	// conversions, in conversions.
	Waiting float64 `json:"waiting"`
	Debt    float64 `json:"debt"`
	// Foretold counts the conversions predicted by the ranking for the spend, and Came the real
	// ones. Old ones fade.
	Foretold float64 `json:"foretold"`
	Came     float64 `json:"came"`
	// Base of max_conversions is the cost of a conversion during learning.
	Base       money.Micros `json:"base"`
	Multiplier money.Micros `json:"multiplier"`
}

// Begin returns the state of a campaign with a new goal: earlier spend is not held against it, and
// the earlier conversions are known.
func Begin(c *campaign.Campaign, at time.Time) State {
	return State{Goal: c.Goal, Target: targetOf(c), At: at, Multiplier: money.USD, Known: c.GoalConversions}
}

func targetOf(c *campaign.Campaign) money.Micros {
	switch c.Goal {
	case campaign.GoalTargetCPA:
		return c.TargetCPA
	case campaign.GoalTargetROAS:
		return *c.TargetROAS
	}
	return 0
}

// Step returns the state after the results since the last step, and the campaign's progress. It is
// a pure function of its arguments.
func (s State) Step(c *campaign.Campaign, came Totals, at time.Time) (State, campaign.Pursuit) {
	passed := max(0, min(time.Hour, at.Sub(s.At)))
	s.At = at
	s.All.Spend += came.Spend
	s.All.Conversions += came.Conversions
	s.All.Value = s.All.Value.AddSaturated(came.Value)
	var price money.Micros
	if c.Goal == campaign.GoalMaxConversions {
		price = s.spread(c, came, passed)
	} else {
		price = s.hold(c, came, passed)
	}
	return s, campaign.Pursuit{
		GoalMultiplier: s.Multiplier, GoalPrice: price, GoalConversions: s.Known + s.All.Conversions,
	}
}

// hold steers towards a price of conversions: the price that the goal states, or the price at which
// their mean value earns target_roas.
func (s *State) hold(c *campaign.Campaign, came Totals, passed time.Duration) money.Micros {
	price := s.price(c)
	s.Waiting += float64(came.Spend)
	judged := s.Waiting * (1 - math.Exp(-passed.Seconds()/delay.Seconds()))
	s.Waiting -= judged
	if price <= 0 {
		return 0
	}
	t := float64(price)
	worth := float64(came.Conversions) * t
	if c.Goal == campaign.GoalTargetROAS {
		worth = float64(came.Value) / float64(s.Target) * float64(money.USD)
	}
	fade := math.Exp(-passed.Seconds() / memory.Seconds())
	s.Foretold = s.Foretold*fade + judged/t/s.factor()
	s.Came = s.Came*fade + worth/t
	pull := gain / (gainAt + float64(s.All.Conversions))
	// A debt larger than what moves bids from one bound to the other would only outlast its cause.
	most := math.Log(float64(campaign.MaxMultiplier)/float64(campaign.MinMultiplier)) / pull
	s.Debt = math.Max(-most, math.Min(most, s.Debt+(judged-worth)/t))
	s.turn((prior + s.Came) / (prior + s.Foretold) * math.Exp(-pull*s.Debt))
	return price
}

// price returns the target mean price of a conversion; 0 while the values of too few are known.
func (s *State) price(c *campaign.Campaign) money.Micros {
	if c.Goal == campaign.GoalTargetCPA {
		return s.Target
	}
	if s.All.Conversions < campaign.GoalLearns || s.All.Value <= 0 {
		return 0
	}
	mean := float64(s.All.Value) / float64(s.All.Conversions)
	return money.Micros(math.Min(mean/float64(s.Target)*float64(money.USD), float64(campaign.MaxTotalBudget)))
}

// spread steers towards spending the rest of the budget by midnight: bids rise while it would last
// longer, and fall while it would not. So conversions cost as little as the budget allows.
func (s *State) spread(c *campaign.Campaign, came Totals, passed time.Duration) money.Micros {
	if s.All.Conversions < campaign.GoalLearns {
		return 0
	}
	if s.Base == 0 {
		s.Base = max(1, s.All.Spend/money.Micros(s.All.Conversions))
	}
	left := min(c.DailyBudget-c.SpentToday, c.TotalBudget-c.SpentTotal)
	if whole := min(c.DailyBudget, c.TotalBudget); left > 0 && whole > 0 {
		ahead := s.At.UTC().Truncate(24*time.Hour).Add(24*time.Hour).Sub(s.At) + passed
		wanted := plan * float64(left+came.Spend) * passed.Seconds() / math.Max(ahead.Seconds(), 60)
		s.turn(s.factor() * math.Exp(hunger*(wanted-float64(came.Spend))/float64(whole)))
	}
	return s.Base
}

func (s *State) factor() float64 { return float64(s.Multiplier) / float64(money.USD) }

// turn sets the multiplier, within its bounds.
func (s *State) turn(to float64) {
	if math.IsNaN(to) {
		return
	}
	s.Multiplier = money.Micros(math.Max(
		float64(campaign.MinMultiplier), math.Min(float64(campaign.MaxMultiplier), to*float64(money.USD)),
	))
}
