package books

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
)

const (
	// The entry's own time must equal its transaction's; any other time gives another hash.
	selectLinks = `
SELECT e.account, e.asset, e.chain_seq, e.amount, e.balance_after, e.transaction_id, e.leg, coalesce(t.kind, ''),
	coalesce(t.ref, ''),
	coalesce(t.subject, e.transaction_id), t.reverses, CASE WHEN e.at = t.at THEN e.at ELSE 'epoch' END, e.hash
FROM ledger_entry e LEFT JOIN ledger_transaction t ON t.id = e.transaction_id `

	verifyLinks = selectLinks + `ORDER BY e.account, e.asset, e.chain_seq, e.seq`

	verifyHeads = `SELECT account, asset, chain_seq, amount, hash FROM balance`

	selectCloseSQL = `SELECT chain_seq FROM statement_close WHERE account = $1 AND asset = $2 AND month = $3`

	// The last entry of the month by its time, but neither before the end of an earlier month nor
	// after that of a later one.
	insertCloseSQL = `
INSERT INTO statement_close (account, asset, month, chain_seq)
SELECT $1, $2, $3, least(
	greatest(
		(SELECT coalesce(max(chain_seq), 0) FROM ledger_entry WHERE account = $1 AND asset = $2 AND at < $4),
		(SELECT coalesce(max(chain_seq), 0) FROM statement_close WHERE account = $1 AND asset = $2 AND month < $3)),
	(SELECT min(chain_seq) FROM statement_close WHERE account = $1 AND asset = $2 AND month > $3))
RETURNING chain_seq`

	openingSQL = `SELECT chain_seq, balance_after, hash FROM ledger_entry WHERE account = $1 AND asset = $2 AND chain_seq = $3`

	statementLinks = selectLinks +
		`WHERE e.account = $1 AND e.asset = $2 AND e.chain_seq > $3 AND e.chain_seq <= $4 ORDER BY e.chain_seq`
)

// forEachLink streams rows of selectLinks. It reuses the link.
func forEachLink(rows pgx.Rows, fn func(*ledger.Link)) error {
	var l ledger.Link
	var reverses *uuid.UUID
	var hash []byte
	fields := []any{
		&l.Account, &l.Asset, &l.Seq, &l.Amount, &l.Balance, &l.Transaction, &l.Leg, &l.Kind, &l.Ref, &l.Subject,
		&reverses, &l.At, &hash,
	}
	_, err := pgx.ForEachRow(rows, fields, func() error {
		l.Reverses = uuid.Nil
		if reverses != nil {
			l.Reverses = *reverses
		}
		l.Hash = ledger.Hash{}
		copy(l.Hash[:], hash)
		fn(&l)
		return nil
	})
	return err
}

// chains walks every account's chain from its first entry to its balance.
func (a *verification) chains() {
	if a.err != nil {
		return
	}
	var walk ledger.ChainWalk
	rows, err := a.tx.Query(a.ctx, verifyLinks)
	if err == nil {
		err = forEachLink(rows, walk.Add)
	}
	heads := make(map[ledger.Side]ledger.Head)
	if err == nil {
		if rows, err = a.tx.Query(a.ctx, verifyHeads); err == nil {
			err = collectHeads(rows, heads)
		}
	}
	if a.err = err; err == nil {
		a.checks = append(a.checks, walk.Check(heads))
	}
}

// Statement returns an owner's month: see [ledger.Statement]. Errors: errs.InvalidRequest for a
// month that has not begun.
func (s *Ledger) Statement(ctx context.Context, q ledger.StatementQuery) (ledger.Statement, error) {
	statement := ledger.Statement{Month: q.Month, Closed: q.Closed()}
	if err := q.Begun(); err != nil {
		return statement, err
	}
	for _, side := range q.Sides() {
		account, err := s.accountStatement(ctx, q, side)
		if err != nil {
			return statement, pg.Failure("read statement", err)
		}
		if account.Matches(q) {
			statement.Accounts = append(statement.Accounts, account)
		}
	}
	return statement, nil
}

// accountStatement closes the months that must be closed, then reads: the entries between two fixed
// numbers never change.
func (s *Ledger) accountStatement(
	ctx context.Context, q ledger.StatementQuery, side ledger.Side,
) (ledger.AccountStatement, error) {
	from, to := int64(0), int64(math.MaxInt64)
	err := s.Transact(ctx, "close month", func(tx pgx.Tx) (err error) {
		if from, err = closeMonth(ctx, tx, side, q.Month-1); err == nil && q.Closed() {
			to, err = closeMonth(ctx, tx, side, q.Month)
		}
		return err
	})
	if err != nil {
		return ledger.AccountStatement{}, err
	}
	var opening ledger.Head
	var hash []byte
	err = s.Pool.QueryRow(
		ctx, openingSQL, string(side.Account), string(side.Asset), from,
	).Scan(&opening.Seq, &opening.Balance, &hash)
	if err != nil && !(errors.Is(err, pgx.ErrNoRows) && from == 0) {
		return ledger.AccountStatement{}, fmt.Errorf("opening balance: %w", err)
	}
	copy(opening.Hash[:], hash)
	b := ledger.NewAccountBuilder(side, opening)
	rows, err := s.Pool.Query(ctx, statementLinks, string(side.Account), string(side.Asset), from, to)
	if err == nil {
		err = forEachLink(rows, b.Add)
	}
	return b.Done(), err
}

// closeMonth returns the number of the last entry of a past month, which the first call fixes. The
// lock on the balance excludes entries being written: their numbers come after the close.
func closeMonth(ctx context.Context, tx pgx.Tx, side ledger.Side, m day.Month) (last int64, err error) {
	account, asset := string(side.Account), string(side.Asset)
	look := func() error { return tx.QueryRow(ctx, selectCloseSQL, account, asset, int32(m)).Scan(&last) }
	if err = look(); err == nil || !errors.Is(err, pgx.ErrNoRows) {
		return last, err
	}
	if _, err = tx.Exec(ctx, openBalancesSQL, []string{account}, []string{asset}); err != nil {
		return 0, err
	}
	if _, err = lockBalance(ctx, tx, side.Account, side.Asset); err != nil {
		return 0, err
	}
	if err = look(); err == nil || !errors.Is(err, pgx.ErrNoRows) { // another transaction closed it meanwhile
		return last, err
	}
	return last, tx.QueryRow(ctx, insertCloseSQL, account, asset, int32(m), m.End()).Scan(&last)
}
