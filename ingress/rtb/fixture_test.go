package rtb

import (
	"bytes"
	stdjson "encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

var (
	advertiserID = ingresstest.AdvertiserID
	developerID  = ingresstest.DeveloperID
)

// fixture is the endpoint in a world whose shelf has one campaign of each format.
type fixture struct {
	*ingresstest.World
	cfg Config
	key string // a seat's

	server *Server
}

func defaults() Config { return Config{Seat: "adnet", CatTax: 1, VideoSec: 15, VideoKbps: 1000} }

func newFixture(t testing.TB) *fixture { return newFixtureOf(t, defaults(), "") }

func newFixtureOf(t testing.TB, cfg Config, base string) *fixture {
	t.Helper()
	f := unmounted(t, cfg, ingresstest.Options{BaseURL: base})
	f.mount(f.deps(0))
	return f
}

// newLimitedFixture lets each seat key in perSecond times a second.
func newLimitedFixture(t testing.TB, perSecond int) *fixture {
	t.Helper()
	f := unmounted(t, defaults(), ingresstest.Options{})
	f.mount(f.deps(perSecond))
	return f
}

func unmounted(t testing.TB, cfg Config, o ingresstest.Options) *fixture {
	t.Helper()
	f := &fixture{World: ingresstest.New(t, o), cfg: cfg}
	f.Shelf.Put(shelfOf("image", "native", "video")...)
	return f
}

// deps are what the endpoint works with; 0 a second means no limit.
func (f *fixture) deps(perSecond int) Deps {
	f.T.Helper()
	rate, err := limits.New(limits.Config{Seat: perSecond}, limits.Deps{Now: f.Clock})
	require.NoError(f.T, err)
	return Deps{
		Metrics: f.Metrics, Limiter: rate, Keyring: f.Ring, Producer: f.Log, Now: f.Clock,
		Seller: ingresstest.Seller(f.Selling()),
	}
}

// mount makes the endpoint and the key that asks it.
func (f *fixture) mount(deps Deps) {
	f.T.Helper()
	s, err := New(f.cfg, deps)
	require.NoError(f.T, err)
	f.server = s
	s.Mount(f.HTTP)
	f.key = f.Key(account.KindSeat)
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
			ID: uuid.UUID{0: 0xc0, 6: 0x80, 8: 0x80, 15: n}, AdvertiserID: advertiserID, Creative: campaign.Creative{
				Format: format, Headline: "Query Postgres in plain English",
				Subtext: "Ask your database a question.", CTALabel: "Try it",
				MediaURL: "https://cdn.shop.example/i.png",
				CTAURL:   "https://www.shop.example/try?a=1",
			},
			BillingModel: campaign.CPM, BidAmount: bid, SkippableAfterSec: 3,
		}
	}
	image, native, video := base(1, campaign.Image, 5*money.USD), base(
		2, campaign.Native, 4*money.USD,
	), base(3, campaign.Video, 6*money.USD)
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
		"image": image, "native": native, "video": video, "text": plain, "postgres": postgres, "hosted": hosted,
		"local": local,
		"click": click, "tiny": tiny, "rival": other, "hostile": hostile, "credit": credit, "words": words,
	}
}

func (f *fixture) send(body []byte, header ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	w, _ := f.try(body, header...)
	return w
}

func (f *fixture) try(body []byte, header ...string) (*httptest.ResponseRecorder, *http.Request) {
	f.T.Helper()
	r := ingresstest.Request(
		http.MethodPost, "/api/rtb", string(body), append([]string{"Authorization", "Bearer " + f.key}, header...)...,
	)
	return f.Send(f.T, r), r
}

func (f *fixture) get(query string) *httptest.ResponseRecorder {
	f.T.Helper()
	return f.Do(http.MethodGet, "/api/rtb?"+query, "")
}

// bids sends a request that must be bid for.
func (f *fixture) bids(body string) []openrtb2.Bid {
	f.T.Helper()
	w := f.send([]byte(body))
	require.Equal(f.T, http.StatusOK, w.Code, w.Body)
	r := strict(f.T, w.Body.Bytes())
	require.Len(f.T, r.SeatBid, 1)
	return r.SeatBid[0].Bid
}

// none sends a request that must not be bid for, and gives the reason of the first imp.
func (f *fixture) none(body string) string {
	f.T.Helper()
	w := f.send([]byte(body))
	require.Equal(f.T, http.StatusNoContent, w.Code, w.Body)
	require.Empty(f.T, w.Body.String())
	debug := strings.TrimSuffix(strings.TrimSpace(body), "}") + `,"ext":{"debug":true}}`
	if strings.Contains(body, `"ext":{"mcp_context"`) {
		debug = strings.Replace(body, `"ext":{"mcp_context"`, `"ext":{"debug":1,"mcp_context"`, 1)
	}
	w = f.send([]byte(debug))
	require.Equal(f.T, http.StatusOK, w.Code, w.Body)
	r := strict(f.T, w.Body.Bytes())
	require.Empty(f.T, r.SeatBid)
	require.NotNil(f.T, r.NBR)
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
	require.NoError(f.T, stdjson.Unmarshal(r.Ext, &ext))
	require.Len(f.T, ext.SeatNonBid, 1)
	require.NotEmpty(f.T, ext.SeatNonBid[0].NonBid)
	require.NotEmpty(f.T, ext.SeatNonBid[0].NonBid[0].ImpID)
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
			require.Contains(
				t, []openrtb2.MarkupType{openrtb2.MarkupBanner, openrtb2.MarkupVideo, openrtb2.MarkupNative}, b.MType,
			)
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
