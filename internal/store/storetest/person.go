package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/compliance/person"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/money/share"
	"adnet/internal/payment"
)

// Persons is the stores that hold accounts with all their data.
type Persons struct {
	person.Accounts
	Logins
	campaign.Store
	Books
	Audit
	Payments   payment.Store
	Publishers Publishers
}

func (p Persons) store() person.Store {
	return person.Store{
		Accounts: p.Accounts, Campaigns: p.Store, Ledger: p.Books, Audit: p.Audit, Cases: p.Publishers,
	}
}

// RunPersons runs the suite of personal data. text returns the complete content of the store as
// text; it may be nil.
func RunPersons(t *testing.T, newStore func(t *testing.T) (s Persons, text func() string)) {
	for name, test := range map[string]func(*testing.T, Persons, func() string){
		"Erase": erase, "Export": export, "OnlyTheErasedAreForgotten": onlyErased,
		"ErasureWaits": erasureWaits,
	} {
		t.Run(name, func(t *testing.T) {
			s, text := newStore(t)
			test(t, s, text)
		})
	}
}

// owner creates an account with every kind of activity, under a marked name.
func owner(t *testing.T, s Persons) account.User {
	t.Helper()
	u := account.User{
		ID: newID(t), DeveloperID: newID(t), Email: "canary-person@example.com",
		PasswordHash: "$argon2id$canary-person", Role: account.RoleAdvertiser,
		TokenVersion: 1, CreatedAt: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
	}
	require.NoError(t, s.CreateUser(t.Context(), u))
	acting := auditlog.With(
		t.Context(),
		auditlog.Actor{
			AccountID: u.ID, Role: "advertiser", Name: "canary-person", Via: auditlog.API, Network: "192.0.2.0/24",
			Action: "POST /api/keys",
		},
	)
	_, err := s.UpdateUser(
		acting, u.ID, func(u *account.User) error { u.Email = "canary-person-2@example.com"; return nil },
	)
	require.NoError(t, err)
	for i := range 2 {
		require.NoError(t, s.CreateKey(acting, account.Key{
			ID: newID(t), OwnerID: u.ID, DeveloperID: u.DeveloperID, Kind: account.KindPublisher,
			Name: "key of canary-person", Prefix: "pub_live_abcd",
			Hash: [32]byte{u.ID[15], u.ID[14], byte(i)}, CreatedAt: keyTime,
		}))
		c := NewCampaign(t, u.ID)
		c.Name = "campaign of canary-person"
		_, err := s.CreateCampaign(
			acting, campaign.NewCampaign{Campaign: c, Admit: func(bool) campaign.Status { return campaign.Active }},
		)
		require.NoError(t, err)
	}
	require.NoError(t, s.NoteNetwork(t.Context(), u.ID, "192.0.2.0/24", keyTime, keyTime))
	require.NoError(t, s.CreateSession(t.Context(), account.Session{
		ID: newID(t), UserID: u.ID, Version: 1, CreatedAt: keyTime, ExpiresAt: keyTime.Add(time.Hour),
		Network: "192.0.2.0/24", Agent: "canary-person/1",
	}))
	require.NoError(
		t,
		s.UpdateFactor(acting, u.ID, func(f *account.Factor) error { f.Sealed = []byte("canary-person"); return nil }),
	)
	require.NoError(t, s.Payments.CreateDeposit(acting, ledger.Deposit{
		ID: newID(t), AdvertiserID: u.ID, Provider: ledger.Stripe, CheckoutID: "cs_" + u.ID.String(),
		Requested: money.USD, ReturnURL: "https://canary-person.example/", CreatedAt: keyTime,
	}))
	require.NoError(t, Pay(t.Context(), s.Payments, u.ID, 7*money.USD))
	u, err = s.User(t.Context(), u.ID)
	require.NoError(t, err)
	return u
}

