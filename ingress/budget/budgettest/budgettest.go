// Package budgettest implements the shared reservations in plain Go. It is the reference for Redis,
// and the store of simulations with many nodes, without any waiting.
package budgettest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// GatherFor is the time after [Store.Open] in which nothing is granted.
const GatherFor = time.Second

// keep is the maximum number of minutes for which a minute is counted.
const keep = reserve.MaxMinutes + 5

// ErrDown is returned while [Store.Down] is set.
var ErrDown = errors.New("the store is down")

// Store implements the rules of the shared reservations, and budget.Store. The zero value is empty
// and not yet opened. Its methods are safe for concurrent use.
type Store struct {
	Now   func() time.Time
	Nodes int  // live nodes; below 1 counts as 1
	Down  bool // fails every call; set it with Lock held

	sync.Mutex
	epoch      int64
	opens      time.Time
	beat       day.Minute
	rooms      map[uuid.UUID]reserve.Room
	campaigns  map[uuid.UUID]*campaign
	advertiser map[uuid.UUID]money.Micros // reserved
	seen       map[string]int64
}

type slot struct {
	minute day.Minute
	window int64
}

type leaseHolder struct {
	node string
	bid  bool
	slot slot
}

type callMark struct {
	amount money.Micros
	seq    int64
	known  bool
}

type campaign struct {
	held     map[slot]money.Micros
	released map[day.Minute]money.Micros
	holders  map[leaseHolder]callMark
	out      money.Micros
	counted  money.Micros // part of out counted for the advertiser
	limited  bool
	at       day.Minute // minute of the last sum of out; 0 for never
}

// Open starts an epoch, as a projector does after publishing every room.
func (s *Store) Open(epoch int64) {
	s.Lock()
	defer s.Unlock()
	if s.epoch >= epoch {
		return
	}
	s.epoch, s.opens, s.beat = epoch, s.Now().Add(GatherFor), day.MinuteOf(s.Now())
	s.campaigns, s.advertiser, s.seen = nil, nil, nil
}

// Lose deletes everything, like a Redis that was emptied.
func (s *Store) Lose() {
	s.Lock()
	defer s.Unlock()
	s.epoch, s.rooms, s.campaigns, s.advertiser, s.seen = 0, nil, nil, nil, nil
}

// Beat records a projector's heartbeat. Reservations past their window expire only up to its time.
func (s *Store) Beat(at time.Time) {
	s.Lock()
	defer s.Unlock()
	s.beat = day.MinuteOf(at)
}

// Publish writes a room, as the projector does.
func (s *Store) Publish(r reserve.Room) {
	s.Lock()
	defer s.Unlock()
	if s.rooms == nil {
		s.rooms = make(map[uuid.UUID]reserve.Room)
	}
	if old, known := s.rooms[r.CampaignID]; !known || old.Version <= r.Version {
		s.rooms[r.CampaignID] = r
	}
	c := s.campaigns[r.CampaignID]
	if c == nil && len(r.Released) == 0 {
		return
	}
	c = s.campaign(r.CampaignID)
	for _, released := range r.Released {
		c.released[released.Minute] = max(c.released[released.Minute], released.Amount)
	}
	s.reserve(c, r.AdvertiserID, r.Balance != reserve.Unlimited, s.sum(c))
}

// Outstanding returns the reserved amount of a campaign, micro-USD, as of the last sum.
func (s *Store) Outstanding(id uuid.UUID) money.Micros {
	s.Lock()
	defer s.Unlock()
	if c := s.campaigns[id]; c != nil {
		return c.out
	}
	return 0
}

func (s *Store) campaign(id uuid.UUID) *campaign {
	c := s.campaigns[id]
	if c == nil {
		c = &campaign{
			held: map[slot]money.Micros{}, released: map[day.Minute]money.Micros{}, holders: map[leaseHolder]callMark{},
		}
		if s.campaigns == nil {
			s.campaigns, s.advertiser = map[uuid.UUID]*campaign{}, map[uuid.UUID]money.Micros{}
		}
		s.campaigns[id] = c
	}
	return c
}

// sum returns the reserved amount: everything within its window, less releases. Amounts past their
// window only absorb the releases of their minute.
func (s *Store) sum(c *campaign) (out money.Micros) {
	type part struct{ alive, late money.Micros }
	parts := map[day.Minute]part{}
	for at, amount := range c.held {
		if at.minute+keep < s.beat {
			delete(c.held, at)
			continue
		}
		p := parts[at.minute]
		if at.minute+day.Minute(at.window)+2 > s.beat {
			p.alive += amount
		} else {
			p.late += amount
		}
		parts[at.minute] = p
	}
	for minute, p := range parts {
		r := c.released[minute]
		out += max(0, p.alive+min(p.late, r)-r)
	}
	for minute := range c.released {
		if minute+keep < s.beat {
			delete(c.released, minute)
		}
	}
	return out
}

