// Package ranker ("benna") turns the match of a request and a campaign into probabilities and a
// value.
//
// A [Table] holds the numbers of one version. The common [Signals] of a request and a campaign add
// up to a match. A calibration maps the match to log-odds, which give the relevance: the
// probability that the ad answers the request. Clicks and conversions are predicted from the
// relevance. Campaigns of different billing models compete by effective CPM in micro-USD. There are
// no floats: equal input gives equal output on every machine. Every division rounds down, so an
// advertiser is never ranked above what the stated bid supports.
package ranker

import (
	"math"
	"math/bits"

	"adnet/internal/money"
)

// Certain is the probability 1 in parts per million.
const Certain PPM = 1_000_000

// PerMille is a share in thousandths.
type PerMille int64

// PPM is a probability in parts per million; [Certain] is 1.
type PPM int64

// Match is the similarity of a request and a campaign; [Full] is complete.
type Match uint32

// Full is the match of a request and a campaign with the same words. In a small network, in which
// one word counts more, a match may reach four times as much.
const (
	Full    Match = 1 << 16
	Highest       = 4 * Full
)

// Billing is the event that a campaign pays for.
type Billing uint8

// The billing models: the bid is the price of 1,000 impressions, of one click, of one conversion,
// or of 1,000 views.
const (
	CPM Billing = iota
	CPC
	CPA
	VCPM
	// Billings is the number of billing models.
	Billings = iota
)

// FirstView is p(view) before a network has learnt it: every second impression is assumed to be a
// view by the MRC definition. A learnt value is between [LeastView] and [Certain].
const (
	FirstView = Certain / 2
	LeastView = Certain / 8
)

// Thousands reports whether the bid is the price of 1,000 impressions or views. The auction's price
// is then the charge for one; otherwise it is the expected revenue.
func (b Billing) Thousands() bool { return b == CPM || b == VCPM }

// ParseBilling reads "cpm", "cpc", "cpa" or "vcpm"; ok is false for anything else.
func ParseBilling(s string) (b Billing, ok bool) {
	for _, b := range []Billing{CPM, CPC, CPA, VCPM} {
		if b.String() == s {
			return b, true
		}
	}
	return 0, false
}

// String returns the value in the API.
func (b Billing) String() string {
	switch b {
	case CPM:
		return "cpm"
	case CPC:
		return "cpc"
	case CPA:
		return "cpa"
	case VCPM:
		return "vcpm"
	}
	return "unknown"
}

// Price returns the cost of one billed unit of an auction won at effectiveCPM: for cpm an
// impression, effectiveCPM/1000 rounded down to the micro-dollar; for cpc a click and for cpa a
// conversion, the stated bid. For vcpm, effectiveCPM is the worth of 1,000 views: see
// [Table.Price], which converts it. In a first-price auction the winner pays its own bid, so never
// more than the stated one. Price(bid, bid) is the maximum cost of a unit.
func (b Billing) Price(bid, effectiveCPM money.Micros) money.Micros {
	if b.Thousands() {
		return min(effectiveCPM, bid).PerMille()
	}
	return bid
}

// Price returns [Billing.Price] for an auction decided by this table. 1,000 views are worth
// effectiveCPM ÷ p(view), rounded down.
func (t *Table) Price(b Billing, bid, effectiveCPM money.Micros) money.Micros {
	if b == VCPM {
		effectiveCPM = mulDiv(effectiveCPM, uint64(Certain), uint64(t.PView()))
	}
	return b.Price(bid, effectiveCPM)
}

// Signals holds the similarity of a request and a campaign, by signal.
type Signals struct {
	// Words is the match of their words. Tools is the amount added by stated tools that are in use.
	Words, Tools Match
	// HostMatched and SurfaceMatched report whether the campaign targets host apps or surfaces and
	// the request's is among them.
	HostMatched, SurfaceMatched bool
	// Silent reports whether the request has no words, so that an ad cannot be irrelevant to it.
	Silent bool
}

// Knots is the number of points of a calibration.
const Knots = 64

