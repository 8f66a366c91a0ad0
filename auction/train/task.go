package train

import "adnet/auction/ranker"

// Task is one training with its judgement.
type Task struct {
	// Last is the last day before the one that judges and is also used for calibration. Log holds
	// the days before it. Both are filtered by [Counted].
	Log, Last []Sample
	// Day is the day that judges.
	Day []Sample
	// Clicks are the clicks of days old enough for their conversions to have arrived.
	Clicks []Sample
	// Views are the views of completed days; the newest day judges them.
	Views     []Seen
	Network   Network
	Incumbent ranker.Table
	World     World
	Settings  Settings
}

// Trained is the result of a training, to be used only if the report promotes it.
type Trained struct {
	Learnt *ranker.Learnt
	Report *Report
}

// Train trains and judges.
func Train(t Task) Trained {
	m, learnt := teach(&t)
	was := ranker.Learnt{}
	if t.Incumbent.Learnt != nil {
		was = *t.Incumbent.Learnt
	}
	var conversions *Conversions
	learnt.Conversions, conversions = convert(m.prior, t.Network, learnt, t.Clicks, was.Conversions)
	var views *Views
	learnt.View, views = view(t.Views, was.View)
	candidate := ranker.Version2().With(learnt)
	day := m.prior.known(Counted(t.Day))
	forecasts := make([]Forecast, len(day))
	for i := range day {
		s := &day[i]
		forecasts[i] = Forecast{
			Sample: s, Candidate: m.prior.chance(&candidate, s), Incumbent: m.prior.chance(&t.Incumbent, s),
		}
	}
	report := Judge(forecasts, Examine(candidate, t.Network, t.World), Examine(t.Incumbent, t.Network, t.World))
	report.Conversions, report.Views = conversions, views
	return Trained{Learnt: learnt, Report: report}
}

// chance returns the probability of a click that a table predicts for an impression.
func (p *prior) chance(table *ranker.Table, s *Sample) float64 {
	learnt := table.Learnt
	if learnt == nil {
		learnt = &ranker.Learnt{}
	}
	return float64(table.PClick(p.relevance(learnt, s))) / float64(ranker.Certain)
}
