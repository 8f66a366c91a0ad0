package project_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/memory"
)

// aged is a source whose clock a test moves: pages that were kept look older.
type aged struct {
	source
	mu *sync.Mutex
	by *time.Duration
}

func newAged() aged {
	a := aged{mu: new(sync.Mutex), by: new(time.Duration)}
	stores := memory.New(func() time.Time {
		a.mu.Lock()
		defer a.mu.Unlock()
		return time.Now().Add(*a.by)
	})
	a.source = source{stores.Campaigns, stores.Campaigns.RoomReader(reserve.RoomOptions{}), stores}
	return a
}

func (a aged) pass(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*a.by += d
}

func (a aged) keep(t *testing.T, p reserve.Page) {
	t.Helper()
	require.NoError(t, a.stores.Journal.KeepPage(t.Context(), p))
}

func (g *target) granted(epoch int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.grant == epoch && epoch != 0
}

// amounts are what was told of a campaign, by holder.
func (g *target) amounts(id uuid.UUID) map[string]money.Micros {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := map[string]money.Micros{}
	for _, call := range g.reported {
		for _, c := range call.Requests {
			if c.CampaignID == id && c.Exact && call.Seq == 0 && call.Epoch == g.epoch {
				found[call.Node] += c.Amount
			}
		}
	}
	return found
}

func (g *target) current() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.epoch
}

func entry(id uuid.UUID, amount money.Micros) reserve.Entry {
	return reserve.Entry{CampaignID: id, Minute: day.MinuteOf(time.Now()), Window: 60, Amount: amount}
}

// A new epoch grants when the living nodes have said what they hold, and the journals of the others
// were told.
func TestUnheardNodesAreHeldBackBeforeAnythingIsGranted(t *testing.T) {
	s := newAged()
	id := s.add(t, 1)[0]
	s.keep(t, reserve.Page{Node: "dead", Number: 1, Entries: []reserve.Entry{entry(id, 90)}})
	s.keep(t, reserve.Page{Node: "dead", Number: 2, Entries: []reserve.Entry{entry(id, 70)}})
	s.keep(t, reserve.Page{Node: "gone", Number: 1, Closed: true, Entries: []reserve.Entry{entry(id, 5)}})
	s.pass(10 * time.Second)
	s.keep(t, reserve.Page{Node: "alive", Number: 1, Entries: []reserve.Entry{entry(id, 40)}})
	g := &target{stored: map[uuid.UUID]int64{}}
	start(t, config, s, g)
	require.Eventually(t, func() bool { return g.current() != 0 }, patience, time.Millisecond)
	epoch := g.current()
	time.Sleep(1500 * time.Millisecond)
	require.False(t, g.granted(epoch), "a living node has not spoken")
	s.keep(t, reserve.Page{Node: "alive", Number: 2, Epoch: epoch})
	require.Eventually(t, func() bool { return g.granted(epoch) }, patience, time.Millisecond)
	require.Equal(
		t, map[string]money.Micros{"dead": 70, "gone": 5}, g.amounts(id), "the bid is nothing here, so is the slack",
	)
}

// A node that lives and cannot speak is waited for some seconds, and then held back for.
func TestASilentNodeIsNotWaitedForLong(t *testing.T) {
	s := newAged()
	id := s.add(t, 1)[0]
	g := &target{stored: map[uuid.UUID]int64{}}
	s.keep(t, reserve.Page{Node: "silent", Number: 1, Entries: []reserve.Entry{entry(id, 30)}})
	start(t, config, s, g)
	for i := int64(2); !g.granted(g.current()); i++ {
		s.keep(t, reserve.Page{Node: "silent", Number: i})
		time.Sleep(100 * time.Millisecond)
		require.Less(t, i, int64(200))
	}
	require.Equal(t, map[string]money.Micros{"silent": 30}, g.amounts(id))
}

// A process that starts after a time without any goes on in the epoch that it finds, unless a node
// died and the target has forgotten what that node had heard from it: then it is an old one.
func TestAnOldTargetIsNotJoinedBlindly(t *testing.T) {
	for name, old := range map[string]bool{"as it was": false, "old": true} {
		t.Run(name, func(t *testing.T) {
			s := newAged()
			id := s.add(t, 1)[0]
			g := &target{stored: map[uuid.UUID]int64{}, calls: map[string]int64{"dead": 100}}
			_, stop := start(t, config, s, g)
			require.Eventually(t, func() bool { return g.granted(g.current()) }, patience, time.Millisecond)
			epoch := g.current()
			s.keep(
				t,
				reserve.Page{
					Node: "dead", Number: 1, Epoch: epoch, Acked: 100, Entries: []reserve.Entry{entry(id, 40)},
				},
			)
			stop()
			s.pass(20 * time.Second)
			if old {
				g.mu.Lock()
				g.calls["dead"] = 99
				g.mu.Unlock()
			}
			start(t, config, s, g)
			if !old {
				require.Eventually(
					t, func() bool { return g.amounts(id)["tail/dead"] == 40 }, patience, time.Millisecond,
				)
				require.Equal(t, epoch, g.current())
				return
			}
			require.Eventually(
				t, func() bool { return g.current() > epoch && g.granted(g.current()) }, patience, time.Millisecond,
			)
			require.Equal(t, money.Micros(40), g.amounts(id)["dead"])
		})
	}
}
