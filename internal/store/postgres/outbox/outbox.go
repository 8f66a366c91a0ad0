// Package outbox stores messages to others: changes write them in their own transactions, and the
// consumers claim and end them.
package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/outbound/notice"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/store/postgres/pg"
)

// Outbox stores messages to others.
type Outbox struct{ *pg.Core }

const (
	// Columns are the columns of a message, in the order that [Scan] reads.
	Columns = `seq, id, topic, subject, owner_id, target_id, kind, payload, created_at, begun_at, state, attempts,
	due_at, tried_at, ended_at, status, problem, lease, results`

	// The endpoints of the account that owns the object; for a seat, those of its owner. The subject
	// names endpoint and object: changes of one object are serialized by its row, so the numbers
	// of its messages have the order of the changes.
	writeSQL = `
WITH owner AS (
	SELECT coalesce(u.parent_id, u.id) AS id FROM app_user u WHERE u.id = $1 OR $1 IS NULL AND u.developer_id = $2
), written AS (
	INSERT INTO outbox (id, topic, subject, owner_id, target_id, kind, payload, created_at, begun_at, due_at)
	SELECT $3, $4, e.id::text || ' ' || $5, e.account_id, e.id, $6, $7, now, now, now
	FROM owner o JOIN webhook_endpoint e ON e.account_id = o.id, clock_timestamp() AS now
	WHERE e.enabled AND (cardinality(e.events) = 0 OR $6 = ANY(e.events))
	RETURNING owner_id
)
SELECT DISTINCT owner_id FROM written`

	// One row of an account, kind and day: the unique index makes a second one impossible. A mail that
	// was attempted takes nothing more. An account that chose no such mail has no row.
	writeMailSQL = `
INSERT INTO outbox AS o (id, topic, subject, owner_id, target_id, kind, payload, created_at, begun_at, due_at, day)
SELECT $3, $4, a.id::text || ' ' || $5, a.id, a.id, $5, $6, now, now, $7, $8
FROM app_user u JOIN app_user a ON a.id = coalesce(u.parent_id, u.id)
	JOIN notice_setting s ON s.account_id = a.id AND s.confirmed <> '' AND $5 <> ALL(s.off), clock_timestamp() AS now
WHERE u.id = $1 OR $1 IS NULL AND u.developer_id = $2
ON CONFLICT (owner_id, kind, day) WHERE topic = 'mail' DO UPDATE SET payload = o.payload || excluded.payload
WHERE o.state = 'waiting' AND o.attempts = 0 AND octet_length(o.payload) < $9
RETURNING owner_id`

	// The bound of an owner's messages. Rows that another transaction holds are skipped, so a change
	// waits for no sender; the next change drops them.
	dropSQL = `
UPDATE outbox SET state = 'dropped', ended_at = clock_timestamp(), problem = $4 WHERE seq IN (
	SELECT seq FROM outbox WHERE seq IN (
		SELECT seq FROM outbox WHERE owner_id = $1 AND topic = $2 AND state = 'waiting' ORDER BY seq DESC OFFSET $3
	) FOR UPDATE SKIP LOCKED)`
	removeSQL = `
DELETE FROM outbox WHERE seq IN (
	SELECT seq FROM outbox WHERE seq IN (
		SELECT seq FROM outbox WHERE owner_id = $1 AND topic = $2 AND state <> 'waiting' ORDER BY seq DESC OFFSET $3
	) FOR UPDATE SKIP LOCKED)`

	// The lease moves due_at ahead, so no other sender claims the row before it ends. The lock is
	// held for this statement only.
	claimSQL = `
WITH due AS (
	SELECT seq, row_number() OVER (PARTITION BY target_id ORDER BY due_at, seq) AS place
	FROM outbox o WHERE topic = $1 AND state = 'waiting' AND due_at <= $2 AND target_id <> ALL($6::uuid[])
		AND NOT EXISTS (SELECT FROM outbox e WHERE e.topic = o.topic AND e.subject = o.subject AND e.state = 'waiting'
			AND e.seq < o.seq)
), mine AS (
	SELECT seq FROM outbox WHERE seq IN (SELECT seq FROM due WHERE place <= $5) AND state = 'waiting' AND due_at <= $2
	ORDER BY due_at, seq LIMIT $4 FOR UPDATE SKIP LOCKED
)
UPDATE outbox SET attempts = attempts + 1, tried_at = $2, lease = gen_random_uuid(),
	due_at = $2::timestamptz + $3::bigint * interval '1 ms'
WHERE seq IN (SELECT seq FROM mine) RETURNING ` + Columns

	endSQL = `
UPDATE outbox SET state = $3, results = results + 1, due_at = $4, ended_at = CASE WHEN $3 <> 'waiting' THEN $5::timestamptz END, status = $6,
	problem = $7
WHERE id = $1 AND target_id = $8 AND lease = $2 AND state = 'waiting'`

	pruneSQL = `DELETE FROM outbox WHERE seq IN (
	SELECT seq FROM outbox WHERE state <> 'waiting' AND ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

	countSQL = `SELECT state, count(*) FROM outbox WHERE topic = $1 GROUP BY 1`
)

var _ outbox.Store = (*Outbox)(nil)

// Write writes the messages of a change inside its transaction, by the rule of [webhook.Of].
func Write(ctx context.Context, tx pgx.Tx, e *auditlog.Entry) error {
	fact, is := webhook.Of(e)
	if !is {
		return nil
	}
	return WriteFact(ctx, tx, &fact)
}

// WriteFact writes the messages about a fact: those to endpoints, and the mail.
func WriteFact(ctx context.Context, tx pgx.Tx, fact *webhook.Fact) error {
	if slices.Contains(webhook.Events, string(fact.Event)) {
		if err := writeWebhooks(ctx, tx, fact); err != nil {
			return err
		}
	}
	if notice.Mailed(fact.Event) {
		return writeMail(ctx, tx, fact)
	}
	return nil
}

// writeMail adds a fact to the mail of its kind and day, or to the next day's if that was attempted.
func writeMail(ctx context.Context, tx pgx.Tx, fact *webhook.Fact) error {
	line, err := notice.Append(fact)
	if err != nil {
		return err
	}
	for _, d := range notice.Days(time.Now()) {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		owners, err := pg.Collect(
			ctx, tx, writeMailSQL, pgx.RowTo[uuid.UUID], pg.NullID(fact.OwnerID), fact.Publisher, id, outbox.Mails,
			string(fact.Event), line, d.Due, d.Day, notice.MostPayload,
		)
		if err != nil {
			return fmt.Errorf("write mail: %w", err)
		}
		if len(owners) > 0 {
			return bound(ctx, tx, owners[0], outbox.Mails)
		}
	}
	return nil
}

func writeWebhooks(ctx context.Context, tx pgx.Tx, fact *webhook.Fact) error {
	payload, err := fact.Payload(time.Now())
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	owners, err := pg.Collect(
		ctx, tx, writeSQL, pgx.RowTo[uuid.UUID], pg.NullID(fact.OwnerID), fact.Publisher, id, outbox.Webhooks,
		fact.About, string(fact.Event), payload,
	)
	if err != nil {
		return fmt.Errorf("write messages: %w", err)
	}
	for _, owner := range owners {
		if err := bound(ctx, tx, owner, outbox.Webhooks); err != nil {
			return err
		}
	}
	return nil
}

// bound drops and removes the oldest messages of an owner above the limits.
func bound(ctx context.Context, tx pgx.Tx, owner uuid.UUID, topic string) error {
	batch := &pgx.Batch{}
	batch.Queue(dropSQL, owner, topic, outbox.MaxWaiting, outbox.Crowded)
	batch.Queue(removeSQL, owner, topic, outbox.MaxEnded)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("bound messages: %w", err)
	}
	return nil
}

// ClaimMessages implements outbox.Store.
func (s *Outbox) ClaimMessages(ctx context.Context, c outbox.Claim) (list []outbox.Message, err error) {
	err = s.Transact(ctx, "claim messages", func(tx pgx.Tx) (err error) {
		list, err = pg.Collect(ctx, tx, claimSQL, Scan, c.Topic, c.Now, c.Lease.Milliseconds(), c.Most, c.PerTarget,
			append([]uuid.UUID{}, c.Except...))
		return err
	})
	return list, err
}

// EndAttempt implements outbox.Store.
func (s *Outbox) EndAttempt(ctx context.Context, e outbox.Ended) error {
	next := e.Next
	if next.IsZero() {
		next = e.At
	}
	_, err := s.Pool.Exec(ctx, endSQL, e.Message.ID, e.Message.Lease, string(e.State), next, e.At, e.Status, e.Problem,
		e.Message.Target)
	return pg.Failure("end an attempt", err)
}

// PruneMessages implements outbox.Store.
func (s *Outbox) PruneMessages(ctx context.Context, before time.Time, most int) (int64, error) {
	tag, err := s.Pool.Exec(ctx, pruneSQL, before, most)
	return tag.RowsAffected(), pg.Failure("remove messages", err)
}

// CountMessages implements outbox.Store.
func (s *Outbox) CountMessages(ctx context.Context, topic string) (outbox.Counts, error) {
	rows, err := s.Pool.Query(ctx, countSQL, topic)
	if err != nil {
		return nil, pg.Failure("count messages", err)
	}
	counts := outbox.Counts{}
	var state outbox.State
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error {
		counts[state] = n
		return nil
	})
	return counts, pg.Failure("count messages", err)
}

// Scan reads a row of [Columns].
func Scan(row pgx.CollectableRow) (m outbox.Message, err error) {
	var seq int64
	var tried, ended *time.Time
	var lease *uuid.UUID
	err = row.Scan(&seq, &m.ID, &m.Topic, &m.Subject, &m.Owner, &m.Target, &m.Kind, &m.Payload, &m.CreatedAt, &m.BegunAt,
		&m.State, &m.Attempts, &m.DueAt, &tried, &ended, &m.Status, &m.Problem, &lease, &m.Results)
	if tried != nil {
		m.TriedAt = *tried
	}
	if ended != nil {
		m.EndedAt = *ended
	}
	if lease != nil {
		m.Lease = *lease
	}
	return m, err
}
