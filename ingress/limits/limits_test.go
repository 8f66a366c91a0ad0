package limits

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/errs"
	"adnet/internal/store/redis"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// clock is the nodes' common time.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func defaults() Config {
	return Config{PerMinute: 1000, BadLogins: 10, Register: 60, Benna: 600, Open: 600, Refused: 600}
}

func alone(t require.TestingT, cfg Config) *Limits {
	l, err := New(cfg, Deps{})
	require.NoError(t, err)
	return l
}

func TestRequestAboveTheMinuteLimitIsRefused(t *testing.T) {
	l, caller, reply := alone(t, defaults()), uuid.New(), http.Header{}
	for i := range 1000 {
		require.NoError(t, l.Allow(reply, caller, start.Add(time.Duration(i)*59*time.Millisecond)))
		require.Equal(t, strconv.Itoa(999-i), reply.Get("RateLimit-Remaining"))
		require.Equal(t, "1000", reply.Get("RateLimit-Limit"))
	}
	last := start.Add(59900 * time.Millisecond)
	limited := l.Allow(reply, caller, last)
	require.True(t, errs.Is(limited, errs.RateLimited))
	wait := errs.Of(limited).Extra["retry_after"].(int)
	require.Equal(t, "0", reply.Get("RateLimit-Remaining"))
	require.Equal(t, strconv.Itoa(wait), reply.Get("RateLimit-Reset"))
	require.NoError(t, l.Allow(nil, uuid.New(), last), "another caller is not affected")
	require.NoError(t, l.Allow(reply, caller, last.Add(time.Duration(wait)*time.Second)), "Retry-After is kept")
}

// passes returns how many of n simultaneous requests get through.
func passes(l *Limits, caller uuid.UUID, n int, at time.Time) (passed int) {
	for range n {
		if l.Allow(nil, caller, at) == nil {
			passed++
		}
	}
	return passed
}

// The burst adds to a single minute, never to the sustained rate.
func TestBurst(t *testing.T) {
	l, caller := alone(t, Config{PerMinute: 1000, Burst: 200}), uuid.New()
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * 61 * time.Second) }
	require.Equal(t, 1200, passes(l, caller, 2000, minute(0)))
	for n := 1; n <= 5; n++ {
		require.Equal(t, 1000, passes(l, caller, 2000, minute(n)), "who uses the limit up gets nothing on top")
	}
	require.Equal(t, 1200, passes(l, caller, 2000, minute(7)), "a silent minute gives the burst back")
	require.Equal(t, 500, passes(l, caller, 500, minute(8)))
	require.InDelta(t, 1100, passes(l, caller, 2000, minute(9)), 5, "half of a minute, half of the burst")
	require.Equal(t, 1, passes(l, uuid.New(), 1, minute(9)), "another caller is not affected")
}

// Whatever the pattern, an hour accepts no more than the limit of its minutes plus one burst.
func TestBurstIsNotSustained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, caller, now, passed := alone(t, Config{PerMinute: 10, Burst: 4}), uuid.New(), start, 0
		for now.Before(start.Add(time.Hour)) {
			passed += passes(l, caller, rapid.IntRange(0, 20).Draw(t, "requests"), now)
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
		}
		require.LessOrEqual(t, passed, 10*61+4)
	})
}

func TestOffAtZero(t *testing.T) {
	l := alone(t, Config{})
	for range 5000 {
		require.NoError(t, l.Allow(nil, uuid.Nil, start))
	}
}

// Whatever the pattern of requests, no 60 s accept more than the limit, a caller below it is never
// refused, and Retry-After is correct.
func TestWindowSlides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 7
		l, caller, now := alone(t, Config{PerMinute: limit}), uuid.New(), start
		var passed []time.Time
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(
				time.Duration(
					rapid.SampledFrom([]int{0, 1, 300, 2_000, 9_000, 61_000, 1_000_000}).Draw(t, "ms"),
				) * time.Millisecond,
			)
			err := l.Allow(nil, caller, now)
			recent, sure := 0, 0
			for _, at := range passed {
				if now.Sub(at) < time.Minute {
					recent++
				}
				if now.Sub(at) < 61*time.Second {
					sure++
				}
			}
			if err == nil {
				require.Less(t, recent, limit)
				passed = append(passed, now)
				continue
			}
			require.GreaterOrEqual(t, sure, limit, "refused below the limit")
			if rapid.Bool().Draw(t, "waits") {
				now = now.Add(time.Duration(errs.Of(err).Extra["retry_after"].(int)) * time.Second)
				require.NoError(t, l.Allow(nil, caller, now))
				passed = append(passed, now)
			}
		}
	})
}

