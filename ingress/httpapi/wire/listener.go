package wire

import (
	"container/list"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Counts holds the connection counters of a server since its start.
type Counts struct {
	Open          atomic.Int64 // currently open
	RefusedTotal  atomic.Int64 // over Config.MaxConns
	RefusedAddr   atomic.Int64 // over Config.ConnsPerAddr
	Displaced     atomic.Int64 // idle connections closed in favour of new ones
	AcceptFailed  atomic.Int64 // failed accepts
	NotAgreed     atomic.Int64 // failed TLS handshakes or PROXY headers
	acceptFailing atomic.Int64 // unix second of the last log line
}

// place is the state of a connection in the tracker.
type place struct {
	open    bool
	idle    *list.Element // in tracker.idle; nil unless it waits for a first byte
	arrives bool          // a request is arriving and fasthttp does not have it yet
}

// tracker tracks the open connections and limits their number.
type tracker struct {
	server *Server
	counts Counts
	ready  chan *conn    // connections with a complete request
	ended  chan struct{} // closed by close

	mu       sync.Mutex
	conns    map[*conn]struct{}
	of       map[netip.Addr]int // connections by address
	idle     *list.List         // of *conn, longest idle first
	arriving int                // connections with place.arrives
	stopped  bool               // connections must not wait for another request
	drained  chan struct{}      // closed when stopped and no request is arriving
}

func newTracker(s *Server) *tracker {
	return &tracker{
		server: s, ready: make(chan *conn), ended: make(chan struct{}), drained: make(chan struct{}),
		conns: map[*conn]struct{}{}, of: map[netip.Addr]int{}, idle: list.New(),
	}
}

// admit registers an accepted connection. It returns nil if it rejected the connection.
func (t *tracker) admit(accepted net.Conn) *conn {
	c := &conn{Conn: accepted, server: t.server, peer: accepted.RemoteAddr().String(), fresh: true}
	c.addr = t.countedAs(accepted.RemoteAddr())
	c.take = c.tryRead
	if plain, ok := accepted.(syscall.Conn); ok {
		c.raw, _ = plain.SyscallConn() // nil: no readiness events
	}
	reply := t.add(c)
	if reply == "" {
		return c
	}
	if t.server.cfg.TLS == nil { // under TLS the client could not read it
		_ = accepted.SetWriteDeadline(time.Now().Add(time.Millisecond)) // a new socket has buffer space
		_, _ = accepted.Write([]byte(reply))
	}
	_ = accepted.Close()
	return nil
}

// add counts c, or returns the reply that rejects it. At the limit it closes the connection that
// has been idle longest, so clients that only hold connections cannot keep others out.
func (t *tracker) add(c *conn) (refusal string) {
	cfg := &t.server.cfg
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return overTotal
	}
	if c.addr.IsValid() && t.of[c.addr] >= cfg.ConnsPerAddr {
		t.counts.RefusedAddr.Add(1)
		return overAddr
	}
	if cfg.MaxConns > 0 && len(t.conns) >= cfg.MaxConns {
		oldest := t.idle.Front()
		if oldest == nil {
			t.counts.RefusedTotal.Add(1)
			return overTotal
		}
		t.counts.Displaced.Add(1)
		displaced := oldest.Value.(*conn)
		t.forget(displaced)
		_ = displaced.Conn.Close() // its goroutine gets the error
	}
	t.conns[c] = struct{}{}
	t.counts.Open.Add(1)
	if c.addr.IsValid() {
		t.of[c.addr]++
	}
	c.place = place{open: true, idle: t.idle.PushBack(c)}
	return ""
}

// The replies to connections that are rejected before a request is read.
var (
	overAddr = refusalText(
		"429 Too Many Requests", "rate_limited", "too many connections from this address; use fewer and keep them open",
	)
	overTotal = refusalText("503 Service Unavailable", "unavailable", "too many connections; try again soon")
)

func refusalText(status, code, problem string) string {
	body := fmt.Sprintf(`{"code":%q,"error":%q,"retry_after":5}`, code, problem)
	return fmt.Sprintf("HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: application/json; "+
		"charset=utf-8\r\nRetry-After: 5\r\nContent-Length: %d\r\n\r\n%s",
		status, len(body), body)
}

// rename counts c for the address that its proxy reported, or returns the reply that rejects it.
func (t *tracker) rename(c *conn, client net.Addr) (refusal string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.place.open {
		return overTotal
	}
	addr := t.countedAs(client)
	if addr.IsValid() && t.of[addr] >= t.server.cfg.ConnsPerAddr {
		t.counts.RefusedAddr.Add(1)
		return overAddr
	}
	t.uncount(c)
	if c.addr = addr; addr.IsValid() {
		t.of[addr]++
	}
	return ""
}

// uncount stops counting c for its address. The lock is held.
func (t *tracker) uncount(c *conn) {
	if !c.addr.IsValid() {
		return
	}
	if t.of[c.addr]--; t.of[c.addr] == 0 {
		delete(t.of, c.addr)
	}
}

// encrypt switches c to an encrypted connection. Another goroutine that closes c then closes that
// one.
func (t *tracker) encrypt(c *conn, secure net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Conn, c.raw = secure, nil
}

