package refusals_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/limits/refusals"
	"adnet/internal/day"
	"adnet/internal/store/redis"
	"adnet/internal/testenv"
	"adnet/internal/token"
)

// onEveryRedis runs a case on the server in the process and on a real one.
func onEveryRedis(t *testing.T, run func(t *testing.T, store refusals.Store)) {
	open := func(t *testing.T, addr string) refusals.Store {
		client, err := redis.Open(redis.Config{Addr: addr, Prefix: "test-" + uuid.NewString()}, redis.Deps{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		return redis.NewRefusals(client)
	}
	t.Run("embedded", func(t *testing.T) {
		server, err := redis.NewEmbedded(redis.EmbeddedConfig{})
		require.NoError(t, err)
		require.NoError(t, server.Start())
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- server.Run(ctx) }()
		t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
		run(t, open(t, server.Addr()))
	})
	t.Run("redis", func(t *testing.T) { run(t, open(t, testenv.Redis(t))) })
}

// node is a memory with its own clock.
type node struct {
	*refusals.Memory
	metrics *prometheus.Registry
	log     bytes.Buffer
	now     atomic.Int64 // UnixNano
}

// keys is the keyring of all nodes.
var keys = sync.OnceValue(func() *token.Keyring {
	key, err := token.NewKey("k1")
	if err != nil {
		panic(err)
	}
	ring, err := token.NewKeyring([]token.Key{key})
	if err != nil {
		panic(err)
	}
	return ring
})

// noon is in the first day of a period.
var noon = (token.RefusalPeriod(day.Of(time.Now())) * 2).Time().Add(12 * time.Hour)

func newNode(store refusals.Store) *node {
	n := &node{metrics: prometheus.NewRegistry()}
	n.now.Store(noon.UnixNano())
	n.Memory = refusals.New(refusals.Deps{
		Log: slog.New(slog.NewTextHandler(&n.log, nil)), Metrics: n.metrics, Keyring: keys(), Store: store,
		Now: n.clock,
	})
	return n
}

func (n *node) clock() time.Time { return time.Unix(0, n.now.Load()) }

func (n *node) refuses(s refusals.Session) bool { return n.Refused(&s, n.clock()) }

// run runs a node until the end of the test.
func (n *node) run(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
}

func aSession() refusals.Session {
	return refusals.Session{Publisher: uuid.New(), Key: uuid.New(), ID: "conversation-1"}
}

// A conversation refused by one node gets no ad from another node within 2 s, or from a node that
// starts later, for a day. After that it does.
func TestOtherNodesKnow(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, store refusals.Store) {
		here, there, s := newNode(store), newNode(store), aSession()
		here.run(t)
		there.run(t)
		require.Eventually(
			t, func() bool { return there.Live(there.clock()) && here.Live(here.clock()) }, time.Second,
			time.Millisecond,
		)
		require.False(t, here.refuses(s))
		here.Refuse(t.Context(), &s, here.clock())
		require.True(t, here.refuses(s), "at once")
		require.Eventually(t, func() bool { return there.refuses(s) }, 2*time.Second, 5*time.Millisecond)

		later := newNode(store)
		require.False(t, later.Live(later.clock()), "it has read nothing yet")
		later.now.Add(int64(23*time.Hour + 59*time.Minute))
		require.NoError(t, later.Share(t.Context()))
		for _, n := range []*node{here, there, later} {
			for _, at := range []struct {
				after time.Duration
				want  bool
			}{
				{0, true}, {11 * time.Hour, true}, {13 * time.Hour, true}, {24*time.Hour - time.Second, true},
				{24 * time.Hour, false},
			} {
				require.Equal(t, at.want, n.Refused(&s, noon.Add(at.after)), at.after)
			}
		}
		gone := newNode(store)
		gone.now.Add(int64(24 * time.Hour))
		require.NoError(t, gone.Share(t.Context()))
		require.False(t, gone.refuses(s))
	})
}

// A mark set in the last hour of a period counts in the next one, under the key of its own.
func TestMarksOutliveTheirPeriod(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, store refusals.Store) {
		n, s := newNode(store), aSession()
		set := noon.Add(35 * time.Hour) // the second day, 23:00
		n.now.Store(set.UnixNano())
		n.Refuse(t.Context(), &s, set)
		other := newNode(store)
		other.now.Store(set.Add(2 * time.Hour).UnixNano())
		require.NoError(t, other.Share(t.Context()))
		require.True(t, other.Refused(&s, set.Add(24*time.Hour-time.Second)))
		require.False(t, other.Refused(&s, set.Add(24*time.Hour)))
	})
}

// A caller with one key of a publisher cannot affect sessions of its other keys, or of other
// publishers.
func TestMarkAppliesToItsKeyOnly(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, store refusals.Store) {
		n, s := newNode(store), aSession()
		n.Refuse(t.Context(), &s, n.clock())
		for name, other := range map[string]refusals.Session{
			"another key":       {Publisher: s.Publisher, Key: uuid.New(), ID: s.ID},
			"another publisher": {Publisher: uuid.New(), Key: s.Key, ID: s.ID},
			"another session":   {Publisher: s.Publisher, Key: s.Key, ID: "conversation-2"},
			"no session":        {Publisher: s.Publisher, Key: s.Key},
		} {
			n.Refuse(t.Context(), &refusals.Session{Publisher: other.Publisher, Key: other.Key}, n.clock())
			require.False(t, n.refuses(other), name)
		}
		require.True(t, n.refuses(s))
	})
}

// away is a store that does not answer, or one without room.
type away struct {
	refusals.Store
	down, full atomic.Bool
}

var errAway = errors.New("away")

