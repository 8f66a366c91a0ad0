package wire

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// lingerTime and lingerBytes bound how long and how much of a refused request is read on, so that
// its reply is not lost: closing a connection with unread bytes resets it, and the client's system
// discards what it has received.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// tracker knows the open connections.
type tracker struct {
	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newTracker() *tracker { return &tracker{conns: map[*conn]struct{}{}} }

// listen tracks what l accepts.
func (t *tracker) listen(l net.Listener) net.Listener { return &listener{Listener: l, tracker: t} }

// close closes all connections.
func (t *tracker) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.conns {
		_ = c.Conn.Close() // its own loop finds out and reports
	}
}

type listener struct {
	net.Listener
	tracker *tracker
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, tracker: l.tracker, peer: accepted.RemoteAddr().String()}
	l.tracker.mu.Lock()
	l.tracker.conns[c] = struct{}{}
	l.tracker.mu.Unlock()
	return c, nil
}

// conn is a connection with its peer's address as text, written once and not for every request.
type conn struct {
	net.Conn
	tracker *tracker
	peer    string
	linger  atomic.Bool // read on before closing
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.tracker.mu.Lock()
	delete(c.tracker.conns, c)
	c.tracker.mu.Unlock()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.linger.Load() && half.CloseWrite() == nil {
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	return c.Conn.Close()
}
