package redis

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/testenv"
)

const testTimeout = 30 * time.Second // only bounds a test that hangs

// onEveryRedis runs a case on the server in the process and on a real one, each with keys of its
// own.
func onEveryRedis(t *testing.T, run func(t *testing.T, client *Client)) {
	open := func(t *testing.T, addr string) *Client {
		t.Helper()
		client, err := Open(Config{Addr: addr, Prefix: "test-" + uuid.NewString()}, Deps{})
		require.NoError(t, err)
		t.Cleanup(func() {
			empty(t, client)
			require.NoError(t, client.Close())
		})
		require.NoError(t, client.Ping(t.Context()))
		return client
	}
	t.Run("embedded", func(t *testing.T) { run(t, open(t, startEmbedded(t))) })
	t.Run("redis", func(t *testing.T) { run(t, open(t, testenv.Redis(t))) })
}

func startEmbedded(t *testing.T) (addr string) {
	t.Helper()
	e, err := NewEmbedded(EmbeddedConfig{})
	require.NoError(t, err)
	require.Empty(t, e.Addr())
	require.NoError(t, e.Start())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // clean-up functions still need it
	ended := make(chan error, 1)
	addr = e.Addr()
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	return addr
}

// catalog is everything that a projector and the nodes see together.
type catalog struct {
	Projection
	*Nodes
}

func newCatalog(client *Client) catalog {
	return catalog{NewProjection(client), NewNodes(client)}
}

// empty removes every key of the test, as a flushed or lost Redis would.
func empty(t *testing.T, client *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	defer cancel()
	scan := client.rdb.Scan(ctx, 0, client.cfg.Prefix+":*", 1000).Iterator()
	for scan.Next(ctx) {
		require.NoError(t, client.rdb.Del(ctx, scan.Val()).Err())
	}
	require.NoError(t, scan.Err())
}

func someCampaign(version int64) campaign.Campaign {
	roas := 3 * money.USD
	c := campaign.Campaign{
		ID: uuid.New(), AdvertiserID: uuid.New(), Name: "Ärger & <b>Spaß</b> \u2028", Status: campaign.Active,
		Creative:     campaign.Creative{Format: campaign.Native, Headline: `say "hi"`},
		BillingModel: campaign.CPM, BidAmount: 3_370_001,
		DailyBudget: 10 * money.USD, TotalBudget: money.Max, TargetROAS: &roas, Goal: campaign.GoalManual,
		Targeting:     campaign.Targeting{IntentTokens: []string{"buy shoes", "läufer"}, Regions: []string{"de"}},
		ConfigVersion: version,
		CreatedAt:     time.Date(2026, 9, 1, 12, 0, 0, 123456000, time.UTC),
		UpdatedAt:     time.Date(2026, 9, 2, 12, 0, 0, 0, time.UTC),
	}
	c.Normalize() // as every store keeps it
	return c
}

func byID(list []campaign.Campaign) map[uuid.UUID]campaign.Campaign {
	found := make(map[uuid.UUID]campaign.Campaign, len(list))
	for _, c := range list {
		found[c.ID] = c
	}
	return found
}

// subscribe listens until the end of the test; it returns when the subscription stands.
func subscribe(t *testing.T, catalog catalog, apply func(Change)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- catalog.Subscribe(ctx, func(c Change) {
			if c.Ready {
				close(ready)
				return
			}
			apply(c)
		})
	}()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-ended, context.Canceled) })
	await(t, ready, "subscription")
}

func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(testTimeout):
		require.Fail(t, what+" did not come")
		panic("unreachable")
	}
}

func TestCampaignsComeBackAsTheyWere(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		writer, reader := newCatalog(client), newCatalog(client)
		a, b := someCampaign(1), someCampaign(2)
		b.Review = &campaign.Review{Decision: "rejected", Notes: "n", ReviewerID: uuid.New(), At: a.CreatedAt}
		b.PolicyViolations = []campaign.Violation{{Rule: "r", Field: "headline", Message: "m"}}
		require.NoError(t, writer.PublishCampaigns(t.Context(), []campaign.Campaign{a, b}, 2))

		all, head, err := reader.Campaigns.All(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, head)
		require.Equal(t, []campaign.Campaign{a, b}, all)

		since, head, err := reader.CampaignsSince(t.Context(), 1)
		require.NoError(t, err)
		require.EqualValues(t, 2, head)
		require.Equal(t, []campaign.Campaign{b}, since)
	})
}

