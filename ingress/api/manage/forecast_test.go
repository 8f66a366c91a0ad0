package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/money"
	"adnet/internal/report"
)

func TestForecast(t *testing.T) {
	w := newWorld(t)
	me := w.advertiser(t)
	draft := me.draft("bid_amount", 6, "target_regions", []string{"us"})
	none := me.Post(t, "/api/campaigns?action=forecast", draft).As(200)
	require.Equal(t, "too_few_requests", none["hidden"])
	require.Nil(t, none["price_cpm_usd"])

	var rows []report.Row
	var auctions []report.Auction
	for i := range 600 {
		campaign := uuid.UUID{0xc0, byte(i % 6)}
		if i < 6 {
			rows = append(
				rows,
				report.Row{
					EventID: uuid.New(), ReceivedAt: w.Clock(), CampaignID: campaign,
					AdvertiserID: uuid.UUID{0xad, byte(i)},
				},
			)
		}
		region := "US-CA"
		if i%2 == 1 {
			region = "DE"
		}
		auctions = append(
			auctions,
			report.Auction{
				AuctionID: uuid.New(), At: w.Clock(), CampaignID: campaign, ECPM: money.Micros(3+i%6) * money.USD,
				Region: region,
			},
		)
	}
	require.NoError(t, w.Reports.Insert(t.Context(), "rows", rows))
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "auctions", auctions))
	delete(draft, "target_regions")
	got := me.Post(t, "/api/campaigns?action=forecast", draft).As(200)
	require.EqualValues(t, 21, got["requests_per_day"])
	require.Equal(t, object{"p25": 5.0, "p50": 5.0, "p75": 10.0}, got["price_cpm_usd"])
	require.Equal(t, 0.5, got["won_share"])
	require.EqualValues(t, 10, got["impressions_per_day"])
	require.Equal(t, 0.06, got["spend_per_day_usd"])
	draft["target_regions"] = []string{"us"}
	narrow := me.Post(t, "/api/campaigns?action=forecast", draft).As(200)
	require.EqualValues(t, 10, narrow["requests_per_day"])
	require.Equal(t, "too_few_advertisers", narrow["hidden"], "three are in this region")
	require.Nil(t, narrow["won_share"])
	// Refused requests are listed separately, in hundreds.
	require.Empty(t, narrow["refused"])
	require.NoError(
		t, w.Reports.InsertAuctions(t.Context(), "refused", refused(me, w.Clock(), report.Sensitive, "health", 199)),
	)
	again := me.Post(t, "/api/campaigns?action=forecast", draft).As(200)
	require.EqualValues(t, 10, again["requests_per_day"])
	require.Equal(t, []any{object{"reason": "sensitive", "subject": "health", "requests": 100.0}}, again["refused"])
	// Audience and bid come before the creative, which may be missing but not invalid.
	for _, field := range []string{"headline", "cta_url"} {
		delete(draft, field)
	}
	require.EqualValues(t, 10, me.Post(t, "/api/campaigns/forecast", draft).As(200)["requests_per_day"])
	me.Post(t, "/api/campaigns/check", draft).Fails(400, "invalid_request")
	draft["cta_url"] = "http://shop.example"
	require.Equal(t, "cta_url", me.Post(t, "/api/campaigns/forecast", draft).Fails(400, "invalid_request")["field"])
	delete(draft, "cta_url")
	draft["bid_amount"] = 0
	me.Post(t, "/api/campaigns?action=forecast", draft).Fails(400, "invalid_request")
	w.nobody().Post(t, "/api/campaigns?action=forecast", draft).Fails(401, "invalid_token")
}
