package goal

import (
	"math"
	"time"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
)

// What the control is made of. The simulated week (goaltest) is how the numbers were found.
const (
	// prior is how many conversions what the ranking foretells is worth, against those that came.
	prior = 10
	// gain is how hard bids answer to a debt of conversions: at 30 conversions a debt of one
	// changes them by gain ÷ (30 + gainAt).
	gain   = 4.0
	gainAt = 20
	// delay is how long after its impression a conversion is known, on average: money counts as
	// spent in vain only with that delay.
	delay = 2 * time.Hour
	// memory is how long what was foretold and what came are compared: people and prices drift.
	memory = 4 * 24 * time.Hour
	// hunger is how fast max_conversions changes its bids: by so much (e-fold) when it spends
	// nothing of a day's budget for a day; plan is the part of what is left that it wants to spend.
	hunger = 8.0
	plan   = 0.95
)

// Totals are what settlement decided about the events of a campaign: what was charged, and its
// verified conversions with their stated value.
type Totals struct {
	Spend       money.Micros `json:"spend"`
	Conversions int64        `json:"conversions"`
	Value       money.Micros `json:"value"`
}

func totalsOf(c *report.Counts) Totals {
	return Totals{Spend: c.Spend, Conversions: c.Conversions, Value: c.ConversionUSD}
}

// since is what came after an earlier reading of the same counters; they never fall.
func (t Totals) since(earlier Totals) Totals {
	return Totals{
		Spend:       max(0, t.Spend-earlier.Spend),
		Conversions: max(0, t.Conversions-earlier.Conversions),
		Value:       max(0, t.Value-earlier.Value),
	}
}

// State is what is remembered of the control of a campaign from minute to minute. Amounts are in
// micro-USD.
type State struct {
	Goal campaign.Goal `json:"goal"`
	// Target is the number of the goal that the rest is about.
	Target money.Micros `json:"target"`
	At     time.Time    `json:"at"`
	// Since is the first day that Seen counts.
	Since day.Day `json:"since"`
	Seen  Totals  `json:"seen"`
	// All is what was seen since the goal was set, and Known how many conversions before.
	All   Totals `json:"all"`
	Known int64  `json:"known"`
	// Waiting is what was spent too lately to judge. Debt is what was spent beyond what the
	// conversions that came may cost, in conversions.
	Waiting float64 `json:"waiting"`
	Debt    float64 `json:"debt"`
	// Foretold and Came are how many conversions the ranking foretold for what was spent, and how
	// many came; old ones fade.
	Foretold float64 `json:"foretold"`
	Came     float64 `json:"came"`
	// Base of max_conversions is what a conversion cost while it learnt.
	Base       money.Micros `json:"base"`
	Multiplier money.Micros `json:"multiplier"`
}

// Begin is the state of a campaign whose goal is new: what it spent before is not held against it,
// and the conversions before are known.
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

// Step is the state after what came since the last one, and how far the campaign got by it. It is a
// pure function of its arguments: repeated with the same state and totals it answers the same.
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

// hold steers towards a price of conversions: the one that the goal states, or the one at which
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
	// Beyond what moves bids from one bound to the other a debt would only last longer than its
	// cause.
	most := math.Log(float64(campaign.MaxMultiplier)/float64(campaign.MinMultiplier)) / pull
	s.Debt = math.Max(-most, math.Min(most, s.Debt+(judged-worth)/t))
	s.turn((prior + s.Came) / (prior + s.Foretold) * math.Exp(-pull*s.Debt))
	return price
}

// price is what a conversion may cost on average; 0 while the values of too few are known.
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

// spread steers towards spending what is left of the budget by midnight: bids rise while it would
// last longer, and fall while it would not. So conversions cost as little as the budget allows.
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
