package httpapi

import (
	"context"
	"net/http"
	"net/url"
)

// ResponseWriter is the reply to a request. A status may be set until something is written; it
// leaves with the first byte, or when the handler has returned.
type ResponseWriter interface {
	http.ResponseWriter
	// Status is what was set last, 200 before.
	Status() int
	// Written says whether the status has left.
	Written() bool
}

// Context is a request and its reply. It is used again for another one as soon as the handler has
// returned.
type Context struct {
	Request *http.Request // its own context says nothing: see [Context.Context]
	Writer  ResponseWriter

	ctx    context.Context
	server *Server
	site   *site     // of the path; nil for an unknown path
	at     *entrance // of the method and path, or of the refusal
	to     *endpoint // that answers; nil before it is chosen
	spent  bool      // counted against its account
	leave  func()    // ends the turn of its account; nil without one
	values []string  // of the path's parameters
	query  url.Values
	reply  reply
}

// NewContext is a context outside of any route, for tests of what reads requests and writes
// replies.
func NewContext(w http.ResponseWriter, r *http.Request) *Context {
	c := new(Context)
	c.begin(w, r)
	return c
}

func (c *Context) begin(w http.ResponseWriter, r *http.Request) {
	c.Request, c.ctx, c.site, c.at, c.to, c.spent, c.leave, c.values, c.query = r, r.Context(), nil, nil, nil, false, nil, c.values[:0], nil
	c.reply = reply{to: w, status: http.StatusOK}
	c.Writer = &c.reply
}

// Context is the context that the handler works under: it carries the request's id, and what else
// [Context.Under] was given.
func (c *Context) Context() context.Context { return c.ctx }

// Under has the handler work under ctx from here on. http.Request.WithContext would copy the whole
// request for it (benchmark row ad_request_100k).
func (c *Context) Under(ctx context.Context) { c.ctx = ctx }

// FullPath is the path as it was mounted, with the names of its parameters; empty for a path or a
// method that was not.
func (c *Context) FullPath() string {
	if c.at == nil {
		return ""
	}
	return c.at.path
}

// Param is the value of a parameter of the path.
func (c *Context) Param(name string) string {
	if c.site != nil {
		for i, known := range c.site.params {
			if known == name {
				return c.values[i]
			}
		}
	}
	return ""
}

// Query is the first value of a query parameter, empty without one.
func (c *Context) Query(name string) string { return c.parsed().Get(name) }

// DefaultQuery is the first value of a query parameter, fallback without one.
func (c *Context) DefaultQuery(name, fallback string) string {
	if values := c.parsed()[name]; len(values) > 0 {
		return values[0]
	}
	return fallback
}

func (c *Context) parsed() url.Values {
	if c.query == nil {
		c.query = c.Request.URL.Query()
	}
	return c.query
}

// bodyLimit is how many bytes the request's body may have.
func (c *Context) bodyLimit() int64 {
	if c.to == nil {
		return maxBody
	}
	return c.to.policy.bodyLimit()
}

// GetHeader is the first value of a header of the request.
func (c *Context) GetHeader(name string) string { return c.Request.Header.Get(name) }

// Header sets a header of the reply; an empty value removes it.
func (c *Context) Header(name, value string) {
	if value == "" {
		c.Writer.Header().Del(name)
		return
	}
	c.Writer.Header().Set(name, value)
}

// Status sets the status of the reply.
func (c *Context) Status(status int) { c.Writer.WriteHeader(status) }

// Data answers with body. It does not report that the client is gone.
func (c *Context) Data(status int, contentType string, body []byte) {
	header := c.Writer.Header()
	if len(header["Content-Type"]) == 0 {
		header["Content-Type"] = []string{contentType}
	}
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body)
}

// Redirect sends the client to another address.
func (c *Context) Redirect(status int, address string) {
	http.Redirect(c.Writer, c.Request, address, status)
}

// ClientIP is the address of the sender: that of the connection, or what a trusted proxy says;
// empty if neither is an address.
func (c *Context) ClientIP() string {
	var trusted proxies
	if c.server != nil {
		trusted = c.server.proxies
	}
	return trusted.client(c.Request)
}

// reply implements ResponseWriter.
type reply struct {
	to     http.ResponseWriter
	status int
	left   bool // the status
}

// Header implements http.ResponseWriter.
func (r *reply) Header() http.Header { return r.to.Header() }

// WriteHeader implements http.ResponseWriter. The status leaves later.
func (r *reply) WriteHeader(status int) {
	if status > 0 && !r.left {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *reply) Write(body []byte) (int, error) {
	r.end()
	return r.to.Write(body)
}

// end lets the status leave, if it has not.
func (r *reply) end() {
	if !r.left {
		r.left = true
		r.to.WriteHeader(r.status)
	}
}

// Status implements ResponseWriter.
func (r *reply) Status() int { return r.status }

// Written implements ResponseWriter.
func (r *reply) Written() bool { return r.left }
