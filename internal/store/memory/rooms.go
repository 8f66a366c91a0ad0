package memory

import (
	"context"
	"maps"
	"math"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/owed"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// RoomReader reads the remaining budgets of campaigns.
type RoomReader struct {
	store *core
	opts  reserve.RoomOptions
}

// RoomReader returns a reader of rooms under the options.
func (s *Campaigns) RoomReader(opts reserve.RoomOptions) *RoomReader {
	return &RoomReader{s.core, opts}
}

// Rooms lists the rooms of all campaigns that are neither archived nor rejected when cursor is 0,
// and otherwise those changed since the call that returned cursor as next.
func (r *RoomReader) Rooms(_ context.Context, cursor int64) (rooms []reserve.Room, next int64, err error) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	today := day.Of(s.now())
	var unproven map[uuid.UUID]unprovenFamily // counted when a listed campaign pays per act
	for id, k := range s.campaigns {
		l := &s.ledger
		// Both ticks only grow and every change raises one of them, so their sum is a version.
		changed, balanceChanged := l.campaignChanged[id], int64(0)
		if r.opts.Prepaid && !k.CreditFunded {
			balanceChanged = l.advertiserChanged[k.AdvertiserID]
		}
		if k.Status == campaign.Archived || k.Status == campaign.Rejected ||
			max(changed, balanceChanged) <= cursor && cursor != 0 {
			continue
		}
		spentToday, spentTotal := l.spentOn(id, today)
		room := reserve.Room{
			CampaignID: id, AdvertiserID: k.AdvertiserID, Version: changed + balanceChanged, Day: today,
			Daily: k.DailyBudget,
			Price: priceOf(k.BillingModel, k.BidAmount), Today: max(0, k.DailyBudget-spentToday),
			Total: max(0, k.TotalBudget-spentTotal), Balance: money.Micros(math.MaxInt64),
		}
		if r.opts.Prepaid && !k.CreditFunded {
			room.Balance = max(0, money.Micros(l.balances[side{ledger.AdvertiserCash(k.AdvertiserID), ledger.USD}]))
		}
		if k.PaysPerAct() {
			if unproven == nil {
				unproven = s.unprovenFamilies()
			}
			if f := unproven[s.familyOf(k.AdvertiserID)]; !f.charged {
				room.Open = owed.Open(f.campaigns, f.reviewed)
			}
		}
		for minute, amount := range l.released[id] {
			if minute < day.MinuteOf(s.now())-reserve.MaxMinutes-5 {
				delete(l.released[id], minute)
				continue
			}
			room.Released = append(room.Released, reserve.Released{CampaignID: id, Minute: minute, Amount: amount})
		}
		rooms = append(rooms, room)
	}
	return rooms, s.ledger.tick, nil
}

// unprovenFamily is what limits the open reservations of a family's campaigns that pay per act.
type unprovenFamily struct {
	campaigns         int64
	charged, reviewed bool
}

func (s *core) unprovenFamilies() map[uuid.UUID]unprovenFamily {
	of := map[uuid.UUID]unprovenFamily{}
	for id, k := range s.campaigns {
		family := s.familyOf(k.AdvertiserID)
		f := of[family]
		f.reviewed = f.reviewed || k.ApprovedByPerson()
		if k.PaysPerAct() {
			f.charged = f.charged || s.ledger.totals[id].net() > 0
			if k.Status != campaign.Archived && k.Status != campaign.Rejected {
				f.campaigns++
			}
		}
		of[family] = f
	}
	return of
}

// Epoch returns the epoch under which the shared reservations were last rebuilt; 0 before the first
// time.
func (r *RoomReader) Epoch(context.Context) (int64, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	return r.store.ledger.epoch, nil
}

// NextEpoch begins a new epoch, higher than every one before.
func (r *RoomReader) NextEpoch(context.Context) (int64, error) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	l := &r.store.ledger
	l.epoch = max(l.epoch+1, r.store.now().Unix())
	return l.epoch, nil
}

// Prune removes releases of minutes before minute, and the journals of nodes without held-back
// reservations.
func (r *RoomReader) Prune(_ context.Context, minute day.Minute) error {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	for id, minutes := range r.store.ledger.released {
		maps.DeleteFunc(minutes, func(m day.Minute, _ money.Micros) bool { return m < minute })
		if len(minutes) == 0 {
			delete(r.store.ledger.released, id)
		}
	}
	r.store.journal.prune(r.store.now())
	return nil
}

// priceOf returns the cost of one charge at a campaign's bid.
func priceOf(billing campaign.BillingModel, bid money.Micros) money.Micros {
	if billing == campaign.CPM {
		return bid.PerMille()
	}
	return bid
}
