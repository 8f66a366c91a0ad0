// Package track receives the events of served ads: beacons, clicks and conversions. It verifies the
// token, makes the event durable and replies. Settlement decides later what the event costs.
//
// Guarantee: a beacon or conversion is answered 200 only after Kafka acknowledged the event on all
// in-sync replicas, or after it is on stable storage in the local spool. A redirect never waits.
//
// # Not obvious
//
// The sender is inferred from the request. A link (/s/…) is always followed by the reader, and the
// reader's browser loads the pixels of js_snippet, npm_sdk and openrtb. Requests that the
// publisher's server may send (POST, MCP, and pixels of mcp and rest ads) come from one sender for
// many people: POST and MCP are not counted per network. Instead, their clicks per publisher are
// compared with the network's click rate.
//
// A click reads the counts of its reader, address and network from Redis (one script, 50 ms at most;
// this node's own counts during an outage). An impression never does: its rate is part of the
// exchange of limits.
package track

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/internal/traffic/recent"
	"adnet/schemas/event"
)

// Modes for beacons without a token (ADNET_UNSIGNED_BEACONS).
const (
	UnsignedRecord = "record" // counted per campaign and minute, never billed
	UnsignedBill   = "bill"   // billed at the campaign's price; for sandbox bidders and tests
)

// Config holds the settings of tracking.
type Config struct {
	Unsigned string        `name:"unsigned-beacons" env:"ADNET_UNSIGNED_BEACONS" default:"${unsigned_beacons}" enum:"record,bill" help:"Beacons without a token: record (counted per campaign and minute, neither stored nor billed) or bill (at the campaign's price)."`
	AckWait  time.Duration `name:"ack-wait" env:"ADNET_ACK_WAIT" default:"750ms" help:"How long a beacon waits for Kafka before it is written to the spool."`
	Operator string        `name:"operator" env:"ADNET_OPERATOR" help:"Name of the network's operator as readers see it on the receipt of an ad (default: the host of ADNET_BASE_URL)."`
	Life     token.Life    `embed:""`
	Traffic  TrafficConfig `embed:""`
}

// Creatives finds the ad of a token's campaign in any state: the link of a served ad works forever.
type Creatives interface {
	Creative(id uuid.UUID) (*campaign.Campaign, bool)
}

// Exposures receives each genuine impression; see frequency.Caps. It never blocks.
type Exposures interface {
	Confirm(session campaign.SessionKey, campaignID, auctionID uuid.UUID)
}

// Unseen tracks the budget that ads hold until they are shown; see limits.Limits. It never blocks.
type Unseen interface {
	// Seen ends what an ad holds. Of all calls for an ad, only the first counts.
	Seen(u *traffic.Unseen, now time.Time)
}

// Deps holds the dependencies of tracking.
type Deps struct {
	Log        *slog.Logger
	Metrics    prometheus.Registerer
	Keyring    *token.Keyring
	Producer   Producer
	Spool      Spool
	Creatives  Creatives
	Exposures  Exposures // nil: exposures are not reported
	Auth       *httpapi.Auth
	Seen       Seen
	Clicks     Clicks        // nil: clicks are not counted per sender
	Views      Views         // nil: impressions are not counted per network
	Reports    Reports       // nil: clicks reported by servers are not counted
	Unseen     Unseen        // nil: shown ads release no budget
	Strangers  Strangers     // nil: unverified events are not limited
	Complaints Complaints    // nil: readers cannot report ads
	Unproven   UnprovenStore // nil: unverified events are counted only in metrics
	Words      Words         // nil: receipts show no words
	Sponsors   Sponsors      // nil: receipts name accounts by their ids
	BaseURL    func() string // nil: receipts name no host as the operator
	Now        func() time.Time
}

// Tracker is the tracking endpoints.
type Tracker struct {
	cfg      Config
	deps     Deps
	recorder *recorder
	traffic  *screening
	unproven unproven
	invalid  map[string]prometheus.Counter // by rule
	doubtful map[string]prometheus.Counter // by reason
	missed   prometheus.Counter
	recent   *recent.Set
	events   [event.Types][event.Proof_BAD_SIGNATURE + 1]prometheus.Counter // by type and proof
}

