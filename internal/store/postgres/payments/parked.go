package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/pg"
)

const (
	lockParking = `SELECT pg_advisory_xact_lock(hashtext('adnet payment_parked'))`

	parkedRoomSQL = `
SELECT EXISTS (SELECT FROM payment_parked WHERE provider = $1 AND event_id = $2),
	count(*), count(*) FILTER (WHERE provider = $1 AND event_type = $3 AND NOT shared),
	coalesce(bool_or(provider = $1 AND event_type = $3 AND shared), false)
FROM payment_parked WHERE decision = ''`

	parkSQL = `
INSERT INTO payment_parked (id, provider, event_id, payment_id, event_type, kind, amount, reason, received_at, shared,
	count) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1)
ON CONFLICT (provider, event_type) WHERE shared AND decision = '' DO UPDATE SET
	event_id = EXCLUDED.event_id, payment_id = EXCLUDED.payment_id, amount = EXCLUDED.amount,
	reason = EXCLUDED.reason, received_at = EXCLUDED.received_at, count = payment_parked.count + 1`

	selectParkedSQL = `
SELECT id, provider, event_id, payment_id, event_type, kind, amount, reason, received_at, shared, count, decision,
	account_id, applied, decided_at, decided_by, note
FROM payment_parked `

	listParkedSQL = selectParkedSQL + `
WHERE decision = '' OR NOT $1 ORDER BY received_at DESC, provider, event_id, id LIMIT $2 OFFSET $3`

	oneParkedSQL  = selectParkedSQL + `WHERE id = $1`
	lockParkedSQL = oneParkedSQL + ` FOR UPDATE`

	decideParkedSQL = `
UPDATE payment_parked SET decision = $2, account_id = $3, applied = $4, decided_at = $5, decided_by = $6, note = $7
WHERE id = $1 AND decision = ''`

	lockParkedEventSQL = `
SELECT id, decision FROM payment_parked WHERE provider = $1 AND event_id = $2 AND NOT shared FOR UPDATE`
)

// Park stores an event that an operator must decide; storing the same event again changes nothing.
// Rows are bounded: see [ledger.ParkedRoom]. Transactions that park wait for each other.
func (s *Payments) Park(ctx context.Context, p ledger.Parked) error {
	return s.Transact(ctx, "park event", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockParking); err != nil {
			return err
		}
		var known bool
		var room ledger.ParkedRoom
		err := tx.QueryRow(ctx, parkedRoomSQL, string(p.Provider), p.EventID, p.Type).
			Scan(&known, &room.All, &room.OfType, &room.Shared)
		if err != nil || known {
			return err
		}
		if p.ID, err = uuid.NewV7(); err != nil {
			return err
		}
		p.Shared, p.Type = room.Place(p.Type)
		_, err = tx.Exec(
			ctx, parkSQL, p.ID, string(p.Provider), p.EventID, p.PaymentID, p.Type, string(p.Kind), int64(p.Amount),
			p.Reason, p.At, p.Shared,
		)
		return err
	})
}

// Parked lists parked events, newest first.
func (s *Payments) Parked(ctx context.Context, q ledger.ParkedQuery) ([]ledger.Parked, error) {
	rows, err := s.Pool.Query(ctx, listParkedSQL, q.Open, max(1, q.Limit), max(0, q.Offset))
	if err != nil {
		return nil, pg.Failure("list parked events", err)
	}
	list, err := pgx.CollectRows(rows, scanParked)
	return list, pg.Failure("list parked events", err)
}

func scanParked(row pgx.CollectableRow) (p ledger.Parked, err error) {
	var account, by *uuid.UUID
	var decided *time.Time
	err = row.Scan(
		&p.ID, &p.Provider, &p.EventID, &p.PaymentID, &p.Type, &p.Kind, &p.Amount, &p.Reason, &p.At, &p.Shared, &p.Count,
		&p.Decision, &account, &p.Applied, &decided, &by, &p.Note,
	)
	if account != nil {
		p.AccountID = *account
	}
	if by != nil {
		p.DecidedBy = *by
	}
	if decided != nil {
		p.DecidedAt = *decided
	}
	return p, err
}

