package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

func TestPublic(t *testing.T) {
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "192.0.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111",
		"2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
	} {
		require.True(t, Public(netip.MustParseAddr(text)), text)
	}
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "2606:4700::1111%eth0", "fc00::1", "fd00:ec2::254",
		"fec0::1", "ff02::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "5f00::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0.0.0.0", "::ffff:169.254.169.254",
		"64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "::ffff:0:127.0.0.1",
	} {
		require.False(t, Public(netip.MustParseAddr(text)), text)
	}
	require.False(t, Public(netip.Addr{}))
}

func TestCheckedURLs(t *testing.T) {
	closed, err := New(Config{})
	require.NoError(t, err)
	open, err := New(Config{Networks: []string{" 10.1.0.0/16", ""}})
	require.NoError(t, err)
	for _, text := range []string{
		"https://example.com/hook?a=b", "https://example.com:8443", "https://8.8.8.8/", "https://[2606:4700::1111]/",
	} {
		require.NoError(t, closed.Check(text), text)
		require.NoError(t, open.Check(text), text)
	}
	for _, text := range []string{
		"", "example.com", "//example.com", "mailto:a@example.com", "https:example.com", "https://",
		"ftp://example.com", "file:///etc/passwd", "https://user@example.com/", "https://a:b@example.com/",
		"https://example.com/#x", "https://example.com/\x00", "https://127.0.0.1/", "https://[::1]/", "https://10.2.0.1/",
		"https://[::ffff:127.0.0.1]/", "https://169.254.169.254/", "http://8.8.8.8/",
		"https://example.com/" + strings.Repeat("x", MaxURL),
	} {
		require.Error(t, closed.Check(text), text)
		require.Error(t, open.Check(text), text)
	}
	require.Error(t, closed.Check("http://example.com/"))
	require.NoError(t, open.Check("http://hooks.internal/"), "the socket decides")
	require.NoError(t, open.Check("http://10.1.2.3/"))
	require.Error(t, closed.Check("https://10.1.2.3/"))
	_, err = New(Config{Networks: []string{"here"}})
	require.ErrorContains(t, err, "ADNET_OUTBOUND_NETWORKS")
}

// resolving returns a resolver that answers every name with the addresses that answer returns.
func resolving(t *testing.T, answer func() []netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil {
				continue
			}
			m.Response, m.Authoritative, m.Additionals = true, true, nil
			for _, a := range answer() {
				h := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET}
				switch kind := m.Questions[0].Type; {
				case kind == dnsmessage.TypeA && a.Is4():
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
				case kind == dnsmessage.TypeAAAA && a.Is6():
					m.Answers = append(
						m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}},
					)
				}
			}
			packed, _ := m.Pack()
			_, _ = server.WriteTo(packed, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// listening is a server whose requests are counted, and a client that trusts its certificate.
func listening(t *testing.T, secure bool, h http.HandlerFunc) (port string, hits *atomic.Int64, trust *tls.Config) {
	t.Helper()
	hits = new(atomic.Int64)
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits.Add(1); h(w, r) })
	s := httptest.NewUnstartedServer(counted)
	s.Config.ErrorLog = nil
	if secure {
		s.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		trust = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	return port, hits, trust
}

func get(url string) Request {
	return Request{Method: http.MethodGet, URL: url, Timeout: 5 * time.Second, Most: 64}
}

func TestNamesOfPrivateAddressesAreRefused(t *testing.T) {
	port, hits, trust := listening(t, true, func(http.ResponseWriter, *http.Request) {})
	for _, address := range []string{
		"127.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1", "fe80::1", "64:ff9b::7f00:1",
	} {
		at := netip.MustParseAddr(address)
		c, err := with(Config{}, resolving(t, func() []netip.Addr { return []netip.Addr{at} }), trust)
		require.NoError(t, err)
		_, err = c.Do(t.Context(), get("https://example.com:"+port+"/"))
		var refused *RefusedError
		require.ErrorAs(t, err, &refused, address)
	}
	require.Zero(t, hits.Load(), "no packet reached the private address")
}

