package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/internal/campaign"
	"adnet/internal/ledger"

	"github.com/google/uuid"
)

// Run loads everything, then follows changes until ctx ends. It is called once.
func (c *Catalog) Run(ctx context.Context) error {
	defer c.background.Wait()
	c.background.Go(func() { c.listen(ctx) })
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	c.patience = c.deps.Now().Add(startFor)
	c.sync(ctx)
	nextRooms := c.deps.Now().Add(roomsEvery)
	for {
		select {
		case <-ctx.Done():
			return c.leave(ctx)
		case first := <-c.changes:
			c.take(ctx, first)
		case next := <-c.compacting.done:
			c.finishCompaction(next)
		case <-poll.C:
			c.sync(ctx)
			if now := c.deps.Now(); now.After(nextRooms) {
				nextRooms = now.Add(roomsEvery)
				c.loadRooms(ctx)
			}
		}
	}
}

// leave takes the node off the list that pauses wait for. When it fails the node is missed for the life of
// its last heartbeat only.
func (c *Catalog) leave(ctx context.Context) error {
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := c.deps.Feed.Leave(leaving, c.deps.Node); err != nil {
		c.log.Warn(leaving, "this node could not sign off", "error", err)
	}
	return nil
}

// listen keeps the subscription. Each new one is followed by a look at what was missed before it.
func (c *Catalog) listen(ctx context.Context) {
	to := Listener{
		Subscribed: func() { c.queue(ctx, change{resync: true}) },
		Changed:    func(k campaign.Campaign, confirm bool) { c.queue(ctx, change{campaign: &k, confirm: confirm}) },
		Rooms:      func(rooms []ledger.Room) { c.queue(ctx, change{rooms: rooms}) },
	}
	for ctx.Err() == nil {
		err := c.deps.Feed.Subscribe(ctx, to)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn(ctx, "the feed of campaign changes was lost; connecting again", "error", errText(err))
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

// take applies the change at hand together with all that wait behind it: one new snapshot for a burst.
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
		case m.resync:
			c.sync(ctx)
			c.loadRooms(ctx)
		default:
			c.applyRooms(m.rooms)
		}
		select {
		case m = <-c.changes:
		default:
			more = false
		}
	}
	c.apply(changed)
	// Only now the snapshot serves by the changes. The version stays as it is: what came before these
	// changes may be missing, which only the head of the source can tell.
	for _, version := range confirm {
		if err := c.deps.Feed.Applied(ctx, c.deps.Node, version); err != nil && ctx.Err() == nil {
			c.log.Warn(ctx, "a campaign change could not be confirmed", "error", err)
		}
	}
}

// sync compares this node's version with the newest and loads what is missing. Only here freshness is
// proven: the newest version was read after asking, and everything up to it is applied.
func (c *Catalog) sync(ctx context.Context) {
	asked := c.deps.Now()
	if err := c.catchUp(ctx); err != nil {
		// Where all roles start together the projection comes a moment later.
		starting := errors.Is(err, errNotProjected) && asked.Before(c.patience)
		if ctx.Err() == nil && !starting {
			c.log.Warn(ctx, "campaigns cannot be checked for changes; this node stops filling after a second", "error", err)
		}
		return
	}
	c.freshness.Store(asked.UnixNano())
	if err := c.deps.Feed.Heartbeat(ctx, c.deps.Node, c.version.Load()); err != nil && ctx.Err() == nil {
		c.log.Warn(ctx, "this node could not report itself alive", "error", err)
	}
}

var errNotProjected = errors.New("the projection of campaigns is not there yet (is the consumers role running?)")

func (c *Catalog) catchUp(ctx context.Context) error {
	head, found, err := c.deps.Source.Head(ctx)
	if err != nil {
		return err
	}
	if !found {
		c.suspect = true
		return errNotProjected
	}
	// Another projection, or one that went back: nothing known may be kept.
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
	case <-c.ready:
		return true
	default:
		return false
	}
}

