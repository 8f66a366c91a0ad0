package traffic_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

// Seats of one owner, each below the minimum of 100.
func TestAnomaliesOfOneOwner(t *testing.T) {
	const today = day.Day(10)
	type numbers = traffic.PublisherDay
	of := func(n byte, days ...numbers) []numbers {
		for i := range days {
			if days[i].DeveloperID, days[i].OwnerID = (uuid.UUID{n}), (uuid.UUID{1}); n == 1 { // the owner itself
				days[i].OwnerID = uuid.Nil
			}
			if days[i].Day == 0 {
				days[i].Day = today
			}
		}
		return days
	}
	usual := func(minted int64) (week []numbers) {
		for n := range day.Day(traffic.SurgeDays) {
			week = append(week, numbers{Day: today - 1 - n, Minted: minted})
		}
		return week
	}
	for _, c := range []struct {
		name string
		days [][]numbers
		rule traffic.QuarantineRule
		want []byte
	}{
		{
			"small and clicked",
			[][]numbers{of(2, numbers{Impressions: 50, Clicks: 30}), of(3, numbers{Impressions: 50, Clicks: 30})},
			traffic.QuarantineCTR, []byte{2, 3},
		},
		{
			"below the minimum together",
			[][]numbers{of(2, numbers{Impressions: 50, Clicks: 30}), of(3, numbers{Impressions: 49, Clicks: 30})}, "",
			nil,
		},
		{
			"the owner is one of them",
			[][]numbers{of(1, numbers{Impressions: 50, Clicks: 30}), of(3, numbers{Impressions: 50, Clicks: 30})},
			traffic.QuarantineCTR, []byte{1, 3},
		},
		{
			"an honest exchange beside them is not held",
			[][]numbers{of(2, numbers{Impressions: 60, Clicks: 60}), of(3, numbers{Impressions: 40, Clicks: 1})},
			traffic.QuarantineCTR, []byte{2},
		},
		{
			"and does not thin them out",
			[][]numbers{
				of(2, numbers{Impressions: 50, Clicks: 30}), of(3, numbers{Impressions: 50, Clicks: 30}),
				of(4, numbers{Impressions: 9000, Clicks: 90}),
			}, traffic.QuarantineCTR, []byte{2, 3},
		},
		{
			"a large one is held by itself alone",
			[][]numbers{of(2, numbers{Impressions: 900, Clicks: 800}), of(3, numbers{Impressions: 9000, Clicks: 90})},
			traffic.QuarantineCTR, []byte{2},
		},
		{
			"robots",
			[][]numbers{
				of(2, numbers{Impressions: 20, Invalid: 30}),
				of(3, numbers{Impressions: 20, Invalid: 40, Redeemed: 10}),
			}, traffic.QuarantineInvalid, []byte{2, 3},
		},
		{
			"strangers with the key of the owner's page",
			[][]numbers{
				of(1, numbers{Impressions: 200, Clicks: 190, BrowserImpressions: 200, BrowserClicks: 190}),
				of(3, numbers{Impressions: 50, Clicks: 1}),
			}, "", nil,
		},
		{
			"readers came after them",
			[][]numbers{
				of(2, numbers{Impressions: 50, Invalid: 60, Redeemed: 20}),
				of(3, numbers{Impressions: 50, Invalid: 60, Redeemed: 20}),
			}, "", nil,
		},
		{
			"each far above its week",
			[][]numbers{
				of(2, append(usual(1), numbers{Minted: 60})...), of(3, append(usual(1), numbers{Minted: 60})...),
			}, traffic.QuarantineSurge, []byte{2, 3},
		},
		{
			"new seats begin with their owner's week",
			[][]numbers{of(2, usual(1)...), of(3, numbers{Minted: 60}), of(4, numbers{Minted: 60})},
			traffic.QuarantineSurge, []byte{3, 4},
		},
		{"a seat takes over from another", [][]numbers{of(2, usual(500)...), of(3, numbers{Minted: 600})}, "", nil},
		{
			"days are counted once",
			[][]numbers{
				of(2, append(usual(1)[:2], numbers{Minted: 60})...),
				of(3, append(usual(1)[:2], numbers{Minted: 60})...),
			}, "", nil,
		},
	} {
		rules := traffic.QuarantineRules{MinEvents: 100, CTR: 0.5, InvalidShare: 0.5, Surge: 10}
		var held []byte
		days := slices.Concat(c.days...)
		for _, e := range rules.Anomalies(today, days) {
			held = append(held, e.Today.DeveloperID[0])
			require.Equal(t, c.rule, e.Rule, c.name)
			require.Greater(t, e.Value, e.Threshold, c.name)
			require.Contains(t, days, e.Today, c.name)
		}
		require.Equal(t, c.want, held, c.name)
		require.Empty(
			t, traffic.QuarantineRules{MinEvents: 1}.Anomalies(today, days), "rules without a threshold are off",
		)
	}
}
