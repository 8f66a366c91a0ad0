// Package refusals marks conversations that get no ads: after a lasting verdict, the session gets
// none for a day, on any node, whatever its next turns contain.
//
// The only stored data is a mark, the same for every subject: a keyed hash of publisher, API key
// and session (token.Keyring.Refusal). It applies only to the API key that set it, so a stranger
// with a page's key cannot affect the sessions of its publisher's other keys.
//
// The node that sets a mark applies it at once, and writes it to the shared list of the hour before
// it answers, waiting at most 50 ms. Marks that could not be written wait in memory until the store
// answers again. The other nodes read the lists into memory every 250 ms, and the last 25 hours at
// their start. So a request costs two hashes and two lookups, and no network call. A node whose
// last read is older than 1.5 s cannot rule out a mark; see [Memory.Live].
//
// # Not obvious
//
// A list covers the hour of writing, and each mark contains the time it was set, so nodes that read
// only the last hours find marks that were written late. The lists are bounded per API key and in
// total (internal/store/redis). A mark without room is also removed here, so that all nodes decide alike,
// and counted.
package refusals

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/day"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
)

const (
	// Life is the lifetime of a mark.
	Life = 24 * time.Hour
	// validFor is how long a read of the lists is current.
	validFor  = 1500 * time.Millisecond
	readEvery = 250 * time.Millisecond
	readWait  = time.Second
	writeWait = 50 * time.Millisecond
	// backHours is the number of past hours whose marks may still apply.
	backHours = int64(Life/time.Hour) + 1
	// maxWaiting is the maximum number of marks waiting for an unreachable store. More are dropped.
	maxWaiting = 10_000
	// maxShard bounds a shard: twice the maximum that the lists of 26 hours hold.
	maxShard = 8_000_000 / shards
	shards   = 32
	markSize = len(token.Pseudonym{}) + 8
)

// Session identifies a session for its mark.
type Session struct {
	Publisher uuid.UUID
	Key       uuid.UUID // the API key of the request
	ID        string    // the publisher's
}

// Keyring makes marks; see token.Keyring.
type Keyring interface {
	Refusal(developer, apiKey uuid.UUID, period day.Day, id string) token.Pseudonym
}

// Store stores marks for all nodes, by the hour (since 1970, UTC) of writing; see redis.Refusals.
type Store interface {
	// Keep stores a mark. kept is false if the hour has no room for it.
	Keep(ctx context.Context, hour int64, apiKey uuid.UUID, mark []byte) (stored bool, err error)
	// Since reads a page of each hour's marks. lost is set for hours with fewer marks than from.
	Since(ctx context.Context, hours, from []int64) (marks [][]string, lost []bool, err error)
}

// Deps holds the dependencies of the memory. Keyring and Store are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Keyring Keyring
	Store   Store
	Now     func() time.Time
}

// Memory is the component. Its methods may be called from any goroutine.
type Memory struct {
	deps   Deps
	often  *obs.LimitedLogger
	shards [shards]shard
	known  atomic.Int64 // marks in all shards
	read   atomic.Int64 // UnixNano of the start of the last complete read; 0 before the first

	mu      sync.Mutex
	waiting []waiting // for the store, oldest first

	// of the reading goroutine
	offsets map[int64]int64 // number of marks read per hour
	swept   int             // shard

	dropped  prometheus.Counter
	failures prometheus.Counter
}

type shard struct {
	mu    sync.RWMutex
	until map[token.Pseudonym]int64 // unix second at which a mark ends
}

// waiting is a mark that is not written yet.
type waiting struct {
	key  uuid.UUID
	mark token.Pseudonym
	set  int64
}

// New returns the memory. It starts nothing.
func New(deps Deps) *Memory {
	deps.Now = schedule.Clock(deps.Now)
	m := &Memory{deps: deps, often: obs.Limited(deps.Log, time.Minute), offsets: make(map[int64]int64)}
	for i := range m.shards {
		m.shards[i].until = make(map[token.Pseudonym]int64)
	}
	m.dropped = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_suitability_marks_dropped_total",
		Help: "Refused conversations without a mark: their API key, or all keys together, set too many marks in " +
			"an hour, or an outage of Redis was too long.",
	}))
	m.failures = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_suitability_marks_failures_total",
		Help: "Failed calls to Redis for the marks of refused conversations.",
	}))
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_suitability_marks", Help: "Marks of refused conversations on this node.",
	}, func() float64 { return float64(m.known.Load()) }))
	return m
}

