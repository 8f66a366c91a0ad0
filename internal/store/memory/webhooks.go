package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
)

var _ webhook.Store = (*Webhooks)(nil)

// endpointsOf returns copies of an account's endpoints, oldest first. The caller holds s.mu.
func (s *core) endpointsOf(account uuid.UUID) (list []webhook.Endpoint) {
	for _, e := range s.endpoints {
		if e.AccountID == account {
			list = append(list, ofOwn(e))
		}
	}
	slices.SortFunc(list, func(a, b webhook.Endpoint) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return list
}

// ofOwn returns a copy that shares nothing, in the precision of a database.
func ofOwn(e webhook.Endpoint) webhook.Endpoint {
	e.Events = slices.Clone(e.Events)
	e.CreatedAt, e.UpdatedAt, e.FormerEnds = asStored(e.CreatedAt), asStored(e.UpdatedAt), asStored(e.FormerEnds)
	return e
}

// ownEndpoint returns an endpoint of an account: one of another account does not exist for it. The
// caller holds s.mu.
func (s *core) ownEndpoint(account, id uuid.UUID) (webhook.Endpoint, error) {
	e, known := s.endpoints[id]
	if !known || e.AccountID != account {
		return webhook.Endpoint{}, webhook.ErrUnknown
	}
	return ofOwn(e), nil
}

// Endpoints implements webhook.Store.
func (s *Webhooks) Endpoints(_ context.Context, account uuid.UUID) ([]webhook.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpointsOf(account), nil
}

// Targets implements webhook.Store.
func (s *Webhooks) Targets(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]webhook.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[uuid.UUID]webhook.Endpoint, len(ids))
	for _, id := range ids {
		if e, known := s.endpoints[id]; known {
			found[id] = ofOwn(e)
		}
	}
	return found, nil
}

// CreateEndpoint implements webhook.Store.
func (s *Webhooks) CreateEndpoint(ctx context.Context, e webhook.Endpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.users[e.AccountID]; !known {
		return errs.New(errs.NotFound, "no such account")
	}
	if len(s.endpointsOf(e.AccountID)) >= webhook.MaxEndpoints {
		return webhook.ErrEnough
	}
	if err := s.record(ctx, webhook.Entry(nil, &e)); err != nil {
		return err
	}
	s.endpoints[e.ID] = ofOwn(e)
	return nil
}

// UpdateEndpoint implements webhook.Store.
func (s *Webhooks) UpdateEndpoint(
	ctx context.Context, account, id uuid.UUID, edit func(*webhook.Endpoint) error,
) (webhook.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.ownEndpoint(account, id)
	if err != nil {
		return before, err
	}
	after := ofOwn(before)
	if err := edit(&after); err != nil {
		return after, err
	}
	if err := s.record(ctx, webhook.Entry(&before, &after)); err != nil {
		return after, err
	}
	s.endpoints[id] = ofOwn(after)
	for _, m := range s.outbox {
		if m.Target == id && m.State == outbox.Waiting && before.Enabled && !after.Enabled {
			m.State, m.EndedAt, m.Problem = outbox.Dropped, s.clock(), outbox.Off
		}
	}
	return ofOwn(after), nil
}

// DeleteEndpoint implements webhook.Store.
func (s *Webhooks) DeleteEndpoint(ctx context.Context, account, id uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.ownEndpoint(account, id)
	if err != nil {
		return err
	}
	if err := s.record(ctx, webhook.Entry(&before, nil)); err != nil {
		return err
	}
	delete(s.endpoints, id)
	s.outbox = slices.DeleteFunc(s.outbox, func(m *outbox.Message) bool { return m.Target == id })
	return nil
}

// Deliveries implements webhook.Store.
func (s *Webhooks) Deliveries(
	_ context.Context, account, endpoint uuid.UUID, p webhook.Page,
) (list []outbox.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.ownEndpoint(account, endpoint); err != nil {
		return nil, err
	}
	skip := p.Offset
	for _, m := range slices.Backward(s.outbox) {
		if m.Target != endpoint || p.State != "" && m.State != p.State || len(list) == p.Limit {
			continue
		}
		if skip--; skip < 0 {
			list = append(list, copied(m))
		}
	}
	return list, nil
}

// Replay implements webhook.Store.
func (s *Webhooks) Replay(ctx context.Context, account, endpoint, message uuid.UUID, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.ownEndpoint(account, endpoint)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.outbox, func(m *outbox.Message) bool { return m.Target == endpoint && m.ID == message })
	switch {
	case i < 0:
		return webhook.ErrNoDelivery
	case s.outbox[i].State == outbox.Waiting:
		return webhook.ErrStillWaiting
	case !e.Enabled:
		return webhook.ErrOff
	}
	if err := s.record(ctx, webhook.ReplayEntry(&e, message)); err != nil {
		return err
	}
	m := s.outbox[i]
	m.State, m.Attempts, m.BegunAt, m.DueAt, m.EndedAt = outbox.Waiting, 0, asStored(at), asStored(at), time.Time{}
	m.Lease, m.Results = uuid.Nil, 0
	return nil
}
