package manage_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/decision"
)

func (p *person) decisions(t *testing.T, query string) []any {
	t.Helper()
	return p.Get(t, "/api/decisions"+query).As(200)["decisions"].([]any)
}

// A rejection has a text for its owner, an appeal that an administrator decides, and an outcome
// that takes effect.
func TestAppealAgainstARejection(t *testing.T) {
	w := newWorld(t)
	boss, owner, other := w.admin(t), w.advertiser(t), w.advertiser(t)
	owner.creates(t)
	id := owner.creates(t)
	boss.Post(
		t, "/api/campaigns?action=review", object{"id": id, "decision": "rejected", "notes": "Say what you sell."},
	).As(200)
	list := owner.decisions(t, "")
	require.Len(t, list, 1)
	require.Equal(
		t, []any{"rejection", id, "Say what you sell.", false},
		[]any{at(list[0], "kind"), at(list[0], "target_id"), at(list[0], "reason"), at(list[0], "automated")},
	)
	of := at(list[0], "id").(string)
	require.Empty(t, other.decisions(t, ""))
	other.Get(t, "/api/decisions?owner_id="+owner.ID.String()).Fails(403, "forbidden")
	other.Get(t, "/api/decisions?id="+of).Fails(404, "not_found")

	path := "/api/decisions/" + of + "/appeal"
	owner.Post(t, path, object{"text": ""}).Fails(400, "invalid_request")
	owner.Post(t, path, object{"text": strings.Repeat("ä", decision.MaxText+1)}).Fails(400, "invalid_request")
	other.Post(t, path, object{"text": "x"}).Fails(404, "not_found")
	appeal := at(
		owner.Post(t, path, object{"text": strings.Repeat("ä", decision.MaxText)}).As(201), "appeal", "id",
	).(string)
	owner.Post(t, path, object{"text": "again"}).Fails(409, "conflict")

	require.Len(t, boss.decisions(t, "?appeal=open"), 1)
	answer := "/api/admin/appeals/" + appeal
	owner.Post(t, answer, object{"outcome": "reversed", "words": "me"}).Fails(403, "forbidden")
	boss.Post(t, answer, object{"outcome": "maybe", "words": "x"}).Fails(400, "invalid_request")
	boss.Post(t, answer, object{"outcome": "reversed"}).Fails(400, "invalid_request")
	boss.Post(
		t, "/api/admin/appeals/"+uuid.NewString(), object{"outcome": "upheld", "words": "x"},
	).Fails(404, "not_found")
	boss.Post(t, answer, object{"outcome": "reversed", "words": "You were right."}).As(200)
	boss.Post(t, answer, object{"outcome": "upheld", "words": "No."}).Fails(400, "invalid_state")
	require.Equal(t, "active", owner.status(t, id))
	list = owner.decisions(t, "")
	require.Equal(
		t, []any{"reversed", "You were right."},
		[]any{at(list[0], "appeals", 0, "outcome"), at(list[0], "appeals", 0, "words")},
	)
	require.Empty(t, boss.decisions(t, "?appeal=open"))
}

// An appeal does not cover the owner's edits after the rejection: the administrator never saw them,
// so no appeal approves them.
func TestAppealsReinstateWhatWasJudged(t *testing.T) {
	w := newWorld(t)
	boss, owner := w.admin(t), w.advertiser(t)
	owner.creates(t)
	id := owner.creates(t)
	boss.Post(t, "/api/campaigns?action=review", object{"id": id, "decision": "rejected", "notes": "No."}).As(200)
	of := at(owner.decisions(t, "")[0], "id").(string)
	appeal := at(
		owner.Post(t, "/api/decisions/"+of+"/appeal", object{"text": "It is harmless."}).As(201), "appeal", "id",
	).(string)
	owner.Call(
		t, "PATCH", "/api/campaigns/"+id, object{"headline": "Free money", "cta_url": "https://elsewhere.example.com/"},
	).As(200)
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
	in := w.nobody().Post(
		t, "/api/auth", object{"email": "held@example.com", "password": "some words with spaces"},
	).As(200)
	held := w.caller(in["token"].(string))
	list := held.decisions(t, "")
	require.Equal(t, []any{"suspension", "stolen cards"}, []any{at(list[0], "kind"), at(list[0], "reason")})
	appeal := at(
		held.Post(t, "/api/decisions/"+at(list[0], "id").(string)+"/appeal", object{"text": "They were mine."}).As(201),
		"appeal", "id",
	).(string)
	boss.Post(t, "/api/admin/appeals/"+appeal, object{"outcome": "reversed", "words": "They were."}).As(200)
	in = w.nobody().Post(
		t, "/api/auth", object{"email": "held@example.com", "password": "some words with spaces"},
	).As(200)
	again := w.caller(in["token"].(string))
	again.Get(t, "/api/keys").As(200)
	require.Equal(t, "reversed", at(again.decisions(t, "")[0], "appeals", 0, "outcome"))
}

