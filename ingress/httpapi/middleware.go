package httpapi

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/errs"
	"adnet/internal/process/obs"
)

// requestIDHeader carries the id that joins the reply and its log lines.
const requestIDHeader = "X-Request-Id"

type serverMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	routes   *sync.Map // *routeMetrics by route

	unreadable, absent, unlisted *unidentified // see [roster.Addresses]
}

// routeMetrics holds the metric handles of one route, to look them up once.
type routeMetrics struct {
	seconds  prometheus.Observer
	requests [600]atomic.Pointer[prometheus.Counter] // by status; nil before the first use
}

func newServerMetrics(r prometheus.Registerer) serverMetrics {
	m := serverMetrics{
		requests: obs.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"})),
		seconds: obs.Register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "adnet_http_request_seconds", Help: "Time to answer, by route.",
			// One ends at 50 ms, the bound of the objective for ads: see package alerts.
			Buckets: []float64{0.0001, 0.00025, 0.0006, 0.0015, 0.004, 0.01, 0.025, 0.05, 0.15, 0.4, 1, 2.5},
			// Beside them a native histogram, for servers that ask for it: quantiles within 5 %.
			NativeHistogramBucketFactor:    1.1,
			NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"route"})),
		routes:     new(sync.Map),
		unreadable: new(unidentified), absent: new(unidentified), unlisted: new(unidentified),
	}
	for _, counted := range []struct {
		by         *unidentified
		name, help string
	}{
		{
			m.unlisted, "adnet_http_unnamed_proxy_total",
			"Requests with X-Forwarded-For from a private address that is not in ADNET_TRUSTED_PROXIES.",
		},
		{
			m.unreadable, "adnet_http_forwarded_unreadable_total",
			"Requests whose X-Forwarded-For entry by a trusted proxy is not an address.",
		},
		{
			m.absent, "adnet_http_forwarded_absent_total",
			"Requests of trusted proxies without X-Forwarded-For, except health checks.",
		},
	} {
		obs.Register(r, prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: counted.name, Help: counted.help},
			func() float64 { return float64(counted.by.requests.Load()) },
		))
	}
	return m
}

func (m serverMetrics) answered(route string, status int, took time.Duration) {
	known, ok := m.routes.Load(route)
	if !ok {
		known, _ = m.routes.LoadOrStore(route, &routeMetrics{seconds: m.seconds.WithLabelValues(route)})
	}
	handles := known.(*routeMetrics)
	handles.seconds.Observe(took.Seconds())
	if status >= len(handles.requests) {
		status = http.StatusInternalServerError // no handler uses such a status
	}
	counter := handles.requests[status].Load()
	if counter == nil {
		created := m.requests.WithLabelValues(route, strconv.Itoa(status))
		counter = &created
		handles.requests[status].Store(counter)
	}
	(*counter).Inc()
}

// Headers of every reply. They are shared and must not be changed in place.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	noStore    = []string{"no-store"}

	crossOrigin = []string{"cross-origin"}
)

// around gives every request its id, its headers, its metrics, and a recovery from panics.
func (s *Server) around(c *gin.Context) {
	started := time.Now()
	r := &request{
		Identity: *obs.Identify(c.Request.Context(), requestID(c.Request.Header)), method: methodOf(c.Request),
	}
	c.Request = c.Request.WithContext(r)
	header := c.Writer.Header()
	header[requestIDHeader] = r.Header()
	header["X-Content-Type-Options"], header["Referrer-Policy"], header["Cache-Control"] = nosniff, noReferrer, noStore
	defer func() {
		if p := recover(); p != nil {
			s.panicked(c, p)
		}
		if r.leave != nil {
			r.leave()
		}
		route := r.route()
		if route == "" {
			route = "none"
		}
		s.metrics.answered(route, c.Writer.Status(), time.Since(started))
	}()
	c.Next()
}

func (s *Server) panicked(c *gin.Context, p any) {
	s.deps.Log.ErrorContext(
		c.Request.Context(), "panic in handler", "route", of(c).route(), "panic", fmt.Sprint(p), "stack",
		string(debug.Stack()),
	)
	if !c.Writer.Written() {
		s.fail(c, errs.New(errs.Internal, "internal error"))
	}
	c.Status(http.StatusInternalServerError)
}

// requestID returns the id of a request: the trace id of its traceparent, which other services log as
// well, else its own X-Request-Id, else a new one.
func requestID(header http.Header) string {
	if trace := traceID(header); trace != "" {
		return trace
	}
	if id := header.Get(requestIDHeader); plainID(id) {
		return id
	}
	return newID()
}

// newID returns an id that is unique enough to find a request by. Nothing relies on it for
// protection.
func newID() string { return strconv.FormatUint(rand.Uint64(), 36) }

// plainID reports whether a caller's request id is safe to log and to echo.
func plainID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		b := id[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && b != '-' && b != '_' && b != '.' {
			return false
		}
	}
	return true
}

func (s *Server) wrap(h func(*gin.Context) error) func(*gin.Context) {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			s.fail(c, err)
		}
	}
}
