package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Forget implements person.Accounts. The audit log is append only; account_forget is the only function
// that may change its rows, and only those of an erased account. For any other account it fails,
// which aborts the whole transaction.
func (s *Accounts) Forget(ctx context.Context, id uuid.UUID) error {
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
