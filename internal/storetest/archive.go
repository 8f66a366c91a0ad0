package storetest

import (
	"context"
	"testing"
	"time"

	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

var archiveCases = []ledgerCase{
	{"WholeRangesUpToTheLimit", chunkSizes},
	{"PlanIsStable", planIsStable},
	{"TwoOwnersGetOnePlan", onePlan},
	{"MarkRefusesAnotherChunk", markRefuses},
	{"Totals", archivedTotals},
}

// applyPoison applies ranges of the given lengths, back to back from first. A dead record needs no campaign.
func applyPoison(t *testing.T, l Ledger, p ledger.Partition, first int64, lengths ...int) {
	t.Helper()
	for _, n := range lengths {
		records := make([]ledger.Record, n)
		for i := range records {
			records[i].Problem = "x"
		}
		_, err := apply(t.Context(), l.Settler, batchOf(p, first, records...))
		require.NoError(t, err)
		first += int64(n)
	}
}

func nextChunk(t *testing.T, l Ledger, p ledger.Partition, maxRows int) ledger.Chunk {
	t.Helper()
	c, ok, err := l.Archive.NextChunk(t.Context(), p, maxRows)
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, c.Outcomes, int(c.Next-c.First))
	return c
}

func chunkSizes(t *testing.T, l Ledger) {
	p := partition(0)
	_, ok, err := l.Archive.NextChunk(t.Context(), p, 10)
	require.NoError(t, err)
	require.False(t, ok)
	applyPoison(t, l, p, 100, 4, 4, 3, 12, 1)
	applyPoison(t, l, partition(1), 0, 5)
	for _, want := range [][2]int64{{100, 108}, {108, 111}, {111, 123}, {123, 124}} { // 4+4 | 3 | 12 alone is above the limit | 1
		c := nextChunk(t, l, p, 10)
		require.Equal(t, want, [2]int64{c.First, c.Next})
		require.NoError(t, l.Archive.MarkArchived(t.Context(), c))
		archived, err := l.Archive.Archived(t.Context(), []ledger.Partition{p})
		require.NoError(t, err)
		require.Equal(t, map[ledger.Partition]int64{p: c.Next}, archived)
	}
	_, ok, err = l.Archive.NextChunk(t.Context(), p, 10)
	require.NoError(t, err)
	require.False(t, ok)
	applyPoison(t, l, p, 124, 2)
	c := nextChunk(t, l, p, 10)
	require.Equal(t, [2]int64{124, 126}, [2]int64{c.First, c.Next})
	requireClean(t, l, ledger.AuditOptions{})
}

func planIsStable(t *testing.T, l Ledger) {
	p := partition(3)
	applyPoison(t, l, p, 0, 4, 4)
	planned := nextChunk(t, l, p, 6)
	require.Equal(t, "a1b2c3/3:0-4", planned.Token())
	applyPoison(t, l, p, 8, 9)
	for _, maxRows := range []int{1, 6, 1000} { // neither more rows nor another limit change what may be half inserted
		require.Equal(t, planned, nextChunk(t, l, p, maxRows))
	}
	require.NoError(t, l.Archive.MarkArchived(t.Context(), planned))
	next := nextChunk(t, l, p, 1000)
	require.Equal(t, [2]int64{4, 17}, [2]int64{next.First, next.Next})
	require.NoError(t, l.Archive.MarkArchived(t.Context(), planned)) // once more, late
	require.Equal(t, next, nextChunk(t, l, p, 1))
	requireClean(t, l, ledger.AuditOptions{})
}

func onePlan(t *testing.T, l Ledger) {
	p := partition(0)
	applyPoison(t, l, p, 0, 3, 3, 3, 3)
	for range 2 { // the first plan adds the row, the second finds it
		var chunks [4]ledger.Chunk
		together(len(chunks), func(i int) {
			c, ok, err := l.Archive.NextChunk(t.Context(), p, 3*(1+i%2))
			if err != nil || !ok {
				t.Errorf("no chunk: %v", err)
			}
			chunks[i] = c
		})
		for _, c := range chunks {
			require.Equal(t, chunks[0], c)
		}
		together(len(chunks), func(i int) {
			if err := l.Archive.MarkArchived(t.Context(), chunks[i]); err != nil {
				t.Error(err)
			}
		})
	}
}

func markRefuses(t *testing.T, l Ledger) {
	p := partition(0)
	applyPoison(t, l, p, 0, 3, 3)
	unplanned := ledger.Chunk{Range: ledger.Range{Partition: p, First: 0, Next: 3}}
	require.True(t, errs.Is(l.Archive.MarkArchived(t.Context(), unplanned), errs.Conflict))
	planned := nextChunk(t, l, p, 6)
	require.True(t, errs.Is(l.Archive.MarkArchived(t.Context(), unplanned), errs.Conflict))
	require.Equal(t, planned, nextChunk(t, l, p, 6))
}

