package budget_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// generous is a store whose writer grants everything, and more than was asked, with a room that it
// cannot change.
type generous struct {
	mu   sync.Mutex
	room reserve.Room
	more money.Micros
}

func (g *generous) Exchange(_ context.Context, call reserve.Call) (reserve.Reply, error) {
	reply := reserve.Reply{Epoch: max(call.Epoch, 1), Nodes: 1, Grants: true}
	if call.Epoch != reply.Epoch {
		reply.State = reserve.Moved
		return reply, nil
	}
	for _, c := range call.Requests {
		reply.Granted = append(reply.Granted, reserve.LeaseGrant{Amount: c.Amount + g.more})
	}
	return reply, nil
}

func (g *generous) Room(id uuid.UUID) (reserve.Room, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.room, g.room.CampaignID == id
}

// change changes the room, as settlement publishes it.
func (g *generous) change(to func(*reserve.Room)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	to(&g.room)
}

// Whatever a writer to the store grants, a node sells no more than the room has: SECURITY.md.
func TestNoGrantExceedsTheRoom(t *testing.T) {
	for name, more := range map[string]money.Micros{"all that is asked": 0, "more than is asked": 1_000_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := perMille(10)
				store := &generous{more: more}
				n := start(t, store, "a")
				defer n.stop()
				sell := func(tries int) (sold money.Micros) {
					for range tries {
						time.Sleep(20 * time.Millisecond)
						if ad, ok := n.serve(t, c, false); ok {
							sold += ad.price
						}
					}
					return sold
				}
				time.Sleep(time.Second)
				require.Zero(t, sell(20), "an unpublished room")
				store.change(func(r *reserve.Room) {
					*r = reserve.Room{
						CampaignID: uuid.UUID(c.ID), Day: day.Of(time.Now()), Daily: 1000, Today: 200, Total: 1000,
						Balance: reserve.Unlimited,
					}
				})
				require.EqualValues(t, 200, sell(100))
				time.Sleep(2 * time.Minute)
				require.Zero(t, sell(100), "its ads may be charged for an hour")
				store.change(func(r *reserve.Room) { r.Today = 50 }) // 150 of 200 were charged
				require.Zero(t, sell(100))
				store.change(func(r *reserve.Room) { r.Today = 80 }) // 30 more were deposited
				require.EqualValues(t, 30, sell(100))
				store.change(func(r *reserve.Room) { r.Open = 5 })
				require.Zero(t, sell(100), "less may be open")
				time.Sleep(65 * time.Minute)
				store.change(func(r *reserve.Room) { r.Open = 0 })
				require.EqualValues(t, 80, sell(100), "earlier ads count no more")
			})
		})
	}
}
