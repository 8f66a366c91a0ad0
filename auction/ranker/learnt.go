package ranker

import "strconv"

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
	// Clicks is the probability of a click at about the relevances 0, 1/(Knots-1), … 1. It never
	// falls.
	Clicks [Knots]PPM
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