// reload builds everything afresh, budgets included: without them a campaign would serve unchecked.
func (c *Catalog) reload(ctx context.Context) error {
	all, head, err := c.deps.Source.Campaigns(ctx)
	if err != nil {
		return fmt.Errorf("load campaigns: %w", err)
	}
	listed, err := c.deps.Source.Rooms(ctx)
	if err != nil {
		return fmt.Errorf("load budgets: %w", err)
	}
	creatives := make(map[uuid.UUID]*campaign.Campaign, len(all)+len(c.sandbox))
	for i := range c.sandbox {
		creatives[c.sandbox[i].ID] = &c.sandbox[i]
	}
	deliverable := make([]auction.Campaign, 0, len(all))
	for i := range all {
		creatives[all[i].ID] = &all[i]
		if all[i].Delivers() {
			deliverable = append(deliverable, entryOf(&all[i]))
		}
	}
	rooms := make(map[uuid.UUID]ledger.Room, len(listed))
	for _, room := range listed {
		rooms[room.CampaignID] = room
	}
	next := target.Build(c.table, deliverable)
	c.mu.Lock()
	c.creatives, c.rooms = creatives, rooms
	c.mu.Unlock()
	c.snapshot.Store(next)
	c.compacting = compaction{} // of a snapshot that is gone
	c.version.Store(head)
	c.suspect = false
	c.reloads.Inc()
	if !c.loaded() {
		close(c.ready)
	}
	return nil
}

// apply puts newer states of campaigns into the creatives and the snapshot.
func (c *Catalog) apply(changed []campaign.Campaign) {
	newer := make(map[uuid.UUID]*campaign.Campaign, len(changed))
	c.mu.Lock()
	for i := range changed {
		next := &changed[i]
		if known, ok := c.creatives[next.ID]; ok && known.ConfigVersion >= next.ConfigVersion {
			continue // known, or an older message that arrived late
		}
		c.creatives[next.ID], newer[next.ID] = next, next
	}
	c.mu.Unlock()
	if len(newer) == 0 {
		return
	}
	c.snapshot.Store(c.Snapshot().Apply(changesOf(newer)))
	switch {
	case c.compacting.done != nil:
		maps.Copy(c.compacting.missed, newer)
	case c.Snapshot().Overgrown():
		c.compact()
	}
}

func changesOf(newer map[uuid.UUID]*campaign.Campaign) (changes target.Changes) {
	for id, next := range newer {
		if next.Delivers() {
			changes.Upsert = append(changes.Upsert, entryOf(next))
		} else {
			changes.Remove = append(changes.Remove, auction.ID(id))
		}
	}
	return changes
}

// compaction is a snapshot in the making. It takes seconds with a million campaigns, while which changes go on
// and freshness must be proven.
type compaction struct {
	done   chan *auction.Snapshot           // nil when there is none
	missed map[uuid.UUID]*campaign.Campaign // changed since it began
}

func (c *Catalog) compact() {
	done, old := make(chan *auction.Snapshot, 1), c.Snapshot()
	c.compacting = compaction{done: done, missed: map[uuid.UUID]*campaign.Campaign{}}
	c.background.Go(func() { done <- old.Compacted() })
}

func (c *Catalog) finishCompaction(next *auction.Snapshot) {
	c.snapshot.Store(next.Apply(changesOf(c.compacting.missed)))
	c.compacting = compaction{}
}

// entryOf is what the auction needs of a campaign.
func entryOf(k *campaign.Campaign) auction.Campaign {
	billing, _ := ranker.ParseBilling(string(k.BillingModel))
	format, _ := target.ParseFormat(string(k.Format))
	domain := ""
	if u, err := url.Parse(k.CTAURL); err == nil {
		domain = u.Hostname()
	}
	t := &k.Targeting
	return auction.Campaign{
		ID: auction.ID(k.ID), Advertiser: auction.ID(k.AdvertiserID), Bid: k.BidAmount, Billing: billing, Format: format, LandingDomain: domain,
		Targeting: &auction.Targeting{
			IntentTokens: t.IntentTokens, Keywords: t.Keywords, ActiveTools: t.ActiveTools, HostApps: t.HostApps,
			Surfaces: t.Surfaces, IntegrationMethods: t.IntegrationMethods, Regions: t.Regions, Languages: t.Languages,
		},
	}
}

func (c *Catalog) loadRooms(ctx context.Context) {
	rooms, err := c.deps.Source.Rooms(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Warn(ctx, "budgets could not be read", "error", err)
		}
		return
	}
	c.applyRooms(rooms)
}

func (c *Catalog) applyRooms(rooms []ledger.Room) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, room := range rooms {
		if room.Version >= c.rooms[room.CampaignID].Version {
			c.rooms[room.CampaignID] = room
		}
	}
}
