package auction_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/campaign/subject"
	"adnet/internal/money"
)

// distinctCampaigns draws campaigns with different ids.
func distinctCampaigns(t *rapid.T) []auction.Campaign {
	return rapid.SliceOfNDistinct(rapid.Custom(drawCampaign), 1, 30,
		func(c auction.Campaign) auction.ID { return c.ID }).Draw(t, "campaigns")
}

func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		campaigns, req := distinctCampaigns(t), drawRequest(t)
		shuffled := rapid.Permutation(campaigns).Draw(t, "shuffled")
		var scratch auction.Scratch
		a := auction.Decide(&req, snapshot(campaigns...), nil, &scratch)
		b := auction.Decide(&req, snapshot(shuffled...), nil, &scratch)
		require.Equal(t, winnerID(a), winnerID(b))
		require.Equal(t, a.EffectiveCPM, b.EffectiveCPM)
		require.Equal(t, a.Reason, b.Reason)
	})
}

func winnerID(o auction.Outcome) *auction.ID {
	if o.Winner == nil {
		return nil
	}
	return &o.Winner.ID
}

func TestUpdatesEqualAFreshBuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		campaigns, req := distinctCampaigns(t), drawRequest(t)
		first := snapshot()
		for _, c := range campaigns {
			first = first.Apply(index.Changes{Upsert: []auction.Campaign{c}})
		}
		var scratch auction.Scratch
		want := auction.Decide(&req, snapshot(campaigns...), nil, &scratch)
		at := snapshot(campaigns...).Apply(index.Changes{Upsert: campaigns[:1]})
		for _, s := range []*auction.Snapshot{first.Compacted(), at, at.Compacted()} {
			got := auction.Decide(&req, s, nil, &scratch)
			require.Equal(t, winnerID(want), winnerID(got))
			require.Equal(t, want.Prediction, got.Prediction)
		}
	})
}

func TestAWinnerThatBidsMoreStillWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, req := snapshot(distinctCampaigns(t)...), drawRequest(t)
		var scratch auction.Scratch
		before := auction.Decide(&req, s, nil, &scratch)
		if before.Winner == nil {
			return
		}
		raised := *before.Winner
		raised.Bid += money.Micros(rapid.Int64Range(0, 5_000_000).Draw(t, "raise"))
		after := auction.Decide(&req, s.Apply(index.Changes{Upsert: []auction.Campaign{raised}}), nil, &scratch)
		require.Equal(t, before.Winner.ID, after.Winner.ID)
		table := s.Table()
		require.Equal(
			t, table.Price(raised.Billing, raised.Bid, after.EffectiveCPM), after.Price,
			"first price: it pays what it says",
		)
	})
}

func TestTakingTheWinnerOutEqualsRefusingIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, req := snapshot(distinctCampaigns(t)...), drawRequest(t)
		var scratch auction.Scratch
		for {
			first := auction.Decide(&req, s, nil, &scratch)
			if first.Winner == nil {
				return
			}
			out := first.Winner.ID
			refused := auction.Decide(&req, s, auction.GateFunc(func(
				c *auction.Campaign, _ auction.Valuation,
			) auction.Reason {
				if c.ID == out {
					return auction.Budget
				}
				return ""
			}), &scratch)
			s = s.Apply(index.Changes{Remove: []auction.ID{out}})
			require.Equal(t, winnerID(refused), winnerID(auction.Decide(&req, s, nil, &scratch)))
			if refused.Winner == nil {
				require.NotContains(
					t, []auction.Reason{auction.NoMatch, auction.Irrelevant, auction.SensitiveSubject}, refused.Reason,
					"something matched",
				)
			}
		}
	})
}

