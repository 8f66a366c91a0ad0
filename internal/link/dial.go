package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Dialer opens connections under the rule of this package. It is safe for concurrent use.
type Dialer struct {
	TLS      *tls.Config // nil for plain text
	Insecure Insecure
	Timeout  time.Duration // for the connection with its handshake; 0 for none
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
	if err != nil || d.TLS == nil {
		return conn, err
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
