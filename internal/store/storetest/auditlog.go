package storetest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/once"
	"adnet/internal/traffic"
)

// AuditLog is the audit log of a store.
type AuditLog interface {
	AuditLog(ctx context.Context, q auditlog.Query) ([]auditlog.Entry, error)
	RecordAudit(ctx context.Context, e auditlog.Entry) error
}

// Operations is the side of an empty store for operators and careful callers.
type Operations struct {
	Stores
	AuditLog AuditLog
	Keys     once.Store
}

// RunOperations runs the cases of the audit log and of idempotency keys.
func RunOperations(t *testing.T, newStore func(t *testing.T) Operations) {
	for name, run := range map[string]func(*testing.T, Operations){
		"EveryChangeHasItsEntry": everyChange, "MoneyHasItsEntries": moneyEntries, "NoChangeNoEntry": noChange,
		"AuditQueries": auditQueries, "NoSecretInAudit": noSecret,
		"KeyBeginsOnce": beginsOnce, "KeyReplays": keyReplays, "KeysAreLimited": keysAreLimited, "KeyDies": keyDies,
		"EffectIsFenced":        effectIsFenced,
		"EffectOutlivesItsCall": effectOutlives, "DecisionsHaveStatements": decisionsHaveStatements,
		"AppealsAreOneAtATime": appealsAreOneAtATime,
	} {
		t.Run(name, func(t *testing.T) { run(t, newStore(t)) })
	}
}

var actor = auditlog.Actor{
	AccountID: uuid.MustParse("0197a5f0-0000-7000-8000-000000000001"), Role: "admin", Via: auditlog.API,
	Network: "192.0.2.0/24",
	Action:  "PATCH /api/campaigns/:id", RequestID: "r1",
}

func entries(t *testing.T, o Operations, q auditlog.Query) []auditlog.Entry {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 500
	}
	list, err := o.AuditLog.AuditLog(t.Context(), q)
	require.NoError(t, err)
	return list
}

func everyChange(t *testing.T, o Operations) {
	ctx := auditlog.With(t.Context(), actor)
	u := AddUser(t, o.Stores)
	require.Equal(t, auditlog.System, entries(t, o, auditlog.Query{})[0].Actor.Via)
	c, err := o.Campaigns.CreateCampaign(
		ctx,
		campaign.NewCampaign{
			Campaign: NewCampaign(t, u.ID), Admit: func(bool) campaign.Status { return campaign.Active },
		},
	)
	require.NoError(t, err)
	_, err = o.Campaigns.UpdateCampaign(
		ctx, c.ID,
		func(c *campaign.Campaign) error { c.Status, c.DailyBudget = campaign.Paused, 7_000_000; return nil },
	)
	require.NoError(t, err)
	k := account.Key{
		ID: newID(t), OwnerID: u.ID, DeveloperID: u.DeveloperID, Kind: account.KindPublisher, Name: "bot",
		Prefix: "pub_live_abcd", Hash: [32]byte{1}, CreatedAt: time.Now(),
	}
	require.NoError(t, o.Stores.Keys.CreateKey(ctx, k))
	require.NoError(t, o.Stores.Keys.RevokeKey(ctx, u.ID, k.ID, time.Now()))
	require.NoError(t, o.Stores.Keys.RevokeKey(ctx, u.ID, k.ID, time.Now())) // changes nothing
	_, err = o.Users.UpdateUser(
		ctx, u.ID, func(u *account.User) error { u.Disabled, u.PasswordHash = true, "$argon2id$y"; return nil },
	)
	require.NoError(t, err)

	list := entries(t, o, auditlog.Query{})
	kinds := make([]string, len(list))
	for i, e := range list {
		kinds[len(list)-1-i] = e.TargetKind
		require.Equal(t, u.ID, e.OwnerID)
		require.WithinDuration(t, time.Now(), e.At, time.Minute)
		require.Equal(t, time.UTC, e.At.Location())
		if i < len(list)-1 {
			require.Equal(t, actor, e.Actor)
			require.Greater(t, e.Seq, list[i+1].Seq)
		}
	}
	require.Equal(t, []string{"user", "campaign", "campaign", "key", "key", "user"}, kinds)
	require.Equal(t, map[string]auditlog.Change{
		"status": {Before: "active", After: "paused"}, "daily_budget": {Before: 50.0, After: 7.0},
	}, list[3].Changes)
	require.Nil(t, list[4].Changes["status"].Before, "a creation has nothing before")
	require.Equal(t, "active", list[4].Changes["status"].After)
	require.Equal(t, map[string]auditlog.Change{"revoked": {Before: false, After: true}}, list[1].Changes)
	require.Equal(t, map[string]auditlog.Change{
		"disabled": {Before: false, After: true}, "campaigns": {After: 1.0},
		"password": {Before: "(secret)", After: "(changed)"},
	}, list[0].Changes)
}

