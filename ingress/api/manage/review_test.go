package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
)

// A reviewer sees the last approved version: the one that the policy accepted, then those that
// reviewers approved. Differences are listed, and other edits of the owner are skipped.
func TestApprovedBefore(t *testing.T) {
	w := newWorld(t)
	boss, owner, other := w.admin(t), w.advertiser(t), w.advertiser(t)
	id := owner.creates(t, "bid_amount", 1.25, "target_intent_tokens", []string{"sql", "go"})
	approved := func(id string) string { return "/api/admin/campaigns/" + id + "/approved" }
	path := approved(id)
	owner.Get(t, path).Fails(403, "forbidden")
	other.Get(t, path).Fails(403, "forbidden")
	boss.Get(t, approved(uuid.NewString())).Fails(404, "not_found")

	patch := func(body object) { owner.Call(t, "PATCH", "/api/campaigns/"+id, body).As(200) }
	first := boss.Get(t, path).As(200)
	require.Equal(
		t, []any{"policy", 1.25, []any{}, true},
		[]any{
			at(first, "approved", "by"), at(first, "approved", "fields", "bid_amount"), at(first, "differs"),
			at(first, "whole"),
		},
	)
	patch(object{"headline": "Another headline"})
	patch(object{"headline": "A third headline", "bid_amount": 2})
	patch(object{"bid_amount": 1.25})
	found := boss.Get(t, path).As(200)
	require.Equal(
		t, []any{[]any{"headline"}, "Query Postgres in plain English"},
		[]any{at(found, "differs"), at(found, "approved", "fields", "headline")},
	)
	require.NotContains(t, at(found, "approved", "fields"), "status")

	boss.Post(t, "/api/campaigns/review", object{"id": id, "decision": "approved"}).As(200)
	patch(object{"target_intent_tokens": []string{"go"}, "subtext": "New words"})
	found = boss.Get(t, path).As(200)
	require.Equal(t, []any{
		"reviewer", []any{"subtext", "target_intent_tokens"}, "A third headline", []any{"sql", "go"},
	},
		[]any{
			at(found, "approved", "by"), at(found, "differs"), at(found, "approved", "fields", "headline"),
			at(found, "approved", "fields", "target_intent_tokens"),
		})

	waits := owner.creates(t)
	require.Equal(t, "in_review", owner.status(t, waits))
	found = boss.Get(t, approved(waits)).As(200)
	require.Equal(
		t, []any{nil, []any{}, true}, []any{at(found, "approved"), at(found, "differs"), at(found, "whole")},
		"none was approved before",
	)
}

// A live campaign that readers have reported is decided in the queue, by administrators only, and a
// campaign without reports is not.
func TestReviewDecidesReported(t *testing.T) {
	w := newWorld(t)
	boss, owner := w.admin(t), w.advertiser(t)
	id := owner.creates(t)
	decide := func(p *person, decision string) reply {
		return p.Post(t, "/api/campaigns/review", object{"id": id, "decision": decision, "notes": "A scam."})
	}
	decide(boss, "approved").As(200)
	decide(boss, "rejected").Fails(400, "invalid_state")
	owner.Call(t, "PATCH", "/api/campaigns/"+id, object{"headline": "Another text"}).As(200)
	file := func() {
		_, err := w.Store.AdReports.AddReport(
			t.Context(),
			adreport.Report{AuctionID: uuid.New(), CampaignID: uuid.MustParse(id), Reason: "scam", At: w.Now},
		)
		require.NoError(t, err)
	}
	file()
	decide(owner, "approved").Fails(401, "invalid_token")
	decide(boss, "approved").As(200)
	require.Equal(t, "active", owner.status(t, id))
	stored, err := w.Store.Campaigns.Campaign(t.Context(), uuid.MustParse(id))
	require.NoError(t, err)
	require.Equal(t, "approved", stored.Review.Decision, "a person looked at it")
	file()
	decide(boss, "rejected").As(200)
	require.Equal(t, string(campaign.Rejected), owner.status(t, id))
	require.Zero(t, at(boss.Get(t, "/api/admin/reports").As(200), "total"))
	entry := at(boss.Get(t, "/api/audit?target_kind=ad_report").As(200), "entries", 0)
	require.Equal(
		t, []any{"removed", "A scam."},
		[]any{at(entry, "changes", "outcome", "after"), at(entry, "changes", "words", "after")},
	)
}

// The review queue lists live campaigns that no person approved, after the pending ones and with
// the reason, which their owners read too. A decision ends it.
func TestQueueListsLiveCampaignsWithoutAReview(t *testing.T) {
	w := newWorld(t)
	boss, funded, free := w.admin(t), w.advertiser(t), w.advertiser(t)
	path := "/api/campaigns/review_queue"
	fresh := free.creates(t, "cta_url", "https://bread.example/", "headline", "Fresh bread from our oven")
	live, waits := funded.creates(t), funded.creates(t)
	bound := func(id string) {
		stored, err := w.Store.Campaigns.Campaign(t.Context(), uuid.MustParse(id))
		require.NoError(t, err)
		require.NoError(t, w.Store.Campaigns.KeepStandings(t.Context(), []campaign.StandingChange{{
			CampaignID: stored.ID, Seen: stored.ConfigVersion, Standing: campaign.Standing{Bound: campaign.Unproven},
		}}))
	}
	read := func(query string) (list []any) {
		queue := boss.Get(t, path+query).As(200)
		for i := range queue["campaigns"].([]any) {
			list = append(list, at(queue, "campaigns", i, "id"), at(queue, "campaigns", i, "review_reason"))
		}
		return list
	}
	require.Equal(t, []any{waits, "pending", live, "unreviewed", fresh, "unreviewed"}, read(""))
	bound(fresh)
	require.Equal(t, []any{waits, "pending", fresh, "bound", live, "unreviewed"}, read(""))
	require.Equal(t, []any{fresh, "bound"}, read("?reason=bound"))
	require.Equal(t, []any{live, "unreviewed"}, read("?reason=unreviewed"))
	require.Equal(t, []any{live, "unreviewed"}, read("?limit=1&offset=2"))
	require.Equal(t, fresh, at(boss.Get(t, "/api/campaigns?action=review_queue&reason=bound").As(200), "campaigns", 0, "id"))
	require.Equal(t, "reason", boss.Get(t, path+"?reason=other").Fails(400, "invalid_request")["field"])
	owned := func(p *person, id string) any {
		return at(p.Get(t, "/api/campaigns/"+id).As(200), "campaign").(object)["review_reason"]
	}
	require.Equal(t, []any{"pending", "unreviewed", "bound"}, []any{
		owned(funded, waits), owned(funded, live), owned(free, fresh),
	})

	_, err := w.Store.AdReports.AddReport(
		t.Context(), adreport.Report{AuctionID: uuid.New(), CampaignID: uuid.MustParse(live), Reason: "scam", At: w.Now},
	)
	require.NoError(t, err)
	require.Len(t, read("?reason=pending"), 2, "the report does not count")
	review := func(id, decision string) {
		boss.Post(t, "/api/campaigns/review", object{"id": id, "decision": decision}).As(200)
	}
	review(fresh, "approved")
	review(live, "rejected")
	review(waits, "approved")
	require.Empty(t, read(""))
	require.Nil(t, owned(free, fresh))
	require.Equal(t, "rejected", funded.status(t, live))
	bound(fresh)
	require.Empty(t, read(""), "a further review is no cure")
}
