// Package offer is the one place that sells: it decides whether this node may serve at all, runs
// the auction through its gates, reserves the price, records the outcome, and signs the ad's token
// and links.
//
// The wires (ingress/serve, ingress/mcp, ingress/rtb) read what they are asked, ask this package,
// and write what it answers. [Seller.Sell] is one auction, for any wire; [Seller.Answer] is a
// publisher's [Request], with the sandbox and with advice when to ask again.
//
// Contract. Nothing is sold beside a conversation that was not judged ([Seller.Judge]), nor beside
// a subject that allows no ad; no house ad is shown there, and nothing is learnt. Nothing is sold
// while the catalog is not fresh, events cannot be recorded, or reservations do not count
// ([Seller.Ready]); nor too early in a conversation, nor to a campaign that a link of the chain of
// gates refuses: the fit of the creative (a wire's own), frequency caps, budgets, pacing, and last
// the reservation. What was reserved for an ad that is not handed out goes back by [Auction.Held].
//
// Nothing here waits for a store, but for the limits that frequency, refusals and budget state, and
// for the operator's classifier, where there is one, 50 ms: campaigns and
// budgets are in memory, and the outcome goes to the log best effort.
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
	"adnet/internal/money"
	"adnet/internal/obs"
	"adnet/internal/reserve"
	"adnet/internal/schedule"
	"adnet/internal/share"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// Config is the settings of ads.
type Config struct {
	MinRelevance       float64 `name:"min-relevance" env:"ADNET_MIN_RELEVANCE" default:"0.58" help:"Least probability that an ad answers its request, 0 to 1; 0 is off. Publishers and requests may state another."`
	MinRelevanceLowest float64 `name:"min-relevance-lowest" env:"ADNET_MIN_RELEVANCE_LOWEST" default:"-1" help:"Down to which publishers and requests may lower ADNET_MIN_RELEVANCE; -1 is not at all, in standalone to 0."`

	TradeConfig `embed:""`

	HouseLabel      string `name:"house-label" env:"ADNET_HOUSE_LABEL" default:"House ad" help:"Label that marks a house ad: a publisher's own campaign, shown where nothing else was sold."`
	SuitabilityAway string `name:"suitability-away" env:"ADNET_SUITABILITY_AWAY" default:"rules" enum:"rules,refuse" help:"When the classifier of ADNET_SUITABILITY_URL gives no answer: rules (what the rules and the table say is enough) or refuse (no ad)."`
	Teens           string `name:"teens" env:"ADNET_TEENS" default:"refuse" enum:"refuse,limited" help:"What a reader of 13 to 17 gets, where the publisher says so: no ad (refuse), or ads without sensitive subjects, restricted trades, session and learning (limited). Children get none."`

	Disclosure string `name:"disclosure-label" env:"ADNET_DISCLOSURE_LABEL" default:"Sponsored" help:"Label that marks an ad as one."`
}

// TeensLimited is the value of [Config.Teens] that serves them.
const TeensLimited = "limited"

// Catalog is what auctions run over.
type Catalog interface {
	Snapshot() *auction.Snapshot
	Version() int64
	Fresh(now time.Time) bool
	Gate(now time.Time) auction.Gate
	Creative(id uuid.UUID) (*campaign.Campaign, bool)
	Room(id uuid.UUID) (reserve.Room, bool)
}

// Trials knows the campaigns by weights on trial, nil while none are, and whether they decide an
// auction; see catalog.Catalog.
type Trials interface {
	Trial(auction uuid.UUID) (snapshot *auction.Snapshot, decides bool)
}

// Sales is told of the ads whose clicks a publisher's server may report; see limits.Limits. It
// never waits.
type Sales interface {
	Sold(publisher uuid.UUID, now time.Time)
}

// Limiter counts a caller's requests.
type Limiter interface {
	// Allow returns errs.RateLimited when the caller must slow down, and says in the reply's
	// headers how much is left; reply may be nil.
	Allow(reply http.Header, caller uuid.UUID, now time.Time) error
	// AllowBrowser is Allow for a browser key, which has limits of its own.
	AllowBrowser(reply http.Header, key uuid.UUID, network string, now time.Time) error
	// Hold counts what an ad of a browser key holds until it was seen; false when that would be too
	// much. Seen takes it back.
	Hold(u traffic.Unseen, most money.Micros, now time.Time) bool
	Seen(u traffic.Unseen, now time.Time)
}

// Producer hands a record to Kafka; see track.Producer.
type Producer interface {
	Produce(topic string, key, value []byte, done func(error))
}

// Recording says whether events can be recorded now. While they cannot, no ad is served: it would
// be money that cannot be accounted for.
type Recording interface {
	CanRecord(ctx context.Context) bool
}

