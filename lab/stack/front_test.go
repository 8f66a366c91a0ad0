package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
)

// startFront relays to upstream until the test ends, and proves that Run then returns.
func startFront(t *testing.T, upstream string) (addr string) {
	t.Helper()
	f, err := listenFront("127.0.0.1:0")
	require.NoError(t, err)
	f.aim(upstream)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return f.listener.Addr().String()
}

// reset closes a connection the way the kernel does it for a killed client with unread data.
func reset(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.(*net.TCPConn).SetLinger(0))
	require.NoError(t, conn.Close())
}

// fragile is a server that notes every connection error, any of which kills a library-hosted
// ClickHouse.
type fragile struct {
	listener net.Listener
	conns    sync.WaitGroup
	mu       sync.Mutex
	errs     []error
	served   int
}

func startFragile(t *testing.T) *fragile {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fragile{listener: listener}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.conns.Go(func() { f.serve(conn) })
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-accepting
	})
	return f
}

// serve writes and reads at once, more than any socket buffer holds, so that clients leave in
// mid-transfer.
func (f *fragile) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		read <- err
	}()
	_, writeErr := conn.Write(bytes.Repeat([]byte("answer"), 1<<20))
	readErr := <-read
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served++
	f.errs = append(f.errs, writeErr, readErr)
}

func TestFrontNeverResetsUpstream(t *testing.T) {
	server := startFragile(t)
	addr := startFront(t, server.listener.Addr().String())
	const clients = 60
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = conn.Write(bytes.Repeat([]byte("q"), 1+i*1000))
			_, _ = io.CopyN(io.Discard, conn, int64(1+i*500))
			switch i % 3 {
			case 0, 1:
				reset(t, conn)
			default:
				_ = conn.Close()
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return server.served == clients
	}, 30*time.Second, 10*time.Millisecond)
	server.conns.Wait()
	for _, err := range server.errs {
		require.NoError(t, err, "upstream saw a connection error")
	}
}

func TestWithoutTheFrontResetsAreSeen(t *testing.T) {
	server := startFragile(t)
	conn, err := net.Dial("tcp", server.listener.Addr().String())
	require.NoError(t, err)
	_, err = io.CopyN(io.Discard, conn, 10)
	require.NoError(t, err)
	reset(t, conn)
	require.Eventually(t, func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return server.served == 1 && errors.Join(server.errs...) != nil
	}, 30*time.Second, 10*time.Millisecond, "the test above would not notice a reset")
}

func TestFrontRelaysBothDirectionsWhole(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		all, _ := io.ReadAll(conn) // Until the client half-closes.
		_, _ = conn.Write(all)
		_ = conn.Close()
	}()
	conn, err := net.Dial("tcp", startFront(t, listener.Addr().String()))
	require.NoError(t, err)
	question := bytes.Repeat([]byte("0123456789"), 300_000)
	_, err = conn.Write(question)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.True(t, bytes.Equal(question, answer))
}

func TestFrontWaitsForAnUpstreamThatStartsLate(t *testing.T) {
	port, err := upstreamPorts.free()
	require.NoError(t, err)
	conn, err := net.Dial("tcp", startFront(t, loopback(port)))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", loopback(port))
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	go func() {
		if upstream, err := listener.Accept(); err == nil {
			_, _ = upstream.Write([]byte("late"))
			_ = upstream.Close()
		}
	}()
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "late", string(answer))
}

