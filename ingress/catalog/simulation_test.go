package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/ledger/reserve"
)

// The simulation of pauses: N nodes with the production catalog over a model of Redis with the
// rules of internal/store/redis (announcement, heartbeats, confirmations), in simulated time. Seeds fix
// latencies and faults.
//
// What it shows, at 1, 10 and 100 nodes, through lost publishes, slow nodes, nodes that die, nodes
// that cannot reach Redis and nodes that start:
//   - no node fills with the campaign later than a second after Redis took the pause;
//   - when the pause's reply says that every live node confirmed, no node that was serving before fills after it;
//     only one that was just starting may, until it first polls.

const (
	life     = 2 * time.Second // as nodeLife of internal/store/redis
	patience = time.Second     // as announceWait
	lookWait = 100 * time.Millisecond
	hang     = 3 * time.Second // a call to a Redis that does not answer
)

var errAway = errors.New("i/o timeout")

// hub is Redis.
type hub struct {
	mu    sync.Mutex
	rng   *rand.Rand
	known campaign.Campaign // the one that is paused and resumed
	head  int64
	nodes map[string]*beat
	lines []*line
	took  map[int64]map[string]bool // confirmations by version
}

type beat struct {
	at      time.Time
	applied int64
}

// line is a node with its connection.
type line struct {
	hub     *hub
	name    string
	catalog *Catalog
	to      *Listener
	stop    context.CancelFunc
	ended   chan error

	latency time.Duration // longest way of a call or a message
	losses  float64       // of messages
	away    bool          // no call is answered, no message arrives
	broken  chan struct{} // closed when the subscription ends
	started time.Time

	mu    sync.Mutex
	fills []time.Time // of the round
}

// travel is a way to or from Redis; an error says that the node is cut off.
func (l *line) travel(ctx context.Context) error {
	l.hub.mu.Lock()
	wait, away := time.Duration(l.hub.rng.Int64N(int64(l.latency)))+time.Microsecond, l.away
	l.hub.mu.Unlock()
	if away {
		wait = hang
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return ctx.Err()
	}
	if away {
		return errAway
	}
	return nil
}

// call asks Redis; the answer may be old when it arrives.
func (l *line) call(ctx context.Context, ask func(h *hub)) error {
	if err := l.travel(ctx); err != nil {
		return err
	}
	l.hub.mu.Lock()
	ask(l.hub)
	l.hub.mu.Unlock()
	return l.travel(ctx)
}

func (l *line) Head(ctx context.Context) (version int64, found bool, err error) {
	err = l.call(ctx, func(h *hub) { version, found = h.head, true })
	return version, found, err
}

func (l *line) EachCampaign(ctx context.Context, take func([]campaign.Campaign)) (int64, error) {
	all, head, err := l.CampaignsSince(ctx, -1)
	if err == nil {
		take(all)
	}
	return head, err
}

func (l *line) CampaignsSince(ctx context.Context, version int64) (changed []campaign.Campaign, head int64, err error) {
	err = l.call(ctx, func(h *hub) {
		if head = h.head; h.known.ConfigVersion > version {
			changed = append(changed, h.known)
		}
	})
	return changed, head, err
}

func (l *line) EachRoom(ctx context.Context, _ func([]reserve.Room)) error {
	return l.call(ctx, func(*hub) {})
}

func (l *line) Subscribe(ctx context.Context, to Listener) error {
	if err := l.travel(ctx); err != nil {
		return err
	}
	broken := make(chan struct{})
	l.hub.mu.Lock()
	l.to, l.broken = &to, broken
	l.hub.mu.Unlock()
	to.Subscribed()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-broken:
		return errAway
	}
}

func (l *line) Heartbeat(ctx context.Context, node string, version int64) error {
	return l.call(ctx, func(h *hub) { h.nodes[node] = &beat{time.Now(), version} })
}

