// Package payments stores deposits, the providers' notices, and parked payments.
package payments

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/pg"
)

// Payments stores deposits, the providers' notices, and parked payments.
type Payments struct{ *pg.Core }

const (
	// From app_user, so that an unknown advertiser inserts nothing instead of failing on the
	// reference.
	insertDepositSQL = `
INSERT INTO deposit (id, advertiser_id, provider, checkout_id, requested, return_url, created_at)
SELECT $1, u.id, $3, $4, $5, $6, $7 FROM app_user u WHERE u.id = $2`

	selectDepositsSQL = `
SELECT d.id, d.advertiser_id, d.provider, d.checkout_id, d.requested, d.return_url, d.created_at,
	coalesce(min(p.payment_id), ''), coalesce(sum(p.paid), 0)::bigint, coalesce(sum(p.reversed), 0)::bigint,
		coalesce(sum(p.held), 0)::bigint
FROM deposit d LEFT JOIN payment p ON p.deposit_id = d.id `

	selectDepositSQL = selectDepositsSQL + `WHERE d.id = $1 GROUP BY d.id`

	selectDepositByReferenceSQL = selectDepositsSQL + `
WHERE d.id = coalesce((SELECT deposit_id FROM payment WHERE provider = $1 AND payment_id = $2),
	(SELECT id FROM deposit WHERE provider = $1 AND checkout_id = $2 AND $2 <> ''))
GROUP BY d.id`

	markPaymentSQL = `INSERT INTO payment_mark (provider, payment_id, hash) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

	openPaymentSQL = `INSERT INTO payment (provider, payment_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`

	lockPaymentSQL = `
SELECT deposit_id, paid, refunded, reversed, dispute_sum, held, hold_id, refund_id, refund_peak FROM payment
	WHERE provider = $1 AND payment_id = $2 FOR UPDATE`

	// A separate statement: joined to the lock, it would use a snapshot from before the wait for
	// the lock and miss the deposit that the previous holder created.
	selectOwnerSQL = `SELECT advertiser_id FROM deposit WHERE id = $1`

	// Locks the account, so that it cannot be closed before the credit is written.
	openAccountSQL = `SELECT NOT disabled FROM app_user WHERE id = $1 FOR SHARE`

	selectEventSQL = `SELECT outcome FROM payment_event WHERE provider = $1 AND event_id = $2`

	insertEventSQL = `
INSERT INTO payment_event (provider, event_id, kind, payment_id, amount, outcome, received_at, refund_id, sent_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	selectRefundsSQL = `
SELECT kind, refund_id, amount, sent_at FROM payment_event
	WHERE provider = $1 AND payment_id = $2 AND kind IN ('refunded', 'refund_failed', 'refunded_to', 'refund_total')`

	selectDisputeSQL = `SELECT payment_id, amount, state FROM payment_dispute WHERE provider = $1 AND dispute_id = $2`

	keepDisputeSQL = `
INSERT INTO payment_dispute (provider, dispute_id, payment_id, amount, state) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (provider, dispute_id) DO UPDATE SET amount = EXCLUDED.amount, state = EXCLUDED.state
WHERE payment_dispute.payment_id = EXCLUDED.payment_id`

	updatePaymentSQL = `
UPDATE payment SET deposit_id = $3, paid = $4, refunded = $5, reversed = $6, dispute_sum = $7, held = $8,
	hold_id = $9, refund_id = $10, refund_peak = $11
WHERE provider = $1 AND payment_id = $2`
)

// CreateDeposit stores a new unpaid deposit. Errors: errs.NotFound when the advertiser has no
// account, errs.Conflict when the id or the checkout exists.
func (s *Payments) CreateDeposit(ctx context.Context, d ledger.Deposit) error {
	return s.Transact(ctx, "create deposit", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertDepositSQL,
			d.ID, d.AdvertiserID, string(d.Provider), d.CheckoutID, int64(d.Requested), d.ReturnURL, d.CreatedAt)
		if err == nil && tag.RowsAffected() == 0 {
			return errs.New(errs.NotFound, "no such advertiser")
		}
		if err != nil {
			return err
		}
		return audit.Record(ctx, tx, auditlog.Entry{TargetKind: auditlog.TargetDeposit, TargetID: d.ID.String(),
			OwnerID: d.AdvertiserID, Changes: map[string]auditlog.Change{
				"provider": {After: string(d.Provider)}, "requested": {After: d.Requested},
			}})
	})
}

// Deposit finds a deposit by id. Errors: errs.NotFound.
func (s *Payments) Deposit(ctx context.Context, id uuid.UUID) (ledger.Deposit, error) {
	return readDeposit(ctx, s.Pool, selectDepositSQL, id)
}

// DepositByReference finds a deposit by the provider's payment or checkout id. Errors:
// errs.NotFound.
func (s *Payments) DepositByReference(
	ctx context.Context, p ledger.Provider, reference string,
) (ledger.Deposit, error) {
	return readDeposit(ctx, s.Pool, selectDepositByReferenceSQL, string(p), reference)
}

