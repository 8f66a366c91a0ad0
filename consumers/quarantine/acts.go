package quarantine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/traffic"
)

// manyActs compares the acts of campaigns at young publishers with those elsewhere. Acts that wait
// for a decision count.
func (d *Detector) manyActs(
	ctx context.Context, rules traffic.QuarantineRules, now time.Time, shown demo,
) ([]traffic.Evidence, error) {
	if !rules.Network {
		return nil, nil
	}
	owners, err := d.store.YoungPublishers(ctx, now)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	models, err := d.store.PerActCampaigns(ctx)
	if err != nil || len(models) == 0 {
		return nil, err
	}
	since := day.Of(now) - traffic.ActDays + 1
	displayed, err := d.ads.PublisherCounts(ctx, since, slices.Collect(maps.Keys(owners)))
	if err != nil {
		return nil, err
	}
	young := actsOf(displayed, models)
	held, err := d.store.HeldActs(ctx)
	if err != nil {
		return nil, err
	}
	young = withHeld(young, held, models)
	young = slices.DeleteFunc(young, func(a traffic.ActCount) bool { return owners[a.DeveloperID] == uuid.Nil })
	if !slices.ContainsFunc(young, func(a traffic.ActCount) bool { return a.Acts > 0 }) {
		return nil, nil
	}
	for i := range young {
		young[i].OwnerID = owners[young[i].DeveloperID]
	}
	sums, err := d.ads.CampaignCounts(ctx, since)
	if err != nil {
		return nil, err
	}
	theirs, err := d.demoCounts(ctx, since, shown)
	if err != nil {
		return nil, err
	}
	var found []traffic.Evidence
	for _, place := range []struct {
		demo bool
		sums []traffic.AdCount
	}{{false, without(sums, theirs)}, {true, theirs}} {
		if mine := shown.acts(young, place.demo); len(mine) > 0 {
			everywhere := withHeld(actsOf(place.sums, models), sumOf(mine, held), models)
			found = append(found, rules.ManyActs(day.Of(now), mine, everywhere)...)
		}
	}
	return found, nil
}

// actsOf counts the acts of campaigns that pay for them.
func actsOf(counts []traffic.AdCount, models map[uuid.UUID]campaign.BillingModel) (acts []traffic.ActCount) {
	for _, c := range counts {
		a := traffic.ActCount{
			CampaignID: c.CampaignID, DeveloperID: c.DeveloperID, Impressions: c.Impressions, Acts: c.Clicks,
		}
		switch models[c.CampaignID] {
		case campaign.CPC:
		case campaign.CPA:
			a.Sales, a.Acts = true, c.Conversions
		default:
			continue
		}
		acts = append(acts, a)
	}
	return acts
}

// withHeld adds acts that wait. Places without a count get one.
func withHeld(
	counts []traffic.ActCount, held map[ledger.Acts]int64, models map[uuid.UUID]campaign.BillingModel,
) []traffic.ActCount {
	held = maps.Clone(held)
	for i := range counts {
		acts := ledger.Acts{CampaignID: counts[i].CampaignID, DeveloperID: counts[i].DeveloperID}
		counts[i].Acts += held[acts]
		delete(held, acts)
	}
	for acts, n := range held {
		if model, is := models[acts.CampaignID]; is {
			counts = append(counts, traffic.ActCount{
				CampaignID: acts.CampaignID, DeveloperID: acts.DeveloperID, Sales: model == campaign.CPA, Acts: n,
			})
		}
	}
	return counts
}

// sumOf sums the acts of young publishers that wait, by campaign.
func sumOf(young []traffic.ActCount, held map[ledger.Acts]int64) map[ledger.Acts]int64 {
	sums := make(map[ledger.Acts]int64)
	for _, a := range young {
		if n := held[ledger.Acts{CampaignID: a.CampaignID, DeveloperID: a.DeveloperID}]; n > 0 {
			sums[ledger.Acts{CampaignID: a.CampaignID}] += n
		}
	}
	return sums
}

// openActs opens cases about acts, of each campaign at most [traffic.MaxActCases] at the same time.
func (d *Detector) openActs(ctx context.Context, found []traffic.Evidence, now time.Time) (opened int, err error) {
	if len(found) == 0 {
		return 0, nil
	}
	open, err := d.store.OpenActCases(ctx)
	if err != nil {
		return 0, err
	}
	for _, e := range found {
		if len(open[e.Campaign]) >= traffic.MaxActCases || slices.Contains(open[e.Campaign], e.Today.DeveloperID) {
			continue
		}
		did, err := d.open(ctx, e, now)
		if err != nil {
			return opened, err
		}
		if did {
			open[e.Campaign] = append(open[e.Campaign], e.Today.DeveloperID)
			opened++
		}
	}
	return opened, nil
}
