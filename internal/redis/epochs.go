package redis

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"
)

// gatherFor is how long nodes say what they hold before rebuilt reservations grant.
const gatherFor = time.Second

// Projection is all that a projector writes, and what a node loads of it.
type Projection struct {
	*Campaigns
	*Rooms
	*Epochs
}

// NewProjection makes views for one role. It does no I/O.
func NewProjection(client *Client) Projection {
	return Projection{NewCampaigns(client), NewRooms(client), NewEpochs(client)}
}

// Epochs are the lives of the reservations, as a projector sees them: it keeps one going, notices a Redis that was emptied
// or is older, and begins the next. Its methods may be called from any goroutine; each projector takes its own
// with [NewEpochs].
type Epochs struct {
	client *Client
	writer string // unique name of this value

	mu           sync.Mutex
	epoch        int64 // that was last beaten for
	beats, acked int64 // numbers of its last beat, and of the last that was answered
}

// NewEpochs makes a view of the epochs. It does no I/O.
func NewEpochs(client *Client) *Epochs { return &Epochs{client: client, writer: rand.Text()} }

// Beat says that this writer projects, and answers the epoch of the reservations as they are there: the writer's own
// when all is well, another when somebody rebuilt them, 0 when they are lost and have to be rebuilt.
func (e *Epochs) Beat(ctx context.Context, epoch int64) (current int64, err error) {
	e.mu.Lock()
	if e.epoch != epoch {
		e.epoch, e.beats, e.acked = epoch, 0, 0
	}
	e.beats++
	seq, acked := e.beats, e.acked
	e.mu.Unlock()
	keys := []string{e.client.keys.reservations, e.client.keys.reserved(epoch).seen()}
	text, err := beatScript.Run(ctx, e.client.rdb, keys, epoch, "projector/"+e.writer, seq, acked, reservationMemory.Milliseconds()).Text()
	if err != nil {
		return 0, e.client.explain(err)
	}
	if current, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, e.client.explain(err)
	}
	if current == epoch {
		e.mu.Lock()
		if e.epoch == epoch {
			e.acked = max(e.acked, seq)
		}
		e.mu.Unlock()
	}
	return current, nil
}

// Open lets nodes work in epoch: its rooms must all be published. It answers the epoch that holds, which is a later one
// when another writer was quicker. For a second after it nothing is granted: the nodes first say what they hold.
func (e *Epochs) Open(ctx context.Context, epoch int64) (current int64, err error) {
	text, err := openScript.Run(ctx, e.client.rdb, []string{e.client.keys.reservations}, epoch, gatherFor.Milliseconds()).Text()
	if err != nil {
		return 0, e.client.explain(err)
	}
	current, err = strconv.ParseInt(text, 10, 64)
	return current, err
}
