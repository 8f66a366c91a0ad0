package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
	"adnet/internal/process/link"
)

// Nodes count together, a publisher has at most 20 names whatever it sends, and doctor names them.
func TestUnknownFlags(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		flags, now := NewFlags(client), time.Now().Truncate(time.Millisecond).UTC()
		loud, quiet := uuid.New(), uuid.New()
		list, err := flags.UnknownFlags(t.Context(), quiet)
		require.NoError(t, err)
		require.Empty(t, list)
		require.NotNil(t, list)
		for range 2 {
			require.NoError(
				t,
				flags.AddFlags(
					t.Context(), quiet, []subject.Unknown{{Name: "bad_vibes", Count: 2}, {Name: "x", Count: 1}}, now,
				),
			)
		}
		for i := range 50 {
			require.NoError(
				t,
				flags.AddFlags(
					t.Context(), loud, []subject.Unknown{{Name: fmt.Sprintf("f%02d", i), Count: 1}},
					now.Add(time.Second),
				),
			)
		}
		list, err = flags.UnknownFlags(t.Context(), quiet)
		require.NoError(t, err)
		require.Equal(
			t, []subject.Unknown{{Name: "bad_vibes", Count: 4, LastAt: now}, {Name: "x", Count: 2, LastAt: now}}, list,
		)
		list, err = flags.UnknownFlags(t.Context(), loud)
		require.NoError(t, err)
		require.Len(t, list, subject.MaxUnknown+1)
		require.Equal(t, subject.Unknown{Name: subject.OtherFlags, Count: 30, LastAt: now.Add(time.Second)}, list[0])
		ids, err := flags.Flagged(t.Context(), 5)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{loud, quiet}, ids)

		var report link.Report
		client.describeFlags(t.Context(), &report)
		require.True(t, report.OK(), "it is advice")
		require.Len(t, report.Findings, 2)
		require.Contains(t, report.Findings[1].What, quiet.String())
		require.True(t, strings.HasSuffix(report.Findings[1].What, "bad_vibes (4), x (2)"), report.Findings[1].What)
	})
}