func TestOlderNeverOverwritesNewer(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		old := someCampaign(7)
		fresh := old.Clone()
		fresh.ConfigVersion, fresh.Status = 9, campaign.Paused
		require.NoError(t, catalog.PublishCampaigns(t.Context(), []campaign.Campaign{fresh}, 9))
		require.NoError(t, catalog.PublishCampaigns(t.Context(), []campaign.Campaign{old}, 7))
		_, err := catalog.Announce(t.Context(), old)
		require.NoError(t, err)

		all, head, err := catalog.Campaigns.All(t.Context())
		require.NoError(t, err)
		require.Equal(t, []campaign.Campaign{fresh}, all)
		require.EqualValues(t, 9, head, "the head went down")
	})
}

func TestOnlyNewVersionsAreTold(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		reported := make(chan Change, 10)
		subscribe(t, newCatalog(client), func(c Change) { reported <- c })
		first, last := someCampaign(1), someCampaign(2)
		require.NoError(t, catalog.PublishCampaigns(t.Context(), []campaign.Campaign{first}, 1))
		require.NoError(t, catalog.PublishCampaigns(t.Context(), []campaign.Campaign{first, last}, 2))
		require.Equal(t, Change{Campaign: &first}, await(t, reported, "first change"))
		require.Equal(t, Change{Campaign: &last}, await(t, reported, "second change"))
	})
}

func TestHeadNoticesALostCatalog(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		writer, node := newCatalog(client), newCatalog(client)
		_, found, err := node.Head(t.Context())
		require.NoError(t, err)
		require.False(t, found)
		first, two := someCampaign(1), someCampaign(2)
		require.NoError(t, writer.PublishCampaigns(t.Context(), []campaign.Campaign{first}, 1))
		head, found, err := node.Head(t.Context())
		require.NoError(t, err)
		require.True(t, found)
		require.EqualValues(t, 1, head)

		empty(t, client)
		// A change alone must not look like a whole catalog, neither published nor announced,
		// however often.
		require.ErrorIs(t, writer.PublishCampaigns(t.Context(), []campaign.Campaign{two}, 2), ErrLost)
		require.ErrorIs(t, writer.PublishCampaigns(t.Context(), []campaign.Campaign{two}, 2), ErrLost)
		_, err = writer.Announce(t.Context(), two)
		require.NoError(t, err)
		_, found, err = node.Head(t.Context())
		require.NoError(t, err)
		require.False(t, found)

		_, found, err = writer.Head(t.Context())
		require.NoError(t, err)
		require.False(t, found)
		require.NoError(t, writer.PublishCampaigns(t.Context(), []campaign.Campaign{first, two}, 2))
		head, found, err = node.Head(t.Context())
		require.NoError(t, err)
		require.True(t, found)
		require.EqualValues(t, 2, head)
		all, _, err := node.Campaigns.All(t.Context())
		require.NoError(t, err)
		require.Equal(t, []campaign.Campaign{first, two}, all)
	})
}

// Pages are used again: nothing of an earlier campaign may show in a later one.
func TestPagesHoldWhatListsHold(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		const n = (readers + 2) * readChunk
		list := make([]campaign.Campaign, n)
		for i := range list {
			list[i] = someCampaign(int64(i + 1))
			if i%3 == 1 { // not at the same places of every page
				list[i].Review = &campaign.Review{Decision: "approved", ReviewerID: uuid.New(), At: list[i].CreatedAt}
			}
		}
		require.NoError(t, catalog.PublishCampaigns(t.Context(), list, n))
		var all []campaign.Campaign
		head, err := catalog.EachCampaign(t.Context(), func(page []campaign.Campaign) { all = append(all, page...) })
		require.NoError(t, err)
		require.EqualValues(t, n, head)
		require.Len(t, all, n)
		got := byID(all)
		for i := range list {
			require.Equal(t, list[i], got[list[i].ID])
		}
	})
}

