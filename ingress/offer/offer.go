// Package offer is the only package that sells ads: it decides whether this node may serve at all,
// runs the auction through its gates, reserves the price, records the outcome, and signs the ad's
// token and links.
//
// The protocols (ingress/serve, ingress/mcp, ingress/rtb) read their requests, call this package,
// and write its answers. [Seller.Sell] runs one auction for any protocol. [Seller.Answer] answers a
// publisher's [Request], with the sandbox and with advice on retries.
//
// Contract. Nothing is sold beside a conversation that was not judged ([Seller.Judge]), nor beside
// a subject that allows no ad; there no house ad is shown and nothing is learnt either. Nothing is
// sold while the catalog is stale, events cannot be recorded, or leases do not count
// ([Seller.Ready]), nor too early in a conversation. A campaign must pass a chain of gates: the fit
// of the creative (the protocol's own), frequency caps, budgets, pacing, unshown ads, and last the
// reservation. What an ad that is not delivered counted is returned by [Sold.Cancel].
//
// Campaigns and budgets are in memory, and the outcome goes to the log best effort. The only waits
// are those that frequency, refusals and budget document, and up to 50 ms for the operator's
// classifier if there is one.
package offer

import (
	"context"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/budget"
	"adnet/ingress/catalog"
	"adnet/ingress/limits"
	"adnet/ingress/limits/refusals"
	"adnet/internal/campaign"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/money/share"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// Config holds the settings of ads.
type Config struct {
	MinRelevance       float64 `name:"min-relevance" env:"ADNET_MIN_RELEVANCE" default:"0.58" help:"Minimum probability that an ad answers its request, 0 to 1; 0 is off. Publishers and requests may set another."`
	MinRelevanceLowest float64 `name:"min-relevance-lowest" env:"ADNET_MIN_RELEVANCE_LOWEST" default:"-1" help:"Lowest value to which publishers and requests may lower ADNET_MIN_RELEVANCE; -1 is not at all (in standalone: 0)."`

	TradeConfig `embed:""`

	SuitabilityAway string `name:"suitability-away" env:"ADNET_SUITABILITY_AWAY" default:"rules" enum:"rules,refuse" help:"When the classifier of ADNET_SUITABILITY_URL does not answer: rules (the built-in rules and table decide) or refuse (no ad)."`
	Teens           string `name:"teens" env:"ADNET_TEENS" default:"refuse" enum:"refuse,limited" help:"Ads for readers whom the publisher states to be 13 to 17: no ad (refuse), or ads without sensitive subjects, restricted trades, session and learning (limited). Children get none."`

	// Unreviewed applies to the catalog, the review queue and diagnoses alike.
	Unreviewed campaign.Reach `name:"unreviewed" env:"ADNET_UNREVIEWED" default:"${unreviewed}" enum:"everywhere,pages,nowhere" help:"Where creatives deliver that no person has approved: everywhere, pages (pages, banners and exchanges, never where a model reads: MCP, REST, server SDKs) or nowhere. Of a changed campaign, the version approved last goes on."`

	LabelConfig `embed:""`
}

// TeensLimited is the value of [Config.Teens] that serves teenagers.
const TeensLimited = "limited"

// Catalog provides the campaigns of auctions.
type Catalog interface {
	Snapshot() *auction.Snapshot
	Version() int64
	Fresh(now time.Time) bool
	Gate(now time.Time) auction.Gate
	Creative(id uuid.UUID) (*campaign.Campaign, bool)
	Room(id uuid.UUID) (reserve.Room, bool)
}

// Trials returns the campaigns by the weights on trial, nil without a trial, and reports whether
// they decide an auction; see catalog.Catalog.
type Trials interface {
	Trial(auction uuid.UUID) (snapshot *auction.Snapshot, decides bool)
}

// Sales receives the ads whose clicks a publisher's server may report; see limits.Limits. It never
// waits.
type Sales interface {
	Sold(publisher uuid.UUID, now time.Time)
}

// Limiter limits the requests of callers.
type Limiter interface {
	// Allow returns errs.RateLimited if the caller must slow down, and reports the rest in the
	// headers of the reply; reply may be nil.
	Allow(reply http.Header, caller uuid.UUID, now time.Time) error
	// AllowBrowser is Allow for a browser key, which has its own limits.
	AllowBrowser(reply http.Header, key uuid.UUID, network string, now time.Time) error
	// Hold counts an ad until it is shown. It returns false if the ads of its publisher, browser
	// key or network that were not shown would hold too much of the campaign's daily budget.
	// Release removes an ad that is not returned.
	Hold(u *traffic.Unseen, daily money.Micros, now time.Time) bool
	Release(u *traffic.Unseen, now time.Time)
}

// Producer sends a record to Kafka; see track.Producer.
type Producer interface {
	Produce(topic string, key, value []byte, done func(error))
}

// Recording reports whether events can be recorded now. If not, no ad is served, because its charge
// could not be accounted for.
type Recording interface {
	CanRecord(ctx context.Context) bool
}

// Outcomes receives the outcome of each auction of this node.
type Outcomes interface {
	// Observe counts one auction. reason is empty if it was filled; took is the time of the
	// decision.
	Observe(reason auction.Reason, took time.Duration, now time.Time)
}

// Flags receives flags that name no subject; see flags.Counter. It never waits.
type Flags interface {
	Unknown(publisher uuid.UUID, name string, now time.Time)
}

// Deps holds the dependencies of the seller.
type Deps struct {
	Metrics   prometheus.Registerer
	Catalog   Catalog
	Limiter   Limiter // nil: unshown ads are not bounded; only tests of a single endpoint use that
	Sales     Sales   // may be nil
	Keyring   *token.Keyring
	Producer  Producer
	Recording Recording
	BaseURL   func() string
	Outcomes  Outcomes // may be nil
	Flags     Flags    // nil: unknown flags are not counted
	// Budget reserves the price of every ad. If nil, nothing is reserved; only tests of a single
	// endpoint use that.
	Budget   *budget.Leases
	Trials   Trials           // nil: no weights are ever on trial
	Delivery *limits.Delivery // frequency caps and pacing; nil for none
	// Refusals stores refused conversations. If nil, only the turns of a request decide.
	Refusals   *refusals.Memory
	Classifier Classifier // the operator's; nil for none
	Life       token.Life // how long an impression counts; without Budget also how long a bid may be shown
	Now        func() time.Time
}

// Seller sells impressions. Its methods are safe for concurrent use.
type Seller struct {
	cfg         Config
	deps        Deps
	trades      trades
	pool        []campaign.Campaign // sandbox creatives
	sandboxTurn sandboxRotation
	work        sync.Pool // of *work
	links       atomic.Pointer[linkBase]
	verdicts    *verdicts
	texts       *texts
	sent        sync.Pool // of *sent
	metrics     sellerMetrics
}

type sellerMetrics struct {
	filled  prometheus.Counter
	house   prometheus.Counter
	sandbox prometheus.Counter
	unfill  *prometheus.CounterVec
	dropped prometheus.Counter
}

// floors returns the minimum relevance of an ad with and without words to judge by. With words it
// is the highest value that the request and its publisher state, each of which may be nil, or else
// the network's. Publishers earn by impressions, so their values can lower it only to the
// configured minimum. Without words there is a floor only if the publisher has set one, which the
// request may raise.
func (c *Config) floors(request, publisher *share.Share) (usual, silent ranker.PPM) {
	usual = ppm(c.MinRelevance)
	if request == nil && publisher == nil {
		return usual, 0
	}
	lowest := usual
	if c.MinRelevanceLowest >= 0 {
		lowest = min(ppm(c.MinRelevanceLowest), usual)
	}
	var highest ranker.PPM
	for _, m := range [...]*share.Share{request, publisher} {
		if m != nil {
			highest = max(highest, ranker.PPM(*m))
		}
	}
	if publisher != nil && *publisher > 0 {
		silent = highest
	}
	return max(highest, lowest), silent
}

func ppm(share float64) ranker.PPM { return ranker.PPM(math.Round(share * float64(ranker.Certain))) }

// New returns the seller, for settings that [TradeConfig.Check] accepted. It starts nothing.
func New(cfg Config, deps Deps) *Seller {
	deps.Now = schedule.Clock(deps.Now)
	s := &Seller{
		cfg: cfg, deps: deps, pool: catalog.Sandbox(), verdicts: newVerdicts(), texts: newTexts(),
		work: sync.Pool{New: func() any { return new(work) }},
		metrics: sellerMetrics{
			filled: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_filled_total", Help: "Publisher requests with an ad.",
				}),
			),
			house: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_house_total",
					Help: "Publisher requests with a house ad; adnet_auctions_unfilled_total also counts them.",
				}),
			),
			sandbox: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_sandbox_total", Help: "Requests with sandbox keys.",
				}),
			),
			unfill: obs.Register(
				deps.Metrics,
				prometheus.NewCounterVec(
					prometheus.CounterOpts{
						Name: "adnet_auctions_unfilled_total", Help: "Publisher requests without an ad, by reason.",
					}, []string{"reason"},
				),
			),
			dropped: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_unrecorded_total",
					Help: "Outcomes of auctions and bids that the log did not accept (best effort).",
				}),
			),
		},
	}
	s.trades, _ = cfg.trades() // Check has validated it; otherwise no restricted trade runs
	s.sent.New = func() any {
		response := new(sent)
		response.taken = func(err error) {
			if err != nil {
				s.metrics.dropped.Inc()
			}
			s.sent.Put(response)
		}
		return response
	}
	return s
}

// Ready reports whether this node may sell at now: its catalog is fresh, events can be recorded,
// and leases count.
func (s *Seller) Ready(ctx context.Context, now time.Time) bool {
	return s.deps.Catalog.Fresh(now) && s.deps.Recording.CanRecord(ctx) &&
		(s.deps.Budget == nil || s.deps.Budget.Live(now))
}

// MinRelevance returns the minimum relevance of an ad if neither the request nor its publisher sets
// one.
func (s *Seller) MinRelevance() ranker.PPM { return ppm(s.cfg.MinRelevance) }

// Model returns the version of the ranking model that decides auctions.
func (s *Seller) Model() string { return s.deps.Catalog.Snapshot().Model() }

// BidLife returns the time for which a bid may wait to be shown: as long as its price is reserved.
func (s *Seller) BidLife() time.Duration {
	if s.deps.Budget == nil {
		return s.deps.Life.Impression
	}
	return s.deps.Budget.BidLife()
}