// Table is one version of the numbers.
type Table struct {
	// Version names the model in the API, before the version of the table of words.
	Version string
	// Tool is the amount added by a single stated tool in use; each of n stated tools adds Tool ÷
	// √n.
	Tool Match
	// Host and Surface are the amounts added by a targeted host app and a targeted surface.
	Host, Surface Match
	// Calibration is the log-odds of relevance, in units of 1/256, at the matches 0, 1/64, … of
	// [Full]. It never decreases.
	Calibration [Knots]int16
	// ClickRight and ClickWrong are the probabilities of a click on a relevant and an irrelevant
	// ad; ConvertRight and ConvertWrong are the probabilities of a conversion after a click.
	ClickRight, ClickWrong, ConvertRight, ConvertWrong PPM
	// Usual is the usual relevance at which a campaign's ads are shown. From there on a cpm bid is
	// worth its full amount.
	Usual PPM
	// Learnt holds the lessons of clicks, nil for none; see [Table.With].
	Learnt *Learnt
}

// Version2 returns the table "benna-2" of a network on its first day.
func Version2() Table {
	return Table{
		Version: "benna-2",
		Tool:    Full / 2, Host: Full / 64, Surface: Full / 64,
		Calibration: calibration,
		ClickRight:  20_000, ClickWrong: 2_000, ConvertRight: 40_000, ConvertWrong: 4_000,
		Usual: 850_000,
	}
}

// Contributions is the share of the match earned by each signal.
type Contributions struct {
	// IntentOverlap, ToolOverlap and HostMatch are the signals of the same names in the API.
	IntentOverlap, ToolOverlap, HostMatch PerMille
}

// TopTerms is the number of terms in a [Prediction].
const TopTerms = 5

// Earned is a term with the amount that it added to the match.
type Earned struct {
	Term string
	By   PerMille
}

// Prediction is the scorer's answer for one campaign and one request.
type Prediction struct {
	// ModelVersion is the version of the table and of the words it was made with.
	ModelVersion string
	// Bid is the effective CPM in micro-USD.
	Bid money.Micros
	// PClick is the probability of a click on an impression, PConvert of a conversion after a
	// click.
	PClick, PConvert PPM
	// Relevance is the probability that the ad answers the request.
	Relevance PPM
	// Contributions attributes the match to the signals.
	Contributions Contributions
	// Terms are the terms that earned most, in descending order; unused entries are empty.
	Terms [TopTerms]Earned
}

// Contributions attributes the match to signals.
func (t *Table) Contributions(s Signals) Contributions {
	c := Contributions{IntentOverlap: s.Words.PerMille(), ToolOverlap: s.Tools.PerMille()}
	if s.HostMatched {
		c.HostMatch = t.Host.PerMille()
	}
	return c
}

// PerMille returns m as a share of [Full], at most 1000.
func (m Match) PerMille() PerMille { return PerMille(uint64(min(m, Full)) * 1000 / uint64(Full)) }

// Match returns the sum of the signals.
func (t *Table) Match(s Signals) Match {
	return min(s.Words+s.Tools, Highest) + t.Place(s.HostMatched, s.SurfaceMatched)
}

// Place returns the amount that host app and surface add to a match.
func (t *Table) Place(host, surface bool) (m Match) {
	if host {
		m += t.Host
	}
	if surface {
		m += t.Surface
	}
	return m
}

// ToolMatch returns the amount that each of n stated tools adds if it is in use.
func (t *Table) ToolMatch(n int) Match {
	return Match(uint64(math.Sqrt(float64(uint64(t.Tool) * uint64(t.Tool) / uint64(max(n, 1))))))
}

// Relevance returns the probability at a match. It never decreases as the match grows.
func (t *Table) Relevance(m Match) PPM {
	return probability(t.LogOdds(m))
}

// RelevanceOf returns the relevance at the given signals. For a request without words it is at
// least the usual one, so that no bid is shaded.
func (t *Table) RelevanceOf(s Signals) PPM {
	r := t.Relevance(t.Match(s))
	if s.Silent {
		return max(r, t.Usual)
	}
	return r
}

// PClick returns the probability of a click at the given relevance.
func (t *Table) PClick(r PPM) PPM {
	if t.Learnt != nil {
		return t.Learnt.click(r)
	}
	return t.ClickWrong + (t.ClickRight-t.ClickWrong)*r/Certain
}

