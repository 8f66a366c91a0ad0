package memory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/compliance/decision"
)

var _ decision.Store = (*Audit)(nil)

// recordDecision stores the statement of an entry that is a decision; the caller holds s.mu.
func (s *core) recordDecision(e *auditlog.Entry) error {
	d, is := decision.Of(e)
	if !is {
		return nil
	}
	u, known := s.users[d.OwnerID]
	if d.OwnerID == uuid.Nil {
		for _, of := range s.users {
			if of.DeveloperID == d.Publisher {
				u, known = of, true
			}
		}
	}
	if !known { // no owner to notify
		return nil
	}
	if d.OwnerID = u.ID; u.ParentID != uuid.Nil {
		d.OwnerID = u.ParentID
	}
	var err error
	d.ID, err = uuid.NewV7()
	d.At, d.Appeals = e.At, []decision.Appeal{}
	s.decisions = append(s.decisions, &d)
	return err
}

// Decisions implements decision.Store.
func (s *Audit) Decisions(_ context.Context, q decision.Query) ([]decision.Statement, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var page []decision.Statement
	total := 0
	for _, d := range slices.Backward(s.decisions) {
		open := slices.ContainsFunc(d.Appeals, func(a decision.Appeal) bool { return a.Outcome == "" })
		if q.ID != uuid.Nil && q.ID != d.ID || q.OwnerID != uuid.Nil && q.OwnerID != d.OwnerID ||
			q.Kind != "" && q.Kind != d.Kind ||
			q.Target != "" && q.Target != d.TargetID || q.Open && !open {
			continue
		}
		if total >= q.Offset && len(page) < min(max(q.Limit, 1), 500) {
			of := *d
			of.Appeals = slices.Clone(d.Appeals)
			page = append(page, of)
		}
		total++
	}
	return page, total, nil
}

// AppealedBy implements decision.Store.
func (s *Audit) AppealedBy(_ context.Context, appeal uuid.UUID) (decision.Statement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.decisions {
		if slices.ContainsFunc(d.Appeals, func(a decision.Appeal) bool { return a.ID == appeal }) {
			of := *d
			of.Appeals = slices.Clone(d.Appeals)
			return of, nil
		}
	}
	return decision.Statement{}, decision.ErrNoAppeal
}

// Appeal implements decision.Store.
func (s *Audit) Appeal(ctx context.Context, a decision.Appeal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.decisions {
		if d.ID != a.DecisionID || d.OwnerID != a.OwnerID {
			continue
		}
		if err := decision.May(d.Appeals); err != nil {
			return err
		}
		if err := s.record(
			ctx, auditlog.OfAppeal(a.ID, a.OwnerID, map[string]any{"decision_id": a.DecisionID}),
		); err != nil {
			return err
		}
		a.CreatedAt = asStored(a.CreatedAt)
		d.Appeals = append(d.Appeals, a)
		return nil
	}
	return decision.ErrUnknown
}

// Answer implements decision.Store.
func (s *Audit) Answer(ctx context.Context, a decision.Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.decisions {
		for i := range d.Appeals {
			of := &d.Appeals[i]
			if of.ID != a.AppealID {
				continue
			}
			if of.Outcome != "" {
				return decision.ErrEnded
			}
			if err := s.record(
				ctx,
				auditlog.OfAppeal(of.ID, of.OwnerID, map[string]any{"outcome": string(a.Outcome), "words": a.Words}),
			); err != nil {
				return err
			}
			at := asStored(a.At)
			of.Outcome, of.Words, of.DecidedBy, of.DecidedAt = a.Outcome, a.Words, a.By, &at
			return nil
		}
	}
	return decision.ErrNoAppeal
}
