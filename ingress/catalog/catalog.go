// Package catalog holds this node's view of all campaigns: the auction's snapshot, the creatives of
// links, and the remaining budget of each campaign.
//
// One goroutine writes; any number of goroutines read without locks on the snapshot. A change
// arrives by publish within milliseconds or, if the publish is lost, through the version that is
// polled every 250 ms. A node that cannot prove for a second that it has the newest version stops
// filling: it must not serve a paused campaign because it missed the change.
//
// Guarantee: after a reply to a pause with "propagated": true, no live node fills with the
// campaign. The reply waits, at most a second, until each live node has confirmed
// ([campaign.Announcer]).
//
// # Not obvious
//
// A node holds each campaign packed in one string, with budgets beside it and targeting only in the
// index, shared between equal ones. Creative unpacks the fields that ads, links and gates read.
// Name, budgets, review, times and standing of a campaign are not included: auctions read the
// standing from the index. Creatives that no reviewer has approved are reduced to what delivers
// before they are packed (campaign.Reach), so a node holds a second version only of a campaign that
// shows another one where models read.
package catalog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// The timing of the catalog.
const (
	pollEvery  = 250 * time.Millisecond
	aliveEvery = 500 * time.Millisecond // between two heartbeats of the same version; a node expires after 2 s
	freshFor   = time.Second
	roomsEvery = 30 * time.Second // or the time of reading, if longer
	roomsRest  = 19               // rest after a page, in multiples of the page's time
	restMost   = time.Second
	retryAfter = 500 * time.Millisecond
	// how long the first load waits for the subscription; it is not repeated if the subscription is
	// ready by then
	listenFor = 100 * time.Millisecond
	queuedMax = 8192
	startFor  = 5 * time.Second // a missing projection is normal for this time after the start
)

// Source is the projection of campaigns that nodes load. Versions are config versions, and a
// returned head means that everything up to that version is in the result. Everything comes page by
// page, so that a full load never holds a second copy of it. take is called by one goroutine at a
// time, and the source may reuse the page when take returns.
type Source interface {
	Head(ctx context.Context) (version int64, found bool, err error)
	EachCampaign(ctx context.Context, take func(page []campaign.Campaign)) (head int64, err error)
	CampaignsSince(ctx context.Context, version int64) (changed []campaign.Campaign, head int64, err error)
	// EachRoom may return a room more than once.
	EachRoom(ctx context.Context, take func(page []reserve.Room)) error
}

// Feed delivers changes as they happen, and receives the version of this node.
type Feed interface {
	// Subscribe calls the listener until ctx ends or the connection is lost.
	Subscribe(ctx context.Context, to Listener) error
	// Heartbeat reports that the node is alive and has everything up to version.
	Heartbeat(ctx context.Context, node string, version int64) error
	// Applied reports that the node serves the announced change.
	Applied(ctx context.Context, node string, version int64) error
	// Leave reports that the node stops serving, so that no confirmation waits for it.
	Leave(ctx context.Context, node string) error
}

// Listener receives the messages of a [Feed]. Its functions return at once.
type Listener struct {
	// Subscribed is called when the subscription is active: a load after it misses no change.
	Subscribed func()
	// Changed receives a campaign, perhaps in an older state than the known one. confirm requests
	// [Feed.Applied] as soon as the node serves it.
	Changed func(c campaign.Campaign, confirm bool)
	Rooms   func(rooms []reserve.Room)
}

// Deps holds the dependencies of the catalog.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Source  Source
	Feed    Feed
	Node    string // unique name of this process
	Now     func() time.Time
	Weights Weights // nil: no learnt weights
	// Unreviewed is where creatives deliver before a reviewer has approved them.
	Unreviewed campaign.Reach
	Loaded     func() // called outside the serving path after every full load; may be nil
	// Patience bounds the wait of [Catalog.Ready] for the first full load; 0 is no bound.
	Patience time.Duration
}

// Catalog is the component. Reads are safe at any time. Before it is [Catalog.Ready] they find only
// the sandbox's creatives.
type Catalog struct {
	deps  Deps
	table ranker.Table
	ready chan struct{}
	full  chan struct{} // closed after the first full load
	log   *obs.LimitedLogger

	snapshot  atomic.Pointer[auction.Snapshot]
	trial     atomic.Pointer[trial] // nil without weights on trial
	campaigns atomic.Pointer[campaignTable]
	version   atomic.Int64 // all changes up to it are applied
	freshness atomic.Int64 // UnixNano of the last proof that version was the newest

	sandbox []campaign.Campaign
	changes chan change
	reloads prometheus.Counter

	staleRooms chan struct{} // wakes followRooms

	background sync.WaitGroup // goroutines of Run
	// Used by Run's goroutine only:
	suspect    bool // the source was missing or replaced: this node's state may differ
	compacting compaction
	weights    following
	roomsAsked time.Time // all budgets published before it are loaded
	patience   time.Time // a missing projection is not logged before it
	reported   int64     // version of the last heartbeat
	alive      time.Time // time of the last heartbeat; zero if the next one is due at once
}

