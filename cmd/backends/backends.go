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
	"adnet/ingress/api/billing"
	"adnet/ingress/api/explain"
	"adnet/ingress/api/manage"
	"adnet/ingress/api/oversee"
	"adnet/ingress/budget"
	"adnet/ingress/catalog"
	"adnet/ingress/track"
	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/decision"
	"adnet/internal/compliance/person"
	"adnet/internal/kafka"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/once"
	"adnet/internal/outbound/notice"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/payment"
	"adnet/internal/report"
	"adnet/internal/store/memory"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
	"adnet/internal/stream/deadletter"
)

// Stores holds the tables that both kinds of storage provide, a store for each domain. Both kinds
// are products and pass the same conformance suite (internal/store/storetest).
type Stores struct {
	Accounts   Accounts
	Logins     Logins
	Families   family.Rulings
	Campaigns  Campaigns
	Ledger     Ledger
	Archive    Archive
	Payments   payment.Store
	Publishers Publishers
	Audit      Audit
	AdReports  adreport.Store
	Traffic    Traffic
	Journal    budget.Journal
	Requests   once.Store
	Letters    deadletter.Store
	Retention  retain.Store
	Outbox     outbox.Store
	Webhooks   webhook.Store
	Notices    notice.Store
}

// Accounts is the store of accounts and their names.
type Accounts interface {
	person.Accounts
	account.NameStore
}

// Logins is the store of sessions and of everything else that a login needs.
type Logins interface {
	account.NetworkStore
	account.SessionStore
	account.FactorStore
	account.LinkStore
}

// Campaigns is the store of campaigns, their goals and their standings.
type Campaigns interface {
	campaign.Store
	campaign.TitleStore
	campaign.Changes
	goal.Store
	standing.Store
}

// Ledger is the store of the books.
type Ledger interface {
	settle.Store
	credit.Store
	billing.Ledger
	oversee.Ledger
	verify.Store
	person.Ledger
	Verify(ctx context.Context, o ledger.VerifyOptions) ([]ledger.Check, error)
}

// Archive is the store of the archive's progress.
type Archive interface {
	archive.Plans
	ArchivedTotals(ctx context.Context) (ledger.Totals, error)
}

// Publishers is the store of publishers' traffic and of cases against them.
type Publishers interface {
	billing.Publishers
	quarantine.Store
}

// Audit is the store of the audit log and of decisions with their appeals.
type Audit interface {
	manage.AuditLog
	decision.Store
}

// Traffic is the store of counts of unproven events.
type Traffic interface {
	manage.UnprovenReader
	track.UnprovenStore
}

// InPostgres returns the stores in PostgreSQL.
func InPostgres(s *postgres.Stores) Stores {
	return Stores{
		Accounts: s.Accounts, Logins: s.Logins, Families: s.Families, Campaigns: s.Campaigns, Ledger: s.Ledger,
		Archive: s.Archive, Payments: s.Payments, Publishers: s.Publishers, Audit: s.Audit, AdReports: s.AdReports,
		Traffic: s.Traffic, Journal: s.Journal, Requests: s.Requests, Letters: s.Letters, Retention: s.Retention,
		Outbox: s.Outbox, Webhooks: s.Webhooks, Notices: s.Notices,
	}
}

// InMemory returns the stores in the process.
func InMemory(s *memory.Stores) Stores {
	return Stores{
		Accounts: s.Accounts, Logins: s.Logins, Families: s.Families, Campaigns: s.Campaigns, Ledger: s.Ledger,
		Archive: s.Archive, Payments: s.Payments, Publishers: s.Publishers, Audit: s.Audit, AdReports: s.AdReports,
		Traffic: s.Traffic, Journal: s.Journal, Requests: s.Requests, Letters: s.Letters, Retention: s.Retention,
		Outbox: s.Outbox, Webhooks: s.Webhooks, Notices: s.Notices,
	}
}

// Person returns the stores with the data about an account.
func (s Stores) Person() person.Store {
	return person.Store{
		Accounts: s.Accounts, Campaigns: s.Campaigns, Ledger: s.Ledger, Audit: s.Audit, Cases: s.Publishers,
	}
}

// Analytics is the store of settled events.
type Analytics interface {
	archive.Sink
	InsertAuctions(ctx context.Context, token string, rows []report.Auction) error
	InsertNotices(ctx context.Context, token string, rows []report.Notice) error
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
	Stores    Stores
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
	Terms     TermReader   // recorded terms of auctions; nil in memory, which records none
	Learned   learn.Source // nil in memory, where nothing is learned
	Redis     *redis.Client
	Kafka     kafka.Config

	PostgresConns int32 // that this process may open; 0 in memory

	closers []func()
}

// TermReader returns the terms of a request that were recorded for its auction.
type TermReader interface {
	RecordedTerms(ctx context.Context, auction uuid.UUID, at time.Time) ([]uint32, error)
}

// closeLimit is the time for closing. With ADNET_STOP_BUDGET it must be less than supervisors wait.
const closeLimit = time.Second

// Close closes all connections in the reverse order of opening. It does not wait for a connection
// that a component still holds after the end of its stop.
func (b *All) Close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for i := len(b.closers) - 1; i >= 0; i-- {
			b.closers[i]()
		}
	}()
	select {
	case <-closed:
	case <-time.After(closeLimit):
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
func RoomsOf(store *postgres.Stores, funds Money) project.Source {
	return roomSource{Changes: store.Campaigns, roomReader: store.Campaigns.RoomReader(funds.rooms())}
}
