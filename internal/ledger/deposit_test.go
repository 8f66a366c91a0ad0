package ledger_test

import (
	"fmt"
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
	refunds  map[string]bool
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
	known := Known{
		Payer: payer, NewRefund: n.Kind == NoticeRefunded && !p.refunds[n.RefundID], Dispute: p.disputes[n.DisputeID],
	}
	p.refunds[n.RefundID] = true
	e := DecideNotice(p.books[n.PaymentID], n, known)
	p.books[n.PaymentID] = e.Book
	if n.IsDispute() {
		p.disputes[n.DisputeID] = e.Dispute
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
	var total, disputed money.Micros
	totals := rapid.Bool().Draw(t, "running totals")
	for r := range rapid.IntRange(0, 3).Draw(t, "refunds") {
		back := n
		back.Amount, back.Kind, back.RefundID = money.Micros(
			rapid.Int64Range(1, 600).Draw(t, "back"),
		), NoticeRefunded, fmt.Sprint("r", i, ".", r)
		total += back.Amount
		if totals {
			back.Kind, back.Amount = NoticeRefundedTo, total
		}
		add(back)
	}
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
			books: map[string]PaymentBook{}, events: map[string]bool{}, refunds: map[string]bool{},
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
	book := PaymentBook{}
	for range 2000 {
		book = DecideNotice(
			book, Notice{Kind: NoticeRefunded, Amount: money.Max, PaymentID: "p"}, Known{NewRefund: true},
		).Book
	}
	require.Equal(t, money.Max, book.RefundSum)
}
