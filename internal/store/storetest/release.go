package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// Releaser holds the store methods that the release of Credits needs.
type Releaser interface {
	ReleaseCredits(ctx context.Context, r ledger.CreditRules) (ledger.CreditRun, error)
	MarkExpired(ctx context.Context, since, before day.Day) error
	MeanCharge(ctx context.Context, first, last day.Day) (ledger.MeanCharge, error)
}

var releaseCases = []ledgerCase{
	{"CreditsFollowCharges", creditsFollowCharges},
	{"OneAdvertiserIsHeldLonger", oneAdvertiserIsHeldLonger},
	{"OneFamilyIsHeldLonger", oneFamilyIsHeldLonger},
	{"PendingCreditsExpire", pendingCreditsExpire},
	{"WhatIsTakenBackTakesCredits", takenBack},
	{"TakenBackIsNoticed", takenBackIsNoticed},
	{"FurtherNoticesAreOfMore", furtherNoticesAreOfMore},
	{"DebtsGoThroughCredits", debtsGoThroughCredits},
	{"ClawedBackCharges", clawedBackCharges},
	{"QuarantineFreezesTheRelease", quarantineFreezes},
	{"ReleasedOnceByMany", releasedOnceByMany},
	{"DearerValueBuysNoMore", dearerValue},
	{"MeanCharge", meanCharge},
	{"ChargesOfVotes", chargesOfVotes},
	{"QueueOfReviewers", queueOfReviewers},
	{"ColludingAccounts1", colludingAccounts(1)},
	{"ColludingAccounts2", colludingAccounts(2)},
	{"ColludingAccounts3", colludingAccounts(3)},
}

const (
	value = money.Micros(5_000)
	week  = 7 * 24 * time.Hour
)

// production are the rules of production at now.
var production = ledger.CreditRules{Value: value, Hold: week, LongHold: 4 * week, Now: now}

// unheld are rules without holds.
var unheld = ledger.CreditRules{Value: value, Now: now}

// release repeats the release until nothing is left to do: a debt may cause another.
func release(t *testing.T, l Ledger, r ledger.CreditRules) (sum ledger.CreditRun) {
	t.Helper()
	for range 20 {
		run, err := l.Books.ReleaseCredits(t.Context(), r)
		require.NoError(t, err)
		sum.Merge(run)
		if run.Days == 0 {
			return sum
		}
	}
	t.Fatal("the release does not end")
	return sum
}

// market is a set of accounts whose events are settled on one partition.
type market struct {
	*testing.T
	l    Ledger
	next int64
}

func (m *market) settle(records ...ledger.Record) {
	m.Helper()
	_, err := apply(m.Context(), m.l.Settler, batchOf(partition(0), m.next, records...))
	require.NoError(m, err)
	m.next += int64(len(records))
}

// views settles n impressions of a campaign at a publisher.
func (m *market) views(c campaign.Campaign, developer uuid.UUID, n int) {
	m.Helper()
	records := make([]ledger.Record, n)
	for i := range records {
		records[i] = eventOf(m.T, c, developer, ledger.Impression)
	}
	m.settle(records...)
}

func (m *market) credits(developer uuid.UUID, pending, held, spendable int) {
	m.Helper()
	require.Equal(m, ledger.CreditBalance{
		Pending: money.Credits(pending), Held: money.Credits(held), Spendable: money.Credits(spendable),
	}, creditsOf(m.T, m.l, developer))
}

// paysIn records a payment by the account.
func (m *market) paysIn(u account.User, id string, amount money.Micros) {
	m.Helper()
	applyNotice(m.T, m.l, paid(id, amount, u.ID), ledger.NoticeCredited)
}

func (m *market) clean() {
	m.Helper()
	requireClean(m.T, m.l, ledger.VerifyOptions{})
}

