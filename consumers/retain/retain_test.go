package retain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/adreport"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/process/roster"
)

const conversions = 30 * 24 * time.Hour

func TestMarksOutliveEveryEvent(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC)
	for days, ok := range map[int]bool{0: true, 36: false, 37: true, 1: false, -1: false, 400: true} {
		cut, err := Config{Marks: days}.Cutoffs(now, conversions)
		require.Equal(t, ok, err == nil, "%d days", days)
		if days > 0 && ok {
			// The last event that can be accepted belongs to an auction whose day stays.
			require.True(t, ledger.Accepted(cut.Horizon, day.Of(now.Add(-conversions-slack))))
		}
	}
	cut, err := Config{}.Cutoffs(now, conversions)
	require.NoError(t, err)
	require.Equal(t, ledger.Cutoffs{
		Keys: now.Add(-24 * time.Hour), Emails: now.Add(-adreport.EmailLife), Reports: now.Add(-adreport.Life),
		Clicks: day.Of(now) - 9,
	}, cut, "0 keeps for ever")
	cut, err = Config{Marks: 60, Applied: 30, Dead: 90}.Cutoffs(now, conversions)
	require.NoError(t, err)
	require.Equal(t, day.Of(now)-60, cut.Horizon)
	require.Equal(t, now.AddDate(0, 0, -30), cut.Applied)
	require.Equal(t, now.AddDate(0, 0, -90), cut.Dead)
}

type store struct {
	at   []time.Time
	fail int
}

func (s *store) Retain(context.Context, ledger.Cutoffs, bool) (ledger.Removed, error) {
	s.at = append(s.at, time.Now().UTC())
	if s.fail--; s.fail >= 0 {
		return ledger.Removed{}, errors.New("away")
	}
	return ledger.Removed{Marks: 1}, nil
}

func TestRunsEveryNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{fail: 1}
		var reported []string
		tell := func(_ context.Context, ended *roster.Run, next time.Time) {
			reported = append(reported, fmt.Sprint(ended != nil, ended != nil && ended.Failed, next.UTC().Format(" 15:04")))
		}
		r, err := New(
			Config{Marks: 60, At: 3 * time.Hour},
			Deps{
				Store: s, Life: conversions, Reporter: tell, Log: slog.New(slog.DiscardHandler),
				Metrics: prometheus.NewRegistry(),
			},
		)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 73*time.Hour)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // synctest's clock
		require.Equal(t, []time.Time{
			start.Add(3 * time.Hour), start.Add(3*time.Hour + 10*time.Minute), start.Add(27 * time.Hour),
			start.Add(51 * time.Hour),
		}, s.at)
		require.Equal(
			t,
			[]string{
				"false false 03:00", "true true 03:10", "true false 03:00", "true false 03:00", "true false 03:00",
			}, reported,
		)
	})
}

func TestNewRefuses(t *testing.T) {
	for _, cfg := range []Config{{Marks: 10}, {At: 24 * time.Hour}, {At: -1}, {Dead: -1}} {
		_, err := New(cfg, Deps{Life: conversions, Metrics: prometheus.NewRegistry()})
		require.ErrorContains(t, err, "ADNET_RETENTION_")
	}
}
