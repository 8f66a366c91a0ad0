package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/internal/auditlog"
	"adnet/internal/errs"
	"adnet/internal/obs"
	"adnet/internal/traffic"
)

// Limit says which of a route's requests count against their address; ingress/limits has the
// numbers.
type Limit uint8

// The limits.
const (
	_ Limit = iota
	// none: there is money behind each beacon and delivery, and one server may send many people's
	LimitNone
	LimitOpen          // each: pages and paths that need no key
	LimitRegistrations // each
	LimitRanking       // each
	LimitLogins        // failed ones
	LimitRefused       // those answered 401: their sender looks for a key that works
	LimitConversionKey // those with a conversion or browser key that are answered 401; others never
	LimitKeyless       // those without a good key; a good key is always let in, and has a limit of its own
)

// Work is what a request of a logged-in account costs besides its answer; ingress/limits has the
// numbers for each account.
type Work uint8

// The kinds of work.
const (
	WorkNone   Work = iota
	WorkWrites      // a change: a row that stays, and news for every node
	WorkStats       // a scan of what was recorded
)

// Access is who may call a route: a set.
type Access uint8

// The callers. Their names in openapi.json are {}, userToken (for both kinds of token),
// publisherKey, browserKey, seatKey and conversionKey; [SeatPathKey] has none, since a scheme of
// OpenAPI cannot be in a path.
const (
	Anyone Access = 1 << iota
	UserToken
	AdminToken // the access token of an administrator
	PublisherKey
	SeatKey
	ConversionKey
	SeatPathKey // in the path, as its parameter key
	BrowserKey  // on a page of one of its origins
)

// Answer is yes or no, said aloud.
type Answer uint8

// The answers.
const (
	_ Answer = iota
	Yes
	No
)

// Policy is what holds for a route besides its handler.
type Policy struct {
	Limit Limit
	// Auth states who may call. Handlers ask [Auth] themselves, since more than a refusal may
	// depend on the caller; tests hold each route, and openapi.json, to what stands here.
	Auth Access
	// Idempotent routes honour Idempotency-Key: see ingress/idempotency. Where a route that changes
	// something does not, a comment at its mount gives the reason.
	Idempotent Answer
	// Audited routes change something of an account or of the installation: what they change goes
	// to the audit log with who called.
	Audited Answer
	// Scans says that an answer costs a scan of what was recorded ([WorkStats]).
	Scans bool
	// Judges says that an answer costs the policy check of texts, as a change does ([WorkWrites]),
	// though nothing is kept.
	Judges bool
	// Params are the forms of the query's parameters: a request whose query has another is 400,
	// before its handler is asked.
	Params Params
	// Body is how many bytes a request's body may have: a longer one is 413, and is not read. 0 is
	// 64 KiB.
	Body int64
	// Errors writes the errors of the path, whatever the method and wherever they come from: the
	// guard, an unknown method, a panic, a handler. nil is [WriteError]. The methods of a path
	// share it.
	Errors ErrorForm
}

// stated says whether p is more than the zero value.
func (p *Policy) stated() bool {
	return p.Limit != 0 || p.Auth != 0 || p.Idempotent != 0 || p.Audited != 0 || p.Scans || p.Judges ||
		p.Params != nil || p.Body != 0 || p.Errors != nil
}

// work is what a request costs a logged-in account. A route that is repeated safely or audited
// changes something.
func (p *Policy) work() Work {
	switch {
	case p.Scans:
		return WorkStats
	case p.Audited == Yes || p.Idempotent == Yes || p.Judges:
		return WorkWrites
	}
	return WorkNone
}

func (p *Policy) bodyLimit() int64 { return cmp.Or(p.Body, maxBody) }

// missing names what p does not say of a route with this method.
func (p *Policy) missing(method string) (names []string) {
	changes := !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method)
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Limit", p.Limit == 0}, {"Auth", p.Auth == 0},
		{"Idempotent", changes && p.Idempotent == 0}, {"Audited", changes && p.Audited == 0},
	} {
		if field.missing {
			names = append(names, field.name)
		}
	}
	return names
}

