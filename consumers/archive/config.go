package archive

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// Config holds the operator's settings. It serves both [Archiver] and [Copier].
type Config struct {
	ChunkRows     int           `name:"archive-chunk-rows" env:"ADNET_ARCHIVE_CHUNK_ROWS" default:"50000" help:"Most rows of one insert into the analytics store."`
	Linger        time.Duration `name:"archive-linger" env:"ADNET_ARCHIVE_LINGER" default:"250ms" help:"Least time between two inserts of less than a full block. Longer is less work, shorter fresher stats."`
	Tick          time.Duration `name:"archive-tick" env:"ADNET_ARCHIVE_TICK" default:"50ms" help:"How often settled events are looked for."`
	BufferRecords int           `name:"archive-buffer-records" env:"ADNET_ARCHIVE_BUFFER_RECORDS" default:"400000" help:"Events that may wait in memory for their verdicts before reading stops."`
	BufferBytes   int           `name:"archive-buffer-bytes" env:"ADNET_ARCHIVE_BUFFER_BYTES" default:"134217728" help:"Bytes of events that may wait in memory for their verdicts before reading stops."`
	InsertTimeout time.Duration `name:"archive-insert-timeout" env:"ADNET_ARCHIVE_INSERT_TIMEOUT" default:"30s" help:"Longest time for one insert into the analytics store."`
}

// Records is a consumer group's view of a topic.
type Records interface {
	// Poll blocks until there are records or ctx ends. From then on rebalances wait for Done. The
	// records of one partition are in the order of their offsets, and valid until the next Poll.
	Poll(ctx context.Context, max int) ([]event.Record, error)
	// Done commits the offsets polled so far and lets rebalances go on.
	Done(ctx context.Context) error
	// Read returns the remaining records of a range from the log, in the order of offsets,
	// regardless of the assignment of its partition.
	Read(ctx context.Context, r stream.Range) ([]event.Record, error)
}

// Plans stores the plans of inserts: which ranges of the log are archived together.
type Plans interface {
	// Archived returns the archived offset of each partition; a partition never archived is absent.
	Archived(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error)
	// NextPlan plans and returns the next insert of the given partitions: settled records below
	// each one's Next, at most maxRows rows, but never less than one applied range. While one of
	// the partitions is in an unmarked plan, NextPlan returns that plan. An empty plan means that
	// everything settled is archived.
	NextPlan(ctx context.Context, buffered []stream.Range, maxRows int) (ledger.Planned, error)
	// MarkArchived records that the plan's block is in the analytics store. It is idempotent.
	MarkArchived(ctx context.Context, p stream.Plan) error
	// Judged returns at most limit records of [ledger.EarlyStream] that are not archived, by
	// partition and offset, and JudgedWithin those of a range.
	Judged(ctx context.Context, limit int) ([]ledger.Judged, error)
	JudgedWithin(ctx context.Context, r stream.Range) ([]ledger.Judged, error)
}

// Sink is the analytics store. Repeating an insert under the same token changes nothing. The rows
// are valid until Insert returns.
type Sink interface {
	Insert(ctx context.Context, token string, rows []report.Row) error
}

// Deps holds the dependencies of an [Archiver]. All are required.
type Deps struct {
	Records Records
	Plans   Plans
	Sink    Sink
	Log     *slog.Logger
	Metrics prometheus.Registerer
}
