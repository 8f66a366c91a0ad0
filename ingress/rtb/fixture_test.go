package rtb

import (
	"bytes"
	"context"
	stdjson "encoding/json"
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
	"adnet/internal/token/tokentest"
	"adnet/schemas/event"

	"github.com/google/uuid"
	"github.com/prebid/openrtb/v20/openrtb2"
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
	check     func(*auction.Campaign) auction.Reason
}

func (s *shelf) put(list ...campaign.Campaign) {
	s.campaigns = map[uuid.UUID]*campaign.Campaign{}
	var entries []auction.Campaign
	for i := range list {
		k := &list[i]
		s.campaigns[k.ID] = k
		billing, _ := ranker.ParseBilling(string(k.BillingModel))
		format, _ := target.ParseFormat(string(k.Format))
		t := k.Targeting
		entries = append(entries, auction.Campaign{
			ID: auction.ID(k.ID), Advertiser: auction.ID(k.AdvertiserID), Bid: k.BidAmount, Billing: billing, Format: format,
			LandingDomain: landingDomain(k.CTAURL),
			Targeting: &auction.Targeting{IntentTokens: t.IntentTokens, ActiveTools: t.ActiveTools, HostApps: t.HostApps, Surfaces: t.Surfaces,
				IntegrationMethods: t.IntegrationMethods, Regions: t.Regions, Languages: t.Languages, Deals: k.Deals},
		})
	}
	s.snapshot = target.Build(ranker.OverlapV1(), entries)
}

func (s *shelf) Snapshot() *auction.Snapshot { return s.snapshot }
func (s *shelf) Version() int64              { return 77 }
func (s *shelf) Fresh(time.Time) bool        { return !s.stale }

func (s *shelf) Gate(time.Time) auction.Gate {
	return auction.GateFunc(func(c *auction.Campaign, _ money.Micros) auction.Reason {
		if s.check == nil {
			return ""
		}
		return s.check(c)
	})
}

func (s *shelf) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	k, ok := s.campaigns[id]
	return k, ok
}

// sink is the log.
type sink struct {
	mu       sync.Mutex
	err      error
	auctions []*event.Auction
	notices  []*event.Notice
}

func (s *sink) Produce(topic string, key, value []byte, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch topic {
	case event.TopicAuctions:
		a := new(event.Auction)
		err = proto.Unmarshal(value, a)
		s.auctions = append(s.auctions, a)
	case event.TopicNotices:
		n := new(event.Notice)
		err = proto.Unmarshal(value, n)
		s.notices = append(s.notices, n)
	}
	if err != nil || len(key) != 16 {
		panic("not a record of " + topic)
	}
	done(s.err)
}

type recording bool

func (r *recording) CanRecord(context.Context) bool { return bool(*r) }

type fixture struct {
	t         testing.TB
	cfg       Config
	http      *httpapi.Server
	contract  *apitest.Contract
	ring      *token.Keyring
	store     *memory.Store
	shelf     *shelf
	log       *sink
	recording recording
	now       time.Time
	key       string // a seat key of developerID
	limits    *limits.Limits
}

func defaults() Config { return Config{Seat: "adnet", CatTax: 1, VideoSec: 15} }

func newFixture(t testing.TB) *fixture { return newFixtureOf(t, defaults(), "https://ads.example") }

func newFixtureOf(t testing.TB, cfg Config, base string) *fixture {
	return newLimitedFixture(t, cfg, base, 0)
}

