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

// lingerTime and lingerBytes bound how long and how much of a refused request is read on, so that
// its reply is not lost: closing a connection with unread bytes resets it, and the client's system
// discards what it has received.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// conn is a connection as fasthttp has it. It gathers each request as a whole, header and body,
// before fasthttp reads a byte of it, and gives fasthttp the header alone: the body goes to the
// handler from here. So a client that is slow, or sends nothing, costs what it has sent and a small
// goroutine ([conn.wait]), and not fasthttp's buffers and stack.
//
// One goroutine at a time uses a conn, but for Close.
type conn struct {
	net.Conn
	server *Server
	raw    syscall.RawConn       // of a plain socket; nil under TLS
	take   func(fd uintptr) bool // reads into c.in without waiting
	peer   string                // the other end's address, written once and not for every request
	addr   netip.Addr            // for which the connection counts; the zero value for none
	place  place                 // of the tracker, under its lock
	fresh  bool                  // nothing was asked on it yet
	linger atomic.Bool           // read on before closing
	leave  atomic.Bool           // fasthttp's Close means: wait on in a goroutine of its own

	armed    time.Time // when reads end
	idleEnds time.Time // when waiting for the first byte of a request ends
	began    time.Time // when the first bytes of a request that was not whole came
	headAt   time.Time // when its header was complete
	err      error     // of the last read

	in     []byte               // what has arrived and was not consumed; the request begins it
	pooled *[MaxHeader + 1]byte // under in, if it is
	given  int                  // bytes of in that fasthttp has
	request
}

// request is what is known of the one that begins a connection's bytes.
type request struct {
	line      int // where the next line of the header begins
	head      int // bytes of its header; 0 while it is incomplete
	size      int // bytes that it takes of conn.in, once it is whole
	said      framing
	limit     int64  // of its body; 0 before it was asked
	body      []byte // in conn.in, or decoded from chunks
	continued bool   // the client was told to send the body
	ready     bool   // whole, or at fault
	fault     error  // a *refusal, or http.MaxBytesError
}

// refusal is the answer to a request that does not reach the handler.
type refusal struct {
	status  int
	problem string // for the client to read
}

// Error implements error.
func (r *refusal) Error() string { return r.problem }

// inputs are buffers of reads. A connection has one only while bytes are at hand.
var inputs = sync.Pool{New: func() any { return new([MaxHeader + 1]byte) }}

// errGone ends a connection without an answer; errUnread says that fasthttp asks for more of a
// header than there is, so that it reads another request than this package.
var (
	errGone   = errors.New("the connection has ended between two requests")
	errUnread = &refusal{http.StatusBadRequest, "the header is malformed"}
)

// Read implements net.Conn for fasthttp, which sees the headers of requests and nothing else. It
// begins each request by reading one byte.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 1 && !c.begin() {
		return 0, io.EOF
	}
	end := c.head
	if end == 0 { // a header that was cut short: fasthttp shall find out where
		end = len(c.in)
	}
	if c.given < end {
		n := copy(p, c.in[c.given:end])
		c.given += n
		return n, nil
	}
	if c.fault != nil {
		return 0, c.fault
	}
	return 0, errUnread
}

// begin makes a request ready, if it did not come with the connection. False without one, for now
// or for ever.
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

// SetReadDeadline implements net.Conn. Reads end as [conn.deadline] says, not as fasthttp does.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// Close implements net.Conn. fasthttp also closes a connection that has been quiet for a moment;
// that one waits on by itself.
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

// wait is the goroutine of a connection between two requests, and while one arrives slowly. It ends
// when the request is whole, and fasthttp takes over, or with the connection.
func (c *conn) wait() {
	c.idleEnds = time.Now().Add(idleTime)
	if c.fresh {
		c.idleEnds = time.Now().Add(headerTime)
		if err := c.establish(); err != nil {
			c.server.conns.counts.NotAgreed.Add(1)
			// anybody can cause it
			c.server.cfg.Log.Debug("a connection was not agreed on", "peer", c.peer, "error", err)
			_ = c.Close()
			return
		}
	}
	if !c.gather(false) || c.fault == errGone || !c.server.conns.hand(c) {
		_ = c.Close()
		c.release()
	}
}

// gather reads until the request is whole or at fault: then it is ready. In place it does so only
// for a moment; false if that was too short.
func (c *conn) gather(inPlace bool) bool {
	idle := !inPlace && len(c.in) == 0
	for !c.whole(inPlace) {
		if c.head > 0 && c.said.chunked { // in place: see readChunks
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

// note takes down when the parts of a request that is slow came, for its deadlines.
func (c *conn) note() {
	if len(c.in) > 0 && c.began.IsZero() {
		c.began = time.Now()
	}
	if c.head > 0 && c.headAt.IsZero() {
		c.headAt = time.Now()
	}
}

// deadline is when what c waits for must have come.
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

// arm makes reads end at a time, or between half of allowed and allowed after it, so that a busy
// connection's timer is set seldom.
func (c *conn) arm(at time.Time, allowed time.Duration) {
	if allowed > 0 && c.armed.Sub(at) > allowed/2 && c.armed.Sub(at) <= allowed || allowed == 0 && c.armed.Equal(at) {
		return
	}
	c.armed = at.Add(allowed)
	_ = c.Conn.SetReadDeadline(c.armed) // fails with the connection, as the read will
}

// because turns the error of a read into the fault of the request.
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

// more waits until bytes come and adds them to c.in. Errors: of the connection; io.EOF.
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

// tryRead reads the bytes that have come into c.in. False if none have come yet: then c keeps no
// more memory than what has arrived.
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

// unreadyRoom is the buffer of a connection whose readiness cannot be asked (TLS), in bytes.
const unreadyRoom = 1 << 10

// room makes space behind c.in: least bytes at first, 0 for a pooled buffer. It at most doubles
// what there is, and a body is not given more than its length.
func (c *conn) room(least int) {
	switch {
	case c.in == nil && least == 0:
		c.pooled = inputs.Get().(*[MaxHeader + 1]byte)
		c.in = c.pooled[:0]
	case c.in == nil:
		c.in = make([]byte, 0, least)
	case len(c.in) == cap(c.in):
		grown := 2 * len(c.in)
		if c.head > 0 && !c.said.chunked {
			grown = min(grown, c.head+int(c.said.size))
		}
		c.move(max(grown, len(c.in)+1))
	}
}

// shrink gives a pooled buffer back; what has arrived moves to one of its size.
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

// release lets c.in go.
func (c *conn) release() {
	if c.pooled != nil {
		inputs.Put(c.pooled)
	}
	c.in, c.pooled = nil, nil
}

// consume removes the request that was answered; bytes of the next one may be there already.
func (c *conn) consume() {
	rest := c.in[min(c.size, len(c.in)):]
	if len(rest) == 0 {
		c.release()
	} else {
		c.in = c.in[:copy(c.in, rest)]
	}
	c.request, c.given, c.fresh = request{}, 0, false
	c.began, c.headAt = time.Time{}, time.Time{}
}