// creditsFollowCharges simulates a money press: a campaign that pays for clicks is shown a thousand
// times and never clicked. Nothing was charged, so nothing can be spent.
func creditsFollowCharges(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	thief := AddUser(t, l.Stores)
	cpc := NewCampaign(t, AddUser(t, l.Stores).ID)
	cpc.BillingModel, cpc.BidAmount = campaign.CPC, 10_000
	cpc, err := l.Campaigns.CreateCampaign(
		t.Context(), campaign.NewCampaign{Campaign: cpc, Admit: func(bool) campaign.Status { return campaign.Active }},
	)
	require.NoError(t, err)
	m.views(cpc, thief.DeveloperID, 500)
	release(t, l, unheld)
	m.credits(thief.DeveloperID, 500, 0, 0)
	if l.Credits != nil {
		requireInsufficient(t, l.Stores, campaignFor(NewCampaign(t, thief.ID), 1), 0)
	}
	// A click of one cent is two Credits; it arrives on the same day, after the others were
	// examined.
	view := eventOf(t, cpc, thief.DeveloperID, ledger.Impression)
	click := view
	click.Event.Type = ledger.Click
	m.settle(view, click)
	release(t, l, unheld)
	m.credits(thief.DeveloperID, 499, 0, 2)
	// A paused campaign mints nothing.
	moveTo(t, l, cpc.ID, campaign.Paused)
	late := eventOf(t, cpc, thief.DeveloperID, ledger.Impression)
	late.Event.ReceivedAt = time.Now().UTC().Add(time.Hour)
	m.settle(late)
	m.credits(thief.DeveloperID, 499, 0, 2)
	m.clean()
}

func oneAdvertiserIsHeldLonger(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	developer := newID(t)
	m.views(priced(t, l, AddUser(t, l.Stores), money.USD, money.USD), developer, 40) // 0.40 USD, 80 Credits' worth
	release(t, l, production)
	m.credits(developer, 0, 40, 0)
	after := production
	after.Now = now.Add(week + time.Hour)
	release(t, l, after)
	m.credits(developer, 0, 20, 20) // a quarter of 80
	for range 3 {
		m.views(priced(t, l, AddUser(t, l.Stores), money.USD, money.USD), developer, 40)
	}
	release(t, l, after)
	m.credits(developer, 0, 140, 20)
	after.Now = after.Now.Add(week + time.Hour)
	release(t, l, after)
	m.credits(developer, 0, 0, 160)
	m.clean()
}

// oneFamilyIsHeldLonger: two accounts of one family, and a seat of theirs, are one advertiser of a
// publisher's day.
func oneFamilyIsHeldLonger(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	developer, oldest := newID(t), AddUser(t, l.Stores)
	newer := AddUser(t, l.Stores)
	seat, _ := addSeat(t, l.Stores, newer)
	require.NoError(t, l.Join(t.Context(), newer.ID, oldest.ID))
	for _, u := range []account.User{oldest, newer, seat} {
		m.views(priced(t, l, u, money.USD, money.USD), developer, 40)
	}
	release(t, l, production)
	after := production
	after.Now = now.Add(week + time.Hour)
	release(t, l, after)
	m.credits(developer, 0, 60, 60) // a quarter of the charges of 240
	m.clean()
}

func pendingCreditsExpire(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	developer, r := newID(t), unheld
	dear := r
	dear.Value = 20_000
	m.views(priced(t, l, AddUser(t, l.Stores), money.USD, money.USD), developer, 10)
	release(t, l, dear)
	m.credits(developer, 5, 0, 5)
	expire := func(at time.Time) {
		dear.Now = at
		require.NoError(t, l.Books.MarkExpired(t.Context(), 0, ledger.ExpiredBefore(at)))
		release(t, l, dear)
	}
	end := day.Of(now).Time().Add(29 * 24 * time.Hour)
	expire(end.Add(-time.Second))
	m.credits(developer, 5, 0, 5)
	m.clean()
	expire(end)
	m.credits(developer, 0, 0, 5)
	m.clean()
}

