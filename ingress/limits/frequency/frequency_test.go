package frequency

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/store/redis"
	"adnet/internal/testenv"
)

var publisher = uuid.MustParse("33333333-3333-4333-8333-333333333333")

// shelf holds campaigns by their cap: the last byte of the id is the cap.
type shelf struct{}

func (shelf) FrequencyCap(id uuid.UUID) (int, bool) { return int(id[15]), true }

func capped(impressions byte) *auction.Campaign {
	return &auction.Campaign{ID: auction.ID{0: 1, 15: impressions}}
}

// onEveryRedis runs a test with the Redis in the process and with the real one.
func onEveryRedis(t *testing.T, run func(t *testing.T, client *redis.Client)) {
	open := func(t *testing.T, addr string) *redis.Client {
		client, err := redis.Open(redis.Config{Addr: addr, Prefix: "test-" + uuid.NewString()}, redis.Deps{})
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	t.Run("embedded", func(t *testing.T) {
		server, err := redis.NewEmbedded(redis.EmbeddedConfig{})
		require.NoError(t, err)
		require.NoError(t, server.Start())
		run(t, open(t, server.Addr()))
	})
	t.Run("redis", func(t *testing.T) { run(t, open(t, testenv.Redis(t))) })
}

// node makes the caps of one node whose time is now.
func node(t require.TestingT, cfg Config, client *redis.Client, now func() time.Time) *Caps {
	deps := Deps{Campaigns: shelf{}, Now: now}
	if client != nil {
		deps.Store, deps.Exchange = redis.NewSessions(client), redis.NewExchange(client, "frequency", uuid.NewString())
	}
	c, err := New(cfg, deps)
	require.NoError(t, err)
	return c
}

// noon is far enough from midnight for every test.
func noon() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour) }

var settings = Config{Pending: 10 * time.Minute, FirstTurn: 1, TurnGap: 1}

// show runs one auction for the campaign, and returns the id and whether the ad was shown.
func show(ctx context.Context, c *Caps, ask Ask, k *auction.Campaign) (id uuid.UUID, v Visit, visible bool) {
	c.Begin(ctx, ask, &v)
	id = auctionAt(ask.Now)
	if v.Wait() == 0 && v.Check(k) == "" {
		v.End(id, k)
		return id, v, true
	}
	v.End(id, nil)
	return id, v, false
}

// keyed is the key of a session of a test; token.Keyring makes the real ones. No id has none.
func keyed(developer uuid.UUID, session string, at time.Time) (k campaign.SessionKey) {
	if session == "" {
		return k
	}
	sum := sha256.Sum256(fmt.Append(nil, developer, day.Of(at), session))
	copy(k[:], sum[:])
	return k
}

func TestCapOfASession(t *testing.T) {
	now := noon()
	c := node(t, settings, nil, func() time.Time { return now })
	ask := func(session string) Ask { return Ask{Session: keyed(publisher, session, now), Now: now} }
	var ids []uuid.UUID
	for range 3 {
		id, _, visible := show(t.Context(), c, ask("s"), capped(3))
		require.True(t, visible)
		ids = append(ids, id)
	}
	_, v, visible := show(t.Context(), c, ask("s"), capped(3))
	require.False(t, visible, "the fourth in the session")
	seconds, turns := v.RetryAfter()
	require.InDelta(t, 600, seconds, 1, "when a decision runs out")
	require.Zero(t, turns)
	_, _, visible = show(t.Context(), c, ask("s"), capped(4))
	require.True(t, visible, "another campaign")
	_, _, visible = show(t.Context(), c, ask("other"), capped(3))
	require.True(t, visible, "another session")
	_, _, visible = show(t.Context(), c, Ask{Session: keyed(uuid.New(), "s", now), Now: now}, capped(3))
	require.True(t, visible, "the same id with another publisher")
	for range 10 {
		_, _, visible = show(t.Context(), c, ask(""), capped(3))
		require.True(t, visible, "without a session nothing is capped")
		_, _, visible = show(t.Context(), c, ask("s"), capped(0))
		require.True(t, visible, "0 is no cap")
	}

	// An unconfirmed exposure stops counting; a confirmed one, however often, counts once and for
	// the day.
	for range 3 {
		c.Confirm(keyed(publisher, "s", now), uuid.UUID(capped(3).ID), ids[0])
	}
	c.Confirm(keyed(publisher, "s", now), uuid.UUID(capped(3).ID), auctionAt(now)) // a beacon makes no decision
	now = now.Add(settings.Pending)
	for i := range 3 {
		_, v, visible = show(t.Context(), c, ask("s"), capped(3))
		require.Equal(t, i < 2, visible, i)
	}
	c.Confirm(keyed(publisher, "s", now), uuid.UUID(capped(3).ID), ids[1]) // late, and it was seen
	now = now.Add(settings.Pending)
	_, _, visible = show(t.Context(), c, ask("s"), capped(3))
	require.True(t, visible)
	_, _, visible = show(t.Context(), c, ask("s"), capped(3))
	require.False(t, visible)
	now = now.Add(24 * time.Hour)
	_, _, visible = show(t.Context(), c, ask("s"), capped(3))
	require.True(t, visible, "another day")
}

