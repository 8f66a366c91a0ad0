package ledger_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	. "adnet/internal/ledger"
	"adnet/internal/money"
)

// payments is the least store that DecideNotice can be played on.
type payments struct {
	books    map[string]PaymentBook
	events   map[string]bool
	refunds  map[string][]RefundReport
	disputes map[string]Dispute
	written  []Transaction
	cash     money.Micros
}

func (p *payments) apply(t require.TestingT, n Notice, payer Deposit) {
	require.NoError(t, n.Valid())
	if p.events[n.EventID] {
		return
	}
	p.events[n.EventID] = true
	known := Known{Payer: payer, Refunds: p.refunds[n.PaymentID], Dispute: p.disputes[n.DisputeID]}
	e := DecideNotice(p.books[n.PaymentID], n, known)
	p.books[n.PaymentID] = e.Book
	if n.IsDispute() {
		p.disputes[n.DisputeID] = e.Dispute
	}
	if n.IsRefund() {
		p.refunds[n.PaymentID] = append(p.refunds[n.PaymentID], n.Report())
	}
	for _, w := range e.Written {
		require.NoError(t, w.Balanced())
		for _, leg := range w.Entries {
			if leg.Account == AdvertiserCash(payer.AdvertiserID) {
				p.cash += money.Micros(leg.Amount)
			}
		}
	}
	p.written = append(p.written, e.Written...)
	require.LessOrEqual(t, e.Book.Reversed, e.Book.Paid)
	require.LessOrEqual(t, e.Book.Disputed, e.Book.Reversed)
	require.GreaterOrEqual(t, e.Book.Disputed, money.Micros(0))
	require.GreaterOrEqual(t, p.cash, money.Micros(0))
}

// generated draws a payment with refunds, counted in either way, and disputes, and adds its
// notices. It returns the amount that must remain of the payment when all of them are in.
func generated(t *rapid.T, i int, notices *[]Notice) money.Micros {
	add := func(n Notice) {
		n.EventID = fmt.Sprint("e", len(*notices))
		*notices = append(*notices, n)
	}
	n := Notice{
		Provider: Stripe, Kind: NoticePaid, PaymentID: fmt.Sprint("p", i), At: time.Unix(0, 0),
		Amount: money.Micros(rapid.Int64Range(1, 1000).Draw(t, "paid")),
	}
	add(n)
	add(n) // the other event of the same payment
	disputed := money.Micros(0)
	total := refunds(t, n, add)
	for d := range rapid.IntRange(0, 2).Draw(t, "disputes") {
		c := n
		c.DisputeID, c.Amount = fmt.Sprint("d", i, ".", d), money.Micros(rapid.Int64Range(1, 1200).Draw(t, "disputed"))
		kinds := rapid.SliceOfNDistinct(
			rapid.SampledFrom([]NoticeKind{NoticeDisputed, NoticeDisputeLost, NoticeDisputeWon}), 1, 3, rapid.ID,
		).Draw(t, "story")
		won := false
		for _, c.Kind = range kinds {
			won = won || c.Kind == NoticeDisputeWon
			add(c)
		}
		if !won {
			disputed += c.Amount
		}
	}
	return n.Amount - min(n.Amount, total+disputed)
}

// refunds draws the refunds of a payment, some of which fail, and adds the notices that a provider
// sends about them. It returns the amount that is refunded in the end.
func refunds(t *rapid.T, n Notice, add func(Notice)) (total money.Micros) {
	totals := rapid.Bool().Draw(t, "totals after refunds")
	singles := !totals || rapid.Bool().Draw(t, "single refunds")
	failures := !totals || rapid.Bool().Draw(t, "single failures")
	falls := totals && (!failures || rapid.Bool().Draw(t, "totals after failures"))
	second := rapid.IntRange(0, 1).Draw(t, "seconds between events")
	if totals && (!singles || falls) { // totals of one second have no order
		second = 1
	}
	at := time.Unix(1000, 0)
	send := func(kind NoticeKind, refund string, amount money.Micros) {
		n.Kind, n.RefundID, n.Amount, n.SentAt = kind, refund, amount, at
		add(n)
	}
	open := map[string]money.Micros{}
	for r := range rapid.IntRange(0, 4).Draw(t, "refunds") {
		at = at.Add(time.Duration(second) * time.Second)
		if len(open) > 0 && rapid.Bool().Draw(t, "one fails") {
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(open))).Draw(t, "failed")
			amount := open[id]
			delete(open, id)
			total -= amount
			if failures {
				send(NoticeRefundFailed, id, amount)
				send(NoticeRefundFailed, id, amount) // under the older type of event
			}
			if falls {
				send(NoticeRefundTotal, "", total)
			}
			at = at.Add(time.Duration(second) * time.Second)
		}
		id, amount := fmt.Sprint(n.PaymentID, "r", r), money.Micros(rapid.Int64Range(1, 600).Draw(t, "back"))
		open[id] = amount
		total += amount
		if singles {
			send(NoticeRefunded, id, amount)
		}
		if totals {
			send(NoticeRefundedTo, "", total)
		}
	}
	return total
}