// takenBack charges a paid-in balance, then its provider reverses the payment.
func takenBack(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	payer, developer, honest := AddUser(t, l.Stores), newID(t), newID(t)
	m.paysIn(payer, "pi_1", money.USD)
	m.paysIn(payer, "pi_2", money.USD)
	c := priced(t, l, payer, 10*money.USD, 10*money.USD)
	m.views(priced(t, l, AddUser(t, l.Stores), money.USD, money.USD), honest, 10)
	m.views(c, developer, 150)
	release(t, l, unheld)
	m.credits(developer, 0, 0, 150)
	// Half a dollar was not spent: its refund takes no Credit.
	applyNotice(
		t, l,
		ledger.Notice{
			Provider: ledger.Stripe, EventID: "e1", Kind: ledger.NoticeRefundedTo, PaymentID: "pi_1",
			Amount: money.USD / 2, At: now,
		}, ledger.NoticeReversed,
	)
	require.Zero(t, release(t, l, unheld).TakenBack)
	m.clean()
	// The rest was charged: 0.50 USD are owed, and 1.00 USD backs 200 Credits, more than the 150.
	applyNotice(
		t, l,
		ledger.Notice{
			Provider: ledger.Stripe, EventID: "e2", Kind: ledger.NoticeRefundedTo, PaymentID: "pi_1", Amount: money.USD,
			At: now,
		}, ledger.NoticeReversed,
	)
	release(t, l, unheld)
	m.credits(developer, 0, 0, 150)
	m.clean()
	dispute := ledger.Notice{
		Provider: ledger.Stripe, EventID: "e3", Kind: ledger.NoticeDisputed, PaymentID: "pi_2", DisputeID: "d",
		Amount: 600_000, At: now,
	}
	applyNotice(t, l, dispute, ledger.NoticeHeld)
	require.EqualValues(t, 70, release(t, l, unheld).TakenBack)
	m.credits(developer, 70, 0, 80) // 1.50 charged, 1.10 owed
	m.credits(honest, 0, 0, 10)
	m.clean()
	dispute.EventID, dispute.Kind = "e4", ledger.NoticeDisputeWon
	applyNotice(t, l, dispute, ledger.NoticeReleased)
	release(t, l, unheld)
	m.credits(developer, 0, 0, 150)
	m.clean()
}

// debtsGoThroughCredits simulates laundering: a payer that disputes, and a publisher that spends
// the Credits on a second publisher's traffic. The second loses what the first owes.
func debtsGoThroughCredits(t *testing.T, l Ledger) {
	if l.Credits == nil {
		return // nothing can be spent
	}
	m := &market{T: t, l: l}
	payer, first, second := AddUser(t, l.Stores), AddUser(t, l.Stores), AddUser(t, l.Stores)
	m.paysIn(payer, "pi_1", money.USD)
	m.views(priced(t, l, payer, money.USD, money.USD), first.DeveloperID, 100)
	release(t, l, unheld)
	m.credits(first.DeveloperID, 0, 0, 100)
	bought := NewCampaign(t, first.ID)
	bought.BillingModel, bought.BidAmount, bought.DailyBudget, bought.TotalBudget = campaign.CPM, 10*money.USD,
		money.USD, 400_000
	bought, err := l.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
		Campaign: bought, CreditValue: value, Admit: func(bool) campaign.Status { return campaign.Active },
	})
	require.NoError(t, err)
	m.credits(first.DeveloperID, 0, 0, 20)
	m.views(bought, second.DeveloperID, 60)
	release(t, l, unheld)
	m.credits(second.DeveloperID, 0, 0, 40) // the charged amount: the budget
	m.clean()
	applyNotice(
		t, l,
		ledger.Notice{
			Provider: ledger.Stripe, EventID: "e1", Kind: ledger.NoticeDisputed, PaymentID: "pi_1", DisputeID: "d",
			Amount: money.USD, At: now,
		}, ledger.NoticeHeld,
	)
	release(t, l, unheld)
	m.credits(first.DeveloperID, 100, 0, -80)
	m.credits(second.DeveloperID, 40, 0, 0)
	requireInsufficient(t, l.Stores, campaignFor(NewCampaign(t, first.ID), 1), 0)
	m.clean()
}