// Live reports whether this node has the marks of all nodes: its last read is recent enough.
func (m *Memory) Live(now time.Time) bool {
	return now.UnixNano()-m.read.Load() <= int64(validFor)
}

// Refused reports whether a session is marked.
func (m *Memory) Refused(s *Session, now time.Time) bool {
	if m.known.Load() == 0 {
		return false
	}
	second, today := now.Unix(), day.Of(now)
	period := token.RefusalPeriod(today)
	if m.marked(m.deps.Keyring.Refusal(s.Publisher, s.Key, period, s.ID), second) {
		return true
	}
	yesterday := token.RefusalPeriod(today - 1)
	return yesterday != period && m.marked(m.deps.Keyring.Refusal(s.Publisher, s.Key, yesterday, s.ID), second)
}

func (m *Memory) marked(mark token.Pseudonym, second int64) bool {
	at := m.shard(mark)
	at.mu.RLock()
	defer at.mu.RUnlock()
	return second < at.until[mark]
}

func (m *Memory) shard(mark token.Pseudonym) *shard { return &m.shards[mark[0]%shards] }

// Refuse marks a session from now on. The mark applies here at once, and on other nodes when Refuse
// returns or as soon as the store answers. Refuse waits for the store for at most 50 ms.
func (m *Memory) Refuse(ctx context.Context, s *Session, now time.Time) {
	mark := m.deps.Keyring.Refusal(s.Publisher, s.Key, token.RefusalPeriod(day.Of(now)), s.ID)
	if mark == (token.Pseudonym{}) {
		return
	}
	w := waiting{s.Key, mark, now.Unix()}
	before := m.learn(mark, w.set)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	stored, err := m.write(ctx, w)
	switch {
	case err != nil:
		m.wait(ctx, w, before)
	case !stored:
		m.forget(w, before)
		m.drop(ctx)
	}
}

func (m *Memory) write(ctx context.Context, w waiting) (stored bool, err error) {
	text := binary.BigEndian.AppendUint64(w.mark[:], uint64(w.set))
	stored, err = m.deps.Store.Keep(ctx, hourOf(m.deps.Now()), w.key, text)
	if err != nil {
		m.failures.Inc()
	}
	return stored, err
}

func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

// wait queues a mark to be written later, or takes it back if too many wait.
func (m *Memory) wait(ctx context.Context, w waiting, before int64) {
	m.mu.Lock()
	full := len(m.waiting) >= maxWaiting
	if !full {
		m.waiting = append(m.waiting, w)
	}
	m.mu.Unlock()
	if full {
		m.forget(w, before)
		m.drop(ctx)
	}
}

// drop counts a mark that is not stored. The log line names no key and no session.
func (m *Memory) drop(ctx context.Context) {
	m.dropped.Inc()
	m.often.Warn(ctx, "a refused conversation could not be marked: too many were marked in this hour")
}

// learn applies a mark set at a unix second, and returns the end of its previous lifetime.
func (m *Memory) learn(mark token.Pseudonym, set int64) (before int64) {
	at := m.shard(mark)
	at.mu.Lock()
	defer at.mu.Unlock()
	before, found := at.until[mark]
	if !found {
		if len(at.until) >= maxShard {
			return 0
		}
		m.known.Add(1)
	}
	at.until[mark] = max(before, set+int64(Life/time.Second))
	return before
}

// forget takes back a mark that the store has no room for.
func (m *Memory) forget(w waiting, before int64) {
	at := m.shard(w.mark)
	at.mu.Lock()
	defer at.mu.Unlock()
	switch until, has := at.until[w.mark]; {
	case !has || until != w.set+int64(Life/time.Second): // it was marked again meanwhile
	case before > 0:
		at.until[w.mark] = before
	default:
		delete(at.until, w.mark)
		m.known.Add(-1)
	}
}
