package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Changes of one account run few at a time on a node, and the others wait for their turn. The
// stores make changes one after the other: without turns whoever sends a minute's worth of them at
// once has everybody else's pause wait behind them.
const (
	turnsAtOnce = 2
	turnWait    = 5 * time.Second // longer than that, the account sends more than it is answered
)

// turns are those of the accounts that change something now.
type turns struct {
	mu sync.Mutex
	of map[uuid.UUID]*turn
}

type turn struct {
	slots chan struct{}
	users int // that have a slot or wait for one; without any the account is forgotten
}

// take waits for a turn of an account and takes it, until leave is called. Errors: errs.RateLimited
// after turnWait.
func (t *turns) take(ctx context.Context, account uuid.UUID) (leave func(), err error) {
	t.mu.Lock()
	one := t.of[account]
	if one == nil {
		if t.of == nil {
			t.of = make(map[uuid.UUID]*turn)
		}
		one = &turn{slots: make(chan struct{}, turnsAtOnce)}
		t.of[account] = one
	}
	one.users++
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case one.slots <- struct{}{}:
		return func() {
			<-one.slots
			t.forget(account, one)
		}, nil
	case <-ctx.Done():
		t.forget(account, one)
		return nil, errs.New(
			errs.RateLimited, "too many changes of this account at once; wait for their answers",
		).With("retry_after", 1)
	}
}

func (t *turns) forget(account uuid.UUID, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.of, account)
	}
}
