package budget_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/budget/budgettest"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// BenchmarkReserve is what an auction pays for a reservation from a lease that is held, among many
// of them.
func BenchmarkReserve(b *testing.B) {
	store := &budgettest.Store{Now: time.Now, Nodes: 1}
	campaigns := make([]*auction.Campaign, 1000)
	for i := range campaigns {
		campaigns[i] = perMille(7)
		store.Publish(reserve.Room{
			CampaignID: uuid.UUID(campaigns[i].ID), AdvertiserID: uuid.UUID(campaigns[i].Advertiser), Version: 1,
			Day:   day.Of(time.Now().Add(-2 * reserve.MaxClockSkew)),
			Daily: money.Max, Today: money.Max, Total: money.Max, Balance: reserve.Unlimited,
		})
	}
	store.Open(1)
	n := start(b, store, "n")
	defer n.stop()
	time.Sleep(1500 * time.Millisecond)
	id, now := auctionID(time.Now()), time.Now()
	require.True(b, n.Live(now))
	var r budget.Reservation
	for _, c := range campaigns {
		r.Begin(n.Leases, id, now, false)
		require.Empty(b, r.Check(c, offered(c, c.Bid)))
		r.Cancel()
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		// The moment of the request stands still, so that the benchmark measures the lease and
		// never the store.
		r.Begin(n.Leases, id, now, false)
		if c := campaigns[i%len(campaigns)]; r.Check(c, offered(c, c.Bid)) != "" {
			b.Fatal("refused")
		}
		r.Cancel()
		i++
	}
}
