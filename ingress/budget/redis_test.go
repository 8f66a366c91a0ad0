package budget_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction/ranker"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/redis"
	"adnet/internal/reserve"
	"adnet/internal/testenv"
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
