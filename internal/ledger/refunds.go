package ledger

import (
	"cmp"
	"slices"
	"time"

	"adnet/internal/money"
)

// RefundReport is a stored notice about the refunds of a payment.
type RefundReport struct {
	Kind     NoticeKind // one for which [Notice.IsRefund] is true
	RefundID string     // empty for a total
	Amount   money.Micros
	SentAt   time.Time // the provider's time of the event
}

// rank orders reports of the same second: a refund before its failure, and the total after a
// refund before the total after a change.
func (r *RefundReport) rank() int {
	switch r.Kind {
	case NoticeRefundedTo:
		return 1
	case NoticeRefundTotal:
		return 2
	case NoticeRefundFailed:
		return 3
	}
	return 0
}

// RefundedOf returns the amount that is refunded according to all reports about one payment. It
// depends on the set of reports only, so neither their order nor repeats matter: a refund that
// failed stays failed, whatever an older report of it says, and totals count in the order of the
// provider's times.
//
// A total and the single refunds describe the same money. A failed refund reduces the total unless
// a later total, or a total that fell by its amount, contains the failure already.
func RefundedOf(reports []RefundReport) money.Micros {
	failed, open := failures(reports), make(map[string]money.Micros)
	timeline := slices.Clone(failed)
	for _, r := range reports {
		switch {
		case r.RefundID == "":
			timeline = append(timeline, r)
		case !slices.ContainsFunc(failed, func(f RefundReport) bool { return f.RefundID == r.RefundID }):
			open[r.RefundID] = max(open[r.RefundID], r.Amount)
		}
	}
	slices.SortFunc(timeline, func(a, b RefundReport) int {
		byAmount := cmp.Compare(a.Amount, b.Amount)
		if a.Kind == NoticeRefundTotal {
			byAmount = -byAmount // totals fall when refunds fail
		}
		return cmp.Or(a.SentAt.Compare(b.SentAt), cmp.Compare(a.rank(), b.rank()), byAmount)
	})
	var total, fallen money.Micros // fallen: by which totals fell without a report of the failed refund yet
	for _, r := range timeline {
		if r.RefundID == "" {
			fallen += max(0, total-r.Amount)
			total = r.Amount
			continue
		}
		known := min(fallen, r.Amount)
		fallen -= known
		total = max(0, total-(r.Amount-known))
	}
	var sum money.Micros
	for _, amount := range open {
		sum = min(sum+amount, money.Max)
	}
	return max(total, sum-fallen)
}

// failures returns one report for each failed refund: its earliest.
func failures(reports []RefundReport) (failed []RefundReport) {
	for _, r := range reports {
		if r.Kind != NoticeRefundFailed {
			continue
		}
		i := slices.IndexFunc(failed, func(f RefundReport) bool { return f.RefundID == r.RefundID })
		if i < 0 {
			failed = append(failed, r)
		} else if failed[i].Amount = max(failed[i].Amount, r.Amount); r.SentAt.Before(failed[i].SentAt) {
			failed[i].SentAt = r.SentAt
		}
	}
	return failed
}
