package auction_test

import (
	"fmt"
	"testing"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/target"
)

type benchmarkShape struct {
	name      string
	templates int
}

// benchmarkShapes are the populations: few distinct targetings with many bids, as the shared data
// replicated; and every campaign with a targeting of its own, the index's worst case.
func benchmarkShapes() []benchmarkShape {
	return []benchmarkShape{{"replicated", 534}, {"distinct", 0}}
}

func BenchmarkDecide(b *testing.B) {
	for _, shape := range benchmarkShapes() {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			var index *auction.Snapshot
			var requests []auction.Request
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				if index == nil {
					p := newPopulation(7, shape.templates)
					index, requests = target.Build(ranker.OverlapV1(), p.campaigns(n)), p.contexts(1000)
				}
				var scratch auction.Scratch
				b.ReportAllocs()
				filled, i := 0, 0
				for b.Loop() {
					if auction.Decide(&requests[i%len(requests)], index, nil, &scratch).Winner != nil {
						filled++
					}
					i++
				}
				b.ReportMetric(float64(filled)/float64(i), "fill")
			})
		}
	}
}

// BenchmarkLinearScan is what BenchmarkDecide is compared with: the best of all matches without an index,
// and without the sorting and listing that Explain adds.
func BenchmarkLinearScan(b *testing.B) {
	p := newPopulation(7, 534)
	index, requests := target.Build(ranker.OverlapV1(), p.campaigns(100_000)), p.contexts(1000)
	table := index.Table()
	i := 0
	for b.Loop() {
		req := &requests[i%len(requests)]
		matcher := target.NewMatcher(&target.Query{
			Tokens: req.Tokens, ActiveTools: req.ActiveTools, HostApp: req.HostApp, Surface: req.Surface,
			IntegrationMethod: req.IntegrationMethod, Region: req.Region, Language: req.Language,
		})
		var best *auction.Campaign
		var bestScore int64
		for c := range index.All() {
			if signals, _, ok := matcher.Match(c); ok {
				if score := int64(table.EffectiveCPM(c.Billing, c.Bid, table.Relevance(signals))); score > bestScore {
					best, bestScore = c, score
				}
			}
		}
		if best == nil && bestScore > 0 {
			b.Fatal("unreachable")
		}
		i++
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, shape := range benchmarkShapes() {
		b.Run(shape.name, func(b *testing.B) {
			all := newPopulation(7, shape.templates).campaigns(100_000)
			b.ReportAllocs()
			for b.Loop() {
				target.Build(ranker.OverlapV1(), all)
			}
		})
	}
}

// BenchmarkApply takes one of 100,000 campaigns out, and puts one back in beside 1,000 earlier changes.
func BenchmarkApply(b *testing.B) {
	p := newPopulation(7, 534)
	all := p.campaigns(100_000)
	index := target.Build(ranker.OverlapV1(), all).Apply(target.Changes{Upsert: all[:1000]})
	b.Run("pause", func(b *testing.B) {
		for b.Loop() {
			index.Apply(target.Changes{Remove: []auction.ID{id(50_000)}})
		}
	})
	b.Run("update", func(b *testing.B) {
		for b.Loop() {
			index.Apply(target.Changes{Upsert: all[50_000:50_001]})
		}
	})
}
