package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// mailbox registers an account and signs it in.
func (w *world) mailbox(t *testing.T, email string) (token string, id uuid.UUID) {
	t.Helper()
	created := w.nobody().Post(t, "/api/auth?action=register", object{"email": email, "password": "correct horse battery"})
	reply := created.As(201)
	return reply["token"].(string), uuid.MustParse(at(reply, "user", "id").(string))
}

func TestOneMailboxHasOneFirstCampaign(t *testing.T) {
	w := newWorld(t)
	boss := w.admin(t)
	first, a := w.mailbox(t, "thief@gmail.com")
	second, b := w.mailbox(t, "T.hief+2@googlemail.com")
	creates := func(token string, id uuid.UUID, headline, link string) map[string]any {
		return w.caller(token).Post(t, "/api/campaigns", object{
			"advertiser_id": id, "headline": headline, "cta_url": link, "daily_budget": 10, "bid_amount": 1,
		}).As(201)
	}
	require.Equal(t, true, creates(first, a, "Warm lamps for cold rooms", "https://a.example")["auto_approved"])
	waits := creates(second, b, "Fresh bread from our oven", "https://b.example")
	require.Equal(t, "in_review", at(waits, "campaign", "status"))
	require.Contains(t, waits["review_reason"], "same mailbox")
	require.NotContains(t, creates(first, a, "Oak tables", "https://c.example"), "review_reason")

	listed := boss.Get(t, "/api/admin/users?family="+a.String()).As(200)
	require.EqualValues(t, 2, listed["total"])
	for i := range 2 {
		require.Equal(t, a.String(), at(listed, "users", i, "family_id"))
	}
	single := boss.rule(t, b, "family", "decision", "split").As(200)
	require.Equal(t, b.String(), at(single, "user", "family_id"))
	boss.rule(t, b, "family", "decision", "join").Fails(400, "invalid_request")
	boss.rule(t, b, "family", "decision", "join", "with", b).Fails(400, "invalid_request")
	boss.rule(t, b, "family", "decision", "join", "with", uuid.New()).Fails(404, "not_found")
	boss.rule(t, b, "family", "decision", "apart").Fails(400, "invalid_request")
	for ruling, readers := range map[string]string{"family": "only administrators", "suspend": "the owner"} {
		refused := boss.rule(t, b, ruling, "reason", " ")
		refused.Fails(400, "invalid_request")
		require.Contains(t, refused.Text, readers, ruling)
	}
	boss.rule(t, b, "family", "decision", "automatic", "with", a).Fails(400, "invalid_request")
	boss.rule(t, uuid.New(), "family", "decision", "split").Fails(404, "not_found")
	joined := boss.rule(t, b, "family", "decision", "join", "with", a).As(200)
	require.Equal(t, a.String(), at(joined, "user", "family_id"))
	w.caller(second).Post(t, "/api/admin/users/"+b.String()+"/family", object{
		"decision": "split", "reason": "mine",
	}).Fails(403, "forbidden")
	entries := boss.Get(t, "/api/audit?target_id="+b.String()).As(200)
	require.Equal(t, "joined to "+a.String(), at(entries, "entries", 0, "changes", "family", "after"))
}
