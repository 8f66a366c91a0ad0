package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"
)

// exchange is a request and its reply in the types of net/http. It is reused, with its maps, after
// its handler has returned. So handlers must not keep the request or its header map; they may keep
// strings from them.
type exchange struct {
	request http.Request
	blank   *http.Request // an empty request with the base context
	url     url.URL
	body    body
	reply   reply
	text    []byte // the request target and the header values, concatenated
	ends    []int  // end offsets of the target and the values in text
	names   []string
	values  []string // header values; the header map points into it
}

// exchanges is the pool of unused exchanges.
type exchanges struct{ pool *sync.Pool }

// fewHeaders entries fit a map of one group, which is looked up and cleared without hashing
// (benchmark row beacon).
const fewHeaders = 8

// newExchanges returns a pool whose requests have the context base.
func newExchanges(base context.Context) exchanges {
	blank := new(http.Request).WithContext(base)
	return exchanges{&sync.Pool{New: func() any {
		x := &exchange{blank: blank, reply: reply{header: make(http.Header, fewHeaders)}}
		x.request.Header = make(http.Header, fewHeaders)
		return x
	}}}
}

func (e exchanges) take() *exchange { return e.pool.Get().(*exchange) }

func (e exchanges) put(x *exchange) {
	x.body = body{}
	x.reply.ctx = nil
	e.pool.Put(x)
}

// body is a buffered body, or the error that replaces it.
type body struct {
	bytes.Reader
	all []byte
	err error
}

// Whole returns the unread part of the body, valid until the handler returns.
func (b *body) Whole() ([]byte, error) { return b.all[len(b.all)-b.Len():], b.err }

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return b.Reader.Read(p)
}

// WriteTo implements io.WriterTo. Without it the embedded Reader's method would skip b.err.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	if b.err != nil {
		return 0, b.err
	}
	return b.Reader.WriteTo(w)
}

// Close implements io.Closer.
func (b *body) Close() error { return nil }

// The faults of a request, in the words that its sender gets.
var (
	errHeaderName = errors.New("a header name is malformed")
	errTarget     = errors.New("the request target is malformed")
)

// read fills x from fasthttp's request, and the body from c. Errors: the ones above.
func (x *exchange) read(ctx *fasthttp.RequestCtx, c *conn) error {
	head, r := &ctx.Request.Header, &x.request
	header := r.Header
	*r = *x.blank // drops what an earlier handler left in it (a form)
	r.Header = header
	if err := x.readHeader(head, c.framing); err != nil {
		return err
	}
	if err := x.readTarget(); err != nil {
		return err
	}
	r.Method = method(head.Method())
	r.URL = &x.url
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	if !head.IsHTTP11() {
		r.Proto, r.ProtoMinor = "HTTP/1.0", 0
	}
	r.RemoteAddr = c.peer
	r.Close = head.ConnectionClose() || c.framing.closes
	x.body.Reset(c.body)
	x.body.all, x.body.err = c.body, c.fault
	r.Body, r.ContentLength = &x.body, int64(len(c.body))
	if len(c.body) == 0 && c.fault == nil {
		r.Body = http.NoBody
	}
	x.reply.ctx, x.reply.status = ctx, 0
	clear(x.reply.header)
	return nil
}

// readHeader fills the request's header, host and target. Their whole text is one string. Errors:
// an invalid name.
func (x *exchange) readHeader(head *fasthttp.RequestHeader, framed framing) error {
	x.text, x.names, x.ends = append(x.text[:0], head.RequestURI()...), x.names[:0], x.ends[:0]
	x.ends = append(x.ends, len(x.text))
	for name, value := range head.All() {
		known := headerName(name)
		if known == "" {
			return errHeaderName
		}
		x.names = append(x.names, known)
		if known == "Content-Length" && framed.sized { // fasthttp has another value: see headerOnly
			x.text = strconv.AppendInt(x.text, framed.size, 10)
		} else {
			x.text = append(x.text, value...)
		}
		x.ends = append(x.ends, len(x.text))
	}
	x.values = slices.Grow(x.values[:0], len(x.names))[:len(x.names)]
	text, values, header := string(x.text), x.values, x.request.Header
	clear(header)
	x.request.RequestURI, x.request.Host = text[:x.ends[0]], ""
	for i, name := range x.names {
		values[i] = text[x.ends[i]:x.ends[i+1]]
		switch before := header[name]; {
		case name == "Host":
			x.request.Host = values[i]
		case name == "Transfer-Encoding", name == "Trailer" && framed.chunked: // decoded already
		case name == "Content-Length" && !framed.sized: // added by fasthttp
		case before != nil:
			header[name] = append(before, values[i])
		default:
			header[name] = values[i : i+1 : i+1]
		}
	}
	if framed.expects {
		header["Expect"] = []string{"100-continue"}
	}
	return nil
}

