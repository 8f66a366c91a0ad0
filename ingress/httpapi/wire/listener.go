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

// Counts are what a server has done with connections since it was made.
type Counts struct {
	Open          atomic.Int64 // now
	RefusedTotal  atomic.Int64 // over Config.MaxConns
	RefusedAddr   atomic.Int64 // over Config.ConnsPerAddr
	Displaced     atomic.Int64 // idle ones that made room for others
	AcceptFailed  atomic.Int64 // times that a connection could not be accepted
	NotAgreed     atomic.Int64 // whose handshake or PROXY header failed
	acceptFailing atomic.Int64 // unix second of the last line in the log
}

// place is where a connection stands in the tracker.
type place struct {
	open    bool
	idle    *list.Element // of tracker.idle; nil unless it waits for a first byte
	arrives bool          // a request arrives, and fasthttp does not have it yet
}

// tracker knows the open connections and bounds their number.
type tracker struct {
	server *Server
	counts Counts
	ready  chan *conn    // whose request is whole
	ended  chan struct{} // closed by close

	mu       sync.Mutex
	conns    map[*conn]struct{}
	of       map[netip.Addr]int // connections by address
	idle     *list.List         // of *conn, the one that is idle for longest first
	arriving int                // connections whose place says so
	stopped  bool               // no connection waits for another request
	drained  chan struct{}      // closed when stopped and nothing arrives
}

func newTracker(s *Server) *tracker {
	return &tracker{
		server: s, ready: make(chan *conn), ended: make(chan struct{}), drained: make(chan struct{}),
		conns: map[*conn]struct{}{}, of: map[netip.Addr]int{}, idle: list.New(),
	}
}

// admit takes a connection in; nil if it was refused.
func (t *tracker) admit(accepted net.Conn) *conn {
	c := &conn{Conn: accepted, server: t.server, peer: accepted.RemoteAddr().String(), fresh: true}
	c.addr = t.countedAs(accepted.RemoteAddr())
	c.take = c.tryRead
	if plain, ok := accepted.(syscall.Conn); ok {
		c.raw, _ = plain.SyscallConn() // nil is without readiness
	}
	reply := t.add(c)
	if reply == "" {
		return c
	}
	if t.server.cfg.TLS == nil { // else the client would not understand it
		_ = accepted.SetWriteDeadline(time.Now().Add(time.Millisecond)) // a new socket has room for it
		_, _ = accepted.Write([]byte(reply))
	}
	_ = accepted.Close()
	return nil
}

// add counts c, or gives the reply that refuses it. When all places are taken the connection that
// is idle for longest makes room: so clients that only hold connections keep no other client out.
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
		_ = displaced.Conn.Close() // its goroutine finds out
	}
	t.conns[c] = struct{}{}
	t.counts.Open.Add(1)
	if c.addr.IsValid() {
		t.of[c.addr]++
	}
	c.place = place{open: true, idle: t.idle.PushBack(c)}
	return ""
}

// The replies to connections that are refused before a request is read.
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

// rename counts c for the address that its proxy gave, or gives the reply that refuses it.
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

// uncount ends the count of c for its address. The lock is held.
func (t *tracker) uncount(c *conn) {
	if !c.addr.IsValid() {
		return
	}
	if t.of[c.addr]--; t.of[c.addr] == 0 {
		delete(t.of, c.addr)
	}
}

// encrypt has everything of c go through an encrypted connection, also its end by another
// goroutine.
func (t *tracker) encrypt(c *conn, secure net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Conn, c.raw = secure, nil
}

// addrOf is the address of a peer; the zero value if it has none.
func addrOf(remote net.Addr) netip.Addr {
	parsed, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().WithZone("").Unmap()
}

// countedAs is the address that a connection counts for: the whole of IPv4, the /64 of IPv6, which
// is what one subscriber has. The zero value for one that does not count.
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

// remove ends the count of c; the tracker may have forgotten it before.
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

// park lets c wait for its next request by itself; false if it shall not.
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

// busy says that the first bytes of a request have come to a connection that waits.
func (t *tracker) busy(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaveIdle(c)
	if c.place.open && !c.place.arrives {
		c.place.arrives = true
		t.arriving++
	}
}

// hand gives a connection with a whole request to fasthttp; false if it has gone.
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

// arrived says that c's request does not arrive any more. The lock is held.
func (t *tracker) arrived(c *conn) {
	if c.place.arrives {
		c.place.arrives = false
		t.arriving--
		t.drain()
	}
}

// drain says when the last request of a stopped server has arrived. The lock is held.
func (t *tracker) drain() {
	if t.stopped && t.arriving == 0 {
		select {
		case <-t.drained:
		default:
			close(t.drained)
		}
	}
}

// stop closes the connections that wait for a request. Those that have sent a part of one go on.
func (t *tracker) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for at := t.idle.Front(); at != nil; at = at.Next() {
		_ = at.Value.(*conn).Conn.Close() // its goroutine finds out
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
		_ = c.Conn.Close() // its own loop finds out and reports
	}
}

// listener gives fasthttp the connections on which a request is whole.
type listener struct {
	net.Listener
	tracker *tracker
	failed  chan error
}

// listen begins to accept from l.
func (t *tracker) listen(l net.Listener) net.Listener {
	made := &listener{Listener: l, tracker: t, failed: make(chan error, 1)}
	go made.accept()
	return made
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

// The pauses after a connection that could not be accepted.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// accept takes connections until the listener is closed. That the process or the machine is short
// of something for a moment does not end it.
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

// passes says whether a later try to accept may succeed.
func passes(err error) bool {
	for _, known := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, // too much is open
		// of one connection
		syscall.ECONNABORTED, syscall.EPROTO, syscall.EPERM, syscall.EINTR, syscall.ENETDOWN, syscall.EHOSTUNREACH,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}

// refusedBySystem counts a failed accept, and logs one a minute.
func (t *tracker) refusedBySystem(err error) {
	t.counts.AcceptFailed.Add(1)
	now := time.Now().Unix()
	if last := t.counts.acceptFailing.Load(); now-last >= 60 && t.counts.acceptFailing.CompareAndSwap(last, now) {
		t.server.cfg.Log.Warn(
			"connections cannot be accepted; waiting for a moment and trying again", "error", err.Error(),
		)
	}
}
