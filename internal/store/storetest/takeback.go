package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// notices returns those of Credits taken back from a publisher that its owner reads, newest first.
func (m *market) notices(owner, publisher account.User) []auditlog.Entry {
	m.Helper()
	list, err := m.l.Audit.AuditLog(m.Context(), auditlog.Query{
		OwnerID: owner.ID, TargetKind: auditlog.TargetPublisher, TargetID: publisher.DeveloperID.String(), Limit: 500,
	})
	require.NoError(m, err)
	for i := range list {
		list[i] = list[i].ForOwner(owner.ID)
	}
	return list
}

// refund refunds a payment whole, and requires that a release at a time takes back Credits.
func (m *market) refund(payment string, amount money.Micros, credits int64, at time.Time) {
	m.Helper()
	applyNotice(m.T, m.l, refunded(payment, "re_"+payment, amount), ledger.NoticeReversed)
	rules := unheld
	rules.Now = at
	require.Equal(m, credits, release(m.T, m.l, rules).TakenBack)
}

// takenBackIsNoticed refunds the payment of an advertiser. The owner of the publisher with Credits
// of it gets one notice, which does not name the payer.
func takenBackIsNoticed(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	payer, owner, honest := AddUser(t, l.Stores), AddUser(t, l.Stores), AddUser(t, l.Stores)
	seat, _ := addSeat(t, l.Stores, owner)
	m.paysIn(payer, "pi_1", 600_000)
	m.paysIn(payer, "pi_2", 400_000)
	m.views(priced(t, l, AddUser(t, l.Stores), money.USD, money.USD), honest.DeveloperID, 10)
	m.views(priced(t, l, payer, money.USD, money.USD), seat.DeveloperID, 100)
	release(t, l, unheld)
	m.credits(seat.DeveloperID, 0, 0, 100)
	require.Empty(t, m.notices(owner, seat))

	m.refund("pi_1", 600_000, 20, now) // 0.40 USD back 80 Credits
	list := m.notices(owner, seat)
	require.Len(t, list, 1)
	require.Equal(t, auditlog.Actor{Via: auditlog.System}, list[0].Actor)
	require.NotEmpty(t, list[0].Changes[auditlog.Reason].After)
	delete(list[0].Changes, auditlog.Reason)
	date := day.Of(now).String()
	require.Equal(t, map[string]auditlog.Change{
		auditlog.CreditsTakenBack: {After: 20.0}, "earned_from": {After: date}, "earned_until": {After: date},
	}, list[0].Changes)

	_, err := l.Deposits.ApplyNotice(t.Context(), refunded("pi_1", "re_pi_1", 600_000))
	require.NoError(t, err)
	require.Zero(t, release(t, l, unheld).TakenBack, "a repeated event changes nothing")
	require.Len(t, m.notices(owner, seat), 1)
	require.Empty(t, m.notices(honest, honest))
	require.Empty(t, m.notices(payer, payer))
	m.clean()
}

// furtherNoticesAreOfMore refunds payments one by one: each further notice of a UTC day is of more
// Credits than all before it.
func furtherNoticesAreOfMore(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	payer, publisher := AddUser(t, l.Stores), AddUser(t, l.Stores)
	for id, amount := range map[string]money.Micros{
		"pi_1": 600_000, "pi_2": 50_000, "pi_3": 200_000, "pi_4": 50_000, "pi_5": 100_000,
	} {
		m.paysIn(payer, id, amount)
	}
	m.views(priced(t, l, payer, money.USD, money.USD), publisher.DeveloperID, 100)
	release(t, l, unheld)
	m.refund("pi_1", 600_000, 20, now)
	m.refund("pi_2", 50_000, 10, now)
	require.Len(t, m.notices(publisher, publisher), 1)
	m.refund("pi_3", 200_000, 40, now)
	require.Len(t, m.notices(publisher, publisher), 2)
	m.refund("pi_4", 50_000, 10, time.Now().Add(48*time.Hour))
	list := m.notices(publisher, publisher)
	require.Len(t, list, 3)
	require.Equal(t, 10.0, list[0].Changes[auditlog.CreditsTakenBack].After)
	m.clean()
}
