package traffic

import (
	"fmt"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic/odds"
)

// leastOthers is the number of other families with impressions from which on there is a network to
// compare a family with: of a few publishers each has a rate of its own.
const leastOthers = 3

// mostAlone is the number of families up to which the rate excludes the one that is judged. Among
// more, one does not move the middle.
const mostAlone = 1000

// Judge judges the publishers of the network: each family by its own thresholds ([Anomalies]) and
// by the clicks of the others. days holds their days by family, then publisher. It is pure.
func (r QuarantineRules) Judge(date day.Day, days []PublisherDay) (found []Evidence) {
	var families [][]member
	for len(days) > 0 {
		n := 1
		for n < len(days) && days[n].Family() == days[0].Family() {
			n++
		}
		// Accounts that belong together are judged together: many small ones stay below every minimum.
		found = append(found, r.Anomalies(date, days[:n])...)
		families = append(families, split(date, days[:n]))
		days = days[n:]
	}
	if !r.Network {
		return found
	}
	held := make(map[uuid.UUID]bool, len(found))
	for i := range found {
		held[found[i].Today.DeveloperID] = true
	}
	// A day that is strange by itself, then the week: few a day are as many.
	for _, since := range [...]day.Day{date, date - SurgeDays} {
		clicks := measure{
			over: QuarantineCTR, under: QuarantineQuiet, since: since, note: "clicks of %.0f impressions",
			rate: func(m *member) odds.Rate { return m.since(since) },
		}
		for _, e := range clicks.compare(families) {
			if !held[e.Today.DeveloperID] {
				held[e.Today.DeveloperID] = true
				found = append(found, e)
			}
		}
	}
	return found
}

// measure is a rate of publishers that is compared with the network's.
type measure struct {
	over, under QuarantineRule // empty: not a reason for a case
	since       day.Day
	note        string  // follows the number of events, with a verb for their divisor
	least       float64 // divisor of a family's rate below which it is not judged
	rate        func(m *member) odds.Rate
}

// compare finds the publishers of families with far more or far fewer events than the other
// families' rate lets expect.
func (m *measure) compare(families [][]member) (found []Evidence) {
	rates := make([]odds.Rate, 0, len(families))
	places := make([]int, 0, len(families)) // of the families of rates
	for i, members := range families {
		var sum odds.Rate
		for j := range members {
			rate := m.rate(&members[j])
			sum.Events, sum.Of = sum.Events+rate.Events, sum.Of+rate.Of
		}
		if sum.Of > 0 {
			rates, places = append(rates, sum), append(places, i)
		}
	}
	if len(rates) <= leastOthers {
		return nil
	}
	others := make([]odds.Rate, len(rates)-1)
	low, high := odds.Bounds(rates)
	for i := range rates {
		if len(rates) <= mostAlone {
			copy(others, rates[:i])
			copy(others[i:], rates[i+1:])
			low, high = odds.Bounds(others)
		}
		if rates[i].Of >= m.least {
			found = append(found, m.against(families[places[i]], [2]float64{low, high})...)
		}
	}
	return found
}

// against finds the members of a family whose events have the direction in which the family's
// events are far from the network's rate, which is between the bounds.
func (m *measure) against(members []member, bounds [2]float64) (found []Evidence) {
	sources := make([]odds.Source, len(members))
	var sum odds.Rate
	for i := range members {
		rate := m.rate(&members[i])
		sources[i] = odds.Source{Count: rate.Events, Low: rate.Of * bounds[0], High: rate.Of * bounds[1]}
		sum.Events, sum.Of = sum.Events+rate.Events, sum.Of+rate.Of
	}
	many, few := odds.Together(sources)
	for i := range members {
		e := Evidence{Today: members[i].today, Since: m.since}
		manyAlone, fewAlone := odds.Together(sources[i : i+1])
		switch s := sources[i]; {
		case m.over != "" && s.Over() && (many || manyAlone):
			e.Rule, e.Threshold = m.over, odds.Factor*bounds[1]
		case s.Under() && (few || fewAlone):
			e.Rule, e.Threshold = m.under, bounds[0]/odds.Factor
		default:
			continue
		}
		rate := m.rate(&members[i])
		e.Value = rate.Events / rate.Of
		e.Note = fmt.Sprintf("since %s: %.0f "+m.note, m.since, rate.Events, rate.Of)
		if len(members) > 1 {
			e.Note += fmt.Sprintf("; its family of %d publishers: %.0f of %.0f", len(members), sum.Events, sum.Of)
		}
		found = append(found, e)
	}
	return found
}

// since sums clicks and impressions of the days from a day on, without those of browser keys.
func (m *member) since(first day.Day) odds.Rate {
	n := m.today
	for i := range m.before {
		if m.before[i].Day >= first && m.before[i].Day < m.today.Day {
			n.Add(m.before[i])
		}
	}
	n.withoutBrowser()
	return odds.Rate{Events: float64(n.Clicks), Of: float64(n.Impressions)}
}

// ReaderDays is the number of days, today included, within which the rule no_readers counts.
const ReaderDays = 30

// Readerless finds the publishers with at least [QuarantineRules.Readers] impressions in a sum of
// [ReaderDays] and not one event that a reader sent: each alone, and the families of them of which
// this is true. sums holds one sum for each publisher, by family; no person approved any of them.
// Impressions of browser keys do not count. It is pure.
func (r QuarantineRules) Readerless(date day.Day, sums []PublisherDay) (found []Evidence) {
	if r.Readers <= 0 {
		return nil
	}
	for len(sums) > 0 {
		var family PublisherDay
		n := 0
		for n < len(sums) && sums[n].Family() == sums[0].Family() {
			family.Add(sums[n])
			n++
		}
		family.withoutBrowser()
		for _, p := range sums[:n] {
			alone := p
			alone.withoutBrowser()
			if alone.Impressions <= 0 || p.Readers > 0 ||
				alone.Impressions < r.Readers && (family.Readers > 0 || family.Impressions < r.Readers) {
				continue
			}
			note := fmt.Sprintf("within %d days: %d impressions, no request of a reader", ReaderDays, alone.Impressions)
			if n > 1 {
				note += fmt.Sprintf(
					"; its family of %d publishers: %d, %d requests of readers", n, family.Impressions, family.Readers,
				)
			}
			p.Day = date
			found = append(found, Evidence{
				Rule: QuarantineReaders, Threshold: float64(r.Readers), Value: float64(max(alone.Impressions, r.Readers)),
				Today: p, Since: date - ReaderDays + 1, Note: note,
			})
		}
		sums = sums[n:]
	}
	return found
}
