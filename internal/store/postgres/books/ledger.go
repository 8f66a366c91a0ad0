// Package books stores the ledger: settlement, Credits, cases of quarantine, the archive's
// progress, and the verification of all of it. Package postgres states the order of locks.
package books

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/stream"
)

// Ledger stores the books: settlement, balances, Credits, statements and their verification.
type Ledger struct {
	*pg.Core
	days dayCache // partitions of billed_event known to exist
}

const (
	insertTransactionsSQL = `
INSERT INTO ledger_transaction (id, kind, ref, subject, at, reverses)
SELECT id, kind, ref, subject, at, nullif(reverses, '00000000-0000-0000-0000-000000000000')
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::timestamptz[], $6::uuid[]) AS t (id, kind, ref,
	subject, at, reverses)`

	// Creates a missing row for every side, so that it can be locked. Existing rows are neither
	// locked nor changed.
	openBalancesSQL = `
INSERT INTO balance (account, asset, amount)
SELECT account, asset, 0 FROM unnest($1::text[], $2::text[]) AS want (account, asset)
ORDER BY account COLLATE "C", asset COLLATE "C"
ON CONFLICT DO NOTHING`

	// Sorted, because the row locks are taken in this order: see insertTransactions.
	lockHeadsSQL = `
SELECT b.account, b.asset, b.chain_seq, b.amount, b.hash FROM balance b
JOIN unnest($1::text[], $2::text[]) AS want (account, asset) USING (account, asset)
ORDER BY b.account, b.asset FOR UPDATE OF b`

	insertEntriesSQL = `
INSERT INTO ledger_entry (transaction_id, leg, account, asset, amount, chain_seq, balance_after, at, hash)
SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
	$8::timestamptz[], $9::bytea[])`

	moveHeadsSQL = `
UPDATE balance b SET amount = h.amount, chain_seq = h.seq, hash = h.hash, version = b.version + 1,
	changed_xid = room_xid()
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[]) AS h (account, asset, seq, amount, hash)
WHERE b.account = h.account AND b.asset = h.asset`

	balanceSQL = `SELECT amount FROM balance WHERE account = $1 AND asset = $2`

	lockBalanceSQL = balanceSQL + ` FOR UPDATE`

	offsetsSQL = `
SELECT o.stream, o.partition, o.next_offset FROM consumer_offset o
JOIN unnest($1::text[], $2::integer[]) AS want (stream, partition) USING (stream, partition)`
)

// Offsets returns where each partition's next batch starts. Partitions without an applied batch are
// absent.
func (s *Ledger) Offsets(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error) {
	streams, numbers := splitPartitions(partitions)
	rows, err := s.Pool.Query(ctx, offsetsSQL, streams, numbers)
	if err != nil {
		return nil, pg.Failure("read offsets", err)
	}
	offsets, err := CollectOffsets(rows)
	return offsets, pg.Failure("read offsets", err)
}

// AdvertiserBalance returns an advertiser's cash: positive for a deposit, negative for a debt, 0 if
// it never moved.
func (s *Ledger) AdvertiserBalance(ctx context.Context, id uuid.UUID) (money.Micros, error) {
	amount, err := scanBalance(s.Pool.QueryRow(ctx, balanceSQL, string(ledger.AdvertiserCash(id)), string(ledger.USD)))
	return money.Micros(amount), pg.Failure("read balance", err)
}

const disputeOpenSQL = `SELECT EXISTS (SELECT FROM deposit d JOIN payment p ON p.deposit_id = d.id
	JOIN payment_dispute x ON x.provider = p.provider AND x.payment_id = p.payment_id
	WHERE d.advertiser_id = $1 AND x.state = 'open')`

// DisputeOpen implements person.Ledger.
func (s *Ledger) DisputeOpen(ctx context.Context, advertiser uuid.UUID) (open bool, err error) {
	err = s.Pool.QueryRow(ctx, disputeOpenSQL, advertiser).Scan(&open)
	return open, pg.Failure("read disputes", err)
}

// InsertTransaction writes one balanced transaction and moves the balances of its accounts, inside
// the caller's transaction. A unique violation (errs.Conflict after failure) means that (Kind, Ref,
// Subject) was written before. The balance rows stay locked until the caller ends, so the call
// comes last among the caller's locks.
func InsertTransaction(ctx context.Context, tx pgx.Tx, t ledger.Transaction) error {
	return InsertTransactions(ctx, tx, []ledger.Transaction{t})
}

// InsertTransactions is insertTransaction for many, in two round trips: first the rows of the
// transactions and the locks of the balances, then the entries as links of their accounts' chains
// and the new balances.
//
// Balances are locked by account name. Every writer uses this order (advertisers, developers, house
// accounts, which sort in this way), so writers cannot deadlock. Every writer touches the house
// rows; they are therefore locked last.
func InsertTransactions(ctx context.Context, tx pgx.Tx, ts []ledger.Transaction) error {
	if len(ts) == 0 {
		return nil
	}
	if err := balanced(ts); err != nil {
		return err
	}
	var batch pgx.Batch
	opened := queueTransactions(&batch, ts)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("insert ledger transactions: %w", err)
	}
	return opened.link(ctx, tx)
}

func balanced(ts []ledger.Transaction) error {
	for i := range ts {
		if err := ts[i].Balanced(); err != nil {
			return err
		}
	}
	return nil
}

// opened holds transactions whose rows are written and whose balances are locked once the batch
// filled by queueTransactions has been sent.
type opened struct {
	transactions []ledger.Transaction
	sides        int
	heads        map[ledger.Side]ledger.Head
}

