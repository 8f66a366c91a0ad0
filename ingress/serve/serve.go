// Package serve serves POST /v1/ad-request. It reads a publisher's request, calls [offer.Seller],
// and writes the ad or the reason for no fill.
package serve

import (
	"context"
	"net/http"
	"sync"

	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
)

// Ads sells an ad for a request; see offer.Seller.
type Ads interface {
	Admit(caller httpapi.Caller) error
	Answer(ctx context.Context, caller httpapi.Caller, in *offer.Request, answer *offer.Answer) error
}

// Deps holds the dependencies of the endpoint.
type Deps struct {
	Auth *httpapi.Auth
	Ads  Ads
}

// Server is the endpoint.
type Server struct {
	deps      Deps
	exchanges sync.Pool // of *exchange
}

// New returns the endpoint.
func New(deps Deps) *Server {
	return &Server{deps: deps, exchanges: sync.Pool{New: func() any { return new(exchange) }}}
}

// Mount adds the routes to h.
func (s *Server) Mount(h *httpapi.Server) {
	// No Idempotency-Key: every ad request is a new auction.
	h.HandleKey(http.MethodPost, "/v1/ad-request", s.adRequest, httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.PublisherKey | httpapi.BrowserKey, Idempotent: httpapi.No,
		Audited: httpapi.No,
		Body:    32 << 10,
	})
	h.Handle(
		http.MethodOptions, "/v1/ad-request", httpapi.Plain(s.deps.Auth.Preflight),
		httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone},
	)
}