// A suspended administrator sees its own statement, not those of others.
func TestSuspendedAdministratorLosesItsRights(t *testing.T) {
	w := newWorld(t)
	boss, other, user := w.admin(t), w.admin(t), w.advertiser(t)
	boss.rule(t, user.ID, "suspend").As(200)
	boss.rule(t, other.ID, "suspend").As(200)
	u, err := w.Store.Accounts.User(t.Context(), other.ID)
	require.NoError(t, err)
	held := w.caller(w.Open(t, u))
	require.Len(t, held.decisions(t, ""), 1)
	held.Get(t, "/api/decisions?owner_id="+user.ID.String()).Fails(403, "forbidden")
	held.Post(
		t, "/api/admin/appeals/"+uuid.NewString(), object{"outcome": "upheld", "words": "x"},
	).Fails(403, "forbidden")
}

func TestResumeErrorGivesTheReasonOfThePause(t *testing.T) {
	w := newWorld(t)
	boss, owner := w.admin(t), w.advertiser(t)
	id := owner.creates(t)
	owner.Post(t, "/api/campaigns?action=pause", object{"id": id}).As(200)
	owner.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(200)
	require.Empty(t, owner.decisions(t, ""))
	boss.Post(
		t, "/api/campaigns?action=pause", object{"id": id, "reason": strings.Repeat("x", 1001)},
	).Fails(400, "invalid_request")
	boss.Post(t, "/api/campaigns?action=pause", object{"id": id, "reason": "A trade mark."}).As(200)
	list := owner.decisions(t, "?kind=pause")
	require.Equal(t, "A trade mark.", at(list[0], "reason"))
}

// appeals against the newest decision of a kind, and gives the path of the answer.
func (p *person) appeals(t *testing.T, kind string) string {
	t.Helper()
	of := at(p.decisions(t, "?kind="+kind)[0], "id").(string)
	return "/api/admin/appeals/" + at(
		p.Post(t, "/api/decisions/"+of+"/appeal", object{"text": "Look again."}).As(201), "appeal", "id",
	).(string)
}

var reversed = object{"outcome": "reversed", "words": "You were right then."}

// An owner cannot resume what an administrator paused, by an edit or by pausing it first. The owner
// reads the reason. A campaign that the owner had paused stays paused when the decision is
// reversed.
func TestOwnersCannotResumeWhatAnAdministratorPaused(t *testing.T) {
	for name, x := range map[string]struct {
		before []string // what the owner does first
		after  string   // the status once the decision is taken back
	}{"active": {nil, "active"}, "paused": {[]string{"pause"}, "paused"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			boss, owner := w.admin(t), w.advertiser(t)
			id := owner.creates(t)
			for _, action := range x.before {
				owner.Post(t, "/api/campaigns?action="+action, object{"id": id}).As(200)
			}
			boss.Post(t, "/api/campaigns?action=pause", object{"id": id, "reason": "A trade mark."}).As(200)
			boss.Post(t, "/api/campaigns?action=pause", object{"id": id}).Fails(400, "invalid_state")
			list := owner.decisions(t, "?kind=pause")
			require.Len(t, list, 1)
			refused := owner.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(403)
			require.Equal(t, "forbidden", refused["code"])
			require.Equal(
				t, []any{at(list[0], "id"), "A trade mark."}, []any{refused["decision_id"], refused["reason"]},
			)
			owner.Call(t, "PATCH", "/api/campaigns/"+id, object{"headline": "Another text"}).As(200)
			owner.Post(t, "/api/campaigns?action=resume", object{"id": id}).Fails(403, "forbidden")
			boss.Post(t, owner.appeals(t, "pause"), reversed).As(200)
			require.Equal(t, x.after, owner.status(t, id))
			if x.after == "paused" {
				owner.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(200)
			}
		})
	}
	t.Run("an administrator resumes", func(t *testing.T) {
		w := newWorld(t)
		boss, owner := w.admin(t), w.advertiser(t)
		id := owner.creates(t)
		boss.Post(t, "/api/campaigns?action=pause", object{"id": id}).As(200)
		boss.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(200)
		owner.Post(t, "/api/campaigns?action=pause", object{"id": id}).As(200)
		owner.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(200)
	})
	t.Run("an administrator's own campaign", func(t *testing.T) {
		w := newWorld(t)
		boss, other := w.admin(t), w.admin(t)
		id := other.creates(t)
		boss.Post(t, "/api/campaigns?action=pause", object{"id": id}).As(200)
		other.Post(t, "/api/campaigns?action=resume", object{"id": id}).Fails(403, "forbidden")
	})
}

