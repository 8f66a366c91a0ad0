package httpapi

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Scans share the connections to the analytics store. Accounts take turns: one that sends a
// minute's worth of scans at once delays its own, not those of others.
const (
	scansAtOnce   = 6 // of the 8 connections that a node has by default
	scansOfOne    = 2 // of an account at once
	scansInWait   = 16
	scanWait      = 10 * time.Second // as long as a scan lasts at most
	scanConnsFree = 2                // connections that scans of accounts leave to the node's own
)

// scans is the queue of the scans of all accounts on this node.
type scans struct {
	mu    sync.Mutex
	free  int
	of    map[uuid.UUID]*scanning
	order []uuid.UUID // accounts with waiting scans; the next one's turn is first
}

// scanning holds the scans of an account.
type scanning struct {
	running int
	waiting []chan struct{} // closed when the scan may run
}

func newScans(atOnce int) *scans {
	if atOnce <= 0 {
		atOnce = scansAtOnce
	}
	return &scans{free: atOnce, of: make(map[uuid.UUID]*scanning)}
}

// ScansOf returns the number of scans at once for a number of connections to the analytics store.
func ScansOf(connections int) int { return max(connections-scanConnsFree, 1) }

// take waits for a turn of an account and holds it until leave is called. Errors: errs.RateLimited
// after scanWait, or if the account has too many scans that wait.
func (s *scans) take(ctx context.Context, account uuid.UUID) (leave func(), err error) {
	turn, queued := s.join(account)
	if !queued {
		return nil, errTooManyScans()
	}
	ctx, cancel := context.WithTimeout(ctx, scanWait)
	defer cancel()
	select {
	case <-turn:
		return func() { s.leave(account) }, nil
	case <-ctx.Done():
	}
	if s.giveUp(account, turn) {
		return nil, errTooManyScans()
	}
	return func() { s.leave(account) }, nil // its turn came at the same time
}

func errTooManyScans() error {
	return errs.New(
		errs.RateLimited, "too many stats and explanations of this account at once; wait for the answers",
	).With("retry_after", 1)
}

// join adds a scan to the queue. queued is false if the account has too many.
func (s *scans) join(account uuid.UUID) (turn chan struct{}, queued bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.of[account]
	if current == nil {
		current = &scanning{}
		s.of[account] = current
	}
	if len(current.waiting) >= scansInWait {
		return nil, false
	}
	turn = make(chan struct{})
	if current.waiting = append(current.waiting, turn); len(current.waiting) == 1 {
		s.order = append(s.order, account)
	}
	s.start()
	return turn, true
}

// start gives the free places to the accounts in their order. The caller holds s.mu.
func (s *scans) start() {
	for i := 0; s.free > 0 && i < len(s.order); {
		account := s.order[i]
		current := s.of[account]
		if current.running >= scansOfOne {
			i++
			continue
		}
		close(current.waiting[0])
		current.waiting = current.waiting[1:]
		current.running++
		s.free--
		s.order = slices.Delete(s.order, i, i+1)
		if len(current.waiting) > 0 {
			s.order = append(s.order, account)
		}
	}
}

// leave ends a scan of an account.
func (s *scans) leave(account uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[account].running--
	s.free++
	s.forget(account)
	s.start()
}

// giveUp removes a scan that still waits.
func (s *scans) giveUp(account uuid.UUID, turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.of[account]
	at := slices.Index(current.waiting, turn)
	if at < 0 {
		return false
	}
	current.waiting = slices.Delete(current.waiting, at, at+1)
	if len(current.waiting) == 0 {
		s.order = slices.DeleteFunc(s.order, func(id uuid.UUID) bool { return id == account })
	}
	s.forget(account)
	return true
}

// forget removes an account without scans. The caller holds s.mu.
func (s *scans) forget(account uuid.UUID) {
	if current := s.of[account]; current.running == 0 && len(current.waiting) == 0 {
		delete(s.of, account)
	}
}