// queueTransactions writes the rows of the transactions and locks the balances of their sides.
func queueTransactions(batch *pgx.Batch, ts []ledger.Transaction) *opened {
	o := &opened{transactions: ts}
	n := len(ts)
	if n == 0 {
		return o
	}
	ids, subjects, reverses := make([][16]byte, n), make([][16]byte, n), make([][16]byte, n)
	kinds, refs, ats := make([]string, n), make([]string, n), make([]time.Time, n)
	for i := range ts {
		t := &ts[i]
		ids[i], subjects[i], reverses[i] = t.ID, t.Subject, t.Reverses
		kinds[i], refs[i], ats[i] = string(t.Kind), t.Ref, t.At
	}
	sides := ledger.Sides(ts)
	accounts, assets := make([]string, len(sides)), make([]string, len(sides))
	for i, s := range sides {
		accounts[i], assets[i] = string(s.Account), string(s.Asset)
	}
	o.sides, o.heads = len(sides), make(map[ledger.Side]ledger.Head, len(sides))
	batch.Queue(insertTransactionsSQL, ids, kinds, refs, subjects, ats, reverses)
	batch.Queue(openBalancesSQL, accounts, assets)
	batch.Queue(lockHeadsSQL, accounts, assets).Query(func(rows pgx.Rows) error { return collectHeads(rows, o.heads) })
	return o
}

// link writes the entries as links of their accounts' chains, then the new balances.
func (o *opened) link(ctx context.Context, tx pgx.Tx) error {
	if len(o.transactions) == 0 {
		return nil
	}
	if len(o.heads) != o.sides {
		return fmt.Errorf("%d of %d balances were locked", len(o.heads), o.sides)
	}
	return writeLinks(ctx, tx, ledger.Chain(o.heads, o.transactions), o.heads)
}

// collectHeads reads rows of (account, asset, chain_seq, amount, hash).
func collectHeads(rows pgx.Rows, heads map[ledger.Side]ledger.Head) error {
	var side ledger.Side
	var head ledger.Head
	var hash []byte
	_, err := pgx.ForEachRow(rows, []any{&side.Account, &side.Asset, &head.Seq, &head.Balance, &hash}, func() error {
		copy(head.Hash[:], hash)
		heads[side] = head
		return nil
	})
	return err
}

// writeLinks writes the entries and moves the balances that queueTransactions locked.
func writeLinks(ctx context.Context, tx pgx.Tx, links []ledger.Link, heads map[ledger.Side]ledger.Head) error {
	n := len(links)
	owners, legs, ats, hashes := make([][16]byte, n), make([]int16, n), make([]time.Time, n), make([][]byte, n)
	accounts, assets := make([]string, n), make([]string, n)
	amounts, seqs, after := make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range links {
		l := &links[i]
		owners[i], legs[i], ats[i], hashes[i] = l.Transaction, int16(l.Leg), l.At, l.Hash[:]
		accounts[i], assets[i], amounts[i], seqs[i], after[i] = string(l.Account), string(l.Asset), l.Amount, l.Seq,
			l.Balance
	}
	var batch pgx.Batch
	batch.Queue(insertEntriesSQL, owners, legs, accounts, assets, amounts, seqs, after, ats, hashes)
	var (
		headAccounts, headAssets []string
		headSeqs, headAmounts    []int64
		headHashes               [][]byte
	)
	for side, head := range heads {
		headAccounts, headAssets = append(headAccounts, string(side.Account)), append(headAssets, string(side.Asset))
		headSeqs, headAmounts, headHashes = append(headSeqs, head.Seq), append(
			headAmounts, head.Balance,
		), append(headHashes, head.Hash[:])
	}
	batch.Queue(moveHeadsSQL, headAccounts, headAssets, headSeqs, headAmounts, headHashes)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("insert ledger entries: %w", err)
	}
	return nil
}

// lockBalance reads a balance and locks it until the transaction ends. It returns 0 without a lock
// when the account has never moved.
func lockBalance(ctx context.Context, tx pgx.Tx, account ledger.Account, asset ledger.Asset) (int64, error) {
	return scanBalance(tx.QueryRow(ctx, lockBalanceSQL, string(account), string(asset)))
}

func scanBalance(row pgx.Row) (int64, error) {
	var amount int64
	err := row.Scan(&amount)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("read balance: %w", err)
	}
	return amount, nil
}

// splitPartitions returns partitions as columns for unnest.
func splitPartitions(partitions []stream.Partition) (streams []string, numbers []int32) {
	streams, numbers = make([]string, len(partitions)), make([]int32, len(partitions))
	for i, p := range partitions {
		streams[i], numbers[i] = p.Stream, p.Number
	}
	return streams, numbers
}

// splitRanges returns ranges as columns for unnest.
func splitRanges(ranges []stream.Range) (streams []string, numbers []int32, firsts, nexts []int64) {
	for _, r := range ranges {
		streams, numbers = append(streams, r.Stream), append(numbers, r.Number)
		firsts, nexts = append(firsts, r.First), append(nexts, r.Next)
	}
	return streams, numbers, firsts, nexts
}

// CollectOffsets reads rows of (stream, partition, offset).
func CollectOffsets(rows pgx.Rows) (map[stream.Partition]int64, error) {
	offsets := make(map[stream.Partition]int64)
	var p stream.Partition
	var offset int64
	_, err := pgx.ForEachRow(rows, []any{&p.Stream, &p.Number, &offset}, func() error {
		offsets[p] = offset
		return nil
	})
	return offsets, err
}

// rawIDs returns ids in the form that the driver encodes without an intermediate text form.
func rawIDs(ids []uuid.UUID) [][16]byte {
	raw := make([][16]byte, len(ids))
	for i, id := range ids {
		raw[i] = id
	}
	return raw
}
