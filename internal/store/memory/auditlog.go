package memory

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/once"
)

// record stores the entry of an imminent change, and ties the change to the idempotency key that
// ctx carries. The caller holds s.mu and makes the change only when it returns nil. Errors:
// errs.Conflict when another call has taken over that key.
func (s *core) record(ctx context.Context, e auditlog.Entry) error {
	if attempt, ok := once.From(ctx); ok {
		held := s.attempts[attempt.ID]
		if held == nil || held.Token != attempt.Token || held.reply.Status != 0 {
			return errs.New(errs.Conflict, "another call with this Idempotency-Key has taken over")
		}
		held.effect = once.Effect{Kind: e.TargetKind, ID: e.TargetID}
	}
	if len(e.Changes) == 0 {
		return nil
	}
	e.Complete(ctx)
	e.At, e.Seq = s.clock(), int64(len(s.auditLog))+1
	if err := s.recordDecision(&e); err != nil {
		return err
	}
	if err := s.writeMessages(&e); err != nil {
		return err
	}
	// Values in the form that a database would return.
	text, err := json.Marshal(e.Changes)
	if err != nil {
		return err
	}
	e.Changes = nil
	if err := json.Unmarshal(text, &e.Changes); err != nil {
		return err
	}
	s.auditLog = append(s.auditLog, e)
	return nil
}

// RecordAudit writes an entry of a change that no other method of this store makes.
func (s *Audit) RecordAudit(ctx context.Context, e auditlog.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(ctx, e)
}

// AuditLog returns a page, newest first.
func (s *Audit) AuditLog(_ context.Context, q auditlog.Query) ([]auditlog.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []auditlog.Entry{}
	for i := len(s.auditLog) - 1; i >= 0 && len(list) < min(max(q.Limit, 1), 500); i-- {
		if q.Matches(&s.auditLog[i]) {
			list = append(list, s.auditLog[i])
		}
	}
	return list, nil
}

// attempt is the stored record of an idempotency key.
type attempt struct {
	once.Request
	created, leased time.Time
	effect          once.Effect
	reply           once.Reply
}

var _ once.Store = (*Requests)(nil)

// BeginKey takes an idempotency key, or returns the state of an earlier attempt.
func (s *Requests) BeginKey(_ context.Context, c once.Request) (found once.Found, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	held := s.attempts[c.ID]
	dead := held != nil && !held.leased.After(now)
	switch {
	case held == nil && c.Most > 0 && s.keysOf(c.Scope, now) >= c.Most:
		found.State = once.Full
	case held == nil || !held.created.Add(c.Life).After(now):
		s.attempts[c.ID] = &attempt{Request: c, created: now, leased: now.Add(c.Lease)}
	case held.Fingerprint != c.Fingerprint:
		found.State = once.Differs
	case held.reply.Status != 0:
		found.State, found.Reply = once.Replied, held.reply
		found.Reply.Body = slices.Clone(held.reply.Body)
	case held.effect.Kind != "" && dead:
		found.State, found.Effect = once.Effected, held.effect
	case held.effect.Kind == "" && dead:
		s.attempts[c.ID] = &attempt{Request: c, created: held.created, leased: now.Add(c.Lease)}
	default:
		found.State = once.Running
	}
	return found, nil
}

// keysOf counts the keys of a scope, and removes the expired ones.
func (s *core) keysOf(scope once.ID, now time.Time) (n int) {
	for id, held := range s.attempts {
		switch {
		case !held.created.Add(held.Life).After(now):
			delete(s.attempts, id)
		case held.Scope == scope:
			n++
		}
	}
	return n
}

// FinishKey stores the reply of an attempt that still holds its key.
func (s *Requests) FinishKey(_ context.Context, a once.Attempt, r once.Reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.attempts[a.ID]; held != nil && held.Token == a.Token && held.reply.Status == 0 {
		r.Body = slices.Clone(r.Body)
		held.reply = r
	}
	return nil
}

// ReleaseKey frees the key of an attempt that had no effect.
func (s *Requests) ReleaseKey(_ context.Context, a once.Attempt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.attempts[a.ID]
	switch {
	case held == nil || held.Token != a.Token || held.reply.Status != 0:
	case held.effect.Kind == "":
		delete(s.attempts, a.ID)
	default:
		held.leased = s.now()
	}
	return nil
}
