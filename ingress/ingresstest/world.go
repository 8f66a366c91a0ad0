// Package ingresstest provides the world for tests of the HTTP role's endpoints: the stores of
// in-memory mode, a catalog, keys and accounts, a log in memory, and a server to mount the endpoint
// on. Its clock stands still until the test moves it. Every reply is checked against
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
	"adnet/internal/process/obs"
	"adnet/internal/store/memory"
	"adnet/internal/store/memory/analytics"
	"adnet/internal/token"
	"adnet/internal/token/tokentest"
)

// Start is the default start time of a world.
var Start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// The parties of a world: one campaign of an advertiser, and a publisher's account with its
// developer id.
var (
	CampaignID   = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	AdvertiserID = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	DeveloperID  = uuid.MustParse("33333333-3333-4333-8333-333333333333")
	OwnerID      = uuid.MustParse("44444444-4444-4444-8444-444444444444")
)

// ErrDown is the error of a dependency that a test breaks.
var ErrDown = errors.New("down")

// Options configure a world. The zero value is the usual world.
type Options struct {
	BaseURL string           // default https://ads.example
	Now     time.Time        // start time; default Start
	Clock   func() time.Time // replaces the still clock
	Log     io.Writer        // receives the lines of the log; nil discards them
}

// World is the environment of an endpoint under test. A test may change its fields between
// requests.
type World struct {
	T         testing.TB
	HTTP      *httpapi.Server // without routes: the test mounts the ones it needs
	Contract  *apitest.Contract
	Store     *memory.Stores
	Reports   *analytics.Store
	Ring      *token.Keyring
	Sessions  *token.Sessions
	Auth      *httpapi.Auth
	Shelf     *Shelf
	Log       *Sink
	Recording Recording
	Now       time.Time
	Clock     func() time.Time // returns Now, unless the options set another
	Logger    *slog.Logger
	Metrics   *prometheus.Registry

	owner sync.Once
}

// New returns a world with an empty catalog.
func New(t testing.TB, o Options) *World {
	t.Helper()
	if o.BaseURL == "" {
		o.BaseURL = "https://ads.example"
	}
	if o.Now.IsZero() {
		o.Now = Start
	}
	w := &World{
		T: t, Contract: contract(t), Reports: analytics.New(), Shelf: &Shelf{}, Log: &Sink{}, Recording: true,
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
		Users: w.Store.Accounts, Keys: w.Store.Accounts, Sessions: w.Sessions, Logins: w.Store.Logins, Now: w.Clock,
		BaseURL: func() string { return w.HTTP.BaseURL() }, // w.HTTP is created below
	})
	w.HTTP, err = httpapi.New(httpapi.Config{BaseURL: o.BaseURL}, httpapi.Deps{
		Log: w.Logger, Metrics: w.Metrics, Readiness: obs.NewReadiness(), Auth: w.Auth,
	})
	require.NoError(t, err)
	return w
}

// contract loads the large document once for all tests.
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

// Selling returns the dependencies of the world's seller, without a limiter, frequency caps and
// reservations. A test may change them before it creates the seller.
func (w *World) Selling() offer.Deps {
	return offer.Deps{
		Metrics: w.Metrics, Catalog: w.Shelf, Keyring: w.Ring, Producer: w.Log, Recording: &w.Recording,
		Life: tokentest.Life(), BaseURL: w.HTTP.BaseURL, Now: w.Clock,
	}
}

// Seller returns a seller with the default settings.
func Seller(deps offer.Deps) *offer.Seller {
	return offer.New(offer.Config{}, deps)
}

// Key issues a key of the publisher's account.
func (w *World) Key(kind account.KeyKind) string {
	w.T.Helper()
	plain, material, err := account.GenerateKey(kind)
	require.NoError(w.T, err)
	w.Keep(kind, material)
	return plain
}

// Keep stores a key of the publisher's account and returns its id.
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
			w.Store.Accounts.CreateUser(
				w.T.Context(), account.User{ID: OwnerID, DeveloperID: DeveloperID, Email: "p@example.com"},
			),
		)
	})
	k.ID, k.OwnerID, k.DeveloperID = uuid.New(), OwnerID, DeveloperID
	require.NoError(w.T, w.Store.Accounts.CreateKey(w.T.Context(), k))
	return k.ID
}

// Recording reports whether events can be recorded.
type Recording bool

// CanRecord implements offer.Recording.
func (r *Recording) CanRecord(context.Context) bool { return bool(*r) }