func archivedTotals(t *testing.T, l Ledger) {
	totals, err := l.Archive.ArchivedTotals(t.Context())
	require.NoError(t, err)
	require.Zero(t, totals.Rows)

	c := priced(t, l, AddUser(t, l.Stores), money.USD, money.USD)
	e := eventOf(t, c, newID(t), ledger.Impression)
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 0, e, e, ledger.Record{Problem: "x"}))
	require.NoError(t, err)
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 3, eventOf(t, c, newID(t), ledger.Impression)))
	require.NoError(t, err)
	require.NoError(t, l.Archive.MarkArchived(t.Context(), nextChunk(t, l, partition(0), 3)))
	nextChunk(t, l, partition(0), 3) // planned, not archived
	totals, err = l.Archive.ArchivedTotals(t.Context())
	require.NoError(t, err)
	require.Equal(t, ledger.Totals{
		Rows: 3, Charge: 10_000, Minted: 1, ByVerdict: map[ledger.Verdict]int64{ledger.OK: 1, ledger.Duplicate: 1, ledger.Poison: 1},
	}, totals)
}

var roomCases = []ledgerCase{
	{"FollowSpendAndBudget", roomsFollow},
	{"PrepaidBalance", roomsPrepaid},
	{"ReleasedReservations", roomsRelease},
	{"Epochs", roomsEpochs},
	{"StatesThatNeverSpend", roomsStates},
}

// follower keeps the newest room of each campaign, as the projection does.
type follower struct {
	t      *testing.T
	reader RoomReader
	cursor int64
	rooms  map[uuid.UUID]ledger.Room
}

func follow(t *testing.T, reader RoomReader) *follower {
	return &follower{t: t, reader: reader, rooms: make(map[uuid.UUID]ledger.Room)}
}

// read takes what changed and returns which campaigns got a newer version.
func (f *follower) read() map[uuid.UUID]bool {
	f.t.Helper()
	rooms, next, err := f.reader.Rooms(f.t.Context(), f.cursor)
	require.NoError(f.t, err)
	require.Positive(f.t, next)
	f.cursor = next
	raised := make(map[uuid.UUID]bool)
	for _, r := range rooms {
		old, known := f.rooms[r.CampaignID]
		require.GreaterOrEqual(f.t, r.Version, old.Version)
		if known && r.Version == old.Version {
			old.Day, old.Today = r.Day, r.Today // midnight alone changes no version
			require.Equal(f.t, old, r)
		}
		if r.Version > old.Version {
			raised[r.CampaignID] = true
			f.rooms[r.CampaignID] = r
		}
	}
	return raised
}

func roomsFollow(t *testing.T, l Ledger) {
	f := follow(t, l.Rooms(ledger.RoomsOptions{}))
	require.Empty(t, f.read())
	owner := AddUser(t, l.Stores)
	a, b := priced(t, l, owner, 2*money.USD, 5*money.USD), priced(t, l, owner, 3*money.USD, 4*money.USD)
	require.Equal(t, map[uuid.UUID]bool{a.ID: true, b.ID: true}, f.read())
	require.Equal(t, 2*money.USD, f.rooms[a.ID].Left(f.rooms[a.ID].Day))
	require.Empty(t, f.read())

	e := eventOf(t, a, newID(t), ledger.Impression)
	today := f.rooms[a.ID].Day
	e.Event.ReceivedAt = today.Time()
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, e))
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]bool{a.ID: true}, f.read())
	got := f.rooms[a.ID]
	require.Equal(t, 2*money.USD, got.Daily)
	require.Equal(t, 5*money.USD-10_000, got.Total)
	if got.Day == today {
		require.Equal(t, 2*money.USD-10_000, got.Today)
	}

	_, err = l.Campaigns.UpdateCampaign(t.Context(), b.ID, func(c *campaign.Campaign) error { c.DailyBudget = money.USD; return nil })
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]bool{b.ID: true}, f.read())
	require.Equal(t, money.USD, f.rooms[b.ID].Today)

	all := follow(t, l.Rooms(ledger.RoomsOptions{})) // a reader that lost everything
	require.Len(t, all.read(), 2)
	require.Equal(t, f.rooms, all.rooms)
}