func erase(t *testing.T, s Persons, text func() string) {
	u, ctx := owner(t, s), t.Context()
	history := func() []ledger.Line {
		lines, err := s.History(ctx, ledger.HistoryQuery{Advertiser: u.ID, Developer: u.DeveloperID, Limit: 100})
		require.NoError(t, err)
		return lines
	}
	before := history()
	require.NotEmpty(t, before)
	for _, forfeit := range []person.Loss{
		{}, {Balance: 6 * money.USD}, {Balance: 8 * money.USD}, {Balance: 7 * money.USD, Credits: 1},
	} {
		_, err := person.Erase(ctx, s.store(), u, forfeit, keyTime)
		requireCode(t, err, errs.Conflict)
		require.Equal(t, 7*money.USD, errs.Of(err).Extra["balance_usd"])
	}
	stored, err := s.User(ctx, u.ID)
	require.NoError(t, err)
	require.Equal(t, u.Email, stored.Email, "a balance is not lost unseen")
	done, err := person.Erase(ctx, s.store(), u, person.Loss{Balance: 7 * money.USD}, keyTime)
	require.NoError(t, err)
	require.Equal(t, person.Erased{Keys: 2, Campaigns: 2, Loss: person.Loss{Balance: 7 * money.USD}}, done)

	gone, err := s.User(ctx, u.ID)
	require.NoError(t, err)
	require.True(t, gone.Erased())
	require.True(t, gone.Disabled)
	require.Greater(t, gone.TokenVersion, u.TokenVersion, "logins have ended")
	_, err = person.Find(ctx, s.Accounts, u.Email)
	requireCode(t, err, errs.NotFound)
	require.Equal(t, before, history(), "rows of the ledger are never changed")
	checks, err := s.Verify(ctx, ledger.VerifyOptions{Prepaid: true})
	require.NoError(t, err)
	require.NotEmpty(t, checks)
	for _, c := range checks {
		require.True(t, c.OK(), "%s: want %d, got %d: %s", c.Name, c.Want, c.Got, c.Detail)
	}
	held, err := person.Export(ctx, s.store(), gone)
	require.NoError(t, err)
	for _, k := range held.Keys {
		require.NotZero(t, k.RevokedAt)
	}
	for _, c := range held.Campaigns {
		require.Equal(t, campaign.Archived, c.Status)
	}
	known, err := s.KnowsNetwork(ctx, u.ID, "192.0.2.0/24", keyTime)
	require.NoError(t, err)
	require.False(t, known)
	all, err := json.Marshal(held)
	require.NoError(t, err)
	require.NotContains(t, string(all), "canary-person")
	require.NotContains(t, string(all), "192.0.2")
	if text != nil {
		require.NotContains(t, text(), "canary-person")
		require.NotContains(t, text(), "192.0.2")
	}

	entries, err := s.AuditLog(ctx, auditlog.Query{OwnerID: u.ID, Limit: 500})
	require.NoError(t, err)
	done, err = person.Erase(ctx, s.store(), gone, person.Loss{}, keyTime)
	require.NoError(t, err)
	require.Equal(t, person.Erased{Again: true, Loss: person.Loss{Balance: 7 * money.USD}}, done)
	again, err := s.AuditLog(ctx, auditlog.Query{OwnerID: u.ID, Limit: 500})
	require.NoError(t, err)
	require.Equal(t, entries, again, "the second time changes nothing")
	require.Equal(t, auditlog.Change{Before: false, After: true}, entries[0].Changes["erased"])
}

func export(t *testing.T, s Persons, _ func() string) {
	u := owner(t, s)
	other := u
	other.ID, other.DeveloperID, other.Email = newID(t), newID(t), "other@example.com"
	require.NoError(t, s.CreateUser(t.Context(), other))
	require.NoError(t, Pay(t.Context(), s.Payments, other.ID, money.USD))
	floor := share.Share(250_000)
	require.NoError(t, s.PutPublishing(t.Context(), u.ID, account.Publishing{MinRelevance: &floor}))
	// A rejection is a decision, and the owner's objection is an appeal.
	campaigns, _, err := s.Campaigns(t.Context(), campaign.Filter{AdvertiserID: u.ID, Limit: 1})
	require.NoError(t, err)
	judging := auditlog.With(
		t.Context(),
		auditlog.Actor{AccountID: newID(t), Role: "admin", Via: auditlog.API, Action: "POST /api/admin/review"},
	)
	_, err = s.UpdateCampaign(judging, campaigns[0].ID, func(c *campaign.Campaign) error {
		c.Status, c.Review = campaign.Rejected, &campaign.Review{
			Decision: "rejected", Notes: "The page is another.", ReviewerID: newID(t), At: keyTime,
		}
		return nil
	})
	require.NoError(t, err)
	listed, _, err := s.Decisions(t.Context(), decision.Query{OwnerID: u.ID, Limit: 10})
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.NoError(
		t,
		s.Appeal(
			t.Context(),
			decision.Appeal{
				ID: newID(t), DecisionID: listed[0].ID, OwnerID: u.ID, Text: "It is mine.", CreatedAt: keyTime,
			},
		),
	)
	found, err := person.Find(t.Context(), s.Accounts, strings.ToUpper(u.Email))
	require.NoError(t, err)
	held, err := person.Export(t.Context(), s.store(), found)
	require.NoError(t, err)
	require.Equal(t, u.Email, held.Profile.Email)
	require.Equal(t, 7*money.USD, held.Balance)
	require.Equal(t, &floor, held.Asks.MinRelevance)
	require.Len(t, held.Decisions, 1)
	require.Equal(t, decision.Rejection, held.Decisions[0].Kind)
	require.Equal(t, "It is mine.", held.Decisions[0].Appeals[0].Text)
	require.Len(t, held.Keys, 2)
	require.Equal(t, "pub_live_abcd", held.Keys[0].Prefix)
	require.Len(t, held.Campaigns, 2)
	require.Len(t, held.Ledger, 1)
	require.GreaterOrEqual(t, len(held.AuditLog), 5)
	text, err := json.Marshal(held)
	require.NoError(t, err)
	require.NotContains(t, string(text), "argon2id")
	require.NotContains(t, string(text), "other@example.com")
	require.NotContains(t, string(text), other.ID.String())
}

