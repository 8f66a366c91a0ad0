package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/internal/process/obs"
)

// site is a mounted path with the endpoints of its methods. gin finds the path and its parameters,
// and the site chooses by method. So HEAD is answered wherever GET is, and 405 lists exactly the
// mounted methods: gin's own list is computed from the trees of other methods and misses some.
type site struct {
	entrances []*entrance // one for each method, in mounting order
	allow     string      // the methods
	form      ErrorForm   // of all errors of the path; nil for WriteError
}

// ginMethods are the methods that gin accepts routes for and that clients send.
var ginMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodTrace, http.MethodConnect,
}

// at returns the site of a mounted path, and creates it if needed. Errors: gin cannot tell the path
// from another one.
func (s *Server) at(path string) (at *site, err error) {
	if known := s.sites[path]; known != nil {
		return known, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p) // gin panics when two paths conflict
		}
	}()
	created := new(site)
	enter := func(c *gin.Context) { s.enter(c, created) }
	if above, param, is := strings.Cut(path, "/*"); is {
		// gin's own parameter for all that follows allows no other path below.
		s.trees = append(s.trees, tree{above: above, param: param, enter: enter})
	} else {
		s.engine.Match(ginMethods, path, enter)
	}
	s.sites[path] = created
	return created, nil
}

// add makes e reachable. It reports whether the method was free.
func (a *site) add(e *entrance) bool {
	if a.entrance(e.method) != nil {
		return false
	}
	a.entrances = append(a.entrances, e)
	a.allow = a.methods()
	return true
}

// methods returns the methods that the site answers, for the header Allow.
func (a *site) methods() string {
	var names []string
	for _, e := range a.entrances {
		names = append(names, e.method)
		if e.method == http.MethodGet && a.entrance(http.MethodHead) == nil {
			names = append(names, http.MethodHead)
		}
	}
	return strings.Join(names, ", ")
}

func (a *site) entrance(method string) *entrance {
	for _, e := range a.entrances {
		if e.method == method {
			return e
		}
	}
	return nil
}

// answering returns the entrance for a method. HEAD is answered as GET would be, without the body
// (RFC 9110, section 9.3.2). GET handlers that record something check the method.
func (a *site) answering(method string) *entrance {
	e := a.entrance(method)
	if e == nil && method == http.MethodHead {
		e = a.entrance(http.MethodGet)
	}
	return e
}

// request holds the state that the engine keeps for a request beside gin's context. It is the
// context of the request, so that both need one allocation: the map of [gin.Context.Set] would cost
// two more (benchmark row ad_request_100k).
type request struct {
	obs.Identity
	method string    // as sent
	site   *site     // nil for an unknown path
	at     *entrance // for the method and path, or for the refusal
	to     *endpoint // the one that answers; nil before it is chosen
	caller *admitted // nil before it is admitted, and where everyone is
	spent  bool      // the request is counted against its account
	leave  func()    // ends the account's turn; nil without one
}

// requestKey is the key of the request in its context.
type requestKey struct{}

// Value implements context.Context.
func (r *request) Value(key any) any {
	if key == (requestKey{}) {
		return r
	}
	return r.Identity.Value(key)
}

// of returns the request of c. Outside of the engine, as in tests, it returns an empty one.
func of(c *gin.Context) *request {
	if r, ok := c.Request.Context().Value(requestKey{}).(*request); ok {
		return r
	}
	return new(request)
}

// route returns the mounted path, with the names of its parameters. It is empty for an unknown path
// or method.
func (r *request) route() string {
	if r.at == nil {
		return ""
	}
	return r.at.path
}

// bodyLimit returns the maximum size of the request's body in bytes.
func (r *request) bodyLimit() int64 {
	if r.to == nil {
		return maxBody
	}
	return r.to.policy.bodyLimit()
}

// NewContext returns a context outside of any route, for tests of code that reads requests and
// writes replies.
func NewContext(w http.ResponseWriter, r *http.Request) *gin.Context {
	c, _ := gin.CreateTestContext(w)
	c.Request = r
	return c
}

// enter answers a request for a mounted path.
func (s *Server) enter(c *gin.Context, at *site) {
	r := of(c)
	r.site = at
	if r.at = at.answering(r.method); r.at == nil {
		r.at = &s.refused
		c.Header("Allow", at.allow)
	}
	s.serve(c, r)
}

// tree is a path that answers for itself and for all below it that is not mounted.
type tree struct {
	above, param string
	enter        gin.HandlerFunc
}

// unmatched answers a request of a path that gin does not find: by a tree, or with 404.
func (s *Server) unmatched(c *gin.Context) {
	for _, t := range s.trees {
		rest, below := strings.CutPrefix(c.Request.URL.Path, t.above)
		if below && (rest == "" || rest[0] == '/') {
			c.AddParam(t.param, rest)
			c.Status(http.StatusOK) // gin has set 404
			t.enter(c)
			return
		}
	}
	r := of(c)
	r.at = &s.none
	s.serve(c, r)
}

// otherMethod is the context key of a method for which gin accepts no routes.
type otherMethod struct{}

// asTrace lets gin find the path of a request whose method gin accepts no routes for. No route is
// mounted for TRACE, so the answer is the path's 405.
func asTrace(r *http.Request) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), otherMethod{}, r.Method))
	r.Method = http.MethodTrace
	return r
}

// methodOf returns the method of r as the client sent it.
func methodOf(r *http.Request) string {
	if r.Method == http.MethodTrace {
		if sent, is := r.Context().Value(otherMethod{}).(string); is {
			return sent
		}
	}
	return r.Method
}
