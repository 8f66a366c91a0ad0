package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/process/obs"
	"adnet/internal/traffic"
)

// Limit selects the requests of a route that count against their address. The numbers are in
// ingress/limits.
type Limit uint8

// The limits.
const (
	_ Limit = iota
	// No limit: each beacon and delivery is worth money, and one server may send them for many
	// people.
	LimitNone
	LimitOpen          // each request: pages and paths that need no key
	LimitRegistrations // each request
	LimitRanking       // each request
	LimitLogins        // failed logins
	LimitRefused       // requests answered 401: their sender may be guessing keys
	LimitConversionKey // requests with a conversion or browser key that are answered 401
	LimitKeyless       // requests without a valid key; a valid key always passes, and has its own limit
)

// Work is the cost of a logged-in account's request beside its answer. The numbers for each account
// are in ingress/limits.
type Work uint8

// The kinds of work.
const (
	WorkNone   Work = iota
	WorkWrites      // a change: a row to store, and a notification for every node
	WorkStats       // a scan of recorded data
	WorkReads       // a GET, of a scan too
)

// Access is the set of callers that a route accepts.
type Access uint8

// The callers. Their names in openapi.json are {}, userToken (for both kinds of token),
// publisherKey, browserKey, seatKey and conversionKey. [SeatPathKey] has none, since an OpenAPI
// scheme cannot be in a path.
const (
	Anyone Access = 1 << iota
	UserToken
	AdminToken // the access token of an administrator
	PublisherKey
	SeatKey
	ConversionKey
	SeatPathKey // in the path parameter key
	BrowserKey  // on a page of one of its origins
)

// Answer is an explicit yes or no.
type Answer uint8

// The answers.
const (
	_ Answer = iota
	Yes
	No
)

// Policy holds the properties of a route besides its handler.
type Policy struct {
	Limit Limit
	// Auth states the accepted callers. The engine refuses others before the handler reads anything,
	// and hands the caller to the handler ([Do], [UserOf]). With Anyone among them it admits every
	// request, and the handler asks [Auth] for a caller it may have.
	Auth Access
	// Admits are the logins that are admitted although other routes refuse them.
	Admits Exception
	// NotAdmin is the error code for a login that is not an administrator's, where Auth is
	// AdminToken: errs.InvalidToken (401) where the specification requires it, otherwise
	// errs.Forbidden, the default. The console would take 401 for the end of the session.
	NotAdmin errs.Code
	// Refused answers a caller that is not admitted, with the error; nil means the error form. It is
	// for protocols whose errors repeat a part of the body.
	Refused func(c *gin.Context, err error) error
	// Idempotent routes honour Idempotency-Key; see ingress/idempotency. Where a route that changes
	// something does not, a comment at its mount gives the reason. A route for Anyone must also be
	// idempotent without the key, since the keys of callers without a login share one bound.
	Idempotent Answer
	// Audited routes change an account or the installation. Each change goes to the audit log with
	// its caller.
	Audited Answer
	// Scans marks a route whose answer costs a scan of recorded data ([WorkStats]).
	Scans bool
	// Judges marks a route whose answer costs the policy check of texts, as a change does
	// ([WorkWrites]), though it stores nothing.
	Judges bool
	// Params are the forms of the query's parameters. A request whose query breaks one is answered
	// 400 before its handler runs, and so is a parameter that an exact route ([Exact]) does not have
	// here: an ignored condition would answer another question.
	Params Params
	// Embedded marks a route whose replies pages of other sites load: an image, a script. Browsers
	// block such a reply in an isolated page (Cross-Origin-Embedder-Policy) unless it allows this.
	Embedded bool
	// Body is the maximum size of a request body in bytes. A longer body is answered 413 and is not
	// read. 0 means 64 KiB.
	Body int64
	// Errors writes the errors of the path, whatever the method and the source: the guard, an
	// unknown method, a panic, a handler. nil means [WriteError]. The methods of a path share it.
	Errors ErrorForm
}