// readTarget parses the request target (RFC 9112, section 3.2).
func (x *exchange) readTarget() error {
	target := x.request.RequestURI
	if plain := len(target) > 1 && target[0] == '/' && target[1] != '/' && strings.IndexByte(target, '%') < 0; plain ||
		target == "/" {
		x.url = url.URL{}
		var queried bool
		x.url.Path, x.url.RawQuery, queried = strings.Cut(target, "?")
		x.url.ForceQuery = queried && x.url.RawQuery == ""
		return nil
	}
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		return errTarget
	}
	x.url = *parsed
	if parsed.Host != "" { // absolute form: it overrides the Host header (RFC 9112, section 3.2.2)
		x.request.Host = parsed.Host
	}
	return nil
}

// reply implements http.ResponseWriter. All of it is sent after the handler has returned.
type reply struct {
	ctx    *fasthttp.RequestCtx
	header http.Header
	names  []string
	status int
}

// Header implements http.ResponseWriter.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter; informational statuses are not sent.
func (w *reply) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *reply) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.ctx.Response.AppendBody(p)
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (w *reply) WriteString(s string) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.ctx.Response.AppendBodyString(s)
	return len(s), nil
}

// WriteStatic is Write for a whole body that never changes. It is not copied, so a client that does
// not read its reply holds no memory for it.
func (w *reply) WriteStatic(body []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.ctx.Response.SetBodyRaw(body)
	return len(body), nil
}

// Flush implements http.Flusher. It does nothing: the package comment states when a reply is sent.
func (w *reply) Flush() {}

// write passes the reply to fasthttp, the header sorted by name.
func (w *reply) write() {
	out := &w.ctx.Response
	w.WriteHeader(http.StatusOK)
	out.SetStatusCode(w.status)
	out.Header.DisableNormalizing() // send names as handlers wrote them, like net/http
	w.names = w.names[:0]
	for name := range w.header {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		for _, value := range w.header[name] {
			out.Header.Add(name, value)
		}
	}
	if sent := out.Body(); len(sent) > 0 && w.header["Content-Type"] == nil && w.header["Content-Encoding"] == nil {
		out.Header.SetContentType(http.DetectContentType(sent))
	}
}

// ambiguous returns the status and the problem of a request that two readers could interpret
// differently, or 0.
func ambiguous(head *fasthttp.RequestHeader, framed framing) (status int, problem string) {
	switch v := head.Protocol(); {
	case len(v) != 8 || string(v[:7]) != "HTTP/1." || v[7] > '1':
		return http.StatusHTTPVersionNotSupported, "the protocol must be HTTP/1.1 or HTTP/1.0"
	case framed.chunked && (framed.sized || !head.IsHTTP11()):
		return http.StatusBadRequest, "the request has two lengths"
	}
	return 0, ""
}

func method(m []byte) string {
	switch string(m) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodPost:
		return http.MethodPost
	}
	return string(m)
}

// headerName returns a header's name as a string, empty if it is invalid. Common names are not
// allocated.
func headerName(k []byte) string {
	switch string(k) {
	case "Accept":
		return "Accept"
	case "Accept-Encoding":
		return "Accept-Encoding"
	case "Accept-Language":
		return "Accept-Language"
	case "Authorization":
		return "Authorization"
	case "Connection":
		return "Connection"
	case "Content-Length":
		return "Content-Length"
	case "Content-Type":
		return "Content-Type"
	case "Host":
		return "Host"
	case "Referer":
		return "Referer"
	case "Traceparent":
		return "Traceparent"
	case "User-Agent":
		return "User-Agent"
	case "X-Forwarded-For":
		return "X-Forwarded-For"
	case "X-Openrtb-Version":
		return "X-Openrtb-Version"
	case "X-Request-Id":
		return "X-Request-Id"
	}
	if !httpguts.ValidHeaderFieldName(string(k)) {
		return ""
	}
	return string(k)
}
