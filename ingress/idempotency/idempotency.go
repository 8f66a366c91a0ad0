// Package idempotency implements the Idempotency-Key header for the endpoints whose policy allows
// it.
//
// A key is 16 to 255 printable ASCII characters. It is valid for 24 hours for one caller, method
// and route including the action. The caller is the one that the handler has, by bearer or by
// cookie ([httpapi.Auth.Identify]); the engine admits it first, and its refusals are not stored.
// The same request with the same key gets the first reply again, with "replayed": true in its JSON
// object and the header Idempotency-Replayed: true. Another request gets 409 idempotency_conflict.
// A second call during the first waits up to 2 s for its reply and then gets 409
// idempotency_in_progress with Retry-After. Replies of 401, 408, 412, 429 and 5xx are not stored: a
// retry runs again. internal/once documents the behaviour after a crash. A stored reply may hold a
// secret that is shown once, so it is sealed with a key derived from the caller's idempotency key
// and request. Neither is stored: the database alone cannot open the reply, so keys should be
// random.
//
// Without a login the caller is an address. Its requests prove themselves: they hold a password or
// a mailed link, and only the same request opens the reply. Only replies of calls that changed
// something are stored (2xx), so mistakes leave no row, and all these callers together have one
// bound. Above it their calls run without their keys: an e-mail has one account and a link works
// once anyway, so a stranger who uses the bound up stops nobody.
//
// Some calls are not covered, because they have their own rules: ad requests, bids and rankings
// (each is a new auction), beacons (deduplicated permanently per auction and event), MCP (its
// session), the webhooks of providers (deduplicated by event id), the demo checkout (by its id),
// login (it opens one more session) and logout (idempotent by itself).
package idempotency

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/once"
	"adnet/internal/process/obs"
	"adnet/internal/token"
)

// The request header, and the header of a replayed reply.
const (
	Header   = "Idempotency-Key"
	Replayed = "Idempotency-Replayed"
)

// The limits of a key, and its lifetime.
const (
	MinKey = 16
	MaxKey = 255
	life   = 24 * time.Hour
	// lease is longer than any call: the server ends a reply after 30 s.
	lease      = time.Minute
	wait       = 2 * time.Second
	look       = 50 * time.Millisecond
	storeLimit = 5 * time.Second
	fullRetry  = 3600 // seconds; yesterday's keys expire one by one

	// mostOpen bounds the rows of all callers without a login together, whatever the setting. A
	// stranger has any number of IPv6 networks, so a bound for each network would bound nothing.
	mostOpen = 10_000
)

// Caller identifies the caller; see [httpapi.Auth.Identify].
type Caller interface {
	Identify(c *gin.Context) (httpapi.Identity, error)
}

// Config limits the number of stored keys.
type Config struct {
	Most int `name:"idempotency-keys" env:"ADNET_IDEMPOTENCY_KEYS" default:"10000" help:"Maximum number of idempotency keys per account in 24 hours; further calls get 429. 0 is unlimited. Administrators have no limit. All callers without a login together have as many, at most 10000; further ones run without their key."`
}

// Deps holds the dependencies of the keys.
type Deps struct {
	Config  Config
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Store   once.Store
	Caller  Caller
	// Recover reads the object that a call created before its reply was lost. If it is nil, the
	// reply has only the object's id.
	Recover func(ctx context.Context, caller account.User, e once.Effect) (any, error)
}

// Keys implements [httpapi.Once].
type Keys struct {
	deps  Deps
	calls *prometheus.CounterVec
}

// New returns the keys.
func New(deps Deps) *Keys {
	return &Keys{deps: deps, calls: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_idempotency_total",
		Help: "Calls with an Idempotency-Key by result: first, replayed, recovered, conflict, in_progress, full " +
			"(the caller has reached its limit of keys).",
	}, []string{"result"}))}
}

// Do implements [httpapi.Once].
func (k *Keys) Do(c *gin.Context, route string, handle func(*gin.Context)) error {
	values := c.Request.Header.Values(Header)
	if len(values) == 0 {
		handle(c)
		return nil
	}
	if len(values) > 1 || !valid(values[0]) {
		return errs.New(
			errs.InvalidIdempotencyKey, "%s must be one value of %d to %d printable ASCII characters", Header, MinKey,
			MaxKey,
		)
	}
	return k.once(c, call{key: values[0], route: route, handle: handle})
}

func valid(key string) bool {
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) >= MinKey && len(key) <= MaxKey
}

// call is one request with a key.
type call struct {
	key, route string
	handle     func(*gin.Context)
	user       account.User // zero without a login
	open       bool         // the caller has no credentials
	request    once.Request
	seal       [32]byte
}

