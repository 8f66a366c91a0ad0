package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
)

// Conversions by type are also available as a table for spreadsheets. Its cells are never formulas,
// whatever names an advertiser chooses.
func TestConversionsByTypeAsCSV(t *testing.T) {
	w := newWorld(t)
	owner := w.advertiser(t)
	id := owner.creates(t)
	require.Equal(
		t, "2026-03-10T12:00:00Z", at(owner.Get(t, "/api/stats/conversions").As(200), "as_of"),
		"without any event none is missing now",
	)
	require.NoError(t, w.Reports.Insert(t.Context(), "one", []report.Row{{
		EventID: uuid.New(), ReceivedAt: w.Now, Type: ledger.Conversion, Verdict: ledger.OK,
		CampaignID: uuid.MustParse(id), AdvertiserID: owner.ID,
		ConversionType: "=1+1", ConversionValue: 12_345_678, Currency: "USD",
	}}))
	reply := owner.Get(t, "/api/stats/conversions?format=csv&since=2026-03-01")
	require.Equal(t, 200, reply.Code, reply.Text)
	require.Equal(
		t,
		"campaign_id,conversion_type,conversions,value_usd,last_received_at\n"+id+
			",'=1+1,1,12.345678,2026-03-10T12:00:00Z\n", reply.Text,
	)
	require.Contains(t, reply.Header.Get("Content-Disposition"), "adnet-conversions-2026-03-01-2026-03-10.csv")
}

// An advertiser sees its own types of conversions, and no other's.
func TestConversionsByType(t *testing.T) {
	w := newWorld(t)
	owner, other := w.advertiser(t), w.advertiser(t)
	id := owner.creates(t)
	require.Equal(t, []any{}, at(owner.Get(t, "/api/stats/conversions").As(200), "conversions"))
	require.NoError(t, w.Reports.Insert(t.Context(), "one", []report.Row{{
		EventID: uuid.New(), ReceivedAt: w.Now, Type: ledger.Conversion, Verdict: ledger.OK,
		CampaignID: uuid.MustParse(id), AdvertiserID: owner.ID,
		ConversionType: "signup", ConversionValue: 12 * money.USD, Currency: "USD",
	}}))
	for _, path := range []string{"/api/stats/conversions", "/api/stats/conversions?campaign_id=" + id} {
		row := at(owner.Get(t, path).As(200), "conversions", 0)
		require.Equal(
			t, []any{id, "signup", 1.0, 12.0, "2026-03-10T12:00:00Z"},
			[]any{
				at(row, "campaign_id"), at(row, "conversion_type"), at(row, "conversions"), at(row, "value_usd"),
				at(row, "last_received_at"),
			},
		)
	}
	require.Equal(
		t, "2026-03-10T12:00:00Z", at(owner.Get(t, "/api/stats/conversions").As(200), "as_of"),
		"the newest event that is counted",
	)
	require.Equal(t, []any{}, at(other.Get(t, "/api/stats/conversions").As(200), "conversions"))
	other.Get(t, "/api/stats/conversions?campaign_id="+id).Fails(403, "forbidden")
	owner.Get(t, "/api/stats/conversions?campaign_id=x").Fails(400, "invalid_request")
	owner.Get(t, "/api/stats/conversions?format=xml").Fails(400, "invalid_request")
	require.Len(t, at(w.admin(t).Get(t, "/api/stats/conversions").As(200), "conversions"), 1)
}
