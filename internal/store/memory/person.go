package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
)

// Forget implements person.Accounts.
func (s *Accounts) Forget(_ context.Context, id uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.heldUser(id)
	if err != nil {
		return err
	}
	if !u.Erased() {
		return fmt.Errorf("account %s is not erased", id)
	}
	for known := range s.networks {
		if known.user == id {
			delete(s.networks, known)
		}
	}
	s.forgetMarks(id)
	maps.DeleteFunc(s.endpoints, func(_ uuid.UUID, e webhook.Endpoint) bool { return e.AccountID == id })
	s.outbox = slices.DeleteFunc(s.outbox, func(m *outbox.Message) bool { return m.Owner == id })
	s.notices.forget(id)
	delete(s.factors, id)
	delete(s.blocks, id)
	delete(s.publishing, id)
	maps.DeleteFunc(s.links, func(_ [32]byte, l account.Link) bool { return l.UserID == id })
	maps.DeleteFunc(s.sessions, func(_ uuid.UUID, session account.Session) bool { return session.UserID == id })
	for key, k := range s.keys {
		if k.OwnerID == id {
			k.Name = ""
			s.keys[key] = k
		}
	}
	for deposit, d := range s.payments.deposits {
		if d.AdvertiserID == id {
			d.ReturnURL = ""
			s.payments.deposits[deposit] = d
		}
	}
	for _, d := range s.decisions {
		for i := range d.Appeals {
			if d.Appeals[i].OwnerID == id {
				d.Appeals[i].Text = ""
			}
		}
	}
	for i := range s.auditLog {
		forget(&s.auditLog[i], id)
	}
	return nil
}

// MarkMailbox implements person.Accounts.
func (s *Accounts) MarkMailbox(_ context.Context, id uuid.UUID, hashes [][16]byte, at, ends time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.heldUser(id); err != nil {
		return err
	}
	for _, hash := range hashes {
		m := family.Mark{Account: id, Kind: family.MarkMailbox, Hash: hash}
		if _, has := s.families.marks[m]; !has {
			s.families.marks[m] = markLife{created: at, ends: ends}
		}
	}
	return nil
}

// forget removes the personal data of an account's owner from an entry.
func forget(e *auditlog.Entry, id uuid.UUID) {
	if e.Actor.AccountID == id {
		e.Actor.Name, e.Actor.Network = "", ""
	}
	field := ""
	switch {
	case e.TargetKind == auditlog.TargetUser && e.TargetID == id.String():
		field = "email"
	case e.OwnerID == id && (e.TargetKind == auditlog.TargetKey || e.TargetKind == auditlog.TargetCampaign):
		field = "name"
	}
	if _, changed := e.Changes[field]; changed {
		e.Changes[field] = auditlog.Change{Before: "(erased)", After: "(erased)"}
	}
}
