package main

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// world is a suite whose run is over: one campaign of 1 USD a day, one impression acknowledged
// twice.
func world(t *testing.T) (*suite, []row) {
	t.Helper()
	s := &suite{began: time.Now(), report: report{Breaches: []string{}}}
	s.load = newLoad(s)
	s.site = &site{
		s: s, list: []*budget{{id: "c", advertiser: "a", model: "cpm", daily: 1_000_000, total: 2_000_000}},
		deposits: map[string]int64{"a": 5_000_000},
	}
	for _, limit := range []string{dailyBudget, totalBudget, balance} {
		ended := &budget{id: limit, limit: limit}
		ended.refused.Store(true)
		s.site.list = append(s.site.list, ended)
	}
	auction := uuid.Must(uuid.NewV7())
	seen := beacon{auction, "impression"}
	s.load.note(seen)
	s.load.note(seen)
	at := time.Now().UTC()
	first := row{
		beacon: seen, verdict: "ok", campaign: "c", day: "2026-01-01", price: 900_000, charge: 900_000, minted: 1,
		received: at,
	}
	again := row{beacon: seen, verdict: "duplicate", campaign: "c", day: "2026-01-01", price: 900_000, received: at}
	return s, []row{first, again}
}

func judge(s *suite, rows []row) report {
	s.compare(rows)
	s.books(rows)
	var charged int64
	for _, r := range rows {
		charged += r.charge
	}
	s.balances(map[string]int64{"house:revenue": charged, "advertiser:a": s.site.deposits["a"] - charged})
	return s.report
}

func TestACleanRunHasNoBreach(t *testing.T) {
	s, rows := world(t)
	got := judge(s, rows)
	require.Empty(t, got.Breaches)
	require.EqualValues(t, 900_000, got.Charged)
	require.Equal(t, map[string]int{"daily_budget": 1, "total_budget": 1, "balance": 1}, got.Exhausted)
	require.Equal(t, map[string]int64{"ok": 1, "duplicate": 1}, got.Verdicts)
}

func TestEveryBrokenPromiseIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(s *suite, rows []row) []row
		see    func(r report) int64
		want   int64
	}{
		"an answer without a row": {
			func(_ *suite, rows []row) []row { return rows[:1] }, func(r report) int64 { return r.Lost }, 1,
		},
		"nothing arrived": {func(*suite, []row) []row { return nil }, func(r report) int64 { return r.Lost }, 2},
		"two effects": {func(_ *suite, rows []row) []row {
			rows[1].verdict = "over_budget"
			return rows
		}, func(r report) int64 { return r.Doubled }, 1},
		"two charges": {func(_ *suite, rows []row) []row {
			rows[1].charge = 50_000
			return rows
		}, func(r report) int64 { return r.Doubled }, 1},
		"two Credits": {func(_ *suite, rows []row) []row {
			rows[1].minted = 1
			return rows
		}, func(r report) int64 { return r.Doubled }, 1},
		"above the daily budget": {func(_ *suite, rows []row) []row {
			rows[0].charge = 1_000_007
			return rows
		}, func(r report) int64 { return r.Overspend }, 7},
		"above the total budget": {func(s *suite, rows []row) []row {
			s.site.list[0].total = 899_999
			return rows
		}, func(r report) int64 { return r.Overspend }, 1},
		"above the balance": {func(s *suite, rows []row) []row {
			s.site.deposits["a"] = 899_998
			return rows
		}, func(r report) int64 { return r.Overspend }, 2},
		"nothing that ran out": {func(s *suite, rows []row) []row {
			s.site.list[2].refused.Store(false)
			return rows
		}, func(r report) int64 { return int64(r.Exhausted[totalBudget]) }, 0},
		"charged after a pause": {func(s *suite, rows []row) []row {
			s.site.pauses = []pauseMark{{"c", rows[0].received.Add(-time.Second), rows[0].received.Add(time.Second)}}
			return rows
		}, func(r report) int64 { return r.AfterPause }, 1},
		"given away": {func(_ *suite, rows []row) []row {
			for range 3 {
				rows = append(
					rows,
					row{
						beacon: beacon{uuid.Must(uuid.NewV7()), "impression"}, verdict: "over_budget", campaign: "c",
						price: 900_000,
					},
				)
			}
			return rows
		}, func(r report) int64 { return r.FreeDelivery }, 2_700_000},
	} {
		t.Run(name, func(t *testing.T) {
			s, rows := world(t)
			got := judge(s, c.damage(s, rows))
			require.Equal(t, c.want, c.see(got))
			require.Len(t, got.Breaches, 1)
		})
	}
}

func TestFreeDeliveryIsPromisedWhileRedisIsHealthy(t *testing.T) {
	s, rows := world(t)
	for range 3 {
		rows = append(
			rows,
			row{
				beacon: beacon{uuid.Must(uuid.NewV7()), "impression"}, verdict: "over_budget", campaign: "c",
				price: 900_000,
			},
		)
	}
	s.faulty = windows{{time.Now().Add(-time.Minute), time.Now().Add(time.Minute)}}
	got := judge(s, rows)
	require.Empty(t, got.Breaches)
	require.EqualValues(t, 2_700_000, got.FreeDeliveryFaulty)
}

func TestBalancesAreWhatWasPaidLessWhatWasCharged(t *testing.T) {
	for name, balances := range map[string]map[string]int64{
		"the revenue":             {"house:revenue": 900_001, "advertiser:a": 4_100_000},
		"the advertiser's":        {"house:revenue": 900_000, "advertiser:a": 4_099_999},
		"an advertiser's missing": {"house:revenue": 900_000},
	} {
		t.Run(name, func(t *testing.T) {
			s, rows := world(t)
			s.compare(rows)
			s.books(rows)
			s.balances(balances)
			require.Len(t, s.report.Breaches, 1)
		})
	}
}

// The protections that a run can be built without are still where they are said to be.
func TestBreaksFit(t *testing.T) {
	require.NoError(t, breaks.Fit("../.."))
}