// A reversed appeal against a superseded decision reverses that decision only, never the newer one
// about the same target.
func TestReversingAnOldDecisionLeavesTheNewer(t *testing.T) {
	t.Run("pause", func(t *testing.T) {
		w := newWorld(t)
		boss, owner := w.admin(t), w.advertiser(t)
		id := owner.creates(t)
		pause, resume := "/api/campaigns?action=pause", "/api/campaigns?action=resume"
		boss.Post(t, pause, object{"id": id, "reason": "old"}).As(200)
		old := owner.appeals(t, "pause")
		boss.Post(t, resume, object{"id": id}).As(200)
		boss.Post(t, pause, object{"id": id, "reason": "new"}).As(200)
		boss.Post(t, old, reversed).As(200)
		require.Equal(t, "paused", owner.status(t, id))
		owner.Post(t, resume, object{"id": id}).Fails(403, "forbidden")
		boss.Post(t, owner.appeals(t, "pause"), reversed).As(200) // its own appeal does
		require.Equal(t, "active", owner.status(t, id))
	})
	t.Run("a pause of its owner", func(t *testing.T) {
		w := newWorld(t)
		boss, owner := w.admin(t), w.advertiser(t)
		id := owner.creates(t)
		boss.Post(t, "/api/campaigns?action=pause", object{"id": id}).As(200)
		old := owner.appeals(t, "pause")
		boss.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(200)
		owner.Post(t, "/api/campaigns?action=pause", object{"id": id}).As(200)
		boss.Post(t, old, reversed).As(200)
		require.Equal(t, "paused", owner.status(t, id), "it spends nothing that its owner does not want")
	})
	t.Run("suspension", func(t *testing.T) {
		w := newWorld(t)
		boss := w.admin(t)
		u, err := w.accounts.Register(t.Context(), "twice@example.com", "some words with spaces")
		require.NoError(t, err)
		login := func() *person { return w.login(t, "twice@example.com", "some words with spaces") }
		suspended := func() bool {
			held, err := w.Store.Accounts.User(t.Context(), u.ID)
			require.NoError(t, err)
			return held.Disabled
		}
		boss.rule(t, u.ID, "suspend").As(200)
		old := login().appeals(t, "suspension")
		boss.rule(t, u.ID, "restore").As(200)
		boss.rule(t, u.ID, "suspend").As(200)
		boss.Post(t, old, reversed).As(200)
		require.True(t, suspended())
		boss.Post(t, login().appeals(t, "suspension"), reversed).As(200)
		require.False(t, suspended())
	})
	t.Run("rejection", func(t *testing.T) {
		w := newWorld(t)
		boss, owner := w.admin(t), w.advertiser(t)
		owner.creates(t)
		id := owner.creates(t)
		review := func(decision string) {
			boss.Post(
				t, "/api/campaigns?action=review", object{"id": id, "decision": decision, "notes": "seen"},
			).As(200)
		}
		review("rejected")
		old := owner.appeals(t, "rejection")
		owner.Post(t, "/api/campaigns?action=submit", object{"id": id}).As(200)
		review("rejected")
		boss.Post(t, old, reversed).As(200)
		require.Equal(t, "rejected", owner.status(t, id))
	})
}

