package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// A node runs only a few changes of one account at a time; the others wait for their turn. The
// stores apply changes one after the other, so without turns an account that sends a minute's worth
// of changes at once would delay those of all other accounts.
const (
	turnsAtOnce = 2
	turnWait    = 5 * time.Second // an account that waits longer sends faster than it is served
)

// turns holds the turns of the accounts with running changes.
type turns struct {
	mu sync.Mutex
	of map[uuid.UUID]*turn
}

type turn struct {
	slots chan struct{}
	users int // requests with a slot or waiting for one; the turn is deleted at 0
}

// take waits for a turn of an account and holds it until leave is called. Errors: errs.RateLimited
// after turnWait.
func (t *turns) take(ctx context.Context, account uuid.UUID) (leave func(), err error) {
	t.mu.Lock()
	current := t.of[account]
	if current == nil {
		if t.of == nil {
			t.of = make(map[uuid.UUID]*turn)
		}
		current = &turn{slots: make(chan struct{}, turnsAtOnce)}
		t.of[account] = current
	}
	current.users++
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case current.slots <- struct{}{}:
		return func() {
			<-current.slots
			t.forget(account, current)
		}, nil
	case <-ctx.Done():
		t.forget(account, current)
		return nil, errs.New(
			errs.RateLimited, "too many changes of this account at once; wait for the answers",
		).With("retry_after", 1)
	}
}

func (t *turns) forget(account uuid.UUID, current *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if current.users--; current.users == 0 {
		delete(t.of, account)
	}
}
