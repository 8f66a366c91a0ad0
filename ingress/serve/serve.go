// Package serve answers requests for ads: it turns a conversation's context into an auction request,
// runs the auction over the catalog's snapshot, signs the winner's token and answers.
//
// Nothing on this path waits for a store: keys, campaigns and budgets are in memory, and the outcome goes
// to the log best effort.
package serve

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/catalog"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits"
	"adnet/internal/campaign"
	"adnet/internal/token"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// Config is the settings of serving.
type Config struct {
	Disclosure string `name:"disclosure-label" env:"ADNET_DISCLOSURE_LABEL" default:"Sponsored" help:"Label that marks an ad as one."`
}

// Catalog is what auctions run over.
type Catalog interface {
	Snapshot() *auction.Snapshot
	Version() int64
	Fresh(now time.Time) bool
	Gate(now time.Time) auction.Gate
	Creative(id uuid.UUID) (*campaign.Campaign, bool)
}

// Limiter counts a caller's requests.
type Limiter interface {
	// Allow returns errs.RateLimited when the caller must slow down, and says in the reply's headers how much is
	// left; reply may be nil.
	Allow(reply http.Header, caller uuid.UUID, now time.Time) error
}

// Producer hands a record to Kafka; see track.Producer.
type Producer interface {
	Produce(topic string, key, value []byte, done func(error))
}

// Recording says whether events can be recorded now. While they cannot, no ad is served: it would be
// money that nobody can account for.
type Recording interface {
	CanRecord(ctx context.Context) bool
}

// Deps are what serving works with.
type Deps struct {
	Metrics   prometheus.Registerer
	Auth      *httpapi.Auth
	Catalog   Catalog
	Limiter   Limiter
	Keyring   *token.Keyring
	Producer  Producer
	Recording Recording
	BaseURL   func() string
	Outcomes  Outcomes // may be nil
	// Budget reserves what is served. Without it nothing is reserved, which is for tests of the endpoint alone.
	Budget   *budget.Leases
	Delivery *limits.Delivery // frequency caps and pacing; nil for none
	Now      func() time.Time
}

// Server is the serving endpoints.
type Server struct {
	cfg     Config
	deps    Deps
	pool    []campaign.Campaign // sandbox creatives
	turn    rotation
	work    sync.Pool // of *workspace
	asked   sync.Pool // of *asked
	links   atomic.Pointer[linkBase]
	taken   func(error) // is told what became of an outcome on its way to the log
	metrics serveMetrics
}

type serveMetrics struct {
	filled  prometheus.Counter
	sandbox prometheus.Counter
	unfill  *prometheus.CounterVec
	dropped prometheus.Counter
}

// New makes the endpoints.
func New(cfg Config, deps Deps) *Server {
	s := &Server{
		cfg: cfg, deps: deps, pool: catalog.Sandbox(),
		work: sync.Pool{New: newWorkspace}, asked: sync.Pool{New: func() any { return new(asked) }},
		metrics: serveMetrics{
			filled:  prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_auctions_filled_total", Help: "Auctions with a winner."}),
			sandbox: prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_auctions_sandbox_total", Help: "Requests of sandbox keys."}),
			unfill:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adnet_auctions_unfilled_total", Help: "Auctions without a winner, by reason."}, []string{"reason"}),
			dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_auctions_unrecorded_total", Help: "Outcomes that the log did not take (best effort)."}),
		},
	}
	s.taken = func(err error) {
		if err != nil {
			s.metrics.dropped.Inc()
		}
	}
	deps.Metrics.MustRegister(s.metrics.filled, s.metrics.sandbox, s.metrics.unfill, s.metrics.dropped)
	return s
}

// Mount adds the routes to h.
func (s *Server) Mount(h *httpapi.Server) {
	h.Handle(http.MethodPost, "/v1/ad-request", s.adRequest)
}
