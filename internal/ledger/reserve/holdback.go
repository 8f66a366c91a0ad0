package reserve

import (
	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// unheard is the holder of reservations that no page lists, of all unheard nodes together.
const unheard = "unheard"

// HoldBack reports, in the name of silent nodes, the amounts that they may have reserved: those on
// their pages, and those possible since their last page. Each report may be repeated: the number of
// its call is 0, so a later call of the node itself replaces it, campaign by campaign and minute by
// minute. entries holds each node's entries, oldest first; rooms holds those of all campaigns.
func HoldBack(j Journal, nodes []Writer, entries map[string][]Entry, rooms []Room) (calls []Call) {
	owners := make(map[uuid.UUID]uuid.UUID, len(rooms))
	for i := range rooms {
		owners[rooms[i].CampaignID] = rooms[i].AdvertiserID
	}
	slack := make(map[day.Minute]*sinceLast)
	for _, w := range nodes {
		if requests := requestsOf(entries[w.Node], owners, day.MinuteOf(j.Now)); len(requests) > 0 {
			calls = append(calls, Call{Node: w.Node, Requests: requests})
		}
		if w.Closed {
			continue
		}
		until, inGap := j.inGap(w)
		at := day.MinuteOf(until) + slackFor
		if slack[at] == nil {
			slack[at] = &sinceLast{inGap: make(map[uuid.UUID]money.Micros)}
		}
		slack[at].nodes++
		if inGap {
			slack[at].alone(entries[w.Node])
		}
	}
	for minute, s := range slack {
		calls = append(calls, Call{Node: unheard, Requests: s.requests(minute, rooms)})
	}
	return calls
}

// requestsOf turns a node's entries into requests: the last entry of each campaign, minute and
// window.
func requestsOf(entries []Entry, owners map[uuid.UUID]uuid.UUID, now day.Minute) (requests []LeaseRequest) {
	type of struct {
		campaign uuid.UUID
		minute   day.Minute
		window   int64
		bid      bool
	}
	last := make(map[of]money.Micros, len(entries))
	for _, e := range entries {
		last[of{e.CampaignID, e.Minute, e.Window, e.Bid}] = e.Amount
	}
	for k, amount := range last {
		owner, known := owners[k.campaign]
		if !known || amount <= 0 || k.minute+day.Minute(k.window)+2 <= now {
			continue
		}
		requests = append(requests, LeaseRequest{
			CampaignID: k.campaign, AdvertiserID: owner, Minute: k.minute, Window: k.window, Bid: k.bid, Amount: amount,
			Exact: true, Step: 1,
		})
	}
	return requests
}

// sinceLast holds the amounts that nodes may have reserved after their last pages, for auctions up
// to one minute.
type sinceLast struct {
	nodes int
	inGap map[uuid.UUID]money.Micros // by campaign, of nodes that may have continued without pages
}

// alone adds the amount that a node may have reserved in a gap: see [GapTimes].
func (s *sinceLast) alone(entries []Entry) {
	type lease struct {
		campaign uuid.UUID
		bid      bool
	}
	largest := make(map[lease]money.Micros)
	for _, e := range entries {
		l := lease{e.CampaignID, e.Bid}
		largest[l] = max(largest[l], e.Amount)
	}
	for l, amount := range largest {
		s.inGap[l.campaign] += GapTimes * amount
	}
}

func (s *sinceLast) requests(minute day.Minute, rooms []Room) (requests []LeaseRequest) {
	for i := range rooms {
		r := &rooms[i]
		held := min(r.Daily, r.Total, r.Balance, money.Micros(s.nodes*leases*Unkept)*r.Price+s.inGap[r.CampaignID])
		if r.Open > 0 {
			held = min(held, r.Open)
		}
		if held > 0 {
			requests = append(requests, LeaseRequest{
				CampaignID: r.CampaignID, AdvertiserID: r.AdvertiserID, Minute: minute, Window: MaxMinutes,
				Amount: held, Exact: true, Step: 1,
			})
		}
	}
	return requests
}
