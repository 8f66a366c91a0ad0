// Package wire is the connection layer below the HTTP engine. fasthttp reads the requests of a
// connection and writes the replies, and an ordinary http.Handler answers them. With net/http's own
// loop a beacon costs half as much again (rows beacon and ad_request_100k of make bench), because it
// starts and stops a second reader beside every handler.
//
// It supports HTTP/1.1 and 1.0. A request is read completely before its handler runs, and a reply
// is sent after the handler has returned. Streaming and hijacking are not supported, and a client
// that disconnects does not cancel its request. Requests that proxies and servers could interpret
// differently are rejected (RFC 9112, section 11.2).
//
// A connection reads a whole request and passes only the header to fasthttp ([conn]): 5,000 clients
// that stall in a body, or 10,000 idle ones, cost a few kilobytes each. The connection limits apply
// before a byte is read ([tracker.add]).
//
// # Not obvious
//
// Bodies over the limit of their route reach the handler as http.MaxBytesError. Two lengths,
// malformed header names, headers that mix two ends of lines and other protocol versions are rejected.
// TestAsNetHTTP compares this layer with net/http request by request.
package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Limits of a connection and a request.
const (
	// MaxHeader is the maximum size in bytes of a request line with its header; larger ones are
	// answered 431.
	MaxHeader = 16 << 10
	// MaxBody is the maximum number of body bytes read on any route. Handlers see a longer body as
	// [http.MaxBytesError].
	MaxBody = 512 << 10

	headerTime = 4 * time.Second  // to send the header of a request
	bodyTime   = 15 * time.Second // to send its body after that
	replyTime  = 30 * time.Second // to take the reply
	idleTime   = 75 * time.Second // between two requests

	// stay is the time for which a connection keeps fasthttp's goroutine after a reply. It is long
	// enough for the next request of a busy client, which then needs no hand-over.
	stay = 50 * time.Millisecond
)

// Config holds the settings of a server. Handler, Refuse and Log are required.
type Config struct {
	Handler http.Handler
	// Refuse answers a request that cannot be passed to Handler; problem is meant for the caller.
	Refuse func(w http.ResponseWriter, status int, problem string)
	Log    *slog.Logger
	// BodyLimit returns the maximum body size of a request in bytes. It is capped at MaxBody, which
	// is also the default, and is called before such a body is read.
	BodyLimit func(method, path string) int64
	// MaxConns is the maximum number of open connections, and ConnsPerAddr that of one address
	// (IPv6: one /64). 0 means no limit.
	MaxConns, ConnsPerAddr int
	// Uncounted reports whether an address is exempt from ConnsPerAddr. Loopback addresses always
	// are.
	Uncounted func(netip.Addr) bool
	// TLS encrypts all connections; nil for plain text.
	TLS *tls.Config
	// ProxyFrom reports whether a peer is a proxy that begins each connection with a header of the
	// PROXY protocol, version 2. The header is then required, and its client becomes the peer. Nil
	// for none.
	ProxyFrom func(netip.Addr) bool
}

// Server serves connections.
type Server struct {
	cfg   Config
	http  *fasthttp.Server
	conns *tracker
	pool  exchanges
	end   atomic.Pointer[context.CancelFunc] // cancels all requests
	leave atomic.Bool                        // replies close their connections
}

// replyRoom is the size of the write buffer in bytes. It holds a whole tool call's reply of 4 to 6
// KB (benchmark row mcp). A smaller buffer takes two system calls, and wakes the client for half a
// reply.
const replyRoom = 8 << 10

// New returns a server. It opens nothing.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg}
	s.conns = newTracker(s)
	s.http = &fasthttp.Server{
		Handler:                      s.serve,
		ErrorHandler:                 s.unreadable,
		HeaderReceived:               headerOnly,
		WriteTimeout:                 replyTime,
		ReadBufferSize:               MaxHeader,
		WriteBufferSize:              replyRoom,
		Concurrency:                  math.MaxInt32, // the tracker sets the limit
		ReduceMemoryUsage:            true,          // keep buffers only while a request is read and answered
		CloseOnShutdown:              true,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		Logger:                       formats{cfg.Log}, // any client can cause these lines
	}
	return s
}

