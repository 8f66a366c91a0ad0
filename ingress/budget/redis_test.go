package budget_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/redis"
	"adnet/internal/testenv"
	"adnet/internal/token"
)

// Two nodes on a real Redis want ten times what a campaign has, from many requests at once, while
// the store is lost and rebuilt: together they serve exactly what there is.
func TestTwoNodesOnRedis(t *testing.T) {
	client, err := redis.Open(redis.Config{Addr: testenv.Redis(t), Prefix: "test-" + uuid.NewString()}, redis.Deps{})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	rooms, epochs := redis.NewRooms(client), redis.NewEpochs(client)
	const price = money.Micros(10)
	const ads = 2000
	c := perMille(price)
	require.Equal(t, ranker.CPM, c.Billing)
	room := reserve.Room{
		CampaignID: uuid.UUID(c.ID), AdvertiserID: uuid.UUID(c.Advertiser), Version: 1,
		Day:   day.Of(time.Now().Add(-2 * reserve.MaxClockSkew)),
		Daily: ads * price, Today: ads * price, Total: ads * price, Balance: ads*price + 5,
	}
	epoch := time.Now().Unix()
	// build is a projector's work: nodes have a second to say what they reserved before it grants.
	build := func(gather time.Duration) {
		epoch++
		require.NoError(t, rooms.PublishRooms(t.Context(), epoch, []reserve.Room{room}))
		current, err := epochs.Open(t.Context(), epoch)
		require.NoError(t, err)
		require.Equal(t, epoch, current)
		time.Sleep(gather)
		require.NoError(t, epochs.Grant(t.Context(), epoch))
	}
	build(0)
	stores := []*redis.Reservations{redis.NewReservations(client), redis.NewReservations(client)}
	a, b := start(t, stores[0], "a"), start(t, stores[1], "b")
	var count [2]atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i, n := range []*node{a, b} {
		for range 4 {
			clients.Go(func() {
				for ctx.Err() == nil {
					if _, ok := n.serve(t, c, false); ok {
						count[i].Add(1)
						time.Sleep(time.Millisecond)
					} else {
						time.Sleep(5 * time.Millisecond)
					}
				}
			})
		}
	}
	total := func() int64 { return count[0].Load() + count[1].Load() }
	require.Eventually(t, func() bool { return total() > ads/4 }, time.Minute, 5*time.Millisecond)
	build(time.Second) // as after a loss: the keys of another epoch hold nothing
	require.Eventually(t, func() bool { return total() == ads }, time.Minute, 5*time.Millisecond)
	time.Sleep(300 * time.Millisecond)
	cancel()
	clients.Wait()
	a.stop()
	b.stop()
	require.EqualValues(t, ads, total())
	require.Positive(t, count[0].Load())
	require.Positive(t, count[1].Load())
	out, err := stores[0].Outstanding(t.Context(), room.CampaignID.String())
	require.NoError(t, err)
	require.EqualValues(t, ads*price, out)
}

// sealedRooms is a node's view of Redis: the reservations, which any writer changes, and the rooms
// that the installation sealed.
type sealedRooms struct {
	*redis.Reservations
	rooms map[uuid.UUID]reserve.Room
}

func (s sealedRooms) Room(id uuid.UUID) (reserve.Room, bool) {
	room, known := s.rooms[id]
	return room, known
}

// What a writer to Redis without the keys of the installation can do, as SECURITY.md states: it makes
// no room for a campaign that has none, and raises what each node sells to the room at most, which is
// beyond it for all nodes together. The projection then writes the true rooms again.
func TestAWriterToRedisGivesANodeItsRoomAtMost(t *testing.T) {
	open, err := redis.Open(redis.Config{Addr: testenv.Redis(t), Prefix: "test-" + uuid.NewString()}, redis.Deps{})
	require.NoError(t, err)
	defer func() { require.NoError(t, open.Close()) }()
	key, err := token.NewKey("k1")
	require.NoError(t, err)
	seal, err := token.NewSeal([]token.Key{key})
	require.NoError(t, err)
	var refused atomic.Int64
	trusting := open.Trusting(redis.Trust{Seal: seal, Refused: func(string, error) { refused.Add(1) }})
	const price, ads = money.Micros(10), 50
	funded, without := perMille(price), perMille(price)
	room := func(id auction.ID, left money.Micros, version int64) reserve.Room {
		return reserve.Room{
			CampaignID: uuid.UUID(id), AdvertiserID: uuid.UUID(id), Version: version,
			Day:   day.Of(time.Now().Add(-2 * reserve.MaxClockSkew)),
			Daily: left, Today: left, Total: left, Balance: reserve.Unlimited,
		}
	}
	epoch := time.Now().Unix()
	rooms, epochs := redis.NewRooms(trusting), redis.NewEpochs(trusting)
	genuine := []reserve.Room{room(funded.ID, ads*price, 1), room(without.ID, 0, 1)}
	require.NoError(t, rooms.PublishRooms(t.Context(), epoch, genuine))
	_, err = epochs.Open(t.Context(), epoch)
	require.NoError(t, err)
	require.NoError(t, epochs.Grant(t.Context(), epoch))
	read := func() map[uuid.UUID]reserve.Room {
		all, err := rooms.All(t.Context())
		require.NoError(t, err)
		found := map[uuid.UUID]reserve.Room{}
		for _, r := range all {
			found[r.CampaignID] = r
		}
		return found
	}
	known := read()
	require.Len(t, known, 2)

	const wanted = 1000
	forged := []reserve.Room{room(funded.ID, wanted*price, 99), room(without.ID, wanted*price, 99)}
	require.NoError(t, redis.NewRooms(open).PublishRooms(t.Context(), epoch, forged))
	require.Empty(t, read())
	require.EqualValues(t, 2, refused.Load())
	sold := func(name string, c *auction.Campaign) (n int) {
		node := start(t, sealedRooms{redis.NewReservations(open), known}, name)
		defer node.stop()
		require.Eventually(t, func() bool { return node.Granting(time.Now()) }, time.Minute, 5*time.Millisecond)
		for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
			if _, ok := node.serve(t, c, false); ok {
				n++
			}
		}
		return n
	}
	require.Zero(t, sold("a", without))
	require.Equal(t, ads, sold("b", funded))
	require.Equal(t, ads, sold("c", funded), "another node has the room once more: settlement charges it once")

	require.NoError(t, rooms.PublishRooms(t.Context(), epoch, genuine))
	require.Equal(t, known, read(), "the projection repairs what was forged")
	require.Zero(t, sold("d", funded), "and the reservations count again")
}
