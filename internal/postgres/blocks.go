package postgres

import (
	"context"

	"adnet/internal/account"
	"adnet/internal/auditlog"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	selectBlocks = `SELECT coalesce((SELECT blocks FROM publisher_blocks WHERE user_id = $1), '{}')`
	putBlocks    = `INSERT INTO publisher_blocks (user_id, blocks) VALUES ($1, $2) ON CONFLICT (user_id) DO UPDATE SET blocks = EXCLUDED.blocks`
	dropBlocks   = `DELETE FROM publisher_blocks WHERE user_id = $1`
)

var _ account.BlockStore = (*Store)(nil)

// Blocks implements account.BlockStore.
func (s *Store) Blocks(ctx context.Context, user uuid.UUID) (account.Blocks, error) {
	if _, err := readUser(ctx, s.pool, selectUser, user); err != nil {
		return account.Blocks{}, err
	}
	b, err := readBlocks(ctx, s.pool, user)
	return b, failure("read blocks", err)
}

func readBlocks(ctx context.Context, q querier, user uuid.UUID) (b account.Blocks, err error) {
	rows, err := q.Query(ctx, selectBlocks, user)
	if err != nil {
		return b, err
	}
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]byte])
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, err
	}
	return b, b.Normalize()
}

// PutBlocks implements account.BlockStore.
func (s *Store) PutBlocks(ctx context.Context, user uuid.UUID, b account.Blocks) error {
	if err := b.Normalize(); err != nil {
		return err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return s.inTx(ctx, "put blocks", func(tx pgx.Tx) error {
		if _, err := readUser(ctx, tx, lockUser, user); err != nil { // two changes take turns
			return err
		}
		before, err := readBlocks(ctx, tx, user)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, putBlocks, user, text); err != nil {
			return err
		}
		return record(ctx, tx, auditlog.OfBlocks(user, &before, &b))
	})
}
