// Package httpapi is the HTTP engine on which the ingress endpoints are mounted: the server and its
// limits, request ids, the error envelope and its status table, strict JSON bodies, `?action=`
// routing, and authentication.
//
// A handler gets its caller and input as values and returns a value or an error ([Do]), or writes
// the answer itself ([Handler]). The engine admits only the callers of the route's [Policy]. It turns
// an error into the envelope {error, code, ...extra} of the specification. No internal detail ever
// reaches a caller.
package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi/wire"
	"adnet/internal/errs"
	"adnet/internal/process/link"
	"adnet/internal/process/obs"
	"adnet/internal/traffic"
	"adnet/schemas/openapi"
)

// Config holds the settings of the public listener.
type Config struct {
	Addr           string        `name:"http-addr" env:"ADNET_HTTP_ADDR" default:"127.0.0.1:8080" help:"Address of the public HTTP listener."`
	BaseURL        string        `name:"base-url" env:"ADNET_BASE_URL" help:"Prefix of every link that is handed out (default: http:// or https:// and the listening address)."`
	TrustedProxies []string      `name:"trusted-proxies" env:"ADNET_TRUSTED_PROXIES" help:"Networks whose X-Forwarded-For is trusted (default: none)."`
	TLSCert        string        `name:"tls-cert" env:"ADNET_TLS_CERT" type:"path" help:"PEM file of the public listener's certificate. With it the listener speaks HTTPS only. The file is read again when it changes."`
	TLSKey         string        `name:"tls-key" env:"ADNET_TLS_KEY" type:"path" help:"PEM file of the certificate's key."`
	ProxyFrom      []string      `name:"proxy-protocol-from" env:"ADNET_PROXY_PROTOCOL_FROM" help:"Networks of the proxies that begin each connection with a header of the PROXY protocol, version 2 (default: none). They must send it; it is rejected from any other peer."`
	ConnsPerAddr   int           `name:"conns-per-addr" env:"ADNET_CONNS_PER_ADDR" default:"256" help:"Connections that one address (IPv6: one /64) may have open; 0 is no limit. Loopback and trusted proxies are not limited."`
	LameDuck       time.Duration `name:"http-lameduck" env:"ADNET_HTTP_LAMEDUCK" default:"-1s" help:"How long new connections are still served at shutdown, while /readyz is 503, so that load balancers choose other nodes. Negative: 5s, or 0 if ADNET_HTTP_ADDR is a loopback address."`
	DrainTimeout   time.Duration `name:"http-drain" env:"ADNET_HTTP_DRAIN" default:"3s" help:"How long running requests may take to finish at shutdown."`
}

// lameDuck is the time in which balancers notice by default that a node stops: two probes, one each
// second, and a spare.
const lameDuck = 5 * time.Second

// Lame returns how long the listener serves new connections at shutdown.
func (c Config) Lame() time.Duration {
	switch {
	case c.LameDuck >= 0:
		return c.LameDuck
	case link.LocalListener(c.Addr): // no balancer of another machine sends requests
		return 0
	}
	return lameDuck
}

// Deps holds the dependencies of the engine.
type Deps struct {
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Readiness *obs.Readiness
	Auth      *Auth // nil: every route is for Anyone
	Guard     Guard // may be nil
	Once      Once  // may be nil
	// KeepFiles is the number of file descriptors that connections must leave to the rest of the
	// process.
	KeepFiles int
}

// Guard is called before and after the handler of every request.
type Guard interface {
	// Enter rejects a request by returning an error. It must not read the body.
	Enter(c *gin.Context, l Limit) error
	// Leave is called after the answer to a request that Enter accepted.
	Leave(c *gin.Context, l Limit)
}

// Once wraps the endpoints with the policy [Policy.Idempotent], inside their admission; see
// ingress/idempotency.
type Once interface {
	// Do lets handle answer, errors included, or repeats the earlier answer of handle. route is the
	// name of the endpoint.
	Do(c *gin.Context, route string, handle func(*gin.Context)) error
}

// Handler answers a request. [Do], [Open] and [Plain] return one.
type Handler struct {
	answer func(c *gin.Context) error
	caller bool // it needs the caller that the engine admits
	exact  bool // its input and its policy name all that a request may have; see [Exact]
}

