package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/outbound/notice"
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
	return s.writeFact(&fact)
}

// writeFact writes the messages about a fact: those to endpoints, and the mail. The caller holds s.mu.
func (s *core) writeFact(fact *webhook.Fact) error {
	if slices.Contains(webhook.Events, string(fact.Event)) {
		if err := s.writeWebhooks(fact); err != nil {
			return err
		}
	}
	if notice.Mailed(fact.Event) {
		return s.writeMail(fact)
	}
	return nil
}

// writeMail adds a fact to the mail of its kind and day, or to the next day's if that was attempted:
// an account has one mail of a kind and day. The caller holds s.mu.
func (s *core) writeMail(fact *webhook.Fact) error {
	owner := s.ownerOf(fact)
	of, chosen := s.notices.settings[owner]
	if !chosen || of.Confirmed == "" || slices.Contains(of.Off, string(fact.Event)) {
		return nil
	}
	line, err := notice.Append(fact)
	if err != nil {
		return err
	}
	at := s.clock()
	for _, d := range notice.Days(at) {
		key := mailKey{owner, fact.Event, d.Day}
		m := s.notices.mails[key]
		switch {
		case m == nil:
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			m = &outbox.Message{
				ID: id, Topic: outbox.Mails, Subject: owner.String() + " " + string(fact.Event), Owner: owner, Target: owner,
				Kind: string(fact.Event), Payload: line, CreatedAt: at, BegunAt: at, DueAt: asStored(d.Due),
				State: outbox.Waiting,
			}
			s.notices.mails[key] = m
			s.outbox = append(s.outbox, m)
			s.boundMessages(owner, outbox.Mails, at)
			return nil
		case m.State == outbox.Waiting && m.Attempts == 0 && len(m.Payload) < notice.MostPayload:
			m.Payload = append(slices.Clone(m.Payload), line...)
			return nil
		}
	}
	return nil
}

// writeWebhooks writes the messages to endpoints. The caller holds s.mu.
func (s *core) writeWebhooks(fact *webhook.Fact) error {
	owner := s.ownerOf(fact)
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
	s.boundMessages(owner, outbox.Webhooks, at)
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

// boundMessages drops and removes the oldest messages of an owner and topic above the limits.
func (s *core) boundMessages(owner uuid.UUID, topic string, at time.Time) {
	waiting, ended := 0, 0
	kept := make([]*outbox.Message, 0, len(s.outbox))
	for _, m := range slices.Backward(s.outbox) {
		if m.Owner == owner && m.Topic == topic && m.State == outbox.Waiting {
			if waiting++; waiting > outbox.MaxWaiting {
				m.State, m.EndedAt, m.Problem = outbox.Dropped, at, outbox.Crowded
			}
		}
		if m.Owner == owner && m.Topic == topic && m.State != outbox.Waiting {
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
		m.Results++
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
