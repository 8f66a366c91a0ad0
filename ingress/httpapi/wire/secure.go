package wire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
)

// proxySignature begins a header of the PROXY protocol, version 2. Version, family and the length
// of the rest follow.
const (
	proxySignature = "\r\n\r\n\x00\r\nQUIT\n"
	proxyFixed     = len(proxySignature) + 4

	// mostProxied bounds the rest in bytes: addresses and the proxy's own fields. A larger length
	// is a mistake, and would allocate memory for bytes that may never come.
	mostProxied = 4 << 10
)

var errNotProxied = errors.New(
	"a peer in ADNET_PROXY_PROTOCOL_FROM sent no header of PROXY protocol version 2",
)

// establish prepares a connection for its first request: it reads the client's address from a
// configured proxy, then does the TLS handshake. Only a configured proxy is trusted: a PROXY header
// from another peer is a malformed request. establish runs in the connection's own goroutine,
// within the time limit of a header.
func (c *conn) establish() error {
	cfg := &c.server.cfg
	if cfg.TLS == nil && cfg.ProxyFrom == nil {
		return nil
	}
	if err := c.Conn.SetDeadline(time.Now().Add(headerTime)); err != nil {
		return err
	}
	if cfg.ProxyFrom != nil && cfg.ProxyFrom(addrOf(c.Conn.RemoteAddr())) {
		if err := c.proxied(); err != nil {
			return err
		}
	}
	if cfg.TLS != nil {
		secure := tls.Server(c.Conn, cfg.TLS)
		if err := secure.Handshake(); err != nil { // the deadline above ends it
			return err
		}
		c.server.conns.encrypt(c, secure)
	}
	c.armed = time.Time{}
	return c.Conn.SetDeadline(time.Time{})
}

// proxied reads the client's address from its proxy. From then on the connection counts for that
// address.
func (c *conn) proxied() error {
	client, err := readProxyHeader(c.Conn)
	if err != nil {
		return err
	}
	if client == nil { // the proxy's own health check
		return nil
	}
	if reply := c.server.conns.rename(c, client); reply != "" {
		if c.server.cfg.TLS == nil {
			_, _ = c.Conn.Write([]byte(reply)) // the client may have left
		}
		return errRefused
	}
	c.peer = client.String()
	return nil
}

// errRefused ends a connection that was rejected with a reply, and counted.
var errRefused = errors.New("too many connections from this address")

// readProxyHeader reads exactly one header. The client is nil for a connection of the proxy itself,
// and for an address that is not an IP address.
func readProxyHeader(from io.Reader) (client *net.TCPAddr, err error) {
	text := make([]byte, proxyFixed, 256)
	if _, err := io.ReadFull(from, text); err != nil || string(text[:len(proxySignature)]) != proxySignature {
		return nil, errors.Join(errNotProxied, err)
	}
	length := int(binary.BigEndian.Uint16(text[proxyFixed-2:]))
	if length > mostProxied {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", errNotProxied, mostProxied)
	}
	text = append(text, make([]byte, length)...)
	if _, err := io.ReadFull(from, text[proxyFixed:]); err != nil {
		return nil, errors.Join(errNotProxied, err)
	}
	header, err := proxyproto.Read(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		return nil, errors.Join(errNotProxied, err)
	}
	if header.Command.IsLocal() {
		return nil, nil
	}
	client, _ = header.SourceAddr.(*net.TCPAddr)
	return client, nil
}