// Plain returns the Handler of a function that reads the request and answers it, or returns an
// error for the envelope. A function that returns an error must not have written anything. What it
// does not read is ignored, as protocols with a standard of their own require.
func Plain(answer func(c *gin.Context) error) Handler { return Handler{answer: answer} }

// Server is the public HTTP component.
type Server struct {
	cfg    Config
	deps   Deps
	engine *gin.Engine
	sites  map[string]*site // by path as it is mounted
	trees  []tree
	long   []longBody
	// proxies are the networks of trusted proxies. Behind them the address of a client
	// ([gin.Context.ClientIP]) is the last entry of X-Forwarded-For that does not belong to a trusted
	// proxy ([Server.readForwardedFor]); otherwise it is the address of the connection. No other
	// header counts, because a proxy that does not set it would pass on its client's value.
	proxies traffic.Networks
	speaks  traffic.Networks // proxies that use the PROXY protocol
	none    entrance         // for an unknown path
	refused entrance         // for a method that the path does not have
	wire    *wire.Server
	metrics serverMetrics
	log     *obs.LimitedLogger
	often   *obs.LimitedLogger // for lines that any request can cause
	routes  []Route
	faults  []error // of routes that could not be mounted

	baseURL atomic.Pointer[string]
	addr    atomic.Pointer[string]
	ready   chan struct{}
}

// Paths of health checks.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// New builds the engine with the routes that every role has. It opens no socket.
func New(cfg Config, deps Deps) (*Server, error) {
	s := &Server{cfg: cfg, deps: deps, sites: map[string]*site{}, ready: make(chan struct{})}
	s.metrics = newServerMetrics(deps.Metrics)
	s.log, s.often = obs.Limited(deps.Log, time.Second), obs.Limited(deps.Log, time.Minute)
	var err error
	if s.proxies, err = traffic.ParseNetworks(cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("ADNET_TRUSTED_PROXIES: %w", err)
	}
	if s.engine, err = s.newEngine(); err != nil {
		return nil, err
	}
	if s.speaks, err = traffic.ParseNetworks(cfg.ProxyFrom); err != nil {
		return nil, fmt.Errorf("ADNET_PROXY_PROTOCOL_FROM: %w", err)
	}
	secure, err := s.certificate()
	if err != nil {
		return nil, err
	}
	if err := s.setBaseURL(cfg.BaseURL); err != nil {
		return nil, err
	}
	open := Policy{Limit: LimitOpen, Auth: Anyone}
	s.none.other, s.refused.other = s.endpoint(Plain(noSuchPath), open), s.endpoint(Plain(methodNotAllowed), open)
	health := Policy{Limit: LimitNone, Auth: Anyone}
	s.Handle(http.MethodGet, healthPath, Plain(alive), health)
	s.Handle(http.MethodGet, readyPath, Plain(s.readyz), Policy{
		Limit: LimitNone, Auth: Anyone, Params: Params{obs.NeedParam: WordForm(obs.NeedNames()...)},
	})
	s.Handle(http.MethodGet, "/openapi.json", Plain(document), open)
	s.wire = wire.New(wire.Config{
		Handler: s, Refuse: refuse, Log: deps.Log, BodyLimit: s.bodyLimit,
		MaxConns: maxConns(openFiles(), deps.KeepFiles), ConnsPerAddr: cfg.ConnsPerAddr,
		Uncounted: func(addr netip.Addr) bool { return s.proxies.Contain(addr) || s.speaks.Contain(addr) },
		TLS:       secure, ProxyFrom: s.proxied(),
	})
	s.metrics.connections(deps.Metrics, s.wire.Counts())
	return s, nil
}

func (s *Server) setBaseURL(u string) error {
	if u == "" {
		return nil
	}
	if !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
		return fmt.Errorf("ADNET_BASE_URL must start with http:// or https://, not %q", u)
	}
	u = strings.TrimRight(u, "/")
	s.baseURL.Store(&u)
	return nil
}

// newEngine returns gin as adnet uses it: without redirects to cleaned paths, and with 405 left to
// [site].
func (s *Server) newEngine() (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.RedirectTrailingSlash, engine.RedirectFixedPath, engine.HandleMethodNotAllowed = false, false, false
	engine.RemoteIPHeaders = []string{forwardedFor}
	if err := engine.SetTrustedProxies(s.cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("ADNET_TRUSTED_PROXIES: %w", err)
	}
	engine.Use(s.around)
	engine.NoRoute(s.unmatched)
	return engine, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.identify(r)
	if !slices.Contains(ginMethods, r.Method) {
		r = asTrace(r)
	}
	s.engine.ServeHTTP(w, r)
}

