package wire

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// lingerTime and lingerBytes bound how long and how much of a rejected request is still read, so
// that its reply is not lost: closing a connection with unread bytes resets it, and the client's
// system then discards received data.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// conn is the connection that fasthttp sees. It reads each request completely, header and body,
// before fasthttp reads a byte of it, and passes only the header to fasthttp; the handler gets the
// body from conn. So a slow or silent client costs only the bytes it has sent and a small goroutine
// ([conn.wait]), not fasthttp's buffers and stack.
//
// Only one goroutine at a time uses a conn, except for Close.
type conn struct {
	net.Conn
	server *Server
	raw    syscall.RawConn       // for a plain socket; nil under TLS
	take   func(fd uintptr) bool // reads into c.in without waiting
	peer   string                // the remote address, formatted once for all requests
	addr   netip.Addr            // the connection counts for it; the zero value if it is not counted
	place  place                 // owned by the tracker, under its lock
	fresh  bool                  // no request was read yet
	linger atomic.Bool           // keep reading before closing
	leave  atomic.Bool           // fasthttp's Close makes it wait in its own goroutine

	armed    time.Time // read deadline
	idleEnds time.Time // deadline for the first byte of a request
	began    time.Time // arrival of the first bytes of an incomplete request
	headAt   time.Time // arrival of the complete header
	err      error     // error of the last read

	in     []byte               // bytes received and not consumed; the request is at the start
	pooled *[MaxHeader + 1]byte // the memory of in, if pooled
	passed int                  // bytes of in passed to fasthttp
	request
}

// request is the state of the request at the start of a connection's bytes.
type request struct {
	blank     int // empty lines that came before it
	line      int // offset of the next header line
	head      int // bytes of the header; 0 while it is incomplete
	size      int // bytes of conn.in that it uses, once it is complete
	framing   framing
	limit     int64  // maximum size of the body; 0 before it is looked up
	body      []byte // part of conn.in, or decoded from chunks
	continued bool   // "100 Continue" was sent
	ready     bool   // complete, or with a fault
	fault     error  // a *refusal, or http.MaxBytesError
}

// refusal is the answer to a request that does not reach the handler.
type refusal struct {
	status  int
	problem string // sent to the client
}

// Error implements error.
func (r *refusal) Error() string { return r.problem }

// inputs holds read buffers. A connection has one only while it has bytes to process.
var inputs = sync.Pool{New: func() any { return new([MaxHeader + 1]byte) }}

// errGone ends a connection without an answer. errUnread means that fasthttp wants more of a header
// than there is, so it reads a different request than this package.
var (
	errGone   = errors.New("the connection has ended between two requests")
	errUnread = &refusal{http.StatusBadRequest, "the header is malformed"}
)

// Read implements net.Conn for fasthttp, which sees only the headers of requests. fasthttp begins
// each request by reading one byte.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 1 && !c.begin() {
		return 0, io.EOF
	}
	end := c.head
	if end == 0 { // an incomplete header: fasthttp finds the error
		end = len(c.in)
	}
	if c.passed < end {
		n := copy(p, c.in[c.passed:end])
		c.passed += n
		return n, nil
	}
	if c.fault != nil {
		return 0, c.fault
	}
	return 0, errUnread
}

// begin makes a request ready, unless the connection came with one. It returns false if there is
// none, for now or at all.
func (c *conn) begin() bool {
	if !c.ready {
		c.arm(time.Now(), stay)
		if !c.gather(true) {
			c.leave.Store(true)
			return false
		}
	}
	return c.fault != errGone
}

