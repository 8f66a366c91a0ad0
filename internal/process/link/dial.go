package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Dialer opens connections under the rule of this package. It is safe for concurrent use.
type Dialer struct {
	TLS      *tls.Config // nil for plain text
	Insecure Insecure
	Timeout  time.Duration // for the connection with its handshake; 0 for none
	Write    time.Duration // for each write, for clients that set no deadline themselves; 0 for none
	Names    Names
	Cure     string                    // how to encrypt a plain-text link
	Seen     func(tls.ConnectionState) // called for every handshake; may be nil
}

// Dial connects to address. A failed handshake is an error, never a reason to continue without one.
// Plain text off loopback is refused unless it is allowed, even if another server named the
// address.
func (d Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	security := PlainText
	if d.TLS != nil {
		security = Verified // or the settings allowed less: then the rule was applied to them
	}
	if err := d.Insecure.Allow(security, []string{address}, d.Names.Address, d.Cure); err != nil {
		return nil, err
	}
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	var plain net.Dialer
	conn, err := plain.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok && d.Write > 0 {
		conn = &hurried{TCPConn: tcp, most: d.Write}
	}
	if d.TLS == nil {
		return conn, nil
	}
	config := d.TLS
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = hostOf(address)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error takes precedence
		if HungUp(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, fmt.Errorf(
				"the server does not answer the handshake: does it speak TLS at the port of %s? %w", d.Names.Address,
				err,
			)
		}
		return nil, Explain(err, d.Names)
	}
	if d.Seen != nil {
		d.Seen(secure.ConnectionState())
	}
	return secure, nil
}

// hurried is a connection whose writes are bounded. Without a bound a write to a server that went
// away lasts as long as the kernel tries, a quarter of an hour.
type hurried struct {
	*net.TCPConn
	most time.Duration

	mu    sync.Mutex
	limit time.Time // the client's own deadline
}

func (c *hurried) Write(b []byte) (int, error) {
	until := time.Now().Add(c.most)
	c.mu.Lock()
	if !c.limit.IsZero() && c.limit.Before(until) {
		until = c.limit
	}
	c.mu.Unlock()
	if err := c.TCPConn.SetWriteDeadline(until); err != nil {
		return 0, err
	}
	return c.TCPConn.Write(b)
}

func (c *hurried) SetDeadline(t time.Time) error {
	c.keep(t)
	return c.TCPConn.SetDeadline(t)
}

func (c *hurried) SetWriteDeadline(t time.Time) error {
	c.keep(t)
	return c.TCPConn.SetWriteDeadline(t)
}

func (c *hurried) keep(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
}
