// Package owed judges what campaigns that pay per click or conversion were shown against what they
// were charged. It returns their own rates, the bound of those that owe more than a constant, and
// the ceiling of those that were never charged.
//
// The functions are pure and compute with integers. The rates are relative to the network's, which
// [Judge] takes from the same counters. Acts are clicks for cpc and conversions for cpa and goals.
// Amounts of acts are in millionths of an act ([Acts]).
//
// # The bounds
//
// Before its first charged act a family may have shown ads worth three expected acts over all its
// campaigns, and at most [Allowance], or [ReviewedAllowance] once a person approved it
// ([campaign.Unproven]). With c acts charged of e expected, a campaign is behind when e − c > 4·√e
// + 2 and c < e ÷ 2 ([campaign.Behind]). The same holds for a family, whose acts count by their
// worth: charged clicks of a cent do not pay for conversions of a hundred dollars.
//
// Acts in question ([Doubted]) count for no more than the campaign's rate elsewhere lets expect, so
// that a ring proves no rate by acts at its own publishers.
//
// Campaigns that pay for impressions owe nothing. Those with a goal have own rates, but no bound
// and no ceiling: what they are shown is charged.
package owed

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/money"
)

// Acts is a number of acts in millionths.
type Acts int64

// Act is one act.
const Act Acts = 1_000_000

// PPM is a rate in parts per million; [Same] is a rate equal to the network's.
type PPM = int64

// The rates.
const (
	Same PPM = 1_000_000
	// Most is the highest own rate, as a multiple of the network's. There is no lower bound but the
	// unit, as 0 means unknown.
	Most = 4 * Same
	// FirstClick is the rate of clicks by impressions in a network without history. Counters
	// outweigh it after a few acts.
	FirstClick PPM = 17_300
	// FirstConvert is the rate of conversions by clicks in such a network.
	FirstConvert PPM = 34_600
)

// The bounds; see the package comment.
const (
	// Weight is the weight of the network's rate in a campaign's own, in expected acts. It is also
	// the number of expected acts that a family may show before the first charged one.
	Weight = 3 * Act
	// Allowance is the most that these ads may be worth.
	Allowance = 6 * money.USD
	// ReviewedAllowance is the same once a person approved one of the campaigns.
	ReviewedAllowance = 60 * money.USD
)

// Input holds the settled counters of all campaigns.
type Input struct {
	// Median is the median charged price of 1,000 impressions in the network, micro-USD; 0 if
	// nothing was charged yet.
	Median money.Micros
	// Curve is the part of conversions reported within a time after the click. The zero value
	// stands for [FirstCurve].
	Curve Curve
	// Families holds the families of the campaigns. A missing one was neither reviewed nor bound.
	Families map[uuid.UUID]Family
	// Campaigns are all campaigns that were ever shown, removed ones and those that pay for
	// impressions included: a removed campaign is still owed for.
	Campaigns []Campaign
}

// Family is what is known about a family of accounts.
type Family struct {
	// BoundTo is an older family with which it shares traits; zero for none.
	BoundTo uuid.UUID
	// Since is the registration of its oldest account.
	Since time.Time
	// Reviewed reports whether a person approved one of its campaigns.
	Reviewed bool
}

// Campaign holds the counters of a campaign over its life. Only valid events count.
type Campaign struct {
	ID, Family uuid.UUID
	Billing    campaign.BillingModel
	// Goal reports whether a goal sets its bids; it then pays for impressions.
	Goal bool
	// Bid is the price of an act, micro-USD; the highest of its life where that is known.
	Bid money.Micros
	// Impressions, Clicks and Conversions are the settled events. Conversions are verified ones.
	Impressions, Clicks, Conversions int64
	// Acts is the number of charged acts; 0 for a campaign that pays for impressions.
	Acts int64
	// Charged is the sum of its charges, and Billed the number of charged events.
	Charged money.Micros
	Billed  int64
	// Former are its billing models so far. The present one does not count.
	Former []Former
	// Recent are its impressions and clicks by age, as far as conversions may follow. Their sums
	// are part of Impressions and Clicks.
	Recent []Recent
	// Doubted is the part of the counters at publishers with an open case about the campaign's
	// acts.
	Doubted Doubted
}

// Doubted are the counters of a campaign at publishers whose acts of it are in question. Acts
// beyond those that its rates elsewhere let expect of the impressions there prove nothing.
type Doubted struct{ Impressions, Clicks, Conversions int64 }

// Recent is the part of the counters that is of one age.
type Recent struct {
	Age                 time.Duration
	Impressions, Clicks int64
}

