package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

var (
	_ campaign.Store   = (*Campaigns)(nil)
	_ campaign.Changes = (*Campaigns)(nil)
)

// stored is a campaign with its dependent records. The spend of the embedded value is out of date:
// see heldCampaign.
type stored struct {
	campaign.Campaign
	inactive []ledger.Interval                      // oldest first; only the last may be open
	reviews  []campaign.Review                      // oldest first, append only
	highest  map[campaign.BillingModel]money.Micros // bid so far
}

// versioned is an entry in the log of changes. Only the latest one of a campaign counts.
type versioned struct {
	version int64
	of      *stored
}

// CreateCampaign stores a new campaign with the status that Admit chooses. CreditFunded is always
// false: Credits cannot fund here. Zero times become the store's. Errors: errs.DemoMode for funding
// from Credits, errs.NotFound when the advertiser has no account, errs.Conflict when the id exists.
func (s *Campaigns) CreateCampaign(ctx context.Context, n campaign.NewCampaign) (campaign.Campaign, error) {
	if n.CreditValue < 0 {
		return campaign.Campaign{}, errs.New(errs.InvalidRequest, "the value of a Credit cannot be negative")
	}
	if n.CreditValue > 0 {
		return campaign.Campaign{}, errs.New(errs.DemoMode, "Credits cannot fund campaigns in in-memory mode")
	}
	c := n.Campaign.Clone()
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner, ok := s.users[c.AdvertiserID]; !ok {
		return campaign.Campaign{}, errs.New(errs.NotFound, "no such advertiser")
	} else if owner.Disabled {
		return campaign.Campaign{}, campaign.ErrSuspended
	}
	if _, exists := s.campaigns[c.ID]; exists {
		return campaign.Campaign{}, errs.New(errs.Conflict, "it exists already")
	}
	if err := s.checkRoom(&n); err != nil {
		return campaign.Campaign{}, err
	}
	if n.Admit != nil {
		c.Status = n.Admit(s.firstOfFamily(&c))
	}
	at := s.clock()
	c.UpdatedAt, c.CreditFunded = at, false
	if c.CreatedAt.IsZero() {
		c.CreatedAt = at
	}
	c.SpentToday, c.SpentTotal, c.Pursuit, c.Standing = 0, 0, campaign.Pursuit{}, campaign.Standing{}
	if c.PaysPerAct() {
		c.Standing.Ceiling = s.ceiling
	}
	c.Normalize()
	if err := s.record(ctx, auditlog.OfCampaign(nil, &c)); err != nil {
		return campaign.Campaign{}, err
	}
	k := &stored{}
	s.campaigns[c.ID] = k
	s.keep(k, &campaign.Campaign{Status: campaign.Active}, c)
	s.owned[c.AdvertiserID] = insertByAge(s.owned[c.AdvertiserID], k)
	s.byAge = insertByAge(s.byAge, k)
	return s.heldCampaign(k), nil
}

// Campaign finds a campaign by id. Errors: errs.NotFound.
func (s *Campaigns) Campaign(_ context.Context, id uuid.UUID) (campaign.Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.campaigns[id]
	if !ok {
		return campaign.Campaign{}, errs.New(errs.NotFound, "no such campaign")
	}
	return s.heldCampaign(k), nil
}

// Campaigns returns a page with the count of all matches.
func (s *Campaigns) Campaigns(_ context.Context, f campaign.Filter) ([]campaign.Campaign, int, error) {
	limit, offset := f.Page()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.byAge
	if f.AdvertiserID != uuid.Nil {
		list = s.owned[f.AdvertiserID]
	}
	if f.Waiting {
		page, total := s.queue(list, f)
		return page[min(offset, total):min(offset+limit, total)], total, nil
	}
	page, total := []campaign.Campaign{}, 0
	for _, k := range slices.Backward(list) {
		if f.Status != "" && k.Status != f.Status {
			continue
		}
		if total >= offset && len(page) < limit {
			page = append(page, s.heldCampaign(k))
		}
		total++
	}
	return page, total, nil
}