// cluster is nodes that share counts through an embedded Redis.
type cluster struct {
	*clock
	nodes []*Limits
	cache *redis.Embedded
}

func newCluster(t *testing.T, cfg Config, n int) *cluster {
	t.Helper()
	cache, err := redis.NewEmbedded(redis.EmbeddedConfig{})
	require.NoError(t, err)
	require.NoError(t, cache.Start())
	c := &cluster{clock: &clock{now: start}, cache: cache}
	for range n {
		c.join(t, cfg)
	}
	return c
}

func (c *cluster) join(t *testing.T, cfg Config) *Limits {
	t.Helper()
	client, err := redis.Open(redis.Config{Addr: c.cache.Addr()}, redis.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	l, err := New(cfg, Deps{Exchange: redis.NewExchange(client, "limits", uuid.NewString()), Now: c.Now})
	require.NoError(t, err)
	c.nodes = append(c.nodes, l)
	return l
}

func (c *cluster) share(t *testing.T) {
	t.Helper()
	for range 2 { // all have spoken, then all have heard
		for _, l := range c.nodes {
			require.NoError(t, l.Share(t.Context()))
		}
	}
}

// TestTwoNodesShareALimit is line 12 of SECURITY.md: request 1,001 in a minute, over two nodes.
func TestTwoNodesShareALimit(t *testing.T) {
	c, caller := newCluster(t, defaults(), 2), uuid.New()
	for i := range 1000 {
		require.NoError(t, c.nodes[i%2].Allow(nil, caller, c.Now()), "request %d", i+1)
		if i%20 == 19 {
			c.pass(time.Second)
			c.share(t)
		}
	}
	for _, node := range c.nodes {
		require.True(t, errs.Is(node.Allow(nil, caller, c.Now()), errs.RateLimited))
	}
	fresh := c.join(t, defaults())
	c.share(t)
	require.Error(t, fresh.Allow(nil, caller, c.Now()), "a node that starts knows the last minute")
	c.pass(61 * time.Second)
	require.NoError(t, c.nodes[0].Allow(nil, caller, c.Now()))
}

// A seat's bid requests are limited per second, whichever nodes they reach. Requests accepted
// before their counts arrived are subtracted within the minute.
func TestSeatsShareALimit(t *testing.T) {
	c, seatKey := newCluster(t, Config{Seat: 100}, 2), uuid.New()
	a, b := c.nodes[0], c.nodes[1]
	for second := range 5 {
		for i := range 100 {
			require.NoError(t, c.nodes[i%2].AllowSeat(seatKey, c.Now()), "second %d, request %d", second, i+1)
			if i%25 == 24 {
				c.share(t)
			}
		}
		for _, l := range c.nodes {
			err := l.AllowSeat(seatKey, c.Now())
			require.True(t, errs.Is(err, errs.RateLimited))
			require.Equal(t, 1, errs.Of(err).Extra["retry_after"])
			require.NoError(t, l.AllowSeat(uuid.New(), c.Now()), "another seat")
			require.NoError(t, l.Allow(nil, seatKey, c.Now()), "a publisher's requests are others")
		}
		c.pass(time.Second)
	}
	early := 0
	for range 60 { // both nodes at once, the news a second late
		for range 200 {
			for _, l := range []*Limits{a, b} {
				if l.AllowSeat(seatKey, c.Now()) == nil {
					early++
				}
			}
		}
		c.pass(time.Second)
		c.share(t)
	}
	require.Greater(t, early, 100*55)
	require.LessOrEqual(t, early, 100*61, "over a minute the limit holds, but for a second's worth")

	off := alone(t, Config{})
	for range 10_000 {
		require.NoError(t, off.AllowSeat(seatKey, start))
	}
}

// A burst exceeds the limit because each node decides alone until the counts arrive.
func TestOvershootIsBounded(t *testing.T) {
	c, caller := newCluster(t, Config{PerMinute: 100}, 3), uuid.New()
	passed := 0
	for range 3 {
		for _, l := range c.nodes {
			for range 1000 {
				if l.Allow(nil, caller, c.Now()) == nil {
					passed++
				}
			}
		}
		c.share(t)
		c.pass(time.Second)
	}
	require.Equal(t, 300, passed)
	c.pass(62 * time.Second)
	c.share(t)
	require.NoError(t, c.nodes[0].Allow(nil, caller, c.Now()), "the overshoot is forgotten with its window")
}

func TestCountsAreAbsolute(t *testing.T) {
	c, caller := newCluster(t, Config{PerMinute: 10}, 2), uuid.New()
	a, b := c.nodes[0], c.nodes[1]
	for range 4 {
		require.NoError(t, a.Allow(nil, caller, c.Now()))
		c.share(t)
		c.share(t)
	}
	for range 6 {
		require.NoError(t, b.Allow(nil, caller, c.Now()), "what was said several times counts once")
	}
	require.Error(t, b.Allow(nil, caller, c.Now()))
}

// broken is an exchange that takes the message and fails.
type broken struct{ inner Exchange }

var errAway = errors.New("away")

func (b *broken) Exchange(ctx context.Context, mine []byte, hear func(string, []byte)) error {
	if b.inner == nil {
		return errAway
	}
	return b.inner.Exchange(ctx, mine, hear)
}

func TestNodeLimitsAloneWithoutRedis(t *testing.T) {
	c, caller := newCluster(t, Config{PerMinute: 10}, 2), uuid.New()
	a, b := c.nodes[0], c.nodes[1]
	line := &broken{}
	whole := a.deps.Exchange
	a.deps.Exchange = line
	for range 6 {
		require.NoError(t, a.Allow(nil, caller, c.Now()))
		require.ErrorIs(t, a.Share(t.Context()), errAway)
		c.pass(time.Second)
	}
	require.NoError(t, b.Allow(nil, caller, c.Now()))
	line.inner = whole
	c.share(t)
	for range 3 {
		require.NoError(t, b.Allow(nil, caller, c.Now()))
	}
	require.Error(t, b.Allow(nil, caller, c.Now()), "what could not be said is said when Redis is back")
}

// Another Redis in its place starts with other message ids.
func TestRedisIsReplaced(t *testing.T) {
	c, caller := newCluster(t, Config{PerMinute: 10}, 2), uuid.New()
	require.NoError(t, c.nodes[0].Allow(nil, caller, c.Now()))
	c.share(t)
	c.cache.Flush()
	for range 5 {
		require.NoError(t, c.nodes[0].Allow(nil, caller, c.Now()))
		for range 2 {
			for _, l := range c.nodes {
				_ = l.Share(t.Context()) // a node that notices the other Redis says so once, and what it said again
			}
		}
	}
	for range 4 {
		require.NoError(t, c.nodes[1].Allow(nil, caller, c.Now()))
	}
	require.Error(t, c.nodes[1].Allow(nil, caller, c.Now()))
}

func TestMemoryIsBounded(t *testing.T) {
	l := alone(t, defaults())
	for range 2 * maxKeys * shards {
		require.NoError(t, l.Allow(nil, uuid.New(), start))
	}
	for _, s := range l.shards {
		require.LessOrEqual(t, s.meters.Len(), maxKeys)
	}
}

func TestAddressKeys(t *testing.T) {
	same := func(a, b string) bool { return addressKey(open, a) == addressKey(open, b) }
	require.True(t, same("192.0.2.1", "::ffff:192.0.2.1"))
	require.False(t, same("192.0.2.1", "192.0.2.2"))
	require.True(t, same("2001:db8:0:1::1", "2001:db8:0:1:ffff::2"), "a subscriber has a /64")
	require.False(t, same("2001:db8:0:1::1", "2001:db8:0:2::1"))
	k, other := addressKey(open, "192.0.2.1"), addressKey(benna, "192.0.2.1")
	require.NotEqual(t, k[1:], other[1:])
	require.NotContains(t, string(k[:]), "\xc0\x00\x02\x01", "addresses leave the process hashed only")
}

func TestMalformedMessagesAreIgnored(t *testing.T) {
	l := alone(t, defaults())
	rapid.Check(t, func(t *rapid.T) {
		l.hear(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "node"), rapid.SliceOf(rapid.Byte()).Draw(t, "data"))
	})
}

func BenchmarkAllow(b *testing.B) {
	l, reply := alone(b, Config{PerMinute: 1 << 30}), http.Header{}
	callers := make([]uuid.UUID, 1000)
	for i := range callers {
		callers[i] = uuid.New()
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if l.Allow(reply, callers[i%len(callers)], start.Add(time.Duration(i)*time.Millisecond)) != nil {
			b.Fatal("refused")
		}
		i++
	}
}
