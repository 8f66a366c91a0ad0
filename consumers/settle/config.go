package settle

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/ledger"
	"adnet/internal/stream"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// Config holds the operator's settings.
type Config struct {
	MaxBatch  int           `name:"settle-batch" env:"ADNET_SETTLE_BATCH" default:"5000" help:"Most events that one transaction settles."`
	TxTimeout time.Duration `name:"settle-tx-timeout" env:"ADNET_SETTLE_TX_TIMEOUT" default:"30s" help:"Longest time for one try of a transaction."`
	RetryMax  time.Duration `name:"settle-retry-max" env:"ADNET_SETTLE_RETRY_MAX" default:"5s" help:"Longest pause between tries while the store is out of reach."`
	MintCap   int64         `name:"mint-daily-cap" env:"ADNET_MINT_DAILY_CAP" default:"100000" help:"Most Credits that a publisher earns per UTC day; further impressions are recorded and billed and mint nothing. 0 is no cap."`
	// A campaign that sells through one publisher more often than once a minute is rare.
	ConversionCap int64 `name:"conversion-hourly-cap" env:"ADNET_CONVERSION_HOURLY_CAP" default:"100" help:"Most conversions that a campaign is charged for per publisher and hour; further ones are recorded with the verdict conversion_cap and not charged. 0 is no cap."`

	// Prepaid is ADNET_PREPAID=required: cash campaigns may only spend deposited balance. The
	// setting belongs to the whole product, so the wiring sets it.
	Prepaid bool `kong:"-"`
	// Unsigned is ADNET_UNSIGNED_BEACONS=bill: beacons without a token are billed by the campaign's
	// price.
	Unsigned bool `kong:"-"`
	// NetworkClicks is the most clicks of a network that a campaign is charged for on a UTC day, by
	// ADNET_CLICK_RATES; 0 for any number.
	NetworkClicks int64 `kong:"-"`
}

// Records is the consumer group's view of the events topic.
type Records interface {
	// Poll blocks until there are records or ctx ends. From then on rebalances wait for Done. The
	// records of one partition are in the order of their offsets, and valid until the next Poll.
	Poll(ctx context.Context, max int) ([]event.Record, error)
	// Done commits the offsets polled so far, as a hint for other tools, and lets rebalances go on.
	Done(ctx context.Context) error
	// Reset forgets what was polled and reads every assigned partition again from its stored
	// offset.
	Reset(ctx context.Context) error
}

// Store is the ledger's store.
type Store interface {
	// InTx runs apply in one transaction and commits when it returns nil.
	InTx(ctx context.Context, apply func(ledger.Tx) error) error
	// Offsets returns the next offset to apply; a partition that was never applied is absent.
	Offsets(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error)
}

// Deps holds the dependencies of a [Settler]. All are required but Now.
type Deps struct {
	Records Records
	Store   Store
	Keys    *token.Keyring // verifies auction tokens: the keys of ingress
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // dates the rows; time.Now when nil
}
