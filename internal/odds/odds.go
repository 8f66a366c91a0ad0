// Package odds compares counts of events with the counts that a usual rate predicts. It is the rule
// of every gauge that looks for traffic unlike the network's: the gate of learnt weights and the
// quarantine of publishers use it. It is pure.
package odds

import (
	"math"
	"slices"
)

// The deviation from the expected count that is no chance and no matter of taste: this factor, and
// this number of standard errors.
const (
	Factor = 4
	Errors = 6
)

// Many reports whether a count is far above the expected one.
func Many(count, expected float64) bool {
	return count > Factor*expected && count-expected > Errors*math.Sqrt(max(expected, 1))
}

// Few reports whether a count is far below the expected one.
func Few(count, expected float64) bool {
	return Factor*count < expected && expected-count > Errors*math.Sqrt(max(expected, 1))
}

// Source is the count of one source with the bounds of the expected one.
type Source struct{ Count, Low, High float64 }

// Over reports whether the source alone points to too many events, by chance or not.
func (s Source) Over() bool { return s.Count > Factor*s.High }

// Under reports whether the source alone points to too few events, by chance or not.
func (s Source) Under() bool { return Factor*s.Count < s.Low }

// Together judges sources that belong together. Their sum is judged, and then only those that are
// [Source.Over] or [Source.Under] against the part of honest sources that chance puts there: so
// neither many small sources nor honest ones among them hide the others.
func Together(sources []Source) (many, few bool) {
	var sum Source
	var over, missing, overByChance, missingByChance float64
	for _, s := range sources {
		sum.Count += s.Count
		sum.Low += s.Low
		sum.High += s.High
		if s.Over() {
			over += s.Count
		}
		if s.Under() {
			missing += s.Low - s.Count
		}
		overByChance += luck(s.High)
		missingByChance += badLuck(s.Low)
	}
	many, few = Many(sum.Count, sum.High), Few(sum.Count, sum.Low)
	if len(sources) > 1 {
		many = many || Many(over, overByChance)
		few = few || Many(missing, missingByChance)
	}
	return many, few
}

// certain is the mean from which on a Poisson count practically never deviates by [Factor].
const certain = 200

// luck returns the mean of a Poisson count where it is [Source.Over], 0 elsewhere.
func luck(mean float64) float64 {
	if mean >= certain {
		return 0
	}
	below, term := 0.0, math.Exp(-mean)
	for n := range int(Factor * mean) { // mean × P(count ≥ bound - 1)
		below += term
		term *= mean / float64(n+1)
	}
	return mean * max(0, 1-below)
}

// badLuck returns the mean of what a Poisson count lacks of its mean where it is [Source.Under], 0
// elsewhere.
func badLuck(mean float64) (missing float64) {
	if mean >= certain {
		return 0
	}
	term := math.Exp(-mean)
	for n := 0.0; Factor*n < mean; n++ {
		missing += (mean - n) * term
		term *= mean / (n + 1)
	}
	return missing
}

// Rate counts the events of a source and how many were expected of it, or could have been.
type Rate struct{ Events, Of float64 }

// The part of the sources below the usual one.
const (
	// Middle lets half of the sources be unlike the usual one in either direction.
	Middle = 0.5
	// Quartile holds against a ring that outnumbers the honest, where honest sources are alike.
	Quartile = 0.25
)

// enough is the number of expected events from which on a source counts for the usual rate.
const enough = 20

// Usual returns the rate of the source with this part of all below it: one large source does not
// move it. Without sources that are large enough it is the rate of all. It is at least a tenth of
// the rate of all.
func Usual(sources []Rate, part float64) float64 {
	all := sum(sources)
	mean := max(all.Events, 1) / max(all.Of, 1)
	var values []float64
	for _, s := range sources {
		if s.Of*mean >= enough {
			values = append(values, s.Events/s.Of)
		}
	}
	if len(values) == 0 {
		return mean
	}
	slices.Sort(values)
	return max(values[int(float64(len(values))*part)], mean/10)
}

func sum(sources []Rate) (all Rate) {
	for _, s := range sources {
		all.Events += s.Events
		all.Of += s.Of
	}
	return all
}

// doubt is the number of standard errors by which the events behind a usual rate may mislead.
const doubt = 3

// Bounds returns the bounds of the usual rate with half of the sources below it: few events prove
// little about it.
func Bounds(sources []Rate) (low, high float64) {
	usual, events := Usual(sources, Middle), sum(sources).Events
	of := max(events, 1)
	return max(0, usual*(1-doubt/math.Sqrt(of))), usual * (1 + (doubt*math.Sqrt(events)+doubt)/of)
}
