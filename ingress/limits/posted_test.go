package limits

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func postedLimits(t *testing.T, least float64, now *time.Time) *Limits {
	t.Helper()
	l, err := New(Config{PostedClickRate: least}, Deps{Now: func() time.Time { return *now }})
	require.NoError(t, err)
	return l
}

// reported returns how many of n clicks count.
func reported(l *Limits, publisher uuid.UUID, n int, now time.Time) (counted int) {
	for range n {
		if l.Reported(publisher, uuid.New(), now) {
			counted++
		}
	}
	return counted
}

func TestReportedClicks(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := postedLimits(t, 0.01, &now)
	small, large := uuid.New(), uuid.New()
	require.Equal(t, 10, reported(l, small, 100, now), "without an ad")
	for range 1_000 {
		l.Sold(large, now)
	}
	require.Equal(t, 10+19, reported(l, large, 1_000, now), "a hundredth, and three standard deviations")
	first := uuid.New()
	fresh := uuid.New()
	for range 1_000 {
		require.True(t, l.Reported(fresh, first, now), "the repeats of a stranger use nothing up")
	}
	require.Equal(t, 9, reported(l, fresh, 100, now))

	// A minute later the minute is empty, the day is not.
	now = now.Add(2 * time.Minute)
	require.Zero(t, reported(l, small, 100, now), "of the day")
	for range 600 {
		l.Sold(large, now)
	}
	require.Equal(t, 26-19+2, reported(l, large, 100, now), "1,600 ads of the day may have 10 + 16 + 12")
	now = now.Add(25 * time.Hour)
	require.Equal(t, 10, reported(l, small, 100, now), "another day")
}

func TestNetworkClickRateCountsReadersOnly(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := postedLimits(t, 0.01, &now)
	publisher := uuid.New()
	for range 20_000 {
		l.Sold(uuid.New(), now)
	}
	for range 100 {
		l.Sold(publisher, now)
	}
	first := uuid.New()
	for range 100_000 {
		l.Followed(first) // a repeat does not count
	}
	require.InDelta(t, 0.01, l.rateOf(&l.clicks, now), 1e-9, "at least the setting")
	for range 2_009 {
		l.Followed(uuid.New())
	}
	require.InDelta(t, 0.1, l.rateOf(&l.clicks, now), 1e-4)
	require.Equal(t, 10+19, reported(l, publisher, 1_000, now))
	before := l.rateOf(&l.clicks, now)
	reported(l, uuid.New(), 1_000, now)
	require.Equal(t, before, l.rateOf(&l.clicks, now), "what servers report does not raise it") //nolint:testifylint // equal bits are meant
}

func TestNetworkViewRateCountsReadersPagesOnly(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, err := New(Config{PostedViewRate: 0.5}, Deps{Now: func() time.Time { return now }})
	require.NoError(t, err)
	publisher := uuid.New()
	for range 100 {
		l.Sold(publisher, now)
	}
	for i := range 20_000 {
		auction := uuid.New()
		for range 2 { // repeats count once
			l.Viewed(auction, false)
			if i%5 > 0 {
				l.Viewed(auction, true)
			}
		}
	}
	require.InDelta(t, 0.8, l.rateOf(&l.views, now), 1e-4)
	counted := 0
	for range 1_000 {
		if l.ReportedView(publisher, uuid.New(), now) {
			counted++
		}
	}
	require.Equal(t, 10+80+26, counted)
	require.InDelta(t, 0.8, l.rateOf(&l.views, now), 1e-4, "what servers report does not raise it")
}

func TestReportedClicksOff(t *testing.T) {
	now := time.Now()
	l := postedLimits(t, 0, &now)
	require.Equal(t, 1_000, reported(l, uuid.New(), 1_000, now))
	for _, bad := range []float64{-0.1, 1.1} {
		_, err := New(Config{PostedClickRate: bad}, Deps{})
		require.ErrorContains(t, err, "ADNET_POSTED_CLICK_RATE")
	}
}
