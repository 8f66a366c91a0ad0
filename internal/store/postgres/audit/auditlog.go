// Package audit stores the audit log, decisions with their appeals, and requests with an
// idempotency key.
package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/once"
	"adnet/internal/store/postgres/outbox"
	"adnet/internal/store/postgres/pg"
)

// Requests stores requests with an idempotency key.
type Requests struct{ *pg.Core }

// Audit stores the audit log, and decisions with their appeals.
type Audit struct{ *pg.Core }

const (
	insertAudit = `
INSERT INTO audit_log (actor_id, actor_role, actor_name, via, network, action, request_id, target_kind, target_id,
	owner_id, changes)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	selectAudit = `
SELECT seq, at, actor_id, actor_role, actor_name, via, network, action, request_id, target_kind, target_id, owner_id,
	changes
FROM audit_log`

	markEffect = `
UPDATE idempotency_key SET effect_kind = $3, effect_id = $4 WHERE id = $1 AND attempt = $2 AND status IS NULL`
)

// Record writes the entry of a change inside its transaction and links the change to the
// idempotency key of ctx. Errors: errs.Conflict when another call has taken over that key; the
// change must then be rolled back.
func Record(ctx context.Context, tx pgx.Tx, e auditlog.Entry) error {
	if len(e.Changes) == 0 {
		return mark(ctx, tx, e)
	}
	e.Complete(ctx)
	changes, err := json.Marshal(e.Changes, json.Deterministic(true))
	if err != nil {
		return err
	}
	actor := e.Actor
	_, err = tx.Exec(ctx, insertAudit, pg.NullID(actor.AccountID), actor.Role, actor.Name, actor.Via, actor.Network,
		actor.Action, actor.RequestID,
		e.TargetKind, e.TargetID, pg.NullID(e.OwnerID), changes)
	if err != nil {
		return fmt.Errorf("write audit entry: %w", err)
	}
	if err := recordDecision(ctx, tx, &e); err != nil {
		return err
	}
	// In this transaction, so a change has its messages, and a change that is rolled back has none.
	if err := outbox.Write(ctx, tx, &e); err != nil {
		return err
	}
	return mark(ctx, tx, e)
}

// mark records in the key's row that the call took effect. It is the fence of internal/once.
func mark(ctx context.Context, tx pgx.Tx, e auditlog.Entry) error {
	attempt, ok := once.From(ctx)
	if !ok {
		return nil
	}
	tag, err := tx.Exec(ctx, markEffect, attempt.ID[:], attempt.Token, e.TargetKind, e.TargetID)
	if err != nil {
		return fmt.Errorf("mark idempotency key: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return errs.New(errs.Conflict, "another call with this Idempotency-Key has taken over")
	}
	return nil
}

// RecordAudit writes an entry for a change that is not made in a transaction of this store: a
// repair of another store, or a command.
func (s *Audit) RecordAudit(ctx context.Context, e auditlog.Entry) error {
	return s.Transact(ctx, "write audit entry", func(tx pgx.Tx) error { return Record(ctx, tx, e) })
}

// AuditLog returns a page of entries, newest first.
func (s *Audit) AuditLog(ctx context.Context, q auditlog.Query) ([]auditlog.Entry, error) {
	var parts []string
	var args []any
	add := func(condition string, value any) {
		args = append(args, value)
		parts = append(parts, fmt.Sprintf(condition, len(args)))
	}
	if q.OwnerID != uuid.Nil {
		add("owner_id = $%d", q.OwnerID)
	}
	if q.ActorID != uuid.Nil {
		add("actor_id = $%d", q.ActorID)
	}
	if q.TargetKind != "" {
		add("target_kind = $%d", q.TargetKind)
	}
	if q.TargetID != "" {
		add("target_id = $%d", q.TargetID)
	}
	if !q.Since.IsZero() {
		add("at >= $%d", q.Since)
	}
	if !q.Until.IsZero() {
		add("at < $%d", q.Until)
	}
	if q.Before > 0 {
		add("seq < $%d", q.Before)
	}
	sql := selectAudit
	if len(parts) > 0 {
		sql += " WHERE " + strings.Join(parts, " AND ")
	}
	args = append(args, min(max(q.Limit, 1), 500))
	rows, err := s.Pool.Query(ctx, sql+fmt.Sprintf(" ORDER BY seq DESC LIMIT $%d", len(args)), args...)
	if err != nil {
		return nil, pg.Failure("read audit log", err)
	}
	list, err := pgx.CollectRows(rows, scanAudit)
	return list, pg.Failure("read audit log", err)
}

func scanAudit(row pgx.CollectableRow) (e auditlog.Entry, err error) {
	var actor, owner *uuid.UUID
	var changes []byte
	a := &e.Actor
	err = row.Scan(
		&e.Seq, &e.At, &actor, &a.Role, &a.Name, &a.Via, &a.Network, &a.Action, &a.RequestID, &e.TargetKind,
		&e.TargetID, &owner, &changes,
	)
	if err != nil {
		return e, err
	}
	if actor != nil {
		a.AccountID = *actor
	}
	if owner != nil {
		e.OwnerID = *owner
	}
	return e, json.Unmarshal(changes, &e.Changes)
}

var _ once.Store = (*Requests)(nil)

const (
	keysFull = `SELECT count(*) >= $7 FROM (SELECT FROM idempotency_key
	WHERE scope = $6 AND created_at > clock_timestamp() - $5::bigint * interval '1 ms' LIMIT $7) mine`

	// One statement decides. It takes over a free, expired or dead row; any other row stays and is
	// read next.
	beginKey = `
INSERT INTO idempotency_key AS k (id, fingerprint, attempt, created_at, leased_until, scope)
SELECT $1, $2, $3, clock_timestamp(), clock_timestamp() + $4::bigint * interval '1 ms', $6
WHERE $7 = 0 OR EXISTS (SELECT FROM idempotency_key WHERE id = $1) OR NOT (` + keysFull + `)
ON CONFLICT (id) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, attempt = EXCLUDED.attempt,
	leased_until = EXCLUDED.leased_until,
	created_at = CASE WHEN k.created_at <= clock_timestamp() - $5::bigint * interval '1 ms' THEN EXCLUDED.created_at ELSE k.created_at END,
	effect_kind = NULL, effect_id = NULL, status = NULL, content_type = NULL, reply = NULL
WHERE k.created_at <= clock_timestamp() - $5::bigint * interval '1 ms'
	OR (k.status IS NULL AND k.effect_kind IS NULL AND k.leased_until <= clock_timestamp()
		AND k.fingerprint = EXCLUDED.fingerprint)`

	readKey = `
SELECT fingerprint, leased_until <= clock_timestamp(), coalesce(effect_kind, ''), coalesce(effect_id, ''),
	coalesce(status, 0), coalesce(content_type, ''), reply
FROM idempotency_key WHERE id = $1`

	finishKey = `
UPDATE idempotency_key SET status = $3, content_type = $4, reply = $5 WHERE id = $1 AND attempt = $2 AND status IS NULL`

	releaseKey = `
DELETE FROM idempotency_key WHERE id = $1 AND attempt = $2 AND status IS NULL AND effect_kind IS NULL`

	// After an effect the lease ends with the call, so a retry need not wait for it.
	endLease = `
UPDATE idempotency_key SET leased_until = clock_timestamp() WHERE id = $1 AND attempt = $2 AND status IS NULL`
)

// BeginKey takes an idempotency key, or returns the state of an earlier attempt.
func (s *Requests) BeginKey(ctx context.Context, c once.Request) (found once.Found, err error) {
	for range 3 { // a row may be released between the two statements
		tag, err := s.Pool.Exec(
			ctx, beginKey, c.ID[:], c.Fingerprint[:], c.Token, c.Lease.Milliseconds(), c.Life.Milliseconds(),
			c.Scope[:], c.Most,
		)
		if err != nil {
			return found, pg.Failure("begin idempotency key", err)
		}
		if tag.RowsAffected() == 1 {
			return once.Found{State: once.Begun}, nil
		}
		var fingerprint []byte
		var dead bool
		r, e := &found.Reply, &found.Effect
		err = s.Pool.QueryRow(ctx, readKey, c.ID[:]).Scan(
			&fingerprint, &dead, &e.Kind, &e.ID, &r.Status, &r.ContentType, &r.Body,
		)
		if err == pgx.ErrNoRows {
			found.State = once.Full // unless it was released just now
			continue
		}
		if err != nil {
			return found, pg.Failure("read idempotency key", err)
		}
		switch {
		case string(fingerprint) != string(c.Fingerprint[:]):
			found.State = once.Differs
		case r.Status != 0:
			found.State = once.Replied
		case e.Kind != "" && dead:
			found.State = once.Effected
		default:
			found.State = once.Running
		}
		return found, nil
	}
	if c.Most == 0 {
		found.State = once.Running
	}
	return found, nil
}

// FinishKey stores the reply of an attempt that still holds its key.
func (s *Requests) FinishKey(ctx context.Context, a once.Attempt, r once.Reply) error {
	_, err := s.Pool.Exec(ctx, finishKey, a.ID[:], a.Token, r.Status, r.ContentType, r.Body)
	return pg.Failure("finish idempotency key", err)
}

// ReleaseKey frees the key of an attempt that had no effect.
func (s *Requests) ReleaseKey(ctx context.Context, a once.Attempt) error {
	err := s.Transact(ctx, "release idempotency key", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, releaseKey, a.ID[:], a.Token); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, endLease, a.ID[:], a.Token)
		return err
	})
	return err
}

// DropKeys removes keys that were begun before a time.
func (s *Requests) DropKeys(ctx context.Context, before time.Time) (int64, error) {
	tag, err := s.Pool.Exec(ctx, `DELETE FROM idempotency_key WHERE created_at < $1`, before)
	return tag.RowsAffected(), pg.Failure("drop idempotency keys", err)
}
