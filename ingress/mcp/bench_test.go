package mcp_test

import (
	"context"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/ingress/catalog"
	"adnet/ingress/catalog/catalogtest"
	"adnet/ingress/ingresstest"
	"adnet/ingress/mcp"
	"adnet/ingress/track"
	"adnet/internal/campaign"
	"adnet/internal/demo"
	"adnet/internal/ledger/reserve"
	"adnet/internal/testenv/cputime"
)

// loaded brings a catalog its campaigns once and keeps none: what the collector looks at is what a
// node holds.
type loaded struct {
	catalogtest.Projection // without campaigns, for the rest
	list                   atomic.Pointer[catalogtest.Projection]
}

// EachCampaign implements catalog.Source.
func (l *loaded) EachCampaign(ctx context.Context, take func([]campaign.Campaign)) (int64, error) {
	if list := l.list.Load(); list != nil {
		return list.EachCampaign(ctx, take)
	}
	return 1, nil
}

// EachRoom implements catalog.Source.
func (l *loaded) EachRoom(ctx context.Context, take func([]reserve.Room)) error {
	if list := l.list.Load(); list != nil {
		return list.EachRoom(ctx, take)
	}
	return nil
}

// crowd is a node's catalog of n campaigns.
func crowd(b *testing.B, n int) *catalog.Catalog {
	b.Helper()
	source := new(loaded)
	many := catalogtest.Many(b, advertiserID, n)
	source.list.Store(&many)
	c := catalogtest.Running(b, source)
	source.list.Store(nil)
	return c
}

// BenchmarkToolCall is get_sponsored_content through the engine, without sockets, beside POST
// /v1/ad-request over the same 100,000 campaigns and contexts: a tool call may cost 1.3 times as
// much CPU. An operation is one request; the kinds take turns. What counts are the metrics by kind,
// in processor time: ns/op and B/op mix the kinds.
//
// The collector runs between the turns, each time a node would let it ([headRoom]), and its time is
// shared by how much each kind allocated: left to itself it would hit one kind or the other, and
// that would be most of the difference.
func BenchmarkToolCall(b *testing.B) {
	f := &fixture{limiter: &limiter{left: 1 << 30}}
	f.World = ingresstest.New(b, ingresstest.Options{Clock: time.Now, Log: &f.lines})
	shelf, selling := crowd(b, 100_000), f.Selling()
	selling.Catalog, selling.Producer = shelf, ingresstest.Acked{}
	f.mount(selling, shelf, track.UnsignedRecord)
	kinds := toolCalls(b, f.HTTP, f.key)
	for _, k := range kinds {
		k.send(b, len(k.bodies)) // each kind once over all contexts, to fill the pools
		k.used, k.sent, k.ads = 0, 0, 0
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	turn := 0
	b.ResetTimer()
	for left := b.N; left > 0; turn++ {
		n := min(left, perTurn)
		kinds[turn%len(kinds)].send(b, n)
		left -= n
		collect(b, kinds)
	}
	b.StopTimer()
	rest := kinds[0].perRequest()
	for _, k := range kinds {
		if k.sent == 0 {
			continue // a first, short try of the testing package
		}
		require.InDelta(
			b, float64(kinds[0].ads)/float64(kinds[0].sent), float64(k.ads)/float64(k.sent), 0.05,
			"all kinds must win alike",
		)
		b.ReportMetric(k.perRequest(), k.name+"-ns")
		b.ReportMetric(float64(k.bytes)/float64(k.sent), k.name+"-B")
		b.ReportMetric(float64(k.objects)/float64(k.sent), k.name+"-allocs")
		if rest > 0 && k != kinds[0] {
			b.ReportMetric(k.perRequest()/rest, k.name+"/rest")
		}
	}
}

const (
	perTurn  = 50       // requests before the next kind has its turn: few, so that all meet the same neighbours
	headRoom = 16 << 20 // bytes between collections, as cmd has it
)

// kind is a way to ask for an ad, and what it has used so far.
type kind struct {
	name           string
	bodies         []string
	handler        http.Handler
	request        http.Request
	sent, ads      int
	used           time.Duration // of the processor
	bytes, objects uint64        // allocated
	fresh          uint64        // bytes since the last collection
}

// toolCalls are the kinds: the ad request is the first.
func toolCalls(b *testing.B, handler http.Handler, key string) []*kind {
	b.Helper()
	contexts, err := demo.Requests()
	require.NoError(b, err)
	text := func(v any) string {
		out, err := json.Marshal(v, json.Deterministic(true))
		require.NoError(b, err)
		return string(out)
	}
	type object = map[string]any
	rest, tool, stateless := &kind{name: "rest"}, &kind{name: "mcp"}, &kind{name: "stateless"}
	for i := range contexts {
		words := contexts[i].Context
		rest.bodies = append(rest.bodies, text(object{"context": words, "platform": "discord", "user_language": "en"}))
		params := object{
			"name":      "get_sponsored_content",
			"arguments": object{"context_summary": words, "host": "discord", "user_language": "en"},
		}
		tool.bodies = append(
			tool.bodies, text(object{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": params}),
		)
		params["_meta"] = object{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": object{},
			"io.modelcontextprotocol/clientInfo":         object{"name": "bench", "version": "1"},
		}
		stateless.bodies = append(
			stateless.bodies, text(object{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": params}),
		)
	}
	kinds := []*kind{rest, tool, stateless}
	for _, k := range kinds {
		k.handler = handler
		k.request = http.Request{
			Method: http.MethodPost, URL: &url.URL{Path: mcp.Path},
			Header: http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}},
		}
	}
	rest.request.URL = &url.URL{Path: "/v1/ad-request"}
	for name, value := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "get_sponsored_content",
	} {
		stateless.request.Header[name] = []string{value}
	}
	return kinds
}

// send asks n times.
func (k *kind) send(b *testing.B, n int) {
	body := &closable{}
	w := &writer{header: http.Header{}}
	allocated, objects := allocations()
	before := cputime.Used(b)
	for range n {
		body.Reset(k.bodies[k.sent%len(k.bodies)])
		clear(w.header)
		k.request.Body = body
		k.handler.ServeHTTP(w, &k.request)
		if w.status != http.StatusOK {
			b.Fatal(w.status, string(w.body))
		}
		if len(w.body) > 1000 {
			k.ads++
		}
		k.sent++
	}
	k.used += cputime.Used(b) - before
	allocatedAfter, objectsAfter := allocations()
	k.bytes, k.objects, k.fresh = k.bytes+allocatedAfter-allocated, k.objects+objectsAfter-objects,
		k.fresh+allocatedAfter-allocated
}

func (k *kind) perRequest() float64 { return float64(k.used) / float64(max(k.sent, 1)) }

// collect runs the collector when it is due.
func collect(b *testing.B, kinds []*kind) {
	total := uint64(0)
	for _, k := range kinds {
		total += k.fresh
	}
	if total < headRoom {
		return
	}
	before := cputime.Used(b)
	runtime.GC()
	took := cputime.Used(b) - before
	for _, k := range kinds {
		k.used += time.Duration(float64(took) * float64(k.fresh) / float64(total))
		k.fresh = 0
	}
}

// allocations are the bytes and objects that the process has allocated so far.
func allocations() (bytes, objects uint64) {
	samples := [...]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"}}
	metrics.Read(samples[:])
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

// closable is a request's body at hand.
type closable struct{ strings.Reader }

func (*closable) Close() error { return nil }

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
