// Package mcp serves POST /api/mcp: the Model Context Protocol over JSON-RPC 2.0, with the tools
// get_sponsored_content and track_event. Ads come from [offer.Seller] and events go to
// [track.Tracker], which set the rules. This package only handles the protocol.
//
// One path serves two eras of the protocol, each request on its own and without a session: the
// revisions that begin with initialize (2024-11-05 to 2025-11-25) and the stateless 2026-07-28,
// whose requests contain their version. Every reply is one JSON object, or an array for a batch.
//
// Hosts of MCP Apps get a card for their readers as the resource ui://adnet/ad (apps.go).
//
// An invalid request is answered with a JSON-RPC error. A tool that cannot do what its arguments
// ask returns a result with isError, so that the model sees the reason. No ad is neither: it is a
// result with `ad: null` and a reason.
package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/ingress/track"
	"adnet/internal/compliance/consent"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
)

// Path is the path of the endpoint.
const Path = "/api/mcp"

// Config holds the settings of the endpoint.
type Config struct {
	Origins []string `name:"mcp-origins" env:"ADNET_MCP_ORIGINS" help:"Origins (https://app.example) whose browser pages may call /api/mcp, besides that of ADNET_BASE_URL (default: none)."`
}

// Ads answers requests for ads; see offer.Seller.
type Ads interface {
	Admit(caller httpapi.Caller) error
	Answer(ctx context.Context, caller httpapi.Caller, in *offer.Request, answer *offer.Answer) error
}

// Events records what happened to an ad; see track.Tracker.
type Events interface {
	Take(ctx context.Context, in *track.Report) (track.Taken, error)
}

// Deps holds the dependencies of the endpoint.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Ads     Ads
	Events  Events
	Hosts   *token.Seal      // seals the session ids of hosts that show the card; nil: no host does
	Now     func() time.Time // nil is the clock
	BaseURL func() string    // its origin may call besides those in the settings; may be nil
}

// Server is the endpoint.
type Server struct {
	origins []string
	deps    Deps
	log     *obs.LimitedLogger
	fixed   fixed
	idle    sync.Pool                     // holds *call
	calls   map[string]prometheus.Counter // by method, or tool
}

// New returns the endpoint. Errors: an origin that a browser cannot send.
func New(cfg Config, deps Deps) (*Server, error) {
	deps.Now = schedule.Clock(deps.Now)
	for _, origin := range cfg.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("ADNET_MCP_ORIGINS: %q is not an origin like https://app.example", origin)
		}
	}
	replies, err := fixedReplies()
	if err != nil {
		return nil, err
	}
	s := &Server{
		origins: cfg.Origins, deps: deps, log: obs.Limited(deps.Log, time.Second), fixed: replies,
		idle: sync.Pool{New: func() any { return new(call) }}, calls: map[string]prometheus.Counter{},
	}
	calls := obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_mcp_requests_total", Help: "Valid requests to POST /api/mcp, by method or tool.",
	}, []string{"method"}))
	for _, name := range []string{
		methodInitialize, methodPing, methodDiscover, methodList, methodResources, methodTemplates, methodRead,
		toolContent, toolTrack,
	} {
		s.calls[name] = calls.WithLabelValues(name)
	}
	return s, nil
}

// Mount adds the routes to h. Other methods are answered 405, because the endpoint has no streams
// or sessions. The engine's errors (a method, too many requests, a panic) are JSON-RPC errors too;
// since the body is not read for them, their id is null.
func (s *Server) Mount(h *httpapi.Server) {
	// No Idempotency-Key: JSON-RPC has its own ids, every ad request is a new auction, and events
	// count once in any case.
	h.HandleKey(http.MethodPost, Path, s.post, httpapi.Policy{
		Limit: httpapi.LimitKeyless, Auth: httpapi.PublisherKey, Idempotent: httpapi.No, Audited: httpapi.No,
		Errors: s.refuse, Refused: s.deny,
	})
	h.Handle(
		http.MethodOptions, Path, httpapi.Plain(s.preflight),
		httpapi.Policy{Limit: httpapi.LimitKeyless, Auth: httpapi.Anyone, Errors: s.refuse},
	)
}

// post serves POST /api/mcp.
func (s *Server) post(c *gin.Context, caller httpapi.Caller) error {
	return s.read(c, func(r *call, unread error, malformed *failure) error {
		switch {
		case unread != nil:
			return s.fail(c, "", failed(unread))
		case malformed != nil:
			return s.fail(c, r.echo(), malformed)
		case r.batch != nil:
			return s.batch(c, caller, r.batch)
		case r.notification():
			// No notification has an effect, and none is answered.
			c.Status(http.StatusAccepted)
			return nil
		}
		r.from(c, caller)
		if failure := s.answer(c.Request.Context(), c.Request.Header, r); failure != nil {
			return s.fail(c, r.echo(), failure)
		}
		if r.method == methodInitialize && r.apps && s.deps.Hosts != nil {
			c.Header(headerSession, s.newSession())
		}
		return httpapi.Bytes(c, http.StatusOK, r.reply)
	})
}