func TestARebuildBetweenTwoLooksIsNoticed(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		writer, other, node := newCatalog(client), newCatalog(client), newCatalog(client)
		list := []campaign.Campaign{someCampaign(1)}
		require.NoError(t, writer.PublishCampaigns(t.Context(), list, 1))
		_, found, err := node.Head(t.Context())
		require.NoError(t, err)
		require.True(t, found)

		empty(t, client)
		require.NoError(t, other.PublishCampaigns(t.Context(), list, 1))
		_, found, err = node.Head(t.Context())
		require.NoError(t, err)
		require.False(t, found, "another catalog was taken for the same")
		_, found, err = node.Head(t.Context())
		require.NoError(t, err)
		require.True(t, found)
		require.ErrorIs(t, writer.PublishCampaigns(t.Context(), nil, 1), ErrLost)
	})
}

func TestAnnounceWithoutNodesIsDone(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		all, err := newCatalog(client).Announce(t.Context(), someCampaign(1))
		require.NoError(t, err)
		require.True(t, all)
	})
}

func TestAnnounceMovesTheHeadOnlyByOne(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		head := func() int64 {
			head, found, err := catalog.Head(t.Context())
			require.NoError(t, err)
			require.True(t, found)
			return head
		}
		require.NoError(t, catalog.PublishCampaigns(t.Context(), nil, 5))
		_, err := catalog.Announce(t.Context(), someCampaign(7))
		require.NoError(t, err)
		require.EqualValues(t, 5, head(), "version 6 may be missing")
		_, err = catalog.Announce(t.Context(), someCampaign(6))
		require.NoError(t, err)
		require.EqualValues(t, 6, head())
	})
}

func TestPauseReachesEveryNodeBeforeAnnounceReturns(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		running := someCampaign(1)
		require.NoError(t, catalog.PublishCampaigns(t.Context(), []campaign.Campaign{running}, 1))
		var stopped atomic.Int32
		for _, name := range []string{"a", "b", "c"} {
			node := newCatalog(client)
			require.NoError(t, node.Heartbeat(t.Context(), name, 1))
			subscribe(t, node, func(c Change) {
				if c.Campaign != nil && c.Confirm {
					require.False(t, c.Campaign.Delivers())
					stopped.Add(1)
					require.NoError(t, node.Applied(context.WithoutCancel(t.Context()), name, c.Campaign.ConfigVersion))
				}
			})
		}
		paused := running.Clone()
		paused.Status, paused.ConfigVersion = campaign.Paused, 2
		all, err := catalog.Announce(t.Context(), paused)
		require.NoError(t, err)
		require.True(t, all)
		require.EqualValues(t, 3, stopped.Load())
	})
}

func TestAnnounceGivesUpOnASilentNode(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		require.NoError(t, catalog.Heartbeat(t.Context(), "silent", 1))
		require.NoError(t, catalog.Heartbeat(t.Context(), "good", 1))
		require.NoError(t, catalog.Applied(t.Context(), "good", 2))
		all, err := catalog.Announce(t.Context(), someCampaign(2))
		require.NoError(t, err)
		require.False(t, all)
		stored, _, err := catalog.Campaigns.All(t.Context())
		require.NoError(t, err)
		require.Len(t, stored, 1, "the change has to be published all the same")

		require.NoError(t, catalog.Leave(t.Context(), "silent"))
		require.NoError(t, catalog.Applied(t.Context(), "good", 3))
		all, err = catalog.Announce(t.Context(), someCampaign(3))
		require.NoError(t, err)
		require.True(t, all)
	})
}

