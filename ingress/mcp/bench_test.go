package mcp_test

import (
	"encoding/binary"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/ingress/mcp"
	"adnet/ingress/track"
	"adnet/internal/campaign"
	"adnet/internal/demo"
	"adnet/internal/money"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// crowd is a catalog of the demo's campaigns again and again, each with a bid of its own.
type crowd struct {
	shelf
	creatives map[uuid.UUID]*campaign.Campaign
}

func (c *crowd) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	k, ok := c.creatives[id]
	return k, ok
}

func newCrowd(b *testing.B, n int) *crowd {
	b.Helper()
	fields, err := demo.Campaigns()
	require.NoError(b, err)
	c := &crowd{creatives: make(map[uuid.UUID]*campaign.Campaign, n)}
	entries := make([]auction.Campaign, n)
	for i := range entries {
		f := &fields[i%len(fields)]
		k := generic()
		k.ID = uuid.UUID{}
		binary.BigEndian.PutUint64(k.ID[8:], uint64(i)+1)
		k.Headline, k.CTAURL = *f.Headline, *f.CTAURL
		c.creatives[k.ID] = &k
		entries[i] = auction.Campaign{
			ID: auction.ID(k.ID), Advertiser: auction.ID(advertiserID), Bid: money.Micros(1_000_000 + i*37%9_000_000), Billing: ranker.CPM,
			Targeting: &auction.Targeting{
				IntentTokens: f.IntentTokens, ActiveTools: f.ActiveTools, HostApps: f.HostApps, Surfaces: f.Surfaces,
				IntegrationMethods: f.IntegrationMethods, Regions: f.Regions, Languages: f.Languages,
			},
		}
	}
	c.snapshot = target.Build(ranker.OverlapV1(), entries)
	return c
}

// acked is a log that takes everything at once.
type acked struct{}

func (acked) Produce(_ string, _, _ []byte, done func(error)) { done(nil) }

// BenchmarkToolCall is rounds of get_sponsored_content through the engine, without sockets, and of POST /v1/ad-request over
// the same 100,000 campaigns and contexts: a tool call may cost 1.3 times as much CPU.
func BenchmarkToolCall(b *testing.B) {
	contexts, err := demo.Contexts()
	require.NoError(b, err)
	rest, tool, modern := make([]string, len(contexts)), make([]string, len(contexts)), make([]string, len(contexts))
	text := func(v any) string {
		out, err := json.Marshal(v)
		require.NoError(b, err)
		return string(out)
	}
	type object = map[string]any
	for i := range contexts {
		words := contexts[i].Context
		rest[i] = text(object{"context": words, "platform": "discord", "user_language": "en"})
		arguments := object{"context_summary": words, "host": "discord", "user_language": "en"}
		tool[i] = text(object{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": object{"name": "get_sponsored_content", "arguments": arguments}})
		modern[i] = text(object{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": object{
			"name": "get_sponsored_content", "arguments": arguments, "_meta": object{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{},
				"io.modelcontextprotocol/clientInfo": object{"name": "bench", "version": "1"},
			},
		}})
	}
	f := newFixture(b, track.UnsignedRecord)
	f.now = time.Now()
	server := f.serveFrom(newCrowd(b, 100_000), acked{})
	stateless := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_sponsored_content"}}
	kinds := []struct {
		name, path string
		bodies     []string
		extra      http.Header
	}{{"rest", "/v1/ad-request", rest, nil}, {"mcp", mcp.Path, tool, nil}, {"mcp-stateless", mcp.Path, modern, stateless}}
	used, ads := make([]time.Duration, len(kinds)), make([]int, len(kinds))
	w := &writer{header: http.Header{}}
	rounds := 0
	b.ReportAllocs()
	for b.Loop() {
		// In turns, so that all kinds meet the same neighbours on the machine.
		for k, h := range kinds {
			before := cpu(b)
			for i := range turn {
				clear(w.header)
				header := http.Header{"Authorization": {"Bearer " + f.key}, "Content-Type": {"application/json"}}
				for name, values := range h.extra {
					header[name] = values
				}
				server.ServeHTTP(w, &http.Request{
					Method: http.MethodPost, URL: &url.URL{Path: h.path}, Body: io.NopCloser(strings.NewReader(h.bodies[(rounds*turn+i)%len(h.bodies)])), Header: header,
				})
				if w.status != http.StatusOK {
					b.Fatal(w.status, string(w.body))
				}
				if len(w.body) > 1000 {
					ads[k]++
				}
			}
			used[k] += cpu(b) - before
		}
		rounds++
	}
	for k, h := range kinds {
		require.Equal(b, ads[0], ads[k], "all kinds must have won the same auctions")
		b.ReportMetric(float64(used[k])/float64(rounds*turn), h.name+"-cpu-ns")
	}
	b.ReportMetric(float64(used[1])/float64(used[0]), "mcp/rest")
	b.ReportMetric(float64(used[2])/float64(used[0]), "stateless/rest")
}

// turn is how many requests of a kind are sent before the next kind: few, so that the collector meets all alike.
const turn = 50

// cpu is what the process has used, the collector included; unlike time it does not depend on who else is running.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// writer is a response writer that costs nothing.
type writer struct {
	header http.Header
	status int
	body   []byte
}

func (w *writer) Header() http.Header { return w.header }
func (w *writer) WriteHeader(s int)   { w.status = s }
func (w *writer) Write(b []byte) (int, error) {
	w.body = append(w.body[:0], b...)
	return len(b), nil
}
