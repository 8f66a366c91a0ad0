package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
	"adnet/internal/store/postgres/pg"
)

const (
	// The owner is a person's account: a seat's owner, or that of a publisher. A change of
	// something without an owner here notifies no account and has no statement.
	insertDecision = `
INSERT INTO decision (id, owner_id, kind, target_kind, target_id, rule, reason, automated)
SELECT $1, coalesce(u.parent_id, u.id), $4, $5, $6, $7, $8, $9 FROM app_user u
WHERE u.id = $2 OR $2 IS NULL AND u.developer_id = $3`

	decisionsSelected = ` FROM decision d WHERE ($1::uuid IS NULL OR d.id = $1) AND ($2::uuid IS NULL
		OR d.owner_id = $2) AND ($3 = '' OR d.kind = $3)
	AND ($5 = '' OR d.target_id = $5) AND (NOT $4 OR EXISTS (SELECT FROM appeal a WHERE a.decision_id = d.id
		AND a.outcome IS NULL))`
	selectDecisions = `
SELECT d.id, d.at, d.owner_id, d.kind, d.target_kind, d.target_id, d.rule, d.reason,
	d.automated` + decisionsSelected + `
ORDER BY d.seq DESC LIMIT $6 OFFSET $7`
	countDecisions = `SELECT count(*)` + decisionsSelected

	selectAppeals = `
SELECT id, decision_id, owner_id, text, created_at, coalesce(outcome, ''), words, decided_at FROM appeal
WHERE decision_id = ANY($1::uuid[]) ORDER BY created_at, id`

	// A row of decision never changes, so an advisory lock on its id serializes its appeals.
	lockDecision = `SELECT pg_advisory_xact_lock(hashtextextended('decision ' || $1::text, 0)), EXISTS (SELECT FROM decision WHERE id = $1::text::uuid AND owner_id = $2)`

	insertAppeal = `INSERT INTO appeal (id, decision_id, owner_id, text, created_at) VALUES ($1, $2, $3, $4, $5)`
	lockAppeal   = `SELECT decision_id, owner_id, outcome IS NOT NULL FROM appeal WHERE id = $1 FOR UPDATE`
	answerAppeal = `UPDATE appeal SET outcome = $2, words = $3, decided_by = $4, decided_at = $5 WHERE id = $1`
	// ForgetAppeal removes the personal data of an account's appeals.
	ForgetAppeal = `UPDATE appeal SET text = '' WHERE owner_id = $1`
)

var _ decision.Store = (*Audit)(nil)