// TestClickHouseSurvivesKilledClients runs the real engine behind the real host. It needs the
// library that up downloads.
func TestClickHouseSurvivesKilledClients(t *testing.T) {
	s := testStack(t)
	var err error
	s.cfg.Cache = os.Getenv("ADNET_CACHE_DIR")
	require.NoError(t, s.cfg.absolute())
	if _, err = os.Stat(s.clickhouseLibrary()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the ClickHouse library is not in the cache: %v", err)
		}
		t.Skip("the ClickHouse library is not in the cache: run `make stack` once")
	}
	srv := newClickHouse(s)
	require.NoError(t, s.choosePorts(srv))
	require.NoError(t, srv.prepare(t.Context()))
	require.NoError(t, s.copySelf())
	cmd, err := srv.command()
	require.NoError(t, err)
	ended, err := s.processes.detach(srv.name, cmd, s.logFile(srv.name))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.processes.stop(srv.name, srv.stop))
		<-ended
	})
	require.NoError(t, s.await(t.Context(), srv, srv.limit, ended), tail(s.logFile(srv.name), 20))

	http := s.address(portClickHouseHTTP)
	_, err = clickhouseHTTP(t.Context(), http, "CREATE TABLE adnet.kept (n UInt64) ENGINE = MergeTree ORDER BY n")
	require.NoError(t, err)
	_, err = clickhouseHTTP(t.Context(), http, "INSERT INTO adnet.kept SELECT number FROM numbers(1000)")
	require.NoError(t, err)
	child := children(t, cmd.Process.Pid)
	require.Len(t, child, 1)

	insertThenDie(t, s.address(nameClickHouse))
	offend(t, s.address(nameClickHouse), http)
	require.NoError(t, srv.probe(t.Context()), tail(s.logFile(srv.name), 40)+tail(s.logFile("clickhouse-server"), 40))
	require.Equal(t, child, children(t, cmd.Process.Pid), "the child must not have been replaced")

	// A child that still dies is replaced, with its data.
	require.NoError(t, syscall.Kill(child[0], syscall.SIGKILL))
	var count string
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		count, err = clickhouseHTTP(ctx, http, "SELECT count() FROM adnet.kept WHERE n < 1000")
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, "1000", count)
}

// insertThenDie kills native clients in the middle of a batch.
func insertThenDie(t *testing.T, native string) {
	t.Helper()
	for range 20 {
		var wire net.Conn
		conn, err := clickhouse.Open(&clickhouse.Options{
			Addr: []string{native}, Auth: clickhouse.Auth{Database: "adnet", Username: "default"},
			DialContext: func(ctx context.Context, addr string) (net.Conn, error) {
				var d net.Dialer
				c, err := d.DialContext(ctx, "tcp", addr)
				wire = c
				return c, err
			},
		})
		require.NoError(t, err)
		batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO kept")
		require.NoError(t, err)
		for n := range uint64(1000) {
			require.NoError(t, batch.Append(1_000_000+n))
		}
		require.NoError(t, batch.Flush())
		reset(t, wire)
		_ = conn.Close()
	}
}

// offend sends the data of clients that die, lie or speak another protocol, and then resets the
// connection.
func offend(t *testing.T, native, http string) {
	t.Helper()
	greet := func(database, user string) string {
		return "\x00\x01x\x01\x01\xd4\xa9\x03" + string(rune(len(database))) + database + string(rune(len(user))) +
			user + "\x00\x00"
	}
	texts := []string{
		"", "\x00\xff\xfegarbage", "\x16\x03\x01garbage\r\n\r\n", "\x00\x0badnet",
		greet("nowhere", "default"), greet("default", "stranger"), greet("default", "default") + "\xff\xff\xff",
		"POST /?query=INSERT+INTO+adnet.kept+FORMAT+TSV HTTP/1.1\r\nHost: x\r\nContent-Length: " +
			"1000000\r\n\r\n5001\n5002\n",
		"GET /?query=SELECT+*+FROM+numbers(10000000) HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /?query=SELECT+1&user=stranger HTTP/1.1\r\nHost: x\r\n\r\n",
	}
	for _, addr := range []string{native, http} {
		for _, text := range texts {
			for wait := range 2 {
				conn, err := net.Dial("tcp", addr)
				require.NoError(t, err)
				_, _ = conn.Write([]byte(text))
				if wait == 1 {
					require.NoError(t, conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
					_, _ = conn.Read(make([]byte, 100))
				}
				reset(t, conn)
			}
		}
	}
}

// children lists the processes started by pid.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	require.NoError(t, err)
	for _, line := range bytes.Split(out, []byte("\n")) {
		var child, parent int
		if n, _ := fmt.Sscan(string(line), &child, &parent); n == 2 && parent == pid {
			pids = append(pids, child)
		}
	}
	return pids
}

func TestKfakeHostAnswersAndKeepsItsFolderForItself(t *testing.T) {
	s := testStack(t)
	s.state.KafkaEngine = engineKfake
	srv := newKafka(s, 1)
	require.NoError(t, s.copySelf())
	require.NoError(t, s.bringUp(t.Context(), srv))
	t.Cleanup(func() { require.NoError(t, s.processes.stop(srv.name, srv.stop)) })

	port, err := publicPorts.free()
	require.NoError(t, err)
	second := kfakeHostCmd{Data: filepath.Join(s.cfg.Dir, "kfake"), Port: port}
	require.ErrorContains(t, second.run(t.Context()), "another process")
}
