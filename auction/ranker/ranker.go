// Package ranker is "benna": it turns the match of a request and a campaign into probabilities and
// a value.
//
// A [Table] holds the numbers of one version. What a request and a campaign have in common
// ([Signals]) adds up to a match; a calibration gives its log-odds, and from them the relevance,
// the probability that the ad answers the request. Clicks and conversions follow from the
// relevance, and the effective CPM in micro-USD is what campaigns of different billing models
// compete with. Nothing is a float: equal input gives equal output on every machine, and every
// division rounds down, so an advertiser is never ranked above what the stated bid supports.
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

// Match is how much a request and a campaign have in common; [Full] is everything.
type Match uint32

// Full is the match of a request and a campaign that say the same. In a small network, in which one
// word says more, a match may be up to four times as much.
const (
	Full    Match = 1 << 16
	Highest       = 4 * Full
)

// Billing says which event a campaign pays for.
type Billing uint8

// The billing models: the bid is the price of 1,000 impressions, of one click, of one conversion,
// or of 1,000 views.
const (
	CPM Billing = iota
	CPC
	CPA
	VCPM
	// Billings is their number.
	Billings = iota
)

// FirstView is p(view) before a network has learnt it: of two impressions, one is taken to be a
// view as MRC counts. No table's is outside of [LeastView] to [Certain].
const (
	FirstView = Certain / 2
	LeastView = Certain / 8
)

// Thousands says that the bid is the price of 1,000 impressions or views, of which the auction's
// price is what one will be charged; otherwise it is what one is expected to bring.
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

// String is the wire value.
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

// Price is what one billed unit of an auction costs that effectiveCPM won: for cpm an impression,
// effectiveCPM/1000 rounded down to the micro-dollar, for cpc a click and for cpa a conversion, the
// stated bid. For vcpm, effectiveCPM is what 1,000 views are worth: see [Table.Price], which knows.
// In a first-price auction the bid that won is paid: never more, and so never more than the stated
// bid. Price(bid, bid) is the most that a unit may cost.
func (b Billing) Price(bid, effectiveCPM money.Micros) money.Micros {
	if b.Thousands() {
		return min(effectiveCPM, bid).PerMille()
	}
	return bid
}

// Price is [Billing.Price] of an auction that this table decided. 1,000 views are worth
// effectiveCPM ÷ p(view), rounded down.
func (t *Table) Price(b Billing, bid, effectiveCPM money.Micros) money.Micros {
	if b == VCPM {
		effectiveCPM = mulDiv(effectiveCPM, uint64(Certain), uint64(t.PView()))
	}
	return b.Price(bid, effectiveCPM)
}

// Signals is what a request and a campaign have in common.
type Signals struct {
	// Words is the match of their words, and Tools what the stated tools add that are in use.
	Words, Tools Match
	// HostMatched and SurfaceMatched say that the campaign targets host apps or surfaces and the
	// request's is one of them.
	HostMatched, SurfaceMatched bool
	// Silent says that the request has no words, so that there is nothing to be irrelevant to.
	Silent bool
}

// Knots is the number of points of a calibration.
const Knots = 64

// Table is one version of the numbers.
type Table struct {
	// Version names the model on the wire, before the version of the table of words.
	Version string
	// Tool is what one stated tool adds that is in use; of n stated tools each adds Tool ÷ √n.
	Tool Match
	// Host and Surface are what a targeted host app and a targeted surface add.
	Host, Surface Match
	// Calibration is the log-odds of relevance, in units of 1/256, at the matches 0, 1/64, … of
	// [Full]. It never falls.
	Calibration [Knots]int16
	// ClickRight and ClickWrong are the probabilities of a click on an ad that is and that is not
	// relevant; ConvertRight and ConvertWrong those of a conversion after a click.
	ClickRight, ClickWrong, ConvertRight, ConvertWrong PPM
	// Usual is the relevance at which a campaign's ads usually are shown: a cpm bid is worth its
	// full amount from there on.
	Usual PPM
	// Learnt is what clicks taught, nil for nothing; see [Table.With].
	Learnt *Learnt
}

// Version2 is the table "benna-2" of a network from its first day.
func Version2() Table {
	return Table{
		Version: "benna-2",
		Tool:    Full / 2, Host: Full / 64, Surface: Full / 64,
		Calibration: calibration,
		ClickRight:  20_000, ClickWrong: 2_000, ConvertRight: 40_000, ConvertWrong: 4_000,
		Usual: 850_000,
	}
}

// Contributions is the part of the match that each signal earned.
type Contributions struct {
	// IntentOverlap, ToolOverlap and HostMatch are the wire signals of the same names.
	IntentOverlap, ToolOverlap, HostMatch PerMille
}

// TopTerms is how many terms a [Prediction] names.
const TopTerms = 5

// Earned is a term and what it added to the match.
type Earned struct {
	Term string
	By   PerMille
}

