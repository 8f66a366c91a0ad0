// Package odds compares counts of events with the counts that a usual rate predicts. It is the rule
// of every gauge that looks for traffic unlike the network's: the gate of learnt weights and the
// quarantine of publishers use it. It is pure.
package odds

import (
	"cmp"
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

// enough is the number of events from which on a rate is one.
const enough = 20

// Usual returns the rate of the usual source: the first quartile, which neither a source with many
// events moves nor a ring that outnumbers the honest ones. Sources of which too few events were
// expected do not count; without others it is the rate of all. It is at least a tenth of the rate of
// all.
func Usual(sources []Rate) float64 {
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
	return max(values[len(values)/4], mean/10)
}

// The network of [Bounds].
const (
	mostShare  = 4 // no source weighs more than 1/mostShare of all, or than the middle one
	leastParts = 3 // of which the middle one is taken
)

// Bounds returns the bounds of the rate of a network of sources: of the middle one of parts of it
// with about as much weight and enough events. So neither large sources move it, quiet or loud, nor
// the many small ones of which nothing happened yet. Few events prove little about the rate.
func Bounds(sources []Rate) (low, high float64) {
	limited := limit(sources)
	all, known := sum(limited), 0.0
	for _, s := range sources {
		known += min(s.Events, enough)
	}
	rate := max(all.Events, 1) / max(all.Of, 1)
	if n := int(known / enough); n >= leastParts {
		rate = middle(limited, all.Of/float64(n))
	}
	of := max(known, 1)
	return max(0, rate*(1-doubt/math.Sqrt(of))), rate * (1 + (doubt*math.Sqrt(known)+doubt)/of)
}

// doubt is the number of standard errors by which the events behind a rate may mislead.
const doubt = 3

// limit scales large sources down, so that each weighs at most its share, and sorts by weight.
func limit(sources []Rate) []Rate {
	list := slices.Clone(sources)
	slices.SortFunc(list, func(a, b Rate) int { return cmp.Compare(a.Of, b.Of) })
	if len(list) == 0 {
		return nil
	}
	most := sum(list).Of / mostShare
	for range 40 {
		weight := 0.0
		for _, s := range list {
			weight += min(s.Of, most)
		}
		most = max(weight/mostShare, list[len(list)/2].Of)
	}
	for i, s := range list {
		if s.Of > most {
			list[i] = Rate{s.Events * most / s.Of, most}
		}
	}
	return list
}

// middle joins sources to parts of at least this weight and returns the rate of the middle one.
func middle(list []Rate, weight float64) float64 {
	var values []float64
	var part Rate
	for i, s := range list {
		part.Events, part.Of = part.Events+s.Events, part.Of+s.Of
		if part.Of >= weight*(1-1e-9) || i == len(list)-1 && len(values) == 0 {
			values, part = append(values, part.Events/part.Of), Rate{}
		}
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func sum(sources []Rate) (all Rate) {
	for _, s := range sources {
		all.Events += s.Events
		all.Of += s.Of
	}
	return all
}