// When every impression is confirmed, a full cap has room again at midnight UTC.
func TestRetryAtMidnight(t *testing.T) {
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(23 * time.Hour)
	c := node(t, settings, nil, func() time.Time { return now })
	var v Visit
	c.Begin(t.Context(), Ask{Session: keyed(publisher, "s", now), Now: now}, &v)
	id := auctionAt(now)
	require.Empty(t, v.Check(capped(1)))
	v.End(id, capped(1))
	c.Confirm(keyed(publisher, "s", now), uuid.UUID(capped(1).ID), id)
	_, v, visible := show(t.Context(), c, Ask{Session: keyed(publisher, "s", now), Now: now}, capped(1))
	require.False(t, visible)
	seconds, _ := v.RetryAfter()
	require.Equal(t, 3600, seconds)
}

// auctionAt is an auction id of a moment.
func auctionAt(at time.Time) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return id
}

func TestConversation(t *testing.T) {
	now := noon()
	c := node(t, Config{Pending: time.Minute, FirstTurn: 3, TurnGap: 2}, nil, func() time.Time { return now })
	three, first := 3, 1
	counted := Ask{Session: keyed(publisher, "counted", now), Now: now}
	var at []int
	for turn := 1; turn <= 8; turn++ {
		_, v, visible := show(t.Context(), c, counted, capped(0))
		if visible {
			at = append(at, turn)
			continue
		}
		seconds, turns := v.RetryAfter()
		require.Equal(t, map[int]int{1: 2, 2: 1, 4: 1, 6: 1, 8: 1}[turn], turns, turn)
		require.Equal(t, 20*turns, seconds)
	}
	require.Equal(t, []int{3, 5, 7}, at)

	stated := Ask{Session: keyed(publisher, "stated", now), Now: now}
	for _, tc := range []struct {
		turn    int
		gap     *int
		visible bool
	}{
		{1, nil, false}, {4, nil, true}, {5, nil, false}, {6, nil, true}, {8, &three, false}, {9, &three, true},
		{10, &first, true},
	} {
		stated.Turn, stated.TurnGap = tc.turn, tc.gap
		_, _, visible := show(t.Context(), c, stated, capped(0))
		require.Equal(t, tc.visible, visible, tc)
	}
	_, _, visible := show(t.Context(), c, Ask{Turn: 2, Now: now}, capped(0))
	require.False(t, visible, "the first turn needs no session")
	_, _, visible = show(t.Context(), c, Ask{Now: now}, capped(0))
	require.True(t, visible, "nothing is known of the conversation")
	_, _, visible = show(t.Context(), c, Ask{Turn: 1, FirstTurn: &first, Now: now}, capped(0))
	require.True(t, visible, "the request's own rule")
}

