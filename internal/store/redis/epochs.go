package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"

	"adnet/internal/ledger/reserve"
)

// Projection is all data written by a projector and loaded by a node.
type Projection struct {
	*Campaigns
	*Rooms
	*Epochs
}

// NewProjection returns views for one role. It does no I/O.
func NewProjection(client *Client) Projection {
	return Projection{NewCampaigns(client), NewRooms(client), NewEpochs(client)}
}

// Epochs is a projector's view of the epochs of the reservations: it keeps one alive, detects an
// emptied or older Redis, and begins the next. Its methods may be called from any goroutine; each
// projector takes its own with [NewEpochs].
type Epochs struct {
	client *Client
	writer string // unique name of this value

	mu           sync.Mutex
	epoch        int64 // epoch of the last beat
	beats, acked int64 // numbers of the last beat, and of the last answered one
}

// NewEpochs returns a view of the epochs. It does no I/O.
func NewEpochs(client *Client) *Epochs { return &Epochs{client: client, writer: rand.Text()} }

// Beat records that this writer projects, and returns the current epoch of the reservations:
// normally the writer's own, another if a different writer rebuilt them, 0 if they are lost and
// must be rebuilt.
func (e *Epochs) Beat(ctx context.Context, epoch int64) (current int64, err error) {
	e.mu.Lock()
	if e.epoch != epoch {
		e.epoch, e.beats, e.acked = epoch, 0, 0
	}
	e.beats++
	seq, acked := e.beats, e.acked
	e.mu.Unlock()
	keys := []string{e.client.keys.reservations, e.client.keys.reserved(epoch).seen()}
	text, err := beatScript.Run(
		ctx, e.client.rdb, keys, epoch, "projector/"+e.writer, seq, acked, reservationMemory.Milliseconds(),
	).Text()
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

// Open lets nodes report their reservations in epoch, whose rooms must all be published. It returns
// the current epoch, which is a later one when another writer was faster. Nothing is granted before
// [Epochs.Grant].
func (e *Epochs) Open(ctx context.Context, epoch int64) (current int64, err error) {
	text, err := openScript.Run(ctx, e.client.rdb, []string{e.client.keys.reservations}, epoch, never).Text()
	if err != nil {
		return 0, e.client.explain(err)
	}
	current, err = strconv.ParseInt(text, 10, 64)
	return current, err
}

// Tell reports a node's reservations in its name. Errors: Redis does not answer, or epoch is no
// longer the current one.
func (e *Epochs) Tell(ctx context.Context, epoch int64, call reserve.Call) error {
	call.Epoch = epoch
	reply, err := NewReservations(e.client).Exchange(ctx, call)
	if err != nil {
		return err
	}
	if reply.State != reserve.Counted {
		return errEpoch
	}
	return nil
}

// never is the grant time of an epoch that may not grant, ms.
const never = 1 << 52

var errEpoch = errors.New("the reservations have moved to another epoch meanwhile")

// Grant lets epoch grant, after the reservations of unreachable nodes were reported. Errors: Redis
// does not answer, or epoch is no longer the current one.
func (e *Epochs) Grant(ctx context.Context, epoch int64) error {
	granted, err := grantScript.Run(ctx, e.client.rdb, []string{e.client.keys.reservations}, epoch).Int()
	if err != nil {
		return e.client.explain(err)
	}
	if granted == 0 {
		return errEpoch
	}
	return nil
}

// Grants reports whether epoch is the current one and grants.
func (e *Epochs) Grants(ctx context.Context, epoch int64) (bool, error) {
	values, err := e.client.rdb.HMGet(ctx, e.client.keys.reservations, "epoch", "opens").Result()
	if err != nil {
		return false, e.client.explain(err)
	}
	return values[0] == strconv.FormatInt(epoch, 10) && values[1] != nil && values[1] != strconv.Itoa(never), nil
}

// Knows reports whether the reservations of epoch include calls: the numbers of the nodes' last
// calls.
func (e *Epochs) Knows(ctx context.Context, epoch int64, calls map[string]int64) (bool, error) {
	heard, err := e.client.rdb.HGetAll(ctx, e.client.keys.reserved(epoch).seen()).Result()
	if err != nil {
		return false, e.client.explain(err)
	}
	for node, seq := range calls {
		if last, err := strconv.ParseInt(heard[node], 10, 64); seq > 0 && (err != nil || last < seq) {
			return false, nil
		}
	}
	return true, nil
}