func TestANodeThatCaughtUpByTheHeadCounts(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		require.NoError(t, catalog.Heartbeat(t.Context(), "reconnecting", 1))
		caughtUp := make(chan error, 1)
		subscribe(t, newCatalog(client), func(c Change) {
			if c.Confirm {
				caughtUp <- catalog.Heartbeat(
					context.WithoutCancel(t.Context()), "reconnecting", c.Campaign.ConfigVersion,
				)
			}
		})
		all, err := catalog.Announce(t.Context(), someCampaign(2))
		require.NoError(t, err)
		require.NoError(t, await(t, caughtUp, "heartbeat"))
		require.True(t, all)
	})
}

func TestANodeWithoutHeartbeatIsForgotten(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		require.NoError(t, catalog.Heartbeat(t.Context(), "dead", 1))
		// Its last heartbeat was longer ago than a node lives.
		require.NoError(
			t, client.rdb.ZIncrBy(t.Context(), client.keys.nodes, -float64(nodeLife.Milliseconds()), "dead").Err(),
		)
		all, err := catalog.Announce(t.Context(), someCampaign(2))
		require.NoError(t, err)
		require.True(t, all)

		require.NoError(
			t, client.rdb.ZIncrBy(t.Context(), client.keys.nodes, -float64(nodeMemory.Milliseconds()), "dead").Err(),
		)
		require.NoError(t, catalog.Heartbeat(t.Context(), "alive", 1))
		require.Equal(t, map[string]string{"alive": "1"}, client.rdb.HGetAll(t.Context(), client.keys.applied).Val())
	})
}

func TestRoomsAreAbsoluteAndVersioned(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog := newCatalog(client)
		reported := make(chan Change, 10)
		subscribe(t, newCatalog(client), func(c Change) { reported <- c })
		first := reserve.Room{
			CampaignID: uuid.New(), Version: math.MaxInt64 - 1, Day: day.Of(time.Now()), Daily: 5, Today: 3, Total: 9,
			Balance: math.MaxInt64,
		}
		other := reserve.Room{CampaignID: uuid.New(), Version: 9, Day: day.Of(time.Now())}
		require.NoError(t, catalog.PublishRooms(t.Context(), 0, []reserve.Room{first, other}))
		require.Equal(t, Change{Rooms: []reserve.Room{first, other}}, await(t, reported, "rooms"))

		newer, older := first, first
		newer.Version, newer.Today = math.MaxInt64, 1
		older.Version, older.Today = 100, 5
		grown := other
		grown.Version, grown.Total = 10, 7
		require.NoError(t, catalog.PublishRooms(t.Context(), 0, []reserve.Room{newer, grown}))
		require.NoError(t, catalog.PublishRooms(t.Context(), 0, []reserve.Room{older, first, other}))
		require.Equal(t, Change{Rooms: []reserve.Room{newer, grown}}, await(t, reported, "newer rooms"))
		rooms, err := NewRooms(client).All(t.Context())
		require.NoError(t, err)
		require.ElementsMatch(t, []reserve.Room{newer, grown}, rooms)
		require.Empty(t, reported, "refused rooms were told")
		require.Error(t, catalog.PublishRooms(t.Context(), 0, []reserve.Room{{Version: -1}}))
	})
}

func TestTenThousandCampaignsLoad(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		const n = 10_000
		catalog := newCatalog(client)
		list := make([]campaign.Campaign, n)
		rooms, today := make([]reserve.Room, n), day.Of(time.Now())
		for i := range list {
			list[i] = someCampaign(int64(i + 1))
			rooms[i] = reserve.Room{CampaignID: list[i].ID, Version: int64(i), Day: today}
		}
		require.NoError(t, catalog.PublishCampaigns(t.Context(), list, n))
		require.NoError(t, catalog.PublishRooms(t.Context(), 0, rooms))
		began := time.Now()
		all, head, err := NewCampaigns(client).All(t.Context())
		require.NoError(t, err)
		t.Logf("%d campaigns in %v", n, time.Since(began))
		require.EqualValues(t, n, head)
		require.Equal(t, byID(list), byID(all))
		back, err := catalog.Rooms.All(t.Context())
		require.NoError(t, err)
		require.Equal(t, versions(rooms), versions(back))
	})
}

