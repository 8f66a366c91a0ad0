package budget_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/budget/budgettest"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/memory"
)

// outside is what a node reaches, until it is cut off: a process that is killed says nothing more
// to anybody.
type outside struct {
	store   budget.Store
	journal budget.Journal

	mu       sync.Mutex
	noStore  bool
	noPages  bool
	idle     time.Duration // since a projector was at work
	lastPage reserve.Page
}

var errCut = errors.New("cut off")

func (o *outside) Exchange(ctx context.Context, call reserve.Call) (reserve.Reply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.noStore {
		return reserve.Reply{}, errCut
	}
	reply, err := o.store.Exchange(ctx, call)
	reply.Idle = o.idle
	return reply, err
}

func (o *outside) KeepPage(ctx context.Context, p reserve.Page) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.noPages {
		return errCut
	}
	o.lastPage = p
	return o.journal.KeepPage(ctx, p)
}

func (o *outside) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// kill ends a node as kill -9 does.
func (o *outside) kill(n *node) {
	o.set(func() { o.noStore, o.noPages = true, true })
	n.stop()
}

// startOver starts a node with a journal.
func startOver(t testing.TB, o *outside, name string) *node {
	t.Helper()
	return startFor(t, o, name, time.Hour, o)
}

// holdBack is what a projector does before a rebuilt store grants: it says what unheard nodes may
// have reserved.
func holdBack(
	t testing.TB, store *budgettest.Store, journal *memory.RoomReader, epoch int64, rooms []reserve.Room,
) (unheard int) {
	t.Helper()
	j, err := journal.Journal(t.Context())
	require.NoError(t, err)
	nodes, entries := j.Unheard(epoch), map[string][]reserve.Entry{}
	for _, w := range nodes {
		entries[w.Node], err = journal.Entries(t.Context(), w.Node)
		require.NoError(t, err)
	}
	for _, call := range reserve.HoldBack(j, nodes, entries, rooms) {
		call.Epoch = epoch
		reply, err := store.Exchange(t.Context(), call)
		require.NoError(t, err)
		require.Equal(t, reserve.Counted, reply.State)
	}
	return len(nodes)
}

// pair is two nodes with journals that sell one campaign.
type pair struct {
	store      *budgettest.Store
	journal    *memory.RoomReader
	campaign   *auction.Campaign
	ledger     *ledgerOf
	outA, outB *outside
	a, b       *node
}

func startPair(t testing.TB, price, room money.Micros) pair {
	t.Helper()
	store, copies := &budgettest.Store{Now: time.Now, Nodes: 2}, memory.New(time.Now)
	c := perMille(price)
	l := newLedger(store, c, room)
	l.room.Price = price
	store.Open(1)
	outA, outB := &outside{store: store, journal: copies.Journal}, &outside{store: store, journal: copies.Journal}
	p := pair{
		store: store, journal: copies.Campaigns.RoomReader(reserve.RoomOptions{}), campaign: c, ledger: l,
		outA: outA, outB: outB, a: startOver(t, outA, "a"), b: startOver(t, outB, "b"),
	}
	time.Sleep(1500 * time.Millisecond)
	return p
}

// rebuild loses the store and builds it anew while one of the two nodes cannot speak.
func (p pair) rebuild(t testing.TB) {
	t.Helper()
	p.store.Lose()
	time.Sleep(3 * time.Second)
	p.ledger.publish()
	p.store.Open(2)
	time.Sleep(budgettest.GatherFor - time.Millisecond)
	require.Equal(t, 1, holdBack(t, p.store, p.journal, 2, []reserve.Room{p.ledger.room}))
}

// A store is lost after a node died: what the dead node has out is not sold again, and comes back
// when it has ended.
func TestADeadNodesReservationsOutliveTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price, room = money.Micros(10), money.Micros(10 * 2000)
		p := startPair(t, price, room)
		c, l, outA, a, b := p.campaign, p.ledger, p.outA, p.a, p.b
		defer b.stop()
		var dead, alive []served
		demand := func(n *node, to *[]served, d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				if ad, ok := n.serve(t, c, false); ok {
					*to = append(*to, ad)
				}
			}
		}
		demand(a, &dead, 2500*time.Millisecond)
		demand(b, &alive, 500*time.Millisecond)
		demand(a, &dead, 300*time.Millisecond) // some of it after its last page
		require.Greater(t, len(dead), 150)
		outA.kill(a)

		p.rebuild(t)
		demand(b, &alive, time.Minute)
		require.LessOrEqual(t, len(dead)+len(alive), int(room/price), "what the dead node has out was sold again")
		require.Greater(
			t, len(dead)+len(alive), int(room/price)-900,
			"what is held back is what it may have out, and the spend of some seconds",
		)

		// The dead node's ads were not seen.
		l.settle(alive...)
		alive = alive[:0:0]
		for range 130 {
			time.Sleep(30 * time.Second)
			l.publish()
		}
		demand(b, &alive, time.Minute)
		l.settle(alive...)
		l.publish()
		require.Zero(t, l.room.Today, "an hour later all of the budget is delivered")
		require.Zero(t, l.free)
	})
}

