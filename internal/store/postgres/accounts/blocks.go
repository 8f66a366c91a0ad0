package accounts

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

const dropBlocks = `DELETE FROM publisher_blocks WHERE user_id = $1`

// publisherColumn names a JSON column of publisher_blocks.
type publisherColumn struct{ read, put string }

var (
	blocksColumn = publisherColumn{
		read: `SELECT coalesce((SELECT blocks FROM publisher_blocks WHERE user_id = $1), '{}')`,
		put:  `INSERT INTO publisher_blocks (user_id, blocks) VALUES ($1, $2) ON CONFLICT (user_id) DO UPDATE SET blocks = EXCLUDED.blocks`,
	}
	publishingColumn = publisherColumn{
		read: `SELECT coalesce((SELECT publishing FROM publisher_blocks WHERE user_id = $1), '{}')`,
		put:  `INSERT INTO publisher_blocks (user_id, publishing) VALUES ($1, $2) ON CONFLICT (user_id) DO UPDATE SET publishing = EXCLUDED.publishing`,
	}
)

var (
	_ account.BlockStore      = (*Accounts)(nil)
	_ account.PublishingStore = (*Accounts)(nil)
)

// Blocks implements account.BlockStore.
func (s *Accounts) Blocks(ctx context.Context, user uuid.UUID) (b account.Blocks, err error) {
	if err := s.publisherSetting(ctx, blocksColumn, user, &b); err != nil {
		return b, err
	}
	return b, b.Normalize()
}

// PutBlocks implements account.BlockStore.
func (s *Accounts) PutBlocks(ctx context.Context, user uuid.UUID, b account.Blocks) error {
	if err := b.Normalize(); err != nil {
		return err
	}
	var before account.Blocks
	return s.putPublisherSetting(ctx, blocksColumn, user, settingChange{&before, &b, func() (auditlog.Entry, error) {
		err := before.Normalize()
		return auditlog.OfBlocks(user, &before, &b), err
	}})
}

// Publishing implements account.PublishingStore.
func (s *Accounts) Publishing(ctx context.Context, user uuid.UUID) (p account.Publishing, err error) {
	return p, s.publisherSetting(ctx, publishingColumn, user, &p)
}

// PutPublishing implements account.PublishingStore.
func (s *Accounts) PutPublishing(ctx context.Context, user uuid.UUID, p account.Publishing) error {
	if err := p.Check(); err != nil {
		return err
	}
	var before account.Publishing
	return s.putPublisherSetting(ctx, publishingColumn, user,
		settingChange{&before, &p, func() (auditlog.Entry, error) {
			return auditlog.OfPublishing(user, &before, &p), nil
		}})
}

// publisherSetting reads a column of an account into a pointer. Errors: errs.NotFound for an
// unknown account.
func (s *Accounts) publisherSetting(ctx context.Context, c publisherColumn, user uuid.UUID, into any) error {
	if _, err := readUser(ctx, s.Pool, selectUser, user); err != nil {
		return err
	}
	return pg.Failure("read a publisher's settings", c.decode(ctx, s.Pool, user, into))
}

func (c publisherColumn) decode(ctx context.Context, q pg.Querier, user uuid.UUID, into any) error {
	rows, err := q.Query(ctx, c.read, user)
	if err != nil {
		return err
	}
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]byte])
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// settingChange replaces a setting: before is filled first, then audited returns the audit entry.
type settingChange struct {
	before, after any
	audited       func() (auditlog.Entry, error)
}

func (s *Accounts) putPublisherSetting(
	ctx context.Context, c publisherColumn, user uuid.UUID, change settingChange,
) error {
	text, err := json.Marshal(change.after)
	if err != nil {
		return err
	}
	return s.Transact(ctx, "put a publisher's settings", func(tx pgx.Tx) error {
		if _, err := readUser(ctx, tx, lockUser, user); err != nil { // two changes take turns
			return err
		}
		if err := c.decode(ctx, tx, user, change.before); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, c.put, user, text); err != nil {
			return err
		}
		entry, err := change.audited()
		if err != nil {
			return err
		}
		return audit.Record(ctx, tx, entry)
	})
}
