// Package catalog keeps this node's view of all campaigns: the auction's snapshot, the creatives that
// links lead to, and how much each campaign may still spend.
//
// One goroutine writes, any number read without locks on the snapshot. A change arrives by publish
// within milliseconds and, should the publish be lost, by the version that is polled every 250 ms. When
// the node cannot prove for a second that it knows the newest version, it stops filling: a paused
// campaign must not be served by a node that did not hear of it.
package catalog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/obs"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// The rhythm of the catalog.
const (
	pollEvery  = 250 * time.Millisecond
	freshFor   = time.Second
	roomsEvery = 30 * time.Second
	retryAfter = 500 * time.Millisecond
	queuedMax  = 8192
	startFor   = 5 * time.Second // how long a missing projection is no news
)

// Source is the projection of campaigns that nodes load from. Versions are config versions: head says up
// to which version everything is in what was returned.
type Source interface {
	Head(ctx context.Context) (version int64, found bool, err error)
	Campaigns(ctx context.Context) (all []campaign.Campaign, head int64, err error)
	CampaignsSince(ctx context.Context, version int64) (changed []campaign.Campaign, head int64, err error)
	Rooms(ctx context.Context) ([]ledger.Room, error)
}

// Feed tells about changes as they happen and is told what this node knows.
type Feed interface {
	// Subscribe calls the listener until ctx ends or the connection is lost.
	Subscribe(ctx context.Context, to Listener) error
	// Heartbeat says that the node lives and knows everything up to version.
	Heartbeat(ctx context.Context, node string, version int64) error
	// Applied says that the node serves by the announced change.
	Applied(ctx context.Context, node string, version int64) error
	// Leave says that the node stops serving, so that nobody waits for it.
	Leave(ctx context.Context, node string) error
}

// Listener is told what a [Feed] hears. Its functions return at once.
type Listener struct {
	// Subscribed says that changes from now on arrive: what is loaded after it misses none.
	Subscribed func()
	// Changed brings a campaign, perhaps an older state than the one known. confirm asks for
	// [Feed.Applied] as soon as it is served by.
	Changed func(c campaign.Campaign, confirm bool)
	Rooms   func(rooms []ledger.Room)
}

// Deps are what the catalog works with.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Source  Source
	Feed    Feed
	Node    string // unique name of this process
	Now     func() time.Time
}

// Catalog is the component. Reads are safe at any time; before it is [Catalog.Ready] they find the
// sandbox's creatives only.
type Catalog struct {
	deps  Deps
	table ranker.Table
	ready chan struct{}
	log   *obs.LimitedLogger

	snapshot  atomic.Pointer[auction.Snapshot]
	version   atomic.Int64 // everything up to it is applied
	freshness atomic.Int64 // UnixNano of the last proof that version is the newest

	mu        sync.RWMutex // guards creatives and rooms
	creatives map[uuid.UUID]*campaign.Campaign
	rooms     map[uuid.UUID]ledger.Room

	sandbox []campaign.Campaign
	changes chan change
	reloads prometheus.Counter

	background sync.WaitGroup // what Run started
	// Of Run's goroutine alone:
	suspect    bool // the source was missing or another one: what is known may not be what it holds
	compacting compaction
	patience   time.Time // until when a missing projection is not logged
}

// change is one message of the feed; one of campaign, rooms and resync is set.
type change struct {
	campaign *campaign.Campaign
	confirm  bool // with campaign: somebody waits for the confirmation
	rooms    []ledger.Room
	resync   bool // the subscription is new: what was missed before it must be loaded
}

// New makes a Catalog; it reads nothing yet.
func New(deps Deps) *Catalog {
	c := &Catalog{
		deps: deps, table: ranker.OverlapV1(), ready: make(chan struct{}), log: obs.Limited(deps.Log, time.Second),
		creatives: map[uuid.UUID]*campaign.Campaign{}, rooms: map[uuid.UUID]ledger.Room{},
		sandbox: Sandbox(), changes: make(chan change, queuedMax),
	}
	c.snapshot.Store(target.Build(c.table, nil))
	for i := range c.sandbox {
		c.creatives[c.sandbox[i].ID] = &c.sandbox[i]
	}
	c.reloads = prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_catalog_reloads_total", Help: "Full loads of the campaigns."})
	deps.Metrics.MustRegister(c.reloads,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "adnet_catalog_deliverable", Help: "Campaigns that auctions may choose."},
			func() float64 { return float64(c.Snapshot().Len()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "adnet_catalog_version", Help: "Config version that this node serves by."},
			func() float64 { return float64(c.version.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "adnet_catalog_proof_age_seconds", Help: "Time since this node last proved that it is up to date."},
			func() float64 { return deps.Now().Sub(time.Unix(0, c.freshness.Load())).Seconds() }))
	return c
}

// Ready is closed after the first full load.
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// Snapshot is the campaigns that may be served now; it does not change under the caller.
func (c *Catalog) Snapshot() *auction.Snapshot { return c.snapshot.Load() }

// Version is the config version that the snapshot is complete up to.
func (c *Catalog) Version() int64 { return c.version.Load() }

// Fresh says whether this node could prove within the last second that it knows every change.
func (c *Catalog) Fresh(now time.Time) bool {
	return now.Sub(time.Unix(0, c.freshness.Load())) < freshFor
}

// Creative finds a campaign in any state, for links that were handed out.
func (c *Catalog) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found, ok := c.creatives[id]
	return found, ok
}

// Room is how much a campaign may still spend, as far as this node has heard.
func (c *Catalog) Room(id uuid.UUID) (ledger.Room, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	room, known := c.rooms[id]
	return room, known
}

// Gate refuses campaigns without room for their price on the day of now. A campaign whose room is not
// known yet may serve: settlement's clamp decides what is charged.
func (c *Catalog) Gate(now time.Time) auction.Gate {
	return roomGate{catalog: c, day: ledger.DayOf(now)}
}

type roomGate struct {
	catalog *Catalog
	day     ledger.Day
}

// Check implements [auction.Gate].
func (g roomGate) Check(c *auction.Campaign) auction.Reason {
	g.catalog.mu.RLock()
	room, known := g.catalog.rooms[uuid.UUID(c.ID)]
	g.catalog.mu.RUnlock()
	if known && room.Left(g.day) < c.Billing.Price(c.Bid) {
		return auction.Budget
	}
	return ""
}
