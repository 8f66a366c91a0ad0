package manage_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The API accepts ids of closed lists, and a restricted trade waits for review with its reason.
func TestSubjectsAndTradesOfACampaign(t *testing.T) {
	w := newWorld(t)
	me, admin := w.advertiser(t), w.admin(t)
	for field, id := range map[string]string{
		"exclude_contexts": "war", "sensitive_contexts": "suicide", "trades": "wine",
	} {
		problem := me.Post(t, "/api/campaigns", me.draft(field, []string{id})).Fails(400, "invalid_request")
		require.Equal(t, field, problem["field"])
	}
	created := me.Post(
		t, "/api/campaigns",
		me.draft("trades", []string{"credit", "alcohol"}, "sensitive_contexts", []string{"alcohol"}),
	).As(201)
	require.Equal(t, false, created["auto_approved"])
	require.Equal(t, "in_review", at(created, "campaign", "status"))
	require.Equal(t, []any{"alcohol", "credit"}, at(created, "campaign", "trades"))
	require.Equal(t, []any{"alcohol"}, at(created, "campaign", "sensitive_contexts"))
	require.Equal(t, []any{}, at(created, "campaign", "exclude_contexts"))
	require.Equal(t, "restricted_trade", at(created, "policy", "violations").([]any)[0].(object)["rule"])
	id := at(created, "campaign", "id").(string)
	require.EqualValues(t, 1, admin.Get(t, "/api/campaigns?action=review_queue").As(200)["total"])
	admin.Post(t, "/api/campaigns?action=review", object{"id": id, "decision": "approved"}).As(200)
	require.Equal(t, "active", at(me.Get(t, "/api/campaigns/"+id).As(200), "campaign", "status"))
	changed := me.Call(t, "PATCH", "/api/campaigns/"+id, object{"trades": []string{"credit"}}).As(200)
	require.NotEmpty(t, at(changed, "campaign", "policy_violations"), "it waits again")
	require.EqualValues(t, 1, admin.Get(t, "/api/campaigns?action=review_queue").As(200)["total"])
}