// Route is a logical endpoint that is mounted.
type Route struct {
	Method, Path string // the path's parameters are written :name
	// Param is the query parameter whose Value chooses it among the endpoints of its method and
	// path; both are empty where there is one only. An empty Value with a Param stands for its
	// absence.
	Param, Value string
	Policy       Policy
}

// Action is one endpoint of several behind a method and a path.
type Action struct {
	Do     Handler
	Policy Policy // the zero value is the route's
}

// Actions are the endpoints behind a method and a path by the value of the query parameter Param.
// The value "" answers a request without the parameter. Other values than these are 400 and are
// told which there are.
type Actions struct {
	Param string
	Of    map[string]Action
}

// actionParam is the parameter whose values have paths of their own, too: /api/campaigns/pause is
// /api/campaigns?action=pause. A description of an API can name a path and no query, so clients
// that are made from it have one call for each action.
const actionParam = "action"

// Handle mounts h. The path may hold parameters, written :name. A route whose policy does not say
// everything is not mounted, and [Server.Run] says so.
func (s *Server) Handle(method, path string, h Handler, p Policy) {
	s.mount(&entrance{method: method, path: path, other: s.endpoint(h, p)})
}

// HandleTree mounts h for GET and HEAD of a path that ends with a parameter, written *name, and of
// every path below it: the parameter is all that follows, with the slash before it; empty for the
// path above.
func (s *Server) HandleTree(path string, h Handler, p Policy) {
	s.mount(&entrance{method: http.MethodGet, path: path, other: s.endpoint(h, p)})
}

// HandleActions mounts several endpoints behind one method and path. p holds for those that have no
// policy of their own and for unknown values.
func (s *Server) HandleActions(method, path string, a Actions, p Policy) {
	names := sortedNames(a.Of)
	e := &entrance{method: method, path: path, param: a.Param, actions: make(map[string]*endpoint, len(a.Of))}
	e.other = s.endpoint(func(*gin.Context) error {
		return errs.New(
			errs.InvalidRequest, "query parameter %s must be one of %s", a.Param, names,
		).With("field", a.Param)
	}, p)
	for value, action := range a.Of {
		if !action.Policy.stated() {
			action.Policy = p
		}
		action.Policy.Errors = p.Errors // of the path
		e.actions[value] = s.endpoint(action.Do, action.Policy)
	}
	s.mount(e)
	if a.Param != actionParam {
		return
	}
	for _, value := range sortedKeys(e.actions) {
		if value != "" {
			named := *e
			named.value = value
			if err := s.mountAt(path+"/"+value, &named); err != nil {
				s.faults = append(s.faults, fmt.Errorf("route %s %s/%s is not mounted: %w", method, path, value, err))
			}
		}
	}
}

// Routes lists the mounted routes.
func (s *Server) Routes() []Route { return s.routes }

// entrance is a method and path: where a request comes in, and which endpoint it asks for.
type entrance struct {
	method, path string
	param        string               // of the query; empty with one endpoint only
	actions      map[string]*endpoint // by its value
	value        string               // of the parameter where the path says it; empty where the query does
	other        *endpoint            // for every other value
}

// endpoint is a handler with its policy.
type endpoint struct {
	handle  Handler
	answers func(*gin.Context) // handle, which answers its errors too
	policy  Policy
}

func (s *Server) endpoint(h Handler, p Policy) *endpoint { return &endpoint{h, s.wrap(h), p} }

func (e *entrance) choose(c *gin.Context) *endpoint {
	if e.param != "" {
		value, empty := e.asked(c)
		if chosen, ok := e.actions[value]; ok && !empty {
			return chosen
		}
	}
	return e.other
}

// longBody is a method and the beginning of paths whose bodies may be longer than maxBody.
type longBody struct {
	method, path string
	limit        int64
}

// bodyLimit returns before a body is read how long it may be at most: a handler reads no more than
// its own policy allows ([ReadBody]).
func (s *Server) bodyLimit(method, path, _ string) int64 {
	limit := int64(maxBody)
	for _, l := range s.long {
		if l.method == method && strings.HasPrefix(path, l.path) {
			limit = max(limit, l.limit)
		}
	}
	return limit
}

