package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
)

var _ outbox.Store = (*Outbox)(nil)

// writeMessages writes the messages of an imminent change, by the rule of [webhook.Of]. The caller
// holds s.mu.
func (s *core) writeMessages(e *auditlog.Entry) error {
	fact, is := webhook.Of(e)
	if !is {
		return nil
	}
	owner := s.ownerOf(&fact)
	payload, err := fact.Payload(s.now())
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	at := s.clock()
	for _, to := range s.endpointsOf(owner) {
		if !to.Wants(fact.Event) {
			continue
		}
		s.outbox = append(s.outbox, &outbox.Message{
			ID: id, Topic: outbox.Webhooks, Subject: to.ID.String() + " " + fact.About, Owner: owner, Target: to.ID,
			Kind: string(fact.Event), Payload: payload, CreatedAt: at, BegunAt: at, DueAt: at, State: outbox.Waiting,
		})
	}
	s.boundMessages(owner, at)
	return nil
}

// ownerOf returns the account whose endpoints get a fact: for a seat its owner.
func (s *core) ownerOf(f *webhook.Fact) uuid.UUID {
	u := s.users[f.OwnerID]
	if f.OwnerID == uuid.Nil {
		for _, of := range s.users {
			if of.DeveloperID == f.Publisher {
				u = of
			}
		}
	}
	return cmp.Or(u.ParentID, u.ID)
}

// boundMessages drops and removes the oldest messages of an owner above the limits.
func (s *core) boundMessages(owner uuid.UUID, at time.Time) {
	waiting, ended := 0, 0
	kept := make([]*outbox.Message, 0, len(s.outbox))
	for _, m := range slices.Backward(s.outbox) {
		if m.Owner == owner && m.State == outbox.Waiting {
			if waiting++; waiting > outbox.MaxWaiting {
				m.State, m.EndedAt, m.Problem = outbox.Dropped, at, outbox.Crowded
			}
		}
		if m.Owner == owner && m.State != outbox.Waiting {
			if ended++; ended > outbox.MaxEnded {
				continue
			}
		}
		kept = append(kept, m)
	}
	slices.Reverse(kept)
	s.outbox = kept
}

// ClaimMessages implements outbox.Store.
func (s *Outbox) ClaimMessages(_ context.Context, c outbox.Claim) (list []outbox.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := map[string]bool{} // subjects whose earliest waiting message was met
	busy := map[uuid.UUID]int{}
	for _, m := range s.outbox {
		if m.Topic != c.Topic || m.State != outbox.Waiting || first[m.Subject] {
			continue
		}
		first[m.Subject] = true
		if m.DueAt.After(c.Now) || slices.Contains(c.Except, m.Target) || busy[m.Target] >= c.PerTarget ||
			len(list) >= c.Most {
			continue
		}
		busy[m.Target]++
		m.Attempts, m.TriedAt, m.DueAt, m.Lease = m.Attempts+1, asStored(c.Now), asStored(c.Now.Add(c.Lease)), uuid.New()
		list = append(list, copied(m))
	}
	return list, nil
}

func copied(m *outbox.Message) outbox.Message {
	of := *m
	of.Payload = slices.Clone(m.Payload)
	return of
}

// EndAttempt implements outbox.Store.
func (s *Outbox) EndAttempt(_ context.Context, e outbox.Ended) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.outbox {
		if m.ID != e.Message.ID || m.Target != e.Message.Target || m.Lease != e.Message.Lease ||
			m.State != outbox.Waiting {
			continue
		}
		m.State, m.Status, m.Problem, m.DueAt = e.State, e.Status, e.Problem, asStored(e.Next)
		if e.State != outbox.Waiting {
			m.EndedAt = asStored(e.At)
		}
	}
	return nil
}

// PruneMessages implements outbox.Store.
func (s *Outbox) PruneMessages(_ context.Context, before time.Time, most int) (n int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox = slices.DeleteFunc(s.outbox, func(m *outbox.Message) bool {
		old := m.State != outbox.Waiting && m.EndedAt.Before(before) && n < int64(most)
		if old {
			n++
		}
		return old
	})
	return n, nil
}

// CountMessages implements outbox.Store.
func (s *Outbox) CountMessages(_ context.Context, topic string) (outbox.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := outbox.Counts{}
	for _, m := range s.outbox {
		if m.Topic == topic {
			counts[m.State]++
		}
	}
	return counts, nil
}
