package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
)

// pages is the side of the journal of reservations that nodes write.
type pages interface {
	KeepPage(ctx context.Context, p reserve.Page) error
}

// journal is the side that projectors read.
type journal interface {
	Watch(ctx context.Context, silent time.Duration) (missed bool, err error)
	Journal(ctx context.Context) (reserve.Journal, error)
	Entries(ctx context.Context, node string) ([]reserve.Entry, error)
}

func roomsJournal(t *testing.T, l Ledger) {
	write, read := l.Stores.Journal, l.Rooms(reserve.RoomOptions{}).(journal)
	empty, err := read.Journal(t.Context())
	require.NoError(t, err)
	require.Empty(t, empty.Writers)
	keep := func(p reserve.Page) { require.NoError(t, write.KeepPage(t.Context(), p)) }
	a := reserve.Entry{CampaignID: uuid.New(), Minute: 29_000_000, Window: 60, Amount: 9_000_000_000}
	b := reserve.Entry{CampaignID: uuid.New(), Minute: 29_000_001, Window: 5, Bid: true, Amount: 1}
	keep(reserve.Page{Node: "n", Number: 1})
	keep(reserve.Page{Node: "n", Number: 3, Epoch: 7, Acked: 5, Entries: []reserve.Entry{b}})
	keep(reserve.Page{Node: "n", Number: 2, Epoch: 6, Acked: 90, Entries: []reserve.Entry{a, b}}) // arrived late
	keep(reserve.Page{Node: "m", Number: 1, Epoch: 7, Acked: 4, Closed: true, Entries: []reserve.Entry{a}})
	keep(reserve.Page{Node: "m", Number: 2, Epoch: 7, Acked: 3})

	got, err := read.Journal(t.Context())
	require.NoError(t, err)
	byName := map[string]reserve.Writer{}
	for _, w := range got.Writers {
		require.WithinDuration(t, got.Now, w.Seen, time.Minute)
		w.Seen = time.Time{}
		byName[w.Node] = w
	}
	require.Equal(t, map[string]reserve.Writer{
		"n": {Node: "n", Epoch: 7, Acked: 5}, "m": {Node: "m", Epoch: 7, Acked: 4, Closed: true},
	}, byName, "what a node has told, and that it has ended, stays")
	entries, err := read.Entries(t.Context(), "n")
	require.NoError(t, err)
	require.Equal(t, []reserve.Entry{a, b, b}, entries, "in the order of their pages")
	entries, err = read.Entries(t.Context(), "unknown")
	require.NoError(t, err)
	require.Empty(t, entries)

	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, 25_000, 50_000)
	rooms, _, err := l.Rooms(reserve.RoomOptions{}).Rooms(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, c.BidAmount.PerMille(), rooms[0].Price)
}

func roomsJournalGaps(t *testing.T, l Ledger) {
	read := l.Rooms(reserve.RoomOptions{}).(journal)
	watch := func(silent time.Duration) bool {
		missed, err := read.Watch(t.Context(), silent)
		require.NoError(t, err)
		return missed
	}
	watch(0)
	require.False(t, watch(0))
	before, err := read.Journal(t.Context())
	require.NoError(t, err)
	require.True(t, watch(4*time.Second), "nodes did not hear of a projector")
	require.False(t, watch(0))
	after, err := read.Journal(t.Context())
	require.NoError(t, err)
	require.Len(t, after.Gaps, len(before.Gaps)+1)
	gap := after.Gaps[len(after.Gaps)-1]
	require.InDelta(t, 4, gap.To.Sub(gap.From).Seconds(), 1)

	time.Sleep(reserve.GapAfter + 100*time.Millisecond)
	require.True(t, watch(0), "no projector reached the store")
	require.False(t, watch(0))
	after, err = read.Journal(t.Context())
	require.NoError(t, err)
	gap = after.Gaps[len(after.Gaps)-1]
	require.InDelta(t, reserve.GapAfter.Seconds(), gap.To.Sub(gap.From).Seconds(), 2)
	require.NoError(t, read.(interface {
		Prune(ctx context.Context, minute day.Minute) error
	}).Prune(t.Context(), 0))
}
