package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// site is a path with what answers there. gin finds the path and its parameters; the site chooses
// by method, so that a HEAD is answered wherever a GET is, and a 405 lists exactly what is mounted:
// gin's own list is computed from its trees of other methods and misses some.
type site struct {
	entrances []*entrance // one for each method, in the order of their mounting
	allow     string      // the methods
	form      ErrorForm   // of all its errors; nil for WriteError
}

// ginMethods are the methods that gin accepts routes for and strangers send.
var ginMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodTrace, http.MethodConnect,
}

// at returns the site of a path as it is mounted, and mounts a new one. Errors: a path that gin
// cannot tell from another one.
func (s *Server) at(path string) (at *site, err error) {
	if known := s.sites[path]; known != nil {
		return known, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p) // gin's word for a conflict of paths
		}
	}()
	made := new(site)
	enter := func(c *gin.Context) { s.enter(c, made) }
	if above, param, is := strings.Cut(path, "/*"); is {
		// gin's own parameter for all that follows allows no other path below.
		s.trees = append(s.trees, tree{above: above, param: param, enter: enter})
	} else {
		s.engine.Match(ginMethods, path, enter)
	}
	s.sites[path] = made
	return made, nil
}

// add makes e reachable; it reports whether its method was free.
func (a *site) add(e *entrance) bool {
	if a.entrance(e.method) != nil {
		return false
	}
	a.entrances = append(a.entrances, e)
	a.allow = a.methods()
	return true
}

// methods are those that the site answers, for the header Allow.
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

// answering returns the entrance for a method: a HEAD is answered as the GET would be, without its
// body (RFC 9110, section 9.3.2). Handlers of GET that record something look at the method.
func (a *site) answering(method string) *entrance {
	e := a.entrance(method)
	if e == nil && method == http.MethodHead {
		e = a.entrance(http.MethodGet)
	}
	return e
}

// request is what the engine keeps of a request beside gin's context.
type request struct {
	method string    // as it was sent
	site   *site     // of the path; nil for an unknown path
	at     *entrance // of the method and path, or of the refusal
	to     *endpoint // that answers; nil before it is chosen
	spent  bool      // counted against its account
	leave  func()    // ends the turn of its account; nil without one
}

// requestKey finds the request in a gin context.
type requestKey struct{}

// of returns the request of c; outside of the engine, as in tests, an empty one.
func of(c *gin.Context) *request {
	if kept, ok := c.Get(requestKey{}); ok {
		return kept.(*request)
	}
	return new(request)
}

// route returns the path as it was mounted, with the names of its parameters; empty for a path or a
// method that was not.
func (r *request) route() string {
	if r.at == nil {
		return ""
	}
	return r.at.path
}

// bodyLimit returns how many bytes the request's body may have.
func (r *request) bodyLimit() int64 {
	if r.to == nil {
		return maxBody
	}
	return r.to.policy.bodyLimit()
}

// NewContext returns a context outside of any route, for tests of what reads requests and writes
// replies.
func NewContext(w http.ResponseWriter, r *http.Request) *gin.Context {
	c, _ := gin.CreateTestContext(w)
	c.Request = r
	return c
}

// enter answers a request of a path that is mounted.
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

// otherMethod finds the method of a request that gin takes no routes for.
type otherMethod struct{}

// asTrace has gin find the path of a request with a method that it takes no routes for. Nothing is
// mounted for TRACE, so the answer is the 405 of the path.
func asTrace(r *http.Request) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), otherMethod{}, r.Method))
	r.Method = http.MethodTrace
	return r
}

// methodOf returns the method of r as it was sent.
func methodOf(r *http.Request) string {
	if r.Method == http.MethodTrace {
		if sent, is := r.Context().Value(otherMethod{}).(string); is {
			return sent
		}
	}
	return r.Method
}