func versions(rooms []reserve.Room) map[uuid.UUID]int64 {
	found := make(map[uuid.UUID]int64, len(rooms))
	for _, r := range rooms {
		found[r.CampaignID] = r.Version
	}
	return found
}

func TestSeenIsFirstOnceWhileItLives(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		first, err := client.Seen(t.Context(), "deposit-1", 50*time.Millisecond)
		require.NoError(t, err)
		require.True(t, first)
		again, err := client.Seen(t.Context(), "deposit-1", 50*time.Millisecond)
		require.NoError(t, err)
		require.False(t, again)
		require.Eventually(t, func() bool {
			first, err := client.Seen(t.Context(), "deposit-1", time.Minute)
			return err == nil && first
		}, testTimeout, 10*time.Millisecond, "the mark outlived its life")
	})
}

func TestUnreachableRedisNamesTheSetting(t *testing.T) {
	client, err := Open(Config{Addr: "127.0.0.1:1"}, Deps{})
	require.NoError(t, err)
	defer client.Close()
	catalog := newCatalog(client)
	_, _, headErr := catalog.Head(t.Context())
	_, announceErr := catalog.Announce(t.Context(), someCampaign(1))
	for _, err := range []error{
		client.Ping(t.Context()), headErr, announceErr, catalog.Subscribe(t.Context(), func(Change) {}),
	} {
		require.True(t, errs.Is(err, errs.Unavailable))
		require.ErrorContains(t, err, "ADNET_REDIS_ADDR")
		require.False(t, strings.Contains(errs.Of(err).Message, "127.0.0.1"), "callers are told an address")
	}
	_, err = Open(Config{}, Deps{})
	require.ErrorContains(t, err, "ADNET_REDIS_ADDR")
	_, err = Open(Config{Addr: "127.0.0.1:1", Prefix: "{a}"}, Deps{})
	require.ErrorContains(t, err, "ADNET_REDIS_PREFIX")
}

func TestSubscribeEndsWhenTheConnectionIsLost(t *testing.T) {
	e, err := NewEmbedded(EmbeddedConfig{})
	require.NoError(t, err)
	require.NoError(t, e.Start())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	client, err := Open(Config{Addr: e.Addr()}, Deps{})
	require.NoError(t, err)
	defer client.Close()
	go func() { served <- e.Run(ctx) }()

	before := goleak.IgnoreCurrent()
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- newCatalog(client).Subscribe(t.Context(), func(c Change) { close(ready) })
	}()
	await(t, ready, "subscription")
	cancel()
	require.NoError(t, await(t, served, "end of the server"))
	require.True(t, errs.Is(await(t, ended, "end of the subscription"), errs.Unavailable))
	goleak.VerifyNone(t, before)
}

func TestEmbeddedPortTakenIsNamed(t *testing.T) {
	addr := startEmbedded(t)
	var port int
	_, err := fmt.Sscanf(addr, "127.0.0.1:%d", &port)
	require.NoError(t, err)
	second, err := NewEmbedded(EmbeddedConfig{Port: port})
	require.NoError(t, err)
	require.ErrorContains(t, second.Start(), "ADNET_EMBEDDED_REDIS_PORT")
}

func BenchmarkLoadCampaigns(b *testing.B) {
	const n = 100_000
	client, err := Open(Config{Addr: testenv.Redis(b), Prefix: "bench-" + uuid.NewString()}, Deps{})
	require.NoError(b, err)
	defer client.Close()
	catalog := newCatalog(client)
	list := make([]campaign.Campaign, n)
	for i := range list {
		list[i] = someCampaign(int64(i + 1))
	}
	require.NoError(b, catalog.PublishCampaigns(b.Context(), list, n))
	defer client.rdb.Del(
		context.WithoutCancel(b.Context()), client.keys.objects, client.keys.versions, client.keys.head,
		client.keys.epoch,
	)
	for b.Loop() {
		all, _, err := catalog.Campaigns.All(b.Context())
		require.NoError(b, err)
		require.Len(b, all, n)
	}
}
