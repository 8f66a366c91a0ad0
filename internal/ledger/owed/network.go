package owed

import "github.com/google/uuid"

const (
	// rateWeight is the weight of the first rates in the network's, in acts.
	rateWeight = 10 * Act
	// rateShare is the largest part of the trusted events that one family has in the network's
	// rates, as a divisor. All families together that were never charged nor reviewed have the
	// same.
	rateShare = 5
)

// seen are the events of a family and the acts that followed.
type seen struct{ events, acts int64 }

// scaled returns s with at most so many events.
func (s seen) scaled(most int64) seen {
	if s.events <= most {
		return s
	}
	return seen{most, mulDiv(s.acts, most, s.events)}
}

// networkRates returns the network's rates of clicks by impressions and of conversions by clicks.
// Accounts that never report cannot lower them, as those without charge or review count little, and
// those that are bound to another not at all. Conversions of cpa campaigns are paid for; those of
// goals count only until there are enough.
func (j *judge) networkRates() (click, convert PPM) {
	clicks, paid, all := map[uuid.UUID]seen{}, map[uuid.UUID]seen{}, map[uuid.UUID]seen{}
	trusted := map[uuid.UUID]bool{}
	add := func(to map[uuid.UUID]seen, family uuid.UUID, events, acts int64) {
		s := to[family]
		to[family] = seen{min(limit, s.events+events*scale), min(limit, s.acts+acts*scale)}
	}
	enough := int64(0)
	charged := map[uuid.UUID]bool{}
	for i := range j.in.Campaigns {
		c := &j.in.Campaigns[i]
		charged[c.Family] = charged[c.Family] || c.Charged > 0
		trusted[c.Family] = charged[c.Family] || j.in.Families[c.Family].Reviewed
	}
	for i := range j.in.Campaigns {
		c := &j.in.Campaigns[i]
		if j.in.Families[c.Family].BoundTo != uuid.Nil && !charged[c.Family] {
			continue
		}
		add(clicks, c.Family, c.Impressions, c.Clicks)
		if !c.byConversions() {
			continue
		}
		_, due := j.curve.due(c)
		add(all, c.Family, due, c.acts())
		if c.perAct() {
			add(paid, c.Family, due, c.acts())
			enough += c.acts()
		}
	}
	if Acts(enough)*Act < rateWeight {
		paid = all
	}
	return rate(clicks, trusted, FirstClick), rate(paid, trusted, FirstConvert)
}

// scale keeps fractions of events of families that count in part.
const scale = 1000

// rate returns the rate of acts by events, around a first rate.
func rate(of map[uuid.UUID]seen, trusted map[uuid.UUID]bool, first PPM) PPM {
	var total, others seen
	for family, s := range of {
		if trusted[family] {
			total.events += s.events
		} else {
			others.events, others.acts = others.events+s.events, others.acts+s.acts
		}
	}
	most, sum := total.events/rateShare, seen{}
	for family, s := range of {
		if trusted[family] {
			s = s.scaled(most)
			sum.events, sum.acts = sum.events+s.events, sum.acts+s.acts
		}
	}
	prior := mulDiv(int64(rateWeight), scale, first)
	others = others.scaled(max(most, prior))
	events := sum.events + others.events + prior
	acts := sum.acts + others.acts + mulDiv(prior, first, Same)
	return max(1, min(Same, mulDiv(acts, Same, events)))
}
