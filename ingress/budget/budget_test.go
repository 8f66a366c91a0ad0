package budget_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/budget"
	"adnet/ingress/budget/budgettest"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// node is a process with leases.
type node struct {
	*budget.Leases
	stop func()
}

func start(t testing.TB, store budget.Store, name string) *node {
	t.Helper()
	return startFor(t, store, name, time.Hour, nil)
}

// startFor starts a node whose impressions count for life.
func startFor(t testing.TB, store budget.Store, name string, life time.Duration, journal budget.Journal) *node {
	t.Helper()
	deps := budget.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Store: store, Node: name,
		Journal: journal, ImpressionLife: life, Now: time.Now,
	}
	if rooms, knows := store.(interface {
		Room(uuid.UUID) (reserve.Room, bool)
	}); knows {
		deps.Room = rooms.Room
	}
	l, err := budget.New(budget.DefaultConfig(), deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	return &node{Leases: l, stop: func() { cancel(); require.NoError(t, <-ended) }}
}

// Campaigns that are made before the node runs, as those of the demo, do not wait for it.
func TestNothingIsWarmedBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := budget.New(budget.DefaultConfig(), budget.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Store: new(budgettest.Store),
			Node: "a", ImpressionLife: time.Hour, Now: time.Now,
		})
		require.NoError(t, err)
		began := time.Now()
		l.Warm(t.Context(), &auction.Campaign{Bid: 1})
		require.Equal(t, began, time.Now())
	})
}

// served is an ad: what a token would say.
type served struct {
	minute day.Minute
	price  money.Micros
}

// serve is one auction of the campaign; false when it may not be served.
func (n *node) serve(t testing.TB, c *auction.Campaign, bid bool) (served, bool) {
	t.Helper()
	now := time.Now()
	if !n.Live(now) {
		return served{}, false
	}
	var r budget.Reservation
	r.Begin(n.Leases, auctionID(now), now, bid)
	if r.Check(c, offered(c, 1000*c.Bid)) != "" {
		return served{}, false
	}
	return served{day.MinuteOf(now), r.Amount()}, true
}

// offered is what an auction offers of c at an effective CPM.
func offered(c *auction.Campaign, effectiveCPM money.Micros) auction.Valuation {
	return auction.Valuation{EffectiveCPM: effectiveCPM, Price: c.Billing.Price(c.Bid, effectiveCPM)}
}

// auctionID is a UUIDv7 of the clock of the test.
func auctionID(at time.Time) uuid.UUID {
	id := uuid.New()
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	return id
}

func perMille(price money.Micros) *auction.Campaign {
	return &auction.Campaign{
		ID: auction.ID(uuid.New()), Advertiser: auction.ID(uuid.New()), Bid: 1000 * price, Billing: ranker.CPM,
	}
}

// ledgerOf plays settlement and the projector for one campaign.
type ledgerOf struct {
	store    *budgettest.Store
	room     reserve.Room
	charged  money.Micros
	free     money.Micros // worth of settled ads that could not be charged
	released map[day.Minute]money.Micros
}

func newLedger(store *budgettest.Store, c *auction.Campaign, left money.Micros) *ledgerOf {
	l := &ledgerOf{store: store, released: map[day.Minute]money.Micros{}, room: reserve.Room{
		CampaignID: uuid.UUID(c.ID), AdvertiserID: uuid.UUID(c.Advertiser),
		Day:   day.Of(time.Now().Add(-2 * reserve.MaxClockSkew)),
		Daily: left, Today: left, Total: left, Balance: reserve.Unlimited,
	}}
	l.publish()
	return l
}

func (l *ledgerOf) settle(ads ...served) {
	for _, ad := range ads {
		amount := min(ad.price, l.room.Today)
		l.charged, l.free = l.charged+amount, l.free+ad.price-amount
		l.room.Today, l.room.Total = l.room.Today-amount, l.room.Total-amount
		l.released[ad.minute] += ad.price
	}
}

func (l *ledgerOf) publish() {
	l.room.Version++
	l.room.Released = nil
	for minute, amount := range l.released {
		l.room.Released = append(
			l.room.Released, reserve.Released{CampaignID: l.room.CampaignID, Minute: minute, Amount: amount},
		)
	}
	l.store.Publish(l.room)
	l.store.Beat(time.Now())
}

