package auction_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/demo"
	"adnet/internal/money"
	"adnet/internal/testenv/cputime"
)

type benchmarkShape struct {
	name      string
	templates int
}

// benchmarkShapes returns the populations: few distinct targetings with many bids, like a catalog
// that repeats its first 534 campaigns; and every campaign with a targeting of its own, the worst
// case of the index.
func benchmarkShapes() []benchmarkShape {
	return []benchmarkShape{{"replicated", 534}, {"distinct", 0}}
}

func BenchmarkDecide(b *testing.B) {
	for _, shape := range benchmarkShapes() {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			var snap *auction.Snapshot
			var requests []auction.Request
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				if snap == nil {
					p := newPopulation(7, shape.templates)
					snap, requests = index.Build(ranker.Version2(), p.campaigns(n)), p.contexts(1000)
				}
				var scratch auction.Scratch
				b.ReportAllocs()
				filled, i := 0, 0
				used := cputime.Start(b)
				for b.Loop() {
					if auction.Decide(&requests[i%len(requests)], snap, nil, &scratch).Winner != nil {
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

// scanned is a campaign prepared for a scan: read once, so that an auction only compares.
type scanned struct {
	*auction.Campaign
	impacts map[string]uint16
}

// BenchmarkLinearScan is the baseline of BenchmarkDecide: the best of all matches, found by
// matching and scoring every campaign.
func BenchmarkLinearScan(b *testing.B) {
	p := newPopulation(7, 534)
	snap, requests, table := index.Build(ranker.Version2(), p.campaigns(100_000)), p.contexts(1000), ranker.Version2()
	campaigns, reader := make([]scanned, 0, snap.Len()), new(lexicon.Reader)
	read := map[*auction.Targeting]map[string]uint16{}
	for c := range snap.All() {
		if read[c.Targeting] == nil {
			impacts := map[string]uint16{}
			for _, impact := range reader.Campaign(
				snap.Words(), &lexicon.Text{Stated: [2][]string{c.Targeting.IntentTokens}},
			) {
				impacts[impact.Term] = impact.By
			}
			read[c.Targeting] = impacts
		}
		campaigns = append(campaigns, scanned{c, read[c.Targeting]})
	}
	used := cputime.Start(b)
	for i := 0; b.Loop(); i++ {
		req := &requests[i%len(requests)]
		weights := reader.Request(snap.Words(), req.Words).Weights
		var best *auction.Campaign
		var bestScore money.Micros
		for i := range campaigns {
			c := &campaigns[i]
			if hosts := c.Targeting.HostApps; len(hosts) > 0 && !slices.Contains(hosts, req.HostApp) {
				continue
			}
			if tools := c.Targeting.ActiveTools; len(tools) > 0 && !slices.Contains(req.ActiveTools, tools[0]) {
				continue
			}
			var sum uint32
			for _, w := range weights {
				sum += w.By * uint32(c.impacts[w.Term(snap.Words())])
			}
			score := table.EffectiveCPM(c.Billing, c.Bid, table.Relevance(ranker.Match(lexicon.Match(sum))))
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

// BenchmarkScanOfTargetings also visits every campaign, but scores each of 534 distinct targetings
// only once per auction: the best result without an index where campaigns share targetings.
func BenchmarkScanOfTargetings(b *testing.B) {
	p := newPopulation(7, 534)
	snap, requests := index.Build(ranker.Version2(), p.campaigns(100_000)), p.contexts(1000)
	table := snap.Table()
	used := cputime.Start(b)
	for i := 0; b.Loop(); i++ {
		req := &requests[i%len(requests)]
		matcher := index.NewMatcher(snap, &index.Query{
			Words: req.Words, ActiveTools: req.ActiveTools, HostApp: req.HostApp, Surface: req.Surface,
			IntegrationMethod: req.IntegrationMethod, Region: req.Region, Language: req.Language,
		})
		found := map[*auction.Targeting]index.Found{}
		var best *auction.Campaign
		var bestScore money.Micros
		for c := range snap.All() {
			first, known := found[c.Targeting]
			if !known {
				first, _, _ = matcher.Match(c)
				found[c.Targeting] = first
			}
			if score := table.EffectiveCPM(c.Billing, c.Bid, first.Relevance); score > bestScore {
				best, bestScore = c, score
			}
		}
		if best == nil {
			b.Fatal("nothing matches")
		}
	}
	used.Report()
}

// BenchmarkRelevance measures one decision with a floor at 100,000 campaigns of about twenty words
// each: with eight words, five of them a campaign's, with bids spread log-normally (sigma 1) and
// with equal ones; and with 2,000 characters, read from their text.
func BenchmarkRelevance(b *testing.B) {
	for _, shape := range []struct {
		name  string
		sigma float64
		words int
	}{{"sigma 1", 1, 8}, {"equal", 0, 8}, {"2,000 characters", 1, 300}} {
		b.Run(shape.name, func(b *testing.B) {
			p := newPopulation(7, 0)
			list := make([]auction.Campaign, 100_000)
			for i := range list {
				phrases := p.phrases(20)
				bid := money.Micros(5e6 * math.Exp(p.rng.NormFloat64()*shape.sigma))
				list[i] = auction.Campaign{
					ID: id(i), Advertiser: id(i), Bid: bid, Vote: index.FullVote, Headline: strings.Join(phrases[:5], " "),
					Subtext: strings.Join(phrases[5:], " "),
				}
			}
			snap := index.Build(ranker.Version2(), list)
			contexts := make([]string, 1000)
			for i := range contexts {
				text := list[i*97].Headline + " " + strings.Join(p.phrases(shape.words-5), " ")
				contexts[i] = text[max(len(text)-2000, 0):]
			}
			var scratch auction.Scratch
			var reader words.Reader
			b.ReportAllocs()
			filled, i := 0, 0
			used := cputime.Start(b)
			for b.Loop() {
				reader.Reset()
				reader.ReadContext(contexts[i%len(contexts)])
				request := auction.Request{ID: id(i), Words: reader.Terms(), MinRelevance: ranker.DefaultFloor}
				if auction.Decide(&request, snap, nil, &scratch).Winner != nil {
					filled++
				}
				i++
			}
			used.Report()
			b.ReportMetric(float64(filled)/float64(i), "fill")
		})
	}
}

// BenchmarkDemo measures the decision of one ad request with the campaigns of the rows of make
// bench: one advertiser, a few of the demo's words each, bids from 1 to 21 USD.
func BenchmarkDemo(b *testing.B) {
	vocabulary, requests := demoRequests(b)
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		var snap *auction.Snapshot
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			if snap == nil {
				snap = index.Build(ranker.Version2(), demoCampaigns(n, vocabulary))
			}
			scratch := auction.Scratch{Trace: new(auction.Trace)}
			b.ReportAllocs()
			filled, i := 0, 0
			used := cputime.Start(b)
			for b.Loop() {
				if auction.Decide(&requests[i%len(requests)], snap, nil, &scratch).Winner != nil {
					filled++
				}
				i++
			}
			used.Report()
			b.ReportMetric(float64(filled)/float64(i), "fill")
		})
	}
}

// demoRequests returns the demo's requests, and the words that its campaigns target.
func demoRequests(t testing.TB) (vocabulary []string, requests []auction.Request) {
	vocabulary, err := demo.Words()
	require.NoError(t, err)
	requested, err := demo.Requests()
	require.NoError(t, err)
	for i := range requested {
		requests = append(
			requests,
			auction.Request{
				ID: id(i), Words: terms(requested[i].Context), MinRelevance: ranker.DefaultFloor, IntegrationMethod: "rest",
			},
		)
	}
	return vocabulary, requests
}

// TestManyBlocks: a search that skips many blocks, and excludes common words from its walk, finds
// the same as a scan of all campaigns.
func TestManyBlocks(t *testing.T) {
	vocabulary, requests := demoRequests(t)
	campaigns := demoCampaigns(20_000, vocabulary)
	for i := range campaigns { // no word is lone, so that each campaign is a group
		campaigns[i].Headline = "Bench campaign " + strconv.Itoa(i%500) + " of " + strconv.Itoa(500+i/500)
	}
	snap := index.Build(ranker.Version2(), campaigns)
	var scratch auction.Scratch
	filled := 0
	for i := range requests {
		if i%25 != 0 {
			continue
		}
		req := &requests[i]
		req.Words = append(req.Words, terms("a measured campaign")...)
		req.MinRelevance = []ranker.PPM{0, 300_000, ranker.DefaultFloor}[i/25%3]
		got, want := auction.Decide(req, snap, nil, &scratch), auction.Explain(req, snap, nil)
		require.Equal(t, want.Outcome, got, i)
		if got.Winner != nil {
			filled++
		}
	}
	require.Greater(t, filled, 10)
}

func demoCampaigns(n int, vocabulary []string) []auction.Campaign {
	list := make([]auction.Campaign, n)
	for i := range list {
		t := &auction.Targeting{}
		for k := range 1 + i%4 {
			t.IntentTokens = append(t.IntentTokens, vocabulary[(i*31+(k+1)*977)%len(vocabulary)])
		}
		list[i] = auction.Campaign{
			ID: id(i), Advertiser: id(0), Vote: index.FullVote, Bid: money.Micros(1_000_000 + i*7919%20_000_000), Targeting: t,
			Headline: "Bench campaign " + strconv.Itoa(i), Subtext: "Measured",
		}
	}
	return list
}

func BenchmarkBuild(b *testing.B) {
	for _, shape := range benchmarkShapes() {
		b.Run(shape.name, func(b *testing.B) {
			all := newPopulation(7, shape.templates).campaigns(100_000)
			b.ReportAllocs()
			for b.Loop() {
				index.Build(ranker.Version2(), all)
			}
		})
	}
}

// BenchmarkApply removes one of 100,000 campaigns, and adds one on top of 1,000 earlier changes.
func BenchmarkApply(b *testing.B) {
	p := newPopulation(7, 534)
	all := p.campaigns(100_000)
	snap := index.Build(ranker.Version2(), all).Apply(index.Changes{Upsert: all[:1000]})
	b.Run("pause", func(b *testing.B) {
		for b.Loop() {
			snap.Apply(index.Changes{Remove: []auction.ID{id(50_000)}})
		}
	})
	b.Run("update", func(b *testing.B) {
		for b.Loop() {
			snap.Apply(index.Changes{Upsert: all[50_000:50_001]})
		}
	})
}