// queue returns the review queue in its order. The caller holds s.mu.
func (s *core) queue(list []*stored, f campaign.Filter) (queue []campaign.Campaign, total int) {
	queue = []campaign.Campaign{}
	reported, cash := s.reported(), map[uuid.UUID]int64{}
	for _, k := range slices.Backward(list) {
		reason := k.QueuedFor()
		if (k.Status == campaign.Active || k.Status == campaign.Paused) && reported[k.ID] {
			reason = campaign.QueuedPending
		}
		if reason == "" || f.Status != "" && k.Status != f.Status || f.Queued != "" && reason != f.Queued {
			continue
		}
		c := s.heldCampaign(k)
		c.Queued = reason
		queue = append(queue, c)
		cash[c.ID] = max(0, s.ledger.balances[side{ledger.AdvertiserCash(c.AdvertiserID), ledger.USD}])
	}
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	slices.SortStableFunc(queue, func(a, b campaign.Campaign) int {
		return cmp.Or(
			first(a.Queued == campaign.QueuedPending, b.Queued == campaign.QueuedPending),
			first(cash[a.ID] > 0, cash[b.ID] > 0),
			first(a.Queued == campaign.QueuedBound, b.Queued == campaign.QueuedBound),
			cmp.Compare(cash[b.ID], cash[a.ID]),
		)
	})
	return queue, len(queue)
}

// checkRoom checks the advertiser's room. It counts only where there is a limit: an administrator may
// create any number, and each would count all earlier ones. The caller holds the lock.
func (s *Campaigns) checkRoom(n *campaign.NewCampaign) error {
	if n.Room == (campaign.Room{}) {
		return nil
	}
	of := n.Campaign.AdvertiserID
	return n.Room.Check(len(s.owned[of]), s.targeting(of), n.Campaign.TargetingSize())
}

// targeting returns the bytes of targeting of an advertiser's campaigns. The caller holds the lock.
func (s *Campaigns) targeting(advertiser uuid.UUID) (n int) {
	for _, k := range s.owned[advertiser] {
		n += k.TargetingSize()
	}
	return n
}

// Record returns the history of the advertiser of a campaign, from all of its campaigns.
func (s *Campaigns) Record(_ context.Context, campaignID uuid.UUID) (campaign.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := campaign.Record{}
	of, ok := s.campaigns[campaignID]
	if !ok {
		return record, nil
	}
	record.Targeting = s.targeting(of.AdvertiserID)
	for i, k := range s.owned[of.AdvertiserID] {
		if i == 0 {
			record.Since = k.CreatedAt
		}
		if slices.ContainsFunc(k.reviews, func(r campaign.Review) bool { return r.Decision == "approved" }) {
			record.Approved++
		}
	}
	for _, k := range s.ofFamily(of.AdvertiserID) {
		if k.Stopped() && k.UpdatedAt.After(record.Refused) {
			record.Refused = k.UpdatedAt
		}
		for _, r := range k.reviews {
			if r.Decision == "rejected" && r.At.After(record.Refused) {
				record.Refused = r.At
			}
		}
	}
	return record, nil
}

// ofFamily returns the campaigns of an advertiser's family. The caller holds s.mu.
func (s *core) ofFamily(advertiser uuid.UUID) (list []*stored) {
	family := s.publisherFamily(s.users[advertiser].DeveloperID)
	for owner, campaigns := range s.owned {
		if s.publisherFamily(s.users[owner].DeveloperID) == family {
			list = append(list, campaigns...)
		}
	}
	return list
}

// UpdateCampaign runs edit on a copy and stores the result. Fields that [campaign.Keep] restores
// cannot be edited; an edit without a change raises no version. Errors: errs.NotFound and those of
// edit.
//
// The time of a change of state is read under the mutex, which settlement also holds while it
// applies a batch: an impression is either settled before the pause or falls into the interval.
func (s *Campaigns) UpdateCampaign(
	ctx context.Context, id uuid.UUID, edit func(*campaign.Campaign) error,
) (campaign.Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.campaigns[id]
	if !ok {
		return campaign.Campaign{}, errs.New(errs.NotFound, "no such campaign")
	}
	before := s.heldCampaign(k)
	draft := before.Clone()
	if err := edit(&draft); err != nil {
		return campaign.Campaign{}, err
	}
	edited := draft.Clone() // edit may still refer to the draft
	if campaign.Keep(&before, &edited) {
		if err := s.record(ctx, auditlog.OfCampaign(&before, &edited)); err != nil {
			return campaign.Campaign{}, err
		}
		edited.UpdatedAt = s.clock()
		s.keep(k, &before, edited)
	}
	return s.heldCampaign(k), nil
}

