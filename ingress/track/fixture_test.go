package track

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/internal/account"
	"adnet/internal/campaign"
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

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

var (
	campaignID   = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	advertiserID = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	developerID  = uuid.MustParse("33333333-3333-4333-8333-333333333333")
)

const landing = "https://shop.example/landing?a=1&b=2"

// sink is a producer or a spool.
type sink struct {
	mu     sync.Mutex
	err    error
	silent bool // never answers
	events []*event.Event
	keys   []string
	held   []func(error) // of a silent one
}

func (s *sink) Produce(topic string, key, value []byte, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := new(event.Event)
	if err := proto.Unmarshal(value, e); err != nil || topic != event.TopicEvents {
		panic("not an event of " + topic)
	}
	s.events, s.keys = append(s.events, e), append(s.keys, string(key))
	if s.silent {
		s.held = append(s.held, done)
		return
	}
	done(s.err)
}

// Append lets a sink be the spool.
func (s *sink) Append(topic string, key, value []byte, done func(error)) {
	s.Produce(topic, key, value, done)
}

func (s *sink) taken() []*event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events
}

type creatives map[uuid.UUID]*campaign.Campaign

func (c creatives) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	k, ok := c[id]
	return k, ok
}

type seen struct {
	err  error
	keys map[string]time.Duration
}

func (s *seen) Seen(_ context.Context, key string, life time.Duration) (bool, error) {
	_, known := s.keys[key]
	s.keys[key] = life
	return !known, s.err
}

type fixture struct {
	t         testing.TB
	http      *httpapi.Server
	contract  *apitest.Contract // every JSON reply is held to it
	tracker   *Tracker
	ring      *token.Keyring
	sessions  *token.Sessions
	store     *memory.Store
	producer  *sink
	spool     *sink
	seen      *seen
	creatives creatives
	now       time.Time
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	key, err := token.NewKey("k1")
	require.NoError(t, err)
	f := &fixture{t: t, contract: openAPI(t), now: start, producer: &sink{}, spool: &sink{}, seen: &seen{keys: map[string]time.Duration{}}}
	f.ring, err = token.NewKeyring([]token.Key{key})
	require.NoError(t, err)
	f.sessions, err = token.NewSessions([]token.Key{key})
	require.NoError(t, err)
	clock := func() time.Time { return f.now }
	f.store = memory.New(clock)
	f.creatives = creatives{campaignID: {ID: campaignID, AdvertiserID: advertiserID, Format: campaign.Video, Headline: "Buy <b>this</b>", CTAURL: landing}}
	f.http, err = httpapi.New(httpapi.Config{BaseURL: "https://ads.example"}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	cfg := Config{Unsigned: UnsignedRecord, AckWait: time.Minute, Life: tokentest.Life()}
	for _, c := range change {
		c(&cfg)
	}
	f.tracker, err = New(cfg, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Keyring: f.ring, Producer: f.producer, Spool: f.spool,
		Creatives: f.creatives, Seen: f.seen, Now: clock,
		Auth: httpapi.NewAuth(httpapi.AuthDeps{Users: f.store, Keys: f.store, Sessions: f.sessions, Now: clock}),
	})
	require.NoError(t, err)
	f.tracker.Mount(f.http)
	return f
}

// auction is what a served ad's token says; at is the time of the auction.
func auction(at time.Time) token.Auction {
	id := uuid.Must(uuid.NewV7())
	for i := range 6 {
		id[i] = byte(at.UnixMilli() >> (40 - 8*i))
	}
	return token.Auction{
		AuctionID: id, CampaignID: campaignID, AdvertiserID: advertiserID, DeveloperID: developerID, Price: 3 * money.USD / 1000,
		BillingModel: "cpm", Format: "image", IntegrationMethod: "rest", Surface: "chat", Region: "DE", Language: "de", HostApp: "Editor",
	}
}

func (f *fixture) token() string { return f.ring.Sign(token.PurposeAuction, auction(f.now)) }

func (f *fixture) do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		f.contract.Check(f.t, r, w)
	}
	return w
}

// pixel fires a beacon with pairs of parameters.
func (f *fixture) pixel(pairs ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return f.do(http.MethodGet, "/api/track?"+query.Encode(), "")
}

// last is the event that the producer got last.
func (f *fixture) last() *event.Event {
	f.t.Helper()
	events := f.producer.taken()
	require.NotEmpty(f.t, events)
	return events[len(events)-1]
}

// login makes an account and its access token.
func (f *fixture) login(id, developer uuid.UUID) string {
	f.t.Helper()
	user := account.User{ID: id, DeveloperID: developer, Email: id.String() + "@example.com", Role: account.RoleAdvertiser}
	require.NoError(f.t, f.store.CreateUser(f.t.Context(), user))
	access, _, err := f.sessions.Issue(token.Claims{UserID: id, Email: user.Email, Role: string(user.Role)}, f.now)
	require.NoError(f.t, err)
	return access
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
