package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/payment"
)

// Deposits holds the methods that move and show deposits.
type Deposits struct {
	payment.Store
	Statements
}

// Statements holds the methods that show an account's money.
type Statements interface {
	History(ctx context.Context, q ledger.HistoryQuery) ([]ledger.Line, error)
	Statement(ctx context.Context, q ledger.StatementQuery) (ledger.Statement, error)
	Earnings(ctx context.Context, developer uuid.UUID, first, last day.Day) (ledger.Earnings, error)
	WaitingDays(ctx context.Context, developer uuid.UUID) ([]ledger.CreditDay, error)
}

// Pay credits an advertiser as a provider would.
func Pay(ctx context.Context, d payment.Store, advertiser uuid.UUID, amount money.Micros) error {
	id := uuid.NewString()
	result, err := d.ApplyNotice(ctx, ledger.Notice{
		Provider: ledger.Demo, EventID: id, Kind: ledger.NoticePaid, PaymentID: id, Amount: amount,
		Names: []uuid.UUID{advertiser}, At: now,
	})
	if err == nil && result.Outcome != ledger.NoticeCredited {
		err = fmt.Errorf("the payment was %s", result.Outcome)
	}
	return err
}

var depositCases = []ledgerCase{
	{"Records", depositRecords},
	{"OneEventTenTimesAtOnce", sameEventAtOnce},
	{"OnePaymentInSeveralEvents", onePaymentSeveralEvents},
	{"RunningTotalsReverseTheDifference", runningTotals},
	{"SingleRefundsAddUp", singleRefunds},
	{"RefundsAtOnce", refundsAtOnce},
	{"FailedRefundGivesBack", failedRefund},
	{"FailedRefundAndDispute", failedRefundAndDispute},
	{"RefundBeforePaymentIsParked", refundFirst},
	{"RefundOfSpentMoney", refundOfSpent},
	{"DisputeTakesAndGivesBack", disputes},
	{"DisputeBeforePaymentIsParked", disputeFirst},
	{"DisputeAndRefund", disputeAndRefund},
	{"Parked", parkedDeliveries},
	{"ParkedRowsAreBounded", parkedBounded},
	{"ParkedIsDecidedOnce", parkedDecided},
	{"ParkedIsDecidedOnceAtOnce", parkedAtOnce},
	{"ParkedPaymentIsCredited", parkedPayment},
	{"ParkedIsSuperseded", parkedSuperseded},
	{"PaymentForClosedAccountIsNotCredited", closedAccount},
	{"NobodysMoney", nobodysMoney},
	{"BadNotices", badNotices},
	{"AnyOrder", anyOrder},
	{"AnyOrderAtOnce", anyOrderAtOnce},
	{"RoomFollows", roomFollowsDeposit},
	{"CampaignsHaveTheBalance", campaignsHaveTheBalance},
	{"History", ledgerHistory},
	{"Earnings", earnings},
	{"HistoryByDate", historyByDate},
	{"Statement", statements},
	{"ClosedMonthsNeverChange", closedMonths},
	{"ClosesAtOnce", closesAtOnce},
}

func paid(payment string, amount money.Micros, to uuid.UUID) ledger.Notice {
	return ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_" + payment, Kind: ledger.NoticePaid, PaymentID: payment, Amount: amount,
		Names: []uuid.UUID{to}, At: now,
	}
}

func refundedTo(payment string, total money.Micros) ledger.Notice {
	return ledger.Notice{
		Provider: ledger.Stripe, EventID: fmt.Sprintf("evt_%s_to_%d", payment, total), Kind: ledger.NoticeRefundedTo,
		PaymentID: payment, Amount: total, At: now,
	}
}

func refunded(payment, refund string, amount money.Micros) ledger.Notice {
	return ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_" + refund, Kind: ledger.NoticeRefunded, PaymentID: payment,
		RefundID: refund, Amount: amount, At: now,
	}
}

func refundFailed(payment, refund string, amount money.Micros) ledger.Notice {
	n := refunded(payment, refund, amount)
	n.EventID, n.Kind = "evt_failed_"+refund, ledger.NoticeRefundFailed
	return n
}

func disputed(payment, dispute string, amount money.Micros, kind ledger.NoticeKind) ledger.Notice {
	return ledger.Notice{
		Provider: ledger.Stripe, EventID: fmt.Sprintf("evt_%s_%s", dispute, kind), Kind: kind, PaymentID: payment,
		DisputeID: dispute, Amount: amount, At: now,
	}
}

func applyNotice(t *testing.T, l Ledger, n ledger.Notice, want ledger.NoticeOutcome) ledger.NoticeResult {
	t.Helper()
	got, err := l.Deposits.ApplyNotice(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, want, got.Outcome)
	return got
}

