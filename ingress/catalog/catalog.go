// Package catalog keeps this node's view of all campaigns: the auction's snapshot, the creatives
// that links lead to, and how much each campaign may still spend.
//
// One goroutine writes, any number read without locks on the snapshot. A change arrives by publish
// within milliseconds and, should the publish be lost, by the version that is polled every 250 ms.
// When the node cannot prove for a second that it knows the newest version, it stops filling: a
// paused campaign must not be served by a node that did not hear of it.
//
// Guarantee: after a reply to a pause with "propagated": true, no live node fills with the
// campaign. The reply waits, at most a second, until each live node has confirmed
// ([campaign.Announcer]).
//
// # Not obvious
//
// A node keeps a campaign packed: one string for each, budgets beside it, targeting only in the
// index and shared between equal ones. Creative unpacks what ads, links and gates read. Name,
// budgets, review and times of a campaign are not there.
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
	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/obs"
	"adnet/internal/reserve"
	"adnet/internal/schedule"
)

// The rhythm of the catalog.
const (
	pollEvery  = 250 * time.Millisecond
	aliveEvery = 500 * time.Millisecond // between two reports of the same version; a node is forgotten after 2 s
	freshFor   = time.Second
	roomsEvery = 30 * time.Second // or what reading takes, if that is more
	roomsRest  = 19               // times as long as a page of it took, after the page
	restMost   = time.Second
	retryAfter = 500 * time.Millisecond
	// how long the first load waits for the subscription, after which it is not repeated
	listenFor = 100 * time.Millisecond
	queuedMax = 8192
	startFor  = 5 * time.Second // how long a missing projection is normal after the start
)

// Source is the projection of campaigns that nodes load from. Versions are config versions: head
// says up to which version everything is in what was returned. Everything comes page by page, so
// that a full load never holds all of it twice: take is called by one goroutine at a time, and the
// page is the source's again when it returns.
type Source interface {
	Head(ctx context.Context) (version int64, found bool, err error)
	EachCampaign(ctx context.Context, take func(page []campaign.Campaign)) (head int64, err error)
	CampaignsSince(ctx context.Context, version int64) (changed []campaign.Campaign, head int64, err error)
	// EachRoom may bring a room more than once.
	EachRoom(ctx context.Context, take func(page []reserve.Room)) error
}

// Feed tells about changes as they happen and is told what this node knows.
type Feed interface {
	// Subscribe calls the listener until ctx ends or the connection is lost.
	Subscribe(ctx context.Context, to Listener) error
	// Heartbeat says that the node lives and knows everything up to version.
	Heartbeat(ctx context.Context, node string, version int64) error
	// Applied says that the node serves by the announced change.
	Applied(ctx context.Context, node string, version int64) error
	// Leave announces that the node stops serving, so that no confirmation waits for it.
	Leave(ctx context.Context, node string) error
}

// Listener is told what a [Feed] hears. Its functions return at once.
type Listener struct {
	// Subscribed reports that changes arrive from now on: a load after it misses none.
	Subscribed func()
	// Changed brings a campaign, perhaps an older state than the one known. confirm asks for
	// [Feed.Applied] as soon as it is served by.
	Changed func(c campaign.Campaign, confirm bool)
	Rooms   func(rooms []reserve.Room)
}

// Deps are what the catalog works with.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Source  Source
	Feed    Feed
	Node    string // unique name of this process
	Now     func() time.Time
	Weights Weights // nil: nothing is learnt
	Loaded  func()  // called beside the serving path after every full load; nil does nothing
}

// Catalog is the component. Reads are safe at any time; before it is [Catalog.Ready] they find the
// sandbox's creatives only.
type Catalog struct {
	deps  Deps
	table ranker.Table
	ready chan struct{}
	log   *obs.LimitedLogger

	snapshot  atomic.Pointer[auction.Snapshot]
	trial     atomic.Pointer[trial] // nil while no weights are on trial
	campaigns atomic.Pointer[campaignTable]
	version   atomic.Int64 // everything up to it is applied
	freshness atomic.Int64 // UnixNano of the last proof that version is the newest

	sandbox []campaign.Campaign
	changes chan change
	reloads prometheus.Counter

	staleRooms chan struct{} // wakes followRooms

	background sync.WaitGroup // what Run started
	// Of Run's goroutine alone:
	suspect    bool // the source was missing or replaced: this node's state may differ from it
	compacting compaction
	weights    following
	roomsAsked time.Time // since when all budgets are read that were published before
	patience   time.Time // until when a missing projection is not logged
	reported   int64     // version of the last heartbeat
	alive      time.Time // of the last heartbeat; zero when the next one must not wait
}