// keep replaces the value of k by after and updates version, interval and review history. The
// caller holds s.mu.
func (s *core) keep(k *stored, before *campaign.Campaign, after campaign.Campaign) {
	s.head++
	after.ConfigVersion, after.SettingsVersion = s.head, s.head
	k.Campaign = after
	if k.highest == nil {
		k.highest = make(map[campaign.BillingModel]money.Micros)
	}
	k.highest[after.BillingModel] = max(k.highest[after.BillingModel], after.BidAmount)
	if r := campaign.NewDecision(before, &after); r != nil {
		k.reviews = append(k.reviews, *r)
	}
	k.follow(before.Status == campaign.Active, after.UpdatedAt)
	s.logChange(k)
}

// follow opens or closes the inactive interval when the campaign stopped or began to be active at
// at.
func (k *stored) follow(wasActive bool, at time.Time) {
	isActive := k.Status == campaign.Active
	switch {
	case wasActive && !isActive:
		k.inactive = append(k.inactive, ledger.Interval{From: at})
	case !wasActive && isActive:
		last := &k.inactive[len(k.inactive)-1]
		last.To = at
		if at.Before(last.From) { // the clock was set back
			last.To = last.From
		}
	}
}

// logChange appends k's new version. Outdated entries are dropped once they are the majority, so
// the log stays within twice the number of campaigns. The campaign's room changes too, so that the
// version of a room is never below the config version that a caller waits for.
func (s *core) logChange(k *stored) {
	s.ledger.campaignTouched(k.ID)
	s.changes = append(s.changes, versioned{k.ConfigVersion, k})
	if len(s.changes) > 2*len(s.campaigns)+16 {
		s.changes = slices.DeleteFunc(s.changes, versioned.outdated)
	}
}

func (v versioned) outdated() bool { return v.of.ConfigVersion != v.version }

// ChangedCampaigns lists campaigns with a config version above since, in order of version. Versions
// up to head are complete.
func (s *Campaigns) ChangedCampaigns(_ context.Context, since int64, limit int) ([]campaign.Campaign, int64, error) {
	limit = max(1, limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := slices.BinarySearchFunc(
		s.changes, since+1, func(v versioned, version int64) int { return cmp.Compare(v.version, version) },
	)
	var changed []campaign.Campaign
	for _, v := range s.changes[from:] {
		if v.outdated() {
			continue
		}
		changed = append(changed, s.heldCampaign(v.of))
		if len(changed) == limit {
			return changed, v.version, nil
		}
	}
	return changed, s.head, nil
}

// heldCampaign returns a copy of k with its spend and its advertiser's balance in the ledger; the
// caller holds s.mu.
func (s *core) heldCampaign(k *stored) campaign.Campaign {
	c := k.Clone()
	c.SpentToday, c.SpentTotal = s.ledger.spentOn(c.ID, day.Of(s.now()))
	c.Balance = money.Micros(s.ledger.balances[side{ledger.AdvertiserCash(c.AdvertiserID), ledger.USD}])
	c.Advertiser = s.sponsor(c.AdvertiserID)
	return c
}

// insertByAge puts k into a list sorted by creation, then id; nearly always at its end.
func insertByAge(list []*stored, k *stored) []*stored {
	at, _ := slices.BinarySearchFunc(list, k, func(a, b *stored) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return slices.Insert(list, at, k)
}

// HighestBids lists the highest bid that each campaign ever had for each billing model.
func (s *Campaigns) HighestBids(context.Context) (bids []ledger.HighestBid, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.campaigns {
		for model, bid := range k.highest {
			bids = append(bids, ledger.HighestBid{CampaignID: id, BillingModel: model, Bid: bid})
		}
	}
	return bids, nil
}