// noteBodies remembers that bodies of e may be longer than others.
func (s *Server) noteBodies(path string, e *entrance) {
	longest := e.other.policy.bodyLimit()
	for _, action := range e.actions {
		longest = max(longest, action.policy.bodyLimit())
	}
	if longest > maxBody {
		begins, _, _ := strings.Cut(path, ":")
		s.long = append(s.long, longBody{e.method, begins, longest})
	}
}

// name is the entrance with the action that c asks for, as the audit log and idempotency keys have
// it.
func (e *entrance) name(c *gin.Context) string {
	name := e.method + " " + e.path
	if e.param == "" {
		return name
	}
	if value, _ := e.asked(c); value != "" && len(value) <= 32 {
		name += "?action=" + strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", ""), "")
	}
	return name
}

// endpoints are the routes behind e.
func (e *entrance) endpoints() []Route {
	if e.param == "" {
		return []Route{{Method: e.method, Path: e.path, Policy: e.other.policy}}
	}
	var all []Route
	for _, value := range sortedKeys(e.actions) {
		all = append(all, Route{e.method, e.path, e.param, value, e.actions[value].policy})
	}
	return all
}

// mount makes e reachable, unless its policies leave something open.
func (s *Server) mount(e *entrance) {
	if err := s.tryMount(e); err != nil {
		s.faults = append(s.faults, fmt.Errorf("route %s %s is not mounted: %w", e.method, e.path, err))
	}
}

func (s *Server) tryMount(e *entrance) error {
	if err := e.problem(); err != nil {
		return err
	}
	if err := s.mountAt(e.path, e); err != nil {
		return err
	}
	s.routes = append(s.routes, e.endpoints()...)
	return nil
}

// mountAt makes e reachable at a path, which is another than its own for a named action.
func (s *Server) mountAt(path string, e *entrance) error {
	at, err := s.at(path)
	if err != nil {
		return err
	}
	form := e.other.policy.Errors
	if len(at.entrances) > 0 && (at.form == nil) != (form == nil) {
		return errors.New("its errors have another form than those of the path's other methods")
	}
	if !at.add(e) {
		return errors.New("it is mounted already")
	}
	at.form = form
	s.noteBodies(path, e)
	return nil
}

// problem is what e's policies leave open.
func (e *entrance) problem() error {
	if missing := e.other.policy.missing(e.method); missing != nil {
		return fmt.Errorf("its policy does not say %s", strings.Join(missing, ", "))
	}
	for _, value := range sortedKeys(e.actions) {
		if missing := e.actions[value].policy.missing(e.method); missing != nil {
			return fmt.Errorf("the policy of %s=%s does not say %s", e.param, value, strings.Join(missing, ", "))
		}
	}
	return nil
}

// serve answers a request as the policy of its endpoint says.
func (s *Server) serve(c *gin.Context, r *request) {
	to := r.at.choose(c)
	r.to = to
	if s.deps.Guard == nil {
		s.call(c, r)
		return
	}
	if err := s.deps.Guard.Enter(c, to.policy.Limit); err != nil {
		s.fail(c, err)
		return
	}
	s.call(c, r)
	s.deps.Guard.Leave(c, to.policy.Limit)
}

// call runs an endpoint's handler, under the caller's key and with its name for the audit log.
func (s *Server) call(c *gin.Context, r *request) {
	to := r.to
	if err := to.policy.Params.check(c); err != nil {
		s.fail(c, err)
		return
	}
	if to.policy.Audited == Yes {
		ctx := c.Request.Context()
		c.Request = c.Request.WithContext(auditlog.With(ctx, auditlog.Actor{
			Via: auditlog.API, Network: traffic.Network(c.ClientIP()), Action: r.at.name(c),
			RequestID: obs.RequestID(ctx),
		}))
	}
	if to.policy.Idempotent != Yes || s.deps.Once == nil {
		to.answers(c)
		return
	}
	if err := s.deps.Once.Do(c, r.at.name(c), to.answers); err != nil {
		s.fail(c, err)
	}
}
