package reserve_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	entries := []reserve.Entry{
		{CampaignID: uuid.New(), Minute: 29_000_000, Window: 60, Amount: money.Max},
		{CampaignID: uuid.New(), Minute: 1, Window: 1, Bid: true},
	}
	text := reserve.AppendEntries(nil, entries)
	require.Len(t, text, 2*29)
	got, err := reserve.ReadEntries(text)
	require.NoError(t, err)
	require.Equal(t, entries, got)
	_, err = reserve.ReadEntries(text[:30])
	require.Error(t, err)
}

func TestHoldBack(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 30, 0, 0, time.UTC)
	minute := day.MinuteOf(now)
	room := reserve.Room{
		CampaignID: uuid.New(), AdvertiserID: uuid.New(), Daily: 1000, Today: 400, Total: 900,
		Balance: reserve.Unlimited, Price: 10,
	}
	small := reserve.Room{
		CampaignID: uuid.New(), AdvertiserID: uuid.New(), Daily: 50, Total: 900, Balance: 30, Price: 10,
	}
	rooms := []reserve.Room{room, small}
	node := func(ago time.Duration) reserve.Writer { return reserve.Writer{Node: "n", Seen: now.Add(-ago)} }
	held := func(
		j reserve.Journal, entries []reserve.Entry, nodes ...reserve.Writer,
	) map[string]map[uuid.UUID]money.Micros {
		j.Now = now
		got := map[string]map[uuid.UUID]money.Micros{}
		for _, call := range reserve.HoldBack(j, nodes, map[string][]reserve.Entry{"n": entries}, rooms) {
			require.Zero(t, call.Seq)
			if got[call.Node] == nil {
				got[call.Node] = map[uuid.UUID]money.Micros{}
			}
			for _, c := range call.Requests {
				require.True(t, c.Exact)
				got[call.Node][c.CampaignID] += c.Amount
			}
		}
		return got
	}
	entries := []reserve.Entry{
		{CampaignID: room.CampaignID, Minute: minute - 1, Window: 60, Amount: 70},
		{CampaignID: room.CampaignID, Minute: minute - 1, Window: 60, Amount: 60}, // later
		{CampaignID: room.CampaignID, Minute: minute - 1, Window: 60, Amount: 5, Bid: true},
		{CampaignID: room.CampaignID, Minute: minute - 8, Window: 5, Amount: 500}, // over
		{CampaignID: uuid.New(), Minute: minute, Window: 60, Amount: 7},           // archived
	}
	const slack = 2 * reserve.Unkept * 10
	require.Equal(t, map[string]map[uuid.UUID]money.Micros{
		"n": {room.CampaignID: 65}, "unheard": {room.CampaignID: slack, small.CampaignID: 30},
	}, held(reserve.Journal{}, entries, node(time.Second)))
	closed := node(time.Second)
	closed.Closed = true
	require.Equal(
		t, map[string]map[uuid.UUID]money.Micros{"n": {room.CampaignID: 65}}, held(reserve.Journal{}, entries, closed),
	)
	require.Equal(t, map[uuid.UUID]money.Micros{room.CampaignID: 2 * slack, small.CampaignID: 30},
		held(reserve.Journal{}, nil, node(time.Second), node(time.Second))["unheard"], "of each node")

	gap := reserve.Journal{Gaps: []reserve.Gap{{From: now.Add(-10 * time.Minute), To: now.Add(-5 * time.Minute)}}}
	lately := []reserve.Entry{
		{CampaignID: room.CampaignID, Minute: minute - 12, Window: 60, Amount: 9},
		{CampaignID: room.CampaignID, Minute: minute - 11, Window: 60, Amount: 3},
		{CampaignID: room.CampaignID, Minute: minute - 11, Window: 60, Amount: 2, Bid: true},
	}
	for ago, in := range map[time.Duration]bool{
		4 * time.Minute:                false, // it wrote again after the gap
		7 * time.Minute:                true,
		10*time.Minute + time.Second:   true, // the first page that it could not write
		10*time.Minute + 8*time.Second: false,
	} {
		want := money.Micros(slack)
		if in {
			want += reserve.GapTimes * (9 + 2)
		}
		require.Equal(t, want, held(gap, lately, node(ago))["unheard"][room.CampaignID], ago)
	}
	lately[0].Amount = 900
	require.Equal(
		t, money.Micros(900), held(gap, lately, node(7*time.Minute))["unheard"][room.CampaignID],
		"whatever is left in total",
	)
	require.Equal(t, money.Micros(30), held(gap, lately, node(7*time.Minute))["unheard"][small.CampaignID])
}

func TestWhoIsHeard(t *testing.T) {
	now := time.Now()
	j := reserve.Journal{Now: now, Writers: []reserve.Writer{
		{Node: "joined", Epoch: 5, Seen: now}, {Node: "slow", Epoch: 4, Seen: now},
		{Node: "dead", Epoch: 4, Seen: now.Add(-time.Minute)},
		{Node: "ended", Epoch: 4, Seen: now.Add(-time.Second), Closed: true},
		{Node: "long ago", Epoch: 4, Seen: now.Add(-reserve.JournalMemory)},
	}}
	names := func(list []reserve.Writer) (names []string) {
		for _, w := range list {
			names = append(names, w.Node)
		}
		return names
	}
	require.True(t, j.Awaited(5))
	require.Equal(t, []string{"slow", "dead", "ended"}, names(j.Unheard(5)))
	require.Equal(t, []string{"dead"}, names(j.Dead(4)))
	j.Writers[1].Epoch = 5
	require.False(t, j.Awaited(5), "the dead and the ended are not waited for")
}
