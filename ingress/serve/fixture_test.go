package serve

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
	"adnet/ingress/limits"
	"adnet/ingress/offer"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/memory"
	"adnet/internal/money"
	"adnet/internal/obs"
	"adnet/internal/token"
	"adnet/schemas/event"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

var (
	advertiserID = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	developerID  = uuid.MustParse("33333333-3333-4333-8333-333333333333")
	ownerID      = uuid.MustParse("44444444-4444-4444-8444-444444444444")
)

// shelf is the catalog: campaigns that may be served, and what the gate says.
type shelf struct {
	campaigns map[uuid.UUID]*campaign.Campaign
	snapshot  *auction.Snapshot
	stale     bool
	refuse    auction.Reason
}

func (s *shelf) put(list ...campaign.Campaign) {
	s.campaigns = map[uuid.UUID]*campaign.Campaign{}
	var entries []auction.Campaign
	for i := range list {
		k := &list[i]
		s.campaigns[k.ID] = k
		billing, _ := ranker.ParseBilling(string(k.BillingModel))
		t := k.Targeting
		entries = append(entries, auction.Campaign{
			ID: auction.ID(k.ID), Advertiser: auction.ID(k.AdvertiserID), Bid: k.BidAmount, Billing: billing,
			Targeting: &auction.Targeting{IntentTokens: t.IntentTokens, ActiveTools: t.ActiveTools, HostApps: t.HostApps, Surfaces: t.Surfaces,
				IntegrationMethods: t.IntegrationMethods, Regions: t.Regions, Languages: t.Languages},
		})
	}
	s.snapshot = target.Build(ranker.OverlapV1(), entries)
}

func (s *shelf) Snapshot() *auction.Snapshot { return s.snapshot }
func (s *shelf) Version() int64              { return 77 }
func (s *shelf) Fresh(time.Time) bool        { return !s.stale }

func (s *shelf) Gate(time.Time) auction.Gate {
	return auction.GateFunc(func(*auction.Campaign, money.Micros) auction.Reason { return s.refuse })
}

func (s *shelf) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	k, ok := s.campaigns[id]
	return k, ok
}

// sink is the log of auctions.
type sink struct {
	mu       sync.Mutex
	err      error
	auctions []*event.Auction
}

func (s *sink) Produce(topic string, _, value []byte, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := new(event.Auction)
	if err := proto.Unmarshal(value, a); err != nil || topic != event.TopicAuctions {
		panic("not an outcome of " + topic)
	}
	s.auctions = append(s.auctions, a)
	done(s.err)
}

type recording bool

func (r *recording) CanRecord(context.Context) bool { return bool(*r) }

type fixture struct {
	t         testing.TB
	http      *httpapi.Server
	told      *outcomes
	contract  *apitest.Contract // every reply of a test is held to it
	ring      *token.Keyring
	store     *memory.Store
	shelf     *shelf
	log       *sink
	recording recording
	now       time.Time
	key       string // a live publisher key of developerID
}

func newFixture(t testing.TB, perMinute int) *fixture {
	t.Helper()
	f := &fixture{t: t, contract: openAPI(t), now: start, shelf: &shelf{}, log: &sink{}, told: &outcomes{}, recording: true}
	clock := func() time.Time { return f.now }
	f.store = memory.New(clock)
	f.shelf.put(generic())
	master, err := token.NewKey("k1")
	require.NoError(t, err)
	f.ring, err = token.NewKeyring([]token.Key{master})
	require.NoError(t, err)
	rate, err := limits.New(limits.Config{PerMinute: perMinute, Burst: perMinute}, limits.Deps{})
	require.NoError(t, err)
	f.http, err = httpapi.New(httpapi.Config{BaseURL: "https://ads.example/"}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	New(Deps{
		Auth: httpapi.NewAuth(httpapi.AuthDeps{Users: f.store, Keys: f.store, Now: clock}),
		Ads: offer.New(offer.Config{Disclosure: "Sponsored"}, offer.Deps{
			Metrics: prometheus.NewRegistry(), Catalog: f.shelf, Limiter: rate, Keyring: f.ring, Producer: f.log, Recording: &f.recording,
			Outcomes: f.told, BaseURL: f.http.BaseURL, Now: clock,
		}),
	}).Mount(f.http)
	require.NoError(t, f.store.CreateUser(t.Context(), account.User{ID: ownerID, DeveloperID: developerID, Email: "p@example.com"}))
	f.key = f.newKey(account.KindPublisher)
	return f
}

// generic matches everything.
func generic() campaign.Campaign {
	return campaign.Campaign{
		ID: uuid.UUID{15: 1}, AdvertiserID: advertiserID, Format: campaign.Native, Headline: "A & B <c>", Subtext: "sub", CTALabel: "Go",
		MediaURL: "https://shop.example/i.png?a=1&b=2", CTAURL: "https://shop.example/", BillingModel: campaign.CPM, BidAmount: 5 * money.USD, CreditFunded: true,
	}
}

func (f *fixture) newKey(kind account.KeyKind) string {
	f.t.Helper()
	plain, material, err := account.GenerateKey(kind)
	require.NoError(f.t, err)
	f.keep(kind, material)
	return plain
}

func (f *fixture) keep(kind account.KeyKind, material account.KeyMaterial) uuid.UUID {
	f.t.Helper()
	id := uuid.New()
	require.NoError(f.t, f.store.CreateKey(f.t.Context(), account.Key{ID: id, OwnerID: ownerID, DeveloperID: developerID, Kind: kind, Hash: material.Hash}))
	return id
}

func (f *fixture) send(body string, header ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/ad-request", strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	f.contract.Check(f.t, r, w)
	return w
}

// ask sends body with a key; the reply must be 200.
func (f *fixture) ask(key, body string) reply {
	f.t.Helper()
	w := f.send(body, "Authorization", "Bearer "+key)
	require.Equal(f.t, http.StatusOK, w.Code, w.Body)
	require.Equal(f.t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	require.NotContains(f.t, w.Body.String(), `\u0026`, "links must be usable when copied from the text")
	var r reply
	require.NoError(f.t, json.Unmarshal(w.Body.Bytes(), &r, json.RejectUnknownMembers(true)))
	return r
}

// reply is the reply of the specification and what we add to it, nothing else.
type reply struct {
	AuctionID string `json:"auction_id"`
	Ad        *struct {
		AdID            string `json:"ad_id"`
		AuctionID       string `json:"auction_id"`
		Type            string `json:"type"`
		Headline        string `json:"headline"`
		Body            string `json:"body"`
		ImageURL        string `json:"image_url"`
		CTALabel        string `json:"cta_label"`
		ClickURL        string `json:"click_url"`
		ImpressionURL   string `json:"impression_url"`
		DisclosureLabel string `json:"disclosure_label"`
		Sandbox         bool   `json:"sandbox"`

		ReceiptURL string `json:"receipt_url"` // added
	} `json:"ad"`
	Reason     string `json:"reason"`
	RetryAfter int    `json:"retry_after"` // added
}

func requireError(t *testing.T, w *httptest.ResponseRecorder, status int, code, field string) {
	t.Helper()
	var envelope struct{ Error, Code, Field string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &envelope, json.MatchCaseInsensitiveNames(true)), w.Body)
	require.Equal(t, status, w.Code, envelope)
	require.Equal(t, code, envelope.Code)
	require.NotEmpty(t, envelope.Error)
	require.Equal(t, field, envelope.Field, envelope.Error)
}

var errDown = errors.New("down")

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
