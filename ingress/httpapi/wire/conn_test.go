package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi/wire"
)

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// failing is a listener whose next Accepts fail.
type failing struct {
	net.Listener
	with []error
}

// Accept implements net.Listener.
func (f *failing) Accept() (net.Conn, error) {
	if len(f.with) > 0 {
		err := f.with[0]
		f.with = f.with[1:]
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	return f.Listener.Accept()
}

// The server goes on when the process or the machine is short of something for a moment.
func TestAcceptSurvives(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	short := []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EPROTO,
	}
	s := serveOn(t, &failing{l, short}, wire.Config{Handler: http.HandlerFunc(hello)})
	require.Contains(t, exchange(t, l.Addr().String(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1)[0], "hello")
	require.EqualValues(t, len(short), s.Counts().AcceptFailed.Load())
}

// from pretends that connections come from other addresses: the n-th one from the n-th, then from
// the last.
type from struct {
	net.Listener
	addrs []string
	n     int
}

type fromAddr struct {
	net.Conn
	remote net.Addr
}

// RemoteAddr implements net.Conn.
func (c fromAddr) RemoteAddr() net.Addr { return c.remote }

// Accept implements net.Listener.
func (f *from) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	addr := f.addrs[min(f.n, len(f.addrs)-1)]
	f.n++
	return fromAddr{c, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))}, nil
}

// ask sends a request on a new connection and gives the status line, "" if there was none. The
// connection stays open.
func ask(t *testing.T, addr string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return askOn(conn)
}

func askOn(conn net.Conn) string {
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestConnsPerAddress(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := serveOn(t, &from{Listener: l, addrs: []string{
		"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", // the third is one too many
		"192.0.2.2:1",
		"[2001:db8::1]:1", "[2001:db8::ffff:2]:1", "[2001:db8::3]:1", // of one /64
		"198.51.100.1:1", "198.51.100.1:1", "198.51.100.1:1", // a trusted proxy
		"127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1",
	}}, wire.Config{Handler: http.HandlerFunc(hello), ConnsPerAddr: 2, Uncounted: func(a netip.Addr) bool {
		return a == netip.MustParseAddr("198.51.100.1")
	}})
	var got []string
	for range 13 {
		got = append(got, strings.TrimPrefix(ask(t, l.Addr().String()), "HTTP/1.1 ")[:3])
	}
	require.Equal(
		t, []string{"200", "200", "429", "200", "200", "200", "429", "200", "200", "200", "200", "200", "200"}, got,
	)
	require.EqualValues(t, 2, s.Counts().RefusedAddr.Load())
}

// When all places are taken, the connection that is idle for longest makes room; busy ones do not.
func TestConnsInTotal(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	busy, end := make(chan struct{}, 3), make(chan struct{})
	var waits atomic.Bool
	s := serveOn(t, l, wire.Config{MaxConns: 3, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if waits.Load() {
			busy <- struct{}{}
			<-end
		}
	})})
	conns := make([]net.Conn, 3)
	for i := range conns {
		conns[i], err = net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer conns[i].Close()
		require.Equal(t, "HTTP/1.1 200 OK", askOn(conns[i]))
		time.Sleep(200 * time.Millisecond) // it is idle before the next one is
	}
	require.Equal(t, "HTTP/1.1 200 OK", ask(t, l.Addr().String()))
	require.Empty(t, askOn(conns[0]), "the connection that was idle for longest was closed")
	require.Equal(t, "HTTP/1.1 200 OK", askOn(conns[1]), "the others were not")
	require.EqualValues(t, 1, s.Counts().Displaced.Load())
	require.EqualValues(t, 3, s.Counts().Open.Load())

	time.Sleep(200 * time.Millisecond)
	waits.Store(true)
	for range 3 {
		go ask(t, l.Addr().String())
		<-busy
	}
	require.Equal(t, "HTTP/1.1 503 Service Unavailable", ask(t, l.Addr().String()))
	close(end)
}

// A body over its route's limit is not read, and the client gets to know at once.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, l, wire.Config{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
			fmt.Fprintf(w, "%s %d %v", r.URL.Path, len(body), err)
		}),
		BodyLimit: func(method, path string) int64 {
			if method == http.MethodPost && path == "/large" {
				return 1000
			}
			return 100
		},
	})
	const h = " HTTP/1.1\r\nHost: x\r\n"
	for _, tc := range []struct{ raw, want string }{
		{"POST /small" + h + "Content-Length: 100\r\n\r\n" + strings.Repeat("a", 100), "200"},
		{"POST /large?a=1" + h + "Content-Length: 1000\r\n\r\n" + strings.Repeat("a", 1000), "200"},
		{"POST /small" + h + "Content-Length: 101\r\n\r\n", "413"}, // no byte of it is waited for
		{"PUT /large" + h + "Content-Length: 1000\r\n\r\n", "413"},
		{"POST /large?a=1" + h + "Content-Length: 1001\r\n\r\n", "413"},
		{"POST /small" + h + "Content-Length: 101\r\nExpect: 100-continue\r\n\r\n", "413"},
		{"POST /small" + h + "Transfer-Encoding: chunked\r\n\r\n65\r\n" + strings.Repeat("a", 101), "413"},
		{
			"POST /large?a=1" + h + "Transfer-Encoding: chunked\r\n\r\n65\r\n" + strings.Repeat("a",
				101) + "\r\n0\r\n\r\n", "200",
		},
	} {
		got := exchange(t, l.Addr().String(), tc.raw, 1)[0]
		require.Equal(t, tc.want, got[:3], "%.60s: %s", tc.raw, got)
	}
}

// Clients that do not read a reply that never changes hold no copy of it. Not parallel: it measures
// the memory of the process.
func TestUnreadReplies(t *testing.T) {
	const clients, size = 20, 8 << 20
	body := make([]byte, size)
	answered := make(chan error, clients)
	addr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.(interface {
			WriteStatic(body []byte) (int, error)
		}).WriteStatic(body)
		answered <- err
	})
	before := inUse()
	for range clients {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		require.NoError(t, <-answered)
	}
	time.Sleep(100 * time.Millisecond) // for what the sockets take
	require.Less(t, (int64(inUse())-int64(before))/clients, int64(256<<10), "bytes of memory for each client")
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(all[:300]), fmt.Sprintf("Content-Length: %d\r\n", size))
	require.True(t, bytes.HasSuffix(all, body))
}

// inUse returns the bytes of memory in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// Clients that announce a body and do not send it, and idle ones, cost some kilobytes each. Not
// parallel: it measures the memory of the process.
func TestStalledBodies(t *testing.T) {
	const clients = 1000
	addr, s := serve(t, hello)
	for _, raw := range []string{
		"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n{",
		"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3FFF0\r\n{",
		"GET /a HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"",
	} {
		before, conns := inUse(), make([]net.Conn, clients)
		for i := range conns {
			var err error
			conns[i], err = net.Dial("tcp", addr)
			require.NoError(t, err)
			_, err = io.WriteString(conns[i], raw)
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { return s.Counts().Open.Load() == clients }, time.Minute, time.Millisecond)
		time.Sleep(300 * time.Millisecond) // for what they have sent
		each := (int64(inUse()) - int64(before)) / clients
		require.Less(t, each, int64(12<<10), "bytes of memory for each client that sent %q, its own side included", raw)
		for _, c := range conns {
			require.NoError(t, c.Close())
		}
		require.Eventually(t, func() bool { return s.Counts().Open.Load() == 0 }, time.Minute, time.Millisecond)
	}
}
