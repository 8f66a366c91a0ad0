package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"adnet/cmd/load/visitor"
)

const (
	userAgent = "Mozilla/5.0 (X11; Linux x86_64) adnet-load/1" // its clicks are those of readers

	// Tries of a call answered with 429 or 503, and their pauses: the time in Retry-After, or a
	// second, but never longer than a rate limit's minute.
	maxTries   = 6
	maxBackoff = time.Minute

	maxReply = 8 << 20 // bytes
)

// statusError is a reply with an error status.
type statusError struct {
	call    string
	status  int
	message string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answered %d: %s", e.call, e.status, e.message)
}

func isStatus(err error, status int) bool {
	var e *statusError
	return errors.As(err, &e) && e.status == status
}

// client calls the service and counts every error reply. It never follows a redirect: landing pages
// belong to others.
type client struct {
	base    string
	http    *http.Client
	timeout time.Duration
	clock   Clock
	tally   *tally
}

func newClient(cfg *Config, clock Clock, t *tally) *client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: cfg.Timeout, KeepAlive: 30 * time.Second}).DialContext,
		MaxConnsPerHost:     max(cfg.Concurrency, setupConcurrency),
		MaxIdleConnsPerHost: max(cfg.Concurrency, setupConcurrency),
		IdleConnTimeout:     time.Minute,
	}
	return &client{
		base: cfg.URL, timeout: cfg.Timeout, clock: clock, tally: t,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// call is one request. A path that starts with a slash belongs to the service; links of ads are
// complete.
type call struct {
	method, path, bearer string
	header               http.Header
	body                 any
	expected             int     // an error status that is not counted as an error
	location             *string // set to the target of a redirect; nil: ignored
	// due is the scheduled time of the request; zero: now. The first try's latency counts from
	// here.
	due time.Time
	// latency receives the time to a successful reply; nil: not measured.
	latency func(time.Duration)
}

// do sends c, repeats it while the reply is 429 or 503, and decodes the JSON of a 2xx reply into
// out unless that is nil. A 3xx is a success without content. Errors: *statusError, those of the
// network and of ctx; they are counted.
func (c *client) do(ctx context.Context, in call, out any) error {
	for try := 1; ; try++ {
		started := c.clock.Now()
		if try == 1 && !in.due.IsZero() {
			started = in.due
		}
		wait, err := c.once(ctx, in, out)
		if err == nil {
			if in.latency != nil {
				in.latency(c.clock.Now().Sub(started))
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err() // the run ends; the service is not at fault
		}
		if in.expected == 0 || !isStatus(err, in.expected) {
			c.tally.failed(err)
		}
		if wait <= 0 || wait > maxBackoff || try == maxTries {
			return err
		}
		// Jitter above the requested wait: otherwise all refused requests would come back at once.
		c.tally.backedOff()
		jitter := time.Duration(rand.Int64N(int64(wait)/4 + 1))
		if err := c.clock.SleepUntil(ctx, c.clock.Now().Add(wait+jitter)); err != nil {
			return err
		}
	}
}

// once sends c. wait is above 0 when the service requests a retry.
func (c *client) once(ctx context.Context, in call, out any) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := c.request(ctx, in)
	if err != nil {
		return 0, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	// Read to the end, so that the connection can be used again.
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return 0, err
	}
	if response.StatusCode >= 400 {
		return retryAfter(response), refusal(in, response, raw)
	}
	if in.location != nil {
		*in.location = response.Header.Get("Location")
	}
	if out == nil || response.StatusCode >= 300 {
		return 0, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return 0, &statusError{
			call: in.method + " " + pathOf(in.path), status: response.StatusCode,
			message: "reply that cannot be decoded: " + err.Error(),
		}
	}
	return 0, nil
}

func (c *client) request(ctx context.Context, in call) (*http.Request, error) {
	r := visitor.Request{
		Method: in.method, Path: in.path, Bearer: in.bearer, Agent: userAgent, Header: in.header, JSON: in.body,
	}
	return r.New(ctx, c.base)
}

// retryAfter returns the seconds of the header, or a second without one. 0: no retry.
func retryAfter(response *http.Response) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		return max(time.Duration(seconds)*time.Second, 100*time.Millisecond)
	}
	return time.Second
}

func refusal(in call, response *http.Response, raw []byte) error {
	var envelope struct {
		Error string `json:"error"`
		Code  string `json:"code"`
	}
	e := &statusError{
		call: in.method + " " + pathOf(in.path), status: response.StatusCode,
		message: http.StatusText(response.StatusCode),
	}
	// A proxy in between does not send JSON; then only the status is known.
	if json.Unmarshal(raw, &envelope) == nil && envelope.Error != "" {
		e.message = envelope.Error + " (" + envelope.Code + ")"
	}
	return e
}

// pathOf removes query and token, which do not belong in messages.
func pathOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "?"
	}
	if len(u.Path) > 3 && u.Path[:3] == "/s/" {
		return "/s/…"
	}
	return u.Path
}

// session is a login.
type session struct {
	Token string `json:"token"`
	User  struct {
		ID string `json:"id"`
	} `json:"user"`
}

func (c *client) register(ctx context.Context, email, password string) (session, error) {
	return c.enter(ctx, "register", email, password)
}

func (c *client) login(ctx context.Context, email, password string) (session, error) {
	return c.enter(ctx, "login", email, password)
}

func (c *client) enter(ctx context.Context, action, email, password string) (session, error) {
	var s session
	err := c.do(ctx, call{
		method: http.MethodPost, path: "/api/auth?action=" + action, expected: http.StatusConflict,
		body: map[string]string{"email": email, "password": password},
	}, &s)
	return s, err
}

func (c *client) createKey(ctx context.Context, token, name string) (string, error) {
	var key struct {
		Key string `json:"key"`
	}
	err := c.do(
		ctx,
		call{
			method: http.MethodPost, path: "/api/keys", bearer: token,
			body: map[string]string{"kind": "publisher", "name": name},
		}, &key,
	)
	return key.Key, err
}
