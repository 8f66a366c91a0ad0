package catalog

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// world is the projection and the feed in one, as Redis is.
type world struct {
	mu        sync.Mutex
	campaigns map[uuid.UUID]campaign.Campaign
	head      int64
	missing   bool // no complete projection
	rooms     []reserve.Room
	err       error // of every read
	to        *Listener
	onApplied func(version int64)
	applied   []int64
	beats     []int64
	left      []string
	now       atomic.Int64
}

func newWorld(campaigns ...campaign.Campaign) *world {
	w := &world{campaigns: map[uuid.UUID]campaign.Campaign{}}
	w.now.Store(start.UnixNano())
	for _, k := range campaigns {
		w.put(k)
	}
	return w
}

// put changes the projection without telling anybody.
func (w *world) put(k campaign.Campaign) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.campaigns[k.ID], w.head = k, max(w.head, k.ConfigVersion)
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) listener() *Listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to
}

func (w *world) clock() time.Time        { return time.Unix(0, w.now.Load()) }
func (w *world) advance(d time.Duration) { w.now.Add(int64(d)) }

func (w *world) Head(context.Context) (int64, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head, !w.missing, w.err
}

// EachCampaign brings each campaign in a page of its own, and wipes the page when it has it back.
func (w *world) EachCampaign(ctx context.Context, take func([]campaign.Campaign)) (int64, error) {
	all, head, err := w.CampaignsSince(ctx, -1)
	for i := range all {
		take(all[i : i+1])
		all[i] = campaign.Campaign{}
	}
	return head, err
}

func (w *world) CampaignsSince(_ context.Context, version int64) (changed []campaign.Campaign, head int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.campaigns {
		if k.ConfigVersion > version {
			changed = append(changed, k)
		}
	}
	return changed, w.head, w.err
}

func (w *world) EachRoom(_ context.Context, take func([]reserve.Room)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	take(slices.Clone(w.rooms))
	return w.err
}

func (w *world) Subscribe(ctx context.Context, to Listener) error {
	w.set(func() { w.to = &to })
	to.Subscribed()
	<-ctx.Done()
	return ctx.Err()
}

func (w *world) Heartbeat(_ context.Context, _ string, version int64) error {
	w.set(func() { w.beats = append(w.beats, version) })
	return nil
}

func (w *world) Applied(_ context.Context, _ string, version int64) error {
	if w.onApplied != nil {
		w.onApplied(version)
	}
	w.set(func() { w.applied = append(w.applied, version) })
	return nil
}

func (w *world) Leave(_ context.Context, node string) error {
	w.set(func() { w.left = append(w.left, node) })
	return nil
}

func newCatalog(w *world) *Catalog {
	return New(Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: w, Feed: w, Node: "n1",
		Now: w.clock,
	})
}

// run starts the catalog and waits until it has loaded and listens.
func run(t *testing.T, w *world) (c *Catalog, stop func()) {
	t.Helper()
	c = newCatalog(w)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	<-c.Ready()
	soon(t, func() bool { return w.listener() != nil })
	return c, stop
}

func soon(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 10*time.Second, time.Millisecond)
}

func make1(n byte, version int64, status campaign.Status) campaign.Campaign {
	return campaign.Campaign{
		ID: uuid.UUID{15: n}, AdvertiserID: uuid.UUID{0: n}, Status: status,
		Creative:     campaign.Creative{Format: campaign.Native, CTAURL: "https://shop.example/x"},
		BillingModel: campaign.CPC,
		BidAmount:    2 * money.USD, ConfigVersion: version,
		Targeting: campaign.Targeting{Languages: []string{"de"}},
	}
}

func id(n byte) uuid.UUID { return uuid.UUID{15: n} }

// in says whether auctions may choose campaign n.
func in(c *Catalog, n byte) bool { return c.Snapshot().Get(auction.ID(id(n))) != nil }

