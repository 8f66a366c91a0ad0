package traffic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/traffic"
)

func TestAnomaly(t *testing.T) {
	rules := traffic.QuarantineRules{MinEvents: 100, CTR: 0.3, InvalidShare: 0.5, Surge: 10}
	today := traffic.PublisherDay{Day: 10}
	week := []traffic.PublisherDay{
		{Day: 3, Minted: 20}, {Day: 5, Minted: 30}, {Day: 9, Minted: 20}, {Day: 2, Minted: 1 << 40},
	}
	for _, c := range []struct {
		name   string
		today  traffic.PublisherDay
		before []traffic.PublisherDay
		want   traffic.QuarantineRule
	}{
		{"quiet", traffic.PublisherDay{Impressions: 10, Clicks: 10, Invalid: 89, Minted: 10}, week, ""},
		{"usual", traffic.PublisherDay{Impressions: 1000, Clicks: 300, Invalid: 1000, Minted: 100}, week, ""},
		{
			"readers came after the robots",
			traffic.PublisherDay{Impressions: 100, Invalid: 160, Redeemed: 60, Minted: 100}, week, "",
		},
		{"clicks are no auctions", traffic.PublisherDay{Impressions: 49, Clicks: 14, Invalid: 50}, week, ""},
		{
			"strangers with a page's key",
			traffic.PublisherDay{
				Impressions: 300, Clicks: 190, Minted: 300, BrowserImpressions: 200, BrowserClicks: 180,
				BrowserMinted: 200, BrowserInvalid: 1 << 40,
			}, week, "",
		},
		{
			"a page's readers hide no robots",
			traffic.PublisherDay{Impressions: 1049, Invalid: 51, BrowserImpressions: 1000}, week,
			traffic.QuarantineInvalid,
		},
		{
			"nor clicks", traffic.PublisherDay{Impressions: 1100, Clicks: 31, BrowserImpressions: 1000}, week,
			traffic.QuarantineCTR,
		},
		{"clicked too much", traffic.PublisherDay{Impressions: 100, Clicks: 31}, nil, traffic.QuarantineCTR},
		{"mostly invalid", traffic.PublisherDay{Impressions: 49, Invalid: 51}, nil, traffic.QuarantineInvalid},
		{"ten times its week", traffic.PublisherDay{Minted: 100}, week, ""},
		{"more than ten times", traffic.PublisherDay{Minted: 101}, week, traffic.QuarantineSurge},
		{"a new publisher has no usual rate", traffic.PublisherDay{Minted: 1 << 40}, week[:2], ""},
	} {
		c.today.Day = today.Day
		got, found := rules.Anomaly(c.today, c.before)
		require.Equal(t, c.want != "", found, c.name)
		require.Equal(t, c.want, got.Rule, c.name)
		if found {
			require.Greater(t, got.Value, got.Threshold, c.name)
			require.Equal(t, c.today, got.Today, c.name)
		}
		_, found = traffic.QuarantineRules{MinEvents: 1}.Anomaly(c.today, c.before)
		require.False(t, found, "rules without a threshold are off")
	}
}