// Prediction is the scorer's answer for one campaign and one request.
type Prediction struct {
	// ModelVersion is the version of the table and of the words that it was made with.
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
	// Terms are the terms that earned most, the first most; those that are not there are empty.
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

// PerMille is m as a share of [Full], at most all of it.
func (m Match) PerMille() PerMille { return PerMille(uint64(min(m, Full)) * 1000 / uint64(Full)) }

// Match is the sum of the signals.
func (t *Table) Match(s Signals) Match {
	return min(s.Words+s.Tools, Highest) + t.Place(s.HostMatched, s.SurfaceMatched)
}

// Place is what the place adds to a match.
func (t *Table) Place(host, surface bool) (m Match) {
	if host {
		m += t.Host
	}
	if surface {
		m += t.Surface
	}
	return m
}

// ToolMatch is what each of n stated tools adds that is in use.
func (t *Table) ToolMatch(n int) Match {
	return Match(uint64(math.Sqrt(float64(uint64(t.Tool) * uint64(t.Tool) / uint64(max(n, 1))))))
}

// Relevance is the probability that belongs to a match. It never falls as the match grows.
func (t *Table) Relevance(m Match) PPM {
	return probability(t.LogOdds(m))
}

// RelevanceOf is the relevance of what was found in common; of a request that says nothing it is
// the usual one at least, so that no bid is shaded.
func (t *Table) RelevanceOf(s Signals) PPM {
	r := t.Relevance(t.Match(s))
	if s.Silent {
		return max(r, t.Usual)
	}
	return r
}

// PClick is the probability of a click at the given relevance.
func (t *Table) PClick(r PPM) PPM {
	if t.Learnt != nil {
		return t.Learnt.click(r)
	}
	return t.ClickWrong + (t.ClickRight-t.ClickWrong)*r/Certain
}

// PConvert is the probability of a conversion after a click at the given relevance, of a campaign
// that is like the others of its network. What an advertiser's own conversions taught is in the
// worth of its campaigns alone ([Table.Worth]): predictions are told to others.
func (t *Table) PConvert(r PPM) PPM {
	p := t.ConvertWrong + (t.ConvertRight-t.ConvertWrong)*r/Certain
	if t.Learnt != nil && t.Learnt.Conversions.Network > 0 {
		return min(p*t.Learnt.Conversions.Network/Certain, Certain)
	}
	return p
}

// PView is the probability that an impression becomes a view, where a view can be reported.
func (t *Table) PView() PPM {
	if t.Learnt != nil && t.Learnt.View > 0 {
		return t.Learnt.View
	}
	return FirstView
}

// Shade is the part of a cpm bid that an impression is worth: the probability of a click ÷ the
// usual one, between a half and 1.
func (t *Table) Shade(r PPM) PPM {
	return max(Certain/2, min(Certain, t.PClick(r)*Certain/t.PClick(t.Usual)))
}

// EffectiveCPM is what 1,000 impressions are expected to earn, in micro-USD: bid × shade for cpm,
// bid × shade × p(view) for vcpm, bid × p_click × 1000 for cpc, bid × p_click × p_convert × 1000
// for cpa; rounded down once, saturating instead of overflowing, never decreasing in the bid or the
// relevance, 0 for a bid that is not positive.
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

// Value is the effective CPM of a bid with a goal: what 1,000 impressions are expected to bring in
// conversions that are worth aim each (micro-USD), and never more than the bid. Without an aim (0)
// it is [Table.EffectiveCPM]. It never decreases in bid, aim or relevance.
func (t *Table) Value(b Billing, bid, aim money.Micros, r PPM) money.Micros {
	if aim <= 0 {
		return t.EffectiveCPM(b, bid, r)
	}
	return max(0, min(bid, t.EffectiveCPM(CPA, aim, r)))
}

// Most is what EffectiveCPM is at most, for any relevance.
func (t *Table) Most(b Billing, bid money.Micros) money.Micros {
	return t.EffectiveCPM(b, bid, Certain)
}

// AtMost is a bound of the effective CPM, at a relevance, of any bid without an aim of which most
// is what it is at most. Shading takes the least from a cpm bid, so its share bounds that of the
// others.
func (t *Table) AtMost(most money.Micros, r PPM) money.Micros {
	if most == math.MaxInt64 {
		return most
	}
	return mulDiv(most+1, uint64(t.Shade(r)), uint64(Certain)) + 1
}

// mulDiv is bid × factor ÷ den through 128 bits, which a cpa bid of 1,000 USD needs.
func mulDiv(bid money.Micros, factor, den uint64) money.Micros {
	if bid <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(bid), factor)
	if hi >= den {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(hi, lo, den)
	return money.Micros(min(quotient, math.MaxInt64))
}

// Predict scores one campaign with everything the wire shows of it but the version and the terms.
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

// DefaultFloor is the least relevance of an ad unless operator, campaign, publisher or request
// state another.
const DefaultFloor PPM = 580_000
