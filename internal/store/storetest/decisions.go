package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/traffic"
)

// Each decision against an owner has a statement for the owner, written with the change; an owner's
// own actions have none.
func decisionsHaveStatements(t *testing.T, o Operations) {
	decisions, cases := o.Audit, o.Publishers
	u, other := AddUser(t, o.Stores), AddUser(t, o.Stores)
	seat := account.User{
		ID: newID(t), DeveloperID: newID(t), Email: "seat@seats.invalid", Role: account.RoleSeat, TokenVersion: 1,
		CreatedAt: keyTime, ParentID: u.ID,
	}
	require.NoError(
		t,
		o.Stores.Keys.CreateSeat(
			t.Context(), seat,
			account.Key{
				ID: newID(t), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeat,
				Hash: [32]byte{7}, CreatedAt: keyTime,
			},
		),
	)
	c := AddCampaign(t, o.Stores, u.ID, campaign.Active)
	of := func(owner uuid.UUID) []decision.Statement {
		list, total, err := decisions.Decisions(t.Context(), decision.Query{OwnerID: owner, Limit: 100})
		require.NoError(t, err)
		require.Equal(t, len(list), total)
		return list
	}
	move := func(id uuid.UUID, by auditlog.Actor, reason string, edit func(*campaign.Campaign)) {
		ctx := auditlog.With(t.Context(), by)
		auditlog.Because(ctx, reason)
		_, err := o.Campaigns.UpdateCampaign(ctx, id, func(c *campaign.Campaign) error { edit(c); return nil })
		require.NoError(t, err)
	}
	pause, resume := func(c *campaign.Campaign) {
		c.Status = campaign.Paused
	}, func(c *campaign.Campaign) { c.Status = campaign.Active }
	owner := auditlog.Actor{AccountID: u.ID, Role: "advertiser", Via: auditlog.API}
	move(c.ID, owner, "", pause)
	move(c.ID, owner, "", resume)
	require.Empty(t, of(u.ID), "what an owner does is no decision against it")

	want := func(kind decision.Kind, rule, reason string, automated bool) decision.Statement {
		t.Helper()
		got := of(u.ID)[0]
		require.Equal(t, kind, got.Kind)
		require.Equal(t, []any{rule, reason, automated, u.ID}, []any{got.Rule, got.Reason, got.Automated, got.OwnerID})
		require.Empty(t, got.Appeals)
		require.False(t, got.At.IsZero())
		return got
	}
	move(c.ID, actor, "The pictures are not yours.", pause)
	require.Equal(t, c.ID.String(), want(decision.Pause, "ad_policy", "The pictures are not yours.", false).TargetID)
	move(c.ID, actor, "", resume)
	move(c.ID, auditlog.Actor{Via: auditlog.System}, "Reports.", pause)
	want(decision.Pause, "reports", "Reports.", true)
	move(c.ID, actor, "", func(c *campaign.Campaign) {
		c.Status, c.Review = campaign.Rejected, &campaign.Review{
			Decision: "rejected", Notes: "Say what you sell.", ReviewerID: actor.AccountID, At: keyTime,
		}
	})
	want(decision.Rejection, "ad_policy", "Say what you sell.", false)

	ctx := auditlog.With(t.Context(), actor)
	hold := ledger.Quarantine{
		ID: newID(t), DeveloperID: seat.DeveloperID, OpenedAt: keyTime,
		Evidence: traffic.Evidence{Rule: traffic.QuarantineManual, By: actor.AccountID, Note: "Odd."},
	}
	opened, err := cases.OpenQuarantine(ctx, hold)
	require.NoError(t, err)
	require.True(t, opened)
	want(decision.Hold, string(traffic.QuarantineManual), "Odd.", false)
	_, err = cases.EndQuarantine(
		ctx,
		ledger.QuarantineVerdict{
			Case: hold.ID, Decision: ledger.QuarantineClawback, By: actor.AccountID, Note: "Robots.", At: keyTime,
		},
	)
	require.NoError(t, err)
	want(decision.Clawback, "invalid_traffic", "Robots.", false)
	_, err = cases.OpenQuarantine(
		t.Context(), ledger.Quarantine{ID: newID(t), DeveloperID: newID(t), OpenedAt: keyTime},
	)
	require.NoError(t, err, "of a publisher without an account")

	_, err = o.Users.RuleUser(ctx, account.Ruling{UserID: u.ID, Edit: disabled(true), Reason: "Stolen cards."})
	require.NoError(t, err)
	want(decision.Suspension, "terms", "Stolen cards.", false)
	require.Len(t, of(u.ID), 6)
	require.Empty(t, of(other.ID))
	mine, total, err := decisions.Decisions(t.Context(), decision.Query{OwnerID: u.ID, Target: c.ID.String(), Limit: 2})
	require.NoError(t, err)
	require.Equal(
		t, []any{3, 2, decision.Rejection}, []any{total, len(mine), mine[0].Kind}, "a page of one target, newest first",
	)
	list, _, err := decisions.Decisions(t.Context(), decision.Query{Kind: decision.Pause, Limit: 1, Offset: 1})
	require.NoError(t, err)
	require.Equal(t, "The pictures are not yours.", list[0].Reason)
}