func (s *Store) reserve(c *campaign, advertiser uuid.UUID, limited bool, out money.Micros) {
	count := money.Micros(0)
	if limited {
		count = out
	}
	s.advertiser[advertiser] += count - c.counted
	c.out, c.counted, c.at = out, count, s.beat
}

// Exchange implements budget.Store.
func (s *Store) Exchange(_ context.Context, call reserve.Call) (reply reserve.Reply, err error) {
	s.Lock()
	defer s.Unlock()
	reply.Nodes = max(1, s.Nodes)
	if !call.Clock.IsZero() && s.Now != nil {
		reply.Ahead = call.Clock.Sub(s.Now())
	}
	switch {
	case s.Down:
		return reserve.Reply{}, ErrDown
	case reply.Ahead.Abs() > reserve.MaxClockSkew:
		reply.State = reserve.Skewed
		return reply, nil
	case s.epoch < call.Epoch || s.epoch == 0, s.epoch == call.Epoch && s.seen[call.Node] < call.Acked:
		s.epoch, reply.State = 0, reserve.Lost
		return reply, nil
	case s.epoch > call.Epoch:
		reply.State, reply.Epoch = reserve.Moved, s.epoch
		return reply, nil
	}
	if s.seen == nil {
		s.seen = map[string]int64{}
	}
	s.seen[call.Node] = max(s.seen[call.Node], call.Seq)
	reply.Epoch, reply.Grants = s.epoch, s.Now == nil || !s.Now().Before(s.opens)
	for i := range call.Requests {
		reply.Granted = append(reply.Granted, s.request(&call, &call.Requests[i]))
	}
	return reply, nil
}

func (s *Store) request(call *reserve.Call, k *reserve.LeaseRequest) reserve.LeaseGrant {
	who := leaseHolder{call.Node, k.Bid, slot{k.Minute, k.Window}}
	var old callMark
	if c := s.campaigns[k.CampaignID]; c != nil {
		old = c.holders[who]
	}
	if old.known && old.seq >= call.Seq { // a later call was counted
		return reserve.LeaseGrant{Amount: old.amount}
	}
	if old.known && old.seq == 0 && !k.Exact { // reported on the node's behalf: its own report replaces it
		s.set(k, who, callMark{0, call.Seq, true}, old.amount)
		old = callMark{0, call.Seq, true}
	}
	granted, refusal := old.amount, reserve.Granted
	switch {
	case k.Exact:
		granted = k.Amount
	case k.Amount > old.amount:
		granted, refusal = s.grant(k, old.amount)
	}
	if granted == old.amount && !k.Exact {
		return reserve.LeaseGrant{Amount: granted, Refusal: refusal}
	}
	s.set(k, who, callMark{granted, call.Seq, true}, old.amount)
	return reserve.LeaseGrant{Amount: granted, Refusal: refusal}
}

// set records the amount that a node holds now. After an exact or a smaller amount everything is
// summed again.
func (s *Store) set(k *reserve.LeaseRequest, who leaseHolder, now callMark, old money.Micros) {
	c := s.campaign(k.CampaignID)
	c.holders[who] = now
	if now.amount == old {
		return
	}
	c.held[who.slot] += now.amount - old
	out := c.out + now.amount - old
	if k.Exact || now.amount < old {
		if room, known := s.rooms[k.CampaignID]; known {
			c.limited = room.Balance != reserve.Unlimited
		}
		out = s.sum(c)
	}
	s.reserve(c, k.AdvertiserID, c.limited, out)
}

func (s *Store) grant(k *reserve.LeaseRequest, old money.Micros) (money.Micros, reserve.Refusal) {
	now := s.Now()
	room, known := s.rooms[k.CampaignID]
	switch {
	case now.Before(s.opens):
		return old, reserve.Opening
	case !known:
		return old, reserve.NoBudget
	}
	limited, today := room.Balance != reserve.Unlimited, room.Today
	switch date := day.Of(now.Add(-2 * reserve.MaxClockSkew)); {
	case date > room.Day:
		today = room.Daily
	case date < room.Day:
		today = 0
	}
	c := s.campaigns[k.CampaignID]
	out := money.Micros(0)
	if c != nil {
		if c.at != 0 && c.at != s.beat {
			s.reserve(c, k.AdvertiserID, limited, s.sum(c))
		}
		out = c.out
	}
	budget := min(today, room.Total)
	free := budget - out
	if room.Open > 0 {
		free = min(free, room.Open-out)
	}
	if limited {
		free = min(free, room.Balance-s.advertiser[k.AdvertiserID])
		budget = min(budget, room.Balance)
	}
	delta := min(k.Amount-old, max(k.Step, free/money.Micros(2*max(1, s.Nodes))), free)
	delta -= delta % k.Step
	if budget < k.Price || old+delta < k.Least || delta <= 0 {
		return old, reserve.NoRoom
	}
	s.campaign(k.CampaignID).limited = limited
	return old + delta, reserve.Granted
}
