package ranker

import (
	"strconv"

	"adnet/internal/money"
)

// Learnt holds everything learnt from clicks, in addition to the texts of campaigns. It is
// immutable once a table has it.
type Learnt struct {
	// Version numbers the weights of a network; it only increases.
	Version int64
	// Campaigns maps each campaign to its lessons, in ascending order of terms.
	Campaigns map[[16]byte][]Lesson
	// Explored holds the contents of ads (target.Campaign.Content) about which clicks have taught
	// enough. Advertisers holds the families of advertisers whose new campaigns have together been
	// shown enough. All others may explore.
	Explored    map[uint64]bool
	Advertisers map[[16]byte]bool
	// Conversions is the conversion rate of the network's clicks ÷ the prediction of the first-day
	// table, from [LeastRate] to [MostRate]; 0 means unknown.
	Conversions PPM
	// View is the probability that an impression becomes a view where one can be reported, from
	// [LeastView] to [Certain]; 0 means not learnt.
	View PPM
	// Clicks is the probability of a click at the relevances of about 0, 1/(Knots-1), … 1. It never
	// decreases.
	Clicks [Knots]PPM
}

// The bounds of rates: learning changes the conversion rate of the network by no more than these
// factors, and the own rates of a campaign raise its worth in an auction at most fourfold. They
// lower it without a bound.
const (
	LeastRate = Certain / 4
	MostRate  = 4 * Certain
)

// Lesson is the amount that a term adds to the match of a campaign, or subtracts, in units of
// 1/[Full].
type Lesson struct {
	Term uint32 // its id, see lexicon.TermID
	By   int32
}

// With returns the table with the learnt weights; nil removes them.
func (t Table) With(learnt *Learnt) Table {
	t.Learnt = learnt
	return t
}

// Model returns the version shown in the API: of the table, of the frozen words used with it, and
// of the learnt weights, if any.
func (t *Table) Model(words string) string {
	model := t.Version + "." + words
	if t.Learnt != nil {
		model += "-" + strconv.FormatInt(t.Learnt.Version, 10)
	}
	return model
}

// Weights returns the version of the learnt weights, 0 for none.
func (t *Table) Weights() int64 {
	if t.Learnt == nil {
		return 0
	}
	return t.Learnt.Version
}

// Lessons returns the lessons about a campaign.
func (t *Table) Lessons(campaign [16]byte) []Lesson {
	if t.Learnt == nil {
		return nil
	}
	return t.Learnt.Campaigns[campaign]
}

// Scaled returns an amount for an act scaled by how often a campaign has one ÷ the network's rate.
// It does not change the amount paid.
func Scaled(amount money.Micros, rate PPM) money.Micros {
	return mulDiv(amount, uint64(rate), uint64(Certain))
}

// click returns the learnt probability at the nearest knot of relevance, as the calibration
// assumes.
func (l *Learnt) click(r PPM) PPM { return l.Clicks[(r*(Knots-1)+Certain/2)/Certain] }

// LogOdds returns the log-odds of relevance at a match, in units of 1/256.
func (t *Table) LogOdds(m Match) int32 {
	const step = Full / Knots
	at := min(m/step, Knots-1)
	odds := int32(t.Calibration[at])
	if at+1 < Knots {
		odds += (int32(t.Calibration[at+1]) - odds) * int32(m%step) / int32(step)
	}
	return odds
}