// stated reports whether p differs from the zero value.
func (p *Policy) stated() bool {
	return p.Limit != 0 || p.Auth != 0 || p.Admits != 0 || p.NotAdmin != "" || p.Refused != nil ||
		p.Idempotent != 0 || p.Audited != 0 || p.Scans || p.Judges ||
		p.Embedded || p.Params != nil || p.Body != 0 || p.Errors != nil
}

// work returns the cost of a request for a logged-in account. A route that is idempotent or audited
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

// missing lists the fields that p leaves open for a route with this method.
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

// Route is a mounted logical endpoint.
type Route struct {
	Method, Path string // the path's parameters are written :name
	// Param is the query parameter whose Value selects the endpoint among those of its method and
	// path. Both are empty where there is only one endpoint. An empty Value with a Param stands for
	// the absence of the parameter.
	Param, Value string
	Policy       Policy
	Exact        bool // see [Exact]
}

// Action is one endpoint of several behind a method and a path.
type Action struct {
	Do     Handler
	Policy Policy // the zero value means the route's
}

// Actions holds the endpoints of a method and a path, by the value of the query parameter Param.
// The value "" answers a request without the parameter. Any other value is answered 400 with the
// list of valid ones.
type Actions struct {
	Param string
	Of    map[string]Action
}

// actionParam is the parameter whose values also have paths of their own: /api/campaigns/pause is
// /api/campaigns?action=pause. An OpenAPI operation has a path and no query, so clients generated
// from the document get one call for each action.
const actionParam = "action"

// Handle mounts h. The path may contain parameters, written :name. A route with an incomplete
// policy is not mounted, and [Server.Run] returns the reason.
func (s *Server) Handle(method, path string, h Handler, p Policy) {
	s.mount(&entrance{method: method, path: path, other: s.endpoint(h, p)})
}

// HandleTree mounts h for GET and HEAD of a path that ends with a parameter, written *name, and of
// every path below it. The parameter holds the rest of the path with its leading slash, and is
// empty for the path itself.
func (s *Server) HandleTree(path string, h Handler, p Policy) {
	s.mount(&entrance{method: http.MethodGet, path: path, other: s.endpoint(h, p)})
}

// HandleActions mounts several endpoints on one method and path. p applies to actions without a
// policy of their own and to unknown values.
func (s *Server) HandleActions(method, path string, a Actions, p Policy) {
	names := sortedNames(a.Of)
	e := &entrance{method: method, path: path, param: a.Param, actions: make(map[string]*endpoint, len(a.Of))}
	unknown := p
	if unknown.Auth != 0 {
		unknown.Auth = Anyone // strangers too learn the valid values
	}
	e.other = s.endpoint(Plain(func(*gin.Context) error {
		return errs.New(
			errs.InvalidRequest, "query parameter %s must be one of %s", a.Param, names,
		).With("field", a.Param)
	}), unknown)
	for value, action := range a.Of {
		if !action.Policy.stated() {
			action.Policy = p
		}
		action.Policy.Errors = p.Errors // one form for the whole path
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
				named.path += "/" + value
				s.faults = append(s.faults, unmounted(&named, err))
			}
		}
	}
}

// Routes lists the mounted routes.
func (s *Server) Routes() []Route { return s.routes }

// entrance is a method and path, with the endpoints to choose from.
type entrance struct {
	method, path string
	param        string               // query parameter; empty with a single endpoint
	actions      map[string]*endpoint // by the value of param
	value        string               // of param where the path has it; empty where the query has it
	other        *endpoint            // for any other value
}

// endpoint is a handler with its policy.
type endpoint struct {
	answers func(*gin.Context) // admits the caller, runs the handler and answers its errors
	policy  Policy
	unfit   bool // the handler needs a caller, and the policy admits strangers
	exact   bool // see [Exact]
}

func (s *Server) endpoint(h Handler, p Policy) *endpoint {
	return &endpoint{s.wrap(s.admitting(s.keyed(h, &p), &p)), p, h.caller && p.Auth&Anyone != 0, h.exact}
}

func (e *entrance) choose(c *gin.Context) *endpoint {
	if e.param != "" {
		value, empty := e.selected(c)
		if chosen, ok := e.actions[value]; ok && !empty {
			return chosen
		}
	}
	return e.other
}

