package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// front is a TCP relay that protects a server from connection resets, which would crash it
// (ClickHouse hosted as a library does not catch errors around its connection threads).
//
// Guarantee: while the front runs, upstream never receives a reset. When the client disconnects in
// any way, upstream is half-closed, read to its end, and only then closed. Closing a socket with
// unread data would send a reset. Data for a disconnected client is discarded.
type front struct {
	listener net.Listener
	// admit, when set, reads a new client's first message and returns it for upstream, or refuses
	// the client.
	admit func(context.Context, net.Conn) ([]byte, error)
	// encrypt, when set, wraps a new client's connection in TLS.
	encrypt func(net.Conn) net.Conn

	mu       sync.Mutex
	upstream string
	clients  map[net.Conn]struct{}
	stopped  bool
}

// upstreamPatience limits a client's wait for a restarting upstream.
const upstreamPatience = 15 * time.Second

// listenFront opens the public address. Clients wait until aim names the upstream.
func listenFront(addr string) (*front, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &front{listener: listener, clients: make(map[net.Conn]struct{})}, nil
}

// aim sets the address that new connections are relayed to.
func (f *front) aim(upstream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.upstream = upstream
}

func (f *front) target() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.upstream
}

// Run relays until ctx is cancelled, then closes all clients and returns when every relay has
// ended.
func (f *front) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, f.close)
	defer stop()
	var relays sync.WaitGroup
	defer relays.Wait()
	for {
		client, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			// Out of file descriptors, or the client left before it was accepted. Both are
			// temporary.
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(20 * time.Millisecond):
			}
			continue
		}
		if !f.add(client) {
			_ = client.Close()
			continue
		}
		relays.Go(func() {
			defer f.remove(client)
			f.relay(ctx, client)
		})
	}
}

func (f *front) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	_ = f.listener.Close()
	for client := range f.clients {
		_ = client.Close()
	}
}

func (f *front) add(client net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return false
	}
	f.clients[client] = struct{}{}
	return true
}

func (f *front) remove(client net.Conn) {
	_ = client.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.clients, client)
}

// relay serves one client to the end of both directions.
func (f *front) relay(ctx context.Context, client net.Conn) {
	if f.encrypt != nil {
		client = f.encrypt(client)
	}
	var first []byte
	if f.admit != nil {
		var err error
		if first, err = f.admit(ctx, client); err != nil {
			return
		}
	}
	upstream, err := f.dial(ctx)
	if err != nil {
		return
	}
	_, _ = upstream.Write(first)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// An error of either side ends the sending in the same way: upstream sees the end of the
		// stream.
		_, _ = io.Copy(upstream, client)
		_ = upstream.CloseWrite()
	}()
	_, _ = io.Copy(client, upstream)
	// The client may have disconnected, so the rest of upstream's data is read and dropped.
	_, _ = io.Copy(io.Discard, upstream)
	_ = client.Close()
	<-sent
	_ = upstream.Close()
}

// dial connects to upstream and waits while it restarts.
func (f *front) dial(ctx context.Context) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, upstreamPatience)
	defer cancel()
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "tcp", f.target())
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
