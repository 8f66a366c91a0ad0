package traffic

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic/odds"
)

const (
	// ActDays is the number of days, today included, within which acts are compared, and for which a
	// family is [Young].
	ActDays = 30
	// MaxActCases is the number of cases about one campaign that are open at the same time. Acts of the
	// campaign at young publishers without one wait as well.
	MaxActCases = 20

	// priorActs is the number of expected acts for which the network's rate counts beside a campaign's
	// own.
	priorActs = 3
)

// Young reports whether a family that registered at a time is too new to be trusted with acts far
// above those elsewhere. The zero time is not young.
func Young(registered, now time.Time) bool {
	return !registered.IsZero() && now.Sub(registered) < ActDays*24*time.Hour
}

// ActCount counts the impressions of a campaign and the acts that it pays for: at a young publisher,
// or, without a publisher, everywhere.
type ActCount struct {
	CampaignID  uuid.UUID
	DeveloperID uuid.UUID
	OwnerID     uuid.UUID // developer id of the family's oldest account
	Sales       bool      // it pays per conversion, else per click
	Impressions int64
	Acts        int64 // held ones included
}

func (a *ActCount) rate() odds.Rate {
	return odds.Rate{Events: float64(a.Acts), Of: float64(a.Impressions)}
}

// ManyActs finds the young publishers with far more acts of a campaign than its rate elsewhere lets
// expect, each family alone and all of a campaign together. young has the counts at young publishers
// and everywhere one sum for each campaign, which includes them. Where a campaign has nothing
// elsewhere, the network's rate stands for its own. It is pure.
func (r QuarantineRules) ManyActs(date day.Day, young, everywhere []ActCount) (found []Evidence) {
	if !r.Network {
		return nil
	}
	young = slices.Clone(young)
	slices.SortFunc(young, func(a, b ActCount) int {
		return cmp.Or(bytes.Compare(a.CampaignID[:], b.CampaignID[:]), bytes.Compare(a.OwnerID[:], b.OwnerID[:]),
			bytes.Compare(a.DeveloperID[:], b.DeveloperID[:]))
	})
	n := newActNetwork(young, everywhere)
	for len(young) > 0 {
		end := 1
		for end < len(young) && young[end].CampaignID == young[0].CampaignID {
			end++
		}
		if high, known := n.rate(&young[0]); known {
			found = append(found, manyActs(date, young[:end], n.elsewhere[young[0].CampaignID], high)...)
		}
		young = young[end:]
	}
	return found
}

// actNetwork holds the rates of acts of campaigns.
type actNetwork struct {
	elsewhere map[uuid.UUID]odds.Rate // by campaign: without young publishers
	all       []ActCount              // by campaign
}

func newActNetwork(young, everywhere []ActCount) actNetwork {
	n := actNetwork{elsewhere: make(map[uuid.UUID]odds.Rate, len(everywhere)), all: everywhere}
	for i := range everywhere {
		n.elsewhere[everywhere[i].CampaignID] = everywhere[i].rate()
	}
	for i := range young {
		rate := n.elsewhere[young[i].CampaignID]
		rate.Events = max(0, rate.Events-float64(young[i].Acts))
		rate.Of = max(0, rate.Of-float64(young[i].Impressions))
		n.elsewhere[young[i].CampaignID] = rate
	}
	return n
}

// rate returns the highest rate that a campaign's acts elsewhere and those of other campaigns let
// expect; false where neither is known.
func (n *actNetwork) rate(of *ActCount) (high float64, known bool) {
	own := n.elsewhere[of.CampaignID]
	var old, all []odds.Rate
	for i := range n.all {
		c := &n.all[i]
		if c.Sales != of.Sales || c.CampaignID == of.CampaignID || c.Impressions == 0 {
			continue
		}
		all = append(all, c.rate())
		if rate := n.elsewhere[c.CampaignID]; rate.Of > 0 {
			old = append(old, rate)
		}
	}
	if len(old) < leastOthers {
		old = all // in a new network every publisher is young
	}
	switch {
	case len(old) >= leastOthers:
		_, high = odds.Bounds(old)
		return (own.Events + 3*math.Sqrt(own.Events) + priorActs) / (own.Of + priorActs/high), true
	case own.Of > 0:
		_, high = odds.Bounds([]odds.Rate{own})
		return high, true
	}
	return 0, false
}

// manyActs judges the counts of one campaign, by family.
func manyActs(date day.Day, counts []ActCount, elsewhere odds.Rate, high float64) (found []Evidence) {
	var families [][]ActCount
	var sources []odds.Source
	for len(counts) > 0 {
		end, sum := 0, odds.Source{}
		for ; end < len(counts) && counts[end].OwnerID == counts[0].OwnerID; end++ {
			sum.Count += float64(counts[end].Acts)
			sum.High += float64(counts[end].Impressions) * high
		}
		families, sources = append(families, counts[:end]), append(sources, sum)
		counts = counts[end:]
	}
	// Of many small families some honest ones are over by chance, and their rates differ: those that
	// only stand out together must do so at twice the rate.
	var sum odds.Source
	doubled := make([]odds.Source, len(sources))
	for i, s := range sources {
		sum.Count, sum.High = sum.Count+s.Count, sum.High+s.High
		doubled[i] = odds.Source{Count: s.Count, High: 2 * s.High}
	}
	many := odds.Many(sum.Count, sum.High)
	hidden, _ := odds.Together(doubled)
	for i, members := range families {
		alone := odds.Many(sources[i].Count, sources[i].High)
		if !(sources[i].Over() && (many || alone) || doubled[i].Over() && hidden) {
			continue
		}
		for j := range members {
			if members[j].Acts > 0 {
				found = append(found, evidenceOfActs(date, &members[j], elsewhere, high))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Evidence) int { return cmp.Compare(b.Today.Clicks, a.Today.Clicks) })
	return found
}

func evidenceOfActs(date day.Day, a *ActCount, elsewhere odds.Rate, high float64) Evidence {
	acts := "clicks"
	if a.Sales {
		acts = "conversions"
	}
	since := date - ActDays + 1
	return Evidence{
		Rule: QuarantineActs, Campaign: a.CampaignID, Since: since, Threshold: odds.Factor * high,
		Value: float64(a.Acts) / float64(max(1, a.Impressions)),
		Today: PublisherDay{
			DeveloperID: a.DeveloperID, OwnerID: a.OwnerID, Day: date, Impressions: a.Impressions, Clicks: a.Acts,
		},
		Note: fmt.Sprintf(
			"campaign %s since %s: %d %s of %d impressions; at publishers older than %d days %.0f of %.0f",
			a.CampaignID, since, a.Acts, acts, a.Impressions, ActDays, elsewhere.Events, elsewhere.Of,
		),
	}
}

// AdCount counts the counted events of a campaign's ads, at a publisher or, without one, everywhere.
type AdCount struct {
	CampaignID, DeveloperID          uuid.UUID
	Impressions, Clicks, Conversions int64
}