// A name that answers with an allowed address first and with a private one later gains nothing: the
// address of each connection is judged.
func TestRebindingIsRefused(t *testing.T) {
	port, hits, trust := listening(t, true, func(http.ResponseWriter, *http.Request) {})
	var answers atomic.Int64
	resolver := resolving(t, func() []netip.Addr {
		if answers.Add(1) <= 2 { // A and AAAA of the first request
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	})
	c, err := with(Config{Networks: []string{"192.0.2.0/24"}}, resolver, trust)
	require.NoError(t, err)
	first := get("https://example.com:" + port + "/")
	first.Timeout = 50 * time.Millisecond
	_, err = c.Do(t.Context(), first)
	var refused *RefusedError
	require.Error(t, err)
	require.False(t, errors.As(err, &refused), "the first answer is allowed, and nothing listens there: %v", err)
	_, err = c.Do(t.Context(), get("https://example.com:"+port+"/"))
	require.ErrorAs(t, err, &refused)
	require.Zero(t, hits.Load())
}

func TestAllowedNetworks(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }
	plain, _, _ := listening(t, false, answer)
	secure, _, trust := listening(t, true, answer)
	loopback := func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }
	c, err := with(Config{Networks: []string{"127.0.0.0/8"}}, resolving(t, loopback), trust)
	require.NoError(t, err)
	defer c.Close()
	for _, url := range []string{"http://example.com:" + plain, "https://example.com:" + secure, "http://127.0.0.1:" + plain} {
		got, err := c.Do(t.Context(), get(url))
		require.NoError(t, err, url)
		require.Equal(t, 200, got.Status)
		require.Equal(t, "here", string(got.Body))
	}
	elsewhere, err := with(Config{Networks: []string{"10.0.0.0/8"}}, resolving(t, loopback), trust)
	require.NoError(t, err)
	_, err = elsewhere.Do(t.Context(), get("http://example.com:"+plain))
	var refused *RefusedError
	require.ErrorAs(t, err, &refused, "plain text goes into the operator's networks only")
}

func local(t *testing.T) *Client {
	t.Helper()
	c, err := New(Config{Networks: []string{"127.0.0.0/8"}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestRedirectsAreAnswers(t *testing.T) {
	port, hits, _ := listening(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		http.Redirect(w, r, "/further", http.StatusTemporaryRedirect)
	})
	got, err := local(t).Do(t.Context(), get("http://127.0.0.1:"+port+"/"))
	require.NoError(t, err)
	require.Equal(t, http.StatusTemporaryRedirect, got.Status)
	require.EqualValues(t, 1, hits.Load())
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	port, hits, _ := listening(t, false, func(http.ResponseWriter, *http.Request) {})
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+port)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:"+port)
	c, err := with(Config{Networks: []string{"127.0.0.0/8"}}, resolving(t, func() []netip.Addr { return nil }), nil)
	require.NoError(t, err)
	_, err = c.Do(t.Context(), get("https://example.com/"))
	require.Error(t, err)
	require.Zero(t, hits.Load())
}

func TestSlowRepliesEnd(t *testing.T) {
	done := make(chan struct{})
	port, _, _ := listening(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-done:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(done) })
	c := local(t)
	for _, path := range []string{"/silent", "/drip"} {
		r := get("http://127.0.0.1:" + port + path)
		r.Timeout = 50 * time.Millisecond
		_, err := c.Do(t.Context(), r)
		require.ErrorIs(t, err, context.DeadlineExceeded, path)
	}
}

func TestHugeRepliesAreCut(t *testing.T) {
	port, _, _ := listening(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/headers" {
			w.Header().Set("X-Long", strings.Repeat("x", 2*maxHead))
		}
		for range 64 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<16))
		}
	})
	c := local(t)
	got, err := c.Do(t.Context(), get("http://127.0.0.1:"+port+"/"))
	require.NoError(t, err)
	require.True(t, got.Cut)
	require.Len(t, got.Body, 64)
	most := get("http://127.0.0.1:" + port + "/")
	most.Most = 1 << 40
	got, err = c.Do(t.Context(), most)
	require.NoError(t, err)
	require.Len(t, got.Body, maxBody)
	_, err = c.Do(t.Context(), get("http://127.0.0.1:"+port+"/headers"))
	require.Error(t, err)
}
