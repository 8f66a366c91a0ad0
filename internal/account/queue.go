package account

import (
	"context"
	"sync"
)

// Asker is the caller for whom a password is hashed.
type Asker struct {
	Network string // see traffic.Block; empty for the server itself
	// Known reports whether the account was logged in to from this network or browser before. It is
	// called only if the caller has to wait. nil is false.
	Known func() bool
}

type askerKey struct{}

// WithAsker returns a context whose hashes wait in the turn of a caller.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// askerOf returns the caller of a context, and without one the server itself.
func askerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askerKey{}).(Asker)
	return a
}

// knownAsker reports whether the account was logged in to from the caller's network before.
func knownAsker(ctx context.Context) bool {
	a := askerOf(ctx)
	return a.Known != nil && a.Known()
}

// hashPlaces is the maximum number of callers that wait for a core: half a second for one core.
// Strangers and known callers have as many each. Further callers are rejected at once and can retry.
const hashPlaces = 20

// maxServed bounds the networks whose latest turn is remembered.
const maxServed = 4096

// turns gives slots to callers in turns: strangers and known callers alternately, and of each the
// network whose latest turn is longest ago. One network cannot keep the others waiting, however many
// callers it has: each network has one place of its own, and uses more only while they are free.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting [2][]*waiter // strangers, known
	last    int          // of waiting: whose turn was the latest
	served  map[string]uint64
	turn    uint64
}

type waiter struct {
	network string
	granted chan error // receives nil with a slot, or errBusy
}

func newTurns(slots int) *turns { return &turns{free: slots, served: make(map[string]uint64)} }

// acquire waits for a slot, which release gives back. Errors: errs.RateLimited without a place, and
// those of ctx.
func (t *turns) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := askerOf(ctx)
	if t.take(a.Network) {
		return nil
	}
	of := 0
	if a.Known != nil && a.Known() { // may read a store: outside the lock
		of = 1
	}
	w := &waiter{network: a.Network, granted: make(chan error, 1)}
	t.enter(w, of)
	select {
	case err := <-w.granted:
		return err
	case <-ctx.Done():
	}
	if !t.leave(w, of) && <-w.granted == nil { // the slot came meanwhile
		t.release()
	}
	return ctx.Err()
}

// take takes a free slot.
func (t *turns) take(network string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free == 0 {
		return false
	}
	t.free--
	t.serve(network)
	return true
}

// enter gives w a place, or its slot if one is free by now. If all places are taken, one of the
// network with the most of them is taken back.
func (t *turns) enter(w *waiter, of int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		t.serve(w.network)
		w.granted <- nil
		return
	}
	t.waiting[of] = append(t.waiting[of], w)
	if len(t.waiting[of]) > hashPlaces {
		lost := t.loser(t.waiting[of])
		t.remove(lost, of)
		lost.granted <- errBusy
	}
}

// loser returns the caller that loses its place: of the network with the most, or if they have
// equally many, of the network with the latest turn, and of equal ones the newest.
func (t *turns) loser(all []*waiter) (lost *waiter) {
	count := make(map[string]int)
	for _, w := range all {
		count[w.network]++
	}
	for _, w := range all {
		switch {
		case lost == nil, count[w.network] > count[lost.network]:
			lost = w
		case count[w.network] == count[lost.network] && t.served[w.network] >= t.served[lost.network]:
			lost = w
		}
	}
	return lost
}

// release passes a slot on.
func (t *turns) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := 1 - t.last
	if len(t.waiting[of]) == 0 {
		of = t.last
	}
	if len(t.waiting[of]) == 0 {
		t.free++
		return
	}
	next := t.waiting[of][0]
	for _, w := range t.waiting[of] {
		if t.served[w.network] < t.served[next.network] {
			next = w
		}
	}
	t.last = of
	t.remove(next, of)
	t.serve(next.network)
	next.granted <- nil
}

// leave takes w's place back and reports whether it still had one.
func (t *turns) leave(w *waiter, of int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(w, of)
}

func (t *turns) remove(w *waiter, of int) bool {
	for i, o := range t.waiting[of] {
		if o == w {
			t.waiting[of] = append(t.waiting[of][:i:i], t.waiting[of][i+1:]...)
			return true
		}
	}
	return false
}

// serve records a turn of a network.
func (t *turns) serve(network string) {
	t.turn++
	t.served[network] = t.turn
	if len(t.served) <= 2*maxServed {
		return
	}
	for n, turn := range t.served {
		if turn+maxServed < t.turn {
			delete(t.served, n)
		}
	}
}

// waits returns the number of callers that wait.
func (t *turns) waits() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting[0]) + len(t.waiting[1])
}