// Outcomes is told how each auction of this node ended.
type Outcomes interface {
	// Observe counts one auction: reason is empty when it was filled, took is the time of the
	// decision.
	Observe(reason auction.Reason, took time.Duration, now time.Time)
}

// Flags is told of flags that name no subject; see flags.Counter. It never waits.
type Flags interface {
	Unknown(publisher uuid.UUID, name string, now time.Time)
}

// Deps are what selling works with.
type Deps struct {
	Metrics   prometheus.Registerer
	Catalog   Catalog
	Limiter   Limiter
	Sales     Sales // nil: nothing is told
	Keyring   *token.Keyring
	Producer  Producer
	Recording Recording
	BaseURL   func() string
	Outcomes  Outcomes // may be nil
	Flags     Flags    // nil: unknown flags are not counted
	// Budget reserves the price of every ad. If nil, nothing is reserved, which only tests of a
	// single endpoint use.
	Budget   *budget.Leases
	Trials   Trials           // nil: no weights are ever on trial
	Delivery *limits.Delivery // frequency caps and pacing; nil for none
	// Refusals remembers refused conversations; nil: the turns of a request decide alone.
	Refusals   *refusals.Memory
	Classifier Classifier // the operator's; nil for none
	Life       token.Life // how long an impression counts, which is how long a bid may be shown without Budget
	Now        func() time.Time
}

// Seller sells impressions. Its methods may be called from any goroutine.
type Seller struct {
	cfg         Config
	deps        Deps
	trades      trades
	pool        []campaign.Campaign // sandbox creatives
	sandboxTurn sandboxRotation
	work        sync.Pool // of *work
	links       atomic.Pointer[linkBase]
	verdicts    *verdicts
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

// floors are the least relevance of an ad where there are words to judge by, and where there are
// none. The first is the highest that is stated by a request and by its publisher, each of which
// may be nil, or the network's. Publishers earn by impressions: what they state takes it down to
// the lowest at most. Without words there is a floor only where the publisher has set one; then the
// request may raise it.
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

// New makes the seller, of settings that [TradeConfig.Check] found good. It starts nothing.
func New(cfg Config, deps Deps) *Seller {
	deps.Now = schedule.Clock(deps.Now)
	s := &Seller{
		cfg: cfg, deps: deps, pool: catalog.Sandbox(), verdicts: newVerdicts(),
		work: sync.Pool{New: func() any { return new(work) }},
		metrics: sellerMetrics{
			filled: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_filled_total", Help: "Requests of publishers that got an ad.",
				}),
			),
			house: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_house_total",
					Help: "Requests of publishers that got a house ad; adnet_auctions_unfilled_total counts them too.",
				}),
			),
			sandbox: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_sandbox_total", Help: "Requests of sandbox keys.",
				}),
			),
			unfill: obs.Register(
				deps.Metrics,
				prometheus.NewCounterVec(
					prometheus.CounterOpts{
						Name: "adnet_auctions_unfilled_total", Help: "Requests of publishers without an ad, by reason.",
					}, []string{"reason"},
				),
			),
			dropped: obs.Register(
				deps.Metrics,
				prometheus.NewCounter(prometheus.CounterOpts{
					Name: "adnet_auctions_unrecorded_total",
					Help: "Outcomes of auctions, those of bids included, that the log did not take (best effort).",
				}),
			),
		},
	}
	s.trades, _ = cfg.trades() // checked by Check; without it nothing restricted runs
	s.sent.New = func() any {
		one := new(sent)
		one.taken = func(err error) {
			if err != nil {
				s.metrics.dropped.Inc()
			}
			s.sent.Put(one)
		}
		return one
	}
	return s
}

// Ready says whether this node may sell at now: its catalog is fresh, events can be recorded, and
// reservations count.
func (s *Seller) Ready(ctx context.Context, now time.Time) bool {
	return s.deps.Catalog.Fresh(now) && s.deps.Recording.CanRecord(ctx) &&
		(s.deps.Budget == nil || s.deps.Budget.Live(now))
}

// MinRelevance is the least relevance of an ad where neither the request nor its publisher states
// one.
func (s *Seller) MinRelevance() ranker.PPM { return ppm(s.cfg.MinRelevance) }

// Model is the version of the ranking model that auctions are decided by.
func (s *Seller) Model() string { return s.deps.Catalog.Snapshot().Model() }

// BidLife is how long a bid may wait to be shown: as long as its price is reserved.
func (s *Seller) BidLife() time.Duration {
	if s.deps.Budget == nil {
		return s.deps.Life.Impression
	}
	return s.deps.Budget.BidLife()
}