// change is one message of the feed. One of campaign, rooms, resync and weights is set.
type change struct {
	weights  *weightsChange
	campaign *campaign.Campaign
	confirm  bool // with campaign: a caller waits for the confirmation
	rooms    []reserve.Room
	resync   time.Time // start of the subscription: changes before it must be loaded
}

// New returns a Catalog. It reads nothing yet.
func New(deps Deps) *Catalog {
	deps.Now = schedule.Clock(deps.Now)
	c := &Catalog{
		deps: deps, table: ranker.Version2(), ready: make(chan struct{}), full: make(chan struct{}),
		log:     obs.Limited(deps.Log, time.Second),
		sandbox: Sandbox(), changes: make(chan change, queuedMax), staleRooms: make(chan struct{}, 1),
	}
	c.snapshot.Store(index.Build(c.table, nil))
	c.campaigns.Store(c.emptyTable())
	c.reloads = obs.Register(
		deps.Metrics,
		prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_catalog_reloads_total", Help: "Full loads of the campaigns.",
		}),
	)
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_catalog_deliverable", Help: "Campaigns that auctions can choose.",
	},
		func() float64 { return float64(c.Snapshot().Len()) }))
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_catalog_version", Help: "Config version that this node serves.",
	},
		func() float64 { return float64(c.version.Load()) }))
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_catalog_proof_age_seconds", Help: "Time since this node last proved that it is up to date.",
	},
		func() float64 { return deps.Now().Sub(time.Unix(0, c.freshness.Load())).Seconds() }))
	return c
}

// Ready returns a channel that is closed after the first full load, or after
// [Deps.Patience] without one: the process then serves everything but ads ([Catalog.Fresh]).
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// Snapshot returns the campaigns that may be served now. It is immutable.
func (c *Catalog) Snapshot() *auction.Snapshot {
	if t := c.trial.Load(); t.decidesAll() {
		return t.snapshot
	}
	return c.snapshot.Load()
}

// Version returns the config version up to which the snapshot is complete.
func (c *Catalog) Version() int64 { return c.version.Load() }

// Followed returns the number of known campaigns, in any state, without the sandbox's.
func (c *Catalog) Followed() int { return c.campaigns.Load().len() - len(c.sandbox) }

// Fresh reports whether this node has proved within the last second that it has every change.
func (c *Catalog) Fresh(now time.Time) bool {
	return now.Sub(time.Unix(0, c.freshness.Load())) < freshFor
}

// Creative returns a campaign in any state, for ads and for links in use. Fields that serving does
// not read are zero: name, targeting, budgets, goal, standing, review, times and spend. It is the
// version for pages; see campaign.ForModels. The result is shared and must not be changed.
func (c *Catalog) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	return c.campaigns.Load().creative(id)
}

// FrequencyCap returns the maximum number of impressions of a campaign per session and UTC day, 0
// for no limit.
func (c *Catalog) FrequencyCap(id uuid.UUID) (impressions int, known bool) {
	found := c.campaigns.Load().packed(id)
	if found == "" {
		return 0, false
	}
	return found.frequencyCap(), true
}

// Room returns the remaining budget of a campaign as known to this node, without the advertiser, the
// price and releases.
func (c *Catalog) Room(id uuid.UUID) (reserve.Room, bool) {
	return c.campaigns.Load().room(id)
}

// Gate returns a gate that refuses campaigns without budget for their price on the day of now. A
// campaign whose budget is still unknown may serve, because settlement's clamp limits the charge.
func (c *Catalog) Gate(now time.Time) auction.Gate {
	return roomGate{campaigns: c.campaigns.Load(), day: day.Of(now)}
}

type roomGate struct {
	campaigns *campaignTable
	day       day.Day
}

// Check implements [auction.Gate].
func (g roomGate) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	if room, known := g.campaigns.room(uuid.UUID(c.ID)); known && room.Left(g.day) < of.Price {
		return auction.Budget
	}
	return ""
}

// Undo implements [auction.Gate]; Check takes nothing.
func (roomGate) Undo(*auction.Campaign) {}
