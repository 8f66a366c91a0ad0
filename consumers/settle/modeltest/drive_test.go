package modeltest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/consumers/settle"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres"
	"adnet/internal/store/postgres/books"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// fault is what the next transaction of an applier meets.
type fault int

const (
	noFault     fault = iota
	lostBefore        // the transaction is rolled back at its end
	lostAfter         // it is committed, the answer is lost
	crashBefore       // as lostBefore, and the applier dies
	crashAfter        // as lostAfter, and the applier dies
)

var (
	errConnection = errors.New("connection lost")
	errCrash      = errors.New("process killed")
)

// commits notes what was committed, and in which order transactions had locked the books: that is
// the order in which they happened, since the locks are held to the end.
type commits struct {
	clock atomic.Int64
	mu    sync.Mutex
	list  []commit
}

type commit struct {
	place  int64
	ranges []stream.Range
}

// take hands out the commits since the last call, in their order.
func (c *commits) take() []commit {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	slices.SortFunc(list, func(a, b commit) int { return cmp.Compare(a.place, b.place) })
	return list
}

// store is PostgreSQL behind a connection that can break.
type store struct {
	*books.Ledger
	commits *commits
	next    fault // of the next transaction, then none
	died    func()
}

func (s *store) InTx(ctx context.Context, apply func(ledger.Tx) error) error {
	f := s.next
	s.next = noFault
	var seen *orderedTx
	err := s.Ledger.InTx(ctx, func(tx ledger.Tx) error {
		seen = &orderedTx{Tx: tx, clock: &s.commits.clock}
		err := apply(seen)
		if err == nil && (f == lostBefore || f == crashBefore) {
			err = errConnection
		}
		return err
	})
	if err == nil {
		s.commits.mu.Lock()
		s.commits.list = append(s.commits.list, seen.commit)
		s.commits.mu.Unlock()
	}
	switch f {
	case crashBefore, crashAfter:
		s.died()
		return errors.Join(errCrash, err)
	case lostAfter:
		return errors.Join(errConnection, err)
	}
	return err
}

type orderedTx struct {
	ledger.Tx
	clock *atomic.Int64
	commit
}

func (t *orderedTx) AdvanceOffsets(ctx context.Context, ranges []stream.Range) error {
	t.ranges = ranges
	return t.Tx.AdvanceOffsets(ctx, ranges)
}

func (t *orderedTx) Books(ctx context.Context, need ledger.Need) (ledger.Books, error) {
	books, err := t.Tx.Books(ctx, need)
	t.place = t.clock.Add(1)
	return books, err
}

// feed is the log of one applier: what the test hands in is polled, and how it ended is handed
// back.
type feed struct {
	polls chan []event.Record
	ended chan string
}

func (f *feed) Poll(ctx context.Context, _ int) ([]event.Record, error) {
	select {
	case records := <-f.polls:
		return records, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *feed) Done(context.Context) error  { f.ended <- "done"; return nil }
func (f *feed) Reset(context.Context) error { f.ended <- "reset"; return nil }

// applier is a real settler on the real store, started again whenever it was killed.
type applier struct {
	feed   *feed
	store  *store
	stop   func()
	killed context.Context // ends when it is killed or stopped
	dead   chan struct{}
}

func startApplier(t testing.TB, db *postgres.Stores, c *commits, prepaid bool) *applier {
	a := &applier{feed: &feed{polls: make(chan []event.Record), ended: make(chan string, 1)}, dead: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	a.killed = ctx
	a.store = &store{Ledger: db.Ledger, commits: c, died: cancel}
	s, err := settle.New(
		settle.Config{
			MaxBatch: 1000, TxTimeout: 20 * time.Second, RetryMax: time.Millisecond, Prepaid: prepaid, MintCap: mintCap,
			ConversionCap: conversionCap, Unsigned: true,
		},
		settle.Deps{
			Records: a.feed, Store: a.store, Keys: ring, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Metrics: prometheus.NewRegistry(),
		})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(a.dead)
		_ = s.Run(ctx)
	}()
	a.stop = func() {
		cancel()
		<-a.dead
	}
	return a
}

// settle hands records in and waits for the end: "done", "reset" (fenced) or "dead".
func (a *applier) settle(records []event.Record, f fault) string {
	a.store.next = f
	select {
	case a.feed.polls <- records:
	case <-a.dead:
		return "dead"
	}
	select {
	case how := <-a.feed.ended:
		if a.killed.Err() == nil {
			return how
		}
	case <-a.dead:
	}
	<-a.dead
	select { // it may have said something with its last breath
	case <-a.feed.ended:
	default:
	}
	return "dead"
}
