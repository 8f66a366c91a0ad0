package report_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/report"
)

// Below ten a count is told as a text, however it is written, and no value holds it: two small
// counts are one and the same.
func TestFewRefusalsAreNotTold(t *testing.T) {
	for n := range int64(report.FewestRefusals) {
		few := report.RefusalsOf(n)
		text, err := json.Marshal(map[string]any{"n": few})
		require.NoError(t, err)
		require.JSONEq(t, `{"n": "<10"}`, string(text))
		require.Equal(t, "<10", fmt.Sprint(few))
		require.Equal(t, report.RefusalsOf(0), few, "it is not there to be told")
		_, known := few.Disclosed()
		require.False(t, known)
	}
	text, err := json.Marshal([]any{
		report.RefusalsOf(10), report.RefusalsOf(1234), report.HundredsOf(99), report.HundredsOf(100),
		report.HundredsOf(1299),
	})
	require.NoError(t, err)
	require.JSONEq(t, `[10, 1234, "<100", 100, 1200]`, string(text))
}

// A sum over days is of the days that are told, so that the sums of two ranges differ by nothing
// that one of their days does not tell.
func TestSumsOfRefusalsTellNoFewDay(t *testing.T) {
	var long, short report.RefusalSum
	for _, n := range []int64{12, 3, 0, 40} {
		long.Add(report.RefusalsOf(n))
	}
	short.Add(report.RefusalsOf(12))
	short.Add(report.RefusalsOf(40))
	require.Equal(t, report.RefusalSum{Requests: 52, Hidden: 2}, long)
	require.Equal(t, short.Requests, long.Requests)
}

func TestSmallSumsOfPlacesAreLeftOut(t *testing.T) {
	health, politics := report.Refused{Reason: report.Sensitive, Subject: "health"}, report.Refused{
		Reason: report.Sensitive, Subject: "politics",
	}
	got := report.RefusedPlacesOf(map[report.Refused]int64{health: 99, politics: 250, {Reason: report.Unsuitable}: 512})
	require.Equal(t, []report.RefusedPlaces{
		{Refused: report.Refused{Reason: report.Unsuitable}, Requests: report.HundredsOf(500)},
		{Refused: politics, Requests: report.HundredsOf(200)},
	}, got)
	text, err := json.Marshal(got[1])
	require.NoError(t, err)
	require.JSONEq(t, `{"reason": "sensitive", "subject": "politics", "requests": 200}`, string(text))
}

func TestJumps(t *testing.T) {
	for name, c := range map[string]struct {
		rate report.NeverRate
		want bool
	}{
		"as usual": {
			report.NeverRate{Requests: 1000, Never: 20, UsualRequests: 100_000, UsualNever: 2000}, false,
		},
		"nearly four times": {
			report.NeverRate{Requests: 1000, Never: 79, UsualRequests: 100_000, UsualNever: 2000}, false,
		},
		"five times": {
			report.NeverRate{Requests: 1000, Never: 100, UsualRequests: 100_000, UsualNever: 2000}, true,
		},
		"five times, by chance": {
			report.NeverRate{Requests: 100, Never: 10, UsualRequests: 100_000, UsualNever: 2000}, false,
		},
		"few":                  {report.NeverRate{Requests: 9, Never: 9, UsualRequests: 100_000}, false},
		"none before":          {report.NeverRate{Requests: 100, Never: 50}, true},
		"none before, and few": {report.NeverRate{Requests: 1000, Never: 30}, false},
	} {
		require.Equal(t, c.want, c.rate.Jumped(), name)
	}
}

// A day's jump is found from what may be told: whatever the days that are not told have, the answer
// is the same.
func TestADaysJumpTellsNoFewDay(t *testing.T) {
	days := func(few, last int64) (list []report.RefusalDay) {
		for range 7 {
			list = append(
				list, report.RefusalDay{DeveloperID: uuid.UUID{1}, Requests: 1000, Never: report.RefusalsOf(few)},
			)
		}
		return append(
			list, report.RefusalDay{DeveloperID: uuid.UUID{1}, Requests: 1000, Never: report.RefusalsOf(last)},
		)
	}
	for few := range int64(report.FewestRefusals) {
		require.True(t, report.JumpedDay(days(few, 100)))
		require.False(t, report.JumpedDay(days(few, 30)))
		require.False(t, report.JumpedDay(days(few, 9)))
	}
}
