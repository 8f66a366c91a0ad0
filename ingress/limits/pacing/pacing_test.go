package pacing

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// paced is a campaign of 5 USD CPM with a budget of units impressions.
func paced(units money.Micros) *world {
	price := 5 * money.USD / 1000
	return &world{
		campaign: campaign.Campaign{
			ID: uuid.UUID{15: 9}, Pacing: campaign.PacingEven, BillingModel: campaign.CPM, BidAmount: 5 * money.USD,
			DailyBudget: units * price,
		},
		room: reserve.Room{
			Day: day.Of(midnight), Daily: units * price, Today: units * price, Total: 100 * units * price,
			Balance: money.Max,
		},
	}
}

func (w *world) entry() *auction.Campaign {
	return &auction.Campaign{ID: auction.ID(w.campaign.ID), Bid: w.campaign.BidAmount, Billing: ranker.CPM}
}

// flood offers the campaign n times within a second and counts what passes.
func flood(p *Pacer, w *world, n int) (passed int) {
	for range n {
		if p.Check(uuid.Must(uuid.NewV7()), w.entry()) == "" {
			passed++
		}
	}
	return passed
}

func TestOff(t *testing.T) {
	for name, w := range map[string]*world{"asap": paced(10_000), "tiny": paced(Tiny - 1), "spent": paced(10_000)} {
		now := midnight.Add(time.Hour)
		switch name {
		case "asap":
			w.campaign.Pacing = campaign.PacingASAP
		case "spent":
			w.room.Today = 0
		}
		p := New(Deps{Campaigns: w, Now: func() time.Time { return now }})
		for range 5 {
			require.Equal(t, 5_000, flood(p, w, 5_000), name)
			now = now.Add(time.Second)
			p.Step()
		}
	}
}

// A flood is limited from its first second, to the burst and the plan of a few seconds.
func TestFloodIsHeldAtOnce(t *testing.T) {
	w := paced(10_000)
	now := midnight.Add(12 * time.Hour)
	p := New(Deps{Campaigns: w, Now: func() time.Time { return now }})
	passed := 0
	for range 60 {
		passed += flood(p, w, 2_000)
		now = now.Add(time.Second)
		p.Step()
	}
	// Twelve hours are left for 10,000: 14 a minute. The burst is a quarter of an hour's plan.
	require.Greater(t, passed, 100)
	require.Less(t, passed, 400)
}

// A campaign's first requests are never refused, so that a first test shows an ad.
func TestFirstRequestsPass(t *testing.T) {
	w := paced(10_000)
	now := midnight.Add(23 * time.Hour)
	p := New(Deps{Campaigns: w, Now: func() time.Time { return now }})
	require.Equal(t, 20, flood(p, w, 20))
}

// Nodes with the same share select the same auctions of a campaign. Campaigns select different
// ones.
func TestDecidedByHash(t *testing.T) {
	first, second := auction.ID{15: 1}, auction.ID{15: 2}
	both, n := 0, 0
	below := threshold(0.25)
	for range 40_000 {
		id := uuid.Must(uuid.NewV7())
		a, b := hash(id, first) < below, hash(id, second) < below
		require.Equal(t, a, hash(id, first) < below)
		if a {
			n++
		}
		if a && b {
			both++
		}
	}
	require.InDelta(t, 10_000, n, 500)
	require.InDelta(t, 2_500, both, 300)
	require.Equal(t, uint64(math.MaxUint64), threshold(1))
	require.Zero(t, threshold(0))

	w := paced(10_000)
	now := midnight.Add(12 * time.Hour)
	nodes := []*Pacer{
		New(Deps{Campaigns: w, Now: func() time.Time { return now }}),
		New(Deps{Campaigns: w, Now: func() time.Time { return now }}),
	}
	for range 3_000 {
		id := uuid.Must(uuid.NewV7())
		require.Equal(t, nodes[0].Check(id, w.entry()), nodes[1].Check(id, w.entry()))
	}
}

// curves answers one curve, or an error.
type curves struct {
	curve    campaign.Curve
	err      error
	requests atomic.Int64
}

func (c *curves) Curves(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]campaign.Curve, error) {
	c.requests.Add(1)
	if c.err != nil || c.curve == (campaign.Curve{}) {
		return nil, c.err
	}
	return map[uuid.UUID]campaign.Curve{ids[0]: c.curve}, nil
}