// longBody is a method and a path prefix whose bodies may be longer than maxBody.
type longBody struct {
	method, path string
	limit        int64
}

// bodyLimit returns the upper bound of a body before it is read. A handler reads no more than its
// own policy allows ([ReadBody]).
func (s *Server) bodyLimit(method, path string) int64 {
	limit := int64(maxBody)
	for _, l := range s.long {
		if l.method == method && strings.HasPrefix(path, l.path) {
			limit = max(limit, l.limit)
		}
	}
	return limit
}

// noteBodies records that bodies of e may be longer than the default.
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

// name returns the entrance with the action of c, in the form of the audit log and the idempotency
// keys.
func (e *entrance) name(c *gin.Context) string {
	name := e.method + " " + e.path
	if e.param == "" {
		return name
	}
	if value, _ := e.selected(c); value != "" && len(value) <= 32 {
		name += "?action=" + strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", ""), "")
	}
	return name
}

// endpoints lists the routes of e.
func (e *entrance) endpoints() []Route {
	if e.param == "" {
		path := strings.Replace(e.path, "/*", "/:", 1) // a tree is one parameter in openapi.json
		return []Route{{Method: e.method, Path: path, Policy: e.other.policy, Exact: e.other.exact}}
	}
	var all []Route
	for _, value := range sortedKeys(e.actions) {
		to := e.actions[value]
		all = append(all, Route{e.method, e.path, e.param, value, to.policy, to.exact})
	}
	return all
}

// mount makes e reachable, unless its policies are incomplete.
func (s *Server) mount(e *entrance) {
	if err := s.tryMount(e); err != nil {
		s.faults = append(s.faults, unmounted(e, err))
	}
}

func unmounted(e *entrance, err error) error {
	return fmt.Errorf("route %s %s is not mounted: %w", e.method, e.path, err)
}

func (s *Server) tryMount(e *entrance) error {
	if err := s.problem(e); err != nil {
		return err
	}
	if err := s.mountAt(e.path, e); err != nil {
		return err
	}
	s.routes = append(s.routes, e.endpoints()...)
	return nil
}

// mountAt makes e reachable at a path. For a named action the path differs from e's own.
func (s *Server) mountAt(path string, e *entrance) error {
	at, err := s.at(path)
	if err != nil {
		return err
	}
	form := e.other.policy.Errors
	if len(at.entrances) > 0 && (at.form == nil) != (form == nil) {
		return errors.New("its error form differs from that of the path's other methods")
	}
	if !at.add(e) {
		return errors.New("it is already mounted")
	}
	at.form = form
	s.noteBodies(path, e)
	return nil
}

// problem returns an error for a policy of e that is incomplete, or that this server cannot enforce.
func (s *Server) problem(e *entrance) error {
	if missing := e.other.policy.missing(e.method); missing != nil {
		return fmt.Errorf("its policy does not set %s", strings.Join(missing, ", "))
	}
	const unfit = "its policy admits anyone, and its handler needs a caller"
	if e.other.unfit {
		return errors.New(unfit)
	}
	secured := e.other.policy.Auth&Anyone == 0
	for _, value := range sortedKeys(e.actions) {
		p := &e.actions[value].policy
		if missing := p.missing(e.method); missing != nil {
			return fmt.Errorf("the policy of %s=%s does not set %s", e.param, value, strings.Join(missing, ", "))
		}
		if e.actions[value].unfit {
			return fmt.Errorf("%s=%s: %s", e.param, value, unfit)
		}
		secured = secured || p.Auth&Anyone == 0
	}
	if secured && s.deps.Auth == nil {
		return errors.New("it needs credentials, and the server has no authentication")
	}
	return nil
}

// serve answers a request under the policy of its endpoint.
func (s *Server) serve(c *gin.Context, r *request) {
	to := r.at.choose(c)
	r.to = to
	if to.policy.Embedded {
		c.Writer.Header()["Cross-Origin-Resource-Policy"] = crossOrigin
	}
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

// call runs an endpoint's handler, with the audit of its policy.
func (s *Server) call(c *gin.Context, r *request) {
	to := r.to
	if err := r.checkQuery(c); err != nil {
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
	to.answers(c)
}