// perAct reports whether c pays for acts only.
func (c *Campaign) perAct() bool {
	return !c.Goal && (c.Billing == campaign.CPC || c.Billing == campaign.CPA)
}

// byConversions reports whether the acts of c are conversions.
func (c *Campaign) byConversions() bool { return c.Goal || c.Billing == campaign.CPA }

// acts returns the acts of c that settlement accepted: charged ones, or those of a goal.
func (c *Campaign) acts() int64 {
	if c.Goal {
		return c.Conversions
	}
	return c.Acts
}

// Result is the verdict on a campaign.
type Result struct {
	// ClickRate and ConvertRate are the campaign's own rates ÷ the network's, from 1 to [Most]. 0
	// means that the rate does not matter to its value.
	ClickRate, ConvertRate PPM
	// Ceiling is the most that 1,000 impressions count for; 0 for no limit.
	Ceiling money.Micros
	// Bound is the reason for showing it in few of its requests; empty for none.
	Bound campaign.Bound
	// Expected and Acts are the acts expected by now at the network's rates, and those charged.
	Expected, Acts Acts
	// Value is the worth of its ads: their expected acts at the bid, of which no 1,000 impressions
	// count for more than the ceiling.
	Value money.Micros
	// FamilyExpected and FamilyShown are the sums of the family before its first charged act, with
	// what an older family used up; 0 later. Allowance is the most that FamilyShown may be.
	FamilyExpected Acts
	FamilyShown    money.Micros
	Allowance      money.Micros
}

// Judge returns the verdicts on all campaigns that pay per click or conversion or have a goal, by
// campaign. Others have none.
func Judge(in Input) map[uuid.UUID]Result {
	j := judge{in: &in, curve: in.Curve, families: map[uuid.UUID]*sums{}}
	if j.curve == (Curve{}) {
		j.curve = FirstCurve
	}
	j.click, j.convert = j.networkRates()
	judged := len(in.Campaigns)
	in.Campaigns = slices.Clone(in.Campaigns)
	for i := range in.Campaigns {
		j.discount(&in.Campaigns[i])
	}
	in.Campaigns = append(in.Campaigns, j.debts()...)
	j.tallies = make([]tally, len(in.Campaigns))
	for i := range in.Campaigns {
		j.count(i)
	}
	j.addUp()
	j.inherit()
	results := make(map[uuid.UUID]Result, judged)
	for i := range judged {
		if c := &in.Campaigns[i]; c.perAct() || c.Goal {
			results[c.ID] = j.verdict(i)
		}
	}
	return results
}

// tally is what the counters of one campaign let expect.
type tally struct {
	clicks   Acts // expected clicks
	follows  Acts // conversions expected of its clicks, as far as they are due
	expected Acts // acts expected of its impressions, as far as they are due
	value    money.Micros
	unproven bool // neither it nor its family was charged for an act of its worth
}

type judge struct {
	in             *Input
	curve          Curve
	click, convert PPM // the network's rates
	tallies        []tally
	families       map[uuid.UUID]*sums
}

// discount takes the doubted acts from the counters of c that its acts elsewhere do not let expect.
func (j *judge) discount(c *Campaign) {
	d := &c.Doubted
	if *d == (Doubted{}) {
		return
	}
	beyond := func(all, doubted, impressions int64, rate PPM) int64 {
		elsewhere := own(max(0, all-doubted), part(times(max(0, impressions-d.Impressions), j.click), rate))
		expected := part(part(times(d.Impressions, j.click), rate), elsewhere)
		return max(0, doubted-int64(expected/Act))
	}
	due, _ := j.curve.due(c)
	acts := beyond(c.Clicks, d.Clicks, c.Impressions, Same)
	c.Clicks -= min(c.Clicks, acts)
	if c.byConversions() {
		acts = beyond(c.Conversions, d.Conversions, due, j.convert)
		c.Conversions -= min(c.Conversions, acts)
	}
	if acts = min(acts, c.Acts); acts > 0 {
		c.Charged -= c.Charged / money.Micros(c.Acts) * money.Micros(acts)
		c.Acts -= acts
	}
}

// count sets the tally of a campaign and adds it to its family.
func (j *judge) count(i int) {
	c, t := &j.in.Campaigns[i], &j.tallies[i]
	impressions, clicks := j.curve.due(c)
	t.clicks = times(c.Impressions, j.click)
	t.follows = times(clicks, j.convert)
	t.expected = t.clicks
	value := t.clicks
	if c.byConversions() {
		t.expected = part(times(impressions, j.click), j.convert)
		value = part(t.clicks, j.convert)
	}
	if !c.perAct() {
		return
	}
	j.family(c.Family).charged += c.Charged
	t.value = worth(value, c.Bid)
	if most := mulDiv(int64(j.in.Median), c.Impressions, 1000); c.Acts == 0 && j.in.Median > 0 {
		t.value = min(t.value, money.Micros(most))
	}
}