func noChange(t *testing.T, o Operations) {
	u := AddUser(t, o.Stores)
	c := AddCampaign(t, o.Stores, u.ID, campaign.Active)
	before := len(entries(t, o, auditlog.Query{}))
	_, err := o.Campaigns.UpdateCampaign(t.Context(), c.ID, func(*campaign.Campaign) error { return nil })
	require.NoError(t, err)
	_, err = o.Campaigns.UpdateCampaign(t.Context(), c.ID, func(c *campaign.Campaign) error {
		c.Name = "x"
		return errs.New(errs.Forbidden, "no")
	})
	require.Error(t, err)
	require.Error(t, o.Users.CreateUser(t.Context(), u), "exists")
	require.Error(t, o.Stores.Keys.RevokeKey(t.Context(), u.ID, newID(t), time.Now()))
	require.Len(t, entries(t, o, auditlog.Query{}), before)
}

// moneyEntries checks the entries of administrators' and payment providers' actions. An action
// without a change leaves none.
func moneyEntries(t *testing.T, o Operations) {
	u := AddUser(t, o.Stores)
	p, pays := o.Publishers, o.Payments
	ctx := auditlog.With(t.Context(), actor)
	newest := func() auditlog.Entry { return entries(t, o, auditlog.Query{Limit: 1})[0] }
	requireNew := func(before int, kind, id string) auditlog.Entry {
		t.Helper()
		require.Len(t, entries(t, o, auditlog.Query{}), before+1)
		e := newest()
		require.Equal(t, actor, e.Actor)
		require.Equal(t, []string{kind, id}, []string{e.TargetKind, e.TargetID})
		return e
	}
	count := func() int { return len(entries(t, o, auditlog.Query{})) }

	n, limit, other := count(), money.Credits(7), money.Credits(9)
	require.NoError(
		t, p.SetMintCap(ctx, ledger.MintCap{DeveloperID: u.DeveloperID, Cap: &limit, By: u.ID, Note: "new", At: now}),
	)
	e := requireNew(n, auditlog.TargetPublisher, u.DeveloperID.String())
	require.Equal(t, auditlog.Change{After: 7.0}, e.Changes["mint_cap"])
	require.NoError(
		t, p.SetMintCap(ctx, ledger.MintCap{DeveloperID: u.DeveloperID, Cap: &other, By: u.ID, Note: "more", At: now}),
	)
	require.Equal(
		t, auditlog.Change{Before: 7.0, After: 9.0},
		requireNew(n+1, auditlog.TargetPublisher, u.DeveloperID.String()).Changes["mint_cap"],
	)

	c := ledger.Quarantine{
		ID: newID(t), DeveloperID: u.DeveloperID, OpenedAt: now,
		Evidence: traffic.Evidence{Rule: traffic.QuarantineManual},
	}
	n = count()
	for range 2 {
		_, err := p.OpenQuarantine(ctx, c)
		require.NoError(t, err)
	}
	requireNew(n, auditlog.TargetQuarantine, c.ID.String())
	for range 2 {
		_, err := p.EndQuarantine(
			ctx, ledger.QuarantineVerdict{Case: c.ID, Decision: ledger.QuarantineRelease, By: u.ID, At: now},
		)
		require.NoError(t, err)
	}
	require.Equal(
		t, auditlog.Change{After: "release"},
		requireNew(n+1, auditlog.TargetQuarantine, c.ID.String()).Changes["decision"],
	)

	n = count()
	paid, back := paid("pi_1", 5*money.USD, u.ID), refundedTo("pi_1", money.USD)
	var deposit string
	for _, notice := range []ledger.Notice{paid, paid, back, back} {
		result, err := pays.ApplyNotice(ctx, notice)
		require.NoError(t, err)
		deposit = result.Deposit.ID.String()
	}
	require.Len(
		t, entries(t, o, auditlog.Query{OwnerID: u.ID, TargetKind: auditlog.TargetDeposit, TargetID: deposit}), 2,
	)
	require.Equal(t, auditlog.Change{After: string(ledger.NoticeReversed)}, newest().Changes["outcome"])
	require.Equal(t, n+2, count())
}