func TestLoadsEverything(t *testing.T) {
	violating := make1(3, 6, campaign.Active)
	violating.PolicyViolations = []campaign.Violation{{Rule: "r"}}
	w := newWorld(make1(1, 4, campaign.Active), make1(2, 5, campaign.Paused), violating)
	c, _ := run(t, w)
	require.Equal(t, &auction.Campaign{
		ID: auction.ID(id(1)), Advertiser: auction.ID{0: 1}, Bid: 2 * money.USD, Billing: 1, Format: 2,
		LandingDomain: "shop.example",
		Targeting:     &auction.Targeting{Exact: true, Languages: []string{"de"}},
	}, c.Snapshot().Get(auction.ID(id(1))))
	require.False(t, in(c, 2), "paused")
	require.False(t, in(c, 3), "violates the policy")
	for n := range byte(3) {
		_, ok := c.Creative(id(n + 1))
		require.True(t, ok, "links work in every state")
	}
	for _, k := range Sandbox() {
		_, ok := c.Creative(k.ID)
		require.True(t, ok)
		require.Nil(t, c.Snapshot().Get(auction.ID(k.ID)), "the sandbox is in no auction")
	}
	require.EqualValues(t, 6, c.Version())
	soon(t, func() bool { return c.Fresh(w.clock()) })
	soon(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return slices.Contains(w.beats, 6) })
}

func TestSandboxLinksWorkBeforeTheFirstLoad(t *testing.T) {
	w := newWorld()
	c := newCatalog(w)
	_, ok := c.Creative(Sandbox()[0].ID)
	require.True(t, ok)
	require.False(t, c.Fresh(w.clock()))
}

// What a pause waits for: Applied comes only when the snapshot serves by the change.
func TestConfirmsAfterTheSnapshotHasIt(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	var c *Catalog
	served := make(chan bool, 1)
	w.onApplied = func(int64) { served <- in(c, 1) }
	c, _ = run(t, w)
	w.listener().Changed(make1(1, 2, campaign.Paused), true)
	require.False(t, <-served)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotContains(t, w.applied, int64(1))
}

func TestPublishedChangesAreAppliedAndOldOnesAreNot(t *testing.T) {
	w := newWorld(make1(1, 5, campaign.Active))
	c, _ := run(t, w)
	to := w.listener()
	to.Changed(make1(2, 7, campaign.Active), false)
	soon(t, func() bool { return in(c, 2) })
	to.Changed(make1(2, 6, campaign.Paused), true) // late
	to.Changed(make1(1, 4, campaign.Paused), true) // late
	soon(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.applied) == 2 })
	require.True(t, in(c, 1))
	require.True(t, in(c, 2))
	require.EqualValues(t, 5, c.Version(), "6 may be another campaign's and missing")
}

func TestAMissedPublishIsFoundByPolling(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	c, _ := run(t, w)
	w.put(make1(1, 2, campaign.Paused))
	w.put(make1(2, 3, campaign.Active))
	soon(t, func() bool { return c.Version() == 3 })
	require.False(t, in(c, 1))
	require.True(t, in(c, 2))
}

// The projection of another database has other versions: nothing known is kept.
func TestAnotherProjectionIsLoadedInFull(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"version backwards":       func(w *world) { w.head = 2 },
		"lost and made again":     func(w *world) { w.missing = true },
		"lost, now at more":       func(w *world) { w.missing, w.head = true, 50 },
		"lost, at the same again": func(w *world) { w.missing, w.head = true, 9 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(make1(1, 8, campaign.Active), make1(2, 9, campaign.Active))
			w.rooms = []reserve.Room{{CampaignID: id(2), Version: 100}}
			c := newCatalog(w)
			c.sync(t.Context())
			require.True(t, in(c, 1))
			w.campaigns = map[uuid.UUID]campaign.Campaign{id(2): make1(2, 2, campaign.Active)}
			w.rooms = []reserve.Room{{
				CampaignID: id(2), Version: 1, Day: 1 << 20, Today: money.USD, Total: 9 * money.USD,
				Balance: 9 * money.USD,
			}}
			change(w)
			if w.missing {
				w.advance(time.Second)
				c.sync(t.Context())
				require.False(t, c.Fresh(w.clock()))
				w.missing = false
			}
			c.sync(t.Context())
			require.True(t, c.Fresh(w.clock()))
			require.False(t, in(c, 1))
			require.True(t, in(c, 2))
			require.Equal(t, w.head, c.Version())
			creative, ok := c.Creative(id(2))
			require.True(t, ok)
			require.EqualValues(t, 2, creative.ConfigVersion)
			room, known := c.Room(id(2))
			require.True(t, known)
			require.EqualValues(t, 1, room.Version, "budgets are the new projection's, too")
		})
	}
}