// Two concurrent auctions of one session cannot both use the last impression under a cap.
func TestOneSessionInParallel(t *testing.T) {
	c := node(t, settings, nil, time.Now)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 64 {
		wg.Go(func() {
			if _, _, visible := show(
				t.Context(), c, Ask{Session: keyed(publisher, "s", noon()), Now: noon()}, capped(3),
			); visible {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, 3, won)
}

// A node that meets a session reads the earlier decisions of other nodes, and receives the later
// ones.
func TestNodesShareSessions(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *redis.Client) {
		now := noon()
		clock := func() time.Time { return now }
		a, b := node(t, settings, client, clock), node(t, settings, client, clock)
		ask := Ask{Session: keyed(publisher, "s", now), Now: now}
		id, _, visible := show(t.Context(), a, ask, capped(2))
		require.True(t, visible)
		require.NoError(t, a.Share(t.Context()))
		_, _, visible = show(t.Context(), b, ask, capped(2)) // read
		require.True(t, visible)
		_, _, visible = show(t.Context(), b, ask, capped(2))
		require.False(t, visible)
		require.NoError(t, b.Share(t.Context()))
		require.NoError(t, a.Share(t.Context()))
		_, _, visible = show(t.Context(), a, ask, capped(2)) // heard
		require.False(t, visible)

		// The impression reaches the other node; the decision of b is never seen.
		b.Confirm(keyed(publisher, "s", now), uuid.UUID(capped(2).ID), id)
		b.Confirm(keyed(publisher, "s", now), uuid.UUID(capped(2).ID), id)
		b.Confirm(keyed(publisher, "forged", now), uuid.UUID(capped(2).ID), id)
		now = now.Add(beaconDelay)
		require.NoError(t, b.Share(t.Context()))
		require.NoError(t, a.Share(t.Context()))
		now = now.Add(settings.Pending)
		ask.Now = now
		third := node(t, settings, client, clock)
		for name, c := range map[string]*Caps{"heard": a, "read": third} {
			var v Visit
			c.Begin(t.Context(), ask, &v)
			require.Empty(t, v.Check(capped(2)), name)
			require.Equal(t, 1, counted(v.session.exposures[capped(2).ID], now), name)
			v.End(uuid.Nil, nil)
		}
		found, _, err := redis.NewSessions(client).Session(t.Context(), keyed(publisher, "forged", time.Unix(0, 0)), 0)
		require.NoError(t, err)
		require.Empty(t, found, "a beacon makes no session")
	})
}

// lossy is a store that can be away. It answers late rather than not at all: a busy machine must
// not make an outage that the test did not draw.
type lossy struct {
	Store
	exchange Exchange
	away     bool
}

var errAway = errors.New("away")

func (l *lossy) Session(ctx context.Context, k campaign.SessionKey, day int32) ([]campaign.Exposure, int, error) {
	if l.away {
		return nil, 0, errAway
	}
	return l.Store.Session(context.WithoutCancel(ctx), k, day)
}

func (l *lossy) Record(ctx context.Context, list []campaign.Exposure) error {
	if l.away {
		return errAway
	}
	return l.Store.Record(context.WithoutCancel(ctx), list)
}

func (l *lossy) Exchange(ctx context.Context, mine []byte, hear func(node string, data []byte)) error {
	return l.exchange.Exchange(context.WithoutCancel(ctx), mine, hear)
}

// TestProperty generates histories of two nodes that share a Redis, with news exchanged, delayed or
// lost for a while, and checks them against a model with complete information.
func TestProperty(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *redis.Client) {
		rapid.Check(t, func(r *rapid.T) {
			now := noon()
			clock := func() time.Time { return now }
			nodes := make([]*Caps, 2)
			stores := make([]*lossy, 2)
			stream := uuid.NewString() // else the nodes read the news of all histories before
			for i := range nodes {
				nodes[i] = node(r, Config{Pending: time.Minute, FirstTurn: 1, TurnGap: 1}, client, clock)
				stores[i] = &lossy{
					Store: nodes[i].deps.Store, exchange: redis.NewExchange(client, stream, uuid.NewString()),
				}
				nodes[i].deps.Store, nodes[i].deps.Exchange = stores[i], stores[i]
			}
			sessions := []string{uuid.NewString(), uuid.NewString()}
			type decision struct {
				session   string
				id        uuid.UUID
				campaign  *auction.Campaign
				at        time.Time
				confirmed bool
			}
			var all []*decision
			counting := func(session string, k *auction.Campaign) (n int) {
				for _, d := range all {
					if d.session == session && d.campaign.ID == k.ID &&
						(d.confirmed || now.Sub(d.at) < time.Minute-time.Second) {
						n++
					}
				}
				return n
			}
			settle := func() {
				for range 2 {
					for _, c := range nodes {
						require.NoError(r, c.Share(t.Context()))
					}
				}
			}
			for range rapid.IntRange(1, 40).Draw(r, "steps") {
				switch rapid.IntRange(0, 5).Draw(r, "what") {
				case 0, 1, 2: // a request; the news had time before it
					session := rapid.SampledFrom(sessions).Draw(r, "session")
					k := capped(byte(rapid.IntRange(1, 3).Draw(r, "cap")))
					before := counting(session, k)
					id := auctionAt(now)
					c := nodes[rapid.IntRange(0, 1).Draw(r, "node")]
					var v Visit
					c.Begin(t.Context(), Ask{Session: keyed(publisher, session, now), Now: now}, &v)
					refused := v.Check(k) != ""
					if refused {
						v.End(id, nil)
						require.GreaterOrEqual(r, before+countIf(all, func(d *decision) bool {
							return d.session == session && d.campaign.ID == k.ID && !d.confirmed &&
								now.Sub(d.at) < time.Minute && now.Sub(d.at) >= time.Minute-time.Second
						}), int(k.ID[15]), "refused with room")
					} else {
						v.End(id, k)
						require.Less(r, before, int(k.ID[15]), "shown above the cap")
						all = append(all, &decision{session: session, id: id, campaign: k, at: now})
					}
					settle()
				case 3: // an impression, in time, perhaps again
					if len(all) > 0 {
						d := rapid.SampledFrom(all).Draw(r, "impression")
						if d.confirmed || now.Sub(d.at) < time.Minute-2*time.Second {
							nodes[rapid.IntRange(0, 1).Draw(r, "node")].Confirm(
								keyed(publisher, d.session, now), uuid.UUID(d.campaign.ID), d.id,
							)
							d.confirmed = true
							now = now.Add(beaconDelay)
							settle()
						}
					}
				case 4:
					now = now.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(r, "ms")) * time.Millisecond)
				case 5: // Redis was away for one of them
					at := rapid.IntRange(0, 1).Draw(r, "node")
					stores[at].away = true
					require.ErrorIs(r, nodes[at].Share(t.Context()), errAway)
					stores[at].away = false
					settle()
				}
			}
			// Never more confirmed than the cap.
			for _, session := range sessions {
				for n := byte(1); n <= 3; n++ {
					seen := 0
					for _, d := range all {
						if d.session == session && d.campaign.ID == capped(n).ID && d.confirmed {
							seen++
						}
					}
					require.LessOrEqual(r, seen, int(n), fmt.Sprint("confirmed in ", session))
				}
			}
		})
	})
}