func auditQueries(t *testing.T, o Operations) {
	a, b := newID(t), newID(t)
	ctx := auditlog.With(t.Context(), actor)
	for i := range 7 {
		owner := a
		if i%2 == 1 {
			owner = b
		}
		require.NoError(t, o.AuditLog.RecordAudit(ctx, auditlog.Entry{
			TargetKind: auditlog.TargetDeadLetter, TargetID: string(rune('a' + i)), OwnerID: owner,
			Changes: map[string]auditlog.Change{"replayed": {After: true}},
		}))
	}
	require.Len(t, entries(t, o, auditlog.Query{OwnerID: a}), 4)
	require.Len(t, entries(t, o, auditlog.Query{OwnerID: b, ActorID: actor.AccountID}), 3)
	require.Empty(t, entries(t, o, auditlog.Query{ActorID: a}))
	require.Len(t, entries(t, o, auditlog.Query{TargetKind: auditlog.TargetDeadLetter, TargetID: "c"}), 1)
	require.Empty(t, entries(t, o, auditlog.Query{TargetKind: auditlog.TargetUser}))
	require.Empty(t, entries(t, o, auditlog.Query{Until: time.Now().Add(-time.Hour)}))
	require.Len(
		t, entries(t, o, auditlog.Query{Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}), 7,
	)
	var ids []string
	for before := int64(0); ; {
		page := entries(t, o, auditlog.Query{Limit: 3, Before: before})
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			ids = append(ids, e.TargetID)
		}
		before = page[len(page)-1].Seq
	}
	require.Equal(t, "gfedcba", strings.Join(ids, ""))
}

func noSecret(t *testing.T, o Operations) {
	u := AddUser(t, o.Stores)
	_, err := o.Users.UpdateUser(
		t.Context(), u.ID, func(u *account.User) error { u.PasswordHash = "$argon2id$other"; return nil },
	)
	require.NoError(t, err)
	k := account.Key{
		ID: newID(t), OwnerID: u.ID, DeveloperID: u.DeveloperID, Kind: account.KindSeat, Prefix: "seat_live_abcd",
		Hash: [32]byte{0xab, 0xcd, 0xef}, CreatedAt: time.Now(),
	}
	require.NoError(t, o.Stores.Keys.CreateKey(t.Context(), k))
	text, err := json.Marshal(entries(t, o, auditlog.Query{}))
	require.NoError(t, err)
	require.NotContains(t, string(text), "argon2id")
	require.NotContains(t, string(text), "abcdef")
	require.NotContains(t, string(text), "q83v") // base64 of the hash
}

func requestOf(key byte) once.Request {
	return once.Request{
		Attempt: once.Attempt{ID: once.ID{key}, Token: uuid.New()}, Fingerprint: [32]byte{1}, Lease: time.Minute,
		Life: 24 * time.Hour,
	}
}

func stateOf(t *testing.T, o Operations, c once.Request) once.State {
	t.Helper()
	found, err := o.Keys.BeginKey(t.Context(), c)
	require.NoError(t, err)
	return found.State
}

func beginsOnce(t *testing.T, o Operations) {
	var begun atomic.Int64
	together(16, func(int) {
		found, err := o.Keys.BeginKey(t.Context(), requestOf(1))
		if err == nil && found.State == once.Begun {
			begun.Add(1)
		}
	})
	require.EqualValues(t, 1, begun.Load())
	require.Equal(t, once.Running, stateOf(t, o, requestOf(1)))
	require.Equal(t, once.Begun, stateOf(t, o, requestOf(2)), "another key is another call")
	other := requestOf(1)
	other.Fingerprint = [32]byte{2}
	require.Equal(t, once.Differs, stateOf(t, o, other))
}

// keysAreLimited: a scope has a maximum number of live keys; known keys still get their reply.
func keysAreLimited(t *testing.T, o Operations) {
	of := func(scope, key byte) once.Request {
		c := requestOf(key)
		c.Scope, c.Most = once.ID{scope}, 3
		return c
	}
	for key := range byte(3) {
		require.Equal(t, once.Begun, stateOf(t, o, of(1, key)))
	}
	require.Equal(t, once.Full, stateOf(t, o, of(1, 3)))
	require.Equal(t, once.Running, stateOf(t, o, of(1, 0)))
	require.Equal(t, once.Begun, stateOf(t, o, of(2, 4)), "of another")
	free := of(1, 5)
	free.Most = 0
	require.Equal(t, once.Begun, stateOf(t, o, free))
	first := of(1, 0)
	first.Life = 0
	require.Equal(t, once.Begun, stateOf(t, o, first), "one that has had its time is free again")
}

