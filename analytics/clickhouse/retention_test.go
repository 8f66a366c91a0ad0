package clickhouse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What stands for people leaves before the rows that have it: the session after 30 days, the order
// after 90, of whole and of mixed parts.
func TestWhatStandsForPeopleLeaves(t *testing.T) {
	s := open(t)
	rows := testRows(3)
	for i, age := range []int{100, 40, 1} {
		rows[i].ReceivedAt = time.Now().UTC().AddDate(0, 0, -age)
		rows[i].Session, rows[i].ExternalID, rows[i].Region = "hash", "order", "US"
	}
	require.NoError(t, s.Insert(t.Context(), "topic/0:0-3", rows))
	exec(t, s, "OPTIMIZE TABLE events FINAL")
	require.Equal(t, int64(3), number(t, s, "(SELECT count() FROM events WHERE region = 'US')"))
	require.Equal(
		t, int64(1), number(t, s, "(SELECT count() FROM events WHERE session = 'hash' AND day > today() - 30)"),
	)
	require.Zero(t, number(t, s, "(SELECT count() FROM events WHERE session = 'hash' AND day < today() - 30)"))
	require.Equal(t, int64(2), number(t, s, "(SELECT count() FROM events WHERE external_id = 'order')"))
	require.Equal(t, int64(1), number(
		t, s,
		"(SELECT position(engine_full, 'ttl_only_drop_parts = 0') > 0 FROM system.tables WHERE database = "+
			"currentDatabase() AND name = 'events')",
	),
		"else only parts without a living row would be looked at")
}
