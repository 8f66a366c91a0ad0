package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/serve"
	"adnet/ingress/track"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/memory"
	"adnet/internal/money"
	"adnet/internal/obs"
	"adnet/internal/token"
	"adnet/internal/token/tokentest"
	"adnet/schemas/event"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

var (
	campaignID   = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	advertiserID = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	developerID  = uuid.MustParse("33333333-3333-4333-8333-333333333333")
	ownerID      = uuid.MustParse("44444444-4444-4444-8444-444444444444")
)

const origin = "https://app.example"

// shelf is the catalog: one campaign, and what the gate says.
type shelf struct {
	creative campaign.Campaign
	snapshot *auction.Snapshot
	stale    bool
	refuse   auction.Reason
}

func (s *shelf) put(k campaign.Campaign) {
	s.creative = k
	billing, _ := ranker.ParseBilling(string(k.BillingModel))
	s.snapshot = target.Build(ranker.OverlapV1(), []auction.Campaign{{
		ID: auction.ID(k.ID), Advertiser: auction.ID(k.AdvertiserID), Bid: k.BidAmount, Billing: billing,
		Targeting: &auction.Targeting{
			IntentTokens: k.Targeting.IntentTokens, ActiveTools: k.Targeting.ActiveTools, HostApps: k.Targeting.HostApps, Surfaces: k.Targeting.Surfaces,
			IntegrationMethods: k.Targeting.IntegrationMethods, Regions: k.Targeting.Regions, Languages: k.Targeting.Languages,
		},
	}})
}

func (s *shelf) Snapshot() *auction.Snapshot { return s.snapshot }
func (s *shelf) Version() int64              { return 77 }
func (s *shelf) Fresh(time.Time) bool        { return !s.stale }
func (s *shelf) Gate(time.Time) auction.Gate {
	return auction.GateFunc(func(*auction.Campaign, money.Micros) auction.Reason { return s.refuse })
}

func (s *shelf) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	return &s.creative, id == s.creative.ID
}

// sink is the log and the spool.
type sink struct {
	mu       sync.Mutex
	err      error // of events
	auctions []*event.Auction
	events   []*event.Event
}

func (s *sink) Produce(topic string, _, value []byte, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if topic == event.TopicAuctions {
		a := new(event.Auction)
		if err := proto.Unmarshal(value, a); err != nil {
			panic(err)
		}
		s.auctions = append(s.auctions, a)
		done(nil)
		return
	}
	e := new(event.Event)
	if err := proto.Unmarshal(value, e); err != nil {
		panic(err)
	}
	if s.err == nil {
		s.events = append(s.events, e)
	}
	done(s.err)
}

func (s *sink) Append(topic string, key, value []byte, done func(error)) {
	s.Produce(topic, key, value, done)
}

type seen struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (s *seen) Seen(_ context.Context, key string, _ time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[key]
	s.keys[key] = true
	return !known, nil
}

// limiter lets a number of requests through.
type limiter struct {
	mu   sync.Mutex
	left int
}

func (l *limiter) Allow(http.Header, uuid.UUID, time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left--; l.left < 0 {
		return errs.New(errs.RateLimited, "too many requests").With("retry_after", 3)
	}
	return nil
}

// brokenStore is a key store that is out of reach.
type brokenStore struct{ account.KeyStore }

func (brokenStore) KeyByHash(context.Context, [32]byte) (account.Key, bool, error) {
	return account.Key{}, false, errors.New("dial tcp db-17: refused")
}

type fixture struct {
	t        testing.TB
	http     *httpapi.Server
	ring     *token.Keyring
	store    *memory.Store
	shelf    *shelf
	log      *sink
	limiter  *limiter
	lines    strings.Builder // of the log
	key      string          // a live publisher key of developerID
	unsigned string          // ADNET_UNSIGNED_BEACONS
	now      time.Time
	clock    func() time.Time // says now
}

