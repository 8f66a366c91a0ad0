package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
)

// Retention holds the store methods that retention needs.
type Retention interface {
	Retain(ctx context.Context, cut ledger.Cutoffs, dry bool) (ledger.Removed, error)
}

// Letters holds the methods for dead letters.
type Letters interface {
	DeadLetters(ctx context.Context, q ledger.DeadLetterQuery) ([]ledger.StoredDeadLetter, error)
	StartReplay(
		ctx context.Context, p stream.Partition, offset int64, by string, again bool,
	) (ledger.StoredDeadLetter, error)
	EndReplay(ctx context.Context, p stream.Partition, offset int64) error
}

// RunRetention runs the cases of retention and of dead letters, on a ledger that is also Retention
// and Letters.
func RunRetention(t *testing.T, newLedger func(t *testing.T) (Ledger, Retention, Letters)) {
	t.Run("DroppedDayNeverReopens", func(t *testing.T) {
		l, r, _ := newLedger(t)
		droppedDay(t, l, r)
	})
	t.Run("SumsSurvive", func(t *testing.T) {
		l, r, _ := newLedger(t)
		sumsSurvive(t, l, r)
	})
	t.Run("ClicksOfNetworks", func(t *testing.T) {
		l, r, _ := newLedger(t)
		networkClicksExpire(t, l, r)
	})
	t.Run("Letters", func(t *testing.T) {
		l, _, letters := newLedger(t)
		letterLife(t, l, letters)
	})
}

// droppedDay drops the marks of a day, then replays an event of it, which must not be billed a
// second time.
func droppedDay(t *testing.T, l Ledger, r Retention) {
	c := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	old, fresh := eventOf(t, c, newID(t), ledger.Impression), eventOf(t, c, newID(t), ledger.Impression)
	old.Event.AuctionID = auctionOn(t, now.AddDate(0, 0, -90))
	old.Event.ReceivedAt = now.AddDate(0, 0, -90)
	day0 := eventOf(t, c, newID(t), ledger.Impression)
	day0.Event.Proof, day0.Event.AuctionID = ledger.UnsignedBillable, uuid.NewSHA1(uuid.NameSpaceURL, []byte("x"))
	verdict := func(first int64, records ...ledger.Record) []ledger.Verdict {
		effects, err := apply(t.Context(), l.Settler, batchOf(partition(0), first, records...))
		require.NoError(t, err)
		var list []ledger.Verdict
		for _, o := range effects.Applied[0].Outcomes {
			list = append(list, o.Verdict)
		}
		return list
	}
	require.Equal(t, []ledger.Verdict{ledger.OK, ledger.OK, ledger.OK}, verdict(0, old, fresh, day0))
	require.Equal(t, []ledger.Verdict{ledger.Duplicate, ledger.Duplicate}, verdict(3, old, day0))
	cut := ledger.Cutoffs{Horizon: day.Of(now) - 60}
	would, err := r.Retain(t.Context(), cut, true)
	require.NoError(t, err)
	require.Equal(t, []day.Day{day.Of(now) - 90}, would.Days)
	require.EqualValues(t, 1, would.Marks)
	require.Equal(t, []ledger.Verdict{ledger.Duplicate}, verdict(5, old), "a dry run drops nothing")
	did, err := r.Retain(t.Context(), cut, false)
	require.NoError(t, err)
	require.Equal(t, would, did)
	require.Equal(
		t, []ledger.Verdict{ledger.VerdictExpired, ledger.Duplicate, ledger.Duplicate}, verdict(6, old, fresh, day0),
	)
	other := old
	other.Event.Type = ledger.Close
	require.Equal(
		t, []ledger.Verdict{ledger.VerdictExpired}, verdict(9, other), "nothing of the day is accepted any more",
	)
	// The horizon never goes back, whatever a later run requests.
	did, err = r.Retain(t.Context(), ledger.Cutoffs{Horizon: day.Of(now) - 100}, false)
	require.NoError(t, err)
	require.Equal(t, cut.Horizon, did.Horizon)
	require.Empty(t, did.Days)
	require.Equal(t, []ledger.Verdict{ledger.VerdictExpired}, verdict(10, old))
	requireClean(t, l, ledger.VerifyOptions{})
}