func keyReplays(t *testing.T, o Operations) {
	c := requestOf(1)
	require.Equal(t, once.Begun, stateOf(t, o, c))
	stranger := c.Attempt
	stranger.Token = uuid.New()
	require.NoError(t, o.Keys.FinishKey(t.Context(), stranger, once.Reply{Status: 200}))
	require.Equal(t, once.Running, stateOf(t, o, requestOf(1)), "a reply of another attempt is not kept")
	reply := once.Reply{Status: 201, ContentType: "application/json", Body: []byte("sealed")}
	require.NoError(t, o.Keys.FinishKey(t.Context(), c.Attempt, reply))
	require.NoError(t, o.Keys.FinishKey(t.Context(), c.Attempt, once.Reply{Status: 500}))
	found, err := o.Keys.BeginKey(t.Context(), requestOf(1))
	require.NoError(t, err)
	require.Equal(t, once.Found{State: once.Replied, Reply: reply}, found)
	require.NoError(t, o.Keys.ReleaseKey(t.Context(), c.Attempt))
	require.Equal(t, once.Replied, stateOf(t, o, requestOf(1)), "what was answered cannot be released")
	outlived := requestOf(1)
	outlived.Life = 0
	require.Equal(t, once.Begun, stateOf(t, o, outlived))
}

func keyDies(t *testing.T, o Operations) {
	first := requestOf(1)
	first.Lease = 0
	require.Equal(t, once.Begun, stateOf(t, o, first))
	other := requestOf(1)
	other.Fingerprint = [32]byte{2}
	require.Equal(t, once.Differs, stateOf(t, o, other), "also of a call that died")
	second := requestOf(1)
	require.Equal(t, once.Begun, stateOf(t, o, second), "a dead call without effect runs anew")
	require.Equal(t, once.Running, stateOf(t, o, requestOf(1)))
	require.NoError(t, o.Keys.ReleaseKey(t.Context(), first.Attempt))
	require.Equal(t, once.Running, stateOf(t, o, requestOf(1)), "the dead one cannot release what it lost")
	require.NoError(t, o.Keys.ReleaseKey(t.Context(), second.Attempt))
	require.Equal(t, once.Begun, stateOf(t, o, requestOf(1)))
}

// effectIsFenced is the case that doubles money without a fence: a call presumed dead wakes up and
// commits after the call that took over.
func effectIsFenced(t *testing.T, o Operations) {
	u := AddUser(t, o.Stores)
	slow, quick := requestOf(1), requestOf(1)
	slow.Lease = 0
	require.Equal(t, once.Begun, stateOf(t, o, slow))
	require.Equal(t, once.Begun, stateOf(t, o, quick))
	create := func(c once.Request) error {
		_, err := o.Campaigns.CreateCampaign(once.With(t.Context(), c.Attempt), campaign.NewCampaign{
			Campaign: NewCampaign(t, u.ID), Admit: func(bool) campaign.Status { return campaign.Active },
		})
		return err
	}
	require.NoError(t, create(quick))
	require.True(t, errs.Is(create(slow), errs.Conflict))
	_, total, err := o.Campaigns.Campaigns(t.Context(), campaign.Filter{AdvertiserID: u.ID, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.True(t, errs.Is(o.Users.CreateUser(once.With(t.Context(), slow.Attempt), account.User{
		ID: newID(t), DeveloperID: newID(t), Email: "late@example.com", Role: account.RoleAdvertiser,
		CreatedAt: time.Now(),
	}), errs.Conflict))
	_, err = o.Users.UserByEmail(t.Context(), "late@example.com")
	require.True(t, errs.Is(err, errs.NotFound))
}

// effectOutlives simulates a process that dies between its commit and its reply.
func effectOutlives(t *testing.T, o Operations) {
	u := AddUser(t, o.Stores)
	c := requestOf(1)
	c.Lease = 0
	require.Equal(t, once.Begun, stateOf(t, o, c))
	created, err := o.Campaigns.CreateCampaign(
		once.With(t.Context(), c.Attempt), campaign.NewCampaign{Campaign: NewCampaign(t, u.ID)},
	)
	require.NoError(t, err)
	found, err := o.Keys.BeginKey(t.Context(), requestOf(1))
	require.NoError(t, err)
	require.Equal(
		t, once.Found{State: once.Effected, Effect: once.Effect{Kind: "campaign", ID: created.ID.String()}}, found,
	)
	long := requestOf(2)
	require.Equal(t, once.Begun, stateOf(t, o, long))
	_, err = o.Campaigns.UpdateCampaign(
		once.With(t.Context(), long.Attempt), created.ID,
		func(c *campaign.Campaign) error { c.Name = "other"; return nil },
	)
	require.NoError(t, err)
	require.Equal(t, once.Running, stateOf(t, o, requestOf(2)))
	require.NoError(t, o.Keys.ReleaseKey(t.Context(), long.Attempt))
	require.Equal(t, once.Effected, stateOf(t, o, requestOf(2)), "a failed call that took effect does not run again")
}