// SetReadDeadline implements net.Conn. It ignores fasthttp's deadline: [conn.deadline] sets the end
// of reads.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// Close implements net.Conn. fasthttp also closes a connection that was quiet for a moment; such a
// connection keeps waiting in its own goroutine.
func (c *conn) Close() error {
	if c.leave.CompareAndSwap(true, false) && c.server.conns.park(c) {
		go c.wait()
		return nil
	}
	c.server.conns.remove(c)
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.linger.Load() && half.CloseWrite() == nil {
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	return c.Conn.Close()
}

// wait is the goroutine of a connection between two requests, and while a request arrives slowly.
// It ends when the request is complete and fasthttp takes over, or with the connection.
func (c *conn) wait() {
	c.idleEnds = time.Now().Add(idleTime)
	if c.fresh {
		c.idleEnds = time.Now().Add(headerTime)
		if err := c.establish(); err != nil {
			c.server.conns.counts.NotAgreed.Add(1)
			// Any client can cause this line.
			c.server.cfg.Log.Debug("a TLS handshake or PROXY header failed", "peer", c.peer, "error", err)
			_ = c.Close()
			return
		}
	}
	if !c.gather(false) || c.fault == errGone || !c.server.conns.hand(c) {
		_ = c.Close()
		c.release()
	}
}

// gather reads until the request is complete or has a fault, and marks it ready. In place it waits
// only for a moment, and returns false if that was too short.
func (c *conn) gather(inPlace bool) bool {
	idle := !inPlace && len(c.in) == 0
	for !c.whole(inPlace) {
		if c.head > 0 && c.framing.chunked { // in place: see readChunks
			return false
		}
		c.note()
		if !inPlace {
			c.arm(c.deadline(), 0)
		}
		err := c.more()
		switch {
		case err == nil && idle:
			c.server.conns.busy(c)
			idle = false
		case err == nil:
		case inPlace && errors.Is(err, os.ErrDeadlineExceeded):
			return false
		default:
			c.fault = c.because(err)
		}
	}
	c.ready = true
	return true
}

// note records the arrival times of a slow request's parts, for its deadlines.
func (c *conn) note() {
	if len(c.in) > 0 && c.began.IsZero() {
		c.began = time.Now()
	}
	if c.head > 0 && c.headAt.IsZero() {
		c.headAt = time.Now()
	}
}

// deadline returns the time by which the next part of the request must arrive.
func (c *conn) deadline() time.Time {
	switch {
	case len(c.in) == 0 && c.head == 0:
		return c.idleEnds
	case c.head == 0:
		return c.began.Add(headerTime)
	default:
		return c.headAt.Add(bodyTime)
	}
}

// arm sets the read deadline to a time, or to between half of allowed and allowed after it, so that
// a busy connection rarely sets its timer.
func (c *conn) arm(at time.Time, allowed time.Duration) {
	if allowed > 0 && c.armed.Sub(at) > allowed/2 && c.armed.Sub(at) <= allowed || allowed == 0 && c.armed.Equal(at) {
		return
	}
	c.armed = at.Add(allowed)
	_ = c.Conn.SetReadDeadline(c.armed) // an error also fails the read
}

// because converts the error of a read to the fault of the request.
func (c *conn) because(err error) error {
	switch {
	case len(c.in) == 0:
		return errGone
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{http.StatusRequestTimeout, "the request did not arrive in time"}
	default:
		return &refusal{http.StatusBadRequest, "the request ended too early"}
	}
}

// more waits for bytes and appends them to c.in. Errors: of the connection; io.EOF.
func (c *conn) more() error {
	if c.raw == nil {
		c.room(unreadyRoom)
		n, err := c.Conn.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+n]
		if n > 0 {
			return nil
		}
		return err
	}
	if err := c.raw.Read(c.take); err != nil {
		return err
	}
	return c.err
}

// tryRead reads the available bytes into c.in. It returns false if there are none; c then keeps no
// more memory than its received bytes need.
func (c *conn) tryRead(fd uintptr) bool {
	c.room(0)
	n, err := syscall.Read(int(fd), c.in[len(c.in):cap(c.in)])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), c.in[len(c.in):cap(c.in)])
	}
	switch {
	case err == syscall.EAGAIN:
		c.shrink()
		return false
	case err != nil:
		c.err = os.NewSyscallError("read", err)
	case n == 0:
		c.err = io.EOF
	default:
		c.in, c.err = c.in[:len(c.in)+n], nil
	}
	return true
}

// unreadyRoom is the buffer size in bytes of a connection without readiness events (TLS).
const unreadyRoom = 1 << 10

// room makes space after c.in: least bytes at first, or a pooled buffer if least is 0. It at most
// doubles the buffer, and gives a body no more than its length.
func (c *conn) room(least int) {
	switch {
	case c.in == nil && least == 0:
		c.pooled = inputs.Get().(*[MaxHeader + 1]byte)
		c.in = c.pooled[:0]
	case c.in == nil:
		c.in = make([]byte, 0, least)
	case len(c.in) == cap(c.in):
		grown := 2 * len(c.in)
		if c.head > 0 && !c.framing.chunked {
			grown = min(grown, c.head+int(c.framing.size))
		}
		c.move(max(grown, len(c.in)+1))
	}
}

// shrink returns a pooled buffer to the pool. Received bytes move to a buffer of their size.
func (c *conn) shrink() {
	switch {
	case c.pooled == nil:
	case len(c.in) == 0:
		c.release()
	default:
		c.move(len(c.in) + len(c.in)/2 + 64)
	}
}

func (c *conn) move(size int) {
	moved := make([]byte, len(c.in), size)
	copy(moved, c.in)
	c.release()
	c.in = moved
}

// release frees c.in.
func (c *conn) release() {
	if c.pooled != nil {
		inputs.Put(c.pooled)
	}
	c.in, c.pooled = nil, nil
}

// consume removes the answered request. Bytes of the next request may follow it.
func (c *conn) consume() {
	rest := c.in[min(c.size, len(c.in)):]
	if len(rest) == 0 {
		c.release()
	} else {
		c.in = c.in[:copy(c.in, rest)]
	}
	c.request, c.passed, c.fresh = request{}, 0, false
	c.began, c.headAt = time.Time{}, time.Time{}
}
