package clickhouse_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/internal/day"
	"adnet/internal/ledger"
)

// A day that is put together again takes its place at once: whoever reads meanwhile, or after a
// crash anywhere in it, finds in each table the day as it was or as it should be, and never a part
// of one. Other days of the month stay.
func TestARebuiltDayIsNeverHalfThere(t *testing.T) {
	s := open(t)
	rows := testRows(5000) // of 31 May and 1 June
	require.NoError(t, s.Insert(t.Context(), "topic/0:0-5000", rows))
	date := day.Of(rows[0].ReceivedAt)
	whole := rows[:0:0]
	for _, r := range rows {
		if day.Of(r.ReceivedAt) == date {
			whole = append(whole, r)
		}
	}
	want := int64(len(whole))
	other := rows[0] // a day of the same month that the test leaves alone
	other.ReceivedAt = other.ReceivedAt.AddDate(0, 0, -3)
	require.NoError(t, s.Insert(t.Context(), "topic/0:5000-5001", append(rows[:0:0], other)))
	exec(
		t, s,
		"ALTER TABLE events DELETE WHERE day = '2026-05-31' AND campaign_id = "+
			"toUUID('01070000-0000-0000-0000-000000000000') SETTINGS mutations_sync = 2",
	)
	damaged := number(t, s, "(SELECT count() FROM events WHERE day = '2026-05-31')")
	require.Less(t, damaged, want)

	seen := make(chan error, 1)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		defer close(seen)
		for watching.Err() == nil {
			for table, sum := range map[string]string{
				"events": "count()", "stats_daily": "sum(events)", "verdict_daily": "sum(events)",
			} {
				var read []struct {
					N int64 `ch:"n"`
				}
				if s.Select(
					watching, &read, "SELECT toInt64("+sum+") AS n FROM "+table+" WHERE day = '2026-05-31'", nil,
				) != nil {
					continue
				}
				if n := read[0].N; n != want && (n != damaged || table != "events") {
					select {
					case seen <- &halfDay{table, n}:
					default:
					}
				}
			}
		}
	}()
	for range 3 {
		build, err := s.StartRebuild(t.Context(), date)
		require.NoError(t, err)
		require.NoError(t, build.Add(t.Context(), whole))
		require.NoError(t, build.Replace(t.Context()))
		require.NoError(t, build.Drop(t.Context()))
		require.NoError(t, s.RebuildViews(t.Context(), date))
	}
	stop()
	for err := range seen {
		require.NoError(t, err)
	}
	found, err := s.CompareDays(t.Context(), date-5, date+2)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, [3]int64{5001, 5001, 5001}, counts(t, s))
	require.Zero(
		t,
		number(
			t, s, "(SELECT count() FROM system.tables WHERE database = currentDatabase() AND name LIKE '%_rebuild_%')",
		),
	)
}

// A record that came twice, because its acknowledgement was late, makes no difference: settlement
// took one of the two. The same event archived twice is one.
func TestARecordThatCameTwiceIsNoDifference(t *testing.T) {
	s := open(t)
	rows := testRows(2)
	date := day.Of(rows[0].ReceivedAt)
	again := append(rows[:0:0], rows...)
	for i := range again {
		again[i].Verdict, again[i].Charge, again[i].Minted = ledger.Duplicate, 0, 0
	}
	require.NoError(t, s.Insert(t.Context(), "topic/0:0-2", rows))
	require.NoError(t, s.Insert(t.Context(), "topic/0:2-4", again))
	found, err := s.CompareDays(t.Context(), date, date+1)
	require.NoError(t, err)
	require.Empty(t, found)

	require.NoError(t, s.Insert(t.Context(), "topic/0:4-6", rows))
	found, err = s.CompareDays(t.Context(), date, date+1)
	require.NoError(t, err)
	require.Equal(t, []clickhouse.Difference{{Day: date, What: "repeats event ids", Events: 4, Other: 2}}, found)
}

type halfDay struct {
	table string
	n     int64
}

func (h *halfDay) Error() string { return h.table + " was seen with a part of the day" }
