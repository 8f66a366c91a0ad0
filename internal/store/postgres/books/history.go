package books

import (
	"context"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
)

const (
	// Each part reads its index backwards and stops at the limit.
	selectHistorySQL = `
WITH page AS (
	SELECT part.* FROM (SELECT $1::text AS account, 'USD' AS asset UNION ALL SELECT unnest($2::text[]), 'CREDIT') side
	CROSS JOIN LATERAL (SELECT seq, transaction_id, account, asset, amount, balance_after FROM ledger_entry e
		WHERE e.account = side.account AND e.asset = side.asset AND $3 IN ('', side.asset) AND seq < $4 AND at >= $6
			AND at < $7
		ORDER BY seq DESC LIMIT $5) part
	ORDER BY seq DESC LIMIT $5)
SELECT p.seq, t.id, t.at, t.kind, t.ref, t.subject, t.reverses, p.account, p.asset, p.amount, p.balance_after
FROM page p JOIN ledger_transaction t ON t.id = p.transaction_id
ORDER BY p.seq DESC`

	mintedDaysSQL = `
SELECT floor(extract(epoch FROM t.at) / 86400)::int, sum(e.amount)::bigint
FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id AND e.account = $2
	AND e.asset = 'CREDIT'
WHERE t.subject = $1 AND t.kind = 'mint' AND t.at >= $3 AND t.at < $4 GROUP BY 1 ORDER BY 1`

	mintedTotalSQL = `
SELECT coalesce(sum(e.amount), 0)::bigint
FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id AND e.account = $2
	AND e.asset = 'CREDIT'
WHERE t.subject = $1 AND t.kind IN ('mint', 'mint_release')`
)

// History returns a page of ledger rows, each with the account's balance after it.
func (s *Ledger) History(ctx context.Context, q ledger.HistoryQuery) (lines []ledger.Line, err error) {
	before := q.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	from, to := pgtype.Timestamptz{Time: q.From, Valid: true}, pgtype.Timestamptz{Time: q.To, Valid: true}
	if q.From.IsZero() {
		from.InfinityModifier = pgtype.NegativeInfinity
	}
	if q.To.IsZero() {
		to.InfinityModifier = pgtype.Infinity
	}
	cash, credits := string(ledger.AdvertiserCash(q.Advertiser)), make([]string, 0, 3)
	for _, side := range ledger.CreditSides(q.Developer) {
		credits = append(credits, string(side.Account))
	}
	rows, err := s.Pool.Query(ctx, selectHistorySQL, cash, credits, string(q.Asset), before, max(1, q.Limit), from, to)
	if err == nil {
		lines, err = pgx.CollectRows(rows, scanLine)
	}
	return lines, pg.Failure("read history", err)
}

func scanLine(row pgx.CollectableRow) (l ledger.Line, err error) {
	var reverses *uuid.UUID
	err = row.Scan(
		&l.Seq, &l.Transaction, &l.At, &l.Kind, &l.Ref, &l.Subject, &reverses, &l.Account, &l.Asset, &l.Amount,
		&l.Balance,
	)
	if reverses != nil {
		l.Reverses = *reverses
	}
	return l, err
}

// Earnings sums the Credits that a publisher minted on the days from first to last, and in total.
func (s *Ledger) Earnings(
	ctx context.Context, developer uuid.UUID, first, last day.Day,
) (e ledger.Earnings, err error) {
	pending := string(ledger.PendingCredits(developer))
	err = s.Snapshot(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, mintedTotalSQL, developer, pending).Scan(&e.Total); err != nil {
			return err
		}
		from, to := first.Time(), (last + 1).Time()
		rows, err := tx.Query(ctx, mintedDaysSQL, developer, pending, from, to)
		if err != nil {
			return err
		}
		e.Days, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d ledger.DayCredits, err error) {
			err = row.Scan(&d.Day, &d.Credits)
			return d, err
		})
		return err
	})
	return e, pg.Failure("read earnings", err)
}