func (l *line) Applied(ctx context.Context, node string, version int64) error {
	return l.call(ctx, func(h *hub) {
		if h.took[version] == nil {
			h.took[version] = map[string]bool{}
		}
		h.took[version][node] = true
	})
}

func (l *line) Leave(ctx context.Context, node string) error {
	return l.call(ctx, func(h *hub) { delete(h.nodes, node) })
}

// announce writes, tells and waits by the rules of redis.Nodes.Announce; at is when Redis took it.
func (h *hub) announce(k campaign.Campaign) (at time.Time, all bool) {
	until := time.Now().Add(patience)
	time.Sleep(time.Millisecond)
	at = time.Now()
	h.mu.Lock()
	h.known, h.head = k, max(h.head, k.ConfigVersion)
	waiting := map[string]bool{}
	for node, b := range h.nodes {
		if at.Sub(b.at) < life {
			waiting[node] = true
		}
	}
	for _, l := range h.lines {
		if l.to != nil && !l.away && h.rng.Float64() >= l.losses {
			to, wait := l.to, time.Duration(h.rng.Int64N(int64(l.latency)))
			go func() { time.Sleep(wait); to.Changed(k, true) }()
		}
	}
	h.mu.Unlock()
	for looked := time.Now(); len(waiting) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return at, false
		}
		h.mu.Lock()
		for node := range waiting {
			if h.took[k.ConfigVersion][node] {
				delete(waiting, node)
			}
		}
		if time.Since(looked) >= lookWait {
			looked = time.Now()
			for node := range waiting {
				b := h.nodes[node]
				if b == nil || time.Since(b.at) >= life || b.applied >= k.ConfigVersion {
					delete(waiting, node)
				}
			}
		}
		h.mu.Unlock()
	}
	return at, true
}

// join starts a node that is asked for ads all the time.
func (h *hub) join(t *testing.T, name string) *line {
	l := &line{hub: h, name: name, latency: 3 * time.Millisecond, started: time.Now(), ended: make(chan error, 2)}
	l.catalog = New(Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: l, Feed: l, Node: name,
		Now: time.Now,
	})
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	h.mu.Lock()
	h.lines = append(h.lines, l)
	h.mu.Unlock()
	go func() { l.ended <- l.catalog.Run(ctx) }()
	go func() { l.ended <- l.serve(ctx) }()
	return l
}

// serve asks for an ad every few milliseconds, as ingress/serve decides: first whether the node is
// fresh, then from the snapshot.
func (l *line) serve(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(uint64(len(l.name)), uint64(l.started.UnixNano())))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(rng.Int64N(int64(10 * time.Millisecond)))):
		}
		if l.catalog.Fresh(time.Now()) && in(l.catalog, 1) {
			l.mu.Lock()
			l.fills = append(l.fills, time.Now())
			l.mu.Unlock()
		}
	}
}

func (l *line) leave(t *testing.T) {
	l.stop()
	for range 2 {
		require.NoError(t, <-l.ended)
	}
	l.hub.mu.Lock()
	l.hub.lines = slices.DeleteFunc(l.hub.lines, func(other *line) bool { return other == l })
	l.hub.mu.Unlock()
}

// pauses is what a run found.
type pauses struct {
	rounds, confirmed                int
	toReply, toReplyAll              time.Duration // longest, from the call: any, confirmed by all
	afterTaken, afterReply, starting time.Duration // longest until the last fill
}

func TestSimulatedPauses(t *testing.T) {
	for _, n := range []int{1, 10, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := simulatePauses(t, n, 5)
				t.Logf("%d nodes, %d pauses, %d confirmed by every live node: reply within %s (%s where confirmed); "+
					"last fill %s after Redis took the pause, "+
					"%s after a confirmed reply (a node just starting: %s)", n, p.rounds, p.confirmed, p.toReply,
					p.toReplyAll, p.afterTaken, p.afterReply, p.starting)
				require.Positive(t, p.confirmed)
			})
		})
	}
}

