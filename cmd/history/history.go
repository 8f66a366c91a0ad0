// Package history applies an invented past to the stores of in-memory mode: it runs the consumers
// of the log over records in the process, with a clock that shows the time of the past. So the
// demo's money and statistics come from the code that real traffic passes.
package history

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/cmd/backends"
	"adnet/consumers/archive"
	"adnet/consumers/credit"
	"adnet/consumers/quarantine"
	"adnet/consumers/settle"
	"adnet/internal/demo"
	"adnet/internal/money"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// Rules of the past: those of a network whose money is real, so that Credits show every state.
const (
	hold     = 7 * 24 * time.Hour
	longHold = 28 * 24 * time.Hour
	// leastEvents lets the share of invalid traffic count on the demo's few events.
	leastEvents  = 4
	invalidShare = 0.5
	batch        = 4096
	wait         = 30 * time.Second // of one step; in memory none takes long
)

// Deps are the dependencies of [Replay].
type Deps struct {
	Stores *backends.All
	Keys   *token.Keyring
	Value  money.Micros     // of a Credit
	Now    func() time.Time // the clock of the past
}

// Replay applies days one after another. It is not safe for concurrent use.
type Replay struct {
	deps     Deps
	quiet    *slog.Logger
	auctions *tape
	events   *tape
	releases *credit.Releaser
	cases    *quarantine.Detector
}

// New returns a Replay. Its metrics are its own: a past is not this process's work. Errors: those of
// the consumers' constructors.
func New(deps Deps) (*Replay, error) {
	deps.Now = schedule.Clock(deps.Now)
	r := &Replay{
		deps: deps, quiet: slog.New(slog.DiscardHandler),
		auctions: newTape(event.TopicAuctions), events: newTape(event.TopicEvents),
	}
	var err error
	if r.releases, err = credit.New(
		credit.Config{Hold: hold, LongHold: longHold, Value: deps.Value},
		credit.Deps{Store: deps.Stores.Stores.Ledger, Log: r.quiet, Metrics: prometheus.NewRegistry(), Now: deps.Now},
	); err != nil {
		return nil, err
	}
	r.cases, err = quarantine.New(
		quarantine.Config{MinEvents: leastEvents, InvalidShare: invalidShare, Network: "off"},
		quarantine.Deps{
			Store: deps.Stores.Stores.Publishers, Ads: deps.Stores.ShowRates, Log: r.quiet,
			Metrics: prometheus.NewRegistry(), Now: deps.Now,
		},
	)
	return r, err
}

// Apply settles and archives a day, releases Credits, and judges its publishers. Errors: those of the
// stores.
func (r *Replay) Apply(ctx context.Context, day demo.Log) error {
	for _, step := range []func(context.Context, demo.Log) error{r.copyAuctions, r.settle, r.archive, r.close} {
		if err := step(ctx, day); err != nil {
			return fmt.Errorf("%s: %w", day.Until.Format(time.DateOnly), err)
		}
	}
	return nil
}

// blocks are the archive's settings: everything that waits is one block.
var blocks = archive.Config{
	ChunkRows: batch, Tick: time.Millisecond, BufferRecords: 1 << 20, BufferBytes: 1 << 30, InsertTimeout: wait,
}

func (r *Replay) copyAuctions(ctx context.Context, day demo.Log) error {
	reader := r.auctions.play(day.Auctions, nil)
	copies, err := archive.NewAuctions(blocks, archive.CopyDeps[report.Auction]{
		Records: reader, Insert: r.deps.Stores.Analytics.InsertAuctions, Seal: r.deps.Keys.Outcomes(), Log: r.quiet,
		Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		return err
	}
	return reader.through(ctx, copies)
}

func (r *Replay) settle(ctx context.Context, day demo.Log) error {
	reader := r.events.play(day.Events, nil)
	settler, err := settle.New(settle.Config{MaxBatch: batch, TxTimeout: wait, RetryMax: time.Second}, settle.Deps{
		Records: reader, Store: r.deps.Stores.Stores.Ledger, Keys: r.deps.Keys, Log: r.quiet,
		Metrics: prometheus.NewRegistry(), Now: r.deps.Now,
	})
	if err != nil {
		return err
	}
	return reader.through(ctx, settler)
}

func (r *Replay) archive(ctx context.Context, day demo.Log) error {
	plans := r.deps.Stores.Stores.Archive
	reader := r.events.again(len(day.Events), plans.Archived)
	archiver, err := archive.New(blocks, archive.Deps{
		Records: reader, Plans: plans, Sink: r.deps.Stores.Analytics, Log: r.quiet, Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		return err
	}
	return reader.through(ctx, archiver)
}

func (r *Replay) close(ctx context.Context, _ demo.Log) error {
	if _, err := r.releases.Release(ctx); err != nil {
		return err
	}
	_, err := r.cases.Judge(ctx)
	return err
}
