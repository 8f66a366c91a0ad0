package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/adreport"
	"adnet/internal/campaign"
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
	decide(boss, "rejected").Fails(400, "invalid_state")
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
