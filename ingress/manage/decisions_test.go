package manage_test

import (
	"strings"
	"testing"

	"adnet/internal/decision"
	"adnet/internal/token"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func (p *person) decisions(t *testing.T, query string) []any {
	t.Helper()
	return p.Get(t, "/api/decisions"+query).As(200)["decisions"].([]any)
}

// A refusal has words that its owner reads, an appeal that an administrator decides, and an outcome
// that takes effect.
func TestAppealAgainstARejection(t *testing.T) {
	w := newWorld(t)
	boss, owner, other := w.admin(t), w.advertiser(t), w.advertiser(t)
	owner.creates(t)
	id := owner.creates(t)
	boss.Post(t, "/api/campaigns?action=review", object{"id": id, "decision": "rejected", "notes": "Say what you sell."}).As(200)
	list := owner.decisions(t, "")
	require.Len(t, list, 1)
	require.Equal(t, []any{"rejection", id, "Say what you sell.", false}, []any{at(list[0], "kind"), at(list[0], "target_id"), at(list[0], "reason"), at(list[0], "automated")})
	of := at(list[0], "id").(string)
	require.Empty(t, other.decisions(t, ""))
	other.Get(t, "/api/decisions?owner_id="+owner.ID.String()).Fails(403, "forbidden")
	other.Get(t, "/api/decisions?id="+of).Fails(404, "not_found")

	path := "/api/decisions/" + of + "/appeal"
	owner.Post(t, path, object{"text": ""}).Fails(400, "invalid_request")
	owner.Post(t, path, object{"text": strings.Repeat("ä", decision.MaxText+1)}).Fails(400, "invalid_request")
	other.Post(t, path, object{"text": "x"}).Fails(404, "not_found")
	appeal := at(owner.Post(t, path, object{"text": strings.Repeat("ä", decision.MaxText)}).As(201), "appeal", "id").(string)
	owner.Post(t, path, object{"text": "again"}).Fails(409, "conflict")

	require.Len(t, boss.decisions(t, "?appeal=open"), 1)
	answer := "/api/admin/appeals/" + appeal
	owner.Post(t, answer, object{"outcome": "reversed", "words": "me"}).Fails(403, "forbidden")
	boss.Post(t, answer, object{"outcome": "maybe", "words": "x"}).Fails(400, "invalid_request")
	boss.Post(t, answer, object{"outcome": "reversed"}).Fails(400, "invalid_request")
	boss.Post(t, "/api/admin/appeals/"+uuid.NewString(), object{"outcome": "upheld", "words": "x"}).Fails(404, "not_found")
	boss.Post(t, answer, object{"outcome": "reversed", "words": "You were right."}).As(200)
	boss.Post(t, answer, object{"outcome": "upheld", "words": "No."}).Fails(400, "invalid_state")
	require.Equal(t, "active", owner.status(t, id))
	list = owner.decisions(t, "")
	require.Equal(t, []any{"reversed", "You were right."}, []any{at(list[0], "appeals", 0, "outcome"), at(list[0], "appeals", 0, "words")})
	require.Empty(t, boss.decisions(t, "?appeal=open"))
}

// What the owner made of a rejected ad after the rejection is not what the appeal is about: nobody saw
// it, so no appeal lets it out.
func TestAppealsReinstateWhatWasJudged(t *testing.T) {
	w := newWorld(t)
	boss, owner := w.admin(t), w.advertiser(t)
	owner.creates(t)
	id := owner.creates(t)
	boss.Post(t, "/api/campaigns?action=review", object{"id": id, "decision": "rejected", "notes": "No."}).As(200)
	of := at(owner.decisions(t, "")[0], "id").(string)
	appeal := at(owner.Post(t, "/api/decisions/"+of+"/appeal", object{"text": "It is harmless."}).As(201), "appeal", "id").(string)
	owner.Call(t, "PATCH", "/api/campaigns/"+id, object{"headline": "Free money", "cta_url": "https://elsewhere.example.com/"}).As(200)
	boss.Post(t, "/api/admin/appeals/"+appeal, object{"outcome": "reversed", "words": "Right."}).Fails(409, "conflict")
	require.NotEqual(t, "active", owner.status(t, id))
	require.Len(t, boss.decisions(t, "?appeal=open"), 1, "the appeal waits")
}

func TestAppealOfASuspendedAccount(t *testing.T) {
	w := newWorld(t)
	boss := w.admin(t)
	u, err := w.accounts.Register(t.Context(), "held@example.com", "some words with spaces")
	require.NoError(t, err)
	boss.rule(t, u.ID, "suspend").As(200)
	in := w.nobody().Post(t, "/api/auth", object{"email": "held@example.com", "password": "some words with spaces"}).As(200)
	held := w.caller(in["token"].(string))
	list := held.decisions(t, "")
	require.Equal(t, []any{"suspension", "stolen cards"}, []any{at(list[0], "kind"), at(list[0], "reason")})
	appeal := at(held.Post(t, "/api/decisions/"+at(list[0], "id").(string)+"/appeal", object{"text": "They were mine."}).As(201), "appeal", "id").(string)
	boss.Post(t, "/api/admin/appeals/"+appeal, object{"outcome": "reversed", "words": "They were."}).As(200)
	in = w.nobody().Post(t, "/api/auth", object{"email": "held@example.com", "password": "some words with spaces"}).As(200)
	again := w.caller(in["token"].(string))
	again.Get(t, "/api/keys").As(200)
	require.Equal(t, "reversed", at(again.decisions(t, "")[0], "appeals", 0, "outcome"))
}

// A suspended administrator sees its own statement, not those of others.
func TestASuspendedAdministratorIsNoLongerOne(t *testing.T) {
	w := newWorld(t)
	boss, other, user := w.admin(t), w.admin(t), w.advertiser(t)
	boss.rule(t, user.ID, "suspend").As(200)
	boss.rule(t, other.ID, "suspend").As(200)
	u, err := w.Store.User(t.Context(), other.ID)
	require.NoError(t, err)
	token, _, err := w.Sessions.Issue(token.Claims{UserID: u.ID, Role: string(u.Role), Email: u.Email, Version: u.TokenVersion}, w.Now)
	require.NoError(t, err)
	held := w.caller(token)
	require.Len(t, held.decisions(t, ""), 1)
	held.Get(t, "/api/decisions?owner_id="+user.ID.String()).Fails(403, "forbidden")
	held.Post(t, "/api/admin/appeals/"+uuid.NewString(), object{"outcome": "upheld", "words": "x"}).Fails(403, "forbidden")
}

func TestPauseByAnAdministratorSaysWhy(t *testing.T) {
	w := newWorld(t)
	boss, owner := w.admin(t), w.advertiser(t)
	id := owner.creates(t)
	owner.Post(t, "/api/campaigns?action=pause", object{"id": id}).As(200)
	owner.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(200)
	require.Empty(t, owner.decisions(t, ""))
	boss.Post(t, "/api/campaigns?action=pause", object{"id": id, "reason": strings.Repeat("x", 1001)}).Fails(400, "invalid_request")
	boss.Post(t, "/api/campaigns?action=pause", object{"id": id, "reason": "A trade mark."}).As(200)
	list := owner.decisions(t, "?kind=pause")
	require.Equal(t, "A trade mark.", at(list[0], "reason"))
}
