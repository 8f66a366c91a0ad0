package quarantine

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// demo holds the developer ids of demo accounts. Each rule judges them and all others apart: the
// invented traffic raises no case against others, and theirs none against the demo.
type demo map[uuid.UUID]bool

// shown returns the demo of the installation.
func (d *Detector) shown() demo {
	of := demo{}
	if d.demo != nil {
		for _, id := range d.demo() {
			of[id] = true
		}
	}
	return of
}

// days returns the days of the demo's publishers, or of the others.
func (d demo) days(all []traffic.PublisherDay, is bool) []traffic.PublisherDay {
	return slices.DeleteFunc(slices.Clone(all), func(p traffic.PublisherDay) bool { return d[p.DeveloperID] != is })
}

// ads returns the shown ads of the demo's publishers, or of the others.
func (d demo) ads(all []traffic.ShownAds, is bool) []traffic.ShownAds {
	return slices.DeleteFunc(slices.Clone(all), func(a traffic.ShownAds) bool { return d[a.DeveloperID] != is })
}

// acts returns the acts at the demo's publishers, or at the others.
func (d demo) acts(all []traffic.ActCount, is bool) []traffic.ActCount {
	return slices.DeleteFunc(slices.Clone(all), func(a traffic.ActCount) bool { return d[a.DeveloperID] != is })
}

// demoCounts sums the events of each campaign at the demo's publishers.
func (d *Detector) demoCounts(ctx context.Context, since day.Day, of demo) ([]traffic.AdCount, error) {
	if len(of) == 0 {
		return nil, nil
	}
	developers := make([]uuid.UUID, 0, len(of))
	for id := range of {
		developers = append(developers, id)
	}
	places, err := d.ads.PublisherCounts(ctx, since, developers)
	if err != nil {
		return nil, err
	}
	sums := map[uuid.UUID]traffic.AdCount{}
	for _, c := range places {
		sum := sums[c.CampaignID]
		sum.CampaignID = c.CampaignID
		sum.Impressions += c.Impressions
		sum.Clicks += c.Clicks
		sum.Conversions += c.Conversions
		sums[c.CampaignID] = sum
	}
	list := make([]traffic.AdCount, 0, len(sums))
	for _, sum := range sums {
		list = append(list, sum)
	}
	return list, nil
}

// without returns the sums of campaigns less a part of them, which may have been read later.
func without(sums, part []traffic.AdCount) []traffic.AdCount {
	of := make(map[uuid.UUID]traffic.AdCount, len(part))
	for _, c := range part {
		of[c.CampaignID] = c
	}
	left := slices.Clone(sums)
	for i := range left {
		c := of[left[i].CampaignID]
		left[i].Impressions = max(0, left[i].Impressions-c.Impressions)
		left[i].Clicks = max(0, left[i].Clicks-c.Clicks)
		left[i].Conversions = max(0, left[i].Conversions-c.Conversions)
	}
	return left
}