// A node that waited for Redis would record no beacons meanwhile.
func TestTheStartDoesNotWaitForRedis(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	w.err = errors.New("redis is gone")
	c := newCatalog(w)
	c.deps.Patience = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	<-c.Ready()
	require.False(t, c.Fresh(w.clock()), "it serves no ads")
	w.set(func() { w.err = nil })
	soon(t, func() bool { return c.Fresh(w.clock()) && in(c, 1) })
}

func TestFreshnessIsLostAfterASecond(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	c := newCatalog(w)
	c.sync(t.Context())
	w.advance(freshFor - 1)
	require.True(t, c.Fresh(w.clock()))
	w.err = errors.New("redis is gone")
	c.sync(t.Context())
	w.advance(1)
	require.False(t, c.Fresh(w.clock()))
	require.True(t, in(c, 1), "what is known stays for links and for the return")
	w.err = nil
	c.sync(t.Context())
	require.True(t, c.Fresh(w.clock()))
}

func TestWithoutBudgetsNothingIsLoaded(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	c := newCatalog(w)
	c.deps.Source = noRooms{w}
	c.sync(t.Context())
	require.False(t, c.Fresh(w.clock()))
	require.False(t, in(c, 1))
}

type noRooms struct{ *world }

func (noRooms) EachRoom(context.Context, func([]reserve.Room)) error { return errors.New("no") }

func TestGateChecksRooms(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active)) // 2 USD a click
	today := day.Of(start)
	room := func(version int64, date day.Day, left money.Micros) reserve.Room {
		return reserve.Room{
			CampaignID: id(1), Version: version, Day: date, Daily: 5 * money.USD, Today: left, Total: 100 * money.USD,
			Balance: 100 * money.USD,
		}
	}
	w.rooms = []reserve.Room{room(5, today, 2*money.USD)}
	c, _ := run(t, w)
	check := func(at time.Time) auction.Reason {
		return c.Gate(at).Check(
			&auction.Campaign{ID: auction.ID(id(1)), Bid: 2 * money.USD, Billing: 1},
			auction.Valuation{Price: 2 * money.USD},
		)
	}
	require.Empty(t, check(start), "exactly the price is left")
	w.listener().Rooms([]reserve.Room{room(6, today, 2*money.USD-1)})
	soon(t, func() bool { return check(start) == auction.Budget })
	w.listener().Rooms([]reserve.Room{room(5, today, 5*money.USD), {CampaignID: id(2), Version: 1}})
	soon(t, func() bool {
		return c.Gate(start).Check(
			&auction.Campaign{ID: auction.ID(id(2)), Bid: 1, Billing: 1}, auction.Valuation{Price: 1},
		) == auction.Budget
	})
	require.Equal(t, auction.Budget, check(start), "an older room never overwrites")
	require.Empty(t, check(start.AddDate(0, 0, 1)), "the next day's budget is whole")
	require.Empty(
		t, c.Gate(start).Check(&auction.Campaign{ID: auction.ID(id(9)), Bid: 1, Billing: 1}, auction.Valuation{Price: 1}),
		"unknown rooms are settlement's matter",
	)
}

func TestLeavesTheFeedAtShutdown(t *testing.T) {
	w := newWorld()
	_, stop := run(t, w)
	require.Empty(t, w.left)
	stop()
	require.Equal(t, []string{"n1"}, w.left)
}

// A rebuilt snapshot has the changes that came while it was made, and a reload wins over it.
func TestCompactionLosesNothing(t *testing.T) {
	w := newWorld()
	for n := range byte(100) {
		w.put(make1(n+1, int64(n)+1, campaign.Active))
	}
	c := newCatalog(w)
	c.sync(t.Context())
	for n := range byte(95) {
		w.put(make1(n+1, 200+int64(n), campaign.Paused))
	}
	c.sync(t.Context())
	require.NotNil(t, c.compacting.done, "so many removals make a rebuild worth while")
	c.apply([]campaign.Campaign{make1(1, 300, campaign.Active), make1(100, 301, campaign.Paused)})
	c.finishCompaction(<-c.compacting.done)
	require.True(t, in(c, 1))
	require.False(t, in(c, 100))
	require.Equal(t, 5, c.Snapshot().Len())
	require.False(t, c.Snapshot().Overgrown())

	c.compact()
	require.NoError(t, c.reload(t.Context()))
	require.Nil(t, c.compacting.done)
}