func readDeposit(ctx context.Context, q pg.Querier, sql string, args ...any) (ledger.Deposit, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return ledger.Deposit{}, pg.Failure("read deposit", err)
	}
	d, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (d ledger.Deposit, err error) {
		err = row.Scan(&d.ID, &d.AdvertiserID, &d.Provider, &d.CheckoutID, &d.Requested, &d.ReturnURL, &d.CreatedAt,
			&d.PaymentID, &d.Paid, &d.Reversed, &d.Disputed)
		return d, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Deposit{}, errs.New(errs.NotFound, "no such deposit")
	}
	return d, pg.Failure("read deposit", err)
}

// A payment for no known account or for a closed one is rolled back.
var (
	errUnattributed = errors.New("unattributed")
	errClosed       = errors.New("closed")
)

// ApplyNotice applies a provider's notice in one transaction: see [ledger.DecideNotice]. When it
// returns nil, the notice is either applied, with its event, ledger rows and balances, or has
// changed nothing for the reason in the result. Errors: errs.InvalidRequest for a notice that is
// not Valid; after any error nothing has changed.
//
// The row of a payment is locked before the event is looked up, so notices about one payment are
// applied one at a time: of ten concurrent deliveries of one event, nine see the row that the first
// one wrote. Locks: payment, then the event's parked row, account, balances.
func (s *Payments) ApplyNotice(ctx context.Context, n ledger.Notice) (result ledger.NoticeResult, err error) {
	if err := n.Valid(); err != nil {
		return result, err
	}
	err = s.Transact(ctx, "apply notice", func(tx pgx.Tx) error {
		result, err = applyNotice(ctx, tx, n)
		return err
	})
	switch {
	case errors.Is(err, errUnattributed):
		return ledger.NoticeResult{Outcome: ledger.NoticeUnattributed}, nil
	case errors.Is(err, errClosed):
		return ledger.NoticeResult{Outcome: ledger.NoticeClosed}, nil
	}
	return result, err
}

func applyNotice(ctx context.Context, tx pgx.Tx, n ledger.Notice) (ledger.NoticeResult, error) {
	var result ledger.NoticeResult
	book, err := lockPayment(ctx, tx, n)
	if err != nil {
		return result, err
	}
	err = tx.QueryRow(ctx, selectEventSQL, string(n.Provider), n.EventID).Scan(&result.Outcome)
	if err == nil {
		result.Repeated = true
		return result, depositOf(ctx, tx, book, &result)
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return result, fmt.Errorf("look up event: %w", err)
	}
	if decided, err := supersede(ctx, tx, n); err != nil || decided {
		result.Outcome, result.Repeated = ledger.NoticeNothing, true
		return result, errors.Join(err, depositOf(ctx, tx, book, &result))
	}
	return writeApplied(ctx, tx, n, book)
}

// writeApplied applies a notice that was not applied before to a locked payment.
func writeApplied(
	ctx context.Context, tx pgx.Tx, n ledger.Notice, book ledger.PaymentBook,
) (result ledger.NoticeResult, err error) {
	known, err := knownOf(ctx, tx, n, book)
	if err != nil {
		return result, err
	}
	effects := ledger.DecideNotice(book, n, known)
	result.Outcome = effects.Outcome
	if err := writeNotice(ctx, tx, n, effects); err != nil {
		return result, err
	}
	if err := audit.Record(ctx, tx, auditlog.OfNotice(n, effects)); err != nil {
		return result, err
	}
	return result, depositOf(ctx, tx, effects.Book, &result)
}

// knownOf reads the objects that the notice names, under the lock of its payment.
func knownOf(ctx context.Context, tx pgx.Tx, n ledger.Notice, book ledger.PaymentBook) (known ledger.Known, err error) {
	switch {
	case n.Kind == ledger.NoticePaid && book.Paid == 0:
		known.Payer, err = payerOf(ctx, tx, n)
	case n.IsRefund():
		rows, failed := tx.Query(ctx, selectRefundsSQL, string(n.Provider), n.PaymentID)
		if failed != nil {
			return known, fmt.Errorf("read refunds: %w", failed)
		}
		known.Refunds, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.RefundReport])
	case n.IsDispute():
		d := &known.Dispute
		err = tx.QueryRow(
			ctx, selectDisputeSQL, string(n.Provider), n.DisputeID,
		).Scan(&d.PaymentID, &d.Amount, &d.State)
		if errors.Is(err, pgx.ErrNoRows) {
			return known, nil
		}
		if err == nil && d.PaymentID != n.PaymentID {
			return known, errs.New(errs.InvalidRequest, "the dispute is about another payment")
		}
	}
	return known, err
}

