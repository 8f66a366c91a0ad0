package clickhouse_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/analytics/stats"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/report"
)

// Opportunities are the auctions that a campaign won, was paced out of or had no budget for, by the
// quarter of the hour.
func TestOpportunities(t *testing.T) {
	s := open(t)
	reader, err := stats.New(stats.Config{}, stats.Deps{Store: s})
	require.NoError(t, err)
	date := day.Of(time.Now()) - 2
	at := func(date day.Day, clock time.Duration, reasons ...string) report.Auction {
		a := report.Auction{AuctionID: uuid.Must(uuid.NewV7()), At: date.Time().Add(clock)}
		for i, reason := range reasons {
			a.Candidates = append(a.Candidates, report.Candidate{CampaignID: uuid.UUID{byte(i + 1)}, Reason: reason})
		}
		return a
	}
	sandbox := at(date, 0, "", "")
	sandbox.Sandbox = true
	require.NoError(t, s.InsertAuctions(t.Context(), "a", []report.Auction{
		at(date, 0, "paced", ""), at(date, 14*time.Minute+59*time.Second, "budget", "outbid"),
		at(date, 15*time.Minute, "", "frequency_capped"),
		at(date+1, 24*time.Hour-time.Second, "", "below_floor"), at(date-1, time.Hour, "", ""),
		at(date+2, time.Hour, "", ""), sandbox,
	}))
	all, err := reader.Opportunities(t.Context(), date, date+1)
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]*[campaign.Quarters]int64{{1}: {0: 2, 1: 1, 95: 1}, {2}: {0: 1}}, all)
}