func TestReadersRaceWithChanges(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	c, stop := run(t, w)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				c.Creative(id(1))
				c.Fresh(w.clock())
				var scratch auction.Scratch
				auction.Decide(&auction.Request{Language: "de"}, c.Snapshot(), c.Gate(start), &scratch)
			}
		})
	}
	to := w.listener()
	for v := range int64(300) {
		status := campaign.Active
		if v%2 == 1 {
			status = campaign.Paused
		}
		k := make1(byte(v%7), v+2, status)
		w.put(k)
		to.Changed(k, v == 299)
		to.Rooms([]reserve.Room{{CampaignID: k.ID, Version: v}})
	}
	soon(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return slices.Contains(w.applied, 301) })
	close(done)
	readers.Wait()
	stop()
	for n := range byte(7) {
		creative, _ := c.Creative(id(n))
		require.Equal(t, creative.Status == campaign.Active, in(c, n))
	}
}

// A room that was published while the node was not subscribed is read after the next subscription,
// beside the serving path.
func TestANewSubscriptionReadsTheRoomsAgain(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	c, _ := run(t, w)
	w.set(func() { w.rooms = []reserve.Room{{CampaignID: id(1), Version: 3}} })
	w.advance(1)
	w.listener().Subscribed()
	soon(t, func() bool { room, known := c.Room(id(1)); return known && room.Version == 3 })
}

func TestFrequencyCapIsReadFromTheCatalog(t *testing.T) {
	k := make1(1, 1, campaign.Paused)
	k.FrequencyCap = 7
	c := newCatalog(newWorld())
	s := c.emptyTable()
	s.put([]campaign.Campaign{k})
	s.putRooms([]reserve.Room{{CampaignID: id(2), Version: 1}})
	c.campaigns.Store(s)
	impressions, known := c.FrequencyCap(id(1))
	require.True(t, known)
	require.Equal(t, 7, impressions)
	for _, unknown := range []byte{2, 3} { // of one only the room is known
		_, known = c.FrequencyCap(id(unknown))
		require.False(t, known)
	}
}

// Reading all budgets again takes a twentieth of the time, unless a caller waits for it.
func TestRoomsAreReadSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(newWorld())
		s := c.emptyTable()
		c.campaigns.Store(s)
		ctx, cancel := context.WithCancel(t.Context())
		take := c.sparingly(ctx, s)
		rested := func(took time.Duration) time.Duration {
			time.Sleep(took)
			done := time.Now()
			take([]reserve.Room{{CampaignID: id(1), Version: 3}})
			return time.Since(done)
		}
		require.Equal(t, 190*time.Millisecond, rested(10*time.Millisecond))
		require.Equal(t, 19*time.Millisecond, rested(time.Millisecond), "a rest is no part of the next page")
		require.Equal(t, time.Second, rested(time.Minute), "one that the store was slow with")
		room, known := s.room(id(1))
		require.True(t, known && room.Version == 3)

		c.wakeRooms()
		require.Zero(t, rested(10*time.Millisecond), "the feed was lost meanwhile")
		<-c.staleRooms
		require.NotZero(t, rested(10*time.Millisecond))
		cancel()
		require.Zero(t, rested(10*time.Millisecond))

		take = c.sparingly(t.Context(), s)
		c.campaigns.Store(c.emptyTable())
		require.Zero(t, rested(10*time.Millisecond), "another shelf took the place of this one")
	})
}

func TestAFullLoadAfterTheSubscriptionIsNotRepeated(t *testing.T) {
	w := newWorld(make1(1, 1, campaign.Active))
	c := newCatalog(w)
	w.advance(1)
	c.take(t.Context(), change{resync: start})
	require.True(t, in(c, 1))
	require.Empty(t, c.staleRooms, "the rooms were read with the campaigns")
	c.take(t.Context(), change{resync: w.clock().Add(1)})
	require.Len(t, c.staleRooms, 1, "something may have been missed since")
}

func TestLoadedIsCalledAfterEveryLoad(t *testing.T) {
	w := newWorld()
	c := newCatalog(w)
	loads := make(chan struct{}, 8)
	c.deps.Loaded = func() { loads <- struct{}{} }
	c.sync(t.Context())
	<-loads
	w.advance(1)
	c.sync(t.Context())
	c.background.Wait()
	require.Empty(t, loads, "nothing new")
}
