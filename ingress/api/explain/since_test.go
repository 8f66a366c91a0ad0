package explain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/report"
)

// A campaign that is a minute old is not judged by auctions that were before it.
func TestDiagnosisCountsSinceTheCampaignExists(t *testing.T) {
	w := newWorld(t)
	created := start.Add(-time.Minute)
	id := at(created, 1)
	w.campaign(t, id, "advertiser", func(k *campaign.Campaign) { k.CreatedAt = created })
	auctions := func(age time.Duration, n byte) {
		var list []report.Auction
		for i := range n {
			when := start.Add(-age)
			list = append(list, report.Auction{AuctionID: at(when, i+1), At: when, Reason: "irrelevant"})
		}
		require.NoError(t, w.Reports.InsertAuctions(t.Context(), age.String(), list))
	}
	diagnosed := func() (body struct {
		Causes []struct {
			Cause   Cause
			Count   int64
			Message string
		}
		Window struct {
			Since    time.Time
			Auctions int64
		}
	}) {
		reply := w.Caller(w.names["advertiser"]).Get(t, "/api/campaigns/"+id.String()+"/diagnose").As(200)
		text, err := json.Marshal(reply)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &body))
		return body
	}
	auctions(2*time.Minute, 60)
	body := diagnosed()
	require.Zero(t, body.Window.Auctions)
	require.Equal(t, created, body.Window.Since)
	require.Equal(t, NoMatching, body.Causes[0].Cause)
	require.Equal(t, "there was no auction since it was created", body.Causes[0].Message)
	auctions(time.Second, 3)
	body = diagnosed()
	require.EqualValues(t, 3, body.Window.Auctions)
	require.Equal(t, Irrelevant, body.Causes[0].Cause)
	require.EqualValues(t, 3, body.Causes[0].Count)
	old := campaign.Campaign{CreatedAt: start.Add(-2 * window)}
	require.Equal(t, start.Add(-window), since(&old, start))
	fresh := campaign.Campaign{CreatedAt: start.Add(-time.Millisecond)}
	require.Equal(t, start, since(&fresh, start))
}
