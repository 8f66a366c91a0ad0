package books

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
)

const (
	foundColumns = `t.id, t.kind, t.ref, t.subject, t.at, t.reverses`
	foundWhere   = ` AND ($2::uuid[] IS NULL OR t.subject = ANY($2)) AND ($3::uuid IS NULL OR t.id = $3) AND ($4 = ''
		OR t.kind = $4)
	AND ($5::timestamptz IS NULL OR t.at >= $5) AND ($6::timestamptz IS NULL OR t.at < $6)`

	// Each asset's entries come from the index of the account, newest first, and only as many as
	// the page needs. A movement with two entries on one side is found by the newer one.
	searchAccount = `
SELECT ` + foundColumns + `, e.seq FROM (
	(SELECT transaction_id, seq, at FROM ledger_entry WHERE account = $1 AND asset = 'USD' AND ($7 = 0 OR seq < $7)
		ORDER BY seq DESC)
	UNION ALL
	(SELECT transaction_id, seq, at FROM ledger_entry WHERE account = $1 AND asset = 'CREDIT' AND ($7 = 0
		OR seq < $7) ORDER BY seq DESC)
) e JOIN ledger_transaction t ON t.id = e.transaction_id
WHERE NOT EXISTS (SELECT FROM ledger_entry n WHERE n.transaction_id = e.transaction_id AND n.account = $1
	AND n.seq > e.seq)` + foundWhere + `
ORDER BY e.seq DESC LIMIT $8`

	searchAll = `
SELECT ` + foundColumns + `, 0::bigint FROM ledger_transaction t
WHERE $1 = '' AND ($7::timestamptz IS NULL OR (t.at, t.id) < ($7,
	$9))` + foundWhere + ` ORDER BY t.at DESC, t.id DESC LIMIT $8`

	selectEntries = `
SELECT e.transaction_id, e.leg, e.account, e.asset, e.amount, e.chain_seq, e.balance_after, e.hash FROM ledger_entry e
WHERE e.transaction_id = ANY($1) ORDER BY e.transaction_id, e.leg`

	selectHeads = `
SELECT account, asset, chain_seq, amount, hash FROM balance
WHERE (account, asset) > ($1, $2) AND ($3 = '' OR account = $3) ORDER BY account, asset LIMIT $4`
)

// Movements searches the ledger; see [ledger.Search].
func (s *Ledger) Movements(ctx context.Context, q ledger.Search) ([]ledger.Found, error) {
	args := []any{
		string(q.Account), q.Subjects, pg.NullID(q.Transaction), string(q.Kind), pg.NullTime(q.Since),
		pg.NullTime(q.Until),
	}
	sql := searchAccount
	if q.Account != "" {
		args = append(args, q.Before.Seq, q.Size())
	} else {
		sql = searchAll
		args = append(args, pg.NullTime(q.Before.At), q.Size(), q.Before.ID)
	}
	rows, err := s.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, pg.Failure("search the ledger", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f ledger.Found, err error) {
		var reverses *uuid.UUID
		err = row.Scan(&f.ID, &f.Kind, &f.Ref, &f.Subject, &f.At, &reverses, &f.Position.Seq)
		if reverses != nil {
			f.Reverses = *reverses
		}
		f.At = f.At.UTC()
		if f.Position.Seq == 0 {
			f.Position = ledger.Position{At: f.At, ID: f.ID}
		}
		return f, err
	})
	if err != nil {
		return nil, pg.Failure("search the ledger", err)
	}
	return list, pg.Failure("search the ledger", s.readEntries(ctx, list))
}

// readEntries fills in the entries of each movement.
func (s *Ledger) readEntries(ctx context.Context, list []ledger.Found) error {
	at := make(map[uuid.UUID]*ledger.Found, len(list))
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i], at[list[i].ID] = list[i].ID, &list[i]
	}
	rows, err := s.Pool.Query(ctx, selectEntries, ids)
	if err != nil {
		return err
	}
	var l ledger.Link
	var hash []byte
	_, err = pgx.ForEachRow(rows, []any{
		&l.Transaction, &l.Leg, &l.Account, &l.Asset, &l.Amount, &l.Seq, &l.Balance, &hash,
	}, func() error {
		copy(l.Hash[:], hash)
		f := at[l.Transaction]
		f.Links = append(f.Links, l)
		f.Entries = append(f.Entries, ledger.Entry{Account: l.Account, Asset: l.Asset, Amount: l.Amount})
		return nil
	})
	return err
}

// Heads lists the ends of the chains; see [ledger.HeadQuery].
func (s *Ledger) Heads(ctx context.Context, q ledger.HeadQuery) ([]ledger.SideHead, error) {
	rows, err := s.Pool.Query(
		ctx, selectHeads, string(q.After.Account), string(q.After.Asset), string(q.Account), q.Size(),
	)
	if err != nil {
		return nil, pg.Failure("read the chains' heads", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h ledger.SideHead, err error) {
		var hash []byte
		err = row.Scan(&h.Account, &h.Asset, &h.Seq, &h.Balance, &hash)
		copy(h.Hash[:], hash)
		return h, err
	})
	return list, pg.Failure("read the chains' heads", err)
}
