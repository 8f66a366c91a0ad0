package accounts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account/family"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

const insertMailboxMark = `INSERT INTO account_mark (account_id, kind, hash, created_at, ends_at)
	VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`

// MarkMailbox implements person.Accounts.
func (s *Accounts) MarkMailbox(ctx context.Context, id uuid.UUID, hashes [][16]byte, at, ends time.Time) error {
	batch := &pgx.Batch{}
	for i := range hashes {
		batch.Queue(insertMailboxMark, id, family.MarkMailbox, hashes[i][:], at, ends)
	}
	return pg.Failure("mark mailbox", s.Pool.SendBatch(ctx, batch).Close())
}

// Forget implements person.Accounts. The audit log is append only; account_forget is the only
// function that may change its rows, and only those of an erased account. For any other account it
// fails, which aborts the whole transaction.
func (s *Accounts) Forget(ctx context.Context, id uuid.UUID) error {
	return s.Transact(ctx, "forget account", func(tx pgx.Tx) error {
		for _, sql := range []string{
			`SELECT account_forget($1)`, `DELETE FROM login_session WHERE user_id = $1`, dropFactor, dropBlocks,
			`DELETE FROM mail_link WHERE user_id = $1`, audit.ForgetAppeal,
			`DELETE FROM webhook_endpoint WHERE account_id = $1`, `DELETE FROM outbox WHERE owner_id = $1`,
			`DELETE FROM notice_setting WHERE account_id = $1`, `DELETE FROM notice_once WHERE owner_id = $1`,
		} {
			if _, err := tx.Exec(ctx, sql, id); err != nil {
				return pg.Failure("forget account", err)
			}
		}
		return nil
	})
}
