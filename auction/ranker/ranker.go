// Package ranker is "benna", the deterministic targeting-overlap scorer.
//
// A versioned [Table] of integer weights turns the overlap between a request and a campaign's
// targeting ([Signals]) into a relevance in per mille, click and conversion probabilities in parts
// per million, and an effective CPM in micro-USD that campaigns of different billing models compete
// with. Nothing is learned and nothing is a float: equal input gives equal output on every machine,
// and every division rounds down, so an advertiser is never ranked above what the stated bid
// supports.
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

// Billing says which event a campaign pays for.
type Billing uint8

// The billing models: the bid is the price of 1,000 impressions, of one click, or of one
// conversion.
const (
	CPM Billing = iota
	CPC
	CPA
)

// ParseBilling reads the wire value "cpm", "cpc" or "cpa"; ok is false for anything else.
func ParseBilling(s string) (b Billing, ok bool) {
	for _, b := range []Billing{CPM, CPC, CPA} {
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
	}
	return "unknown"
}

// Price is what one billed unit of an auction costs that effectiveCPM won: for cpm an impression,
// effectiveCPM/1000 rounded down to the micro-dollar, for cpc a click and for cpa a conversion, the
// stated bid. In a first-price auction the bid that won is paid: never more, and so never more than
// the stated bid. Price(bid, bid) is the most that a unit may cost.
func (b Billing) Price(bid, effectiveCPM money.Micros) money.Micros {
	if b == CPM {
		return min(effectiveCPM, bid).PerMille()
	}
	return bid
}

// Signals is what a request and a campaign have in common. A targeted count of 0 means that the
// campaign does not target the dimension.
type Signals struct {
	// IntentMatched of IntentTargeted tokens, and ToolMatched of ToolTargeted tools, are shared.
	IntentMatched, IntentTargeted, ToolMatched, ToolTargeted uint16
	// HostMatched says that the campaign targets host apps and the request's is one of them.
	HostMatched bool
}

// Table is one version of the weights. The four shares sum to 1000.
type Table struct {
	// Version names the model on the wire.
	Version string
	// Base is the relevance of a campaign that shares nothing with the request; Intent, Tool and
	// Host are what a complete overlap of that signal adds.
	Base, Intent, Tool, Host PerMille
	// Enough is the number of shared tokens or tools that counts as a complete overlap.
	Enough uint16
	// ClickRate and ConvertRate are the base probabilities at a relevance of 500 per mille.
	ClickRate, ConvertRate PPM
}

// OverlapV1 is the weight table "benna-overlap-1".
func OverlapV1() Table {
	return Table{
		Version: "benna-overlap-1",
		Base:    400, Intent: 350, Tool: 150, Host: 100,
		Enough:    3,
		ClickRate: 10_000, ConvertRate: 20_000,
	}
}

// Contributions is the part of the relevance that each signal earned, in per mille. Together with
// the base weight of the table they sum to [Prediction.Relevance].
type Contributions struct {
	// IntentOverlap, ToolOverlap and HostMatch are the wire signals of the same names.
	IntentOverlap, ToolOverlap, HostMatch PerMille
}

// Prediction is the scorer's answer for one campaign and one request.
type Prediction struct {
	// ModelVersion is [Table.Version].
	ModelVersion string
	// Bid is the effective CPM in micro-USD.
	Bid money.Micros
	// PClick is the probability of a click on an impression, PConvert of a conversion after a
	// click.
	PClick, PConvert PPM
	// Relevance is the sum of the base weight and the contributions.
	Relevance PerMille
	// Contributions attributes the relevance to the signals.
	Contributions Contributions
}

// Contributions attributes relevance to signals: min(matched, enough) ÷ min(targeted, enough) of
// the share for tokens and tools, all or nothing for the host. A signal that is not targeted earns
// nothing.
func (t Table) Contributions(s Signals) Contributions {
	c := Contributions{
		IntentOverlap: t.share(t.Intent, s.IntentMatched, s.IntentTargeted),
		ToolOverlap:   t.share(t.Tool, s.ToolMatched, s.ToolTargeted),
	}
	if s.HostMatched {
		c.HostMatch = t.Host
	}
	return c
}

func (t Table) share(weight PerMille, matched, targeted uint16) PerMille {
	targeted = min(targeted, t.Enough)
	if targeted == 0 {
		return 0
	}
	return weight * PerMille(min(matched, targeted)) / PerMille(targeted)
}

// Relevance is the base weight plus all contributions.
func (t Table) Relevance(s Signals) PerMille {
	c := t.Contributions(s)
	return t.Base + c.IntentOverlap + c.ToolOverlap + c.HostMatch
}

// PClick is the probability of a click at the given relevance: the base rate × 2 × relevance.
func (t Table) PClick(r PerMille) PPM { return scaleRate(t.ClickRate, r) }

// PConvert is the probability of a conversion after a click at the given relevance.
func (t Table) PConvert(r PerMille) PPM { return scaleRate(t.ConvertRate, r) }

func scaleRate(rate PPM, r PerMille) PPM { return min(rate*2*PPM(r)/1000, Certain) }

// EffectiveCPM is what 1,000 impressions are expected to earn, in micro-USD: bid × relevance for
// cpm, bid × p_click × 1000 for cpc, bid × p_click × p_convert × 1000 for cpa; rounded down once,
// saturating instead of overflowing, never decreasing in the bid or the relevance, 0 for a bid that
// is not positive.
func (t Table) EffectiveCPM(b Billing, bid money.Micros, r PerMille) money.Micros {
	switch b {
	case CPM:
		return mulDiv(bid, uint64(r), 1000)
	case CPC:
		return mulDiv(bid, uint64(t.PClick(r)), 1000)
	case CPA:
		return mulDiv(bid, uint64(t.PClick(r))*uint64(t.PConvert(r)), 1_000_000_000)
	}
	return 0
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

// Predict scores one campaign with everything the wire shows of it.
func (t Table) Predict(b Billing, bid money.Micros, s Signals) Prediction {
	r := t.Relevance(s)
	return Prediction{
		ModelVersion:  t.Version,
		Bid:           t.EffectiveCPM(b, bid, r),
		PClick:        t.PClick(r),
		PConvert:      t.PConvert(r),
		Relevance:     r,
		Contributions: t.Contributions(s),
	}
}
