package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
)

// The index and the linear scan must agree on every auction, after any history of changes.
func TestDecideEqualsLinearScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world := newWorld(t)
		var scratch auction.Scratch
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			world.change(t)
			world.checkContents(t)
			for range rapid.IntRange(1, 6).Draw(t, "requests") {
				req, gate := drawRequest(t), drawGate(t)
				got := auction.Decide(&req, world.index, gate, &scratch)
				checked := &recorder{gate: gate, of: map[auction.ID]bool{}}
				want := auction.Explain(&req, world.index, checked)
				require.Equal(t, want.Outcome, got)
				checkAccounts(t, &req, world, want, checked.of)
				checkOrder(t, &req, world.index, &scratch)
			}
		}
	})
}

// recorder records which candidates a gate checks. A nil gate lets all serve.
type recorder struct {
	gate auction.Gate
	of   map[auction.ID]bool
}

func (r *recorder) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	r.of[c.ID] = true
	if r.gate == nil {
		return ""
	}
	return r.gate.Check(c, of)
}

func (r *recorder) Undo(c *auction.Campaign) {
	if r.gate != nil {
		r.gate.Undo(c)
	}
}

// world is an index and the plain map that it must match.
type world struct {
	index *auction.Snapshot
	model map[auction.ID]auction.Campaign
}

func newWorld(t *rapid.T) *world {
	w := &world{model: map[auction.ID]auction.Campaign{}}
	first := rapid.SliceOfN(rapid.Custom(drawCampaign), 0, 40).Draw(t, "campaigns")
	for _, c := range first {
		w.model[c.ID] = c
	}
	w.index = index.Build(ranker.Version2().With(drawLearnt(t)), first)
	return w
}

// change applies a random step to both sides.
func (w *world) change(t *rapid.T) {
	before, size := w.index, w.index.Len()
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		w.index = w.index.Compacted()
		return
	case 1:
		return
	}
	changes := index.Changes{Upsert: rapid.SliceOfN(rapid.Custom(drawCampaign), 0, 6).Draw(t, "upsert")}
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 45), 0, 6).Draw(t, "remove") {
		changes.Remove = append(changes.Remove, id(n))
	}
	for _, c := range changes.Upsert {
		w.model[c.ID] = c
	}
	for _, gone := range changes.Remove {
		delete(w.model, gone)
	}
	w.index = w.index.Apply(changes)
	require.Equal(t, size, before.Len(), "the index that changes were applied to stays as it was")
}

func (w *world) checkContents(t *rapid.T) {
	require.Equal(t, len(w.model), w.index.Len())
	seen := 0
	for c := range w.index.All() {
		seen++
		want, ok := w.model[c.ID]
		require.True(t, ok)
		require.Same(t, c, w.index.Get(c.ID))
		got := *c
		got.Targeting = want.Targeting // shared among equal ones
		require.Equal(t, want, got)
	}
	require.Equal(t, len(w.model), seen)
	for n := range 46 {
		_, ok := w.model[id(n)]
		require.Equal(t, ok, w.index.Get(id(n)) != nil)
	}
}

