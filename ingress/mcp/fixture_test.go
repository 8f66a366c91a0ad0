package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/serve"
	"adnet/ingress/track"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/token/tokentest"
	"adnet/internal/traffic"
)

var (
	campaignID   = ingresstest.CampaignID
	advertiserID = ingresstest.AdvertiserID
	developerID  = ingresstest.DeveloperID
)

const origin = "https://app.example"

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

// AllowBrowser and the others are for browser keys, which do not open this endpoint.
func (l *limiter) AllowBrowser(http.Header, uuid.UUID, string, time.Time) error { return nil }
func (l *limiter) Hold(*traffic.Unseen, money.Micros, time.Time) bool           { return true }
func (l *limiter) Release(*traffic.Unseen, time.Time)                           {}

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

// fixture is the endpoint over the real ads and tracking, in a world whose shelf has one campaign.
type fixture struct {
	*ingresstest.World
	limiter *limiter
	lines   strings.Builder // of the log
	key     string          // a live publisher key
}

// newFixture takes what is done with unsigned beacons.
func newFixture(t testing.TB, unsigned string) *fixture {
	t.Helper()
	f := &fixture{limiter: &limiter{left: 1 << 30}}
	f.World = ingresstest.New(t, ingresstest.Options{Log: &f.lines})
	f.Shelf.Put(generic())
	f.mount(f.Selling(), f.Shelf, unsigned)
	return f
}

// mount makes the endpoints that sell with the given parts, and the key that asks them.
func (f *fixture) mount(selling offer.Deps, creatives track.Creatives, unsigned string) {
	f.T.Helper()
	tracker, err := track.New(track.Config{
		Unsigned: unsigned, AckWait: time.Minute, Life: tokentest.Life(),
	}, track.Deps{
		Log: f.Logger, Metrics: f.Metrics, Keyring: f.Ring, Producer: selling.Producer, Spool: f.Log,
		Creatives: creatives,
		Seen:      &seen{keys: map[string]bool{}}, Now: f.Clock, Auth: f.Auth,
	})
	require.NoError(f.T, err)
	selling.Limiter, selling.Recording = f.limiter, tracker
	ads := ingresstest.Seller(selling)
	hosts, err := f.Ring.HostSeal()
	require.NoError(f.T, err)
	endpoint, err := mcp.New(
		mcp.Config{Origins: []string{origin}},
		mcp.Deps{
			Log: f.Logger, Metrics: f.Metrics, Ads: ads, Events: tracker, Hosts: hosts, Now: f.Clock,
			BaseURL: f.HTTP.BaseURL,
		},
	)
	require.NoError(f.T, err)
	tracker.Mount(f.HTTP)
	serve.New(serve.Deps{Auth: f.Auth, Ads: ads}).Mount(f.HTTP)
	endpoint.Mount(f.HTTP)
	f.key = f.Key(account.KindPublisher)
}

// generic matches every context.
func generic() campaign.Campaign {
	return campaign.Campaign{
		ID: campaignID, AdvertiserID: advertiserID, Creative: campaign.Creative{
			Format: campaign.Native, Headline: "Chess lessons",
			Subtext: "For curious beginners", CTALabel: "Start",
			MediaURL: "https://shop.example/i.png",
			CTAURL:   "https://shop.example/landing?a=1&b=2",
		},
		SkippableAfterSec: campaign.DefaultSkipSec, BillingModel: campaign.CPM, BidAmount: 5 * money.USD,
	}
}

// do sends a request; the reply is held to the document.
func (f *fixture) do(method, path, body string, header http.Header) *httptest.ResponseRecorder {
	f.T.Helper()
	r := ingresstest.Request(method, path, body)
	for name, values := range header {
		for _, value := range values {
			r.Header.Add(name, value)
		}
	}
	return f.Send(f.T, r)
}

// post sends body to the endpoint with the live key.
func (f *fixture) post(body string) *httptest.ResponseRecorder {
	f.T.Helper()
	return f.do(http.MethodPost, mcp.Path, body, http.Header{"Authorization": {"Bearer " + f.key}})
}