// A node that ends in order leaves what it reserved in its journal, and no slack.
func TestClosedJournalHasExactAmounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price = money.Micros(10)
		store, copies := &budgettest.Store{Now: time.Now, Nodes: 1}, memory.New(time.Now)
		c := perMille(price)
		l := newLedger(store, c, 1000*price)
		l.room.Price = price
		store.Open(1)
		out := &outside{store: store, journal: copies.Journal}
		n := startOver(t, out, "n")
		time.Sleep(1500 * time.Millisecond)
		for range 50 {
			_, ok := n.serve(t, c, false)
			require.True(t, ok)
			time.Sleep(30 * time.Millisecond)
		}
		n.stop()
		require.True(t, out.lastPage.Closed)
		require.EqualValues(t, 50*price, store.Outstanding(l.room.CampaignID))
		store.Lose()
		l.publish()
		store.Open(2)
		time.Sleep(2 * time.Second)
		holdBack(t, store, copies.Campaigns.RoomReader(reserve.RoomOptions{}), 2, []reserve.Room{l.room})
		require.EqualValues(t, 50*price, store.Outstanding(l.room.CampaignID), "not more, not less")
	})
}

// While its journal fails and the projectors work, a node reserves no more than a few prices; when
// no process reaches the journal's store, ads of the campaigns that it has sold lately go on.
func TestWithoutPagesLittleIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price = money.Micros(10)
		store, copies := &budgettest.Store{Now: time.Now, Nodes: 1}, memory.New(time.Now)
		newLedger(store, perMille(1), money.USD)
		store.Open(1)
		out := &outside{store: store, journal: copies.Journal}
		out.noPages = true
		n := startOver(t, out, "n")
		defer n.stop()
		time.Sleep(1500 * time.Millisecond)
		askFor := func(c *auction.Campaign) (ads int) {
			for range 300 {
				if _, ok := n.serve(t, c, false); ok {
					ads++
				}
				time.Sleep(10 * time.Millisecond)
			}
			return ads
		}
		ask := func() int {
			c := perMille(price)
			newLedger(store, c, money.USD)
			return askFor(c)
		}
		require.Zero(t, ask(), "nobody knows of this node yet")
		out.set(func() { out.noPages = false })
		time.Sleep(time.Second)
		require.Greater(t, ask(), 290)
		out.set(func() { out.noPages = true })
		time.Sleep(time.Second)
		require.Equal(t, reserve.Unkept, ask(), "one lease without a page")
		time.Sleep(10 * time.Second)
		out.set(func() { out.idle = 5 * time.Second }) // a projector was at work long after the last page
		time.Sleep(time.Second)
		require.Equal(t, reserve.Unkept, ask(), "this node alone is cut off from the journal")

		out.set(func() { out.noPages, out.idle = false, 0 })
		time.Sleep(2 * time.Second)
		known := perMille(price)
		newLedger(store, known, money.USD)
		require.Greater(t, askFor(known), 290)
		out.set(func() { out.noPages = true })
		for idle := range 8 {
			out.set(func() { out.idle = time.Duration(idle) * time.Second })
			time.Sleep(time.Second)
		}
		ads := 0
		for range 3 {
			out.set(func() { out.idle += 3 * time.Second })
			ads += askFor(known)
		}
		require.Greater(t, ads, 800, "the journal's store is away for everybody")
		for range 100 {
			out.set(func() { out.idle += 3 * time.Second })
			ads += askFor(known)
		}
		require.Greater(t, ads, reserve.GapTimes*290)
		require.Less(t, ads, reserve.GapTimes*1000, "it does not go on for ever")
		out.set(func() { out.idle += 3 * time.Second })
		require.Equal(t, reserve.Unkept, ask(), "no page says anything of this campaign")
	})
}

// A node dies after it went on without pages, then the store is lost: what it may have reserved
// meanwhile is not sold again, and the rest of the room is.
func TestADeadNodeOfAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price, room = money.Micros(10), money.Micros(10 * 100_000)
		p := startPair(t, price, room)
		store, journal, c, l, outA, outB, a, b := p.store, p.journal, p.campaign, p.ledger, p.outA, p.outB, p.a, p.b
		defer b.stop()
		sell := func(n *node, d time.Duration) (ads int) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if _, ok := n.serve(t, c, false); ok {
					ads++
				}
			}
			return ads
		}
		watch := func() {
			_, err := journal.Watch(t.Context(), 0)
			require.NoError(t, err)
		}
		watch()
		sold := sell(a, 2*time.Second)
		watch()
		paged := sold
		outA.set(func() { outA.noPages = true })
		outB.set(func() { outB.noPages = true })
		for range 300 { // five minutes without projectors
			outA.set(func() { outA.idle += time.Second })
			outB.set(func() { outB.idle += time.Second })
			sold += sell(a, time.Second)
		}
		require.Greater(t, sold, 10*paged, "ads go on")
		outA.kill(a)
		outB.set(func() { outB.noPages, outB.idle = false, 0 })
		watch()
		p.rebuild(t)
		held := int(store.Outstanding(l.room.CampaignID) / price)
		require.GreaterOrEqual(t, held, sold, "what the dead node has out can be sold again")
		require.Less(t, held, 80_000, "most of the room is not held back")
		require.Greater(t, sell(b, 10*time.Second), 1900)
	})
}
