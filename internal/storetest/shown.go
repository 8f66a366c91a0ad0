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
	one, two := uuid.UUID{1}, uuid.UUID{2}
	var asked []report.Auction
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
			asked = append(asked, a)
		}
	}
	add(one, "rest", "", time.Minute, 5)
	add(one, "rest", "", 90*time.Minute, 2)
	add(one, "rest", "", 3*time.Hour, 100) // not shown yet
	add(one, "rest", "", -time.Minute, 100)
	add(one, "rest", "no_match", time.Minute, 100, func(a *report.Auction) { a.HouseID = uuid.UUID{8} })
	add(one, "rest", "", time.Minute, 100, func(a *report.Auction) { a.Sandbox = true })
	add(one, "openrtb", "", time.Minute, 100)
	add(one, "js_snippet", "", time.Minute, 100)
	add(one, "mcp", "", time.Minute, 3)
	add(two, "mcp", "", time.Minute, 4)
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "shown", asked))
	var rows []report.Row
	shown := func(developer uuid.UUID, method string, verdict ledger.Verdict, at time.Duration, n int) {
		for range n {
			rows = append(rows, report.Row{
				EventID: uuid.Must(uuid.NewV7()), ReceivedAt: midnight.Add(at), Type: ledger.Impression, Verdict: verdict,
				AuctionID: uuid.Must(uuid.NewV7()), CampaignID: uuid.UUID{9}, DeveloperID: developer,
				IntegrationMethod: method,
			})
		}
	}
	shown(one, "rest", ledger.OK, time.Minute, 2)
	shown(one, "rest", ledger.SelfServed, 4*time.Hour, 1)
	shown(one, "rest", ledger.Duplicate, time.Minute, 10)
	shown(one, "rest", ledger.OK, -time.Minute, 10)
	shown(one, "js_snippet", ledger.OK, time.Minute, 10)
	shown(uuid.UUID{3}, "rest", ledger.OK, time.Minute, 10)
	require.NoError(t, s.Writer.Insert(t.Context(), "shown", rows))

	ads, err := s.Shown.ShownAds(t.Context(), midnight, midnight.Add(2*time.Hour))
	require.NoError(t, err)
	require.ElementsMatch(t, []traffic.ShownAds{
		{DeveloperID: one, Method: "rest", Sold: 7, Shown: 3}, {DeveloperID: one, Method: "mcp", Sold: 3},
		{DeveloperID: two, Method: "mcp", Sold: 4},
	}, ads)
	ads, err = s.Shown.ShownAds(t.Context(), midnight, midnight)
	require.NoError(t, err)
	require.Empty(t, ads, "the first hour can still be shown")
}