// deny answers POST /api/mcp without a valid key. The body is read, because the answer carries its
// id.
func (s *Server) deny(c *gin.Context, denied error) error {
	return s.read(c, func(r *call, _ error, _ *failure) error { return s.fail(c, r.echo(), failed(denied)) })
}

// read calls use with the call of a request, unless the page that sends it may not call. A panic is
// answered with the call's id.
func (s *Server) read(c *gin.Context, use func(r *call, unread error, malformed *failure) error) error {
	if !s.allowOrigin(c) {
		return s.fail(c, "", originRefused)
	}
	r := s.idle.Get().(*call)
	defer func() {
		if p := recover(); p != nil {
			s.panicked(c, r.echo(), p)
		}
		if cap(r.reply) <= keep && cap(r.value) <= keep {
			r.forget()
			s.idle.Put(r)
		}
	}()
	var malformed *failure
	unread := httpapi.ReadBody(c, func(body []byte) error {
		if r.batch, malformed = batchOf(c.Request.Header, body); r.batch == nil && malformed == nil {
			malformed = r.decode(body)
		}
		return nil
	})
	return use(r, unread, malformed)
}

// from sets the sender of a call.
func (r *call) from(c *gin.Context, caller httpapi.Caller) {
	r.caller = caller
	r.bearer, _ = httpapi.Bearer(c)
	r.private = consent.GPC(c.Request.Header)
}

// logged logs a failure of ours. It is the only place that does.
func (s *Server) logged(c *gin.Context, f *failure) {
	if f.cause != nil && c.Request.Context().Err() == nil {
		s.log.Error(c.Request.Context(), "mcp request failed", "code", f.code, "error", f.cause.Error())
	}
}

// fail answers with a JSON-RPC error.
func (s *Server) fail(c *gin.Context, id string, f *failure) error {
	s.logged(c, f)
	if f.status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", `Bearer realm="adnet"`)
	}
	if f.retryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(f.retryAfter))
	}
	body, err := f.reply(id)
	if err != nil {
		return err
	}
	return httpapi.Bytes(c, f.status, body)
}

// refuse is the httpapi.ErrorForm of the endpoint.
func (s *Server) refuse(c *gin.Context, e *errs.Error, status int) error {
	s.allowOrigin(c) // a page that may call must be able to read the refusal
	f := failed(e)
	f.cause = nil // the engine has logged it
	if status == http.StatusMethodNotAllowed {
		f.message = "method " + c.Request.Method +
			" is not allowed here: there is no stream and no session; send JSON-RPC by POST"
	}
	return s.fail(c, "", f)
}

// panicked answers a request whose handler panicked, with its id, so that the client does not wait.
func (s *Server) panicked(c *gin.Context, id string, p any) {
	f := s.crashed(c, p)
	if c.Writer.Written() {
		return
	}
	if err := s.fail(c, id, f); err != nil {
		c.Status(http.StatusInternalServerError)
	}
}

// crashed logs a panic and returns its failure.
func (s *Server) crashed(c *gin.Context, p any) *failure {
	s.deps.Log.ErrorContext(
		c.Request.Context(), "panic in handler", "route", Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()),
	)
	f := failed(errs.New(errs.Internal, "internal error"))
	f.cause = nil
	return f
}

var originRefused = &failure{
	status: http.StatusForbidden, code: http.StatusForbidden,
	message: "pages of this origin may not call this endpoint",
	data:    map[string]any{"code": errs.Forbidden},
}

// byOrigin keeps caches from serving one origin's reply to another. It is shared and must not be
// changed in place.
var byOrigin = []string{"Origin"}

// allowOrigin rejects pages of unlisted origins: a page must not make a browser use a key that it
// found nearby. Programs send no Origin.
func (s *Server) allowOrigin(c *gin.Context) bool {
	header := c.Writer.Header()
	header["Vary"] = byOrigin
	origins := c.Request.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 || !slices.Contains(s.origins, origins[0]) && !s.own(origins[0]) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origins[0])
	header.Set(
		"Access-Control-Expose-Headers",
		"Mcp-Session-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, WWW-Authenticate, "+
			"X-Request-Id",
	)
	return true
}

// own reports whether origin is that of the base URL; our own pages may call.
func (s *Server) own(origin string) bool {
	base := s.origin()
	return base != "" && strings.EqualFold(origin, base)
}

// preflight serves OPTIONS /api/mcp.
func (s *Server) preflight(c *gin.Context) error {
	if !s.allowOrigin(c) {
		return s.fail(c, "", originRefused)
	}
	c.Header("Allow", "OPTIONS, POST")
	if c.GetHeader("Origin") != "" {
		c.Header("Access-Control-Allow-Methods", http.MethodPost)
		c.Header(
			"Access-Control-Allow-Headers",
			"Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id",
		)
		c.Header("Access-Control-Max-Age", "600")
	}
	c.Status(http.StatusNoContent)
	return nil
}