// A decision made while an older one is being reversed stays in force, and the appeal stays open.
func TestReversingADecisionWhileANewerIsTaken(t *testing.T) {
	t.Run("pause", func(t *testing.T) {
		w := newWorld(t)
		boss, owner := w.admin(t), w.advertiser(t)
		id := owner.creates(t)
		pause := func(reason string) {
			boss.Post(t, "/api/campaigns?action=pause", object{"id": id, "reason": reason}).As(200)
		}
		pause("old")
		appeal := owner.appeals(t, "pause")
		w.meanwhile = func() {
			boss.Post(t, "/api/campaigns?action=resume", object{"id": id}).As(200)
			pause("new")
		}
		boss.Post(t, appeal, reversed).Fails(409, "conflict")
		require.Equal(t, "paused", owner.status(t, id))
		require.Len(t, boss.decisions(t, "?appeal=open"), 1, "the appeal waits")
		boss.Post(t, appeal, reversed).As(200) // it is in force no more
		require.Equal(t, "paused", owner.status(t, id))
	})
	t.Run("rejection", func(t *testing.T) {
		w := newWorld(t)
		boss, owner := w.admin(t), w.advertiser(t)
		owner.creates(t)
		id := owner.creates(t)
		reject := func() {
			boss.Post(
				t, "/api/campaigns?action=review", object{"id": id, "decision": "rejected", "notes": "seen"},
			).As(200)
		}
		reject()
		appeal := owner.appeals(t, "rejection")
		w.meanwhile = func() {
			owner.Post(t, "/api/campaigns?action=submit", object{"id": id}).As(200)
			reject()
		}
		boss.Post(t, appeal, reversed).Fails(409, "conflict")
		require.Equal(t, "rejected", owner.status(t, id))
	})
	t.Run("suspension", func(t *testing.T) {
		w := newWorld(t)
		boss := w.admin(t)
		u, err := w.accounts.Register(t.Context(), "thrice@example.com", "some words with spaces")
		require.NoError(t, err)
		boss.rule(t, u.ID, "suspend").As(200)
		appeal := w.login(t, "thrice@example.com", "some words with spaces").appeals(t, "suspension")
		w.meanwhile = func() {
			boss.rule(t, u.ID, "restore").As(200)
			boss.rule(t, u.ID, "suspend").As(200)
		}
		boss.Post(t, appeal, reversed).Fails(409, "conflict")
		held, err := w.Store.Accounts.User(t.Context(), u.ID)
		require.NoError(t, err)
		require.True(t, held.Disabled)
	})
}

// Owners read the reason of a decision in every reply, not the administrator; administrators read both.
func TestOwnersDoNotReadWhoDecided(t *testing.T) {
	w := newWorld(t)
	p, admin := w.advertiser(t), w.admin(t)
	id := p.creates(t)
	admin.Post(t, "/api/campaigns?action=review", object{"id": id, "decision": "approved", "notes": "a scam"}).As(200)
	admin.Post(t, "/api/campaigns?action=pause", object{"id": id, "reason": "a scam"}).As(200)
	for _, path := range []string{
		"/api/audit", "/api/account/export", "/api/campaigns", "/api/campaigns?shape=array", "/api/campaigns?id=" + id,
		"/api/campaigns/" + id,
	} {
		seen := p.Get(t, path).Text
		require.Contains(t, seen, "a scam", path)
		require.NotContains(t, seen, admin.ID.String(), path)
		require.Contains(t, seen, p.ID.String(), path)
	}
	for _, reply := range []string{
		p.Call(t, "PATCH", "/api/campaigns/"+id, object{"name": "another"}).Text,
		p.Call(t, "PATCH", "/api/campaigns/"+id, object{"name": "a third", "config_version": 1}).Text,
		p.Get(t, "/api/decisions").Text,
	} {
		require.NotContains(t, reply, admin.ID.String())
	}
	for _, path := range []string{"/api/audit", "/api/campaigns/" + id} {
		require.Contains(t, admin.Get(t, path).Text, admin.ID.String())
	}
}