// addrOf returns the address of a peer; the zero value if it has none.
func addrOf(remote net.Addr) netip.Addr {
	parsed, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().WithZone("").Unmap()
}

// countedAs returns the address that a connection counts for: the whole IPv4 address, or the /64 of
// an IPv6 address, which one subscriber has. It returns the zero value for connections that are not
// counted.
func (t *tracker) countedAs(remote net.Addr) netip.Addr {
	cfg := &t.server.cfg
	addr := addrOf(remote)
	if cfg.ConnsPerAddr <= 0 || !addr.IsValid() {
		return netip.Addr{}
	}
	if addr.IsLoopback() || cfg.Uncounted != nil && cfg.Uncounted(addr) {
		return netip.Addr{}
	}
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			addr = network.Addr()
		}
	}
	return addr
}

// remove stops counting c. The tracker may have forgotten c before.
func (t *tracker) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(c)
}

// forget is remove with the lock held.
func (t *tracker) forget(c *conn) {
	if !c.place.open {
		return
	}
	delete(t.conns, c)
	t.counts.Open.Add(-1)
	t.uncount(c)
	t.leaveIdle(c)
	t.arrived(c)
	c.place.open = false
}

// park registers c as waiting for its next request. It returns false if c must close instead.
func (t *tracker) park(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := len(c.in) == 0
	if !c.place.open || t.stopped && idle {
		return false
	}
	if idle {
		c.place.idle = t.idle.PushBack(c)
	} else {
		c.place.arrives = true
		t.arriving++
	}
	return true
}

// busy marks a waiting connection that has received the first bytes of a request.
func (t *tracker) busy(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaveIdle(c)
	if c.place.open && !c.place.arrives {
		c.place.arrives = true
		t.arriving++
	}
}

// hand passes a connection with a complete request to fasthttp. It returns false if the tracker has
// closed.
func (t *tracker) hand(c *conn) bool {
	select {
	case t.ready <- c:
		return true
	case <-t.ended:
		return false
	}
}

func (t *tracker) leaveIdle(c *conn) {
	if c.place.idle != nil {
		t.idle.Remove(c.place.idle)
		c.place.idle = nil
	}
}

// arrived ends the arriving state of c. The lock is held.
func (t *tracker) arrived(c *conn) {
	if c.place.arrives {
		c.place.arrives = false
		t.arriving--
		t.drain()
	}
}

// drain closes t.drained when the last request of a stopped server has arrived. The lock is held.
func (t *tracker) drain() {
	if t.stopped && t.arriving == 0 {
		select {
		case <-t.drained:
		default:
			close(t.drained)
		}
	}
}

// stop closes the idle connections. Connections with a partial request continue.
func (t *tracker) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for at := t.idle.Front(); at != nil; at = at.Next() {
		_ = at.Value.(*conn).Conn.Close() // its goroutine gets the error
	}
	t.drain()
}

// close closes all connections.
func (t *tracker) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.ended:
	default:
		close(t.ended)
	}
	for c := range t.conns {
		_ = c.Conn.Close() // its own loop gets the error and reports it
	}
}

// listener passes connections with a complete request to fasthttp.
type listener struct {
	net.Listener
	tracker *tracker
	failed  chan error
}

// listen starts accepting from l.
func (t *tracker) listen(l net.Listener) net.Listener {
	created := &listener{Listener: l, tracker: t, failed: make(chan error, 1)}
	go created.accept()
	return created
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	t := l.tracker
	select {
	case c := <-t.ready:
		t.mu.Lock()
		t.arrived(c)
		t.mu.Unlock()
		return c, nil
	case <-t.drained:
		return nil, net.ErrClosed
	case err := <-l.failed:
		return nil, err
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.tracker.stop()
	return err
}

// The pauses after a failed accept.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// accept accepts connections until the listener is closed. A temporary shortage of resources does
// not end it.
func (l *listener) accept() {
	var pause time.Duration
	for {
		accepted, err := l.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			if c := l.tracker.admit(accepted); c != nil {
				go c.wait()
			}
		case errors.Is(err, net.ErrClosed):
			return
		case passes(err):
			pause = min(max(2*pause, shortestPause), longestPause)
			l.tracker.refusedBySystem(err)
			time.Sleep(pause)
		default:
			l.failed <- err
			return
		}
	}
}

// passes reports whether a later accept may succeed.
func passes(err error) bool {
	for _, known := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, // too many open files or too little memory
		// errors of a single connection
		syscall.ECONNABORTED, syscall.EPROTO, syscall.EPERM, syscall.EINTR, syscall.ENETDOWN, syscall.EHOSTUNREACH,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}

// refusedBySystem counts a failed accept, and logs at most once a minute.
func (t *tracker) refusedBySystem(err error) {
	t.counts.AcceptFailed.Add(1)
	now := time.Now().Unix()
	if last := t.counts.acceptFailing.Load(); now-last >= 60 && t.counts.acceptFailing.CompareAndSwap(last, now) {
		t.server.cfg.Log.Warn(
			"connections cannot be accepted; retrying after a pause", "error", err.Error(),
		)
	}
}