// headerOnly hides the body of a request from fasthttp, because the connection has read it.
func headerOnly(head *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if n := head.ContentLength(); n > 0 || n == -1 { // -1 is chunked
		head.SetContentLength(0)
	}
	if bytes.EqualFold(head.PeekCanonical(expect), proceed) {
		head.DelBytes(expect)
	}
	return fasthttp.RequestConfig{}
}

var expect, proceed = []byte("Expect"), []byte("100-continue")

// Counts returns the connection counters.
func (s *Server) Counts() *Counts { return &s.conns.counts }

// Serve accepts connections until [Server.Shutdown], and then returns nil. Requests have the values
// of ctx but not its cancellation: only [Server.Close] cancels them. Call it once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	s.pool = newExchanges(base)
	s.end.Store(&end)
	return s.http.Serve(s.conns.listen(l))
}

// Leave makes every reply close its connection: clients and balancers that keep connections open
// then choose another server for their next request. New connections are accepted until
// [Server.Shutdown].
func (s *Server) Leave() { s.leave.Store(true) }

// Shutdown stops accepting connections, closes the idle ones, and returns when the last request is
// answered. If ctx ends first, it returns the error of ctx while requests still run.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.ShutdownWithContext(ctx) }

// Close cancels the requests that still run after [Server.Shutdown] and closes their connections.
func (s *Server) Close() {
	if end := s.end.Load(); end != nil {
		(*end)()
	}
	s.conns.close()
}

// serve lets the handler answer a request.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*conn)
	var refused *refusal
	if errors.As(c.fault, &refused) {
		s.refuse(ctx, refused.status, refused.problem)
		return
	}
	if status, problem := ambiguous(&ctx.Request.Header, c.framing); status != 0 {
		s.refuse(ctx, status, problem)
		return
	}
	x := s.pool.take()
	if err := x.read(ctx, c); err != nil {
		s.refuse(ctx, http.StatusBadRequest, err.Error())
		return
	}
	if c.framing.closes || s.leave.Load() {
		ctx.SetConnectionClose()
	}
	defer func() {
		if p := recover(); p != nil { // the engine has its own recovery; no panic may end the process
			s.cfg.Log.Error("panic below the HTTP engine", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			ctx.Response.Reset()
			s.refuse(ctx, http.StatusInternalServerError, "internal error")
		}
	}()
	s.cfg.Handler.ServeHTTP(&x.reply, &x.request)
	x.reply.write()
	s.pool.put(x)
	if c.fault != nil { // the body is unread, so the following bytes are not a request
		s.hangUp(ctx)
		return
	}
	c.consume()
}

// refuse answers without the handler and ends the connection.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, status int, problem string) {
	reply := reply{ctx: ctx, header: make(http.Header)}
	s.cfg.Refuse(&reply, status, problem)
	reply.write()
	s.hangUp(ctx)
}

// hangUp closes the connection after the reply, which the client can still read.
func (s *Server) hangUp(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(*conn); ok {
		c.linger.Store(true)
	}
}

// unreadable answers a request that fasthttp could not read.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	var tooLong *fasthttp.ErrSmallBuffer
	var refused *refusal
	switch {
	case errors.As(err, &tooLong):
		s.refuse(ctx, errHeader.status, errHeader.problem)
	case errors.As(err, &refused):
		s.refuse(ctx, refused.status, refused.problem)
	default:
		s.refuse(ctx, http.StatusBadRequest, "the request is not valid HTTP")
	}
}

// formats logs fasthttp's messages about connections without their values, which quote requests
// whose paths may hold a key.
type formats struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (f formats) Printf(format string, _ ...any) {
	f.log.Debug("a connection ended", "how", format)
}
