// Package wire is the connection layer below the HTTP engine. fasthttp reads the requests of a
// connection and writes the replies; what answers them is an ordinary http.Handler. With net/http's
// own loop a beacon costs half as much again (rows beacon and ad_request_100k of lab/bench): it
// starts and stops a second reader beside every handler.
//
// It speaks HTTP/1.1 and 1.0. A request is wholly read before its handler runs, and a reply leaves
// when the handler has returned. Streaming and hijacking are not supported, and a client that goes
// away does not cancel its request. What proxies and servers could read in two ways is refused (RFC
// 9112, section 11.2).
//
// A connection gathers a request by itself and gives fasthttp its header only ([conn]): 5,000
// clients that stall in a body, or 10,000 that are idle, cost some kilobytes each. Who may connect
// is decided before a byte is read ([tracker.add]).
//
// # Not obvious
//
// Bodies over the limit of their route reach the handler as http.MaxBytesError; two lengths, odd
// header names, lines that end without CR and other versions are refused. TestAsNetHTTP compares it
// with net/http request by request.
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
	// MaxHeader is the size in bytes from which a request line with its header is 431.
	MaxHeader = 16 << 10
	// MaxBody is the most bytes of a body that are read on any route. Handlers see a longer one as
	// [http.MaxBytesError].
	MaxBody = 512 << 10

	headerTime = 4 * time.Second  // to send the header of a request
	bodyTime   = 15 * time.Second // to send its body after that
	replyTime  = 30 * time.Second // to take the reply
	idleTime   = 75 * time.Second // between two requests

	// stay is how long a connection keeps fasthttp's goroutine after a reply: long enough for the
	// requests of a busy client, which then cost no hand-over.
	stay = 50 * time.Millisecond
)

// Config is what a server works with. Handler, Refuse and Log are required.
type Config struct {
	Handler http.Handler
	// Refuse answers a request that cannot be given to Handler; problem is for the caller to read.
	Refuse func(w http.ResponseWriter, status int, problem string)
	Log    *slog.Logger
	// BodyLimit is how many bytes the body of a request may have, at most MaxBody, which holds
	// without it. It is asked before such a body is read.
	BodyLimit func(method, path, query string) int64
	// MaxConns is how many connections may be open, ConnsPerAddr how many of one address (IPv6: of
	// one /64); 0 is any number.
	MaxConns, ConnsPerAddr int
	// Uncounted says whose connections ConnsPerAddr does not bound; those of loopback it never
	// does.
	Uncounted func(netip.Addr) bool
	// TLS encrypts all connections; nil for plain text.
	TLS *tls.Config
	// ProxyFrom says which peers are proxies that begin each connection with a header of the PROXY
	// protocol, version 2: it must be there, and its client is the peer. Nil for none.
	ProxyFrom func(netip.Addr) bool
}

// Server serves connections.
type Server struct {
	cfg   Config
	http  *fasthttp.Server
	conns *tracker
	pool  exchanges
	end   atomic.Pointer[context.CancelFunc] // of all requests
}

// replyRoom is how much of a reply is written at once, in bytes: a whole tool call's, which is 4 to
// 6 KB (benchmark row mcp). With less it takes two system calls, and wakes its reader for half of
// it.
const replyRoom = 8 << 10

// New makes a server; it opens nothing.
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
		Concurrency:                  math.MaxInt32, // the tracker bounds it
		ReduceMemoryUsage:            true,          // buffers only while a request is read and answered
		CloseOnShutdown:              true,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		Logger:                       formats{cfg.Log}, // anybody can cause these lines
	}
	return s
}

// headerOnly hides the body of a request from fasthttp: the connection has read it.
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

// Counts are what became of connections so far.
func (s *Server) Counts() *Counts { return &s.conns.counts }

// Serve takes connections until [Server.Shutdown]; then it returns nil. Requests have the values of
// ctx, but not its end: they are cancelled by [Server.Close] alone. Call it once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	s.pool = newExchanges(base)
	s.end.Store(&end)
	return s.http.Serve(s.conns.listen(l))
}

// Shutdown takes no more connections, closes the idle ones, and returns when the last request is
// answered. When ctx ends first it returns its error; requests still run then.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.ShutdownWithContext(ctx) }

// Close cancels the requests that still run after a [Server.Shutdown] and closes their connections.
func (s *Server) Close() {
	if end := s.end.Load(); end != nil {
		(*end)()
	}
	s.conns.close()
}

// serve has the handler answer.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*conn)
	var refused *refusal
	if errors.As(c.fault, &refused) {
		s.refuse(ctx, refused.status, refused.problem)
		return
	}
	if status, problem := ambiguous(&ctx.Request.Header, c.said); status != 0 {
		s.refuse(ctx, status, problem)
		return
	}
	x := s.pool.take()
	if err := x.read(ctx, c); err != nil {
		s.refuse(ctx, http.StatusBadRequest, err.Error())
		return
	}
	if c.said.closes {
		ctx.SetConnectionClose()
	}
	defer func() {
		if p := recover(); p != nil { // the engine recovers by itself; nothing may end the process
			s.cfg.Log.Error("panic below the HTTP engine", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			ctx.Response.Reset()
			s.refuse(ctx, http.StatusInternalServerError, "internal error")
		}
	}()
	s.cfg.Handler.ServeHTTP(&x.reply, &x.request)
	x.reply.write()
	s.pool.put(x)
	if c.fault != nil { // the body was not read, and what follows is not a request
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

// hangUp ends the connection behind the reply, which the client still gets to read.
func (s *Server) hangUp(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(*conn); ok {
		c.linger.Store(true)
	}
}

// unreadable answers what fasthttp could not read.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	var tooLong *fasthttp.ErrSmallBuffer
	var refused *refusal
	switch {
	case errors.As(err, &tooLong):
		s.refuse(ctx, errHeader.status, errHeader.problem)
	case errors.As(err, &refused):
		s.refuse(ctx, refused.status, refused.problem)
	default:
		s.refuse(ctx, http.StatusBadRequest, "this is no HTTP request")
	}
}

// formats logs what fasthttp says of connections without its values: they quote requests, whose
// paths may hold a key.
type formats struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (f formats) Printf(format string, _ ...any) {
	f.log.Debug("a connection ended", "how", format)
}
