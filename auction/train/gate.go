package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"adnet/auction/index"
	"adnet/internal/traffic/odds"
)

// LeastClicks is the minimum number of clicks on a day that may promote anything.
const LeastClicks = 1000

// The bounds of predicted ÷ observed clicks, each widened by two standard errors.
const (
	overallLow, overallHigh = 0.9, 1.1
	decileLow, decileHigh   = 0.8, 1.25
)

// Forecast is an impression with the predictions of two tables.
type Forecast struct {
	*Sample
	Candidate, Incumbent float64 // probabilities of a click
}

// Report is the basis of a judgement. Why is empty if the candidate is promoted.
type Report struct {
	Day         string    `json:"day,omitempty"` // UTC, the day that judges
	Impressions int       `json:"impressions"`
	Clicks      float64   `json:"clicks"`
	LogLoss     float64   `json:"log_loss"`
	Incumbent   float64   `json:"log_loss_incumbent"`
	Ratio       float64   `json:"predicted_observed"`
	Deciles     []float64 `json:"deciles"`
	Exam        Exam      `json:"exam"`
	// Conversions and Views are nil in the judgement of a version trained before.
	Conversions *Conversions `json:"conversions,omitempty"`
	Views       *Views       `json:"views,omitempty"`
	Why         []string     `json:"why"`
}

// Promotes reports whether the candidate may be promoted.
func (r *Report) Promotes() bool { return len(r.Why) == 0 }