// checkAccounts: every campaign but the winner is a loser, once, with a reason; no better candidate
// was skipped. checked are the candidates that the gate checked: the gate also returns NoMatch, and
// the value of a candidate may round to 0.
func checkAccounts(t *rapid.T, req *auction.Request, w *world, e auction.Explanation, checked map[auction.ID]bool) {
	seen := map[auction.ID]bool{}
	for _, loser := range e.Losers {
		require.False(t, seen[loser.Campaign.ID])
		seen[loser.Campaign.ID] = true
		require.NotEmpty(t, loser.Reason)
		dated := loser.Reason == auction.NotStarted || loser.Reason == auction.Ended
		require.Equal(
			t, loser.Mismatch != "",
			dated || loser.Reason == auction.SensitiveSubject || loser.Reason == auction.Unpaid ||
				loser.Reason == auction.NoMatch && !checked[loser.Campaign.ID],
		)
		if loser.Mismatch != "" {
			require.Zero(t, loser.EffectiveCPM)
		}
		if loser.Reason == auction.SensitiveSubject {
			require.NotZero(t, req.Subjects&^loser.Campaign.Allowed|req.Subjects&loser.Campaign.Excluded)
		}
		require.Equal(t, dated, loser.Campaign.Start > req.At || loser.Campaign.End > 0 && loser.Campaign.End <= req.At)
		if loser.Reason == auction.Unpaid {
			require.NotZero(t, loser.Campaign.Bound)
		}
		if loser.Reason == auction.Outbid {
			require.LessOrEqual(t, loser.EffectiveCPM, e.EffectiveCPM)
		}
	}
	if e.Winner == nil {
		require.Len(t, seen, len(w.model))
		require.NotEmpty(t, e.Reason)
		require.NotEqual(t, auction.Outbid, e.Reason)
		return
	}
	require.Len(t, seen, len(w.model)-1)
	require.False(t, seen[e.Winner.ID])
	require.Empty(t, e.Reason)
	require.GreaterOrEqual(t, e.EffectiveCPM, req.FloorCPM)
	require.Equal(t, e.EffectiveCPM, e.Prediction.Bid)
	require.LessOrEqual(t, e.Winner.Start, req.At)
	require.Zero(t, req.Subjects&^e.Winner.Allowed, "it allows all subjects")
	require.Zero(t, req.Subjects&e.Winner.Excluded, "and excludes none")
	require.Zero(t, e.Winner.Trades&^req.Trades, "all its trades may run")
	require.False(t, e.Winner.PagesOnly && req.Models, "a model may read it")
	require.True(t, e.Winner.End == 0 || e.Winner.End > req.At)
	require.True(t, req.Views || e.Winner.Billing != ranker.VCPM, "a view must be reportable")
	if e.Winner.Billing == ranker.VCPM {
		require.LessOrEqual(t, 1000*e.Price, e.Winner.Bid, "a view never costs more than the bid")
		require.GreaterOrEqual(t, e.Price, e.EffectiveCPM/1000, "nor less than an impression is worth")
	}
	if e.Winner.Billing == ranker.CPM {
		require.LessOrEqual(t, 1000*e.Price, e.Winner.Bid)
		require.LessOrEqual(t, e.EffectiveCPM, e.Winner.Bid, "neither a goal nor exploring bids above the cap")
		require.Equal(t, e.EffectiveCPM/1000, e.Price, "first price: what was bid is paid")
	}
}

// checkOrder: refusing every candidate reveals the whole order, which must equal the scan's.
func checkOrder(t *rapid.T, req *auction.Request, snap *auction.Snapshot, scratch *auction.Scratch) {
	open := *req
	open.FloorCPM, open.BlockedAdvertisers, open.BlockedDomains = 0, nil, nil
	order := func(decide func(auction.Gate)) (ids []auction.ID) {
		decide(auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
			ids = append(ids, c.ID)
			return auction.Paced
		}))
		return ids
	}
	got := order(func(g auction.Gate) { auction.Decide(&open, snap, g, scratch) })
	want := order(func(g auction.Gate) { auction.Explain(&open, snap, g) })
	require.Equal(t, want, got)
}

// The same at a size with long lists, in which bounds matter and the search stops early.
func TestDecideEqualsLinearScanOnManyCampaigns(t *testing.T) {
	for name, templates := range map[string]int{"replicated": 60, "each its own targeting": 0} {
		t.Run(name, func(t *testing.T) {
			p := newPopulation(7, templates)
			p.goals = true
			all := p.campaigns(5000)
			snap := index.Build(ranker.Version2(), all)
			for i := range 20 {
				snap = snap.Apply(index.Changes{
					Upsert: p.campaigns(50)[i:],
					Remove: []auction.ID{id(i * 31), id(i*17 + 1000)},
				})
			}
			var scratch auction.Scratch
			wins := 0
			for i, req := range p.contexts(60) {
				gate := auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
					if int(c.ID[15])%7 < i%7 {
						return auction.Budget
					}
					return ""
				})
				want := auction.Explain(&req, snap, gate)
				require.Equal(t, want.Outcome, auction.Decide(&req, snap, gate, &scratch))
				if want.Winner != nil {
					wins++
				}
			}
			require.Greater(t, wins, 30, "the population must make the comparison worth something")
		})
	}
}