// newLimitedFixture lets each seat key in perSecond times a second; 0 is no limit.
func newLimitedFixture(t testing.TB, cfg Config, base string, perSecond int) *fixture {
	t.Helper()
	f := &fixture{t: t, cfg: cfg, contract: openAPI(t), now: start, shelf: &shelf{}, log: &sink{}, recording: true}
	clock := func() time.Time { return f.now }
	f.store = memory.New(clock)
	f.shelf.put(shelfOf("image", "native", "video")...)
	master, err := token.NewKey("k1")
	require.NoError(t, err)
	f.ring, err = token.NewKeyring([]token.Key{master})
	require.NoError(t, err)
	f.http, err = httpapi.New(httpapi.Config{BaseURL: base}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	f.limits, err = limits.New(limits.Config{Seat: perSecond}, limits.Deps{Now: clock})
	require.NoError(t, err)
	s, err := New(cfg, Deps{
		Metrics: prometheus.NewRegistry(), Auth: httpapi.NewAuth(httpapi.AuthDeps{Users: f.store, Keys: f.store, Now: clock}),
		Limiter: f.limits, Keyring: f.ring, Producer: f.log, Now: clock,
		Seller: offer.New(offer.Config{Disclosure: "Sponsored"}, offer.Deps{
			Metrics: prometheus.NewRegistry(), Catalog: f.shelf, Keyring: f.ring, Producer: f.log, Recording: &f.recording,
			Life: tokentest.Life(), BaseURL: f.http.BaseURL, Now: clock,
		}),
	})
	require.NoError(t, err)
	s.Mount(f.http)
	require.NoError(t, f.store.CreateUser(t.Context(), account.User{ID: ownerID, DeveloperID: developerID, Email: "p@example.com"}))
	f.key = f.newKey(account.KindSeat)
	return f
}

func (f *fixture) newKey(kind account.KeyKind) string {
	f.t.Helper()
	plain, material, err := account.GenerateKey(kind)
	require.NoError(f.t, err)
	require.NoError(f.t, f.store.CreateKey(f.t.Context(), account.Key{ID: uuid.New(), OwnerID: ownerID, DeveloperID: developerID, Kind: kind, Hash: material.Hash}))
	return plain
}

// shelfOf are the campaigns that tests name; see catalogue.
func shelfOf(names ...string) (list []campaign.Campaign) {
	for _, name := range names {
		k, ok := catalogue()[name]
		if !ok {
			panic("no campaign " + name)
		}
		list = append(list, k)
	}
	return list
}

func catalogue() map[string]campaign.Campaign {
	base := func(n byte, format campaign.Format, bid money.Micros) campaign.Campaign {
		return campaign.Campaign{
			ID: uuid.UUID{0: 0xc0, 6: 0x80, 8: 0x80, 15: n}, AdvertiserID: advertiserID, Format: format, Headline: "Query Postgres in plain English",
			Subtext: "Ask your database a question.", CTALabel: "Try it", MediaURL: "https://cdn.shop.example/i.png", CTAURL: "https://www.shop.example/try?a=1",
			BillingModel: campaign.CPM, BidAmount: bid, SkippableAfterSec: 3,
		}
	}
	image, native, video := base(1, campaign.Image, 5*money.USD), base(2, campaign.Native, 4*money.USD), base(3, campaign.Video, 6*money.USD)
	video.MediaURL, video.PosterURL = "https://cdn.shop.example/v.mp4", "https://cdn.shop.example/i.png"
	plain := base(4, campaign.Image, 3*money.USD)
	plain.MediaURL = ""
	postgres := base(5, campaign.Image, 2*money.USD)
	postgres.IntentTokens, postgres.ActiveTools = []string{"postgres", "backup", "restore"}, []string{"db-query"}
	words := base(13, campaign.Image, 2*money.USD)
	words.IntentTokens = []string{"postgres", "backup", "restore"}
	hosted := base(6, campaign.Image, 2*money.USD)
	hosted.HostApps = []string{"claude-desktop"}
	local := base(7, campaign.Image, 2*money.USD)
	local.Regions, local.Languages = []string{"US-CA"}, []string{"en"}
	click := base(8, campaign.Image, 40*money.USD)
	click.BillingModel = campaign.CPC
	tiny := base(9, campaign.Image, money.USD/100)
	other := base(10, campaign.Image, 4*money.USD)
	other.CTAURL = "https://rival.example/"
	hostile := base(11, campaign.Image, 5*money.USD)
	hostile.Headline, hostile.Subtext = `"><img src=x onerror=alert(1)></script>`, `]]> ${AUCTION_PRICE} '<b>&`
	hostile.MediaURL = `https://cdn.shop.example/${AUCTION_ID}"><script>.png`
	credit := base(12, campaign.Image, 5*money.USD)
	credit.CreditFunded = true
	logo := base(14, campaign.Native, 3*money.USD)
	logo.LogoURL = "https://cdn.shop.example/logo.png"
	deal := base(15, campaign.Image, 4*money.USD)
	deal.Deals = []string{"quay-7", "fixed"}
	dealVideo := base(16, campaign.Video, 10*money.USD)
	dealVideo.MediaURL, dealVideo.Deals = "https://cdn.shop.example/v.mp4", []string{"video"}
	hostileNative := hostile
	hostileNative.ID[15], hostileNative.Format, hostileNative.BidAmount = 17, campaign.Native, 4*money.USD
	return map[string]campaign.Campaign{
		"hostilenative": hostileNative, "logo": logo, "deal": deal, "dealvideo": dealVideo,
		"image": image, "native": native, "video": video, "text": plain, "postgres": postgres, "hosted": hosted, "local": local,
		"click": click, "tiny": tiny, "rival": other, "hostile": hostile, "credit": credit, "words": words,
	}
}

func (f *fixture) send(body []byte, header ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	w, _ := f.try(body, header...)
	return w
}

func (f *fixture) try(body []byte, header ...string) (*httptest.ResponseRecorder, *http.Request) {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/api/rtb", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+f.key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") == "" && f.contract != nil {
		f.contract.Check(f.t, r, w)
	}
	return w, r
}