// DecideParked carries out an operator's decision in one transaction, once: a repeat changes
// nothing and returns the same. Errors: errs.NotFound without such an event or account,
// errs.Conflict after another decision or for a closed account, errs.InvalidRequest.
func (s *Payments) DecideParked(ctx context.Context, v ledger.ParkedVerdict) (p ledger.Parked, err error) {
	err = s.Transact(ctx, "decide parked event", func(tx pgx.Tx) error {
		p, err = decideParked(ctx, tx, v)
		return err
	})
	switch {
	case errors.Is(err, errUnattributed):
		err = errs.New(errs.NotFound, "there is no such account").With("field", "account_id")
	case errors.Is(err, errClosed):
		err = errs.New(errs.Conflict, "the account is closed; credit another one").With("field", "account_id")
	}
	return p, err
}

// decideParked locks in the order of [Payments.ApplyNotice]: the payment, the parked row, the
// account.
func decideParked(ctx context.Context, tx pgx.Tx, v ledger.ParkedVerdict) (ledger.Parked, error) {
	p, err := readParked(ctx, tx, oneParkedSQL, v.ID)
	if err != nil {
		return p, err
	}
	var book ledger.PaymentBook
	if v.Credits(&p) {
		if book, err = lockPayment(ctx, tx, v.Notice(&p)); err != nil {
			return p, err
		}
	}
	if p, err = readParked(ctx, tx, lockParkedSQL, v.ID); err != nil {
		return p, err
	}
	if repeats, err := v.Check(&p); repeats || err != nil {
		return p, err
	}
	if v.Credits(&p) {
		err = creditParked(ctx, tx, v.Notice(&p), book)
	} else {
		err = moveParked(ctx, tx, v, &p)
	}
	if err != nil {
		return p, err
	}
	if _, err := tx.Exec(
		ctx, decideParkedSQL, v.ID, string(v.Decision), pg.NullID(v.AccountID), int64(v.Amount), v.At, pg.NullID(v.By),
		v.Note,
	); err != nil {
		return p, err
	}
	if err := audit.Record(ctx, tx, auditlog.OfParked(p, v)); err != nil {
		return p, err
	}
	return readParked(ctx, tx, oneParkedSQL, v.ID)
}

func readParked(ctx context.Context, q pg.Querier, sql string, id uuid.UUID) (ledger.Parked, error) {
	rows, err := q.Query(ctx, sql, id)
	if err != nil {
		return ledger.Parked{}, err
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanParked)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, errs.New(errs.NotFound, "there is no such parked event")
	}
	return p, err
}

// creditParked credits a parked payment to the account that the notice names.
func creditParked(ctx context.Context, tx pgx.Tx, n ledger.Notice, book ledger.PaymentBook) error {
	if book.Paid > 0 {
		return errs.New(errs.Conflict, "the payment was credited meanwhile; dismiss the event")
	}
	if err := n.Valid(); err != nil {
		return err
	}
	_, err := writeApplied(ctx, tx, n, book)
	return err
}

// moveParked writes the transactions of a decision about the account that it names.
func moveParked(ctx context.Context, tx pgx.Tx, v ledger.ParkedVerdict, p *ledger.Parked) error {
	moves := v.Moves(p)
	if len(moves) == 0 {
		return nil
	}
	err := requireOpen(ctx, tx, v.AccountID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errUnattributed
	case errors.Is(err, errClosed) && v.Decision == ledger.ParkedDebited: // its money is at the provider
	case err != nil:
		return err
	}
	return books.InsertTransactions(ctx, tx, moves)
}

// supersede ends the wait of a parked event that is applied now, and reports whether an operator
// decided it before.
func supersede(ctx context.Context, tx pgx.Tx, n ledger.Notice) (decided bool, err error) {
	var id uuid.UUID
	var decision ledger.ParkedDecision
	err = tx.QueryRow(ctx, lockParkedEventSQL, string(n.Provider), n.EventID).Scan(&id, &decision)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up parked event: %w", err)
	case decision != "":
		return true, nil
	}
	_, err = tx.Exec(ctx, decideParkedSQL, id, string(ledger.ParkedSuperseded), nil, int64(0), n.At, nil, "")
	return false, err
}
