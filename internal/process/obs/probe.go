package obs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
)

// probeLimit is the time for the answer to a probe. Checks reply from memory.
const probeLimit = 3 * time.Second

// Probe asks the admin listener with these settings on this machine whether its process is ready for
// a need: a name of [NeedNames], or "". It needs no credentials.
func (c AdminConfig) Probe(ctx context.Context, need string) (report Report, err error) {
	address, err := c.probed()
	if err != nil {
		return Report{}, err
	}
	if need != "" {
		address.RawQuery = url.Values{NeedParam: {need}}.Encode()
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return Report{}, err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		// The certificate is not for the name by which this machine calls itself. Nothing secret is
		// sent, and only this machine answers.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	reply, err := client.Do(request)
	if err != nil {
		return Report{}, fmt.Errorf("no process answers at ADNET_ADMIN_ADDR: %w", err)
	}
	defer func() { err = errors.Join(err, reply.Body.Close()) }()
	if err := json.UnmarshalRead(http.MaxBytesReader(nil, reply.Body, 1<<20), &report); err != nil {
		return Report{}, fmt.Errorf("ADNET_ADMIN_ADDR %s is not the admin listener of adnet: %w", c.Addr, err)
	}
	return report, nil
}

// probed returns the address of a probe of the listener from this machine.
func (c AdminConfig) probed() (*url.URL, error) {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("admin address %q: expected host:port", c.Addr)
	}
	if port == "0" {
		return nil, errors.New("ADNET_ADMIN_ADDR has port 0: a probe needs the port of the listener")
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && addr == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && addr == netip.IPv6Unspecified():
		host = "::1"
	}
	scheme := "http"
	if c.Cert != "" {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port), Path: "/readyz"}, nil
}