func (f *fixture) get(query string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/rtb?"+query, nil)
	w := httptest.NewRecorder()
	f.http.ServeHTTP(w, r)
	if w.Header().Get("Content-Type") != "image/gif" { // whose bytes the tests compare themselves
		f.contract.Check(f.t, r, w)
	}
	return w
}

// bids sends a request that must be bid for.
func (f *fixture) bids(body string) []openrtb2.Bid {
	f.t.Helper()
	w := f.send([]byte(body))
	require.Equal(f.t, http.StatusOK, w.Code, w.Body)
	r := strict(f.t, w.Body.Bytes())
	require.Len(f.t, r.SeatBid, 1)
	return r.SeatBid[0].Bid
}

// none sends a request that must not be bid for, and gives the reason of the first imp.
func (f *fixture) none(body string) string {
	f.t.Helper()
	w := f.send([]byte(body))
	require.Equal(f.t, http.StatusNoContent, w.Code, w.Body)
	require.Empty(f.t, w.Body.String())
	debug := strings.Replace(body, "{", `{"ext":{"debug":true},`, 1)
	if strings.Contains(body, `"ext":{"mcp_context"`) {
		debug = strings.Replace(body, `"ext":{"mcp_context"`, `"ext":{"debug":1,"mcp_context"`, 1)
	}
	w = f.send([]byte(debug))
	require.Equal(f.t, http.StatusOK, w.Code, w.Body)
	r := strict(f.t, w.Body.Bytes())
	require.Empty(f.t, r.SeatBid)
	require.NotNil(f.t, r.NBR)
	var ext struct {
		SeatNonBid []struct {
			Seat   string
			NonBid []struct {
				ImpID      string
				StatusCode int
				Ext        struct{ Reason string }
			}
		}
	}
	require.NoError(f.t, stdjson.Unmarshal(r.Ext, &ext))
	require.Len(f.t, ext.SeatNonBid, 1)
	require.NotEmpty(f.t, ext.SeatNonBid[0].NonBid)
	require.NotEmpty(f.t, ext.SeatNonBid[0].NonBid[0].ImpID)
	return ext.SeatNonBid[0].NonBid[0].Ext.Reason
}

// strict decodes a reply into the official types; a field that they do not have is an error.
func strict(t testing.TB, body []byte) openrtb2.BidResponse {
	t.Helper()
	var r openrtb2.BidResponse
	known(t, body, &r)
	require.NotEmpty(t, r.ID)
	for _, seat := range r.SeatBid {
		require.NotEmpty(t, seat.Seat)
		for _, b := range seat.Bid {
			require.NotEmpty(t, b.ID)
			require.NotEmpty(t, b.ImpID)
			require.NotEmpty(t, b.CrID)
			require.NotEmpty(t, b.CID)
			require.Positive(t, b.Price)
			require.Len(t, b.ADomain, 1)
			require.Positive(t, b.Exp)
			require.Contains(t, []openrtb2.MarkupType{openrtb2.MarkupBanner, openrtb2.MarkupVideo, openrtb2.MarkupNative}, b.MType)
			require.True(t, strings.HasSuffix(b.NURL, "&price=${AUCTION_PRICE}"), b.NURL)
			require.True(t, strings.HasSuffix(b.BURL, "&price=${AUCTION_PRICE}"), b.BURL)
			require.True(t, strings.HasSuffix(b.LURL, "&reason=${AUCTION_LOSS}"), b.LURL)
			require.NotContains(t, b.AdM, "${")
		}
	}
	return r
}

func known(t testing.TB, body []byte, into any) {
	t.Helper()
	decoder := stdjson.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(into), "%s", body)
	require.False(t, decoder.More())
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
