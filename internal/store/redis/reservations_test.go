package redis

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/ingress/budget/budgettest"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// opened is a store of reservations that has been open for long.
func opened(t testing.TB, client *Client, epoch int64) (catalog, *Reservations) {
	t.Helper()
	catalog, reservations := newCatalog(client), NewReservations(client)
	current, err := catalog.Open(t.Context(), epoch)
	require.NoError(t, err)
	require.Equal(t, epoch, current)
	openNow(t, client)
	return catalog, reservations
}

// openNow ends the time in which nodes say what they hold.
func openNow(t testing.TB, client *Client) {
	t.Helper()
	require.NoError(t, client.rdb.HSet(t.Context(), client.keys.reservations, "opens", 0).Err())
}

func roomFor(id uuid.UUID, left money.Micros) reserve.Room {
	return reserve.Room{
		CampaignID: id, AdvertiserID: uuid.New(), Version: 1, Day: day.Of(time.Now().Add(-2 * reserve.MaxClockSkew)),
		Daily: left, Today: left, Total: left, Balance: reserve.Unlimited,
	}
}

func requestOf(r reserve.Room, held money.Micros) reserve.LeaseRequest {
	return reserve.LeaseRequest{
		CampaignID: r.CampaignID, AdvertiserID: r.AdvertiserID, Minute: day.MinuteOf(time.Now()), Window: 60,
		Amount: held, Least: 1, Step: 1, Price: 1,
	}
}

func TestReservationsAreTheReference(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		rapid.Check(t, func(t *rapid.T) {
			prefix := "test-" + uuid.NewString()
			compare(t, &Client{cfg: Config{Prefix: prefix}, log: client.log, rdb: client.rdb, keys: keysOf(prefix)})
		})
	})
}

