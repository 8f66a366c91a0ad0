// Package ingresstest is the world that tests of the HTTP role's endpoints run in: the stores of
// in-memory mode, a catalog, keys and accounts, a log that remembers, and a server to mount the
// endpoint on. Its time stands still until the test moves it, and every reply is held to
// schemas/openapi/openapi.json.
package ingresstest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/offer"
	"adnet/internal/account"
	"adnet/internal/memory"
	"adnet/internal/obs"
	"adnet/internal/token"
	"adnet/internal/token/tokentest"
)

// Start is the time at which a world begins unless its options say otherwise.
var Start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// The parties of a world: one campaign of an advertiser, and a publisher's account with its
// developer id.
var (
	CampaignID   = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	AdvertiserID = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	DeveloperID  = uuid.MustParse("33333333-3333-4333-8333-333333333333")
	OwnerID      = uuid.MustParse("44444444-4444-4444-8444-444444444444")
)

// ErrDown is the failure of a dependency that a test breaks.
var ErrDown = errors.New("down")

// Options are what worlds differ in. The zero value is the usual world.
type Options struct {
	BaseURL string           // default https://ads.example
	Now     time.Time        // the first; default Start
	Clock   func() time.Time // instead of a time that stands still
	Log     io.Writer        // takes the lines of the log; nil discards them
}

// World is what an endpoint is tested in. A test may change its fields at any time between
// requests.
type World struct {
	T         testing.TB
	HTTP      *httpapi.Server // without routes: the test mounts what it is about
	Contract  *apitest.Contract
	Store     *memory.Store
	Reports   *memory.Reports
	Ring      *token.Keyring
	Sessions  *token.Sessions
	Auth      *httpapi.Auth
	Shelf     *Shelf
	Log       *Sink
	Recording Recording
	Now       time.Time
	Clock     func() time.Time // says Now, unless the options name another
	Logger    *slog.Logger
	Metrics   *prometheus.Registry

	owner sync.Once
}

// New makes a world with an empty catalog.
func New(t testing.TB, o Options) *World {
	t.Helper()
	if o.BaseURL == "" {
		o.BaseURL = "https://ads.example"
	}
	if o.Now.IsZero() {
		o.Now = Start
	}
	w := &World{
		T: t, Contract: contract(t), Reports: memory.NewReports(), Shelf: &Shelf{}, Log: &Sink{}, Recording: true,
		Now: o.Now, Clock: o.Clock, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
	w.Shelf.Put()
	if w.Clock == nil {
		w.Clock = func() time.Time { return w.Now }
	}
	if o.Log != nil {
		w.Logger = slog.New(slog.NewTextHandler(o.Log, nil))
	}
	w.Store = memory.New(w.Clock)
	key, err := token.NewKey("k1")
	require.NoError(t, err)
	w.Ring, err = token.NewKeyring([]token.Key{key})
	require.NoError(t, err)
	w.Sessions, err = token.NewSessions([]token.Key{key})
	require.NoError(t, err)
	w.Auth = httpapi.NewAuth(httpapi.AuthDeps{
		Users: w.Store, Keys: w.Store, Sessions: w.Sessions, Logins: w.Store, Now: w.Clock,
	})
	w.HTTP, err = httpapi.New(httpapi.Config{BaseURL: o.BaseURL}, httpapi.Deps{
		Log: w.Logger, Metrics: w.Metrics, Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	return w
}

// contract loads the document once for all tests: it is large.
func contract(t testing.TB) *apitest.Contract {
	t.Helper()
	document.once.Do(func() { document.contract = apitest.Load(t) })
	require.NotNil(t, document.contract)
	return document.contract
}

var document struct {
	once     sync.Once
	contract *apitest.Contract
}

// Selling is what the world's seller works with, without a limiter, frequency caps and
// reservations. A test may change it before it makes the seller.
func (w *World) Selling() offer.Deps {
	return offer.Deps{
		Metrics: w.Metrics, Catalog: w.Shelf, Keyring: w.Ring, Producer: w.Log, Recording: &w.Recording,
		Life: tokentest.Life(), BaseURL: w.HTTP.BaseURL, Now: w.Clock,
	}
}

// Seller makes a seller that discloses its ads as Sponsored.
func Seller(deps offer.Deps) *offer.Seller {
	return offer.New(offer.Config{Disclosure: "Sponsored"}, deps)
}

// Key issues a key of the publisher's account.
func (w *World) Key(kind account.KeyKind) string {
	w.T.Helper()
	plain, material, err := account.GenerateKey(kind)
	require.NoError(w.T, err)
	w.Keep(kind, material)
	return plain
}

// Keep stores a key of the publisher's account and gives its id.
func (w *World) Keep(kind account.KeyKind, material account.KeyMaterial) uuid.UUID {
	w.T.Helper()
	return w.keep(account.Key{Kind: kind, Hash: material.Hash})
}

// PageKey issues a browser key of the publisher's account for pages of origins.
func (w *World) PageKey(origins ...string) string {
	w.T.Helper()
	plain, material, err := account.GenerateKey(account.KindBrowser)
	require.NoError(w.T, err)
	w.keep(account.Key{Kind: account.KindBrowser, Hash: material.Hash, Origins: origins})
	return plain
}

// keep stores a key of the publisher's account.
func (w *World) keep(k account.Key) uuid.UUID {
	w.T.Helper()
	w.owner.Do(func() {
		require.NoError(
			w.T,
			w.Store.CreateUser(
				w.T.Context(), account.User{ID: OwnerID, DeveloperID: DeveloperID, Email: "p@example.com"},
			),
		)
	})
	k.ID, k.OwnerID, k.DeveloperID = uuid.New(), OwnerID, DeveloperID
	require.NoError(w.T, w.Store.CreateKey(w.T.Context(), k))
	return k.ID
}

// Recording says whether events can be recorded.
type Recording bool

// CanRecord implements offer.Recording.
func (r *Recording) CanRecord(context.Context) bool { return bool(*r) }
