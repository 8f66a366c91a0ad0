package track

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/internal/token/tokentest"
	"adnet/schemas/event"
)

var (
	start        = ingresstest.Start
	campaignID   = ingresstest.CampaignID
	advertiserID = ingresstest.AdvertiserID
	developerID  = ingresstest.DeveloperID
)

const landing = "https://shop.example/landing?a=1&b=2"

type seen struct {
	err  error
	keys map[string]time.Duration
}

func (s *seen) Seen(_ context.Context, key string, life time.Duration) (bool, error) {
	_, known := s.keys[key]
	s.keys[key] = life
	return !known, s.err
}

// fixture is the endpoint in a world whose shelf has one campaign. The world's log is the producer.
type fixture struct {
	*ingresstest.World
	tracker *Tracker
	spool   *ingresstest.Sink
	seen    *seen
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{
		World: ingresstest.New(t, ingresstest.Options{}), spool: &ingresstest.Sink{},
		seen: &seen{keys: map[string]time.Duration{}},
	}
	f.Shelf.Put(campaign.Campaign{
		ID: campaignID, AdvertiserID: advertiserID,
		Creative: campaign.Creative{Format: campaign.Video, Headline: "Buy <b>this</b>", CTAURL: landing},
	})
	cfg := Config{Unsigned: UnsignedRecord, AckWait: time.Minute, Life: tokentest.Life()}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	f.tracker, err = New(cfg, Deps{
		Log: f.Logger, Metrics: f.Metrics, Keyring: f.Ring, Producer: f.Log, Spool: f.spool, Creatives: f.Shelf,
		Seen: f.seen, Now: f.Clock, Auth: f.Auth,
	})
	require.NoError(t, err)
	f.tracker.Mount(f.HTTP)
	return f
}

// auction is the content of a served ad's token; at is the time of the auction.
func auction(at time.Time) token.Auction {
	id := uuid.Must(uuid.NewV7())
	for i := range 6 {
		id[i] = byte(at.UnixMilli() >> (40 - 8*i))
	}
	return token.Auction{
		AuctionID: id, CampaignID: campaignID, AdvertiserID: advertiserID, DeveloperID: developerID,
		Price:        3 * money.USD / 1000,
		BillingModel: "cpm", Format: "image", IntegrationMethod: "rest", Surface: "chat", Region: "DE", Language: "de",
		HostApp: "Editor", Landing: landing,
	}
}

func (f *fixture) token() string { return f.Ring.Sign(token.PurposeReport, auction(f.Now)) }

// link is the path of a click_url.
func (f *fixture) link() string { return "/s/" + f.Ring.Sign(token.PurposeClick, auction(f.Now)) }

// pixel fires a beacon with pairs of parameters.
func (f *fixture) pixel(pairs ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return f.Do(http.MethodGet, "/api/track?"+query.Encode(), "")
}

// last returns the latest event of the producer.
func (f *fixture) last() *event.Event {
	f.T.Helper()
	events := f.Log.Requests()
	require.NotEmpty(f.T, events)
	return events[len(events)-1]
}

// login makes an account and its access token.
func (f *fixture) login(id, developer uuid.UUID) string {
	f.T.Helper()
	return f.Login(f.T, account.User{ID: id, DeveloperID: developer}).Token
}
