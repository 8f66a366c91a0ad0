// Package endpoints mounts every endpoint of the HTTP role, for tests of rules that hold for all
// routes.
package endpoints

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/benna"
	"adnet/ingress/api/billing"
	"adnet/ingress/api/docs"
	"adnet/ingress/api/explain"
	"adnet/ingress/api/manage"
	"adnet/ingress/api/notices"
	"adnet/ingress/api/oversee"
	"adnet/ingress/api/preview"
	"adnet/ingress/api/webhooks"
	"adnet/ingress/httpapi"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/rtb"
	"adnet/ingress/serve"
	"adnet/ingress/track"
	"adnet/ingress/web/console"
	"adnet/ingress/web/snippet"
	"adnet/internal/campaign"
	"adnet/internal/outbound/notice"
	"adnet/internal/process/obs"
	"adnet/internal/token/tokentest"
	"adnet/schemas/openapi"
)

// Parts are the dependencies of some endpoints. Auth, that of the server, is enough for tests of
// routes and their policies.
type Parts struct {
	Auth       *httpapi.Auth
	Campaigns  *campaign.Service
	Management *manage.API
	Billing    *billing.API
	Webhooks   *webhooks.API
	Notices    notice.Store
	Now        func() time.Time
}

// Mount mounts every endpoint on h.
func Mount(t testing.TB, h *httpapi.Server, p Parts) {
	t.Helper()
	log, metrics := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Management == nil {
		p.Management = manage.New(manage.Deps{Auth: p.Auth, Now: p.Now})
	}
	if p.Billing == nil {
		p.Billing = billing.New(billing.Deps{Metrics: metrics, Now: p.Now})
	}
	if p.Webhooks == nil {
		p.Webhooks = webhooks.New(webhooks.Deps{Now: p.Now})
	}
	tools, err := mcp.New(mcp.Config{}, mcp.Deps{Log: log, Metrics: metrics})
	require.NoError(t, err)
	bids, err := rtb.New(rtb.Config{Seat: "adnet", VideoSec: 15}, rtb.Deps{
		Metrics: metrics, Now: p.Now,
		Seller: offer.New(offer.Config{}, offer.Deps{Metrics: metrics, BaseURL: h.BaseURL, Now: p.Now}),
	})
	require.NoError(t, err)
	events, err := track.New(track.Config{
		Unsigned: track.UnsignedRecord, AckWait: time.Minute, Life: tokentest.Life(),
	}, track.Deps{
		Log: log, Metrics: metrics, Auth: p.Auth, Now: p.Now,
	})
	require.NoError(t, err)
	pages, err := console.New(console.Deps{BaseURL: h.BaseURL})
	require.NoError(t, err)
	pages.Mount(h)
	frames, err := preview.NewPages(h.BaseURL)
	require.NoError(t, err)
	frames.Mount(h)
	preview.New(preview.Deps{
		Campaigns: p.Campaigns, BaseURL: h.BaseURL, Labels: new(offer.LabelConfig).Labels, VideoSec: 15,
	}).Mount(h)
	script, err := snippet.New()
	require.NoError(t, err)
	script.Mount(h)
	tools.Mount(h)
	bids.Mount(h)
	events.Mount(h)
	notices.New(notices.Deps{
		Store: p.Notices,
		Marks: func(string, string) [][16]byte { return nil }, BaseURL: h.BaseURL, Now: p.Now,
	}).Mount(h)
	docs.New(docs.Deps{Document: openapi.Document, BaseURL: h.BaseURL}).Mount(h)
	serve.New(serve.Deps{Auth: p.Auth}).Mount(h)
	p.Management.Mount(h)
	p.Billing.Mount(h)
	p.Webhooks.Mount(h)
	oversee.New(oversee.Deps{Now: p.Now}).Mount(h)
	benna.New(benna.Deps{Now: p.Now}).Mount(h)
	explain.New(explain.Deps{Campaigns: p.Campaigns, Now: p.Now}).Mount(h)
}

// Routes returns every route with its policy.
func Routes(t testing.TB) []httpapi.Route {
	t.Helper()
	auth := httpapi.NewAuth(httpapi.AuthDeps{})
	h, err := httpapi.New(httpapi.Config{BaseURL: "https://ads.example"}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(), Auth: auth,
	})
	require.NoError(t, err)
	Mount(t, h, Parts{Auth: auth})
	return h.Routes()
}