// compare plays a random history on Redis and on the reference. The beat's minute is fixed in both
// by hand, so that the real clock decides nothing.
func compare(t *rapid.T, client *Client) {
	ctx := context.Background()
	defer func() {
		keys := client.rdb.Keys(ctx, client.cfg.Prefix+":*").Val()
		client.rdb.Del(ctx, keys...)
	}()
	model := &budgettest.Store{Now: func() time.Time { return time.Now().Add(-time.Hour) }}
	catalog, store := newCatalog(client), NewReservations(client)
	_, err := catalog.Open(ctx, 7)
	require.NoError(t, err)
	model.Open(7)
	model.Now = time.Now
	require.NoError(t, client.rdb.HSet(ctx, client.keys.reservations, "opens", 0).Err())
	now := day.MinuteOf(time.Now())
	setBeat := func(m day.Minute) {
		model.Beat(m.Time())
		require.NoError(t, client.rdb.HSet(ctx, client.keys.reservations, "beat", m.Time().UnixMilli()).Err())
	}
	setBeat(now)
	amount := rapid.Custom(
		func(t *rapid.T) money.Micros { return money.Micros(rapid.Int64Range(0, 60).Draw(t, "amount")) },
	)
	var rooms []reserve.Room
	owner := uuid.New()
	for i := range 3 {
		r := reserve.Room{
			CampaignID: uuid.New(), AdvertiserID: owner, Version: 1,
			Day:   day.Of(time.Now().Add(-2*reserve.MaxClockSkew)) + day.Day(rapid.IntRange(0, 1).Draw(t, "day")),
			Daily: amount.Draw(t, "daily"), Total: amount.Draw(t, "total"), Balance: reserve.Unlimited,
		}
		if r.Today = min(r.Daily, amount.Draw(t, "today")); i > 0 {
			r.Balance = 50
		}
		rooms = append(rooms, r)
	}
	nodes, seqs := []string{"a", "b"}, map[string]int64{}
	released := map[day.Minute]money.Micros{}
	t.Repeat(map[string]func(*rapid.T){
		"publish": func(t *rapid.T) {
			r := &rooms[rapid.IntRange(0, 2).Draw(t, "room")]
			r.Version += rapid.Int64Range(-1, 2).Draw(t, "version")
			r.Version = max(r.Version, 0)
			if r.Balance != reserve.Unlimited {
				r.Balance = amount.Draw(t, "balance")
			}
			r.Total, r.Released = amount.Draw(t, "left"), nil
			r.Open = amount.Draw(t, "open")
			for range rapid.IntRange(0, 2).Draw(t, "releases") {
				minute := now - day.Minute(rapid.IntRange(0, 70).Draw(t, "minute"))
				released[minute] += 1 + amount.Draw(t, "released")/4
				r.Released = append(
					r.Released, reserve.Released{CampaignID: r.CampaignID, Minute: minute, Amount: released[minute]},
				)
			}
			model.Publish(*r)
			require.NoError(t, catalog.PublishRooms(ctx, 7, []reserve.Room{*r}))
		},
		"beat": func(t *rapid.T) { setBeat(now + day.Minute(rapid.IntRange(0, 80).Draw(t, "minutes"))) },
		"exchange": func(t *rapid.T) {
			node := rapid.SampledFrom(nodes).Draw(t, "node")
			seqs[node] += rapid.Int64Range(0, 1).Draw(t, "seq")
			call := reserve.Call{Node: node, Epoch: 7, Seq: seqs[node]}
			exact := rapid.IntRange(0, 3).Draw(t, "in its name") == 0
			if exact {
				call.Seq = 0
			}
			for range rapid.IntRange(0, 3).Draw(t, "requests") {
				r := rapid.SampledFrom(rooms).Draw(t, "room")
				call.Requests = append(call.Requests, reserve.LeaseRequest{
					CampaignID: r.CampaignID, AdvertiserID: r.AdvertiserID,
					Minute: now - day.Minute(rapid.IntRange(0, 3).Draw(t, "ago")*17),
					Window: rapid.SampledFrom([]int64{5, 60}).Draw(t, "window"), Bid: rapid.Bool().Draw(t, "bid"),
					Amount: amount.Draw(t, "held"),
					Exact:  exact || rapid.IntRange(0, 3).Draw(t, "exact") == 0, Least: amount.Draw(t, "least"),
					Step: 1 + amount.Draw(t, "step")/10, Price: amount.Draw(t, "price"),
				})
			}
			want, err := model.Exchange(ctx, call)
			require.NoError(t, err)
			got, err := store.Exchange(ctx, call)
			require.NoError(t, err)
			got.Idle = want.Idle // of the beat that is set by hand
			if len(want.Granted) == 0 {
				want.Granted = []reserve.LeaseGrant{}
			}
			require.Equal(t, want, got)
		},
	})
	for _, r := range rooms {
		out, err := store.Outstanding(ctx, r.CampaignID.String())
		require.NoError(t, err)
		require.Equal(t, model.Outstanding(r.CampaignID), out)
	}
}

func TestRepeatedAndLateClaimsChangeNothing(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog, store := opened(t, client, 3)
		room := roomFor(uuid.New(), 100)
		require.NoError(t, catalog.PublishRooms(t.Context(), 3, []reserve.Room{room}))
		call := func(seq int64, c reserve.LeaseRequest) money.Micros {
			reply, err := store.Exchange(
				t.Context(), reserve.Call{Node: "n", Epoch: 3, Seq: seq, Requests: []reserve.LeaseRequest{c}},
			)
			require.NoError(t, err)
			require.Equal(t, reserve.Counted, reply.State)
			return reply.Granted[0].Amount
		}
		exact := requestOf(room, 20)
		exact.Exact = true
		require.EqualValues(t, 40, call(1, requestOf(room, 40)))
		require.EqualValues(t, 40, call(1, requestOf(room, 40)), "the answer was lost and the call repeated")
		require.EqualValues(t, 20, call(3, exact))
		require.EqualValues(t, 20, call(2, requestOf(room, 60)), "a call that was overtaken")
		out, err := store.Outstanding(t.Context(), room.CampaignID.String())
		require.NoError(t, err)
		require.EqualValues(t, 20, out)
	})
}