func requireCash(t *testing.T, l Ledger, id uuid.UUID, want money.Micros) {
	t.Helper()
	got, err := l.Accounts.AdvertiserBalance(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func depositRecords(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	d := ledger.Deposit{
		ID: newID(t), AdvertiserID: u.ID, Provider: ledger.Stripe, CheckoutID: "cs_1", Requested: 25 * money.USD,
		ReturnURL: "https://example.com/back", CreatedAt: now,
	}
	require.NoError(t, l.Deposits.CreateDeposit(t.Context(), d))
	got, err := l.Deposits.Deposit(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, d, got)
	require.Equal(t, ledger.DepositOpen, got.Status())
	requireCash(t, l, u.ID, 0) // a wish moves nothing

	requireCode(t, l.Deposits.CreateDeposit(t.Context(), d), errs.Conflict)
	again := d
	again.ID = newID(t)
	requireCode(t, l.Deposits.CreateDeposit(t.Context(), again), errs.Conflict)
	again.AdvertiserID, again.CheckoutID = newID(t), "cs_2"
	requireCode(t, l.Deposits.CreateDeposit(t.Context(), again), errs.NotFound)
	_, err = l.Deposits.Deposit(t.Context(), newID(t))
	requireCode(t, err, errs.NotFound)
	_, err = l.Deposits.DepositByReference(t.Context(), ledger.Stripe, "")
	requireCode(t, err, errs.NotFound)

	// The provider names the deposit, and another amount than requested: the received amount
	// counts.
	n := paid("pi_1", 20*money.USD, d.ID)
	n.Names = append(n.Names, AddUser(t, l.Stores).ID) // the deposit takes precedence
	result := applyNotice(t, l, n, ledger.NoticeCredited)
	d.PaymentID, d.Paid = "pi_1", 20*money.USD
	require.Equal(t, d, result.Deposit)
	require.Equal(t, ledger.DepositPaid, d.Status())
	requireCash(t, l, u.ID, 20*money.USD)
	for _, reference := range []string{"cs_1", "pi_1"} {
		got, err = l.Deposits.DepositByReference(t.Context(), ledger.Stripe, reference)
		require.NoError(t, err)
		require.Equal(t, d, got)
		_, err = l.Deposits.DepositByReference(t.Context(), ledger.PayPal, reference)
		requireCode(t, err, errs.NotFound)
	}
	d.Reversed = 5 * money.USD
	require.Equal(t, d, applyNotice(t, l, refundedTo("pi_1", 5*money.USD), ledger.NoticeReversed).Deposit)
	require.Equal(t, ledger.DepositPartly, d.Status())
	d.Reversed = 20 * money.USD
	require.Equal(t, d, applyNotice(t, l, refundedTo("pi_1", 20*money.USD), ledger.NoticeReversed).Deposit)
	require.Equal(t, ledger.DepositRefunded, d.Status())
	requireCash(t, l, u.ID, 0)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func sameEventAtOnce(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	var credited, repeated atomic.Int32
	together(10, func(int) {
		result, err := l.Deposits.ApplyNotice(t.Context(), paid("pi_1", 7*money.USD, u.ID))
		switch {
		case err != nil || result.Outcome != ledger.NoticeCredited || result.Deposit.Paid != 7*money.USD:
			t.Errorf("%+v, %v", result, err)
		case result.Repeated:
			repeated.Add(1)
		default:
			credited.Add(1)
		}
	})
	require.EqualValues(t, 1, credited.Load())
	require.EqualValues(t, 9, repeated.Load())
	requireCash(t, l, u.ID, 7*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func onePaymentSeveralEvents(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	together(8, func(i int) {
		n := paid("pi_1", 7*money.USD, u.ID)
		n.EventID = fmt.Sprintf("evt_%d", i)
		if _, err := l.Deposits.ApplyNotice(t.Context(), n); err != nil {
			t.Error(err)
		}
	})
	requireCash(t, l, u.ID, 7*money.USD)
	n := paid("pi_1", 9*money.USD, AddUser(t, l.Stores).ID) // other amount and user: the payment is known
	n.EventID = "evt_late"
	require.Equal(t, u.ID, applyNotice(t, l, n, ledger.NoticeNothing).Deposit.AdvertiserID)
	// The same id at another provider is another payment.
	n.Provider, n.Names = ledger.PayPal, []uuid.UUID{u.ID}
	applyNotice(t, l, n, ledger.NoticeCredited)
	requireCash(t, l, u.ID, 16*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func runningTotals(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	applyNotice(t, l, paid("pi_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	applyNotice(t, l, refundedTo("pi_1", 3*money.USD), ledger.NoticeReversed)
	requireCash(t, l, u.ID, 7*money.USD)
	applyNotice(t, l, refundedTo("pi_1", 8*money.USD), ledger.NoticeReversed)
	requireCash(t, l, u.ID, 2*money.USD)
	applyNotice(t, l, refundedTo("pi_1", 5*money.USD), ledger.NoticeNothing) // an older total that arrived late
	require.True(t, applyNotice(t, l, refundedTo("pi_1", 8*money.USD), ledger.NoticeReversed).Repeated)
	requireCash(t, l, u.ID, 2*money.USD)
	applyNotice(t, l, refundedTo("pi_1", 99*money.USD), ledger.NoticeReversed) // at most the paid amount
	requireCash(t, l, u.ID, 0)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func singleRefunds(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	applyNotice(t, l, paid("cap_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	applyNotice(t, l, refunded("cap_1", "r1", 3*money.USD), ledger.NoticeReversed)
	applyNotice(t, l, refunded("cap_1", "r2", 3*money.USD), ledger.NoticeReversed) // the same amount again is another refund
	requireCash(t, l, u.ID, 4*money.USD)
	again := refunded("cap_1", "r2", 3*money.USD)
	again.EventID = "evt_another" // the same refund in another event is not
	applyNotice(t, l, again, ledger.NoticeNothing)
	requireCash(t, l, u.ID, 4*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func refundsAtOnce(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	applyNotice(t, l, paid("cap_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	together(12, func(i int) { // four refunds, three deliveries each under events of their own
		n := refunded("cap_1", fmt.Sprint("r", i%4), money.USD)
		n.EventID = fmt.Sprint("evt_r", i)
		if _, err := l.Deposits.ApplyNotice(t.Context(), n); err != nil {
			t.Error(err)
		}
	})
	requireCash(t, l, u.ID, 6*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func refundFirst(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	require.Zero(t, applyNotice(t, l, refundedTo("pi_1", 4*money.USD), ledger.NoticeParked).Deposit)
	require.True(t, applyNotice(t, l, refundedTo("pi_1", 4*money.USD), ledger.NoticeParked).Repeated)
	applyNotice(t, l, refunded("cap_1", "r1", money.USD), ledger.NoticeParked)
	applyNotice(t, l, refunded("cap_1", "r2", money.USD), ledger.NoticeParked)
	requireCash(t, l, u.ID, 0)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
	applyNotice(t, l, paid("pi_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	requireCash(t, l, u.ID, 6*money.USD)
	got := applyNotice(t, l, paid("cap_1", 5*money.USD, u.ID), ledger.NoticeCredited)
	require.Equal(t, 2*money.USD, got.Deposit.Reversed)
	requireCash(t, l, u.ID, 9*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

// refundOfSpent: spent and then refunded money is owed, by exactly that amount, and every promise
// still holds.
func refundOfSpent(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	c := priced(t, l, u, money.USD, money.USD)
	applyNotice(t, l, paid("pi_1", 15_000, u.ID), ledger.NoticeCredited)
	b := batchOf(
		partition(0), 0, eventOf(t, c, newID(t), ledger.Impression), eventOf(t, c, newID(t), ledger.Impression),
	)
	b.Prepaid = true
	_, err := apply(t.Context(), l.Settler, b)
	require.NoError(t, err)
	requireCash(t, l, u.ID, 0)
	applyNotice(t, l, refundedTo("pi_1", 15_000), ledger.NoticeReversed)
	requireCash(t, l, u.ID, -15_000)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
	b = batchOf(partition(0), 2, eventOf(t, c, newID(t), ledger.Impression))
	b.Prepaid = true
	effects, err := apply(t.Context(), l.Settler, b)
	require.NoError(t, err)
	require.Equal(t, ledger.OverBalance, effects.Applied[0].Outcomes[0].Verdict)
	applyNotice(t, l, paid("pi_2", 15_000, u.ID), ledger.NoticeCredited) // pays the debt, and buys nothing
	requireCash(t, l, u.ID, 0)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func nobodysMoney(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	n := paid("pi_1", money.USD, newID(t))
	require.Zero(t, applyNotice(t, l, n, ledger.NoticeUnattributed).Deposit)
	n.Names = nil
	applyNotice(t, l, n, ledger.NoticeUnattributed)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
	n.Names = []uuid.UUID{newID(t), u.ID} // nothing was stored: the event counts once it names a known user
	result := applyNotice(t, l, n, ledger.NoticeCredited)
	require.False(t, result.Repeated)
	require.Equal(t, ledger.DepositIDFor(ledger.Stripe, "pi_1"), result.Deposit.ID)
	require.Equal(t, u.ID, result.Deposit.AdvertiserID)
	requireCash(t, l, u.ID, money.USD)

	// A deposit of one provider is not paid by another.
	d := ledger.Deposit{ID: newID(t), AdvertiserID: u.ID, Provider: ledger.PayPal, CreatedAt: now}
	require.NoError(t, l.Deposits.CreateDeposit(t.Context(), d))
	applyNotice(t, l, paid("pi_2", money.USD, d.ID), ledger.NoticeUnattributed)
}

func badNotices(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	for name, spoil := range map[string]func(*ledger.Notice){
		"no event":   func(n *ledger.Notice) { n.EventID = "" },
		"no payment": func(n *ledger.Notice) { n.PaymentID = "" },
		"NUL":        func(n *ledger.Notice) { n.PaymentID = "a\x00b" },
		"not UTF-8":  func(n *ledger.Notice) { n.EventID = "a\xff" },
		"too long":   func(n *ledger.Notice) { n.EventID = strings.Repeat("x", 256) },
		"nothing":    func(n *ledger.Notice) { n.Amount = 0 }, "negative": func(n *ledger.Notice) { n.Amount = -1 },
		"beyond all":     func(n *ledger.Notice) { n.Amount = money.Max + 1 },
		"unnamed refund": func(n *ledger.Notice) { n.Kind = ledger.NoticeRefunded },
	} {
		n := paid("pi_1", money.USD, u.ID)
		spoil(&n)
		_, err := l.Deposits.ApplyNotice(t.Context(), n)
		require.Error(t, err, name)
		require.True(t, errs.Is(err, errs.InvalidRequest), name)
	}
	requireCash(t, l, u.ID, 0)
	require.False(t, applyNotice(t, l, paid("pi_1", money.USD, u.ID), ledger.NoticeCredited).Repeated)
}

// story is a set of payments and refunds in random order, with repeated notices.
type story struct {
	notices []ledger.Notice
	left    money.Micros // must remain in the end
}

func newStory(rng *rand.Rand, to uuid.UUID) (s story) {
	for p := range 1 + rng.IntN(4) {
		payment := fmt.Sprintf("pi_%s_%d", to, p)
		amount := money.Micros(1+rng.IntN(1000)) * 10_000
		first := paid(payment, amount, to)
		second := first
		second.EventID += "_async"
		s.notices = append(s.notices, first, second)
		var back money.Micros
		for r := range rng.IntN(4) {
			part := min(money.Micros(1+rng.IntN(500))*10_000, amount-back)
			if part <= 0 {
				break
			}
			back += part
			id := fmt.Sprintf("r_%s_%d_%d", to, p, r)
			if p%2 == 0 {
				total := refundedTo(payment, back)
				total.EventID, total.SentAt = fmt.Sprint(total.EventID, r), now.Add(time.Duration(2*r)*time.Second)
				s.notices = append(s.notices, total)
			} else {
				s.notices = append(s.notices, refunded(payment, id, part))
			}
			if rng.IntN(3) == 0 {
				back -= part
				failed := refundFailed(payment, id, part)
				failed.SentAt = now.Add(time.Duration(2*r+1) * time.Second)
				s.notices = append(s.notices, failed)
			}
		}
		for d := range rng.IntN(3) {
			id, part := fmt.Sprintf("d_%s_%d_%d", to, p, d), min(money.Micros(1+rng.IntN(500))*10_000, amount-back)
			if part <= 0 {
				break
			}
			s.notices = append(s.notices, disputed(payment, id, part, ledger.NoticeDisputed))
			switch rng.IntN(3) {
			case 0:
				s.notices = append(s.notices, disputed(payment, id, part, ledger.NoticeDisputeWon))
			case 1:
				s.notices = append(s.notices, disputed(payment, id, part, ledger.NoticeDisputeLost))
				back += part
			default:
				back += part
			}
		}
		s.left += amount - back
	}
	for _, n := range s.notices {
		if rng.IntN(3) == 0 {
			s.notices = append(s.notices, n)
		}
	}
	rng.Shuffle(len(s.notices), func(i, j int) { s.notices[i], s.notices[j] = s.notices[j], s.notices[i] })
	return s
}

func anyOrder(t *testing.T, l Ledger) {
	for seed := range uint64(25) {
		u := AddUser(t, l.Stores)
		s := newStory(rand.New(rand.NewPCG(seed, 28)), u.ID)
		for _, n := range s.notices {
			_, err := l.Deposits.ApplyNotice(t.Context(), n)
			require.NoError(t, err)
			cash, err := l.Accounts.AdvertiserBalance(t.Context(), u.ID)
			require.NoError(t, err)
			require.GreaterOrEqual(t, cash, money.Micros(0), "seed %d: reordering took what had not come in", seed)
		}
		requireCash(t, l, u.ID, s.left)
	}
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func anyOrderAtOnce(t *testing.T, l Ledger) {
	for seed := range uint64(10) {
		u := AddUser(t, l.Stores)
		s := newStory(rand.New(rand.NewPCG(seed, 29)), u.ID)
		together(len(s.notices), func(i int) {
			if _, err := l.Deposits.ApplyNotice(t.Context(), s.notices[i]); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
		requireCash(t, l, u.ID, s.left)
	}
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

// A campaign is read, listed, created and changed with the balance of its advertiser, not of another.
func campaignsHaveTheBalance(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	c := priced(t, l, u, money.USD, money.USD)
	other := priced(t, l, AddUser(t, l.Stores), money.USD, money.USD)
	for _, step := range []struct {
		n    ledger.Notice
		want money.Micros
	}{{paid("pi_1", 400_000, u.ID), 400_000}, {refundedTo("pi_1", 400_000), 0}, {paid("pi_2", 7, u.ID), 7}} {
		_, err := l.Deposits.ApplyNotice(t.Context(), step.n)
		require.NoError(t, err)
		read, err := l.Campaigns.Campaign(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, step.want, read.Balance)
		page, _, err := l.Campaigns.Campaigns(t.Context(), campaign.Filter{})
		require.NoError(t, err)
		for i := range page {
			require.Equal(t, page[i].AdvertiserID == u.ID && step.want > 0, page[i].Balance > 0)
		}
		changed, err := l.Campaigns.UpdateCampaign(t.Context(), c.ID, func(k *campaign.Campaign) error {
			k.Name += "'"
			k.Balance = 99
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, step.want, changed.Balance)
	}
	require.EqualValues(t, 7, priced(t, l, u, money.USD, money.USD).Balance, "of a new campaign")
	read, err := l.Campaigns.Campaign(t.Context(), other.ID)
	require.NoError(t, err)
	require.Zero(t, read.Balance)
}

func roomFollowsDeposit(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	c := priced(t, l, u, money.USD, money.USD)
	reader := l.Rooms(reserve.RoomOptions{Prepaid: true})
	rooms, cursor, err := reader.Rooms(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, rooms, 1)
	require.Zero(t, rooms[0].Left(day.Of(time.Now())))
	version := rooms[0].Version
	for _, step := range []struct {
		n    ledger.Notice
		left money.Micros
	}{
		{paid("pi_1", 400_000, u.ID), 400_000}, {refundedTo("pi_1", 100_000), 300_000},
		{refundedTo("pi_1", 400_000), 0},
		{paid("pi_2", 5*money.USD, u.ID), money.USD},
	} {
		_, err := l.Deposits.ApplyNotice(t.Context(), step.n)
		require.NoError(t, err)
		rooms, cursor, err = reader.Rooms(t.Context(), cursor)
		require.NoError(t, err)
		require.Len(t, rooms, 1, "the change must be seen")
		require.Equal(t, c.ID, rooms[0].CampaignID)
		require.Equal(t, step.left, rooms[0].Left(day.Of(time.Now())))
		require.Greater(t, rooms[0].Version, version)
		version = rooms[0].Version
	}
}

func ledgerHistory(t *testing.T, l Ledger) {
	u, other := AddUser(t, l.Stores), AddUser(t, l.Stores)
	query := ledger.HistoryQuery{Advertiser: u.ID, Developer: u.DeveloperID, Limit: 100}
	lines, err := l.Deposits.History(t.Context(), query)
	require.NoError(t, err)
	require.Empty(t, lines)

	c, foreign := priced(t, l, u, money.USD, money.USD), priced(t, l, other, money.USD, money.USD)
	require.NoError(t, Pay(t.Context(), l.Deposits, other.ID, 3*money.USD))
	applyNotice(t, l, paid("pi_1", 5*money.USD, u.ID), ledger.NoticeCredited)
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 0,
		eventOf(t, c, other.DeveloperID, ledger.Impression), eventOf(t, foreign, u.DeveloperID, ledger.Impression)))
	require.NoError(t, err)
	applyNotice(t, l, refundedTo("pi_1", 2*money.USD), ledger.NoticeReversed)

	lines, err = l.Deposits.History(t.Context(), query)
	require.NoError(t, err)
	type row struct {
		kind            ledger.Kind
		asset           ledger.Asset
		amount, balance int64
		subject         uuid.UUID
	}
	var rows []row
	for i, line := range lines {
		rows = append(rows, row{line.Kind, line.Asset, line.Amount, line.Balance, line.Subject})
		require.True(t, i == 0 || line.Seq < lines[i-1].Seq)
		require.Equal(t, now, line.At)
	}
	require.Equal(t, row{ledger.KindRefund, ledger.USD, -2_000_000, 2_990_000, u.ID}, rows[0])
	require.ElementsMatch(t, []row{ // both of one batch
		{ledger.KindCharge, ledger.USD, -10_000, 4_990_000, c.ID},
		{ledger.KindMint, ledger.Credit, 1, 1, u.DeveloperID},
	}, rows[1:3])
	require.Equal(t, []row{{ledger.KindDeposit, ledger.USD, 5_000_000, 5_000_000, u.ID}}, rows[3:])
	require.Equal(t, lines[3].Transaction, lines[0].Reverses)
	require.Equal(t, uuid.Nil, lines[3].Reverses)
	require.Equal(t, "stripe:pi_1", lines[3].Ref)

	// Pages of every size add up to the same.
	for limit := 1; limit <= 5; limit++ {
		var paged []ledger.Line
		q := query
		q.Limit = limit
		for {
			page, err := l.Deposits.History(t.Context(), q)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			require.LessOrEqual(t, len(page), limit)
			paged, q.Before = append(paged, page...), page[len(page)-1].Seq
		}
		require.Equal(t, lines, paged)
	}
	query.Asset = ledger.Credit
	only, err := l.Deposits.History(t.Context(), query)
	require.NoError(t, err)
	require.Len(t, only, 1)
	require.Equal(t, ledger.KindMint, only[0].Kind)
	query.Asset = ledger.USD
	only, err = l.Deposits.History(t.Context(), query)
	require.NoError(t, err)
	require.Len(t, only, 3)
}

func earnings(t *testing.T, l Ledger) {
	u, publisher := AddUser(t, l.Stores), AddUser(t, l.Stores)
	c := priced(t, l, u, money.USD, 10*money.USD)
	today := day.Of(now)
	got, err := l.Deposits.Earnings(t.Context(), publisher.DeveloperID, today-30, today)
	require.NoError(t, err)
	require.Empty(t, got.Days)
	require.Zero(t, got.Total)
	for i, back := range []int{40, 2, 2, 0} {
		b := batchOf(
			partition(0), int64(2*i), eventOf(t, c, publisher.DeveloperID, ledger.Impression),
			eventOf(t, c, publisher.DeveloperID, ledger.Impression),
		)
		b.At = now.AddDate(0, 0, -back)
		_, err := apply(t.Context(), l.Settler, b)
		require.NoError(t, err)
	}
	if l.Credits != nil {
		const spent = 3
		require.NoError(t, l.Credits.Grant(t.Context(), publisher.DeveloperID, spent))
		fund := NewCampaign(t, publisher.ID)
		_, err := l.Campaigns.CreateCampaign(t.Context(), campaignFor(fund, spent))
		require.NoError(t, err)
	}
	got, err = l.Deposits.Earnings(t.Context(), publisher.DeveloperID, today-30, today)
	require.NoError(t, err)
	require.Equal(t, []ledger.DayCredits{{Day: today - 2, Credits: 4}, {Day: today, Credits: 2}}, got.Days)
	require.EqualValues(t, 8, got.Total, "granted Credits are not earned")
}

// campaignFor returns c, paid with cost Credits.
func campaignFor(c campaign.Campaign, cost money.Credits) campaign.NewCampaign {
	c.TotalBudget = money.Micros(cost) * 25 * money.USD
	return campaign.NewCampaign{Campaign: c, CreditValue: 25 * money.USD}
}

func historyByDate(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	for i := range 4 { // a day each, 1 to 4 USD
		n := paid(fmt.Sprint("pi_", i), money.Micros(i+1)*money.USD, u.ID)
		n.At = now.AddDate(0, 0, i)
		applyNotice(t, l, n, ledger.NoticeCredited)
	}
	date := func(i int) time.Time { return day.Of(now.AddDate(0, 0, i)).Time() }
	for _, c := range []struct {
		from, to time.Time
		want     []int64
	}{
		{date(1), date(3), []int64{6_000_000, 3_000_000}}, {time.Time{}, date(1), []int64{1_000_000}},
		{date(3), time.Time{}, []int64{10_000_000}},
		{date(9), time.Time{}, nil}, {now.AddDate(0, 0, 1), now.AddDate(0, 0, 2), []int64{3_000_000}}, // to is excluded
	} {
		lines, err := l.Deposits.History(
			t.Context(),
			ledger.HistoryQuery{Advertiser: u.ID, Developer: u.DeveloperID, Limit: 9, From: c.from, To: c.to},
		)
		require.NoError(t, err)
		var balances []int64
		for _, line := range lines {
			balances = append(balances, line.Balance)
		}
		require.Equal(t, c.want, balances)
	}
}

// monthsAfter returns a UTC month after that of now.
func monthsAfter(n int) day.Month { return day.MonthOf(now) + day.Month(n) }

func statementText(t *testing.T, l Ledger, q ledger.StatementQuery) string {
	t.Helper()
	statement, err := l.Deposits.Statement(t.Context(), q)
	require.NoError(t, err)
	text, err := statement.CSV()
	require.NoError(t, err)
	return string(text)
}

func statements(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	other := AddUser(t, l.Stores)
	c := priced(t, l, u, money.USD, 100*money.USD)
	applyNotice(t, l, paid("pi_1", 5*money.USD, u.ID), ledger.NoticeCredited)
	for i := range 3 { // two batches on one day, one on the next
		b := batchOf(
			partition(0), int64(2*i), eventOf(t, c, other.DeveloperID, ledger.Impression),
			eventOf(t, c, other.DeveloperID, ledger.Impression),
		)
		b.At = now.AddDate(0, 0, i/2)
		_, err := apply(t.Context(), l.Settler, b)
		require.NoError(t, err)
	}
	back := refundedTo("pi_1", 2*money.USD)
	back.At = now.AddDate(0, 1, 0)
	applyNotice(t, l, back, ledger.NoticeReversed)

	q := ledger.StatementQuery{
		Advertiser: u.ID, Developer: u.DeveloperID, Month: monthsAfter(0), Now: now.AddDate(0, 2, 0),
	}
	statement, err := l.Deposits.Statement(t.Context(), q)
	require.NoError(t, err)
	require.True(t, statement.Closed)
	require.Len(t, statement.Accounts, 2)
	cash, credits := statement.Accounts[0], statement.Accounts[1]
	require.Equal(t, ledger.USD, cash.Asset)
	require.EqualValues(t, 0, cash.Opening)
	require.EqualValues(t, 4_940_000, cash.Closing)
	require.Len(t, cash.Rows, 3)
	require.EqualValues(
		t, []int64{5_000_000, -40_000, -20_000}, []int64{cash.Rows[0].Amount, cash.Rows[1].Amount, cash.Rows[2].Amount},
	)
	require.EqualValues(
		t, []int64{1, 2, 1}, []int64{cash.Rows[0].Movements, cash.Rows[1].Movements, cash.Rows[2].Movements},
	)
	require.Equal(t, c.ID, cash.Rows[1].Campaign)
	require.Equal(t, ledger.Credit, credits.Asset)
	require.Empty(t, credits.Rows)

	text, err := statement.CSV()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\r\n"), "\r\n")
	require.Len(t, lines, 1+5+2)
	date := now.Format(time.DateOnly)
	account := string(ledger.AdvertiserCash(u.ID))
	require.Equal(t, fmt.Sprintf("2026-05,%s,USD,opening,2026-05-01,,,,,,,,,0,0,,", account), lines[1])
	require.Contains(t, lines[2], ",USD,deposit,"+date+",,")
	require.Contains(t, lines[2], ",stripe:pi_1,,1,5000000,5,,5000000,5,,")
	require.Equal(
		t, fmt.Sprintf("2026-05,%s,USD,charge,%s,%s,,,,2,-40000,-0.04,,4960000,4.96,,", account, date, c.ID), lines[3],
	)
	require.Contains(t, lines[5], ",USD,closing,2026-05-31,,,,,,,,,4940000,4.94,,")
	require.Contains(t, lines[6], ",CREDIT,opening,2026-05-01,,,,,,,,,,,0,")

	q.Month = monthsAfter(1)
	june, err := l.Deposits.Statement(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, cash.Closing, june.Accounts[0].Opening)
	require.EqualValues(t, 2_940_000, june.Accounts[0].Closing)
	require.NotEqual(t, uuid.Nil, june.Accounts[0].Rows[0].Reverses)

	q.Advertiser, q.Developer, q.Month = uuid.Nil, other.DeveloperID, monthsAfter(0)
	earned, err := l.Deposits.Statement(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, earned.Accounts, 2)
	require.Equal(t, ledger.DeveloperCredits(other.DeveloperID), earned.Accounts[0].Account)
	require.Empty(t, earned.Accounts[0].Rows, "nothing was released")
	require.EqualValues(t, 6, earned.Accounts[1].Closing)
	require.Equal(t, ledger.PendingCredits(other.DeveloperID), earned.Accounts[1].Account)
	require.Len(t, earned.Accounts[1].Rows, 2, "mints by day")

	q.Now = q.Month.Start().Add(-time.Second)
	_, err = l.Deposits.Statement(t.Context(), q)
	requireCode(t, err, errs.InvalidRequest)
	requireClean(t, l, ledger.VerifyOptions{})
}

// closedMonths: later writes, whatever their date, leave a published statement unchanged, and the
// next one begins where it ended.
func closedMonths(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	pay := func(payment string, at time.Time) {
		n := paid(payment, money.USD, u.ID)
		n.At = at
		applyNotice(t, l, n, ledger.NoticeCredited)
	}
	q := ledger.StatementQuery{Advertiser: u.ID, Developer: u.DeveloperID, Month: monthsAfter(0)}
	end := q.Month.End()
	pay("pi_1", now)
	q.Now = now.Add(time.Minute)
	running := statementText(t, l, q)
	require.Contains(t, running, "balance_to_date")
	pay("pi_2", end.Add(-time.Microsecond))
	q.Now = end // to the microsecond
	first := statementText(t, l, q)
	require.Contains(t, first, "closing")
	require.Contains(t, first, "pi_2")
	pay("pi_late", end.Add(-time.Hour)) // settled after the close
	pay("pi_3", end.Add(time.Hour))
	for i := range 3 {
		q.Now = end.AddDate(0, i, 1)
		require.Equal(t, first, statementText(t, l, q))
	}
	next := q
	next.Month, next.Now = monthsAfter(1), end.AddDate(0, 2, 0)
	june, err := l.Deposits.Statement(t.Context(), next)
	require.NoError(t, err)
	require.EqualValues(t, 2*money.USD, june.Accounts[0].Opening)
	require.EqualValues(t, 4*money.USD, june.Accounts[0].Closing)
	require.Len(t, june.Accounts[0].Rows, 2)
	// A month before a closed one ends within it, and an empty one has both ends.
	before := q
	before.Month = monthsAfter(-1)
	april, err := l.Deposits.Statement(t.Context(), before)
	require.NoError(t, err)
	require.Empty(t, april.Accounts[0].Rows)
	require.Zero(t, april.Accounts[0].Closing)
	pay("pi_ancient", now.AddDate(0, -1, 0))
	again, err := l.Deposits.Statement(t.Context(), before)
	require.NoError(t, err)
	require.Equal(t, april, again)
	require.Equal(t, first, statementText(t, l, q))
	// Every movement is in exactly one statement.
	sum := int64(0)
	for m := -2; m < 4; m++ {
		statement, err := l.Deposits.Statement(t.Context(), ledger.StatementQuery{
			Advertiser: u.ID, Developer: u.DeveloperID, Month: monthsAfter(m), Now: end.AddDate(0, 9, 0),
		})
		require.NoError(t, err)
		require.Equal(t, sum, statement.Accounts[0].Opening)
		sum = statement.Accounts[0].Closing
	}
	require.EqualValues(t, 5*money.USD, sum)
	requireClean(t, l, ledger.VerifyOptions{})
}

// closesAtOnce: statements requested concurrently while money moves are identical.
func closesAtOnce(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	q := ledger.StatementQuery{
		Advertiser: u.ID, Developer: u.DeveloperID, Month: monthsAfter(0), Now: now.AddDate(0, 1, 0),
	}
	var texts [12]string
	together(len(texts), func(i int) {
		n := paid(fmt.Sprint("pi_", i), money.USD, u.ID)
		if _, err := l.Deposits.ApplyNotice(t.Context(), n); err != nil {
			t.Error(err)
		}
		statement, err := l.Deposits.Statement(t.Context(), q)
		if err != nil {
			t.Error(err)
		}
		text, _ := statement.CSV()
		texts[i] = string(text)
	})
	for _, text := range texts {
		require.Equal(t, texts[0], text)
	}
	requireCash(t, l, u.ID, 12*money.USD)
	requireClean(t, l, ledger.VerifyOptions{})
}

func disputes(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	first := applyNotice(t, l, paid("pi_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	held := applyNotice(t, l, disputed("pi_1", "dp_1", 4*money.USD, ledger.NoticeDisputed), ledger.NoticeHeld)
	require.Equal(t, ledger.DepositDisputed, held.Deposit.Status())
	require.Equal(t, 4*money.USD, held.Deposit.Disputed)
	require.Equal(t, 4*money.USD, held.Deposit.Reversed)
	requireCash(t, l, u.ID, 6*money.USD)
	require.True(
		t, applyNotice(t, l, disputed("pi_1", "dp_1", 4*money.USD, ledger.NoticeDisputed), ledger.NoticeHeld).Repeated,
	)
	again := disputed("pi_1", "dp_1", 4*money.USD, ledger.NoticeDisputed)
	again.EventID = "evt_withdrawn" // the same dispute in another event
	applyNotice(t, l, again, ledger.NoticeNothing)
	requireCash(t, l, u.ID, 6*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})

	won := applyNotice(t, l, disputed("pi_1", "dp_1", 4*money.USD, ledger.NoticeDisputeWon), ledger.NoticeReleased)
	require.Equal(t, ledger.DepositPaid, won.Deposit.Status())
	requireCash(t, l, u.ID, 10*money.USD)
	late := disputed("pi_1", "dp_1", 4*money.USD, ledger.NoticeDisputeLost)
	applyNotice(t, l, late, ledger.NoticeNothing) // a won dispute stays won

	// no more than was paid
	applyNotice(t, l, disputed("pi_1", "dp_2", 12*money.USD, ledger.NoticeDisputed), ledger.NoticeHeld)
	requireCash(t, l, u.ID, 0)
	lost := applyNotice(t, l, disputed("pi_1", "dp_2", 12*money.USD, ledger.NoticeDisputeLost), ledger.NoticeNothing)
	require.Equal(t, ledger.DepositDisputed, lost.Deposit.Status())
	_, err := l.Deposits.ApplyNotice(t.Context(), disputed("pi_2", "dp_2", money.USD, ledger.NoticeDisputeWon))
	requireCode(t, err, errs.InvalidRequest)

	lines, err := l.Deposits.History(
		t.Context(), ledger.HistoryQuery{Advertiser: u.ID, Developer: u.DeveloperID, Limit: 9},
	)
	require.NoError(t, err)
	require.Len(t, lines, 4)
	require.Equal(t, []ledger.Kind{ledger.KindDispute, ledger.KindDisputeWon, ledger.KindDispute, ledger.KindDeposit},
		[]ledger.Kind{lines[0].Kind, lines[1].Kind, lines[2].Kind, lines[3].Kind})
	require.Equal(t, lines[3].Transaction, lines[2].Reverses)
	require.Equal(t, lines[2].Transaction, lines[1].Reverses)
	require.Equal(t, first.Deposit.AdvertiserID, lines[0].Subject)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

func disputeFirst(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	applyNotice(t, l, disputed("pi_1", "dp_1", 4*money.USD, ledger.NoticeDisputed), ledger.NoticeParked)
	applyNotice(t, l, disputed("pi_2", "dp_2", 4*money.USD, ledger.NoticeDisputeWon), ledger.NoticeParked)
	applyNotice(t, l, disputed("pi_2", "dp_2", 4*money.USD, ledger.NoticeDisputed), ledger.NoticeParked)
	applyNotice(t, l, paid("pi_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	requireCash(t, l, u.ID, 6*money.USD)
	applyNotice(t, l, paid("pi_2", 10*money.USD, u.ID), ledger.NoticeCredited)
	requireCash(t, l, u.ID, 16*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

// disputeAndRefund: both reverse one payment, and together at most its amount.
func disputeAndRefund(t *testing.T, l Ledger) {
	u := AddUser(t, l.Stores)
	applyNotice(t, l, paid("pi_1", 10*money.USD, u.ID), ledger.NoticeCredited)
	applyNotice(t, l, disputed("pi_1", "dp_1", 10*money.USD, ledger.NoticeDisputed), ledger.NoticeHeld)
	got := applyNotice(t, l, refundedTo("pi_1", 3*money.USD), ledger.NoticeReversed)
	require.Equal(t, 7*money.USD, got.Deposit.Disputed)
	require.Equal(t, 10*money.USD, got.Deposit.Reversed)
	requireCash(t, l, u.ID, 0)
	applyNotice(t, l, disputed("pi_1", "dp_1", 10*money.USD, ledger.NoticeDisputeWon), ledger.NoticeReleased)
	requireCash(t, l, u.ID, 7*money.USD)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}
