package ranker

import (
	"strconv"

	"adnet/internal/money"
)

// Learnt is what clicks taught about campaigns, beside what they say of themselves. It is immutable
// once a table has it.
type Learnt struct {
	// Version numbers the weights of a network; it only grows.
	Version int64
	// Campaigns are the lessons about each, of ascending terms.
	Campaigns map[[16]byte][]Lesson
	// Explored is what the ads of a network say that clicks have taught enough about, by
	// target.Campaign.Content, and Advertisers those whose new campaigns have together been shown
	// enough: the others may explore.
	Explored    map[uint64]bool
	Advertisers map[[16]byte]bool
	// Conversions are the rates at which clicks convert.
	Conversions Rates
	// View is the probability that an impression becomes a view where one can be reported, from
	// [LeastView] to [Certain]; 0 is not learnt.
	View PPM
	// Clicks is the probability of a click at about the relevances 0, 1/(Knots-1), … 1. It never
	// falls.
	Clicks [Knots]PPM
}

// Rates say how often clicks are followed by a conversion, as multiples in parts per million, each
// from [LeastRate] to [MostRate]. Whoever has none has [Certain], which changes nothing.
type Rates struct {
	// Network is that of all campaigns ÷ what the table of the first day foretells; 0: not known.
	Network PPM
	// Campaigns and Advertisers are ÷ that of the network. An advertiser's is that of its campaigns
	// that have none of their own.
	Campaigns, Advertisers map[[16]byte]PPM
}

// The bounds of a rate: nobody's conversions make an auction worth more than four times as much,
// and nobody's silence less than a quarter.
const (
	LeastRate = Certain / 4
	MostRate  = 4 * Certain
)

// Of is the rate of a campaign of an advertiser ÷ that of the network.
func (r *Rates) Of(campaign, advertiser [16]byte) PPM {
	if rate, known := r.Campaigns[campaign]; known {
		return rate
	}
	if rate, known := r.Advertisers[advertiser]; known {
		return rate
	}
	return Certain
}

// Lesson is what a term adds to the match of a campaign, or takes from it, in units of 1/[Full].
type Lesson struct {
	Term uint32 // its id, see lexicon.TermID
	By   int32
}

// With is the table with what was learnt; nil is nothing.
func (t Table) With(learnt *Learnt) Table {
	t.Learnt = learnt
	return t
}

// Model is the version on the wire: of the table, of the frozen words it is used with, and of what
// was learnt, if anything was.
func (t *Table) Model(words string) string {
	model := t.Version + "." + words
	if t.Learnt != nil {
		model += "-" + strconv.FormatInt(t.Learnt.Version, 10)
	}
	return model
}

// Weights is the version of what was learnt, 0 for nothing.
func (t *Table) Weights() int64 {
	if t.Learnt == nil {
		return 0
	}
	return t.Learnt.Version
}

// Lessons are those about a campaign.
func (t *Table) Lessons(campaign [16]byte) []Lesson {
	if t.Learnt == nil {
		return nil
	}
	return t.Learnt.Campaigns[campaign]
}

// Worth is an amount for a conversion as auctions value it for a campaign: by how often its clicks
// convert, against those of the others. What is paid is not changed by it.
func (t *Table) Worth(amount money.Micros, campaign, advertiser [16]byte) money.Micros {
	if t.Learnt == nil {
		return amount
	}
	return mulDiv(amount, uint64(t.Learnt.Conversions.Of(campaign, advertiser)), uint64(Certain))
}

// click is the learnt probability at the nearest of the relevances that it is known for: it was
// calibrated so.
func (l *Learnt) click(r PPM) PPM { return l.Clicks[(r*(Knots-1)+Certain/2)/Certain] }

// LogOdds is the log-odds of relevance at a match, in units of 1/256.
func (t *Table) LogOdds(m Match) int32 {
	const step = Full / Knots
	at := min(m/step, Knots-1)
	odds := int32(t.Calibration[at])
	if at+1 < Knots {
		odds += (int32(t.Calibration[at+1]) - odds) * int32(m%step) / int32(step)
	}
	return odds
}