// scope returns the name of the caller in the ids of its rows, and the owner of the bound that they
// count against, and sets the bound. No name of an account or a key equals that of an address, and
// no row of a caller without credentials counts against an account.
func (k *Keys) scope(c *gin.Context, in *call, caller httpapi.Identity) (name, owner string) {
	in.request.Most = k.deps.Config.Most
	if caller.Name == "" {
		in.open = true
		if in.request.Most = min(in.request.Most, mostOpen); in.request.Most <= 0 {
			in.request.Most = mostOpen
		}
		return "address " + c.ClientIP(), "callers without a login"
	}
	if in.user.IsAdmin() {
		in.request.Most = 0
	}
	return caller.Name, "account " + caller.Account.String()
}

func (k *Keys) once(c *gin.Context, in call) error {
	caller, err := k.deps.Caller.Identify(c)
	if err != nil {
		return err
	}
	in.user = caller.User
	name, owner := k.scope(c, &in, caller)
	if err := readRequest(c, &in); err != nil {
		return err
	}
	in.request.ID = sha256.Sum256([]byte(strings.Join([]string{name, in.route, in.key}, "\n")))
	in.request.Scope = sha256.Sum256([]byte(owner))
	in.request.Token, in.request.Lease, in.request.Life = uuid.New(), lease, life
	found, err := k.begin(c.Request.Context(), in.request)
	if err != nil {
		return err
	}
	switch found.State {
	case once.Begun:
		k.calls.WithLabelValues("first").Inc()
		return k.run(c, in)
	case once.Replied:
		k.calls.WithLabelValues("replayed").Inc()
		return replay(c, in, found.Reply)
	case once.Effected:
		k.calls.WithLabelValues("recovered").Inc()
		return k.recovered(c, in, found.Effect)
	case once.Differs:
		k.calls.WithLabelValues("conflict").Inc()
		return errs.New(errs.IdempotencyConflict, "this %s was used for another request; use a new one", Header)
	case once.Full:
		if in.open {
			k.calls.WithLabelValues("unkept").Inc()
			in.handle(c)
			return nil
		}
		k.calls.WithLabelValues("full").Inc()
		return httpapi.RetryAfter(
			errs.New(
				errs.RateLimited,
				"more than %d idempotency keys in 24 hours; use a key again only to retry its call, or omit %s",
				k.deps.Config.Most, Header,
			), fullRetry,
		)
	}
	k.calls.WithLabelValues("in_progress").Inc()
	return httpapi.RetryAfter(
		errs.New(errs.IdempotencyInProgress, "the first call with this %s is still running", Header), 1,
	)
}

// readRequest reads the body, restores it for the handler, and computes the fingerprint and the
// seal.
func readRequest(c *gin.Context, in *call) error {
	var body []byte
	err := httpapi.RawBody(c, func(b []byte) error { body = bytes.Clone(b); return nil })
	if err != nil {
		return err
	}
	c.Request.Body = http.NoBody
	if len(body) > 0 {
		c.Request.Body = readCloser{bytes.NewReader(body)}
	}
	// Encode sorts the query, so the order of parameters does not matter.
	request := strings.Join(
		[]string{c.Request.Method, c.Request.URL.Path, c.Request.URL.Query().Encode(), string(body)}, "\n",
	)
	in.request.Fingerprint = keyed(in.key, "fingerprint\n"+request)
	in.seal = keyed(in.key, "seal\n"+request)
	return nil
}

type readCloser struct{ *bytes.Reader }

// Close implements io.Closer.
func (readCloser) Close() error { return nil }

func keyed(key, text string) (sum [32]byte) {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	copy(sum[:], mac.Sum(nil))
	return sum
}

// begin polls until the state is final or the wait is over.
func (k *Keys) begin(ctx context.Context, request once.Request) (once.Found, error) {
	patience := time.NewTimer(wait)
	defer patience.Stop()
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		found, err := k.deps.Store.BeginKey(ctx, request)
		if err != nil || found.State != once.Running {
			return found, err
		}
		select {
		case <-ctx.Done():
			return found, ctx.Err()
		case <-patience.C:
			return found, nil
		case <-again.C:
		}
	}
}

