// Package backends opens the stores and the log, on real servers or in memory, and holds the
// settings that roles and operator commands share. It contains no business logic.
package backends

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/analytics/rollup"
	"adnet/consumers/archive"
	"adnet/consumers/credit"
	"adnet/consumers/forecast"
	"adnet/consumers/goal"
	"adnet/consumers/learn"
	"adnet/consumers/project"
	"adnet/consumers/quarantine"
	"adnet/consumers/retain"
	"adnet/consumers/settle"
	"adnet/consumers/standing"
	"adnet/consumers/unsuitable"
	"adnet/consumers/verify"
	"adnet/ingress/billing"
	"adnet/ingress/budget"
	"adnet/ingress/catalog"
	"adnet/ingress/explain"
	"adnet/ingress/manage"
	"adnet/ingress/oversee"
	"adnet/ingress/track"
	"adnet/internal/account"
	"adnet/internal/adreport"
	"adnet/internal/campaign"
	"adnet/internal/deadletter"
	"adnet/internal/decision"
	"adnet/internal/family"
	"adnet/internal/kafka"
	"adnet/internal/ledger"
	"adnet/internal/memory"
	"adnet/internal/once"
	"adnet/internal/payment"
	"adnet/internal/person"
	"adnet/internal/postgres"
	"adnet/internal/redis"
	"adnet/internal/reserve"
)

// Books is the set of tables that both kinds of storage provide.
type Books interface {
	account.UserStore
	account.KeyStore
	account.NetworkStore
	account.SessionStore
	account.FactorStore
	account.LinkStore
	account.BlockStore
	person.Store
	account.PublishingStore
	campaign.Store
	campaign.Changes
	settle.Store
	archive.Plans
	payment.Store
	family.Rulings
	billing.Ledger
	billing.Publishers
	quarantine.Store
	credit.Store
	manage.AuditLog
	manage.UnprovenReader
	track.UnprovenStore
	once.Store
	decision.Store
	adreport.Store
	budget.Journal
	retain.Store
	goal.Store
	standing.Store
	verify.Store
	oversee.Ledger
	deadletter.Store
	Verify(ctx context.Context, o ledger.VerifyOptions) ([]ledger.Check, error)
	ArchivedTotals(ctx context.Context) (ledger.Totals, error)
}

// Both kinds of storage are products and pass the same conformance suite (internal/storetest).
var (
	_ Books = (*postgres.Store)(nil)
	_ Books = (*memory.Store)(nil)
)

// Analytics is the store of settled events.
type Analytics interface {
	archive.Sink
	archive.AuctionSink
	archive.NoticeSink
	Totals(ctx context.Context) (ledger.Totals, error)
	Billable(ctx context.Context) (ledger.Billable, error)
	HighestCharges(ctx context.Context) ([]ledger.HighestCharge, error)
}

// Ranking stores learned weights, for the learner and the nodes.
type Ranking interface {
	learn.Store
	catalog.Weights
}

// All holds every backend of the roles, real or in memory. The roles do not depend on which it is.
type All struct {
	Books     Books
	Rooms     project.Source
	Analytics Analytics
	Stats     manage.StatsReader
	Past      explain.History
	Rollup    manage.Aggregator
	Nightly   *rollup.Rollup  // nil in memory, where nothing needs a rollup
	Counted   forecast.Source // counts of opportunities; nil in memory, which does not live longer than a day
	Rates     unsuitable.Source
	ShowRates quarantine.Source
	Ranking   Ranking      // learned weights
	Terms     Terms        // recorded terms of auctions; nil in memory, which records none
	Learned   learn.Source // nil in memory, where nothing is learned
	Redis     *redis.Client
	Kafka     kafka.Config

	closers []func()
}

// Terms returns the terms of a request that were recorded for its auction.
type Terms interface {
	RecordedTerms(ctx context.Context, auction uuid.UUID, at time.Time) ([]uint32, error)
}

// Close closes all connections in the reverse order of opening.
func (b *All) Close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		b.closers[i]()
	}
}

// Deps are the dependencies of opening, besides the settings.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// roomSource combines the two sources that the projection follows.
type roomSource struct {
	campaign.Changes
	roomReader
}

type roomReader interface {
	Rooms(ctx context.Context, cursor int64) (rooms []reserve.Room, next int64, err error)
	project.Epochs
}

// RoomsOf returns the projection's sources in PostgreSQL: changed campaigns and their remaining
// budgets.
func RoomsOf(store *postgres.Store, funds Money) project.Source {
	return roomSource{Changes: store, roomReader: store.RoomReader(funds.rooms())}
}