// Whatever the server forgot that was acknowledged makes it another one, for nodes and projectors
// alike.
func TestALostOrOldStoreIsNoticed(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		ask := func(epoch, seq, acked int64) reserve.Reply {
			reply, err := NewReservations(client).Exchange(
				t.Context(), reserve.Call{Node: "n", Epoch: epoch, Seq: seq, Acked: acked},
			)
			require.NoError(t, err)
			return reply
		}
		require.Equal(t, reserve.Lost, ask(0, 1, 0).State, "never built")
		catalog, _ := opened(t, client, 5)
		reply := ask(0, 1, 0)
		require.Equal(t, reserve.Moved, reply.State)
		require.EqualValues(t, 5, reply.Epoch)
		for seq := range int64(3) {
			require.Equal(t, reserve.Counted, ask(5, seq+1, seq).State)
			current, err := catalog.Beat(t.Context(), 5)
			require.NoError(t, err)
			require.EqualValues(t, 5, current)
		}
		seen := client.keys.reserved(5).seen()
		forget := func(who string, to int64) {
			require.NoError(t, client.rdb.HSet(t.Context(), seen, who, to).Err())
		}
		// An old dump: the same epoch, but the node's last calls are not in it.
		forget("n", 2)
		require.Equal(t, reserve.Lost, ask(5, 4, 3).State)
		require.Equal(t, reserve.Lost, ask(5, 5, 3).State, "also for everybody else")
		_, err := catalog.Open(t.Context(), 6)
		require.NoError(t, err)
		require.Equal(t, reserve.Moved, ask(5, 6, 3).State)
		require.Equal(t, reserve.Counted, ask(6, 7, 0).State)
		// An older epoch than the node has seen.
		require.Equal(t, reserve.Lost, ask(9, 8, 0).State)
		// The projector notices, too.
		for range 2 {
			_, err = catalog.Open(t.Context(), 9)
			require.NoError(t, err)
			current, err := catalog.Beat(t.Context(), 9)
			require.NoError(t, err)
			require.EqualValues(t, 9, current)
		}
		require.NoError(t, client.rdb.Del(t.Context(), client.keys.reserved(9).seen()).Err())
		current, err := catalog.Beat(t.Context(), 9)
		require.NoError(t, err)
		require.Zero(t, current)
		empty(t, client)
		require.Equal(t, reserve.Lost, ask(9, 9, 0).State)
	})
}

func TestNothingIsGrantedWhileNodesSayWhatTheyHold(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog, store := newCatalog(client), NewReservations(client)
		room := roomFor(uuid.New(), 100)
		require.NoError(t, catalog.PublishRooms(t.Context(), 2, []reserve.Room{room}))
		_, err := catalog.Open(t.Context(), 2)
		require.NoError(t, err)
		grants, err := catalog.Grants(t.Context(), 2)
		require.NoError(t, err)
		require.False(t, grants)
		exact := requestOf(room, 90)
		exact.Exact = true
		reply, err := store.Exchange(
			t.Context(), reserve.Call{Node: "a", Epoch: 2, Seq: 1, Requests: []reserve.LeaseRequest{exact}},
		)
		require.NoError(t, err)
		require.Equal(t, []reserve.LeaseGrant{{Amount: 90}}, reply.Granted)
		reply, err = store.Exchange(
			t.Context(),
			reserve.Call{Node: "b", Epoch: 2, Seq: 1, Requests: []reserve.LeaseRequest{requestOf(room, 50)}},
		)
		require.NoError(t, err)
		require.Equal(t, []reserve.LeaseGrant{{Refusal: reserve.Opening}}, reply.Granted)
		require.ErrorIs(t, catalog.Grant(t.Context(), 1), errEpoch)
		require.NoError(t, catalog.Grant(t.Context(), 2))
		grants, err = catalog.Grants(t.Context(), 2)
		require.NoError(t, err)
		require.True(t, grants)
		reply, err = store.Exchange(
			t.Context(),
			reserve.Call{Node: "b", Epoch: 2, Seq: 2, Requests: []reserve.LeaseRequest{requestOf(room, 50)}},
		)
		require.NoError(t, err)
		require.Equal(t, []reserve.LeaseGrant{{Amount: 5}}, reply.Granted, "half of what the other left")
	})
}