// run runs the first call. Its reply is stored before it is sent, so every reply that a client
// received can be replayed.
func (k *Keys) run(c *gin.Context, in call) error {
	ctx := c.Request.Context()
	recorded, done := &recorder{ResponseWriter: c.Writer, status: http.StatusOK}, false
	defer func() {
		if !done { // a panic: a committed effect is marked already; otherwise the key becomes free
			c.Writer = recorded.ResponseWriter
			k.release(ctx, in.request.Attempt)
		}
	}()
	c.Writer = recorded
	c.Request = c.Request.WithContext(once.With(ctx, in.request.Attempt))
	in.handle(c)
	c.Writer = recorded.ResponseWriter
	done = true
	if !in.keeps(recorded.status) {
		k.release(ctx, in.request.Attempt)
	} else if err := k.finish(ctx, in, recorded); err != nil {
		// The effect is committed and marked: the caller gets its reply, and a retry gets the
		// recovered effect.
		k.deps.Log.ErrorContext(
			ctx, "reply to an idempotency key could not be stored", "route", in.route, "error", err,
		)
	}
	c.Writer.WriteHeader(recorded.status)
	_, err := c.Writer.Write(recorded.body.Bytes())
	if err != nil {
		return nil // the caller went away; nothing to answer
	}
	return nil
}

// keeps reports whether to store a reply of this status: it answers the request itself, not a
// temporary condition, nor a precondition in a header, which a retry may replace. Without a login
// only what changed something is stored, so that a row costs its sender what the change costs.
func (in *call) keeps(status int) bool {
	if in.open {
		return status >= http.StatusOK && status < http.StatusMultipleChoices
	}
	return status < http.StatusInternalServerError && status != http.StatusUnauthorized &&
		status != http.StatusTooManyRequests && status != http.StatusRequestTimeout &&
		status != http.StatusPreconditionFailed
}

func (k *Keys) finish(ctx context.Context, in call, r *recorder) error {
	sealed, err := token.SealText(in.seal, r.body.Bytes(), nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	return k.deps.Store.FinishKey(
		ctx, in.request.Attempt,
		once.Reply{Status: r.status, ContentType: r.Header().Get("Content-Type"), Body: sealed},
	)
}

func (k *Keys) release(ctx context.Context, a once.Attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := k.deps.Store.ReleaseKey(ctx, a); err != nil {
		k.deps.Log.WarnContext(
			ctx, "idempotency key could not be released; it expires within a minute", "error", err,
		)
	}
}

// replay sends the stored reply of the first call.
func replay(c *gin.Context, in call, r once.Reply) error {
	body, err := token.OpenText(in.seal, r.Body, nil)
	if err != nil {
		return errors.Join(errors.New("a stored reply cannot be opened"), err)
	}
	c.Header(Replayed, "true")
	httpapi.Send(c, r.Status, r.ContentType, marked(body))
	return nil
}

// marked adds "replayed": true to a JSON object and returns any other body unchanged.
func marked(body []byte) []byte {
	trimmed := bytes.TrimRight(body, " \t\r\n")
	if len(trimmed) < 2 || trimmed[0] != '{' || trimmed[len(trimmed)-1] != '}' {
		return body
	}
	inner := bytes.TrimSpace(trimmed[1 : len(trimmed)-1])
	out := append([]byte{'{'}, inner...)
	if len(inner) > 0 {
		out = append(out, ',')
	}
	return append(out, `"replayed":true}`...)
}

// recovered replies for a call that took effect but lost its reply.
func (k *Keys) recovered(c *gin.Context, in call, e once.Effect) error {
	body := map[string]any{
		"replayed": true, "recovered": true, "id": e.ID, "kind": e.Kind,
		"message": "the first call took effect, but its reply was lost; a secret that is shown once cannot be shown " +
			"again",
	}
	if k.deps.Recover != nil {
		object, err := k.deps.Recover(c.Request.Context(), in.user, e)
		if err != nil {
			return err
		}
		if object != nil {
			body[e.Kind] = object
		}
	}
	c.Header(Replayed, "true")
	return httpapi.JSON(c, http.StatusOK, body)
}

// recorder holds a reply back until it is stored.
type recorder struct {
	gin.ResponseWriter
	status int
	body   bytes.Buffer
	wrote  bool
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if status > 0 && !r.wrote {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.body.Write(b)
}

// WriteString implements io.StringWriter, as part of gin.ResponseWriter.
func (r *recorder) WriteString(text string) (int, error) { return r.Write([]byte(text)) }

// WriteHeaderNow implements gin.ResponseWriter: the status is sent with the stored reply.
func (r *recorder) WriteHeaderNow() {}

// Size implements gin.ResponseWriter.
func (r *recorder) Size() int { return r.body.Len() }

// Status implements gin.ResponseWriter.
func (r *recorder) Status() int { return r.status }

// Written implements gin.ResponseWriter.
func (r *recorder) Written() bool { return r.wrote }