// recordDecision stores the statement of reasons of an entry that is a decision.
func recordDecision(ctx context.Context, tx pgx.Tx, e *auditlog.Entry) error {
	s, is := decision.Of(e)
	if !is {
		return nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	_, err = tx.Exec(
		ctx, insertDecision, id, pg.NullID(s.OwnerID), pg.NullID(s.Publisher), s.Kind, s.TargetKind, s.TargetID, s.Rule,
		s.Reason, s.Automated,
	)
	if err != nil {
		return fmt.Errorf("write statement of reasons: %w", err)
	}
	return nil
}

// Decisions implements decision.Store.
func (s *Audit) Decisions(ctx context.Context, q decision.Query) ([]decision.Statement, int, error) {
	args := []any{pg.NullID(q.ID), pg.NullID(q.OwnerID), string(q.Kind), q.Open, q.Target}
	var total int
	if err := s.Pool.QueryRow(ctx, countDecisions, args...).Scan(&total); err != nil {
		return nil, 0, pg.Failure("count decisions", err)
	}
	rows, err := s.Pool.Query(ctx, selectDecisions, append(args, min(max(q.Limit, 1), 500), q.Offset)...)
	if err != nil {
		return nil, 0, pg.Failure("list decisions", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d decision.Statement, err error) {
		err = row.Scan(&d.ID, &d.At, &d.OwnerID, &d.Kind, &d.TargetKind, &d.TargetID, &d.Rule, &d.Reason, &d.Automated)
		d.At = d.At.UTC()
		return d, err
	})
	if err != nil || len(list) == 0 {
		return nil, total, pg.Failure("list decisions", err)
	}
	return list, total, pg.Failure("list appeals", s.addAppeals(ctx, list))
}

func (s *Audit) addAppeals(ctx context.Context, list []decision.Statement) error {
	at, ids := make(map[uuid.UUID]int, len(list)), make([]uuid.UUID, len(list))
	for i := range list {
		at[list[i].ID], ids[i], list[i].Appeals = i, list[i].ID, []decision.Appeal{}
	}
	rows, err := s.Pool.Query(ctx, selectAppeals, ids)
	if err != nil {
		return err
	}
	appeals, err := pgx.CollectRows(rows, scanAppeal)
	for _, a := range appeals {
		of := &list[at[a.DecisionID]]
		of.Appeals = append(of.Appeals, a)
	}
	return err
}

func scanAppeal(row pgx.CollectableRow) (a decision.Appeal, err error) {
	err = row.Scan(&a.ID, &a.DecisionID, &a.OwnerID, &a.Text, &a.CreatedAt, &a.Outcome, &a.Words, &a.DecidedAt)
	return a, err
}

// AppealedBy implements decision.Store.
func (s *Audit) AppealedBy(ctx context.Context, appeal uuid.UUID) (decision.Statement, error) {
	var of uuid.UUID
	err := s.Pool.QueryRow(ctx, `SELECT decision_id FROM appeal WHERE id = $1`, appeal).Scan(&of)
	if errors.Is(err, pgx.ErrNoRows) {
		return decision.Statement{}, decision.ErrNoAppeal
	}
	if err != nil {
		return decision.Statement{}, pg.Failure("read appeal", err)
	}
	list, _, err := s.Decisions(ctx, decision.Query{ID: of, Limit: 1})
	if err != nil || len(list) == 0 {
		return decision.Statement{}, err
	}
	return list[0], nil
}

// Appeal implements decision.Store.
func (s *Audit) Appeal(ctx context.Context, a decision.Appeal) error {
	return s.Transact(ctx, "appeal", func(tx pgx.Tx) error {
		var own bool
		if err := tx.QueryRow(ctx, lockDecision, a.DecisionID.String(), a.OwnerID).Scan(nil, &own); err != nil {
			return err
		}
		if !own {
			return decision.ErrUnknown
		}
		rows, err := tx.Query(ctx, selectAppeals, []uuid.UUID{a.DecisionID})
		if err != nil {
			return err
		}
		before, err := pgx.CollectRows(rows, scanAppeal)
		if err != nil {
			return err
		}
		if err := decision.May(before); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, insertAppeal, a.ID, a.DecisionID, a.OwnerID, a.Text, a.CreatedAt); err != nil {
			return err
		}
		return Record(ctx, tx, auditlog.OfAppeal(a.ID, a.OwnerID, map[string]any{"decision_id": a.DecisionID}))
	})
}

// Answer implements decision.Store.
func (s *Audit) Answer(ctx context.Context, a decision.Answer) error {
	return s.Transact(ctx, "answer appeal", func(tx pgx.Tx) error {
		var of, owner uuid.UUID
		var ended bool
		err := tx.QueryRow(ctx, lockAppeal, a.AppealID).Scan(&of, &owner, &ended)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return decision.ErrNoAppeal
		case err != nil:
			return err
		case ended:
			return decision.ErrEnded
		}
		if _, err := tx.Exec(
			ctx, answerAppeal, a.AppealID, a.Outcome, strings.TrimSpace(a.Words), a.By, a.At,
		); err != nil {
			return err
		}
		return Record(
			ctx, tx,
			auditlog.OfAppeal(a.AppealID, owner, map[string]any{"outcome": string(a.Outcome), "words": a.Words}),
		)
	})
}
