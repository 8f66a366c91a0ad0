package auction_test

import (
	"fmt"
	"slices"
	"testing"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/internal/cputime"
	"adnet/internal/money"
)

type benchmarkShape struct {
	name      string
	templates int
}

// benchmarkShapes are the populations: few distinct targetings with many bids, as a catalog that is
// its first 534 campaigns again and again; and every campaign with a targeting of its own, the
// index's worst case.
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
				used := cputime.Start(b)
				for b.Loop() {
					if auction.Decide(&requests[i%len(requests)], index, nil, &scratch).Winner != nil {
						filled++
					}
					i++
				}
				used.Report()
				b.ReportMetric(float64(filled)/float64(i), "fill")
			})
		}
	}
}

// scanned is a campaign as a scan keeps it: normalised once, so that an auction only compares.
type scanned struct {
	*auction.Campaign
	tokens, tools, hosts []string
}

func scannable(campaigns []auction.Campaign) []scanned {
	list := make([]scanned, len(campaigns))
	for i := range campaigns {
		c := &campaigns[i]
		for _, token := range c.Targeting.IntentTokens {
			list[i].tokens = append(list[i].tokens, auction.NormalizeToken(token))
		}
		list[i].Campaign, list[i].tools, list[i].hosts = c, c.Targeting.ActiveTools, c.Targeting.HostApps
	}
	return list
}

// matched counts the values that are in a set.
func matched(values []string, in map[string]bool) (n uint16) {
	for _, value := range values {
		if in[value] {
			n++
		}
	}
	return n
}

// BenchmarkLinearScan is what BenchmarkDecide is compared with: the best of all matches, found by
// matching and scoring every campaign.
func BenchmarkLinearScan(b *testing.B) {
	p := newPopulation(7, 534)
	campaigns, requests, table := scannable(p.campaigns(100_000)), p.contexts(1000), ranker.OverlapV1()
	tokens, tools := map[string]bool{}, map[string]bool{}
	used := cputime.Start(b)
	for i := 0; b.Loop(); i++ {
		req := &requests[i%len(requests)]
		clear(tokens)
		clear(tools)
		for _, token := range req.Tokens {
			tokens[token] = true
		}
		for _, tool := range req.ActiveTools {
			tools[tool] = true
		}
		var best *auction.Campaign
		var bestScore money.Micros
		for i := range campaigns {
			c := &campaigns[i]
			if len(c.hosts) > 0 && !slices.Contains(c.hosts, req.HostApp) {
				continue
			}
			sharedTools := matched(c.tools, tools)
			if len(c.tools) > 0 && sharedTools == 0 {
				continue
			}
			sharedTokens := matched(c.tokens, tokens)
			if len(c.tokens) > 0 && sharedTokens == 0 {
				continue
			}
			score := table.EffectiveCPM(c.Billing, c.Bid, table.Relevance(ranker.Signals{
				IntentMatched: sharedTokens, IntentTargeted: uint16(len(c.tokens)),
				ToolMatched: sharedTools, ToolTargeted: uint16(len(c.tools)), HostMatched: len(c.hosts) > 0,
			}))
			if score > bestScore {
				best, bestScore = c.Campaign, score
			}
		}
		if best == nil {
			b.Fatal("nothing matches")
		}
	}
	used.Report()
}

// BenchmarkScanOfTargetings looks at every campaign, too, but matches each distinct targeting, of
// 534, only once an auction: the best that can be done without an index where campaigns share
// targetings.
func BenchmarkScanOfTargetings(b *testing.B) {
	p := newPopulation(7, 534)
	index, requests := target.Build(ranker.OverlapV1(), p.campaigns(100_000)), p.contexts(1000)
	table := index.Table()
	used := cputime.Start(b)
	for i := 0; b.Loop(); i++ {
		req := &requests[i%len(requests)]
		matcher := target.NewMatcher(&target.Query{
			Tokens: req.Tokens, ActiveTools: req.ActiveTools, HostApp: req.HostApp, Surface: req.Surface,
			IntegrationMethod: req.IntegrationMethod, Region: req.Region, Language: req.Language,
		})
		var best *auction.Campaign
		var bestScore money.Micros
		for c := range index.All() {
			if signals, _, ok := matcher.Match(c); ok {
				if score := table.EffectiveCPM(c.Billing, c.Bid, table.Relevance(signals)); score > bestScore {
					best, bestScore = c, score
				}
			}
		}
		if best == nil {
			b.Fatal("nothing matches")
		}
	}
	used.Report()
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

// BenchmarkApply takes one of 100,000 campaigns out, and puts one back in beside 1,000 earlier
// changes.
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