// change is one message of the feed; one of campaign, rooms, resync and weights is set.
type change struct {
	weights  *weightsChange
	campaign *campaign.Campaign
	confirm  bool // with campaign: a caller waits for the confirmation
	rooms    []reserve.Room
	resync   time.Time // when the subscription began: what was missed before it must be loaded
}

// New makes a Catalog; it reads nothing yet.
func New(deps Deps) *Catalog {
	deps.Now = schedule.Clock(deps.Now)
	c := &Catalog{
		deps: deps, table: ranker.Version2(), ready: make(chan struct{}), log: obs.Limited(deps.Log, time.Second),
		sandbox: Sandbox(), changes: make(chan change, queuedMax), staleRooms: make(chan struct{}, 1),
	}
	c.snapshot.Store(target.Build(c.table, nil))
	c.campaigns.Store(c.emptyTable())
	c.reloads = obs.Register(
		deps.Metrics,
		prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_catalog_reloads_total", Help: "Full loads of the campaigns.",
		}),
	)
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_catalog_deliverable", Help: "Campaigns that auctions may choose.",
	},
		func() float64 { return float64(c.Snapshot().Len()) }))
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_catalog_version", Help: "Config version that this node serves by.",
	},
		func() float64 { return float64(c.version.Load()) }))
	obs.Register(deps.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "adnet_catalog_proof_age_seconds", Help: "Time since this node last proved that it is up to date.",
	},
		func() float64 { return deps.Now().Sub(time.Unix(0, c.freshness.Load())).Seconds() }))
	return c
}

// Ready is closed after the first full load.
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// Snapshot is the campaigns that may be served now; it does not change under the caller.
func (c *Catalog) Snapshot() *auction.Snapshot {
	if t := c.trial.Load(); t.decidesAll() {
		return t.snapshot
	}
	return c.snapshot.Load()
}

// Version is the config version that the snapshot is complete up to.
func (c *Catalog) Version() int64 { return c.version.Load() }

// Followed is how many campaigns this node knows, in any state, without the sandbox's.
func (c *Catalog) Followed() int { return c.campaigns.Load().len() - len(c.sandbox) }

// Fresh says whether this node could prove within the last second that it knows every change.
func (c *Catalog) Fresh(now time.Time) bool {
	return now.Sub(time.Unix(0, c.freshness.Load())) < freshFor
}

// Creative finds a campaign in any state, for ads and for links that were handed out. What nothing
// reads while ads are served is not kept and is zero: name, targeting, budgets, goal, review, times
// and spend. The result is shared: it must not be changed.
func (c *Catalog) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	return c.campaigns.Load().creative(id)
}

// FrequencyCap is how many impressions of a campaign a session may see in a UTC day, 0 for any
// number.
func (c *Catalog) FrequencyCap(id uuid.UUID) (impressions int, known bool) {
	found := c.campaigns.Load().packed(id)
	if found == "" {
		return 0, false
	}
	return found.frequencyCap(), true
}

// Room is how much a campaign may still spend, as far as this node has heard; without the
// advertiser and releases.
func (c *Catalog) Room(id uuid.UUID) (reserve.Room, bool) {
	return c.campaigns.Load().room(id)
}

// Gate refuses campaigns without room for their price on the day of now. A campaign whose room is
// not known yet may serve: settlement's clamp limits the charge.
func (c *Catalog) Gate(now time.Time) auction.Gate {
	return roomGate{campaigns: c.campaigns.Load(), day: day.Of(now)}
}

type roomGate struct {
	campaigns *campaignTable
	day       day.Day
}

// Check implements [auction.Gate].
func (g roomGate) Check(c *auction.Campaign, of auction.Offer) auction.Reason {
	if room, known := g.campaigns.room(uuid.UUID(c.ID)); known && room.Left(g.day) < of.Price {
		return auction.Budget
	}
	return ""
}

// Undo implements [auction.Gate]; looking at a room takes nothing from it.
func (roomGate) Undo(*auction.Campaign) {}
