package day_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
)

func TestUnitsBeginWhereTheOneBeforeEnds(t *testing.T) {
	at := time.Date(2028, 2, 29, 23, 59, 59, 999, time.FixedZone("east", 7200))
	require.Equal(t, "2028-02-29", day.Of(at).String())
	require.Equal(t, time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), day.Of(at).Time())
	require.Equal(t, time.Date(2028, 2, 29, 21, 59, 0, 0, time.UTC), day.MinuteOf(at).Time())

	january := day.MonthOf(time.Date(2027, 12, 31, 23, 30, 0, 0, time.FixedZone("west", -3600)))
	require.Equal(t, "2028-01", january.String(), "the month is the one of UTC")
	require.Equal(t, january.End(), (january + 1).Start())
	require.Equal(t, january, day.MonthOf(january.End().Add(-1)))
}

func TestParseMonth(t *testing.T) {
	m, err := day.ParseMonth("2026-01")
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), m.Start())
	for _, wrong := range []string{"", "2026", "2026-13", "2026-1", "1969-12", "2026-01-01"} {
		_, err := day.ParseMonth(wrong)
		require.Error(t, err, wrong)
	}
}

func TestTimeInsideAUUID(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 5_000_000, time.UTC)
	id := uuid.UUID{6: 0x70, 8: 0x80}
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(id[:], ms[2:])

	got, dated := day.TimeOfUUID(id)
	require.True(t, dated)
	require.Equal(t, at, got)
	require.Equal(t, day.Of(at), day.OfUUID(id))
	minute, dated := day.MinuteOfUUID(id)
	require.True(t, dated)
	require.Equal(t, day.MinuteOf(at), minute)

	id[6] = 0x40
	got, dated = day.TimeOfUUID(id)
	require.False(t, dated)
	require.Zero(t, got)
	require.Zero(t, day.OfUUID(id))
	minute, dated = day.MinuteOfUUID(id)
	require.False(t, dated)
	require.Zero(t, minute)
}
