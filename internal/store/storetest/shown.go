package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/traffic"
)

// ReportShown counts sold and shown ads.
type ReportShown interface {
	ShownAds(ctx context.Context, since, until time.Time) ([]traffic.ShownAds, error)
}

func reportsShown(t *testing.T, s Reports) {
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	first, two := uuid.UUID{1}, uuid.UUID{2}
	var auctions []report.Auction
	add := func(developer uuid.UUID, method, reason string, at time.Duration, n int, edit ...func(*report.Auction)) {
		for range n {
			a := report.Auction{
				AuctionID: uuid.Must(uuid.NewV7()), At: midnight.Add(at), DeveloperID: developer, Reason: reason,
				CampaignID: uuid.UUID{9}, IntegrationMethod: method,
			}
			if reason != "" {
				a.CampaignID = uuid.Nil
			}
			for _, e := range edit {
				e(&a)
			}
			auctions = append(auctions, a)
		}
	}
	add(first, "rest", "", time.Minute, 5)
	add(first, "rest", "", 90*time.Minute, 2)
	add(first, "rest", "", 3*time.Hour, 100) // not shown yet
	add(first, "rest", "", -time.Minute, 100)
	add(first, "rest", "no_match", time.Minute, 100, func(a *report.Auction) { a.HouseID = uuid.UUID{8} })
	add(first, "rest", "", time.Minute, 100, func(a *report.Auction) { a.Sandbox = true })
	add(first, "openrtb", "", time.Minute, 100)
	add(first, "js_snippet", "", time.Minute, 100)
	add(first, "mcp", "", time.Minute, 3)
	add(two, "mcp", "", time.Minute, 4)
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "shown", auctions))
	var rows []report.Row
	count := func(developer uuid.UUID, method string, verdict ledger.Verdict, at time.Duration, n int) {
		for range n {
			rows = append(rows, report.Row{
				EventID: uuid.Must(uuid.NewV7()), ReceivedAt: midnight.Add(at), Type: ledger.Impression, Verdict: verdict,
				AuctionID: uuid.Must(uuid.NewV7()), CampaignID: uuid.UUID{9}, DeveloperID: developer,
				IntegrationMethod: method,
			})
		}
	}
	count(first, "rest", ledger.OK, time.Minute, 2)
	count(first, "rest", ledger.SelfServed, 4*time.Hour, 1)
	count(first, "rest", ledger.Duplicate, time.Minute, 10)
	count(first, "rest", ledger.OK, -time.Minute, 10)
	count(first, "js_snippet", ledger.OK, time.Minute, 10)
	count(uuid.UUID{3}, "rest", ledger.OK, time.Minute, 10)
	require.NoError(t, s.Writer.Insert(t.Context(), "shown", rows))

	ads, err := s.Counted.ShownAds(t.Context(), midnight, midnight.Add(2*time.Hour))
	require.NoError(t, err)
	require.ElementsMatch(t, []traffic.ShownAds{
		{DeveloperID: first, Method: "rest", Sold: 7, Counted: 3}, {DeveloperID: first, Method: "mcp", Sold: 3},
		{DeveloperID: two, Method: "mcp", Sold: 4},
	}, ads)
	ads, err = s.Counted.ShownAds(t.Context(), midnight, midnight)
	require.NoError(t, err)
	require.Empty(t, ads, "the first hour can still be shown")
}