// New returns the endpoints. Errors: an invalid token lifetime or mode.
func New(cfg Config, deps Deps) (*Tracker, error) {
	deps.Now = schedule.Clock(deps.Now)
	if err := cfg.Life.Validate(); err != nil {
		return nil, err
	}
	if cfg.Unsigned != UnsignedRecord && cfg.Unsigned != UnsignedBill {
		return nil, fmt.Errorf("ADNET_UNSIGNED_BEACONS must be record or bill, not %q", cfg.Unsigned)
	}
	judge, err := newScreening(cfg.Traffic, deps)
	if err != nil {
		return nil, err
	}
	t := &Tracker{
		cfg: cfg, deps: deps, recorder: newRecorder(cfg, deps), traffic: judge,
		invalid: make(map[string]prometheus.Counter), doubtful: make(map[string]prometheus.Counter),
		recent: recent.New(),
	}
	taken := obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_track_events_total", Help: "Events taken, by type and proof of the token.",
	}, []string{"event", "proof"}))
	invalid := obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_track_invalid_total", Help: "Events found to be invalid traffic, by rule.",
	}, []string{"rule"}))
	t.missed = obs.Register(deps.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_track_clicks_uncounted_total",
		Help: "Clicks judged by one node's clicks because the counts of all nodes were unavailable.",
	}))
	doubtful := obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_track_conversions_unverified_total",
		Help: "Conversions taken but not verified, by reason. They are never charged.",
	}, []string{"reason"}))
	for _, reason := range unverifiedReasons() {
		t.doubtful[reason] = doubtful.WithLabelValues(reason)
	}
	for _, rule := range traffic.InvalidRules() {
		t.invalid[rule] = invalid.WithLabelValues(rule)
	}
	for _, k := range event.Kinds() {
		for proof := range t.events[k.Type] {
			t.events[k.Type][proof] = taken.WithLabelValues(k.Name, event.Proof(proof).String())
		}
	}
	return t, nil
}

// judge marks e if it is invalid traffic, and counts it.
func (t *Tracker) judge(ctx context.Context, e *event.Event, o Origin, now time.Time) {
	if !t.traffic.judge(ctx, e, o, now) {
		t.missed.Inc()
	}
	t.events[e.Type][e.Proof].Inc()
	if e.InvalidTraffic != "" {
		t.invalid[e.InvalidTraffic].Inc()
	}
}

// CanRecord reports whether events can be made durable now. While they cannot, no ad should be
// served.
func (t *Tracker) CanRecord(context.Context) bool { return t.recorder.canRecord() }

// Mount adds the routes to s.
func (t *Tracker) Mount(s *httpapi.Server) {
	beacon := httpapi.Policy{Limit: httpapi.LimitNone, Auth: httpapi.Anyone, Embedded: true}
	s.Handle(http.MethodGet, "/api/track", httpapi.Plain(t.pixel), beacon)
	// No Idempotency-Key: an event counts once per auction, permanently.
	report := httpapi.Policy{
		Limit: httpapi.LimitConversionKey,
		Auth:  httpapi.Anyone | httpapi.UserToken | httpapi.ConversionKey | httpapi.BrowserKey, Idempotent: httpapi.No,
		Audited: httpapi.No, Embedded: true,
	}
	checks := report // No Idempotency-Key: it stores nothing.
	checks.Auth = httpapi.UserToken | httpapi.ConversionKey
	reports := report
	reports.Body = maxBatchBody
	s.HandleActions(http.MethodPost, "/api/track", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"":      {Do: httpapi.Plain(t.post)},
		"batch": {Do: httpapi.Plain(t.batch), Policy: reports},
		"check": {Do: httpapi.Plain(t.check), Policy: checks},
	}}, report)
	s.Handle(
		http.MethodOptions, "/api/track", httpapi.Plain(t.deps.Auth.Preflight),
		httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone},
	)
	s.Handle(http.MethodGet, "/s/:token", httpapi.Plain(t.redirect), beacon)
	s.Handle(http.MethodHead, "/s/:token", httpapi.Plain(t.redirect), beacon)
	// No Idempotency-Key: there is one report per auction. The audit log has the decision on it.
	s.Handle(
		http.MethodPost, "/r/:token", httpapi.Plain(t.reportAd),
		httpapi.Policy{
			Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No, Body: 16 << 10,
		},
	)
	s.Handle(
		http.MethodGet, "/r/:token", httpapi.Plain(t.receipt),
		httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone},
	)
}
