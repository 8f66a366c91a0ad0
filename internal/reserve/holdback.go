package reserve

import (
	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
)

// unheard is the holder of reservations that no page lists: of all unheard nodes together.
const unheard = "unheard"

// HoldBack says in the name of nodes that did not speak what they may have reserved: what their
// pages say, and what they may have reserved since their last page. Each may be said again: the
// number of its call is 0, so a node that speaks later is believed instead, campaign by campaign
// and minute by minute. entries are of each node, the older first; rooms are those of all
// campaigns.
func HoldBack(j Journal, nodes []Writer, entries map[string][]Entry, rooms []Room) (calls []Call) {
	owners := make(map[uuid.UUID]uuid.UUID, len(rooms))
	for i := range rooms {
		owners[rooms[i].CampaignID] = rooms[i].AdvertiserID
	}
	slack := make(map[day.Minute]*sinceLast)
	for _, w := range nodes {
		if requests := said(entries[w.Node], owners, day.MinuteOf(j.Now)); len(requests) > 0 {
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

// said makes a node's entries requests: of each campaign, minute and window the last.
func said(entries []Entry, owners map[uuid.UUID]uuid.UUID, now day.Minute) (requests []LeaseRequest) {
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

// sinceLast returns the amounts that nodes may have reserved after their last pages, for auctions
// up to one minute.
type sinceLast struct {
	nodes int
	inGap map[uuid.UUID]money.Micros // by campaign, of those that may have gone on without pages
}

// alone adds what a node may have reserved in a gap: see [GapTimes].
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
		if held > 0 {
			requests = append(requests, LeaseRequest{
				CampaignID: r.CampaignID, AdvertiserID: r.AdvertiserID, Minute: minute, Window: MaxMinutes,
				Amount: held, Exact: true, Step: 1,
			})
		}
	}
	return requests
}
