package storetest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/money"
	"adnet/internal/report"
)

func reportsForecast(t *testing.T, s Reports) {
	insertRows(t, s, "owner", reportRow())
	auction := func(edit func(*report.Auction)) report.Auction {
		a := report.Auction{
			AuctionID: uuid.Must(uuid.NewV7()), At: reportNoon, DeveloperID: uuid.UUID{3}, CampaignID: uuid.UUID{1},
			ECPM:    3 * money.USD,
			HostApp: "App", Surface: "chat", IntegrationMethod: "rest", Region: "US-CA", Language: "en_US",
		}
		edit(&a)
		return a
	}
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "a", []report.Auction{
		auction(func(*report.Auction) {}), auction(func(a *report.Auction) { a.ECPM = 5 * money.USD }),
		auction(func(a *report.Auction) { a.CampaignID, a.ECPM, a.Reason = uuid.Nil, 0, "no_match" }),
		auction(func(a *report.Auction) { a.Sandbox = true }),
		auction(func(a *report.Auction) { a.Region, a.ECPM = "o'\\,DE", 60_000*money.USD }),
		auction(func(a *report.Auction) { a.At = (reportDay - 1).Time() }),
		auction(func(a *report.Auction) { a.CampaignID, a.ECPM, a.Reason = uuid.Nil, 0, "unsuitable" }),
		auction(func(a *report.Auction) { a.CampaignID, a.ECPM, a.Reason = uuid.Nil, 0, "sensitive" }),
	}))
	advertiser := uuid.UUID{2}
	five, dear := report.Step(5*money.USD), report.Step(60_000*money.USD)
	for name, c := range map[string]struct {
		places report.Places
		want   []report.Won
	}{
		"all": {
			report.Places{},
			[]report.Won{
				{Advertiser: advertiser, Step: five, Requests: 2}, {Advertiser: advertiser, Step: dear, Requests: 1},
				{Requests: 1},
			},
		},
		"US, en": {
			report.Places{Regions: []string{"de", "us"}, Languages: []string{"EN"}},
			[]report.Won{{Advertiser: advertiser, Step: five, Requests: 2}, {Requests: 1}},
		},
		"an odd region": {
			report.Places{Regions: []string{"O'\\,DE"}},
			[]report.Won{{Advertiser: advertiser, Step: dear, Requests: 1}},
		},
		"another app": {report.Places{HostApps: []string{"other"}}, []report.Won{}},
		"this place": {
			report.Places{
				HostApps: []string{"app"}, Surfaces: []string{"chat"}, Methods: []string{"rest"},
				Regions: []string{"us-ca"},
			}, []report.Won{{Advertiser: advertiser, Step: five, Requests: 2}, {Requests: 1}},
		},
	} {
		c.places.Since, c.places.Until = reportDay, reportDay
		got, err := s.Forecast.Requests(t.Context(), c.places)
		require.NoError(t, err)
		require.ElementsMatch(t, c.want, got, name)
	}
}
