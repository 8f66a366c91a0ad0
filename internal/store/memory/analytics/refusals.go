package analytics

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign/subject"
	"adnet/internal/day"
	"adnet/internal/report"
)

// askedDay is a day of a requesting publisher.
type askedDay struct {
	developer uuid.UUID
	day       day.Day
}

// tally counts requests by result.
type tally struct{ requests, adults, never, sensitive int64 }

func (t *tally) count(a *report.Auction) {
	switch {
	case a.Reason == report.Unsuitable:
		t.never++
	case a.Refused():
		t.sensitive++
	default:
		t.requests++
		if a.AgeAdult {
			t.adults++
		}
	}
}

// requests yields the stored auctions, except those of sandbox keys.
func (e *explained) requests(yield func(*report.Auction) bool) {
	for _, record := range e.byID {
		if record.recorded && !record.auction.Sandbox && !yield(&record.auction) {
			return
		}
	}
}

// Refusals counts refused requests by publisher and day, among the newest stored auctions.
func (r *Store) Refusals(_ context.Context, q report.RefusalQuery) ([]report.RefusalDay, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found := map[askedDay]*tally{}
	for a := range r.explained.requests {
		of := askedDay{a.DeveloperID, day.Of(a.At)}
		if of.day < q.Since || of.day > q.Until || !q.All && of.developer != q.DeveloperID {
			continue
		}
		if found[of] == nil {
			found[of] = new(tally)
		}
		found[of].count(a)
	}
	days := make([]report.RefusalDay, 0, len(found))
	for of, t := range found {
		days = append(days, report.RefusalDay{
			DeveloperID: of.developer, Day: of.day, Requests: t.requests, Adults: t.adults,
			Never: report.RefusalsOf(t.never), Sensitive: report.RefusalsOf(t.sensitive),
		})
	}
	slices.SortFunc(days, func(a, b report.RefusalDay) int {
		return cmp.Or(bytes.Compare(a.DeveloperID[:], b.DeveloperID[:]), cmp.Compare(a.Day, b.Day))
	})
	return days, nil
}

// Costs counts a publisher's requests lost to each sensitive subject up to a day, among the newest
// stored auctions.
func (r *Store) Costs(
	_ context.Context, publisher uuid.UUID, until day.Day,
) (map[subject.ID]report.SubjectCost, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	weeks, months := map[subject.ID]int64{}, map[subject.ID]int64{}
	for a := range r.explained.requests {
		id, ok := subject.Parse(a.Suitability)
		age := until - day.Of(a.At)
		if !ok || a.DeveloperID != publisher || a.Reason != report.Sensitive || age < 0 || age >= report.CostMonth {
			continue
		}
		months[id]++
		if age < report.CostWeek {
			weeks[id]++
		}
	}
	costs := make(map[subject.ID]report.SubjectCost, len(months))
	for id, n := range months {
		costs[id] = report.SubjectCost{Week: report.HundredsOf(weeks[id]), Month: report.HundredsOf(n)}
	}
	return costs, nil
}

// RefusedAt counts the refused requests of some placements by subject, among the newest stored
// auctions.
func (r *Store) RefusedAt(_ context.Context, p report.Places) ([]report.RefusedPlaces, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	counts := map[report.Refused]int64{}
	for a := range r.explained.requests {
		date := day.Of(a.At)
		if a.Refused() && date >= p.Since && date <= p.Until && report.Covers(p.HostApps, a.HostApp) &&
			report.Covers(p.Surfaces, a.Surface) &&
			report.Covers(p.Methods, a.IntegrationMethod) && report.Covers(p.Languages, a.Language) {
			counts[report.Refused{Reason: a.Reason, Subject: a.Suitability}]++
		}
	}
	return report.RefusedPlacesOf(counts), nil
}

// NeverRates returns the rates of the publishers that had a request refused as unsuitable from
// lately to until, beside their usual ones, among the newest stored auctions.
func (r *Store) NeverRates(_ context.Context, since, lately, until time.Time) ([]report.NeverRate, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	rates := map[uuid.UUID]*report.NeverRate{}
	for a := range r.explained.requests {
		hour := a.At.Truncate(time.Hour)
		if hour.Before(since) || hour.After(until) {
			continue
		}
		rate := rates[a.DeveloperID]
		if rate == nil {
			rate = new(report.NeverRate)
			rates[a.DeveloperID] = rate
		}
		requests, never := &rate.Requests, &rate.Never
		if hour.Before(lately) {
			requests, never = &rate.UsualRequests, &rate.UsualNever
		}
		*requests++
		if a.Reason == report.Unsuitable {
			*never++
		}
	}
	list := []report.NeverRate{}
	for _, rate := range rates {
		if rate.Never > 0 {
			list = append(list, *rate)
		}
	}
	return list, nil
}
