package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/ebitengine/purego"
)

func newClickHouse(s *stack) server {
	return server{
		name:  nameClickHouse,
		waits: "SELECT 1 over HTTP and a native handshake",
		ports: s.withTLS([]string{nameClickHouse, portClickHouseHTTP}, portClickHouseTLS),
		prepare: func(context.Context) error {
			return os.MkdirAll(filepath.Join(s.cfg.Dir, "clickhouse"), 0o700)
		},
		command: func() (*exec.Cmd, error) {
			args := []string{
				"clickhouse-host", "--library=" + s.clickhouseLibrary(),
				"--data=" + filepath.Join(s.cfg.Dir, "clickhouse"),
				"--log=" + s.logFile("clickhouse-server"), "--native=" + s.address(nameClickHouse),
				"--http=" + s.address(portClickHouseHTTP),
			}
			if s.cfg.TLS != "" {
				args = append(args, "--certificates="+s.cfg.TLS, "--secure="+s.address(portClickHouseTLS))
			}
			return s.self(args...), nil
		},
		probe: s.probeClickHouse,
		stop:  []escalation{{syscall.SIGTERM, 20 * time.Second}},
		limit: 2 * time.Minute,
	}
}

// probeClickHouse queries both listeners and ensures that the database adnet exists.
func (s *stack) probeClickHouse(ctx context.Context) error {
	if err := handshake(ctx, s.address(nameClickHouse)); err != nil {
		return fmt.Errorf("native: %w", err)
	}
	base := s.address(portClickHouseHTTP)
	answer, err := clickhouseHTTP(ctx, base, "SELECT 1")
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	if answer != "1" {
		return fmt.Errorf("http: SELECT 1 answered %q", answer)
	}
	_, err = clickhouseHTTP(ctx, base, "CREATE DATABASE IF NOT EXISTS adnet ENGINE = Atomic")
	return err
}

// clickhouseHTTP runs one statement on the HTTP listener at addr.
func clickhouseHTTP(ctx context.Context, addr, sql string) (string, error) {
	return clickhouseAsk(ctx, http.DefaultClient, url.URL{Scheme: "http", Host: addr, Path: "/"}, sql)
}

// handshake sends a hello in the native protocol and expects the server's hello (packet type 0).
func handshake(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	text := func(b []byte, v string) []byte { return append(binary.AppendUvarint(b, uint64(len(v))), v...) }
	greeting := text([]byte{0}, "adnet-local")
	for _, version := range []uint64{1, 1, 54000} {
		greeting = binary.AppendUvarint(greeting, version)
	}
	greeting = text(text(text(greeting, "default"), "default"), "")
	if _, err := conn.Write(greeting); err != nil {
		return err
	}
	kind, err := binary.ReadUvarint(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	if kind != 0 {
		return fmt.Errorf("answered packet type %d instead of hello", kind)
	}
	return nil
}

// clickhouseHostCmd is the long-lived process that owns the ClickHouse child and the front before
// it.
type clickhouseHostCmd struct {
	Library string `required:""`
	Data    string `required:""`
	Log     string `required:""`
	Native  string `required:""`
	HTTP    string `required:"" name:"http"`
	Secure  string // address for encrypted native clients, or ""

	Certificates string // folder of their certificates
}

// run listens on both public addresses, keeps a child alive behind them and returns when ctx is
// cancelled and the child has ended.
func (c clickhouseHostCmd) run(ctx context.Context) error {
	addresses := []string{c.Native, c.HTTP}
	if c.Secure != "" {
		addresses = append(addresses, c.Secure)
	}
	fronts := make([]*front, len(addresses))
	for i, addr := range addresses {
		var err error
		if fronts[i], err = listenFront(addr); err != nil {
			return err
		}
	}
	native, web := fronts[0], fronts[1]
	// Dials like a relayed client: while the child restarts, the query waits as well.
	patient := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return web.dial(ctx) },
	}}
	native.admit = gate{exists: func(ctx context.Context, database string) (bool, error) {
		return databaseExists(ctx, patient, "clickhouse", database)
	}}.admit
	if c.Secure != "" {
		secure := fronts[2]
		secure.admit, secure.encrypt = native.admit, encryptWith(c.Certificates)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, len(fronts))
	for _, f := range fronts {
		go func() { done <- f.Run(ctx) }()
	}
	err := c.keepChild(ctx, fronts)
	cancel()
	for range fronts {
		err = errors.Join(err, <-done)
	}
	return err
}

