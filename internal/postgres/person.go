package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/person"
)

var _ person.Store = (*Store)(nil)

// Forget implements person.Store. The audit log is append only; the function that it calls is the
// one that may change rows of it, those of an erased account. It refuses every other account, and
// the rest with it.
func (s *Store) Forget(ctx context.Context, id uuid.UUID) error {
	return s.inTx(ctx, "forget account", func(tx pgx.Tx) error {
		for _, sql := range []string{
			`SELECT account_forget($1)`, `DELETE FROM login_session WHERE user_id = $1`, dropFactor, dropBlocks,
			`DELETE FROM mail_link WHERE user_id = $1`, forgetAppeal,
		} {
			if _, err := tx.Exec(ctx, sql, id); err != nil {
				return failure("forget account", err)
			}
		}
		return nil
	})
}
