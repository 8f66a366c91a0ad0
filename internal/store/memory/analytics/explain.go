package analytics

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/report"
)

// Records for explaining auctions: the newest auctions, with the first events of each, and the
// outcomes of candidates of about an hour.
const (
	keptAuctions = 10_000
	keptEvents   = 200
	keptMinutes  = 70
)

// explained is the recent past of auctions.
type explained struct {
	byID    map[uuid.UUID]*auctionRecord
	ring    []uuid.UUID
	next    int
	minutes map[int64]map[candidateKey]int64
}

// auctionRecord is an auction, its events, or both: either may come first.
type auctionRecord struct {
	auction  report.Auction
	recorded bool
	events   []report.Row
}

type candidateKey struct {
	campaign uuid.UUID // nil: the auctions themselves
	outcome  string
}

// record finds or creates the record of an auction; a new one may replace the oldest.
func (e *explained) record(id uuid.UUID) *auctionRecord {
	if r, ok := e.byID[id]; ok {
		return r
	}
	if e.byID == nil {
		e.byID, e.minutes = make(map[uuid.UUID]*auctionRecord), make(map[int64]map[candidateKey]int64)
	}
	if len(e.ring) < keptAuctions {
		e.ring = append(e.ring, id)
	} else {
		delete(e.byID, e.ring[e.next])
		e.ring[e.next] = id
		e.next = (e.next + 1) % keptAuctions
	}
	r := new(auctionRecord)
	e.byID[id] = r
	return r
}

// addAuction stores an auction with the terms that may be recorded.
func (e *explained) addAuction(a *report.Auction, terms []uint32) {
	r := e.record(a.AuctionID)
	r.auction, r.recorded = *a, true
	r.auction.Outcome = report.Outcome{Terms: terms}
	r.auction.At = a.At.UTC().Truncate(time.Microsecond)
	r.auction.Took = a.Took.Truncate(time.Microsecond)
	r.auction.Candidates = slices.Clone(a.Candidates)
	if a.Sandbox || a.Refused() {
		return
	}
	minute := a.At.Unix() / 60
	counts := e.minutes[minute]
	if counts == nil {
		counts = make(map[candidateKey]int64)
		e.minutes[minute] = counts
		for len(e.minutes) > keptMinutes {
			oldest := minute
			for m := range e.minutes {
				oldest = min(oldest, m)
			}
			delete(e.minutes, oldest)
		}
	}
	counts[candidateKey{uuid.Nil, a.Reason}]++
	if a.MoreCandidates {
		counts[candidateKey{uuid.Nil, report.MoreCandidates}]++
	}
	for _, c := range a.Candidates {
		counts[candidateKey{c.CampaignID, c.Reason}]++
	}
}

func (e *explained) addEvent(row *report.Row) {
	if row.AuctionID == uuid.Nil {
		return
	}
	if r := e.record(row.AuctionID); len(r.events) < keptEvents {
		copied := *row
		copied.ReceivedAt = row.ReceivedAt.UTC().Truncate(time.Microsecond)
		r.events = append(r.events, copied)
	}
}

// Auction returns the record of one of the last 10,000 auctions. Errors: errs.NotFound.
func (r *Store) Auction(_ context.Context, id uuid.UUID, _ time.Time) (report.Auction, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if found, ok := r.explained.byID[id]; ok && found.recorded {
		a := found.auction
		a.Candidates = slices.Clone(a.Candidates)
		return a, nil
	}
	return report.Auction{}, errs.New(errs.NotFound, "there is no record of this auction")
}

// AuctionEvents returns the first 200 decided events of an auction that campaign won, in order of
// receipt.
func (r *Store) AuctionEvents(_ context.Context, id, campaign uuid.UUID, _ time.Time) ([]report.Row, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	events := []report.Row{}
	if found, ok := r.explained.byID[id]; ok {
		for _, e := range found.events {
			if e.CampaignID == campaign {
				events = append(events, e)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b report.Row) int { return a.ReceivedAt.Compare(b.ReceivedAt) })
	return events, nil
}

// askedBy returns the key of an auction in each breakdown of requests.
var askedBy = map[report.Breakdown]func(*report.Auction) string{
	"":                         func(*report.Auction) string { return "" },
	report.ByPublisher:         func(a *report.Auction) string { return a.DeveloperID.String() },
	report.ByDay:               func(a *report.Auction) string { return day.Of(a.At).String() },
	report.ByReason:            func(a *report.Auction) string { return a.Reason },
	report.BySurface:           func(a *report.Auction) string { return a.Surface },
	report.ByHostApp:           func(a *report.Auction) string { return a.HostApp },
	report.ByIntegrationMethod: func(a *report.Auction) string { return a.IntegrationMethod },
	report.ByFormat:            func(a *report.Auction) string { return a.Format },
}

// Demand counts the auctions of one or all publishers among the last 10,000, without refused
// requests. Error: errs.InvalidRequest for a breakdown outside the closed list.
func (r *Store) Demand(_ context.Context, q report.DemandQuery) (report.Demand, error) {
	if err := q.Check(); err != nil {
		return report.Demand{}, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	found := report.Demand{Outcomes: map[string]int64{}}
	groups := map[[2]string]*report.DemandGroup{}
	by, then := askedBy[q.Breakdown], askedBy[q.Then]
	for _, record := range r.explained.byID {
		a := &record.auction
		if on := day.Of(a.At); !record.recorded || a.Sandbox || a.Refused() ||
			!q.All && a.DeveloperID != q.DeveloperID || on < q.Since || on > q.Until {
			continue
		}
		found.Outcomes[a.Reason]++
		if a.At.After(found.Last) {
			found.Last = a.At
		}
		if q.Breakdown != "" {
			countAsked(groups, [2]string{by(a), then(a)}, a.Reason == "")
		}
	}
	for _, g := range groups {
		found.Groups = append(found.Groups, *g)
	}
	q.Sort(found.Groups)
	if q.Breakdown != "" {
		found.Limit(&q)
	}
	return found, nil
}

func countAsked(groups map[[2]string]*report.DemandGroup, key [2]string, filled bool) {
	g := groups[key]
	if g == nil {
		g = &report.DemandGroup{Key: key[0], Then: key[1]}
		groups[key] = g
	}
	g.Requests++
	if filled {
		g.Filled++
	}
}

// Delivery counts a campaign's outcomes in the auctions from the minute of since to until, at most
// the last 70 minutes with auctions.
func (r *Store) Delivery(_ context.Context, campaign uuid.UUID, since, until time.Time) (report.Delivery, error) {
	d := report.Delivery{Outcomes: make(map[string]int64)}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for minute, counts := range r.explained.minutes {
		if minute < since.Unix()/60 || minute > until.Unix()/60 {
			continue
		}
		for key, n := range counts {
			switch {
			case key.campaign == campaign:
				d.Outcomes[key.outcome] += n
			case key.campaign != uuid.Nil:
			case key.outcome == report.MoreCandidates:
				d.Truncated += n
			default:
				d.Auctions += n
			}
		}
	}
	return d, nil
}
