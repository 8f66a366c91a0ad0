// Package backends opens the stores and the log, on real servers or in memory, and holds the
// settings that roles and operator commands share. It decides nothing.
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

// Books are the tables that both kinds of storage keep.
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
	verify.Store
	oversee.Ledger
	deadletter.Store
	Verify(ctx context.Context, o ledger.VerifyOptions) ([]ledger.Check, error)
	ArchivedTotals(ctx context.Context) (ledger.Totals, error)
	HighestBids(ctx context.Context) ([]ledger.HighestBid, error)
}

// Both kinds of storage are products, held to one conformance suite (internal/storetest).
var (
	_ Books = (*postgres.Store)(nil)
	_ Books = (*memory.Store)(nil)
)

// Analytics is the store of decided events.
type Analytics interface {
	archive.Sink
	archive.AuctionSink
	archive.NoticeSink
	Totals(ctx context.Context) (ledger.Totals, error)
	Billable(ctx context.Context) (ledger.Billable, error)
	HighestCharges(ctx context.Context) ([]ledger.HighestCharge, error)
}

// Ranking keeps learnt weights, for those who learn and for nodes.
type Ranking interface {
	learn.Store
	catalog.Weights
}

// All is everything outside the roles, real or in memory; the roles cannot tell the difference.
type All struct {
	Books     Books
	Rooms     project.Source
	Analytics Analytics
	Stats     manage.StatsReader
	Past      explain.History
	Rollup    manage.Aggregator
	Nightly   *rollup.Rollup  // nil in memory, where nothing needs rolling up
	Counted   forecast.Source // of opportunities; nil in memory, which does not live longer than a day
	Rates     unsuitable.Source
	Ranking   Ranking      // learnt weights
	Terms     Terms        // recorded of auctions; nil in memory, which records none
	Learned   learn.Source // nil in memory, where nothing is learnt
	Redis     *redis.Client
	Kafka     kafka.Config

	closers []func()
}

// Terms tells which terms of a request were recorded of its auction.
type Terms interface {
	RecordedTerms(ctx context.Context, auction uuid.UUID, at time.Time) ([]uint32, error)
}

// Close closes every connection, the last one opened first.
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

// roomSource joins the two sources that the projection follows.
type roomSource struct {
	campaign.Changes
	roomReader
}

type roomReader interface {
	Rooms(ctx context.Context, cursor int64) (rooms []reserve.Room, next int64, err error)
	project.Epochs
}

// RoomsOf gives the projection its sources in PostgreSQL: changed campaigns and their remaining
// budgets.
func RoomsOf(store *postgres.Store, funds Money) project.Source {
	return roomSource{Changes: store, roomReader: store.RoomReader(funds.rooms())}
}