// Reservations are dated by the node and end by the store. Of a clock far behind, the store forgets
// at once what it was told, and grants it again: so such a node is granted nothing.
func TestAClockThatIsNotTheStoresIsGrantedNothing(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog, store := opened(t, client, 4)
		seq := int64(0)
		request := func(r reserve.Room, clock time.Time, minute day.Minute) reserve.Reply {
			c := requestOf(r, 100)
			c.Minute, seq = minute, seq+1
			reply, err := store.Exchange(
				t.Context(),
				reserve.Call{
					Node: "n" + uuid.NewString(), Epoch: 4, Seq: seq, Clock: clock, Requests: []reserve.LeaseRequest{c},
				},
			)
			require.NoError(t, err)
			return reply
		}
		minuteOver := func() { // a later beat
			_, err := client.rdb.HIncrBy(t.Context(), client.keys.reservations, "beat", 60_000).Result()
			require.NoError(t, err)
		}
		night := time.Now().Add(-8 * time.Hour)
		harmed := roomFor(uuid.New(), 100)
		require.NoError(t, catalog.PublishRooms(t.Context(), 4, []reserve.Room{harmed}))
		first := request(harmed, time.Time{}, day.MinuteOf(night))
		require.Positive(t, first.Granted[0].Amount)
		minuteOver()
		again := request(harmed, time.Time{}, day.MinuteOf(night))
		require.Equal(
			t, first.Granted, again.Granted,
			"what this test is about: without a clock to compare the same room is granted twice",
		)

		for name, by := range map[string]time.Duration{
			"behind": -1500 * time.Millisecond, "ahead": 1500 * time.Millisecond, "hours behind": -8 * time.Hour,
		} {
			t.Run(name, func(t *testing.T) {
				room := roomFor(uuid.New(), 100)
				require.NoError(t, catalog.PublishRooms(t.Context(), 4, []reserve.Room{room}))
				clock := time.Now().Add(by)
				reply := request(room, clock, day.MinuteOf(clock))
				require.Equal(t, reserve.Skewed, reply.State)
				require.Empty(t, reply.Granted)
				require.InDelta(t, by.Seconds(), reply.Ahead.Seconds(), 0.4)
				out, err := store.Outstanding(t.Context(), room.CampaignID.String())
				require.NoError(t, err)
				require.Zero(t, out)
			})
		}
		room := roomFor(uuid.New(), 100)
		require.NoError(t, catalog.PublishRooms(t.Context(), 4, []reserve.Room{room}))
		clock := time.Now().Add(300 * time.Millisecond)
		reply := request(room, clock, day.MinuteOf(clock))
		require.Equal(t, reserve.Counted, reply.State)
		require.Positive(t, reply.Granted[0].Amount)
	})
}

// The budget of a day is for auctions that every node dates so.
func TestTomorrowsBudgetIsNotGrantedToday(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog, store := opened(t, client, 4)
		room := roomFor(uuid.New(), 100)
		room.Day += 2 // of a database whose clock is ahead
		require.NoError(t, catalog.PublishRooms(t.Context(), 4, []reserve.Room{room}))
		reply, err := store.Exchange(
			t.Context(),
			reserve.Call{Node: "n", Epoch: 4, Seq: 1, Requests: []reserve.LeaseRequest{requestOf(room, 100)}},
		)
		require.NoError(t, err)
		require.Equal(t, []reserve.LeaseGrant{{Refusal: reserve.NoRoom}}, reply.Granted)
	})
}

// A database whose clock is behind would show yesterday's room while it releases today's spend.
func TestRoomsOfAPastDayAreRefused(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		catalog, store := opened(t, client, 4)
		room := roomFor(uuid.New(), 100)
		require.NoError(t, catalog.PublishRooms(t.Context(), 4, []reserve.Room{room}))
		old := room
		old.Day, old.Version, old.Released = room.Day-1, 2, []reserve.Released{{
			CampaignID: room.CampaignID, Minute: day.MinuteOf(time.Now()), Amount: 50,
		}}
		reply, err := store.Exchange(
			t.Context(),
			reserve.Call{Node: "n", Epoch: 4, Seq: 1, Requests: []reserve.LeaseRequest{requestOf(room, 50)}},
		)
		require.NoError(t, err)
		require.ErrorContains(t, catalog.PublishRooms(t.Context(), 4, []reserve.Room{room, old}), "past day")
		out, err := store.Outstanding(t.Context(), room.CampaignID.String())
		require.NoError(t, err)
		require.Equal(t, reply.Granted[0].Amount, out, "nothing of it is released")
		rooms, err := catalog.Rooms.All(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), rooms[0].Version)
	})
}
