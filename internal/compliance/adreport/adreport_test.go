package adreport_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/adreport"
	"adnet/internal/report"
	"adnet/schemas/event"
)

type world struct {
	adreport.Store
	counts adreport.Counts
	seen   int64
	added  bool
	held   int
	fails  error // of counting
	young  int   // publishers without billed traffic for long enough
	rivals int
	stored adreport.Report
}

func (w *world) AddReport(_ context.Context, r adreport.Report) (bool, error) {
	w.stored = r
	return w.added, nil
}
func (w *world) CountReports(context.Context, uuid.UUID, time.Time) (adreport.Counts, error) {
	return w.counts, w.fails
}

// Reporters returns three families, of which rivals compete.
func (w *world) Reporters(_ context.Context, _ uuid.UUID, _ time.Time, days int) ([]uuid.UUID, error) {
	if days != 30 {
		return nil, errors.New("billed days")
	}
	return []uuid.UUID{{1}, {2}, {3}}[:min(3, w.counts.Publishers-w.young)], nil
}

// Compete implements adreport.Rivals.
func (w *world) Compete(_ context.Context, family, _ uuid.UUID) (bool, error) {
	return int(family[0]) <= w.rivals, nil
}
func (w *world) Stats(context.Context, report.Query) (report.Result, error) {
	return report.Result{Counts: report.Counts{Events: report.Events{event.Type_IMPRESSION: w.seen}}}, nil
}
func (w *world) HoldReported(context.Context, uuid.UUID) error { w.held++; return nil }

// Three networks, three publishers and 0.1 % of the day's impressions stop an ad, and nothing less;
// never while the setting is off.
func TestWhatStopsAnAd(t *testing.T) {
	for name, c := range map[string]struct {
		pause, added                  bool
		networks, publishers, counted int
		seen                          int64
		young, rivals                 int
		want                          int
	}{
		"enough":         {true, true, 3, 3, 3, 3000, 0, 0, 1},
		"too few":        {true, true, 3, 3, 3, 3001, 0, 0, 0},
		"one network":    {true, true, 2, 3, 30, 10, 0, 0, 0},
		"one publisher":  {true, true, 3, 2, 30, 10, 0, 0, 0},
		"free accounts":  {true, true, 3, 3, 30, 10, 1, 0, 0},
		"a rival":        {true, true, 3, 3, 30, 10, 0, 1, 0},
		"off":            {false, true, 9, 9, 90, 10, 0, 0, 0},
		"a further copy": {true, false, 9, 9, 90, 10, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				added: c.added, seen: c.seen, young: c.young, rivals: c.rivals,
				counts: adreport.Counts{Networks: c.networks, Publishers: c.publishers, Counted: c.counted},
			}
			s := adreport.New(adreport.Deps{Store: w, Stats: w, Hold: w, Rivals: w, Pause: c.pause, Now: time.Now})
			require.NoError(t, s.File(t.Context(), adreport.Report{Reason: "scam"}))
			require.Equal(t, c.want, w.held)
		})
	}
}

// A report that was kept is kept, whatever fails afterwards: its reader does not send it again, and
// the next one has the ad stopped.
func TestAKeptReportIsKept(t *testing.T) {
	w := &world{added: true, fails: errors.New("away"), counts: adreport.Counts{Networks: 3, Publishers: 3, Counted: 3}}
	s := adreport.New(adreport.Deps{Store: w, Stats: w, Hold: w, Rivals: w, Pause: true, Now: time.Now})
	require.NoError(t, s.File(t.Context(), adreport.Report{Reason: "scam"}))
	require.Zero(t, w.held)
	w.fails = nil
	require.NoError(t, s.File(t.Context(), adreport.Report{Reason: "scam"}))
	require.Equal(t, 1, w.held)
}

// A report of the place of an ad has no text, and stops nothing, however many there are.
func TestAPlaceIsForAPerson(t *testing.T) {
	w := &world{added: true, counts: adreport.Counts{Networks: 99, Publishers: 99, Counted: 99}}
	s := adreport.New(adreport.Deps{Store: w, Stats: w, Hold: w, Rivals: w, Pause: true, Now: time.Now})
	require.NoError(
		t,
		s.File(
			t.Context(),
			adreport.Report{Reason: adreport.UnsuitablePlace, Text: "I had asked how to …", Email: "a@example.com"},
		),
	)
	require.Zero(t, w.held)
	require.Equal(t, adreport.Report{Reason: adreport.UnsuitablePlace, Email: "a@example.com"}, w.stored)
}

func TestCheck(t *testing.T) {
	for _, r := range []adreport.Report{
		{}, {Reason: "dull"}, {Reason: "scam", Text: strings.Repeat("ä", adreport.MaxText+1)},
		{Reason: "scam", Text: "a\x00"}, {Reason: "scam", Text: "\xff"},
		{Reason: "scam", Email: "x"}, {Reason: "scam", Email: "A <a@example.com>"},
		{Reason: "scam", Email: "a@example.com\nBcc: b@example.com"},
	} {
		require.Error(t, r.Check(), "%+v", r)
	}
	require.NoError(
		t,
		(&adreport.Report{Reason: "scam", Text: strings.Repeat("ä", adreport.MaxText), Email: "a@example.com"}).Check(),
	)
}
