package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"adnet/internal/ledger"
	"adnet/internal/money"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	insertTransactionsSQL = `
INSERT INTO ledger_transaction (id, kind, ref, subject, at)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::timestamptz[])`

	insertEntriesSQL = `
INSERT INTO ledger_entry (transaction_id, leg, account, asset, amount)
SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::bigint[])`

	// Sorted, because the row locks are taken in this order: see moveBalances.
	moveBalancesSQL = `
INSERT INTO balance (account, asset, amount)
SELECT account, asset, amount FROM unnest($1::text[], $2::text[], $3::bigint[]) AS moved (account, asset, amount)
ORDER BY account COLLATE "C", asset COLLATE "C"
ON CONFLICT (account, asset) DO UPDATE
SET amount = balance.amount + EXCLUDED.amount, version = balance.version + 1, changed_xid = room_xid()`

	balanceSQL = `SELECT amount FROM balance WHERE account = $1 AND asset = $2`

	lockBalanceSQL = balanceSQL + ` FOR UPDATE`

	offsetsSQL = `
SELECT o.stream, o.partition, o.next_offset FROM consumer_offset o
JOIN unnest($1::text[], $2::integer[]) AS want (stream, partition) USING (stream, partition)`
)

// Offsets answers where each partition's next batch starts. Partitions that were never applied are absent.
func (s *Store) Offsets(ctx context.Context, partitions []ledger.Partition) (map[ledger.Partition]int64, error) {
	streams, numbers := splitPartitions(partitions)
	rows, err := s.pool.Query(ctx, offsetsSQL, streams, numbers)
	if err != nil {
		return nil, failure("read offsets", err)
	}
	offsets, err := collectOffsets(rows)
	return offsets, failure("read offsets", err)
}

// AdvertiserBalance is an advertiser's cash: positive when deposited, negative when owed, 0 when it never moved.
func (s *Store) AdvertiserBalance(ctx context.Context, id uuid.UUID) (money.Micros, error) {
	amount, err := scanBalance(s.pool.QueryRow(ctx, balanceSQL, string(ledger.AdvertiserCash(id)), string(ledger.USD)))
	return money.Micros(amount), failure("read balance", err)
}

// DeveloperCredits is how many Credits a publisher holds; 0 when it never earned any.
func (s *Store) DeveloperCredits(ctx context.Context, developer uuid.UUID) (money.Credits, error) {
	amount, err := scanBalance(s.pool.QueryRow(ctx, balanceSQL, string(ledger.DeveloperCredits(developer)), string(ledger.Credit)))
	return money.Credits(amount), failure("read balance", err)
}

// insertTransaction writes one balanced transaction and moves the balances of its accounts, inside a
// transaction of the caller. A unique violation (errs.Conflict after failure) says
// that (Kind, Ref, Subject) was written before.
// The balance rows stay locked until the caller ends, so it comes last among the caller's locks.
func insertTransaction(ctx context.Context, tx pgx.Tx, t ledger.Transaction) error {
	return insertTransactions(ctx, tx, []ledger.Transaction{t})
}

// insertTransactions is insertTransaction for many, in three statements.
func insertTransactions(ctx context.Context, tx pgx.Tx, ts []ledger.Transaction) error {
	if len(ts) == 0 {
		return nil
	}
	var (
		ids, subjects    [][16]byte
		kinds, refs      []string
		ats              []time.Time
		owners           [][16]byte
		legs             []int16
		accounts, assets []string
		amounts          []int64
	)
	for i := range ts {
		t := &ts[i]
		if err := t.Balanced(); err != nil {
			return err
		}
		ids, subjects = append(ids, t.ID), append(subjects, t.Subject)
		kinds, refs, ats = append(kinds, string(t.Kind)), append(refs, t.Ref), append(ats, t.At)
		for leg, e := range t.Entries {
			owners, legs = append(owners, t.ID), append(legs, int16(leg))
			accounts, assets, amounts = append(accounts, string(e.Account)), append(assets, string(e.Asset)), append(amounts, e.Amount)
		}
	}
	if _, err := tx.Exec(ctx, insertTransactionsSQL, ids, kinds, refs, subjects, ats); err != nil {
		return fmt.Errorf("insert ledger transactions: %w", err)
	}
	if _, err := tx.Exec(ctx, insertEntriesSQL, owners, legs, accounts, assets, amounts); err != nil {
		return fmt.Errorf("insert ledger entries: %w", err)
	}
	return moveBalances(ctx, tx, ts)
}

// moveBalances adds the entries to the balances, one row per account however many entries it has. Rows
// are locked by account name: every writer of balances uses this order (advertisers, developers, house accounts,
// which sort in this way), so two of them never wait for each other in a circle. The house rows are
// touched by every writer and are therefore the last thing a transaction does.
func moveBalances(ctx context.Context, tx pgx.Tx, ts []ledger.Transaction) error {
	type side struct {
		account ledger.Account
		asset   ledger.Asset
	}
	moved := make(map[side]int64)
	for i := range ts {
		for _, e := range ts[i].Entries {
			moved[side{e.Account, e.Asset}] += e.Amount
		}
	}
	var accounts, assets []string
	var amounts []int64
	for s, amount := range moved {
		if amount == 0 {
			continue
		}
		accounts, assets, amounts = append(accounts, string(s.account)), append(assets, string(s.asset)), append(amounts, amount)
	}
	if len(accounts) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, moveBalancesSQL, accounts, assets, amounts); err != nil {
		return fmt.Errorf("move balances: %w", err)
	}
	return nil
}

// lockBalance reads a balance and keeps others from moving it until the transaction ends; 0 without a
// lock when the account has never moved.
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

// splitPartitions is partitions as the columns of unnest.
func splitPartitions(partitions []ledger.Partition) (streams []string, numbers []int32) {
	streams, numbers = make([]string, len(partitions)), make([]int32, len(partitions))
	for i, p := range partitions {
		streams[i], numbers[i] = p.Stream, p.Number
	}
	return streams, numbers
}

// collectOffsets reads rows of (stream, partition, offset).
func collectOffsets(rows pgx.Rows) (map[ledger.Partition]int64, error) {
	offsets := make(map[ledger.Partition]int64)
	var p ledger.Partition
	var offset int64
	_, err := pgx.ForEachRow(rows, []any{&p.Stream, &p.Number, &offset}, func() error {
		offsets[p] = offset
		return nil
	})
	return offsets, err
}

// rawIDs is ids as the driver encodes them without a text form in between.
func rawIDs(ids []uuid.UUID) [][16]byte {
	raw := make([][16]byte, len(ids))
	for i, id := range ids {
		raw[i] = id
	}
	return raw
}