// Whatever the order and the repeats: the paid amount less refunds and disputes, and never more
// back than came in.
func TestNoticesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payer := Deposit{ID: uuid.New(), AdvertiserID: uuid.New()}
		var notices []Notice
		var want money.Micros
		for i := range rapid.IntRange(1, 3).Draw(t, "payments") {
			want += generated(t, i, &notices)
		}
		notices = append(notices, rapid.SliceOfN(rapid.SampledFrom(notices), 0, 6).Draw(t, "repeats")...)
		p := &payments{
			books: map[string]PaymentBook{}, events: map[string]bool{},
			refunds:  map[string][]RefundReport{},
			disputes: map[string]Dispute{},
		}
		for _, n := range rapid.Permutation(notices).Draw(t, "order") {
			p.apply(t, n, payer)
		}
		require.Equal(t, want, p.cash)
		ids := map[uuid.UUID]Kind{}
		for _, w := range p.written {
			require.NotContains(t, ids, w.ID, "no transaction twice")
			switch w.Kind {
			case KindRefund, KindDispute:
				require.Equal(t, KindDeposit, ids[w.Reverses], "it follows the deposit that it names")
			case KindRefundFailed:
				require.Equal(t, KindRefund, ids[w.Reverses], "it follows the row that it gives back")
			case KindDisputeWon:
				require.Equal(t, KindDispute, ids[w.Reverses], "it follows the row that it gives back")
			}
			ids[w.ID] = w.Kind
		}
	})
}

func TestDepositStatus(t *testing.T) {
	for want, d := range map[DepositStatus]Deposit{
		DepositOpen: {Requested: 5}, DepositPaid: {Paid: 5}, DepositPartly: {Paid: 5, Reversed: 4},
		DepositRefunded: {Paid: 5, Reversed: 5},
		DepositDisputed: {Paid: 5, Reversed: 5, Disputed: 1},
	} {
		require.Equal(t, want, d.Status())
	}
}

func TestSumOfRefundsDoesNotOverflow(t *testing.T) {
	var reports []RefundReport
	for i := range 2000 {
		reports = append(reports, RefundReport{Kind: NoticeRefunded, RefundID: fmt.Sprint(i), Amount: money.Max})
	}
	require.Equal(t, money.Max, RefundedOf(reports))
}

// Every order of the reports of one story has the same result.
func TestFailedRefundsAreNotRefunded(t *testing.T) {
	total := func(kind NoticeKind, amount money.Micros, second int64) RefundReport {
		return RefundReport{Kind: kind, Amount: amount, SentAt: time.Unix(second, 0)}
	}
	to := func(amount money.Micros, second int64) RefundReport { return total(NoticeRefundedTo, amount, second) }
	now := func(amount money.Micros, second int64) RefundReport { return total(NoticeRefundTotal, amount, second) }
	first := func(kind NoticeKind, id string, amount money.Micros, second int64) RefundReport {
		return RefundReport{Kind: kind, RefundID: id, Amount: amount, SentAt: time.Unix(second, 0)}
	}
	for name, c := range map[string]struct {
		want    money.Micros
		reports []RefundReport
	}{
		"total, then failed":     {0, []RefundReport{to(30, 1), first(NoticeRefundFailed, "a", 30, 2)}},
		"all in one second":      {0, []RefundReport{to(30, 1), first(NoticeRefundFailed, "a", 30, 1), now(0, 1)}},
		"lower total only":       {0, []RefundReport{to(30, 1), now(0, 1)}},
		"lower total, succeeded": {0, []RefundReport{first(NoticeRefunded, "a", 30, 1), to(30, 1), now(0, 2)}},
		"older report of a failed refund": {0, []RefundReport{
			first(NoticeRefundFailed, "a", 30, 5), first(NoticeRefunded, "a", 30, 1), first(NoticeRefunded, "a", 30, 9),
		}},
		"second of two fails": {10, []RefundReport{to(10, 1), to(30, 2), first(NoticeRefundFailed, "b", 20, 3)}},
		"failure a second after the lower total": {20, []RefundReport{
			to(30, 1), to(50, 1), now(20, 2), first(NoticeRefundFailed, "a", 30, 3),
		}},
		"both fail, one lower total": {0, []RefundReport{
			to(30, 1), to(50, 1), now(20, 2), first(NoticeRefundFailed, "a", 30, 2), first(NoticeRefundFailed, "b", 20, 2),
		}},
		"refunded again after the failure": {30, []RefundReport{
			to(30, 1), first(NoticeRefundFailed, "a", 30, 2), to(30, 3),
		}},
		"refunded again in the same second": {30, []RefundReport{
			to(30, 1), first(NoticeRefundFailed, "a", 30, 1), first(NoticeRefunded, "b", 30, 1), to(30, 1),
		}},
		"failure reported again later": {30, []RefundReport{
			to(30, 1), first(NoticeRefundFailed, "a", 30, 2), to(30, 3), first(NoticeRefundFailed, "a", 30, 9),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			permute(c.reports, 0, func(order []RefundReport) {
				require.Equal(t, c.want, RefundedOf(order), "%v", order)
				require.Equal(t, c.want, RefundedOf(append(slices.Clone(order), order...)), "repeated: %v", order)
			})
		})
	}
}

// permute calls use with every order of list.
func permute[T any](list []T, from int, use func([]T)) {
	if from == len(list) {
		use(list)
		return
	}
	for i := from; i < len(list); i++ {
		list[from], list[i] = list[i], list[from]
		permute(list, from+1, use)
		list[from], list[i] = list[i], list[from]
	}
}
