package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adtext"
	"adnet/internal/ledger/reserve"
)

// Run loads everything, then follows changes until ctx ends. Call it once.
func (c *Catalog) Run(ctx context.Context) error {
	defer c.background.Wait()
	c.background.Go(func() { c.listen(ctx) })
	c.background.Go(func() { c.open(ctx) })
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	c.patience = c.deps.Now().Add(startFor)
	select {
	case first := <-c.changes:
		c.take(ctx, first)
	case <-time.After(listenFor):
	case <-ctx.Done():
	}
	c.sync(ctx)
	c.background.Go(func() { c.followRooms(ctx) })
	c.background.Go(func() { c.followWeights(ctx) })
	for {
		select {
		case <-ctx.Done():
			return c.leave(ctx)
		case first := <-c.changes:
			c.take(ctx, first)
		case next := <-c.compacting.done:
			c.finishCompaction(next)
			c.makeTrial() // it uses the same table of words
		case next := <-c.weights.making.done:
			c.finishTrial(next)
		case <-poll.C:
			c.sync(ctx)
			if c.compacting.done == nil && c.snapshot.Load().Outdated() {
				c.compact() // freezes the table of words
			}
		}
	}
}

// open lets the process start after the first full load, or without it.
func (c *Catalog) open(ctx context.Context) {
	var late <-chan time.Time
	if c.deps.Patience > 0 {
		late = time.After(c.deps.Patience)
	}
	select {
	case <-c.full:
	case <-late:
		c.log.Warn(ctx, "the campaigns are not loaded yet; starting without ads")
	case <-ctx.Done():
		return
	}
	close(c.ready)
}

// leave removes the node from the list that pauses wait for. If that fails, the entry expires with
// the last heartbeat.
func (c *Catalog) leave(ctx context.Context) error {
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := c.deps.Feed.Leave(leaving, c.deps.Node); err != nil {
		c.log.Warn(leaving, "this node could not report that it stops", "error", err)
	}
	return nil
}