// newFixture is the endpoint over the real ads and tracking.
func newFixture(t testing.TB, unsigned string) *fixture {
	t.Helper()
	f := &fixture{
		t: t, unsigned: unsigned, shelf: &shelf{}, log: &sink{}, limiter: &limiter{left: 1 << 30},
		now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC),
	}
	f.clock = func() time.Time { return f.now }
	f.store = memory.New(f.clock)
	f.shelf.put(generic())
	master, err := token.NewKey("k1")
	require.NoError(t, err)
	f.ring, err = token.NewKeyring([]token.Key{master})
	require.NoError(t, err)
	f.http = f.serveFrom(f.shelf, f.log)
	require.NoError(t, f.store.CreateUser(t.Context(), account.User{ID: ownerID, DeveloperID: developerID, Email: "p@example.com"}))
	f.key = f.newKey(account.KindPublisher)
	return f
}

// stock is what ads and links are found in.
type stock interface {
	offer.Catalog
	track.Creatives
}

// serveFrom is an engine with the endpoints over a catalog and a log.
func (f *fixture) serveFrom(shelf stock, log track.Producer) *httpapi.Server {
	t := f.t
	t.Helper()
	logger := f.logger()
	engine, err := httpapi.New(httpapi.Config{BaseURL: "https://ads.example"}, httpapi.Deps{Log: logger, Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness()})
	require.NoError(t, err)
	auth := httpapi.NewAuth(httpapi.AuthDeps{Users: f.store, Keys: f.store, Now: f.clock})
	tracker, err := track.New(track.Config{Unsigned: f.unsigned, AckWait: time.Minute, Life: tokentest.Life()}, track.Deps{
		Log: logger, Metrics: prometheus.NewRegistry(), Keyring: f.ring, Producer: log, Spool: f.log, Creatives: shelf,
		Seen: &seen{keys: map[string]bool{}}, Now: f.clock, Auth: auth,
	})
	require.NoError(t, err)
	ads := offer.New(offer.Config{Disclosure: "Sponsored"}, offer.Deps{
		Metrics: prometheus.NewRegistry(), Catalog: shelf, Limiter: f.limiter, Keyring: f.ring, Producer: log,
		Recording: tracker, BaseURL: engine.BaseURL, Now: f.clock,
	})
	endpoint, err := mcp.New(mcp.Config{Origins: []string{origin}}, mcp.Deps{
		Log: logger, Metrics: prometheus.NewRegistry(), Auth: auth, Ads: ads, Events: tracker,
	})
	require.NoError(t, err)
	tracker.Mount(engine)
	serve.New(serve.Deps{Auth: auth, Ads: ads}).Mount(engine)
	endpoint.Mount(engine)
	return engine
}

// generic matches every context.
func generic() campaign.Campaign {
	return campaign.Campaign{
		ID: campaignID, AdvertiserID: advertiserID, Format: campaign.Native, Headline: "Chess lessons", Subtext: "For curious beginners",
		CTALabel: "Start", MediaURL: "https://shop.example/i.png", CTAURL: "https://shop.example/landing?a=1&b=2",
		SkippableAfterSec: campaign.DefaultSkipSec, BillingModel: campaign.CPM, BidAmount: 5 * money.USD,
	}
}

func (f *fixture) newKey(kind account.KeyKind) string {
	f.t.Helper()
	plain, material, err := account.GenerateKey(kind)
	require.NoError(f.t, err)
	require.NoError(f.t, f.store.CreateKey(f.t.Context(), account.Key{ID: uuid.New(), OwnerID: ownerID, DeveloperID: developerID, Kind: kind, Hash: material.Hash}))
	return plain
}

// do sends a request; the reply is held to the document.
func (f *fixture) do(method, path, body string, header http.Header) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for name, values := range header {
		for _, value := range values {
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	openAPI(f.t).Check(f.t, r, w)
	return w
}

// post sends body to the endpoint with the live key.
func (f *fixture) post(body string) *httptest.ResponseRecorder {
	f.t.Helper()
	return f.do(http.MethodPost, mcp.Path, body, http.Header{"Authorization": {"Bearer " + f.key}})
}

var document struct {
	once     sync.Once
	contract *apitest.Contract
}

// openAPI loads the document once for all tests: it is large.
func openAPI(t testing.TB) *apitest.Contract {
	t.Helper()
	document.once.Do(func() { document.contract = apitest.Load(t) })
	return document.contract
}

func (f *fixture) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&f.lines, nil)) }