func simulatePauses(t *testing.T, count, rounds int) (p pauses) {
	h := &hub{
		rng: rand.New(rand.NewPCG(7, uint64(count))), nodes: map[string]*beat{}, took: map[int64]map[string]bool{},
		known: make1(1, 1, campaign.Paused), head: 1,
	}
	names := 0
	for range count {
		names++
		h.join(t, fmt.Sprint("n", names))
	}
	time.Sleep(3 * time.Second)
	version := int64(1)
	announce := func(status campaign.Status) (time.Time, bool) {
		version++
		return h.announce(make1(1, version, status))
	}
	for round := range rounds {
		announce(campaign.Active)
		time.Sleep(1200 * time.Millisecond)
		for _, l := range h.lines {
			l.mu.Lock()
			require.NotEmpty(t, l.fills, "%s fills before the pause", l.name)
			l.fills = nil
			l.mu.Unlock()
		}
		gone := h.disturb(t, round)
		if round%4 == 3 {
			names++
			h.join(t, fmt.Sprint("n", names))
		}
		time.Sleep(time.Duration(h.random(40)) * time.Millisecond)
		called := time.Now()
		taken, all := announce(campaign.Paused)
		replied := time.Now()
		time.Sleep(4 * time.Second)
		p.judge(t, h, called, taken, replied, all)
		for range gone {
			names++
			h.join(t, fmt.Sprint("n", names))
		}
		h.heal()
		time.Sleep(6 * time.Second)
		for _, l := range h.lines {
			require.True(t, l.catalog.Fresh(time.Now()), "%s is back", l.name)
		}
	}
	for len(h.lines) > 0 {
		h.lines[0].leave(t)
	}
	return p
}

func (h *hub) random(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rng.IntN(n)
}

// disturb breaks what this round is about, and answers how many nodes died. Each round has slow
// nodes, and each but the first of four lost messages.
func (h *hub) disturb(t *testing.T, round int) (gone int) {
	lines := slices.Clone(h.lines)
	h.mu.Lock()
	for _, l := range lines {
		if round%4 > 0 {
			l.losses = 0.2
		}
		if h.rng.IntN(5) == 0 {
			l.latency = 150 * time.Millisecond
		}
	}
	h.mu.Unlock()
	for i, l := range lines {
		switch {
		case round%4 == 1 && i%10 == 0: // cannot reach Redis
			h.mu.Lock()
			l.away = true
			h.mu.Unlock()
		case round%4 == 2 && i%10 == 9: // dies, without a word
			h.mu.Lock()
			l.away = true
			h.mu.Unlock()
			l.leave(t)
			gone++
		}
	}
	return gone
}

// heal mends every connection; those that were away find their subscription lost.
func (h *hub) heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if l.away && l.broken != nil {
			close(l.broken)
			l.broken, l.to = nil, nil
		}
		l.away, l.losses, l.latency = false, 0, 3*time.Millisecond
	}
}

func (p *pauses) judge(t *testing.T, h *hub, called, taken, replied time.Time, all bool) {
	p.rounds++
	p.toReply = max(p.toReply, replied.Sub(called))
	if all {
		p.confirmed++
		p.toReplyAll = max(p.toReplyAll, replied.Sub(called))
	}
	for _, l := range h.lines {
		l.mu.Lock()
		last := time.Time{}
		if len(l.fills) > 0 {
			last = l.fills[len(l.fills)-1]
		}
		l.mu.Unlock()
		if last.IsZero() {
			continue
		}
		p.afterTaken = max(p.afterTaken, last.Sub(taken))
		require.Less(t, last.Sub(taken), freshFor, "%s filled with a paused campaign", l.name)
		if !all {
			continue
		}
		if l.started.After(called.Add(-time.Second)) {
			p.starting = max(p.starting, last.Sub(replied))
			continue
		}
		p.afterReply = max(p.afterReply, last.Sub(replied))
		require.False(
			t, last.After(replied), "%s filled %s after a reply that it had confirmed", l.name, last.Sub(replied),
		)
	}
}