// ceiling returns the most that 1,000 impressions of c count for.
func (j *judge) ceiling(c *Campaign) money.Micros {
	if !c.perAct() || c.Acts > 0 {
		return 0
	}
	return j.in.Median
}

// verdict returns the result of one campaign, after the sums of families are known.
func (j *judge) verdict(i int) Result {
	c, t := &j.in.Campaigns[i], &j.tallies[i]
	f := j.family(c.Family)
	r := Result{
		Ceiling: j.ceiling(c), Expected: t.expected, Acts: Acts(c.acts()) * Act, Value: t.value,
	}
	inherited := Acts(0)
	if c.perAct() && f.charged == 0 {
		inherited = f.usedBefore.expected
	}
	if c.byConversions() {
		r.ClickRate = own(c.Clicks, t.clicks)
		r.ConvertRate = own(c.acts(), t.follows+inherited)
	} else {
		r.ClickRate = own(c.acts(), t.clicks+inherited)
	}
	if !c.perAct() {
		return r
	}
	if t.unproven {
		r.FamilyExpected = f.open.expected + f.usedBefore.expected
		r.FamilyShown = f.open.value.AddSaturated(f.usedBefore.value)
		r.Allowance = allowance(j.in.Families[c.Family].Reviewed)
	}
	switch {
	case t.unproven && (r.FamilyExpected >= Weight || r.FamilyShown >= r.Allowance):
		r.Bound = campaign.Unproven
	case behind(t.expected, r.Acts), f.isBehind() && 2*r.Acts <= t.expected:
		r.Bound = campaign.Behind
	}
	return r
}

// allowance returns the most that the ads of a family may be worth before its first charged act.
func allowance(reviewed bool) money.Micros {
	if reviewed {
		return ReviewedAllowance
	}
	return Allowance
}

// own returns the posterior of a rate: acts against the expected ones, with the network's rate as
// the prior.
func own(acts int64, expected Acts) PPM {
	rate := mulDiv(acts*int64(Act)+int64(Weight), Same, int64(expected)+int64(Weight))
	return max(1, min(Most, rate))
}

// behind reports whether far fewer acts were charged than expected: e − c > 4·√e + 2 and c < e ÷ 2.
func behind(expected, charged Acts) bool {
	if expected <= charged || charged > expected/2 || 2*charged >= expected {
		return false
	}
	over := expected - charged - 2*Act
	if over <= 0 {
		return false
	}
	// over > 4·√expected, squared: both sides in (millionths of an act)².
	leftHigh, leftLow := bits.Mul64(uint64(over), uint64(over))
	rightHigh, rightLow := bits.Mul64(uint64(expected), 16*uint64(Act))
	return leftHigh > rightHigh || leftHigh == rightHigh && leftLow > rightLow
}

// Tolerance returns the most that the ads of a campaign may be worth beyond its charged acts before
// it is behind: its other expected acts at a price, each valued at the campaign's own rate by then.
func Tolerance(acts int64, price money.Micros) money.Micros {
	charged := Acts(min(max(0, acts), int64(limit/Act/4))) * Act
	low, high := charged, 2*charged+32*Act // behind there, as 4·√(2c + 32) < c + 30
	for high-low > 1 {
		if middle := low + (high-low)/2; behind(middle, charged) {
			high = middle
		} else {
			low = middle
		}
	}
	const steps = 256
	var sum money.Micros
	step := (low - charged) / steps
	for n := range Acts(steps) {
		sum += worth(part(step, own(int64(charged/Act), charged+n*step)), price)
	}
	return sum
}

// times returns n × rate as acts.
func times(n int64, rate PPM) Acts { return Acts(mulDiv(n, rate, 1)) }

// part returns acts × rate.
func part(a Acts, rate PPM) Acts { return Acts(mulDiv(int64(a), rate, Same)) }

// worth returns the price of acts.
func worth(a Acts, price money.Micros) money.Micros {
	return money.Micros(mulDiv(int64(a), int64(price), int64(Act)))
}

// limit is far above any sum of counters and far below an overflow of several.
const limit = math.MaxInt64 / 1024

// mulDiv returns a × b ÷ c rounded down, from 0 to limit.
func mulDiv(a, b, c int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return limit
	}
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(min(quotient, limit))
}