// clawedBackCharges refunds the charges of a case: they no longer back anything, and the case's
// Credits are gone.
func clawedBackCharges(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	developer := newID(t)
	c := priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD)
	dear := unheld
	dear.Value = 20_000
	m.views(c, developer, 10)
	release(t, l, dear)
	m.credits(developer, 5, 0, 5)
	open := quarantined(t, l, developer)
	m.views(c, developer, 10) // would back the pending ones
	release(t, l, dear)
	b := creditsOf(t, l, developer)
	require.Equal(t, ledger.CreditBalance{Pending: 5, Spendable: 5, Quarantined: 10}, b)
	_, err := l.Publishers.EndQuarantine(t.Context(), decide(t, open, ledger.QuarantineClawback))
	require.NoError(t, err)
	release(t, l, dear)
	m.credits(developer, 5, 0, 5)
	m.clean()
}

func quarantineFreezes(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	payer, developer := AddUser(t, l.Stores), newID(t)
	m.paysIn(payer, "pi_1", 10*money.USD)
	c := priced(t, l, payer, 10*money.USD, 10*money.USD)
	m.views(c, developer, 10)
	open := quarantined(t, l, developer)
	m.views(c, developer, 4)
	release(t, l, unheld)
	require.Equal(t, ledger.CreditBalance{Pending: 10, Quarantined: 4}, creditsOf(t, l, developer))
	_, err := l.Publishers.EndQuarantine(t.Context(), decide(t, open, ledger.QuarantineRelease))
	require.NoError(t, err)
	m.credits(developer, 14, 0, 0)
	release(t, l, unheld)
	m.credits(developer, 0, 0, 14)
	// In the next case Credits are also taken back.
	next := ledger.Quarantine{ID: newID(t), DeveloperID: developer, OpenedAt: now}
	_, err = l.Publishers.OpenQuarantine(t.Context(), next)
	require.NoError(t, err)
	applyNotice(
		t, l,
		ledger.Notice{
			Provider: ledger.Stripe, EventID: "e1", Kind: ledger.NoticeRefundedTo, PaymentID: "pi_1",
			Amount: 10 * money.USD, At: now,
		}, ledger.NoticeReversed,
	)
	release(t, l, unheld)
	m.credits(developer, 14, 0, 0)
	m.clean()
}

