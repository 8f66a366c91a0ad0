package redis

import (
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adnet/internal/process/link"
	"adnet/internal/process/roster"
)

// Processes are known by what they said last, until they leave or are silent for a minute; of a job
// the last run is known, whoever ran it.
func TestRosterForgetsTheSilent(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		r, at := NewRoster(client), time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
		processes, err := r.Processes(t.Context())
		require.NoError(t, err)
		require.Equal(t, []roster.Process{}, processes)
		a := roster.Process{
			Name: "a", Role: roster.Ingress, Version: "v1", StartedAt: at, SaidAt: at,
			Serving: &roster.Serving{SpoolBytes: 7, SpoolEvents: 1, Campaigns: 3, Model: "m", Trial: 4, Stage: "part"},
		}
		b := roster.Process{
			Name: "b", Role: roster.Consumers, Version: "v1", StartedAt: at, SaidAt: at,
			Plans: map[string]time.Time{roster.Train: at.Add(time.Hour)},
		}
		for _, p := range []roster.Process{b, {Name: "a"}, a, {Name: "left"}, {Name: "silent"}} {
			require.NoError(t, r.Say(t.Context(), p))
		}
		require.NoError(t, r.Leave(t.Context(), "left"))
		silent := goredis.Z{Member: "silent", Score: float64(time.Now().Add(-roster.Memory - time.Second).UnixMilli())}
		require.NoError(t, client.rdb.ZAdd(t.Context(), client.keys.processes, silent).Err())
		require.NoError(
			t,
			client.rdb.ZAdd(
				t.Context(), client.keys.processes, goredis.Z{Member: "torn", Score: float64(time.Now().UnixMilli())},
			).Err(),
		)
		require.NoError(t, client.rdb.HSet(t.Context(), client.keys.reports, "torn", "{").Err())
		processes, err = r.Processes(t.Context())
		require.NoError(t, err)
		require.Equal(t, []roster.Process{a, b}, processes)
		require.NoError(t, r.Say(t.Context(), a))
		held, err := client.rdb.HKeys(t.Context(), client.keys.reports).Result()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a", "b", "torn"}, held, "what the silent said goes with the next word")

		for n := range 3 {
			require.NoError(
				t,
				r.Ended(
					t.Context(),
					roster.Run{
						Job: roster.Goals, Process: fmt.Sprint(n), EndedAt: at.Add(time.Duration(n)), Failed: n == 2,
					},
				),
			)
		}
		require.NoError(t, r.Ended(t.Context(), roster.Run{Job: roster.Train, Process: "b", EndedAt: at}))
		runs, err := r.Runs(t.Context())
		require.NoError(t, err)
		require.Equal(
			t,
			[]roster.Run{
				{Job: roster.Goals, Process: "2", EndedAt: at.Add(2), Failed: true},
				{Job: roster.Train, Process: "b", EndedAt: at},
			}, runs,
		)
	})
}

func TestDoctorReportsUnreadableAddresses(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		r, now := NewRoster(client), time.Now().UTC()
		say := func(name string, addresses roster.Addresses) {
			p := roster.Process{
				Name: name, Role: roster.Ingress, SaidAt: now, Serving: &roster.Serving{Addresses: addresses},
			}
			require.NoError(t, r.Say(t.Context(), p))
		}
		say("good", roster.Addresses{Unreadable: roster.Seen{Requests: 5, LastAt: now.Add(-2 * time.Hour)}})
		say("direct", roster.Addresses{Absent: roster.Seen{Requests: 2, LastAt: now}})
		var report link.Report
		client.describeNodes(t.Context(), &report)
		require.True(t, report.OK(), "requests without the header are advice")
		require.Len(t, report.Findings, 1)

		say("junk", roster.Addresses{Unreadable: roster.Seen{Requests: 7, LastAt: now}})
		report = link.Report{}
		client.describeNodes(t.Context(), &report)
		require.False(t, report.OK())
		require.Contains(t, report.Findings[1].What, "node junk received 7 requests with X-Forwarded-For")
		require.NotEmpty(t, report.Findings[1].Do)
	})
}