// Whatever beacons do, come late or never, nothing is delivered for free while the store is
// healthy, and a budget that is wanted is delivered in full and by every node.
func TestSimulatedNodesNeverDeliverForFree(t *testing.T) {
	for _, nodes := range []int{1, 3, 20} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, nodes) })
		})
	}
}

func simulate(t *testing.T, count int) {
	const price, room = money.Micros(7), money.Micros(7*900 + 3)
	rng := rand.New(rand.NewPCG(4, uint64(count)))
	store := &budgettest.Store{Now: time.Now, Nodes: count}
	c := perMille(price)
	l := newLedger(store, c, room)
	store.Open(1)
	nodes := make([]*node, count)
	for i := range nodes {
		nodes[i] = start(t, store, fmt.Sprint("n", i))
	}
	time.Sleep(2 * time.Second)
	byNode := make([]int, count)
	var pending []served // beacons to come
	total := 0
	for range 150 * 10 { // 150 minutes would be 2.5 windows; a step is 6 s
		for i, n := range nodes {
			for range rng.IntN(4) {
				if ad, ok := n.serve(t, c, false); ok {
					byNode[i]++
					total++
					pending = append(pending, ad)
				}
			}
		}
		time.Sleep(6 * time.Second)
		stored := pending[:0]
		for _, ad := range pending {
			switch age := day.MinuteOf(time.Now()) - ad.minute; {
			case age > 59: // its life is over
			case rng.IntN(40) == 0:
				l.settle(ad)
			default:
				stored = append(stored, ad)
			}
		}
		pending = stored
		l.publish()
		require.LessOrEqual(t, l.charged, room)
		require.Zero(t, l.free)
	}
	require.Greater(t, l.charged, room-price*money.Micros(count+1), "the budget is delivered")
	for i, n := range byNode {
		require.Positive(t, n, "node %d delivered nothing", i)
	}
	for _, n := range nodes {
		n.stop()
	}
}

// Without the store nothing is served from the validity's end on, and with it again everything is,
// by itself.
func TestFailsClosedWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budgettest.Store{Now: time.Now, Nodes: 1}
		c := perMille(5)
		newLedger(store, c, money.USD)
		store.Open(1)
		n := start(t, store, "n")
		defer n.stop()
		time.Sleep(1500 * time.Millisecond)
		serving := func() bool { _, ok := n.serve(t, c, false); return ok }
		require.True(t, serving())
		store.Lock()
		store.Down = true
		store.Unlock()
		down := time.Now()
		for serving() {
			time.Sleep(time.Millisecond)
			require.LessOrEqual(t, time.Since(down), time.Second)
		}
		time.Sleep(time.Minute)
		require.False(t, serving())
		store.Lock()
		store.Down = false
		store.Unlock()
		up := time.Now()
		for !serving() {
			time.Sleep(time.Millisecond)
			require.LessOrEqual(t, time.Since(up), time.Second)
		}
	})
}

// A store that was emptied and rebuilt grants only after the nodes have said what they reserved.
func TestALostStoreIsRefilledByTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price, room = money.Micros(10), money.Micros(10 * 400)
		store := &budgettest.Store{Now: time.Now, Nodes: 2}
		c := perMille(price)
		l := newLedger(store, c, room)
		store.Open(1)
		a, b := start(t, store, "a"), start(t, store, "b")
		defer a.stop()
		defer b.stop()
		time.Sleep(1500 * time.Millisecond)
		var ads []served
		demand := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				for _, n := range []*node{a, b} {
					if ad, ok := n.serve(t, c, false); ok {
						ads = append(ads, ad)
					}
				}
			}
		}
		for epoch := int64(2); epoch < 5; epoch++ {
			demand(1500 * time.Millisecond)
			store.Lose()
			demand(500 * time.Millisecond)
			before := len(ads)
			require.Positive(t, before)
			demand(10 * time.Second)
			require.Len(t, ads, before, "nothing is served from nothing")
			l.publish()
			store.Open(epoch)
			time.Sleep(3 * time.Second)
			require.EqualValues(
				t, price*money.Micros(len(ads)), store.Outstanding(l.room.CampaignID), "every ad is reserved again",
			)
		}
		demand(2 * time.Minute)
		require.EqualValues(t, room/price, len(ads), "exactly the room, over three losses")
		l.settle(ads...)
		require.Zero(t, l.free)
	})
}