func auctionOn(t *testing.T, at time.Time) uuid.UUID {
	t.Helper()
	id := newID(t)
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// sumsSurvive removes everything removable from a random history: verify and totals stay the same.
func sumsSurvive(t *testing.T, l Ledger, r Retention) {
	h := newHistory(t, l, 5, false)
	for range 25 {
		h.step()
	}
	h.archiveAll()
	later := time.Now().Add(time.Hour)
	cut := ledger.Cutoffs{Horizon: day.Of(time.Now()) + 3, Applied: later, Dead: later, Keys: later}
	would, err := r.Retain(t.Context(), cut, true)
	require.NoError(t, err)
	require.Positive(t, would.Marks)
	require.Positive(t, would.Records)
	require.Positive(t, would.Dead)
	did, err := r.Retain(t.Context(), cut, false)
	require.NoError(t, err)
	require.Equal(t, would, did)
	requireClean(t, l, ledger.VerifyOptions{})
	totals, err := l.Archive.ArchivedTotals(t.Context())
	require.NoError(t, err)
	require.Equal(t, h.totals.WithoutEarly(), totals)
	again, err := r.Retain(t.Context(), cut, false)
	require.NoError(t, err)
	require.Equal(t, ledger.Removed{Horizon: cut.Horizon}, again)
	for range 5 {
		h.step()
	}
	requireClean(t, l, ledger.VerifyOptions{})
}

func letterLife(t *testing.T, l Ledger, letters Letters) {
	for i := range 3 {
		_, err := apply(
			t.Context(), l.Settler,
			batchOf(partition(int32(i)), 7, ledger.Record{Problem: "cut", Raw: []byte{byte(i)}}),
		)
		require.NoError(t, err)
	}
	list, err := letters.DeadLetters(t.Context(), ledger.DeadLetterQuery{Limit: 10})
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(
		t, ledger.DeadLetter{Partition: partition(1), Offset: 7, Problem: "cut", Raw: []byte{1}}, list[1].DeadLetter,
	)
	for _, l := range list {
		at := stream.Range{Partition: l.Partition, First: l.Offset, Next: l.Offset + 1}
		single, err := letters.DeadLetters(
			t.Context(), ledger.DeadLetterQuery{Limit: 10, At: &at, Problem: strings.ToUpper(l.Problem)},
		)
		require.NoError(t, err)
		require.Equal(t, []ledger.StoredDeadLetter{l}, single)
	}
	none, err := letters.DeadLetters(t.Context(), ledger.DeadLetterQuery{Limit: 10, Problem: "%"})
	require.NoError(t, err)
	require.Empty(t, none)
	page, err := letters.DeadLetters(
		t.Context(), ledger.DeadLetterQuery{Limit: 2, Offset: 2, Stream: partition(0).Stream},
	)
	require.NoError(t, err)
	require.Equal(t, list[2:], page)

	_, err = letters.StartReplay(t.Context(), partition(0), 8, "me", false)
	require.True(t, errs.Is(err, errs.NotFound))
	got, err := letters.StartReplay(t.Context(), partition(0), 7, "me", false)
	require.NoError(t, err)
	require.Equal(t, []byte{0}, got.Raw)
	_, err = letters.StartReplay(t.Context(), partition(0), 7, "you", false)
	require.True(t, errs.Is(err, errs.Conflict), "it may be in the log already")
	require.ErrorContains(t, err, "--again")
	require.NoError(t, letters.EndReplay(t.Context(), partition(0), 7))
	_, err = letters.StartReplay(t.Context(), partition(0), 7, "you", false)
	require.True(t, errs.Is(err, errs.Conflict))
	open, err := letters.DeadLetters(t.Context(), ledger.DeadLetterQuery{Limit: 10, Open: true})
	require.NoError(t, err)
	require.Len(t, open, 2)
	all, err := letters.DeadLetters(t.Context(), ledger.DeadLetterQuery{Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 3, "the row is kept")
	require.Equal(t, "me", all[0].SentBy)
	require.False(t, all[0].SentAt.IsZero())
	_, err = letters.StartReplay(t.Context(), partition(0), 7, "you", true)
	require.NoError(t, err)
	requireClean(t, l, ledger.VerifyOptions{})
}