// listen renews the subscription. After each new one it loads the changes that were missed.
func (c *Catalog) listen(ctx context.Context) {
	to := Listener{
		Subscribed: func() { c.queue(ctx, change{resync: c.deps.Now()}) },
		Changed:    func(k campaign.Campaign, confirm bool) { c.queue(ctx, change{campaign: &k, confirm: confirm}) },
		Rooms:      func(rooms []reserve.Room) { c.queue(ctx, change{rooms: rooms}) },
	}
	for ctx.Err() == nil {
		err := c.deps.Feed.Subscribe(ctx, to)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn(ctx, "the feed of campaign changes was lost; reconnecting", "error", errText(err))
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

func errText(err error) string {
	if err == nil {
		return "closed"
	}
	return err.Error()
}

func (c *Catalog) queue(ctx context.Context, m change) {
	select {
	case c.changes <- m:
	case <-ctx.Done():
	}
}

// take applies a change together with all queued ones, so that a burst costs one new snapshot.
func (c *Catalog) take(ctx context.Context, first change) {
	var changed []campaign.Campaign
	var confirm []int64
	for m, more := first, true; more; {
		switch {
		case m.campaign != nil:
			changed = append(changed, *m.campaign)
			if m.confirm {
				confirm = append(confirm, m.campaign.ConfigVersion)
			}
		case m.weights != nil:
			c.setWeights(m.weights)
		case !m.resync.IsZero():
			c.sync(ctx)
			if !c.roomsAsked.After(m.resync) {
				c.wakeRooms()
			}
		default:
			c.campaigns.Load().putRooms(m.rooms)
		}
		select {
		case m = <-c.changes:
		default:
			more = false
		}
	}
	c.apply(changed)
	// Only now the snapshot includes the changes. The version stays as it is: earlier changes may
	// be missing, and only the head of the source can rule that out.
	for _, version := range confirm {
		if err := c.deps.Feed.Applied(ctx, c.deps.Node, version); err != nil && ctx.Err() == nil {
			c.log.Warn(ctx, "a campaign change could not be confirmed", "error", err)
		}
	}
}

// sync compares this node's version with the newest and loads the missing changes. It is the only
// proof of freshness: the newest version was read after began, and everything up to it is applied.
func (c *Catalog) sync(ctx context.Context) {
	began := c.deps.Now()
	if err := c.catchUp(ctx); err != nil {
		c.alive = time.Time{} // the list of nodes may also be lost
		// When all roles start together, the projection comes a moment later.
		starting := errors.Is(err, errNotProjected) && began.Before(c.patience)
		if ctx.Err() == nil && !starting {
			c.log.Warn(
				ctx, "campaigns cannot be checked for changes; this node stops filling after a second", "error", err,
			)
		}
		return
	}
	c.freshness.Store(began.UnixNano())
	version := c.version.Load()
	if version == c.reported && began.Sub(c.alive) < aliveEvery {
		return
	}
	if err := c.deps.Feed.Heartbeat(ctx, c.deps.Node, version); err == nil {
		c.reported, c.alive = version, began
	} else if ctx.Err() == nil {
		c.log.Warn(ctx, "this node could not report itself alive", "error", err)
	}
}

var errNotProjected = errors.New("the projection of campaigns does not exist yet (is the consumers role running?)")

func (c *Catalog) catchUp(ctx context.Context) error {
	head, found, err := c.deps.Source.Head(ctx)
	if err != nil {
		return err
	}
	if !found {
		c.suspect = true
		return errNotProjected
	}
	// Another projection, or one that went back: nothing in memory may stay.
	if c.suspect || !c.loaded() || head < c.version.Load() {
		return c.reload(ctx)
	}
	if head == c.version.Load() {
		return nil
	}
	changed, head, err := c.deps.Source.CampaignsSince(ctx, c.version.Load())
	if err != nil {
		return err
	}
	c.apply(changed)
	c.version.Store(head)
	return nil
}

func (c *Catalog) loaded() bool {
	select {
	case <-c.full:
		return true
	default:
		return false
	}
}

// reload rebuilds everything, budgets included: without them a campaign would serve unchecked.
func (c *Catalog) reload(ctx context.Context) error {
	fresh, equal := c.emptyTable(), newTargetings()
	var deliverable []auction.Campaign
	var head int64
	began := c.deps.Now()
	loads, both := errgroup.WithContext(ctx)
	loads.Go(func() (err error) {
		head, err = c.deps.Source.EachCampaign(both, func(page []campaign.Campaign) {
			for _, k := range fresh.put(c.restrict(page)) {
				if k.Delivers() {
					deliverable = append(deliverable, fresh.entry(k, equal))
				}
			}
		})
		if err != nil {
			return fmt.Errorf("load campaigns: %w", err)
		}
		return nil
	})
	loads.Go(func() error {
		if err := c.deps.Source.EachRoom(both, fresh.putRooms); err != nil {
			return fmt.Errorf("load budgets: %w", err)
		}
		return nil
	})
	if err := loads.Wait(); err != nil {
		return err
	}
	fresh.fit()
	next := index.Build(c.table, deliverable)
	c.campaigns.Store(fresh)
	c.snapshot.Store(next)
	c.compacting = compaction{} // its snapshot is obsolete
	c.trial.Store(nil)
	c.makeTrial()
	c.version.Store(head)
	c.suspect, c.roomsAsked = false, began
	c.reloads.Inc()
	if !c.loaded() {
		close(c.full)
	}
	if c.deps.Loaded != nil {
		c.background.Go(c.deps.Loaded)
	}
	return nil
}

// emptyTable returns a table with only the sandbox.
func (c *Catalog) emptyTable() *campaignTable {
	s := newCampaignTable()
	s.put(c.sandbox)
	return s
}

// apply puts newer states of campaigns into the campaign table and the snapshot.
func (c *Catalog) apply(changed []campaign.Campaign) {
	newer := c.entries(c.campaigns.Load().put(c.restrict(changed)))
	if len(newer) == 0 {
		return
	}
	c.snapshot.Store(c.snapshot.Load().Apply(changesOf(newer)))
	c.applyToTrial(newer)
	switch {
	case c.compacting.done != nil:
		maps.Copy(c.compacting.missed, newer)
	case c.snapshot.Load().Overgrown():
		c.compact()
	}
}

// restrict reduces campaigns to what delivers before a reviewer has approved them.
func (c *Catalog) restrict(list []campaign.Campaign) []campaign.Campaign {
	for i := range list {
		c.deps.Unreviewed.Restrict(&list[i])
	}
	return list
}

// entries returns the auction's entries for newer states, in their order of arrival; nil for a
// campaign that does not deliver.
func (c *Catalog) entries(newer []*campaign.Campaign) map[auction.ID]*auction.Campaign {
	equal, entries := newTargetings(), make(map[auction.ID]*auction.Campaign, len(newer))
	for _, k := range newer {
		var entry *auction.Campaign
		if k.Delivers() {
			current := c.campaigns.Load().entry(k, equal)
			entry = &current
		}
		entries[auction.ID(k.ID)] = entry
	}
	return entries
}

func changesOf(newer map[auction.ID]*auction.Campaign) (changes index.Changes) {
	for id, entry := range newer {
		if entry != nil {
			changes.Upsert = append(changes.Upsert, *entry)
		} else {
			changes.Remove = append(changes.Remove, id)
		}
	}
	return changes
}

// compaction is a snapshot being built. With a million campaigns it takes seconds, during which
// changes continue and freshness must be proved.
type compaction struct {
	done   chan *auction.Snapshot           // nil if none is being built
	missed map[auction.ID]*auction.Campaign // changed since the start; nil for removed campaigns
}

func (c *Catalog) compact() {
	done, old := make(chan *auction.Snapshot, 1), c.snapshot.Load()
	c.compacting = compaction{done: done, missed: map[auction.ID]*auction.Campaign{}}
	c.background.Go(func() { done <- old.Compacted() })
}

func (c *Catalog) finishCompaction(next *auction.Snapshot) {
	c.snapshot.Store(next.Apply(changesOf(c.compacting.missed)))
	c.compacting = compaction{}
}

// entry returns the auction's view of k, which is in the campaign table. It does not retain memory
// of k.
func (s *campaignTable) entry(k *campaign.Campaign, equal *targetings) auction.Campaign {
	stored := s.packed(k.ID).campaign(k.ID)
	entry := bare(k)
	entry.LandingDomain, entry.Headline, entry.Subtext = adtext.Host(stored.CTAURL), stored.Headline, stored.Subtext
	entry.Targeting = equal.of(k)
	return entry
}

// bare returns the auction's view of k without texts and targeting.
func bare(k *campaign.Campaign) auction.Campaign {
	billing, _ := ranker.ParseBilling(string(k.Billing()))
	format, _ := index.ParseFormat(string(k.Format))
	bid, aim := k.AuctionBid()
	entry := auction.Campaign{
		ID: auction.ID(k.ID), Advertiser: auction.ID(k.AdvertiserID), Bid: bid, Aim: aim, Billing: billing,
		Format:       format,
		MinRelevance: ranker.PPM(k.MinRelevance), Start: second(k.StartAt), End: second(k.EndAt), Suits: suitsOf(k),
	}
	setStanding(&entry, &k.Standing)
	return entry
}

// setStanding brings the standing of a campaign into the form of auctions.
func setStanding(entry *auction.Campaign, s *campaign.Standing) {
	entry.Family, entry.Ceiling = auction.ID(s.Family), max(0, s.Ceiling)
	entry.Vote = uint32(max(0, min(s.Vote, campaign.FullVote)))
	entry.ClickRate = uint32(max(0, min(s.ClickRate, math.MaxUint32)))
	entry.ConvertRate = uint32(max(0, min(s.ConvertRate, math.MaxUint32)))
	switch s.Bound {
	case campaign.Unproven:
		entry.Bound = index.BoundUnproven
	case campaign.Behind:
		entry.Bound = index.BoundBehind
	}
}

// suitsOf returns the conversations and trades that k is suited for.
func suitsOf(k *campaign.Campaign) auction.Suits {
	allowed, excluded, trades := k.Suits()
	return auction.Suits{Allowed: allowed, Excluded: excluded, Trades: trades, PagesOnly: k.PagesOnly}
}

// second converts a date of a campaign, 0 for none.
func second(at *time.Time) index.Second {
	if at == nil {
		return 0
	}
	return index.Second(at.Unix())
}

// followRooms reads all budgets periodically, in case a publish was lost, and at once after the
// feed was lost. With a million campaigns that takes seconds, during which freshness must be
// proved.
func (c *Catalog) followRooms(ctx context.Context) {
	again := time.NewTicker(roomsEvery)
	defer again.Stop()
	for {
		// Budgets of one projection must not enter the table of the next, whose versions start
		// again.
		var take func([]reserve.Room)
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			take = c.sparingly(ctx, c.campaigns.Load())
		case <-c.staleRooms:
			take = c.campaigns.Load().putRooms
		}
		if err := c.deps.Source.EachRoom(ctx, take); err != nil && ctx.Err() == nil {
			c.log.Warn(ctx, "budgets could not be read", "error", err)
		}
	}
}

// sparingly stores rooms in s and rests after each page, so that reading is spread out instead of a
// burst that delays requests (benchmark row ad_request_growth). It does not rest if budgets must be
// read again or s is no longer the current table, because then a caller waits.
func (c *Catalog) sparingly(ctx context.Context, s *campaignTable) func(page []reserve.Room) {
	began := time.Now()
	return func(page []reserve.Room) {
		s.putRooms(page)
		if len(c.staleRooms) == 0 && c.campaigns.Load() == s {
			select {
			case <-ctx.Done():
			case <-time.After(min(roomsRest*time.Since(began), restMost)):
			}
		}
		began = time.Now()
	}
}

// wakeRooms makes followRooms read all budgets, starting after this call.
func (c *Catalog) wakeRooms() {
	select {
	case c.staleRooms <- struct{}{}:
	default: // a pending wake-up has not started
	}
}