func (s *away) Keep(ctx context.Context, hour int64, key uuid.UUID, mark []byte) (bool, error) {
	switch {
	case s.down.Load():
		return false, errAway
	case s.full.Load():
		return false, nil
	}
	return s.Store.Keep(ctx, hour, key, mark)
}

func (s *away) Since(ctx context.Context, hours, from []int64) ([][]string, []bool, error) {
	if s.down.Load() {
		return nil, nil, errAway
	}
	return s.Store.Since(ctx, hours, from)
}

// During an outage of Redis a node reports that it lacks the marks of others, and keeps its own. It
// writes them when Redis is back.
func TestRedisAway(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, store refusals.Store) {
		gate := &away{Store: store}
		n, other, s := newNode(gate), newNode(store), aSession()
		require.NoError(t, n.Share(t.Context()))
		gate.down.Store(true)
		require.True(t, n.Live(noon.Add(1500*time.Millisecond)))
		require.False(t, n.Live(noon.Add(1501*time.Millisecond)))
		n.Refuse(t.Context(), &s, n.clock())
		require.True(t, n.refuses(s))
		require.ErrorIs(t, n.Share(t.Context()), errAway)
		require.NoError(t, other.Share(t.Context()))
		require.False(t, other.refuses(s))

		n.now.Add(int64(2 * time.Hour)) // the mark is written late, and ends as if it had not been
		gate.down.Store(false)
		require.NoError(t, n.Share(t.Context()))
		require.True(t, n.Live(n.clock()))
		other.now.Add(int64(2 * time.Hour))
		require.NoError(t, other.Share(t.Context()))
		require.True(t, other.Refused(&s, noon.Add(24*time.Hour-time.Second)))
		require.False(t, other.Refused(&s, noon.Add(24*time.Hour)))
	})
}

// A mark without room is removed from the node that set it, counted, and logged once without the
// session. An earlier mark stays.
func TestNoRoom(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, store refusals.Store) {
		gate := &away{Store: store}
		n, stored, s := newNode(gate), aSession(), aSession()
		n.Refuse(t.Context(), &stored, n.clock())
		gate.full.Store(true)
		n.now.Add(int64(time.Hour))
		for range 3 {
			n.Refuse(t.Context(), &s, n.clock())
			n.Refuse(t.Context(), &stored, n.clock())
		}
		require.False(t, n.refuses(s))
		require.True(t, n.Refused(&stored, noon.Add(24*time.Hour-time.Second)))
		require.False(t, n.Refused(&stored, noon.Add(24*time.Hour)), "the later mark was not kept")
		require.EqualValues(t, 6, metric(t, n, "adnet_suitability_marks_dropped_total"))
		require.EqualValues(t, 1, metric(t, n, "adnet_suitability_marks"))
		require.Equal(t, 1, bytes.Count(n.log.Bytes(), []byte("\n")))
		require.NotContains(t, n.log.String(), s.ID)
		require.NotContains(t, n.log.String(), s.Key.String())
	})
}

// One key cannot use more than its part of an hour, and does not affect sessions of another key.
func TestOneKeyCannotFillTheLists(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 marks")
	}
	client, err := redis.Open(redis.Config{Addr: testenv.Redis(t), Prefix: "test-" + uuid.NewString()}, redis.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	n, s := newNode(patient{redis.NewRefusals(client)}), aSession()
	for i := range 10_050 {
		s.ID = time.Duration(i).String()
		n.Refuse(t.Context(), &s, n.clock())
	}
	require.EqualValues(t, 50, metric(t, n, "adnet_suitability_marks_dropped_total"))
	require.EqualValues(t, 10_000, metric(t, n, "adnet_suitability_marks"))
	other := newNode(redis.NewRefusals(client))
	require.NoError(t, other.Share(t.Context()))
	require.EqualValues(t, 10_000, metric(t, other, "adnet_suitability_marks"), "more than a page")
	// Expired marks leave the memory.
	other.now.Add(int64(25 * time.Hour))
	for range 32 {
		require.NoError(t, other.Share(t.Context()))
	}
	require.Zero(t, metric(t, other, "adnet_suitability_marks"))
}

// A Redis that was emptied, or another one, is read from its beginning.
func TestAnotherRedis(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, store refusals.Store) {
		onEveryRedis(t, func(t *testing.T, another refusals.Store) {
			swap := &swapped{store}
			n, before, after := newNode(swap), aSession(), aSession()
			for range 3 {
				n.Refuse(t.Context(), &before, n.clock())
			}
			require.NoError(t, n.Share(t.Context()))
			swap.Store = another
			newNode(another).Refuse(t.Context(), &after, noon)
			require.NoError(t, n.Share(t.Context()))
			require.True(t, n.refuses(before))
			require.True(t, n.refuses(after))
		})
	})
}

type swapped struct{ refusals.Store }

// patient is a store that waits for each write, so that none is late on a busy machine.
type patient struct{ refusals.Store }

func (p patient) Keep(ctx context.Context, hour int64, apiKey uuid.UUID, mark []byte) (bool, error) {
	return p.Store.Keep(context.WithoutCancel(ctx), hour, apiKey, mark)
}

func metric(t *testing.T, n *node, name string) float64 {
	t.Helper()
	families, err := n.metrics.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// An ordinary request costs hashes and lookups, and allocates nothing.
func TestAnOrdinaryRequestAllocatesNothing(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, store refusals.Store) {
		n, marked, s := newNode(store), aSession(), aSession()
		n.Refuse(t.Context(), &marked, n.clock())
		at := noon.Add(36 * time.Hour) // two periods count
		n.Refused(&s, at)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { n.Refused(&s, at) }), 0.0)
	})
}
