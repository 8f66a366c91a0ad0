package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
)

// A trace is a prefix of the linear scan's account of every campaign, with the winner in its place,
// and it changes no outcome.
func TestTraceIsTheBeginningOfTheExplanation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPopulation(
			rapid.Uint64Range(1, 1000).Draw(t, "seed"), rapid.SampledFrom([]int{3, 20, 0}).Draw(t, "templates"),
		)
		snap := index.Build(ranker.Version2(), p.campaigns(rapid.IntRange(0, 80).Draw(t, "campaigns")))
		refused := rapid.IntRange(0, 25).Draw(t, "refused")
		gate := func() auction.Gate {
			requests := 0
			return auction.GateFunc(func(*auction.Campaign, auction.Valuation) auction.Reason {
				if requests++; requests <= refused {
					return auction.Budget
				}
				return ""
			})
		}
		scratch := auction.Scratch{Trace: new(auction.Trace)}
		for _, req := range p.contexts(3) {
			req.FloorCPM = rapid.SampledFrom([]auction.Request{
				{}, {FloorCPM: 1_000_000}, {FloorCPM: 1 << 50},
			}).Draw(t, "floor").FloorCPM
			got := auction.Decide(&req, snap, gate(), &scratch)
			want := auction.Explain(&req, snap, gate())
			require.Equal(t, want.Outcome, got)
			checkTrace(t, scratch.Trace, want)
		}
	})
}

func checkTrace(t *rapid.T, trace *auction.Trace, want auction.Explanation) {
	var all []auction.Traced
	winner := want.Winner
	for _, l := range want.Losers {
		if l.Reason == auction.NoMatch || l.Reason == auction.Irrelevant {
			break
		}
		if winner != nil && (l.EffectiveCPM < want.EffectiveCPM || l.Reason == auction.Outbid) {
			all = append(all, auction.Traced{Campaign: winner, EffectiveCPM: want.EffectiveCPM})
			winner = nil
		}
		all = append(all, auction.Traced{Campaign: l.Campaign, EffectiveCPM: l.EffectiveCPM, Reason: l.Reason})
	}
	if winner != nil {
		all = append(all, auction.Traced{Campaign: winner, EffectiveCPM: want.EffectiveCPM})
	}
	got := trace.Candidates()
	require.LessOrEqual(t, len(got), len(all))
	require.LessOrEqual(t, len(got), auction.MaxTrace)
	won := 0
	for i, c := range got {
		if c.Reason == "" {
			won++
			require.Equal(t, want.Winner, c.Campaign)
			if i == auction.MaxTrace-1 {
				continue // it may have been put in the last place
			}
		}
		require.Equal(t, all[i], c)
	}
	require.Equal(t, want.Winner != nil, won == 1)
	if trace.Complete() {
		require.Len(t, got, len(all), "nothing is missing from a trace that says it is complete")
	}
}

func TestTraceDoesNotAllocate(t *testing.T) {
	p := newPopulation(7, 534)
	snap, requests := index.Build(ranker.Version2(), p.campaigns(2000)), p.contexts(10)
	scratch := auction.Scratch{Trace: new(auction.Trace)}
	for i := range requests {
		auction.Decide(&requests[i], snap, nil, &scratch)
	}
	i := 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		auction.Decide(&requests[i%len(requests)], snap, nil, &scratch)
		i++
	}))
}

// BenchmarkDecideTraced is BenchmarkDecide with the trace that ingress records.
func BenchmarkDecideTraced(b *testing.B) {
	for _, shape := range benchmarkShapes() {
		b.Run(shape.name, func(b *testing.B) {
			p := newPopulation(7, shape.templates)
			snap, requests := index.Build(ranker.Version2(), p.campaigns(100_000)), p.contexts(1000)
			scratch := auction.Scratch{Trace: new(auction.Trace)}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				auction.Decide(&requests[i%len(requests)], snap, nil, &scratch)
				i++
			}
		})
	}
}