// keepChild restarts the child whenever it ends, until ctx is cancelled. Every child gets new ports
// because another process may have taken the previous ones.
func (c clickhouseHostCmd) keepChild(ctx context.Context, fronts []*front) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		var ports [2]int
		for i := range ports {
			if ports[i], err = upstreamPorts.free(); err != nil {
				return err
			}
		}
		for i, f := range fronts {
			f.aim(loopback(ports[i%len(ports)])) // encrypted clients share the native port
		}
		started := time.Now()
		err := c.runChild(ctx, self, ports)
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprintf(os.Stderr, "%s clickhouse child ended after %s: %v; restarting it\n",
			time.Now().UTC().Format(time.RFC3339), time.Since(started).Round(time.Millisecond), err)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
	return nil
}

// runChild runs one child to its end. This process holds the write end of the child's standard
// input and never writes to it: however this process dies, the child reads end of file and exits
// too.
func (c clickhouseHostCmd) runChild(ctx context.Context, self string, ports [2]int) error {
	cmd := exec.Command(self, "clickhouse-child", "--library="+c.Library, "--data="+c.Data, "--log="+c.Log,
		"--native-port="+strconv.Itoa(ports[0]), "--http-port="+strconv.Itoa(ports[1]))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var failure error
	ended := make(chan struct{})
	go func() {
		failure = cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return failure
	case <-ctx.Done():
	}
	endListening(ctx, loopback(ports[1]))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	return lifeline.Close()
}

// endListening cancels the query that keeps clickhouse-local alive, the only orderly way to stop
// it: it ignores SIGTERM and SIGINT in this state, and SYSTEM SHUTDOWN signals the whole process
// group. A failure is harmless because the child is then killed.
func endListening(ctx context.Context, addr string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	_, err := clickhouseHTTP(
		ctx, addr, "KILL QUERY WHERE query LIKE 'SELECT sleepEachRow(3) FROM system.numbers%' ASYNC FORMAT Null",
	)
	if err != nil {
		fmt.Fprintf(
			os.Stderr, "%s clickhouse child could not be stopped in order: %v\n", time.Now().UTC().Format(time.RFC3339), err,
		)
	}
}

// clickhouseChildCmd is ClickHouse itself: the library's clickhouse-local with listeners.
type clickhouseChildCmd struct {
	Library    string `required:""`
	Data       string `required:""`
	Log        string `required:""`
	NativePort int    `required:""`
	HTTPPort   int    `required:"" name:"http-port"`
}

// clickhouseListen starts the two listeners and keeps clickhouse-local busy forever.
const clickhouseListen = "SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; SELECT sleepEachRow(3) FROM " +
	"system.numbers " +
	"SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null"

func (c clickhouseChildCmd) run() error {
	// One server per folder: the child of a killed host may still be exiting.
	unlock, err := lock(filepath.Join(c.Data, "owner.lock"), func() {})
	if err != nil {
		return err
	}
	defer unlock()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		// The host is gone. MergeTree parts are complete or absent whenever the process ends.
		os.Exit(3)
	}()
	handle, err := purego.Dlopen(c.Library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("load ClickHouse: %w", err)
	}
	entry, err := purego.Dlsym(handle, "chdb_query_cmdline")
	if err != nil {
		return fmt.Errorf("load ClickHouse: %w", err)
	}
	args := []string{
		"clickhouse", "--path=" + filepath.Join(c.Data, "data"), "--listen_host=127.0.0.1",
		"--tcp_port=" + strconv.Itoa(c.NativePort), "--http_port=" + strconv.Itoa(c.HTTPPort),
		"--logger.log=" + c.Log, "--log-level=warning", "--query", clickhouseListen,
	}
	// The library keeps pointers into argv for its whole life, so nothing here may move or be
	// collected.
	var pin runtime.Pinner
	defer pin.Unpin()
	argv := make([]*byte, 0, len(args)+1)
	for _, arg := range args {
		text := append([]byte(arg), 0)
		pin.Pin(&text[0])
		argv = append(argv, &text[0])
	}
	argv = append(argv, nil)
	pin.Pin(&argv[0])

	var serve func(argc int32, argv **byte) uintptr
	purego.RegisterFunc(&serve, entry)
	serve(int32(len(args)), &argv[0])
	return errors.New("ClickHouse stopped serving, see " + c.Log)
}