func countIf[T any](all []T, which func(T) bool) (n int) {
	for _, x := range all {
		if which(x) {
			n++
		}
	}
	return n
}

// Two isolated nodes show a campaign at most cap times each. Their decisions merge afterwards.
func TestOvershootIsBoundedByTheNumberOfNodes(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *redis.Client) {
		nodes := []*Caps{node(t, settings, client, time.Now), node(t, settings, client, time.Now)}
		ask := Ask{Session: keyed(publisher, uuid.NewString(), noon()), Now: noon()}
		views := 0
		for i := range 20 {
			if _, _, ok := show(t.Context(), nodes[i%2], ask, capped(3)); ok {
				views++
			}
		}
		require.Equal(t, 6, views)
		for range 2 {
			for _, c := range nodes {
				require.NoError(t, c.Share(t.Context()))
			}
		}
		for _, c := range nodes {
			_, _, ok := show(t.Context(), c, ask, capped(5))
			require.True(t, ok)
			require.Len(t, c.shards[ask.Session[0]%shards].sessions.Values()[0].exposures[capped(3).ID], 6)
		}
	})
}

// Without Redis a node uses its own counts, and does not wait for Redis on every request.
func TestStoreAway(t *testing.T) {
	c, err := New(settings, Deps{Campaigns: shelf{}, Store: &lossy{away: true}, Exchange: nil})
	require.NoError(t, err)
	for i := range 4 {
		_, _, visible := show(t.Context(), c, Ask{Session: keyed(publisher, "s", noon()), Now: noon()}, capped(3))
		require.Equal(t, i < 3, visible)
	}
	require.Positive(t, c.rest.Load())
}

func TestSettings(t *testing.T) {
	for _, cfg := range []Config{
		{}, {Pending: 25 * time.Hour}, {Pending: time.Minute, FirstTurn: -1},
		{Pending: time.Minute, TurnGap: MaxTurn + 1},
	} {
		_, err := New(cfg, Deps{})
		require.Error(t, err, cfg)
	}
}

type same int

func (s same) FrequencyCap(uuid.UUID) (int, bool) { return int(s), true }

// BenchmarkVisit measures the cost of a session on a node that has it in memory.
func BenchmarkVisit(b *testing.B) {
	c, err := New(settings, Deps{Campaigns: same(255)})
	require.NoError(b, err)
	k, now := capped(255), time.Now()
	id := auctionAt(now)
	b.ReportAllocs()
	var v Visit
	for range 3 {
		c.Begin(b.Context(), Ask{Session: keyed(publisher, "0123456789abcdef", now), Now: now}, &v)
		v.End(uuid.Must(uuid.NewV7()), k)
	}
	for b.Loop() {
		c.Begin(b.Context(), Ask{Session: keyed(publisher, "0123456789abcdef", now), Now: now}, &v)
		_ = v.Check(k)
		v.End(id, nil)
	}
}

func counted(displayed []exposure, now time.Time) int {
	return countIf(displayed, func(e exposure) bool { return e.counts(now.Unix()) })
}