func onlyErased(t *testing.T, s Persons, _ func() string) {
	u := owner(t, s)
	require.Error(t, s.Forget(t.Context(), u.ID), "an account that is in use keeps its rows")
	require.Error(t, s.Forget(t.Context(), uuid.New()))
	held, err := person.Export(t.Context(), s.store(), u)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(held.AuditLog), "canary-person")
}

// erasureWaits: an account with a case, a dispute, an appeal or a fresh decision is not erased, and
// its owner learns until when.
func erasureWaits(t *testing.T, s Persons, _ func() string) {
	u, ctx := owner(t, s), t.Context()
	all := person.Loss{Balance: 7 * money.USD}
	waits := func(at time.Time, kinds ...person.WaitKind) []person.Wait {
		t.Helper()
		_, err := person.Erase(ctx, s.store(), u, all, at)
		requireCode(t, err, errs.Conflict)
		list, _ := errs.Of(err).Extra["waits"].([]person.Wait)
		got := []person.WaitKind{}
		for _, w := range list {
			got = append(got, w.Kind)
		}
		require.Equal(t, kinds, got)
		keys, err := s.Keys(ctx, u.ID)
		require.NoError(t, err)
		require.False(t, keys[0].Revoked(), "nothing is done")
		return list
	}
	other := u
	other.ID, other.DeveloperID, other.Email = newID(t), newID(t), "other@example.com"
	require.NoError(t, s.CreateUser(ctx, other))

	dispute := ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_1", PaymentID: "pi_1", Amount: money.USD, At: now,
		Kind: ledger.NoticePaid, Names: []uuid.UUID{u.ID},
	}
	notice := func(event string, kind ledger.NoticeKind) {
		dispute.EventID, dispute.Kind = event, kind
		_, err := s.Payments.ApplyNotice(ctx, dispute)
		require.NoError(t, err)
	}
	notice("evt_1", ledger.NoticePaid)
	dispute.DisputeID = "dp_1"
	notice("evt_2", ledger.NoticeDisputed)
	waits(time.Now(), person.WaitDispute)
	open, err := s.DisputeOpen(ctx, other.ID)
	require.NoError(t, err)
	require.False(t, open)

	held := ledger.Quarantine{ID: newID(t), DeveloperID: u.DeveloperID, OpenedAt: now}
	_, err = s.Publishers.OpenQuarantine(ctx, held)
	require.NoError(t, err)
	require.Equal(t, held.ID, waits(time.Now(), person.WaitCase, person.WaitDispute)[0].ID)
	notice("evt_3", ledger.NoticeDisputeLost)
	waits(time.Now(), person.WaitCase)
	_, err = s.Publishers.EndQuarantine(ctx, ledger.QuarantineVerdict{
		Case: held.ID, Decision: ledger.QuarantineClawback, By: newID(t), Note: "robots", At: now,
	})
	require.NoError(t, err)
	listed, _, err := s.Decisions(ctx, decision.Query{OwnerID: u.ID, Kind: decision.Clawback, Limit: 1})
	require.NoError(t, err)
	until := listed[0].At.Add(decision.AppealTime)
	last := waits(until.Add(-time.Second), person.WaitDecision)[0]
	require.Equal(t, listed[0].ID, last.ID)
	require.True(t, last.Until.Equal(until))
	_, err = person.Erase(ctx, s.store(), u, all, until.Add(-time.Second))
	require.Equal(t, last.Until, errs.Of(err).Extra["until"])

	appeal := decision.Appeal{ID: newID(t), DecisionID: last.ID, OwnerID: u.ID, Text: "People.", CreatedAt: keyTime}
	require.NoError(t, s.Appeal(ctx, appeal))
	waits(until, person.WaitAppeal)
	require.NoError(t, s.Answer(ctx, decision.Answer{
		AppealID: appeal.ID, Outcome: decision.Upheld, Words: "Robots.", By: newID(t), At: keyTime,
	}))
	waits(until.Add(-time.Second), person.WaitDecision)
	_, err = person.Erase(ctx, s.store(), u, all, until)
	require.NoError(t, err)
	_, err = person.Erase(ctx, s.store(), other, person.Loss{}, time.Now())
	require.NoError(t, err, "the matters of others")
}
