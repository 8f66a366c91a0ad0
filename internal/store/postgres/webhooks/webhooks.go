// Package webhooks stores the endpoints of accounts, and lists their deliveries.
package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/errs"
	domain "adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/outbox"
	"adnet/internal/store/postgres/pg"
)

// Webhooks stores the endpoints of accounts.
type Webhooks struct{ *pg.Core }

const (
	selectEndpoints = `
SELECT id, account_id, url, description, events, enabled, secret, former, former_ends, created_at, updated_at
FROM webhook_endpoint`
	ofAccount = selectEndpoints + ` WHERE account_id = $1 ORDER BY created_at, id`
	ofIDs     = selectEndpoints + ` WHERE id = ANY($1)`
	// With the account, so that an endpoint of another one does not exist for the caller.
	selectOwn = selectEndpoints + ` WHERE account_id = $1 AND id = $2`
	lockOwn   = selectOwn + ` FOR UPDATE`

	// Under the account's lock, so that two calls cannot exceed the limit.
	lockAccount    = `SELECT id FROM app_user WHERE id = $1 FOR NO KEY UPDATE`
	countEndpoints = `SELECT count(*) FROM webhook_endpoint WHERE account_id = $1`
	insertEndpoint = `
INSERT INTO webhook_endpoint (id, account_id, url, description, events, enabled, secret, former, former_ends,
	created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	updateEndpoint = `
UPDATE webhook_endpoint SET url = $3, description = $4, events = $5, enabled = $6, secret = $7, former = $8,
	former_ends = $9, updated_at = $10
WHERE account_id = $1 AND id = $2`
	deleteEndpoint = `DELETE FROM webhook_endpoint WHERE account_id = $1 AND id = $2`

	dropMessages = `
UPDATE outbox SET state = 'dropped', ended_at = clock_timestamp(), problem = $2 WHERE target_id = $1 AND state = 'waiting'`
	deleteMessages = `DELETE FROM outbox WHERE target_id = $1`

	selectDeliveries = `SELECT ` + outbox.Columns + ` FROM outbox
WHERE target_id = $1 AND ($2 = '' OR state = $2) ORDER BY seq DESC LIMIT $3 OFFSET $4`
	lockDelivery = `SELECT state FROM outbox WHERE target_id = $1 AND id = $2 FOR UPDATE`
	replay       = `
UPDATE outbox SET state = 'waiting', attempts = 0, results = 0, begun_at = $3, due_at = $3, ended_at = NULL, lease = NULL
WHERE target_id = $1 AND id = $2`
)

var _ webhook.Store = (*Webhooks)(nil)

// Endpoints implements webhook.Store.
func (s *Webhooks) Endpoints(ctx context.Context, account uuid.UUID) ([]webhook.Endpoint, error) {
	list, err := pg.Collect(ctx, s.Pool, ofAccount, scan, account)
	return list, pg.Failure("list webhooks", err)
}

// Targets implements webhook.Store.
func (s *Webhooks) Targets(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]webhook.Endpoint, error) {
	list, err := pg.Collect(ctx, s.Pool, ofIDs, scan, ids)
	found := make(map[uuid.UUID]webhook.Endpoint, len(list))
	for _, e := range list {
		found[e.ID] = e
	}
	return found, pg.Failure("read webhooks", err)
}

// CreateEndpoint implements webhook.Store.
func (s *Webhooks) CreateEndpoint(ctx context.Context, e webhook.Endpoint) error {
	return s.Transact(ctx, "create webhook", func(tx pgx.Tx) error {
		var id uuid.UUID
		err := tx.QueryRow(ctx, lockAccount, e.AccountID).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return errs.New(errs.NotFound, "no such account")
		}
		if err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(ctx, countEndpoints, e.AccountID).Scan(&n); err != nil {
			return err
		}
		if n >= webhook.MaxEndpoints {
			return webhook.ErrEnough
		}
		_, err = tx.Exec(ctx, insertEndpoint, e.ID, e.AccountID, e.URL, e.Description, events(e.Events), e.Enabled,
			string(e.Secret), string(e.Former), pg.NullTime(e.FormerEnds), e.CreatedAt, e.UpdatedAt)
		if err != nil {
			return err
		}
		return audit.Record(ctx, tx, webhook.Entry(nil, &e))
	})
}

// UpdateEndpoint implements webhook.Store.
func (s *Webhooks) UpdateEndpoint(
	ctx context.Context, account, id uuid.UUID, edit func(*webhook.Endpoint) error,
) (after webhook.Endpoint, err error) {
	err = s.Transact(ctx, "update webhook", func(tx pgx.Tx) error {
		before, err := own(ctx, tx, lockOwn, account, id)
		if err != nil {
			return err
		}
		after = before
		if err := edit(&after); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, updateEndpoint, account, id, after.URL, after.Description, events(after.Events),
			after.Enabled, string(after.Secret), string(after.Former), pg.NullTime(after.FormerEnds), after.UpdatedAt)
		if err != nil {
			return err
		}
		if before.Enabled && !after.Enabled {
			if _, err := tx.Exec(ctx, dropMessages, id, domain.Off); err != nil {
				return err
			}
		}
		return audit.Record(ctx, tx, webhook.Entry(&before, &after))
	})
	return after, err
}

// DeleteEndpoint implements webhook.Store.
func (s *Webhooks) DeleteEndpoint(ctx context.Context, account, id uuid.UUID) error {
	return s.Transact(ctx, "delete webhook", func(tx pgx.Tx) error {
		before, err := own(ctx, tx, lockOwn, account, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteEndpoint, account, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteMessages, id); err != nil {
			return err
		}
		return audit.Record(ctx, tx, webhook.Entry(&before, nil))
	})
}

// Deliveries implements webhook.Store.
func (s *Webhooks) Deliveries(
	ctx context.Context, account, endpoint uuid.UUID, p webhook.Page,
) ([]domain.Message, error) {
	if _, err := own(ctx, s.Pool, selectOwn, account, endpoint); err != nil {
		return nil, pg.Failure("read webhook", err)
	}
	list, err := pg.Collect(ctx, s.Pool, selectDeliveries, outbox.Scan, endpoint, string(p.State), p.Limit, p.Offset)
	return list, pg.Failure("list deliveries", err)
}

// Replay implements webhook.Store.
func (s *Webhooks) Replay(ctx context.Context, account, endpoint, message uuid.UUID, at time.Time) error {
	return s.Transact(ctx, "replay delivery", func(tx pgx.Tx) error {
		e, err := own(ctx, tx, selectOwn, account, endpoint)
		if err != nil {
			return err
		}
		var state domain.State
		err = tx.QueryRow(ctx, lockDelivery, endpoint, message).Scan(&state)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return webhook.ErrNoDelivery
		case err != nil:
			return err
		case state == domain.Waiting:
			return webhook.ErrStillWaiting
		case !e.Enabled:
			return webhook.ErrOff
		}
		if _, err = tx.Exec(ctx, replay, endpoint, message, at); err != nil {
			return err
		}
		return audit.Record(ctx, tx, webhook.ReplayEntry(&e, message))
	})
}

// own reads an endpoint of an account.
func own(ctx context.Context, q pg.Querier, sql string, account, id uuid.UUID) (webhook.Endpoint, error) {
	list, err := pg.Collect(ctx, q, sql, scan, account, id)
	if err == nil && len(list) == 0 {
		err = webhook.ErrUnknown
	}
	if err != nil {
		return webhook.Endpoint{}, err
	}
	return list[0], nil
}

// events returns the events as the column stores them.
func events(list []webhook.Event) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = string(e)
	}
	return texts
}

func scan(row pgx.CollectableRow) (e webhook.Endpoint, err error) {
	var ends *time.Time
	var texts []string
	var secret, former string
	err = row.Scan(&e.ID, &e.AccountID, &e.URL, &e.Description, &texts, &e.Enabled, &secret, &former, &ends, &e.CreatedAt,
		&e.UpdatedAt)
	e.Secret, e.Former = webhook.Secret(secret), webhook.Secret(former)
	for _, text := range texts {
		e.Events = append(e.Events, webhook.Event(text))
	}
	if ends != nil {
		e.FormerEnds = *ends
	}
	return e, err
}
