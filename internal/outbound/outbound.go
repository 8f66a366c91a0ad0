// Package outbound sends HTTP requests to addresses that strangers name: endpoints of webhooks, and
// later notices of DSPs and pictures to copy.
//
// Contract: a connection goes to a public unicast address or into a network that the operator
// allowed. The address is judged when the socket connects, so neither a name that resolves to
// another address the second time nor a resolver that lies gets around it. Redirects are answers
// and are not followed, no proxy is used, no cookie is stored, and time, headers and body of a
// reply are bounded.
package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"adnet/internal/traffic"
)

// The bounds of every request, whatever its caller asks for.
const (
	MaxURL  = 2048 // bytes of a URL
	maxTime = 30 * time.Second
	maxHead = 16 << 10 // bytes of a reply's headers
	maxBody = 1 << 20  // bytes of a reply's body

	dialTime = 5 * time.Second
	perHost  = 8 // connections
	idle     = 30 * time.Second
)

// Config holds the networks that requests may go into besides public addresses.
type Config struct {
	Networks []string `name:"outbound-networks" env:"ADNET_OUTBOUND_NETWORKS" default:"${outbound_networks}" help:"Private networks that requests to addresses of strangers (webhooks) may enter, like 10.1.0.0/16. Requests go to public addresses otherwise, and only these networks accept http without TLS."`
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	networks traffic.Networks
	tls      *http.Transport // to public addresses and to the operator's networks
	plain    *http.Transport // to the operator's networks only
}

// New returns a client. Errors: a text of cfg that is no network.
func New(cfg Config) (*Client, error) { return with(cfg, nil, nil) }

// with is New with a resolver and the roots of TLS; nil stands for those of the system.
func with(cfg Config, resolver *net.Resolver, secure *tls.Config) (*Client, error) {
	var texts []string
	for _, text := range cfg.Networks {
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	networks, err := traffic.ParseNetworks(texts)
	if err != nil {
		return nil, fmt.Errorf("ADNET_OUTBOUND_NETWORKS: %w", err)
	}
	c := &Client{networks: networks}
	c.tls = transport(resolver, secure, func(a netip.Addr) bool { return Public(a) || c.allows(a) })
	c.plain = transport(resolver, secure, c.allows)
	return c, nil
}

// allows reports whether the operator opened a network with the address.
func (c *Client) allows(a netip.Addr) bool { return a.Zone() == "" && c.networks.Contain(a) }

func transport(resolver *net.Resolver, secure *tls.Config, may func(netip.Addr) bool) *http.Transport {
	dialer := &net.Dialer{
		Timeout: dialTime, Resolver: resolver,
		// Control runs for each socket with the address that it is about to connect to: after
		// resolving, so nothing can change the address between the check and its use.
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !may(to.Addr()) {
				return &RefusedError{Address: address}
			}
			return nil
		},
	}
	return &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, TLSClientConfig: secure, TLSHandshakeTimeout: dialTime,
		MaxConnsPerHost: perHost, MaxIdleConns: 64, MaxIdleConnsPerHost: 1, IdleConnTimeout: idle,
		MaxResponseHeaderBytes: maxHead, DisableCompression: true, // a small body stays small
	}
}

// RefusedError is the error for an address that no request may go to.
type RefusedError struct{ Address string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the address %s is not public and not in ADNET_OUTBOUND_NETWORKS", e.Address)
}

// Check reports what is wrong with a URL that a stranger named, before it is stored. A name is not
// resolved: the answer could change. Errors are complete sentences without their subject.
func (c *Client) Check(text string) error {
	if len(text) > MaxURL {
		return fmt.Errorf("must have at most %d bytes", MaxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("must be an absolute URL, like https://example.com/hook")
	case u.User != nil:
		return errors.New("must not contain a user name or password")
	case u.Fragment != "":
		return errors.New("must not contain a fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || len(c.networks) == 0):
		return errors.New("must begin with https://")
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err == nil && !c.allows(addr) && (u.Scheme == "http" || !Public(addr)) {
		return fmt.Errorf("must name a public address with https://, and %s is none", addr)
	}
	return nil
}

// Request is one request.
type Request struct {
	Method  string
	URL     string
	Header  http.Header
	Body    []byte
	Timeout time.Duration // of everything, at most 30 s; 0 means that
	Most    int64         // bytes to read of the reply's body, at most 1 MiB
}

// Response is a reply. Cut reports whether the body was longer than the request allowed.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Cut    bool
}

// Do sends r and reads the reply. A redirect is a reply like any other. Errors: those of [Client.Check],
// [RefusedError] for an address that is not allowed, and those of the connection.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	if err := c.Check(r.URL); err != nil {
		return Response{}, fmt.Errorf("the URL %w", err)
	}
	limit := maxTime
	if r.Timeout > 0 {
		limit = min(limit, r.Timeout)
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, err
	}
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	// A transport, unlike a client, follows no redirect and has no cookies.
	by := c.tls
	if request.URL.Scheme == "http" {
		by = c.plain
	}
	reply, err := by.RoundTrip(request)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = reply.Body.Close() }()
	return read(reply, max(0, min(r.Most, maxBody)))
}

// read reads at most most bytes of the body. The transport closes a connection whose body was not
// read to its end, so nothing waits for the rest.
func read(reply *http.Response, most int64) (Response, error) {
	body, err := io.ReadAll(io.LimitReader(reply.Body, most+1))
	r := Response{Status: reply.StatusCode, Header: reply.Header, Body: body}
	if int64(len(body)) > most {
		r.Body, r.Cut = body[:most], true
		return r, nil
	}
	return r, err
}

// Close closes the idle connections.
func (c *Client) Close() {
	c.tls.CloseIdleConnections()
	c.plain.CloseIdleConnections()
}