// releasedOnceByMany releases from several processes while impressions are settled.
func releasedOnceByMany(t *testing.T, l Ledger) {
	const appliers, releasers, rounds = 2, 3, 10
	c := priced(t, l, AddUser(t, l.Stores), 100*money.USD, 100*money.USD)
	developers := []uuid.UUID{newID(t), newID(t)}
	batches := make([][]ledger.Batch, appliers)
	for i := range batches {
		for n := range int64(rounds) {
			batches[i] = append(
				batches[i],
				batchOf(
					partition(int32(i)), 2*n, eventOf(t, c, developers[0], ledger.Impression),
					eventOf(t, c, developers[1], ledger.Impression),
				),
			)
		}
	}
	together(appliers+releasers, func(i int) {
		for n := range rounds {
			var err error
			if i < appliers {
				_, err = apply(t.Context(), l.Settler, batches[i][n])
			} else {
				_, err = l.Books.ReleaseCredits(t.Context(), unheld)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	release(t, l, unheld)
	for _, developer := range developers {
		(&market{T: t, l: l}).credits(developer, 0, 0, appliers*rounds)
	}
	requireClean(t, l, ledger.VerifyOptions{})
}

// dearerValue raises the setting after the release: the Credits pay their former value.
func dearerValue(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	u := AddUser(t, l.Stores)
	m.views(priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD), u.DeveloperID, 100)
	release(t, l, unheld)
	dear := unheld
	dear.Value = money.USD
	require.Zero(t, release(t, l, dear).TakenBack)
	m.credits(u.DeveloperID, 0, 0, 100)
	if l.Credits == nil {
		return
	}
	fund := campaign.NewCampaign{Campaign: NewCampaign(t, u.ID), CreditValue: money.USD}
	fund.Campaign.TotalBudget = 500_001
	_, err := l.Campaigns.CreateCampaign(t.Context(), fund)
	requireCode(t, err, errs.InsufficientCredit)
	fund.Campaign.TotalBudget = 500_000
	_, err = l.Campaigns.CreateCampaign(t.Context(), fund)
	require.NoError(t, err)
	m.credits(u.DeveloperID, 0, 0, 0)
	m.clean()
}

func meanCharge(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	m.views(priced(t, l, AddUser(t, l.Stores), 50_000, money.USD), newID(t), 8) // five of them are charged
	today := day.Of(now)
	got, err := l.Books.MeanCharge(t.Context(), today-6, today)
	require.NoError(t, err)
	require.Equal(t, ledger.MeanCharge{Charged: 50_000, Impressions: 8}, got)
	got, err = l.Books.MeanCharge(t.Context(), today-6, today-1)
	require.NoError(t, err)
	require.Zero(t, got)
}

// collusion plays accounts that are advertisers and publishers to each other and try everything
// that moves money: cheap clicks, reversed payments, disputes, cases, Credits that pay for each
// other's campaigns, another value of a Credit.
type collusion struct {
	market
	rng       *rand.Rand
	accounts  []account.User
	campaigns []campaign.Campaign
	sent      []ledger.Record
	payments  int
	rules     ledger.CreditRules
}

func colludingAccounts(seed uint64) func(t *testing.T, l Ledger) {
	return func(t *testing.T, l Ledger) {
		c := &collusion{market: market{T: t, l: l}, rng: rand.New(rand.NewPCG(seed, 12)), rules: unheld}
		for range 4 {
			u := AddUser(t, l.Stores)
			c.accounts = append(c.accounts, u)
			c.campaign(u)
		}
		for range 60 {
			c.step()
			c.requireBacked()
		}
		c.clean()
	}
}

func (c *collusion) user() account.User { return c.accounts[c.rng.IntN(len(c.accounts))] }

func (c *collusion) campaign(u account.User) {
	k := NewCampaign(c.T, u.ID)
	k.BillingModel = []campaign.BillingModel{campaign.CPM, campaign.CPC, campaign.CPA}[c.rng.IntN(3)]
	k.BidAmount, k.DailyBudget, k.TotalBudget = 10_000, 300_000, money.Micros(1+c.rng.IntN(400_000))
	if k.BillingModel == campaign.CPM {
		k.BidAmount = 8 * money.USD
		k.BillingEvent = []campaign.BillingEvent{campaign.OnImpression, campaign.OnView}[c.rng.IntN(2)]
	}
	n := campaign.NewCampaign{Campaign: k, Admit: func(bool) campaign.Status { return campaign.Active }}
	if c.l.Credits != nil && c.rng.IntN(2) == 0 {
		n.CreditValue = c.rules.Value
	}
	k, err := c.l.Campaigns.CreateCampaign(c.Context(), n)
	if errs.Is(err, errs.InsufficientCredit) {
		return
	}
	require.NoError(c, err)
	c.campaigns = append(c.campaigns, k)
}

func (c *collusion) events() {
	if len(c.campaigns) == 0 {
		return
	}
	var records []ledger.Record
	for range 1 + c.rng.IntN(25) {
		r := eventOf(c.T, c.campaigns[c.rng.IntN(len(c.campaigns))], c.user().DeveloperID, ledger.Impression)
		if n := len(c.sent); n > 0 && c.rng.IntN(3) == 0 {
			r = c.sent[c.rng.IntN(n)]
			r.Event.Type = []ledger.EventType{
				ledger.Click, ledger.Conversion, ledger.Impression, ledger.Viewable,
			}[c.rng.IntN(4)]
		}
		r.Event.ReceivedAt = now.Add(time.Duration(c.rng.IntN(3)) * 24 * time.Hour)
		c.sent, records = append(c.sent, r), append(records, r)
	}
	b := batchOf(partition(0), c.next, records...)
	b.Prepaid = true
	_, err := apply(c.Context(), c.l.Settler, b)
	require.NoError(c, err)
	c.next += int64(len(records))
}

func (c *collusion) step() {
	switch c.rng.IntN(9) {
	case 0, 1, 2:
		c.events()
	case 3:
		c.payments++
		c.paysIn(c.user(), fmt.Sprint("pi_", c.payments), money.Micros(1+c.rng.IntN(300_000)))
	case 4:
		c.takeMoneyBack()
	case 5:
		c.campaign(c.user())
	case 6:
		c.quarantine()
	case 7:
		c.rules.Value = []money.Micros{700, 5_000, 5_000, money.USD}[c.rng.IntN(4)]
	case 8:
		c.rules.Now = c.rules.Now.Add(time.Duration(c.rng.IntN(3)) * 24 * time.Hour)
		c.rules.Hold = time.Duration(c.rng.IntN(2)) * week
		c.rules.LongHold = 2 * c.rules.Hold
	}
	release(c.T, c.l, c.rules)
}

func (c *collusion) takeMoneyBack() {
	if c.payments == 0 {
		return
	}
	n := ledger.Notice{
		Provider: ledger.Stripe, EventID: uuid.NewString(), PaymentID: fmt.Sprint("pi_", 1+c.rng.IntN(c.payments)),
		Amount: money.Micros(1 + c.rng.IntN(300_000)), At: now, Kind: ledger.NoticeRefundedTo,
	}
	if c.rng.IntN(2) == 0 {
		n.Kind, n.DisputeID = []ledger.NoticeKind{
			ledger.NoticeDisputed, ledger.NoticeDisputeWon, ledger.NoticeDisputeLost,
		}[c.rng.IntN(3)], n.PaymentID+"_d"
	}
	_, err := c.l.Deposits.ApplyNotice(c.Context(), n)
	require.NoError(c, err)
}

func (c *collusion) quarantine() {
	p, developer := c.l.Publishers, c.user().DeveloperID
	open, err := p.Quarantines(c.Context(), ledger.QuarantineQuery{Developer: developer, Open: true, Limit: 1})
	require.NoError(c, err)
	if len(open) == 0 {
		_, err = p.OpenQuarantine(c.Context(), ledger.Quarantine{ID: newID(c.T), DeveloperID: developer, OpenedAt: now})
		require.NoError(c, err)
		return
	}
	decision := []ledger.QuarantineDecision{ledger.QuarantineRelease, ledger.QuarantineClawback}[c.rng.IntN(2)]
	_, err = p.EndQuarantine(c.Context(), decide(c.T, open[0], decision))
	require.NoError(c, err)
}

// requireBacked independently sums the thieves' Credits: spendable, future and spent ones are worth
// at most the charges less the debts. Credits of another value count at the smallest.
func (c *collusion) requireBacked() {
	c.Helper()
	checks, err := c.l.Accounts.Verify(c.Context(), ledger.VerifyOptions{})
	require.NoError(c, err)
	for _, check := range checks {
		require.Truef(c, check.OK(), "%s: want %d, got %d: %s", check.Name, check.Want, check.Got, check.Detail)
	}
	var owned money.Credits
	charged := money.Micros(0)
	for _, u := range c.accounts {
		b := creditsOf(c.T, c.l, u.DeveloperID)
		owned += max(0, b.Spendable) + b.Held
	}
	for _, k := range c.campaigns {
		stored, err := c.l.Campaigns.Campaign(c.Context(), k.ID)
		require.NoError(c, err)
		charged += stored.SpentTotal
	}
	require.LessOrEqual(c, money.Micros(owned)*700, charged)
}
