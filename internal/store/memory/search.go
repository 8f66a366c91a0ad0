package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/ledger"
)

// Movements searches the ledger; see [ledger.Search].
func (s *Ledger) Movements(_ context.Context, q ledger.Search) ([]ledger.Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []ledger.Found{}
	next := 0 // of the links, which are in the order of the transactions
	for i := range s.ledger.transactions {
		t := &s.ledger.transactions[i]
		f := ledger.Found{Transaction: *t, Position: ledger.Position{At: t.At, ID: t.ID}}
		for leg, e := range t.Entries {
			l := s.ledger.links[next]
			next++
			f.Links = append(f.Links, ledger.Link{
				Side: ledger.Side{Account: e.Account, Asset: e.Asset}, Seq: l.Seq, Amount: e.Amount, Balance: l.Balance,
				Transaction: t.ID, Leg: leg, Hash: l.Hash,
			})
			if q.Account != "" && e.Account == q.Account {
				f.Position = ledger.Position{Seq: int64(next)}
			}
		}
		if q.Matches(t) && before(f.Position, q.Before) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b ledger.Found) int { return comparePositions(b.Position, a.Position) })
	return found[:min(q.Size(), len(found))], nil
}

// before reports whether p comes after limit in an order with the newest first.
func before(p, limit ledger.Position) bool {
	return limit == ledger.Position{} || comparePositions(p, limit) < 0
}

func comparePositions(a, b ledger.Position) int {
	if a.Seq != b.Seq {
		return int(a.Seq - b.Seq)
	}
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// Heads lists the ends of the chains; see [ledger.HeadQuery].
func (s *Ledger) Heads(_ context.Context, q ledger.HeadQuery) ([]ledger.SideHead, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []ledger.SideHead{}
	for at, head := range s.ledger.heads {
		if at.Compare(q.After) > 0 && (q.Account == "" || q.Account == at.Account) {
			head.Balance = s.ledger.balances[side{at.Account, at.Asset}]
			list = append(list, ledger.SideHead{Side: at, Head: head})
		}
	}
	slices.SortFunc(list, func(a, b ledger.SideHead) int { return a.Compare(b.Side) })
	return list[:min(q.Size(), len(list))], nil
}

// Verifications lists the newest runs, newest first.
func (s *Ledger) Verifications(_ context.Context, limit int) ([]ledger.Verification, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.verifications)
	slices.Reverse(list)
	return list[:min(max(limit, 1), len(list))], nil
}

func (s *core) newestVerification() ledger.Verification {
	if len(s.verifications) == 0 {
		return ledger.Verification{}
	}
	return s.verifications[len(s.verifications)-1]
}

// AskVerification requests a run from the consumers; if one is waiting or running, it returns that
// one. Errors: errs.Conflict too soon after the last one.
func (s *Ledger) AskVerification(ctx context.Context, by uuid.UUID, now time.Time) (ledger.Verification, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newestVerification()
	v, err := ledger.Requested(newest, by, asStored(now))
	if err != nil || v.ID != 0 {
		return v, err
	}
	v.ID = newest.ID + 1
	if err := s.record(ctx, auditlog.OfVerification(v)); err != nil {
		return ledger.Verification{}, err
	}
	s.verifications = append(s.verifications, v)
	return v, nil
}

// BeginVerification takes the waiting run, or with nightly begins a new one; false if there is
// nothing to do or another process runs one.
func (s *Ledger) BeginVerification(_ context.Context, nightly bool, now time.Time) (ledger.Verification, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.newestVerification()
	v, begun := ledger.Begun(newest, nightly, asStored(now))
	switch {
	case !begun:
		return v, false, nil
	case v.ID != 0:
		s.verifications[len(s.verifications)-1] = v
	default:
		v.ID = newest.ID + 1
		s.verifications = append(s.verifications, v)
	}
	return v, true, nil
}

// EndVerification stores the findings of a run, once.
func (s *Ledger) EndVerification(_ context.Context, v ledger.Verification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.verifications {
		if held := &s.verifications[i]; held.ID == v.ID && held.EndedAt.IsZero() {
			held.EndedAt, held.Checks, held.Problem = asStored(v.EndedAt), slices.Clone(v.Checks), v.Problem
		}
	}
	s.verifications = s.verifications[max(0, len(s.verifications)-ledger.VerifyKept):]
	return nil
}