// lockPayment creates the payment's row if it does not exist and reads it under its lock.
func lockPayment(ctx context.Context, tx pgx.Tx, n ledger.Notice) (book ledger.PaymentBook, err error) {
	if _, err := tx.Exec(ctx, openPaymentSQL, string(n.Provider), n.PaymentID); err != nil {
		return book, fmt.Errorf("open payment: %w", err)
	}
	var deposit, hold, refund *uuid.UUID
	err = tx.QueryRow(ctx, lockPaymentSQL, string(n.Provider), n.PaymentID).
		Scan(
			&deposit, &book.Paid, &book.Refunded, &book.Reversed, &book.DisputeSum, &book.Disputed, &hold, &refund,
			&book.RefundPeak,
		)
	if hold != nil {
		book.HoldID = *hold
	}
	if refund != nil {
		book.RefundID = *refund
	}
	if err == nil && deposit != nil {
		book.DepositID = *deposit
		err = tx.QueryRow(ctx, selectOwnerSQL, book.DepositID).Scan(&book.AdvertiserID)
	}
	if err != nil {
		return book, fmt.Errorf("lock payment: %w", err)
	}
	return book, nil
}

// payerOf finds the deposit of a payment, or creates one for the account that the payment names.
func payerOf(ctx context.Context, tx pgx.Tx, n ledger.Notice) (ledger.Deposit, error) {
	for _, id := range n.Names {
		d, err := readDeposit(ctx, tx, selectDepositSQL, id)
		if err == nil && d.Provider == n.Provider {
			return d, requireOpen(ctx, tx, d.AdvertiserID)
		}
		if err != nil && !errs.Is(err, errs.NotFound) {
			return d, err
		}
	}
	for _, id := range n.Names {
		d := ledger.Deposit{
			ID: ledger.DepositIDFor(n.Provider, n.PaymentID), AdvertiserID: id, Provider: n.Provider, CreatedAt: n.At,
		}
		tag, err := tx.Exec(
			ctx, insertDepositSQL, d.ID, d.AdvertiserID, string(d.Provider), "", int64(0), "", d.CreatedAt,
		)
		if err != nil {
			return d, fmt.Errorf("create deposit: %w", err)
		}
		if tag.RowsAffected() == 1 {
			return d, requireOpen(ctx, tx, id)
		}
	}
	return ledger.Deposit{}, errUnattributed
}

// requireOpen returns errClosed for an erased or disabled account, and locks an open one.
func requireOpen(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	var open bool
	if err := tx.QueryRow(ctx, openAccountSQL, id).Scan(&open); err != nil {
		return fmt.Errorf("lock account: %w", err)
	}
	if !open {
		return errClosed
	}
	return nil
}

// writeNotice writes the effects: the ledger's rows before the rows that refer to them.
func writeNotice(ctx context.Context, tx pgx.Tx, n ledger.Notice, e ledger.NoticeEffects) error {
	if n.IsDispute() {
		tag, err := tx.Exec(
			ctx, keepDisputeSQL, string(n.Provider), n.DisputeID, n.PaymentID, int64(e.Dispute.Amount),
			string(e.Dispute.State),
		)
		if err == nil && tag.RowsAffected() != 1 {
			err = errs.New(errs.Conflict, "the dispute was opened for another payment meanwhile")
		}
		if err != nil {
			return fmt.Errorf("store dispute: %w", err)
		}
	}
	_, err := tx.Exec(
		ctx, insertEventSQL, string(n.Provider), n.EventID, string(n.Kind), n.PaymentID, int64(n.Amount),
		string(e.Outcome), n.At, n.RefundID, n.Sent(),
	)
	if err != nil {
		return fmt.Errorf("insert event: %w", err)
	}
	if err := books.InsertTransactions(ctx, tx, e.Written); err != nil {
		return err
	}
	b := &e.Book
	_, err = tx.Exec(ctx, updatePaymentSQL, string(n.Provider), n.PaymentID, pg.NullID(b.DepositID),
		int64(b.Paid), int64(b.Refunded), int64(b.Reversed), int64(b.DisputeSum), int64(b.Disputed),
		pg.NullID(b.HoldID), pg.NullID(b.RefundID), int64(b.RefundPeak))
	if err != nil {
		return fmt.Errorf("update payment: %w", err)
	}
	return nil
}

// depositOf fills in the deposit of a book that has one.
func depositOf(ctx context.Context, tx pgx.Tx, book ledger.PaymentBook, into *ledger.NoticeResult) (err error) {
	if book.DepositID != uuid.Nil {
		into.Deposit, err = readDeposit(ctx, tx, selectDepositSQL, book.DepositID)
	}
	return err
}

// MarkPayment implements payment.Store.
func (s *Payments) MarkPayment(ctx context.Context, p ledger.Provider, id string, hashes [][16]byte) error {
	batch := &pgx.Batch{}
	for i := range hashes {
		batch.Queue(markPaymentSQL, string(p), id, hashes[i][:])
	}
	return pg.Failure("mark payment", s.Pool.SendBatch(ctx, batch).Close())
}