func (r *Report) refuse(format string, args ...any) {
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

// Judge compares a candidate with the incumbent on the impressions of the day after its training
// data, filtered by [Counted], and on the exams of both.
func Judge(day []Forecast, candidate, incumbent Exam) *Report {
	r := &Report{Impressions: len(day), Exam: candidate, Why: []string{}, Deciles: []float64{}}
	log := make([]Sample, len(day))
	for i := range day {
		log[i] = *day[i].Sample
		if day[i].Clicked {
			r.Clicks++
		}
	}
	if r.Clicks < LeastClicks {
		r.refuse("%d clicks on the day that judges: at least %d are needed", int(r.Clicks), LeastClicks)
	}
	if len(day) == 0 {
		return r
	}
	weights := Weigh(log)
	r.loss(day, weights)
	r.calibration(day, weights)
	r.suspicion(day)
	r.exams(candidate, incumbent)
	return r
}

// loss compares the log loss of both.
func (r *Report) loss(day []Forecast, weights map[index.ID]float64) {
	var all float64
	for i := range day {
		f := &day[i]
		w := weights[f.Publisher]
		all += w
		r.LogLoss += float64(w * missed(f.Candidate, f.Clicked))
		r.Incumbent += float64(w * missed(f.Incumbent, f.Clicked))
	}
	r.LogLoss, r.Incumbent = r.LogLoss/all, r.Incumbent/all
	if r.LogLoss > r.Incumbent {
		r.refuse("log loss %.6f is worse than the incumbent's %.6f", r.LogLoss, r.Incumbent)
	}
}

func missed(p float64, clicked bool) float64 {
	p = min(max(p, 1e-6), 1-1e-6)
	if clicked {
		return -math.Log(p)
	}
	return -math.Log(1 - p)
}

// tally sums up predicted and observed clicks of some impressions.
type tally struct{ predicted, observed, variance float64 }

func (t *tally) add(p float64, clicked bool, w float64) {
	t.predicted += float64(w * p)
	t.variance += float64(w * w * p * (1 - p))
	if clicked {
		t.observed += w
	}
}

// ratio returns predicted ÷ observed and reports whether it is inside its bounds widened by two
// standard errors.
func (t *tally) ratio(low, high float64) (ratio float64, inside bool) {
	ratio = t.predicted / max(t.observed, 1e-9)
	margin := 2 * math.Sqrt(t.variance)
	return ratio, t.predicted+margin >= low*t.observed && t.predicted-margin <= high*t.observed
}

// share adds a part of another tally.
func (t *tally) share(of tally, part float64) {
	t.predicted += float64(part * of.predicted)
	t.observed += float64(part * of.observed)
	t.variance += float64(part * of.variance)
}

// calibration compares predicted with observed clicks, in total and in tenths by prediction.
func (r *Report) calibration(day []Forecast, weights map[index.ID]float64) {
	var all tally
	for i := range day {
		all.add(day[i].Candidate, day[i].Clicked, weights[day[i].Publisher])
	}
	ratio, inside := all.ratio(overallLow, overallHigh)
	if r.Ratio = ratio; !inside {
		r.refuse("predicted ÷ observed clicks are %.3f: they must be from %.2f to %.2f", ratio, overallLow, overallHigh)
	}
	for i, tenth := range tenths(day, weights) {
		ratio, inside := tenth.ratio(decileLow, decileHigh)
		r.Deciles = append(r.Deciles, ratio)
		if !inside {
			r.refuse(
				"in tenth %d predicted ÷ observed clicks are %.3f: they must be from %.2f to %.2f", i+1, ratio,
				decileLow, decileHigh,
			)
		}
	}
}

// tenths groups impressions into tenths by prediction. Impressions with equal predictions are
// shared proportionally among the tenths they span, as their order means nothing.
func tenths(day []Forecast, weights map[index.ID]float64) (list [10]tally) {
	order := slices.Clone(day)
	slices.SortFunc(order, func(a, b Forecast) int {
		return cmp.Or(cmp.Compare(a.Candidate, b.Candidate), compare(*a.Sample, *b.Sample))
	})
	n := len(order)
	for from := 0; from < n; {
		var same tally
		to := from
		for ; to < n && order[to].Candidate == order[from].Candidate; to++ {
			same.add(order[to].Candidate, order[to].Clicked, weights[order[to].Publisher])
		}
		for i := range list {
			begin, end := max(from*10, i*n), min(to*10, (i+1)*n)
			if begin < end {
				list[i].share(same, float64(end-begin)/float64((to-from)*10))
			}
		}
		from = to
	}
	return list
}

// suspicion rejects a day with clicks from suspicious sources: one publisher with far more clicks
// than predicted or far fewer, many publishers alike, or an ad with more clicks where its text does
// not match the request than where it does.
func (r *Report) suspicion(day []Forecast) {
	publishers := map[index.ID]*tally{}
	for i := range day {
		f := &day[i]
		if publishers[f.Publisher] == nil {
			publishers[f.Publisher] = &tally{}
		}
		publishers[f.Publisher].add(f.Incumbent, f.Clicked, 1)
	}
	rates := make([]odds.Rate, 0, len(publishers))
	for _, t := range publishers {
		rates = append(rates, odds.Rate{Events: t.observed, Of: t.predicted})
	}
	usual := odds.Usual(rates)
	suspects, worst := 0, 0.0
	sources := make([]odds.Source, 0, len(publishers))
	for _, t := range publishers {
		expected := t.predicted * usual
		sources = append(sources, odds.Source{Count: t.observed, Low: expected, High: expected})
		if odds.Many(t.observed, expected) {
			suspects++
			worst = max(worst, t.observed/max(expected, 1e-9))
		}
	}
	if suspects > 0 {
		r.refuse("%d publishers have up to %.1f times the predicted clicks", suspects, worst)
	}
	if quiet := quietOf(sources); quiet > 0 {
		r.refuse("%d publishers have less than a quarter of the predicted clicks", quiet)
	}
	r.offTopic(day)
}

// quietOf counts the publishers with less than a quarter of the predicted clicks, if these clicks
// are too many to lack by chance.
func quietOf(sources []odds.Source) (n int) {
	if _, few := odds.Together(sources); !few {
		return 0
	}
	for _, s := range sources {
		if s.Under() {
			n++
		}
	}
	return n
}

// offTopicFactor is the allowed ratio of an ad's click rate on off-topic to on-topic requests.
const offTopicFactor = 1.5

// fewShown is the number of impressions that prove little about a campaign.
const fewShown = 100

// offTopic rejects campaigns with more clicks where the incumbent predicts few than where it
// predicts many. Readers do not click that way; an attacker that wants the ad in the wrong places
// does.
func (r *Report) offTopic(day []Forecast) {
	best := 0.0
	for i := range day {
		best = max(best, day[i].Incumbent)
	}
	type sides struct{ low, high, lowClicks, highClicks float64 }
	of := map[index.ID]*sides{}
	var network sides
	for i := range day {
		f := &day[i]
		if of[f.Campaign] == nil {
			of[f.Campaign] = &sides{}
		}
		for _, s := range []*sides{of[f.Campaign], &network} {
			count, clicks := &s.high, &s.highClicks
			if f.Incumbent < best/2 {
				count, clicks = &s.low, &s.lowClicks
			}
			*count++
			if f.Clicked {
				*clicks++
			}
		}
	}
	usual := (network.highClicks + 1) / (network.high + 1)
	suspects := 0
	for _, s := range of {
		// A campaign with few on-topic impressions is assumed to be a usual one.
		rate := (s.highClicks + float64(fewShown*usual)) / (s.high + fewShown)
		expected := offTopicFactor * s.low * rate
		if s.lowClicks-expected > odds.Errors*math.Sqrt(max(expected, 1)) {
			suspects++
		}
	}
	if suspects > 0 {
		r.refuse("%d campaigns have more clicks on off-topic requests than their click rate explains", suspects)
	}
}

// mostLost is the fraction (1/mostLost) of demo requests that may find another ad than before. Some
// of them are answered as well by an ad of the network, which is shown once its words are learnt.
const mostLost = 100

// exams compares the results on the demo world and the attacks.
func (r *Report) exams(candidate, incumbent Exam) {
	if candidate.Right < incumbent.Right-incumbent.Of/mostLost {
		r.refuse("%d of %d demo requests find the right ad, down from %d", candidate.Right, candidate.Of, incumbent.Right)
	}
	if candidate.Taken > incumbent.Taken {
		r.refuse("attacks win %d of %d requests, up from %d", candidate.Taken, candidate.Attacks, incumbent.Taken)
	}
}
