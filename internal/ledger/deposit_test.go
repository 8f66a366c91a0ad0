package ledger_test

import (
	"fmt"
	"testing"
	"time"

	. "adnet/internal/ledger"
	"adnet/internal/money"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// payments is the least store that DecideNotice can be played on.
type payments struct {
	books   map[string]PaymentBook
	refunds map[string]bool
	written []Transaction
	cash    money.Micros
}

func (p *payments) apply(t require.TestingT, n Notice, payer Deposit) {
	require.NoError(t, n.Valid())
	fresh := n.Kind == NoticeRefunded && !p.refunds[n.RefundID]
	p.refunds[n.RefundID] = true
	book, _, written := DecideNotice(p.books[n.PaymentID], n, payer, fresh)
	p.books[n.PaymentID] = book
	for _, w := range written {
		require.NoError(t, w.Balanced())
		for _, e := range w.Entries {
			if e.Account == AdvertiserCash(payer.AdvertiserID) {
				p.cash += money.Micros(e.Amount)
			}
		}
	}
	p.written = append(p.written, written...)
	require.LessOrEqual(t, book.Reversed, book.Paid)
	require.GreaterOrEqual(t, p.cash, money.Micros(0))
}

// Whatever the order and the repeats: what was paid less what was refunded, never more back than came in.
func TestNoticesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payer := Deposit{ID: uuid.New(), AdvertiserID: uuid.New()}
		var notices []Notice
		var want money.Micros
		for i := range rapid.IntRange(1, 3).Draw(t, "payments") {
			n := Notice{
				Provider: Stripe, EventID: "e", Kind: NoticePaid, PaymentID: fmt.Sprint("p", i), At: time.Unix(0, 0),
				Amount: money.Micros(rapid.Int64Range(1, 1000).Draw(t, "paid")),
			}
			notices = append(notices, n)
			var total money.Micros
			totals := rapid.Bool().Draw(t, "running totals")
			for r := range rapid.IntRange(0, 4).Draw(t, "refunds") {
				back := n
				back.Amount, back.Kind, back.RefundID = money.Micros(rapid.Int64Range(1, 600).Draw(t, "back")), NoticeRefunded, fmt.Sprint("r", i, ".", r)
				total += back.Amount
				if totals {
					back.Kind, back.Amount = NoticeRefundedTo, total
				}
				notices = append(notices, back)
			}
			want += n.Amount - min(n.Amount, total)
		}
		notices = append(notices, rapid.SliceOfN(rapid.SampledFrom(notices), 0, 6).Draw(t, "repeats")...)
		p := &payments{books: map[string]PaymentBook{}, refunds: map[string]bool{}}
		for _, n := range rapid.Permutation(notices).Draw(t, "order") {
			p.apply(t, n, payer)
		}
		require.Equal(t, want, p.cash)
		ids := map[uuid.UUID]Kind{}
		for _, w := range p.written {
			require.NotContains(t, ids, w.ID, "no transaction twice")
			if w.Kind == KindRefund {
				require.Equal(t, KindDeposit, ids[w.Reverses], "a refund follows the deposit that it names")
			}
			ids[w.ID] = w.Kind
		}
	})
}

func TestDepositStatus(t *testing.T) {
	for want, d := range map[DepositStatus]Deposit{
		DepositOpen: {Requested: 5}, DepositPaid: {Paid: 5}, DepositPartly: {Paid: 5, Reversed: 4}, DepositRefunded: {Paid: 5, Reversed: 5},
	} {
		require.Equal(t, want, d.Status())
	}
}

func TestSumOfRefundsDoesNotOverflow(t *testing.T) {
	book := PaymentBook{}
	for range 2000 {
		book, _, _ = DecideNotice(book, Notice{Kind: NoticeRefunded, Amount: money.Max, PaymentID: "p"}, Deposit{}, true)
	}
	require.Equal(t, money.Max, book.RefundSum)
}
