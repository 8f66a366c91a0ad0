package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/auditlog"
)

// An administrator decides readers' reports. A pause by reports has a statement. An edit does not
// end it, a reviewer's approval does, and an approved version is never paused.
func TestReportsOfReaders(t *testing.T) {
	w := newWorld(t)
	boss, owner := w.admin(t), w.advertiser(t)
	id := uuid.MustParse(owner.creates(t))
	file := func() {
		_, err := w.Store.AdReports.AddReport(
			t.Context(),
			adreport.Report{
				AuctionID: uuid.New(), CampaignID: id, Reason: "scam", Text: "Take care.", Headline: "Chess",
				Email: "r@example.com", At: w.Now,
			},
		)
		require.NoError(t, err)
	}
	stop := func() bool {
		ctx := auditlog.With(t.Context(), auditlog.Actor{Via: auditlog.System})
		auditlog.Because(ctx, "Readers.")
		require.NoError(t, w.campaigns.HoldReported(ctx, id))
		c, err := w.Store.Campaigns.Campaign(t.Context(), id)
		require.NoError(t, err)
		return !c.Delivers()
	}
	file()
	require.True(t, stop())
	owner.Call(t, "PATCH", "/api/campaigns/"+id.String(), object{"headline": "Another text"}).As(200)
	require.True(t, stop(), "an edit goes on waiting")
	list := owner.decisions(t, "")
	require.Equal(
		t, []any{"pause", "reports", true, "Readers."},
		[]any{at(list[0], "kind"), at(list[0], "rule"), at(list[0], "automated"), at(list[0], "reason")},
	)

	path := "/api/admin/reports/" + id.String()
	owner.Get(t, "/api/admin/reports").Fails(403, "forbidden")
	owner.Post(t, path, object{"outcome": "kept", "words": "me"}).Fails(403, "forbidden")
	found := boss.Get(t, "/api/admin/reports").As(200)
	require.Equal(
		t, []any{id.String(), 1.0, "scam"},
		[]any{
			at(found, "reported", 0, "campaign_id"), at(found, "reported", 0, "reports"),
			at(found, "reported", 0, "texts", 0, "reason"),
		},
	)
	require.NotContains(t, found, "r@example.com")
	boss.Post(t, path, object{"outcome": "perhaps", "words": "x"}).Fails(400, "invalid_request")
	boss.Post(t, path, object{"outcome": "kept"}).Fails(400, "invalid_request")
	// The changed text waits as an unapproved one; the queue decides it, and its reports.
	queue := boss.Get(t, "/api/campaigns/review_queue").As(200)
	require.Equal(
		t, []any{id.String(), id.String(), 1.0},
		[]any{
			at(queue, "campaigns", 0, "id"), at(queue, "reported", 0, "campaign_id"),
			at(queue, "reported", 0, "reasons", "scam"),
		},
	)
	boss.Post(
		t, "/api/campaigns?action=review", object{"id": id.String(), "decision": "approved", "notes": "Fine."},
	).As(200)
	boss.Post(t, path, object{"outcome": "kept", "words": "Fine."}).Fails(400, "invalid_state")
	boss.Post(
		t, "/api/campaigns?action=review", object{"id": id.String(), "decision": "approved"},
	).Fails(400, "invalid_state")
	require.False(t, stop(), "a person approved this version")

	file()
	require.EqualValues(t, 1, boss.Post(t, path, object{"outcome": "removed", "words": "A scam."}).As(200)["told"])
	entry := at(boss.Get(t, "/api/audit?target_kind=ad_report").As(200), "entries", 0)
	require.Equal(
		t, []any{"removed", boss.ID.String()},
		[]any{at(entry, "changes", "outcome", "after"), at(entry, "actor", "account_id")},
	)
	require.Equal(t, string(campaign.Rejected), owner.status(t, id.String()))
	require.Equal(t, "A scam.", at(owner.decisions(t, "?kind=rejection")[0], "reason"))
	boss.Post(
		t, "/api/admin/reports/"+uuid.NewString(), object{"outcome": "kept", "words": "x"},
	).Fails(404, "not_found")
}