// An appeal belongs to the owner, one at a time, three in all; the statement shows its answer.
func appealsAreOneAtATime(t *testing.T, o Operations) {
	decisions := o.Audit
	u, other := AddUser(t, o.Stores), AddUser(t, o.Stores)
	_, err := o.Users.RuleUser(t.Context(), account.Ruling{UserID: u.ID, Edit: disabled(true), Reason: "why"})
	require.NoError(t, err)
	read := func() decision.Statement {
		list, _, err := decisions.Decisions(t.Context(), decision.Query{OwnerID: u.ID, Limit: 1})
		require.NoError(t, err)
		return list[0]
	}
	of := read().ID
	appeal := func(owner uuid.UUID) (uuid.UUID, error) {
		id := newID(t)
		return id, decisions.Appeal(
			t.Context(),
			decision.Appeal{ID: id, DecisionID: of, OwnerID: owner, Text: "It was not me.", CreatedAt: keyTime},
		)
	}
	_, err = appeal(other.ID)
	requireCode(t, err, errs.NotFound)
	for n := range decision.MaxAppeals {
		var accepted, refused atomic.Int32
		together(6, func(int) {
			switch _, err := appeal(u.ID); {
			case err == nil:
				accepted.Add(1)
			case errs.Is(err, errs.Conflict):
				refused.Add(1)
			}
		})
		require.EqualValues(t, 1, accepted.Load())
		require.EqualValues(t, 5, refused.Load())
		open := read().Appeals[n]
		require.Equal(t, "It was not me.", open.Text)
		require.Nil(t, open.DecidedAt)
		list, total, err := decisions.Decisions(t.Context(), decision.Query{Open: true, Limit: 5})
		require.NoError(t, err)
		require.Equal(t, 1, total)
		require.Equal(t, of, list[0].ID)
		answer := decision.Answer{
			AppealID: open.ID, Outcome: decision.Upheld, Words: "It was.", By: other.ID, At: keyTime.Add(time.Hour),
		}
		require.NoError(t, decisions.Answer(t.Context(), answer))
		requireCode(t, decisions.Answer(t.Context(), answer), errs.InvalidState)
		back, err := decisions.AppealedBy(t.Context(), open.ID)
		require.NoError(t, err)
		require.Equal(t, []any{decision.Upheld, "It was."}, []any{back.Appeals[n].Outcome, back.Appeals[n].Words})
		require.True(t, back.Appeals[n].DecidedAt.Equal(keyTime.Add(time.Hour)))
	}
	_, err = appeal(u.ID)
	requireCode(t, err, errs.Conflict)
	_, total, err := decisions.Decisions(t.Context(), decision.Query{Open: true})
	require.NoError(t, err)
	require.Zero(t, total)
	requireCode(
		t, decisions.Answer(t.Context(), decision.Answer{AppealID: newID(t), Outcome: decision.Upheld}), errs.NotFound,
	)
	_, err = decisions.AppealedBy(t.Context(), newID(t))
	requireCode(t, err, errs.NotFound)
}
