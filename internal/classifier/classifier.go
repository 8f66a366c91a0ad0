// Package classifier sends conversations to an operator's own classifier. It uses the protocol of
// OpenAI's POST /v1/moderations: the request is {"input": text}, and results[0].categories of the
// reply has a name and true or false for each category.
//
// Contract. A request, including its reply, takes at most 50 ms, and at most 64 KiB of the reply
// are read. Redirects and proxies are not used. Over plain HTTP the client connects only to private
// and loopback addresses, whatever a name resolves to. After five consecutive failures there are no
// requests for five seconds. No text, nor any part of a reply, appears in a log line, an error or a
// metric.
package classifier

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/campaign/subject"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// Config holds the address of the classifier.
type Config struct {
	URL string `name:"suitability-url" env:"ADNET_SUITABILITY_URL" default:"" help:"Address of the operator's own classifier, which checks conversations in addition to the rules: an https URL, or http at a private address, with the protocol of OpenAI's POST /v1/moderations. Empty: none."`
}

// The limits of a request.
const (
	Wait     = 50 * time.Millisecond // of a request
	maxReply = 64 << 10              // bytes
	// after this many consecutive failures requests stop for the time rest
	failures = 5
	rest     = 5 * time.Second
	// conns is the maximum number of connections. Further requests wait for one within their time
	// limit.
	conns = 64
)

// Deps are the dependencies on the process. All fields are optional.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time
}

// Client sends requests. Its methods are safe for concurrent use.
type Client struct {
	url    string
	client *http.Client
	often  *obs.LimitedLogger
	now    func() time.Time

	mu     sync.Mutex
	failed int       // consecutive
	closed time.Time // no requests until then

	requests *prometheus.CounterVec
	took     prometheus.Histogram
}

// The failures. They reveal nothing about the text or the reply.
var (
	errAway   = errors.New("the classifier did not answer in time")
	errStatus = errors.New("the classifier answered with a status other than 200")
	errReply  = errors.New("the classifier's answer is not a reply of POST /v1/moderations")
	errLong   = errors.New("the classifier's answer is too long")
	errRests  = errors.New("the classifier failed; requests pause for some seconds")
)

// New validates the setting and returns nil without one. It does not connect. An address that is
// neither https nor a private http address is an error.
func New(cfg Config, deps Deps) (*Client, error) {
	if cfg.URL == "" {
		return nil, nil
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New(
			"ADNET_SUITABILITY_URL must be an address like https://moderation.example/v1/moderations",
		)
	}
	dialer := &net.Dialer{Timeout: Wait}
	if u.Scheme == "http" {
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !private(addr) {
			return nil, errors.New(
				"ADNET_SUITABILITY_URL must be https: conversations would leave the private network in plain text",
			)
		}
		dialer.Control = privateOnly
	}
	c := &Client{
		url: cfg.URL, now: schedule.Clock(deps.Now), often: obs.Limited(deps.Log, time.Minute),
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext: dialer.DialContext, MaxConnsPerHost: conns, MaxIdleConnsPerHost: conns,
				IdleConnTimeout:    time.Minute,
				DisableCompression: true, MaxResponseHeaderBytes: maxReply, ForceAttemptHTTP2: true,
			},
		},
	}
	c.requests = obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_suitability_classifier_total",
		Help: "Conversations for the operator's classifier, by result: ordinary, found, failed, or " +
			"not sent after failures (rests).",
	}, []string{"result"}))
	c.took = obs.Register(deps.Metrics, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "adnet_suitability_classifier_seconds", Help: "Time of the operator's classifier for one conversation.",
		Buckets: []float64{.001, .0025, .005, .01, .02, .03, .04, .05},
	}))
	return c, nil
}

// private reports whether an address belongs to this machine or a private network.
func private(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate()
}

// privateOnly rejects connections to other addresses.
func privateOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !private(at.Addr()) {
		return errors.New("not a private address")
	}
	return nil
}

// Classify returns the subjects that the classifier finds in a text. other is true if it finds a
// category that adnet does not know. It fails if the classifier is unreachable or its reply is
// invalid.
func (c *Client) Classify(ctx context.Context, text string) (found subject.Set, other bool, err error) {
	if c.rests() {
		c.requests.WithLabelValues("rests").Inc()
		return 0, false, errRests
	}
	begun := time.Now()
	names, err := c.ask(ctx, text)
	c.took.Observe(time.Since(begun).Seconds())
	if err == nil || ctx.Err() == nil { // a caller that stopped waiting is no failure of the classifier
		c.note(err)
	}
	if err != nil {
		c.requests.WithLabelValues("failed").Inc()
		c.often.Warn(ctx, "the operator's classifier failed (ADNET_SUITABILITY_URL)", "error", err)
		return 0, false, err
	}
	for _, name := range names {
		of, known := subject.Flag(name)
		found |= of
		other = other || !known
	}
	result := "ordinary"
	if found != 0 || other {
		result = "found"
	}
	c.requests.WithLabelValues(result).Inc()
	return found, other, nil
}

// rests reports whether requests are paused after failures. After the pause one request is sent,
// and the others wait for its result.
func (c *Client) rests() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed < failures {
		return false
	}
	now := c.now()
	if now.Before(c.closed) {
		return true
	}
	c.closed = now.Add(rest)
	return false
}

// note counts consecutive failures.
func (c *Client) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.failed = 0
		return
	}
	if c.failed++; c.failed == failures {
		c.closed = c.now().Add(rest)
	}
}

// ask returns the names of the categories that apply.
func (c *Client) ask(ctx context.Context, text string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, Wait)
	defer cancel()
	body, err := json.Marshal(struct {
		Input string `json:"input"`
	}{strings.ToValidUTF8(text, "\ufffd")})
	if err != nil {
		return nil, errReply
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, errAway
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return nil, errAway
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, errStatus
	}
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, errAway
	case len(reply) > maxReply:
		return nil, errLong
	}
	return categories(reply)
}

// categories parses a reply. A category may be null if a model does not support it.
func categories(reply []byte) (names []string, err error) {
	var read struct {
		Results []struct {
			Categories map[string]*bool `json:"categories"`
		} `json:"results"`
	}
	if json.Unmarshal(reply, &read) != nil || len(read.Results) == 0 || read.Results[0].Categories == nil {
		return nil, errReply
	}
	for name, holds := range read.Results[0].Categories {
		if holds != nil && *holds {
			names = append(names, name)
		}
	}
	return names, nil
}
