package obs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"adnet/internal/process/link"
)

// AdminConfig holds the settings of the admin listener. Profiles expose memory, so off loopback it
// requires a bearer token or a client certificate, and encryption.
type AdminConfig struct {
	Addr  string `name:"admin-addr" env:"ADNET_ADMIN_ADDR" default:"127.0.0.1:8081" help:"Address of health, metrics and profiles. Port 0 takes any free port. Off loopback it needs ADNET_ADMIN_TOKEN or ADNET_ADMIN_CA."`
	Token string `name:"admin-token" env:"ADNET_ADMIN_TOKEN" secret:"" help:"Bearer token that admin requests must have; at least 16 characters."`
	CA    string `name:"admin-ca" env:"ADNET_ADMIN_CA" type:"path" help:"PEM file of the authorities whose client certificates may make admin requests instead of the token."`
	Cert  string `name:"admin-cert" env:"ADNET_ADMIN_CERT" type:"path" help:"PEM file of the admin listener's certificate; it is read again when it changes."`
	Key   string `name:"admin-key" env:"ADNET_ADMIN_KEY" type:"path" help:"PEM file of the certificate's key."`

	Insecure link.Insecure `kong:"-"` // plain text off loopback
}

// AdminDeps are the parts that an [Admin] exposes. All are required except Logger.
type AdminDeps struct {
	Log       *slog.Logger
	Gatherer  prometheus.Gatherer
	Readiness *Readiness
}

// Admin is the HTTP listener for operators: /healthz, /readyz, /metrics, /debug/pprof/ and the
// routes of [Admin.Handle].
type Admin struct {
	config AdminConfig
	tls    *tls.Config // nil for plain text
	log    *slog.Logger
	mux    *http.ServeMux
	ready  chan struct{}
	addr   atomic.Pointer[string]

	readiness *Readiness
}

const (
	adminStop    = 2 * time.Second  // for open requests when the process stops
	adminProfile = 90 * time.Second // longest reply: pprof refuses longer profiles
)

// NewAdmin returns the listener; it opens no socket.
func NewAdmin(config AdminConfig, deps AdminDeps) (*Admin, error) {
	if deps.Gatherer == nil || deps.Readiness == nil {
		return nil, errors.New("admin: Gatherer and Readiness are needed")
	}
	if _, _, err := net.SplitHostPort(config.Addr); err != nil {
		return nil, fmt.Errorf("admin address %q: expected host:port", config.Addr)
	}
	a := &Admin{
		config: config, log: deps.Log, mux: http.NewServeMux(), ready: make(chan struct{}), readiness: deps.Readiness,
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if err := a.secure(); err != nil {
		return nil, err
	}
	a.mux.HandleFunc("GET /healthz", alive)
	a.mux.HandleFunc("GET /readyz", a.readyz)
	a.mux.Handle("GET /metrics", promhttp.HandlerFor(deps.Gatherer, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelError),
		// Prometheus asks for OpenMetrics, or for protobuf, which alone has native histograms.
		EnableOpenMetrics: true,
	}))
	a.mux.HandleFunc("/debug/pprof/", pprof.Index)
	a.mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	a.mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	a.mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	a.mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return a, nil
}

// Handle adds an internal route, such as "GET /internal/verify". Patterns and conflicts are handled
// as by [http.ServeMux].
func (a *Admin) Handle(pattern string, handler http.Handler) { a.mux.Handle(pattern, handler) }

// Addr returns the listening address, with the real port; "" before [Admin.Ready].
func (a *Admin) Addr() string {
	if addr := a.addr.Load(); addr != nil {
		return *addr
	}
	return ""
}

// Ready is closed when the listener accepts connections.
func (a *Admin) Ready() <-chan struct{} { return a.ready }

// Run serves until ctx ends; the context of open requests then ends and they get 2 s more. An
// unusable address is an error.
func (a *Admin) Run(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", a.config.Addr)
	if err != nil {
		return fmt.Errorf("admin address %s (ADNET_ADMIN_ADDR): %w", a.config.Addr, err)
	}
	if a.tls != nil {
		listener = tls.NewListener(listener, a.tls)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(a.serve),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      adminProfile,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	addr := listener.Addr().String()
	a.addr.Store(&addr)
	close(a.ready)
	a.log.Debug("admin listener", "addr", addr)

	var watching sync.WaitGroup
	defer watching.Wait()
	watch, stop := context.WithCancel(ctx)
	defer stop()
	watching.Go(func() { a.watch(watch) })
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("admin listener: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminStop)
	defer cancel()
	if server.Shutdown(grace) != nil {
		server.Close() // cuts off readers of a profile; the stop still succeeds
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin listener: %w", err)
	}
	return nil
}

// alive replies as long as the process can reply at all; a restart would help nothing else.
func alive(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

// adminCheck is a [Check] with its age and its reason, for operators.
type adminCheck struct {
	Check
	Since time.Time `json:"since,omitzero"`
	Error string    `json:"error,omitzero"`
}

// adminReport is a [Report] with reasons.
type adminReport struct {
	Ready    bool         `json:"ready"`
	Draining bool         `json:"draining"`
	Degraded []string     `json:"degraded"`
	Checks   []adminCheck `json:"checks"`
}

// readyz reveals the times and reasons of failures only to authenticated clients; a probe needs the
// status.
func (a *Admin) readyz(w http.ResponseWriter, r *http.Request) {
	need, known := NeedNamed(r.URL.Query().Get(NeedParam))
	if !known {
		reply(w, http.StatusBadRequest, map[string]string{
			"code": "invalid_request", "field": NeedParam,
			"error": NeedParam + " must be one of " + strings.Join(NeedNames(), ", ") + "; leave it out if you mean none",
		})
		return
	}
	report := a.readiness.Check(need)
	trusted := a.known(r)
	detailed := adminReport{
		Ready: report.Ready, Draining: report.Draining, Degraded: report.Degraded,
		Checks: make([]adminCheck, 0, len(report.Checks)),
	}
	for _, check := range report.Checks {
		c := adminCheck{Check: check}
		if trusted {
			c.Since = check.Since
			if check.Err != nil {
				c.Error = check.Err.Error()
			}
		}
		detailed.Checks = append(detailed.Checks, c)
	}
	reply(w, report.Status(), detailed)
}

// watch runs the checks every second, so that their times are right although no probe asks.
func (a *Admin) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		a.readiness.Check(Traffic)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"internal"}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // fails only when the reader left
}

// NewRegistry returns a Prometheus registry with the metrics of the Go runtime and the process.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