// A campaign whose traffic comes in the evening keeps its budget for it.
func TestCurveShapesThePlan(t *testing.T) {
	w := paced(10_000)
	now := midnight.Add(9 * time.Hour)
	known := &curves{err: errors.New("away")}
	p := New(Deps{Campaigns: w, Curves: known, Now: func() time.Time { return now }})
	flood(p, w, 1)
	p.Step()
	require.Error(t, p.Learn(t.Context()))
	k := (*p.cells.Load())[w.entry().ID]
	require.Nil(t, k.curve.Load(), "even until something is known")
	known.err = nil
	for q := 72; q < 88; q++ { // from 18:00 to 22:00
		known.curve[q] = 65535
	}
	require.NoError(t, p.Learn(t.Context()))
	require.NoError(t, p.Learn(t.Context()))
	require.EqualValues(t, 2, known.requests.Load(), "not again for half an hour")
	plan := k.curve.Load()
	require.Less(t, plan.rate(now, time.Time{}), p.even.rate(now, time.Time{})/2)
	require.Greater(
		t, plan.rate(midnight.Add(19*time.Hour), time.Time{}), 1.5*p.even.rate(midnight.Add(19*time.Hour), time.Time{}),
	)
	now = now.Add(curvesAge + time.Second)
	known.curve = campaign.Curve{}
	require.NoError(t, p.Learn(t.Context()))
	require.Nil(t, k.curve.Load())
}

// The plan of a day adds up to the whole day, whatever the curve and the start.
func TestWeights(t *testing.T) {
	for _, curve := range []campaign.Curve{{}, {40: 65535, 41: 30000}, {0: 1, 95: 2}} {
		w := weigh(curve)
		require.Zero(t, w.until(midnight))
		left, before := 1.0, 0.0
		for at := midnight; at.Before(midnight.Add(24*time.Hour - lastMinute)); at = at.Add(time.Second) {
			left -= left * w.rate(at, time.Time{})
			require.GreaterOrEqual(t, w.until(at), before)
			before = w.until(at)
			require.InDelta(t, 1-before, left, 0.01)
		}
		// A campaign that ends at 18:00 has the plan of a day that ends then.
		ends := midnight.Add(18 * time.Hour)
		whole := w.until(ends)
		left = 1.0
		for at := midnight; at.Before(ends.Add(-lastMinute)); at = at.Add(time.Second) {
			left -= left * w.rate(at, ends)
			require.InDelta(t, 1-w.until(at)/whole, left, 0.01)
		}
		require.Equal(
			t, w.rate(midnight, time.Time{}), w.rate(midnight, midnight.Add(30*time.Hour)),
			"tomorrow's end is not today's",
		)
	}
}

// Run steps every second, forgets campaigns that are not offered any more, and ends with its
// context.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := paced(10_000)
		w.room.Day = day.Of(time.Now())
		known := &curves{}
		p := New(Deps{Campaigns: w, Curves: known})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		flood(p, w, 10)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, *p.cells.Load(), 1)
		require.Positive(t, known.requests.Load())
		time.Sleep(forgetAfter)
		synctest.Wait()
		require.Empty(t, *p.cells.Load())
		cancel()
		require.NoError(t, <-ended)
	})
}

// BenchmarkCheck measures the cost of pacing for a candidate that would win: one campaign
// repeatedly, or 100,000 in turn.
func BenchmarkCheck(b *testing.B) {
	b.Run("one", func(b *testing.B) { benchmarkCheck(b, 1) })
	b.Run("100000", func(b *testing.B) { benchmarkCheck(b, 100_000) })
}

func benchmarkCheck(b *testing.B, campaigns int) {
	w := paced(1_000_000)
	p := New(Deps{Campaigns: w, Now: func() time.Time { return midnight.Add(time.Hour) }})
	entries := make([]*auction.Campaign, campaigns)
	for i := range entries {
		entries[i] = w.entry()
		entries[i].ID = auction.ID(uuid.Must(uuid.NewV7()))
		p.Check(uuid.Nil, entries[i])
	}
	p.Step()
	id := uuid.Must(uuid.NewV7())
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p.Check(id, entries[i%len(entries)])
		i += 7919
	}
}

// BenchmarkStep measures one second's work of a node with 10,000 active campaigns.
func BenchmarkStep(b *testing.B) {
	w := paced(1_000_000)
	now := midnight.Add(time.Hour)
	p := New(Deps{Campaigns: w, Now: func() time.Time { return now }})
	entries := make([]*auction.Campaign, 10_000)
	for i := range entries {
		entries[i] = w.entry()
		entries[i].ID = auction.ID(uuid.Must(uuid.NewV7()))
	}
	for b.Loop() {
		for _, e := range entries {
			p.Check(uuid.Nil, e)
		}
		now = now.Add(time.Second)
		p.Step()
	}
}