// An answer that is lost is neither room that is gone nor room that is there twice.
func TestLostAnswersAreRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price, room = money.Micros(10), money.Micros(10 * 300)
		store := &budgettest.Store{Now: time.Now, Nodes: 2}
		c := perMille(price)
		l := newLedger(store, c, room)
		store.Open(1)
		lossy := &losing{Store: store, rng: rand.New(rand.NewPCG(1, 1))}
		a, b := start(t, lossy, "a"), start(t, lossy, "b")
		time.Sleep(1500 * time.Millisecond)
		var ads []served
		for range 20_000 {
			for _, n := range []*node{a, b} {
				if ad, ok := n.serve(t, c, false); ok {
					ads = append(ads, ad)
				}
			}
			time.Sleep(10 * time.Millisecond)
			l.store.Beat(time.Now())
		}
		require.EqualValues(t, room/price, len(ads))
		lossy.off = true
		a.stop()
		b.stop()
		require.EqualValues(t, room, store.Outstanding(l.room.CampaignID))
	})
}

// losing loses every third answer, and every ninth call.
type losing struct {
	*budgettest.Store
	rng *rand.Rand
	off bool
}

func (l *losing) Exchange(ctx context.Context, call reserve.Call) (reserve.Reply, error) {
	l.Lock()
	dice, off := l.rng.IntN(9), l.off
	l.Unlock()
	if dice == 0 && !off {
		return reserve.Reply{}, budgettest.ErrDown
	}
	reply, err := l.Store.Exchange(ctx, call)
	if dice < 4 && !off {
		return reserve.Reply{}, budgettest.ErrDown
	}
	return reply, err
}

// A prepaid balance is one for all campaigns of an advertiser.
func TestCampaignsShareTheirBalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budgettest.Store{Now: time.Now, Nodes: 1}
		var campaigns []*auction.Campaign
		owner := auction.ID(uuid.New())
		for range 5 {
			c := perMille(10)
			c.Advertiser = owner
			store.Publish(reserve.Room{
				CampaignID: uuid.UUID(c.ID), AdvertiserID: uuid.UUID(owner), Version: 1,
				Day:   day.Of(time.Now().Add(-2 * reserve.MaxClockSkew)),
				Daily: 1000, Today: 1000, Total: 1000, Balance: 205,
			})
			campaigns = append(campaigns, c)
		}
		store.Open(1)
		n := start(t, store, "n")
		defer n.stop()
		time.Sleep(1500 * time.Millisecond)
		ads := 0
		for range 600 {
			for _, c := range campaigns {
				if _, ok := n.serve(t, c, false); ok {
					ads++
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
		require.Equal(t, 20, ads)
	})
}

// Bids that are never shown hold the room for their exp only; unused leases go back by themselves.
func TestBidsEndWithTheirWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price = money.Micros(10)
		store := &budgettest.Store{Now: time.Now, Nodes: 1}
		c := perMille(price)
		newLedger(store, c, 10*price)
		store.Open(1)
		n := start(t, store, "n")
		defer n.stop()
		time.Sleep(1500 * time.Millisecond)
		count := func(bid bool, d time.Duration) (ads int) {
			for range int(d / (100 * time.Millisecond)) {
				if _, ok := n.serve(t, c, bid); ok {
					ads++
				}
				time.Sleep(100 * time.Millisecond)
				store.Beat(time.Now())
			}
			return ads
		}
		require.Equal(t, 10, count(true, 30*time.Second))
		require.Zero(t, count(false, 4*time.Minute))
		require.Equal(t, 10, count(false, 5*time.Minute), "the bids were not shown in time")
		require.Zero(t, count(true, 30*time.Minute), "ads hold an hour")
	})
}

func TestExpectedPriceOfClicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budgettest.Store{Now: time.Now, Nodes: 1}
		c := perMille(1)
		c.Billing, c.Bid = ranker.CPC, 2*money.USD
		l := newLedger(store, c, 5*money.USD)
		store.Open(1)
		n := start(t, store, "n")
		defer n.stop()
		time.Sleep(1500 * time.Millisecond)
		hold := func() (money.Micros, auction.Reason) {
			var r budget.Reservation
			r.Begin(n.Leases, auctionID(time.Now()), time.Now(), false)
			reason := r.Check(c, offered(c, 40*money.USD)) // of 1,000 impressions
			return r.Amount(), reason
		}
		amount, reason := hold()
		require.Empty(t, reason)
		require.Equal(t, 40*money.USD/1000, amount)
		time.Sleep(5 * time.Second) // the lease goes back
		l.settle(served{day.MinuteOf(time.Now()), 2 * money.USD}, served{day.MinuteOf(time.Now()), 2 * money.USD})
		l.publish()
		_, reason = hold()
		require.Equal(t, auction.Budget, reason, "no room for one full click")
	})
}

func TestLowerGivesBackTheDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budgettest.Store{Now: time.Now, Nodes: 1}
		c := perMille(10)
		newLedger(store, c, 10)
		store.Open(1)
		n := start(t, store, "n")
		time.Sleep(1500 * time.Millisecond)
		var r, second budget.Reservation
		r.Begin(n.Leases, auctionID(time.Now()), time.Now(), false)
		second.Begin(n.Leases, auctionID(time.Now()), time.Now(), false)
		require.Empty(t, r.Check(c, offered(c, c.Bid)))
		require.NotEmpty(t, second.Check(c, offered(c, 4_000)), "everything is reserved")
		r.Lower(11)
		require.EqualValues(t, 10, r.Amount(), "never raised")
		r.Lower(6)
		require.EqualValues(t, 6, r.Amount())
		time.Sleep(100 * time.Millisecond)
		require.Empty(t, second.Check(c, offered(c, 4_000)), "the rest is there for others")
		require.EqualValues(t, 4, second.Amount())
		n.stop()
	})
}

func TestCancelGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budgettest.Store{Now: time.Now, Nodes: 1}
		c := perMille(10)
		l := newLedger(store, c, 10)
		store.Open(1)
		n := start(t, store, "n")
		time.Sleep(1500 * time.Millisecond)
		for range 3 {
			var r budget.Reservation
			r.Begin(n.Leases, auctionID(time.Now()), time.Now(), false)
			require.Empty(t, r.Check(c, offered(c, c.Bid)))
			require.EqualValues(t, 10, r.Amount())
			r.Cancel()
			r.Cancel()
			require.Zero(t, r.Amount())
		}
		require.EqualValues(t, 10, store.Outstanding(l.room.CampaignID))
		n.stop()
		require.Zero(t, store.Outstanding(l.room.CampaignID), "a node that leaves gives back what it did not use")
	})
}

// A node whose clock is not that of the store fills nothing, and goes on when it is again.
func TestASkewedClockServesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &budgettest.Store{Now: time.Now}
		c := perMille(7)
		newLedger(store, c, 7000)
		store.Open(1)
		n := start(t, store, "n")
		time.Sleep(2 * time.Second)
		_, ok := n.serve(t, c, false)
		require.True(t, ok)
		for _, by := range []time.Duration{3 * time.Second, -3 * time.Second, -8 * time.Hour} {
			store.Lock()
			store.Now = func() time.Time { return time.Now().Add(-by) }
			store.Unlock()
			time.Sleep(time.Second)
			_, ok = n.serve(t, c, false)
			require.False(t, ok, by)
			require.False(t, n.Live(time.Now()), by)
			store.Lock()
			store.Now = time.Now
			store.Unlock()
			time.Sleep(time.Second)
			_, ok = n.serve(t, c, false)
			require.True(t, ok, by)
		}
		n.stop()
	})
}

// hanging is a store that answers only when the caller gives up.
type hanging struct{ requests chan struct{} }

func (h hanging) Exchange(ctx context.Context, _ reserve.Call) (reserve.Reply, error) {
	h.requests <- struct{}{}
	<-ctx.Done()
	return reserve.Reply{}, ctx.Err()
}

// A stop in the middle of a call is not logged as a failure; a store that does not answer is.
func TestShutdownIsNotLoggedAsFailure(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			store := hanging{make(chan struct{}, 100)}
			l, err := budget.New(budget.DefaultConfig(), budget.Deps{
				Log: slog.New(slog.NewTextHandler(&out, nil)), Metrics: prometheus.NewRegistry(), Store: store,
				Node: "n", ImpressionLife: time.Hour, Now: time.Now,
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- l.Run(ctx) }()
			<-store.requests
			if !stopped {
				<-store.requests // again, after it gave up
			}
			cancel()
			require.NoError(t, <-ended)
			if stopped {
				require.Empty(t, out.String())
			} else {
				require.Contains(t, out.String(), "reservations cannot be reached")
			}
		})
	}
}