// PConvert returns the probability of a conversion after a click at the given relevance, for a
// typical campaign of the network. A campaign's own rates affect only its worth ([Scaled]), because
// predictions are shown to other parties.
func (t *Table) PConvert(r PPM) PPM {
	p := t.ConvertWrong + (t.ConvertRight-t.ConvertWrong)*r/Certain
	if t.Learnt != nil && t.Learnt.Conversions > 0 {
		return min(p*t.Learnt.Conversions/Certain, Certain)
	}
	return p
}

// PView returns the probability that an impression becomes a view, where a view can be reported.
func (t *Table) PView() PPM {
	if t.Learnt != nil && t.Learnt.View > 0 {
		return t.Learnt.View
	}
	return FirstView
}

// Shade returns the part of a cpm bid that an impression is worth: the probability of a click ÷ the
// usual one, between a half and 1.
func (t *Table) Shade(r PPM) PPM {
	click, usual := t.PClick(r), t.PClick(t.Usual)
	switch {
	case click >= usual:
		return Certain
	case click <= usual/2:
		return Certain / 2
	}
	return click * Certain / usual
}

// EffectiveCPM returns the expected revenue of 1,000 impressions in micro-USD: bid × shade for cpm,
// bid × shade × p(view) for vcpm, bid × p_click × 1000 for cpc, bid × p_click × p_convert × 1000
// for cpa. It is rounded down once, saturates instead of overflowing, never decreases in the bid or
// the relevance, and is 0 for a bid that is not positive.
func (t *Table) EffectiveCPM(b Billing, bid money.Micros, r PPM) money.Micros {
	switch b {
	case CPM:
		return mulDiv(bid, uint64(t.Shade(r)), uint64(Certain))
	case VCPM:
		return mulDiv(bid, uint64(t.Shade(r))*uint64(t.PView()), uint64(Certain)*uint64(Certain))
	case CPC:
		return mulDiv(bid, uint64(t.PClick(r)), 1000)
	case CPA:
		return mulDiv(bid, uint64(t.PClick(r))*uint64(t.PConvert(r)), 1_000_000_000)
	}
	return 0
}

// Value returns the effective CPM of a bid with an aim: the expected worth of the conversions of
// 1,000 impressions at aim each (micro-USD), for cpc of the clicks, at most the bid. Without an aim (0) it is
// [Table.EffectiveCPM]. It never decreases in bid, aim or relevance.
func (t *Table) Value(b Billing, bid, aim money.Micros, r PPM) money.Micros {
	if aim <= 0 {
		return t.EffectiveCPM(b, bid, r)
	}
	act := CPA
	if b == CPC {
		act = CPC
	}
	return max(0, min(bid, t.EffectiveCPM(act, aim, r)))
}

// Most returns the maximum of EffectiveCPM over all relevances.
func (t *Table) Most(b Billing, bid money.Micros) money.Micros {
	return t.EffectiveCPM(b, bid, Certain)
}

// AtMost returns an upper bound of the effective CPM at a relevance, for any bid without an aim
// whose maximum is most. Shading reduces a cpm bid the least, so its share bounds the others.
func (t *Table) AtMost(most money.Micros, r PPM) money.Micros {
	if most == math.MaxInt64 {
		return most
	}
	return mulDiv(most+1, uint64(t.Shade(r)), uint64(Certain)) + 1
}

// mulDiv returns bid × factor ÷ den through 128 bits, which a cpa bid of 1,000 USD needs.
func mulDiv(bid money.Micros, factor, den uint64) money.Micros {
	if bid <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(bid), factor)
	if hi == 0 { // mostly; then the compiler multiplies instead of dividing by a constant
		return money.Micros(min(lo/den, math.MaxInt64))
	}
	if hi >= den {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(hi, lo, den)
	return money.Micros(min(quotient, math.MaxInt64))
}

// Predict scores one campaign. The result lacks only the version of the words and the terms.
func (t *Table) Predict(b Billing, bid money.Micros, s Signals) Prediction {
	r := t.RelevanceOf(s)
	return Prediction{
		ModelVersion:  t.Version,
		Bid:           t.EffectiveCPM(b, bid, r),
		PClick:        t.PClick(r),
		PConvert:      t.PConvert(r),
		Relevance:     r,
		Contributions: t.Contributions(s),
	}
}

// DefaultFloor is the least relevance of an ad unless operator, campaign, publisher or request set
// another.
const DefaultFloor PPM = 580_000
