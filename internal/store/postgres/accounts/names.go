package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/store/postgres/pg"
)

// Both conditions have an index.
const selectNamed = `SELECT id, developer_id, email, coalesce(nullif(company, ''), display_name), approved_name
	FROM app_user WHERE id = ANY($1::uuid[])
	UNION SELECT id, developer_id, email, coalesce(nullif(company, ''), display_name), approved_name
	FROM app_user WHERE developer_id = ANY($1::uuid[])`

var _ account.NameStore = (*Accounts)(nil)

// Named implements account.NameStore.
func (s *Accounts) Named(ctx context.Context, ids []uuid.UUID) ([]account.Named, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.Pool.Query(ctx, selectNamed, ids[:min(len(ids), account.MaxNamed)])
	if err != nil {
		return nil, pg.Failure("read names", err)
	}
	named, err := pgx.CollectRows(rows, pgx.RowToStructByPos[account.Named])
	return named, pg.Failure("read names", err)
}
