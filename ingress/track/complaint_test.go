package track

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/adreport"
	"adnet/internal/day"
	"adnet/internal/token"
)

// filed stores the reports.
type filed struct{ reports []adreport.Report }

func (f *filed) File(_ context.Context, r adreport.Report) error {
	if err := r.Check(); err != nil {
		return err
	}
	f.reports = append(f.reports, r)
	return nil
}

// "Report this ad" needs only the receipt of an ad. The reader's input is escaped on the page.
func TestReportThisAd(t *testing.T) {
	f := newFixture(t)
	stored := &filed{}
	f.tracker.deps.Complaints = stored
	auction := auction(f.Now)
	auction.Headline, auction.Landing = "Chess", landing
	receipt := "/r/" + f.Ring.Sign(token.PurposeReceipt, auction)
	post := func(path string, form url.Values) (int, string) {
		w := f.Do("POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		return w.Code, w.Body.String()
	}
	link := f.Do("GET", receipt, "").Body.String()
	for _, text := range []string{
		"Report this ad", "Why this ad", "the app that shows it: " + auction.HostApp, "To change this",
	} {
		require.Contains(t, link, text)
	}
	attack := `"><script>alert(1)</script>`
	code, page := post(receipt, url.Values{"reason": {"dull"}, "text": {attack}, "email": {attack}})
	require.Equal(t, 400, code)
	require.Contains(t, page, `role="alert"`)
	require.NotContains(t, page, "<script>")
	code, page = post(receipt, url.Values{"reason": {"scam"}, "text": {"Take care."}, "email": {"r@example.com"}})
	require.Equal(t, 200, code)
	require.Contains(t, page, "Thank you.")
	require.Len(t, stored.reports, 1)
	got := stored.reports[0]
	require.Equal(
		t, []any{auction.AuctionID, campaignID, "scam", "Take care.", "r@example.com", "Chess"},
		[]any{got.AuctionID, got.CampaignID, got.Reason, got.Text, got.Email, got.Headline},
	)
	require.EqualValues(
		t, f.Ring.Network(token.NetworkOfReport, campaignID, day.Of(f.Now), "192.0.2.0/24"), got.Network,
		"the reader's network is keyed",
	)

	for _, path := range []string{"/r/x", "/r/" + f.Ring.Sign(token.PurposeClick, auction), receipt + "x"} {
		code, _ := post(path, url.Values{"reason": {"scam"}})
		require.Equal(t, 404, code, path)
	}
	sandbox := auction
	sandbox.Sandbox = true
	code, _ = post("/r/"+f.Ring.Sign(token.PurposeReceipt, sandbox), url.Values{"reason": {"scam"}})
	require.Equal(t, 404, code)
	code, _ = post(receipt, url.Values{"text": {strings.Repeat("x", 20<<10)}})
	require.Equal(t, 413, code)
	require.Len(t, stored.reports, 1)
}