// roomsRelease: a settled event releases its ad's price once, in the room of the same instant, whatever the verdict.
func roomsRelease(t *testing.T, l Ledger) {
	f := follow(t, l.Rooms(ledger.RoomsOptions{}))
	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, 25_000, 5*money.USD)
	f.read()
	// Three ads of 0.01 USD, of which the budget pays two and a half; the fourth comes as a repeat.
	records := make([]ledger.Record, 4)
	for i := range records[:3] {
		records[i] = eventOf(t, c, newID(t), ledger.Impression)
	}
	records[3] = records[0]
	want := make(map[ledger.Minute]money.Micros)
	for _, r := range records[:3] {
		minute, dated := ledger.AuctionMinute(r.Event.AuctionID)
		require.True(t, dated)
		want[minute] += r.Event.Price
	}
	released := func() map[ledger.Minute]money.Micros {
		got := make(map[ledger.Minute]money.Micros)
		for _, r := range f.rooms[c.ID].Released {
			require.Equal(t, c.ID, r.CampaignID)
			got[r.Minute] += r.Amount
		}
		return got
	}
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, records...))
	require.NoError(t, err)
	require.True(t, f.read()[c.ID])
	require.Equal(t, want, released())
	require.Equal(t, 5*money.USD-25_000, f.rooms[c.ID].Total)

	// Nothing is left to charge: a release alone is a new version, too.
	late := eventOf(t, c, newID(t), ledger.Impression)
	minute, _ := ledger.AuctionMinute(late.Event.AuctionID)
	want[minute] += late.Event.Price
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 4, late))
	require.NoError(t, err)
	require.True(t, f.read()[c.ID])
	require.Equal(t, want[minute], released()[minute])
	require.Equal(t, 5*money.USD-25_000, f.rooms[c.ID].Total)

	// What no store counts any more, or never reserved, releases nothing.
	old, unsigned := eventOf(t, c, newID(t), ledger.Impression), eventOf(t, c, newID(t), ledger.Impression)
	old.Event.ReceivedAt = minute.Time().Add(2 * time.Hour)
	unsigned.Event.Proof = ledger.UnsignedBillable
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 5, old, unsigned))
	require.NoError(t, err)
	all := follow(t, l.Rooms(ledger.RoomsOptions{}))
	all.read()
	f.rooms = all.rooms
	require.Equal(t, want, released())

	epochs := l.Rooms(ledger.RoomsOptions{}).(interface {
		Prune(ctx context.Context, minute ledger.Minute) error
	})
	require.NoError(t, epochs.Prune(t.Context(), minute+1))
	all = follow(t, l.Rooms(ledger.RoomsOptions{}))
	all.read()
	require.Empty(t, all.rooms[c.ID].Released)
	requireClean(t, l, ledger.AuditOptions{})
}

func roomsEpochs(t *testing.T, l Ledger) {
	epochs := l.Rooms(ledger.RoomsOptions{}).(interface {
		Epoch(ctx context.Context) (int64, error)
		NextEpoch(ctx context.Context) (int64, error)
	})
	last, err := epochs.Epoch(t.Context())
	require.NoError(t, err)
	require.Zero(t, last)
	for range 3 {
		next, err := epochs.NextEpoch(t.Context())
		require.NoError(t, err)
		require.Greater(t, next, last)
		last, err = epochs.Epoch(t.Context())
		require.NoError(t, err)
		require.Equal(t, next, last)
	}
}

func roomsPrepaid(t *testing.T, l Ledger) {
	rich, poor := AddUser(t, l.Stores), AddUser(t, l.Stores)
	a, b := priced(t, l, rich, 9*money.USD, 9*money.USD), priced(t, l, poor, 9*money.USD, 9*money.USD)
	f, open := follow(t, l.Rooms(ledger.RoomsOptions{Prepaid: true})), follow(t, l.Rooms(ledger.RoomsOptions{}))
	f.read()
	open.read()
	require.Zero(t, f.rooms[a.ID].Balance)
	require.NoError(t, l.Deposit(t.Context(), rich.ID, 3*money.USD))
	require.Equal(t, map[uuid.UUID]bool{a.ID: true}, f.read())
	require.Equal(t, 3*money.USD, f.rooms[a.ID].Balance)
	require.Zero(t, f.rooms[b.ID].Left(f.rooms[b.ID].Day))
	require.Empty(t, open.read()) // cash does not limit there
	require.Equal(t, 9*money.USD, open.rooms[b.ID].Left(open.rooms[b.ID].Day))
}

func roomsStates(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	kept := make(map[uuid.UUID]bool)
	for _, status := range []campaign.Status{campaign.Draft, campaign.InReview, campaign.Active, campaign.Paused} {
		kept[AddCampaign(t, l.Stores, owner.ID, status).ID] = true
	}
	AddCampaign(t, l.Stores, owner.ID, campaign.Rejected)
	AddCampaign(t, l.Stores, owner.ID, campaign.Archived)
	require.Equal(t, kept, follow(t, l.Rooms(ledger.RoomsOptions{})).read())
}