// BaseURL returns the prefix of links, without a trailing slash. Unless it is configured, it is
// known once the server is [Server.Ready].
func (s *Server) BaseURL() string {
	if u := s.baseURL.Load(); u != nil {
		return *u
	}
	return ""
}

// PathOf returns the path of a base URL without a trailing slash, which pages put before their links.
func PathOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// Addr returns the listening address; it is known once the server is [Server.Ready].
func (s *Server) Addr() string {
	if a := s.addr.Load(); a != nil {
		return *a
	}
	return ""
}

// Ready returns a channel that is closed when the socket is open.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Listening returns nil once the socket is open, so that balancers choose only nodes that accept
// connections.
func (s *Server) Listening() error {
	select {
	case <-s.ready:
		return nil
	default:
		return fmt.Errorf("not listening on %s yet", s.cfg.Addr)
	}
}

// Leave keeps serving for [Config.Lame], or until ctx ends, while every reply closes its connection.
// Before Run ends, it gives balancers the time to notice that the process is not ready. Otherwise
// they would send requests to a closed port.
func (s *Server) Leave(ctx context.Context) {
	s.wire.Leave()
	select {
	case <-ctx.Done():
	case <-time.After(s.cfg.Lame()):
	}
}

// Run listens and serves until ctx ends, then lets running requests finish for DrainTimeout.
// Components that handlers use (produce, spool) must be stopped after Run returns. Errors: the
// address is in use, or a route could not be mounted.
func (s *Server) Run(ctx context.Context) error {
	if err := errors.Join(s.faults...); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.cfg.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (ADNET_HTTP_ADDR): %w", s.cfg.Addr, err)
	}
	addr := listener.Addr().String()
	s.addr.Store(&addr)
	if s.BaseURL() == "" {
		if err := s.setBaseURL(s.scheme() + addr); err != nil {
			return err
		}
	}
	close(s.ready)
	failed := make(chan error, 1)
	go func() { failed <- s.wire.Serve(ctx, listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("http server: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout)
	defer cancel()
	if err := s.wire.Shutdown(drain); err != nil {
		// A client that keeps its request open must not keep the process from stopping.
		s.wire.Close()
	}
	if err := <-failed; err != nil {
		return fmt.Errorf("http server: %w", err)
	}
	return nil
}

// refuse answers a request that does not reach the router, in the router's error format.
func refuse(w http.ResponseWriter, status int, problem string) {
	code := errs.InvalidRequest
	if status >= http.StatusInternalServerError {
		code = errs.Internal
	}
	header := w.Header()
	header["Content-Type"], header["X-Content-Type-Options"], header["Cache-Control"] = jsonReply, nosniff, noStore
	w.WriteHeader(status)
	// Writing to memory never fails.
	_ = json.MarshalWrite(w, envelope(errs.New(code, "%s", problem)), json.Deterministic(true))
}

// packedDocument is the compressed form of openapi.json. The first request for it makes it.
var packedDocument = sync.OnceValues(func() ([]byte, error) {
	var short bytes.Buffer
	w := gzipWriter(&short)
	_, err := w.Write(openapi.Document)
	return short.Bytes(), errors.Join(err, w.Close())
})

func document(c *gin.Context) error {
	header, body := c.Writer.Header(), openapi.Document
	header["Content-Type"] = jsonReply
	header.Add("Vary", "Accept-Encoding")
	if accepts(c.GetHeader("Accept-Encoding"), "gzip") {
		short, err := packedDocument()
		if err != nil {
			return err
		}
		header.Set("Content-Encoding", "gzip")
		body = short
	}
	sendStatic(c, body)
	return nil
}

func alive(c *gin.Context) error { return JSON(c, http.StatusOK, map[string]any{"status": "ok"}) }

// readyz tells a balancer whether to send requests. Only what every request needs fails it: a node
// without ads still records beacons and clicks, and serves the console and the API.
func (s *Server) readyz(c *gin.Context) error {
	need, _ := obs.NeedNamed(c.Query(obs.NeedParam)) // the engine has checked it by Params
	report := s.deps.Readiness.Check(need)
	return JSON(c, report.Status(), report)
}
