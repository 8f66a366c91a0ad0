package rtb

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/money"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/internal/traffic/recent"
)

// Config holds the settings of the OpenRTB endpoint.
type Config struct {
	Seat       string            `name:"rtb-seat" env:"ADNET_RTB_SEAT" default:"adnet" help:"Our seat id in bids; wseat and bseat are compared with it."`
	Rates      map[string]string `name:"rtb-rates" env:"ADNET_RTB_RATES" help:"USD per unit of a floor's currency, like EUR=1.08;GBP=1.27. Floors in other currencies get no bid."`
	Categories []string          `name:"rtb-categories" env:"ADNET_RTB_CATEGORIES" help:"Content categories of all campaigns, compared with bcat and acat (default: none)."`
	CatTax     int64             `name:"rtb-cattax" env:"ADNET_RTB_CATTAX" default:"1" help:"Taxonomy of ADNET_RTB_CATEGORIES (AdCOM, Category Taxonomies)."`
	VideoSec   int64             `name:"rtb-video-seconds" env:"ADNET_RTB_VIDEO_SECONDS" default:"15" help:"Length of videos in seconds, which VAST requires and campaigns do not state."`
	VideoKbps  int64             `name:"rtb-video-kbps" env:"ADNET_RTB_VIDEO_KBPS" default:"1000" help:"Bit rate of videos in kbit/s, compared with minbitrate and maxbitrate. 0: unknown, so that such limits get no bid."`
}

// Producer sends a record to Kafka; see track.Producer.
type Producer interface {
	Produce(topic string, key, value []byte, done func(error))
}

// Limiter counts the bid requests of each seat; see limits.Limits.
type Limiter interface {
	// AllowSeat counts a bid request. It returns errs.RateLimited above the limit.
	AllowSeat(seat uuid.UUID, now time.Time) error
	// Lost ends what a bid holds of its campaign's budget, once for each bid.
	Lost(u *traffic.Unseen, now time.Time)
}

// Deps holds the dependencies of the endpoint. All are required.
type Deps struct {
	Metrics  prometheus.Registerer
	Seller   *offer.Seller
	Limiter  Limiter
	Keyring  *token.Keyring // verifies notices
	Producer Producer       // receives notices
	Now      func() time.Time
}

// Server serves the OpenRTB endpoints.
type Server struct {
	cfg      Config
	deps     Deps
	rates    map[string]money.Micros
	sessions sync.Pool // of *bidSession
	produced func(error)
	// recent has the notices that this node recorded. The archive merges what passes: a notice that
	// other nodes took, too, or whose slot was replaced.
	recent  *recent.Set
	metrics metrics
	headers headers
}

// headers holds header values that many replies share.
type headers struct{ version, vary []string }

type metrics struct {
	bid, noBid, malformed, failed prometheus.Counter // requests by answer
	bids                          [kinds]prometheus.Counter
	nobids                        *prometheus.CounterVec // by reason
	notices                       *prometheus.CounterVec // by kind and proof
	dropped                       prometheus.Counter
}

// New returns the endpoints. Errors: an invalid setting.
func New(cfg Config, deps Deps) (*Server, error) {
	deps.Now = schedule.Clock(deps.Now)
	s := &Server{
		cfg: cfg, deps: deps, rates: map[string]money.Micros{"USD": money.USD}, sessions: sync.Pool{New: newBidSession},
		recent: recent.New(), headers: headers{version: []string{"2.6"}, vary: []string{"Accept-Encoding"}},
	}
	for currency, text := range cfg.Rates {
		usd, err := money.Parse(text)
		if err == nil && usd <= 0 {
			err = money.ErrRange
		}
		if err != nil {
			return nil, fmt.Errorf("ADNET_RTB_RATES, %s: %w", currency, err)
		}
		s.rates[strings.ToUpper(strings.TrimSpace(currency))] = usd
	}
	if cfg.Seat == "" || cfg.VideoSec <= 0 || cfg.VideoKbps < 0 {
		return nil, errors.New(
			"ADNET_RTB_SEAT must not be empty, ADNET_RTB_VIDEO_SECONDS must be positive, " +
				"ADNET_RTB_VIDEO_KBPS must not be negative",
		)
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return obs.Register(
			deps.Metrics,
			prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adnet_rtb_" + name, Help: help}, labels),
		)
	}
	bids := counters("bids_total", "Bids, by markup.", "markup")
	for kind := range s.metrics.bids {
		s.metrics.bids[kind] = bids.WithLabelValues(markupKind(kind).String())
	}
	requests := counters("requests_total", "Bid requests, by answer.", "answer")
	s.metrics.bid, s.metrics.noBid = requests.WithLabelValues("bid"), requests.WithLabelValues("no_bid")
	s.metrics.malformed, s.metrics.failed = requests.WithLabelValues("malformed"), requests.WithLabelValues("failed")
	s.metrics.nobids = counters("nobids_total", "Impressions without a bid, by reason.", "reason")
	s.metrics.notices = counters(
		"notices_total", "Notices of exchanges, by kind and result; only signed ones are recorded.", "kind", "proof",
	)
	s.metrics.dropped = obs.Register(
		deps.Metrics,
		prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_rtb_unrecorded_total", Help: "Notices that the log did not accept (best effort).",
		}),
	)
	s.produced = func(err error) {
		if err != nil {
			s.metrics.dropped.Inc()
		}
	}
	return s, nil
}

// Mount adds the routes to h.
func (s *Server) Mount(h *httpapi.Server) {
	// No Idempotency-Key: every bid request is a new auction.
	h.HandleKey(http.MethodPost, "/api/rtb", s.bid, httpapi.Policy{
		Limit: httpapi.LimitKeyless, Auth: httpapi.SeatKey, Idempotent: httpapi.No, Audited: httpapi.No,
		Body: MaxBody, Errors: s.refuse,
	})
	// For exchanges that cannot send a header.
	h.HandleKey(http.MethodPost, "/api/rtb/:key", s.bid, httpapi.Policy{
		Limit: httpapi.LimitKeyless, Auth: httpapi.SeatPathKey, Idempotent: httpapi.No, Audited: httpapi.No,
		Body: MaxBody, Errors: s.refuse,
	})
	h.HandleActions(http.MethodGet, "/api/rtb", httpapi.Actions{Param: "op", Of: map[string]httpapi.Action{
		"win": {Do: s.notice(win)}, "loss": {Do: s.notice(loss)}, "bill": {Do: s.notice(bill)},
		"error":  {Do: s.notice(failed)},
		"status": {Do: httpapi.Plain(s.status)},
	}}, httpapi.Policy{Limit: httpapi.LimitKeyless, Auth: httpapi.Anyone, Embedded: true, Errors: s.refuse})
}

// produce sends a record to the log, best effort.
func (s *Server) produce(topic string, key, value []byte) {
	s.deps.Producer.Produce(topic, key, value, s.produced)
}