// Restricting a request can only make things worse for the seller.
func TestRestrictionsNeverRaiseTheWinningScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, strict := snapshot(distinctCampaigns(t)...), drawRequest(t)
		open := strict
		open.Formats, open.FloorCPM, open.BlockedDomains, open.BlockedAdvertisers = nil, 0, nil, nil
		open.Subjects, open.Trades = 0, ^subject.TradeSet(0)
		var scratch auction.Scratch
		free, bound := auction.Decide(&open, s, nil, &scratch), auction.Decide(&strict, s, nil, &scratch)
		require.LessOrEqual(t, bound.EffectiveCPM, free.EffectiveCPM)
		if free.Winner == nil {
			unmatched := []auction.Reason{auction.NoMatch, auction.Irrelevant, auction.Unpaid}
			require.Contains(t, unmatched, free.Reason)
			require.Contains(t, append(unmatched, auction.SensitiveSubject), bound.Reason)
		}
	})
}

// Readers use any state while the next ones are derived from it, under the race detector.
func TestReadersAndChangesAtTheSameTime(t *testing.T) {
	p := newPopulation(5, 40)
	all, requests := p.campaigns(1000), p.contexts(40)
	states := make(chan *auction.Snapshot, 100)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var scratch auction.Scratch
			for s := range states {
				for i := range requests {
					if w := auction.Decide(&requests[i], s, nil, &scratch).Winner; w != nil && s.Get(w.ID) != w {
						t.Error("the winner is not of the snapshot")
					}
				}
			}
		})
	}
	s := index.Build(ranker.Version2(), all)
	for i := range 60 {
		s = s.Apply(index.Changes{Upsert: all[i : i+5], Remove: []auction.ID{id(2 * i)}})
		if i%20 == 19 {
			s = s.Compacted()
		}
		states <- s
	}
	close(states)
	readers.Wait()
}

// FuzzDecide drives the comparison with the linear scan from coverage instead of chance.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add(slices.Repeat([]byte{7, 1, 250, 3, 99, 0}, 400))
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		s, req, gate := snapshot(distinctCampaigns(t)...), drawRequest(t), drawGate(t)
		s = s.Apply(index.Changes{Upsert: rapid.SliceOfN(rapid.Custom(drawCampaign), 0, 5).Draw(t, "upsert")})
		require.Equal(t, auction.Explain(&req, s, gate).Outcome, auction.Decide(&req, s, gate, new(auction.Scratch)))
	}))
}

func TestExplainNamesTheFirstMismatch(t *testing.T) {
	x := []string{"x"}
	for want, targeting := range map[string]auction.Targeting{
		"target_intent_tokens":       {Exact: true, Keywords: x, Regions: x},
		"target_active_tools":        {ActiveTools: x, HostApps: x},
		"target_host_apps":           {HostApps: x, Languages: x},
		"target_surfaces":            {Surfaces: x},
		"target_integration_methods": {IntegrationMethods: x},
		"target_regions":             {Regions: x},
		"target_languages":           {Languages: x},
	} {
		c := cpm(1, 5)
		c.Targeting = &targeting
		got := auction.Explain(&auction.Request{Tokens: []string{"other"}, Region: "US"}, snapshot(c), nil)
		require.Equal(t, auction.NoMatch, got.Reason)
		require.Equal(
			t, []auction.Loser{{Campaign: got.Losers[0].Campaign, Reason: auction.NoMatch, Mismatch: want}}, got.Losers,
		)
	}
}

// The reasons are API values that clients compare with.
func TestReasonValues(t *testing.T) {
	require.Equal(t, []auction.Reason{
		"no_campaigns", "no_match", "irrelevant", "below_floor", "budget", "paced", "unseen", "frequency_capped",
		"blocked", "stale", "rate_limited", "outbid", "unpaid",
	}, []auction.Reason{
		auction.NoCampaigns, auction.NoMatch, auction.Irrelevant, auction.BelowFloor, auction.Budget, auction.Paced,
		auction.Unseen, auction.FrequencyCapped, auction.Blocked, auction.Stale, auction.RateLimited, auction.Outbid,
		auction.Unpaid,
	})
}
