package wire_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi/wire"
	"adnet/internal/process/link"
	"adnet/internal/testenv/linktest"
)

// sayPeer answers with the address of the client.
func sayPeer(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "peer=%s", r.RemoteAddr) }

// proxyHeader is a header of the PROXY protocol for a client.
func proxyHeader(t *testing.T, version byte, command proxyproto.ProtocolVersionAndCommand, client string) string {
	t.Helper()
	header := &proxyproto.Header{
		Version: version, Command: command, TransportProtocol: proxyproto.TCPv4,
		SourceAddr:      net.TCPAddrFromAddrPort(netip.MustParseAddrPort(client)),
		DestinationAddr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:443")),
	}
	text, err := header.Format()
	require.NoError(t, err)
	return string(text)
}

// send writes text, then a request, and gives what came back: the first line and the body.
func send(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	for _, piece := range []string{text, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		if _, err := conn.Write([]byte(piece)); err != nil {
			return "closed"
		}
	}
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "closed"
	}
	defer reply.Body.Close()
	body := make([]byte, 100)
	n, _ := reply.Body.Read(body)
	return fmt.Sprint(reply.StatusCode, " ", string(body[:n]))
}

func everybody(netip.Addr) bool { return true }
func nobody(netip.Addr) bool    { return false }

// The header of a named peer is required and believed; anybody else's is a malformed request.
func TestProxyProtocol(t *testing.T) {
	const client = "203.0.113.7:5000"
	v2 := proxyHeader(t, 2, proxyproto.PROXY, client)
	long := v2[:14] + "\xff\xff" + strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		from  func(netip.Addr) bool
		sent  string
		reply string
	}{
		"named peer":                  {everybody, v2, "200 peer=" + client},
		"named peer, its own request": {everybody, proxyHeader(t, 2, proxyproto.LOCAL, client), "200 peer=127.0.0.1:"},
		"named peer without a header": {everybody, "", "closed"},
		"named peer, version 1":       {everybody, proxyHeader(t, 1, proxyproto.PROXY, client), "closed"},
		"named peer, too long":        {everybody, long, "closed"},
		"unnamed peer":                {nobody, v2, "400 refused"},
		"unnamed peer, version 1":     {nobody, proxyHeader(t, 1, proxyproto.PROXY, client), "400 refused"},
		"unnamed peer without":        {nobody, "", "200 peer=127.0.0.1:"},
		"switched off":                {nil, v2, "400 refused"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			serveOn(t, l, wire.Config{Handler: http.HandlerFunc(sayPeer), ProxyFrom: c.from})
			conn, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(send(t, conn, c.sent), c.reply), "%q", c.reply)
		})
	}
}

// A client behind a proxy is bounded like any other.
func TestProxiedClientsAreCounted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := serveOn(
		t, l,
		wire.Config{
			Handler: http.HandlerFunc(sayPeer), ProxyFrom: everybody, Uncounted: everybodyButClients, ConnsPerAddr: 2,
		},
	)
	var stored []net.Conn
	for i := range 3 {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		_, err = conn.Write([]byte(proxyHeader(t, 2, proxyproto.PROXY, fmt.Sprintf("203.0.113.7:%d", 5000+i))))
		require.NoError(t, err)
		stored = append(stored, conn)
		require.Eventually(
			t, func() bool { return s.Counts().Open.Load() >= int64(min(i+1, 2)) }, 5*time.Second, 5*time.Millisecond,
		)
		time.Sleep(20 * time.Millisecond)
	}
	reply, err := http.ReadResponse(bufio.NewReader(stored[2]), nil)
	require.NoError(t, err)
	reply.Body.Close()
	require.Equal(t, http.StatusTooManyRequests, reply.StatusCode)
	require.EqualValues(t, 1, s.Counts().RefusedAddr.Load())
	other, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	require.Equal(t, "200 peer=203.0.113.8:1", send(t, other, proxyHeader(t, 2, proxyproto.PROXY, "203.0.113.8:1")))
}

func everybodyButClients(addr netip.Addr) bool { return addr.IsLoopback() }

// serveTLS starts a server with TLS over sayPeer.
func serveTLS(t *testing.T, from func(netip.Addr) bool) (port string, a *linktest.Authority) {
	t.Helper()
	a, err := linktest.NewAuthority(t.TempDir(), "ca")
	require.NoError(t, err)
	require.NoError(t, a.Issue(linktest.Wish{File: "server", Hosts: []string{"localhost"}}))
	pair, err := link.OpenPair(a.File("server.pem"), a.File("server.key"), nil)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, l, wire.Config{Handler: http.HandlerFunc(sayPeer), TLS: pair.Listen(), ProxyFrom: from})
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port, a
}

// believing is the TLS of a client that believes a.
func believing(t *testing.T, a *linktest.Authority) *tls.Config {
	t.Helper()
	config, err := link.Files{CA: a.CA()}.Client(link.NamesOf("ADNET_X", "ADNET_X"))
	require.NoError(t, err)
	config.ServerName = "localhost"
	return config
}

func TestTLS(t *testing.T) {
	port, a := serveTLS(t, nil)
	transport := &http.Transport{TLSClientConfig: believing(t, a)}
	client := &http.Client{Transport: transport}
	defer transport.CloseIdleConnections()
	for range 3 { // the second on the same connection
		reply, err := client.Get("https://localhost:" + port + "/")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, reply.StatusCode)
		require.NotNil(t, reply.TLS)
		require.GreaterOrEqual(t, reply.TLS.Version, uint16(tls.VersionTLS12))
		buffer := make([]byte, 100)
		n, _ := reply.Body.Read(buffer)
		require.Contains(t, string(buffer[:n]), "peer=127.0.0.1:")
		reply.Body.Close()
	}
	body := strings.NewReader(strings.Repeat("x", 100_000))
	reply, err := client.Post("https://localhost:"+port+"/", "text/plain", body)
	require.NoError(t, err)
	reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)

	old := believing(t, a)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	_, err = tls.Dial("tcp", "localhost:"+port, old)
	require.Error(t, err, "TLS 1.1")
	plain, err := net.Dial("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	require.Equal(t, "closed", send(t, plain, ""), "plain text is not answered")
}

// A renewed certificate is shown to the next client; the connections that are there go on.
func TestTLSShowsTheRenewedCertificate(t *testing.T) {
	port, a := serveTLS(t, nil)
	visible := func() string {
		conn, err := tls.Dial("tcp", "localhost:"+port, believing(t, a))
		require.NoError(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := visible()
	open, err := tls.Dial("tcp", "localhost:"+port, believing(t, a))
	require.NoError(t, err)
	require.NoError(t, a.Issue(linktest.Wish{File: "server", Hosts: []string{"localhost"}}))
	require.Eventually(t, func() bool { return visible() != first }, 5*time.Second, 100*time.Millisecond)
	require.True(t, strings.HasPrefix(send(t, open, ""), "200 "))
}

// A client that never ends its handshake is closed like one that never ends its header, and hinders
// nobody.
func TestStalledHandshake(t *testing.T) {
	port, a := serveTLS(t, nil)
	stalled, err := net.Dial("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	defer stalled.Close()
	conn, err := tls.Dial("tcp", "localhost:"+port, believing(t, a))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(send(t, conn, ""), "200 "))
	require.NoError(t, stalled.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = stalled.Read(make([]byte, 1))
	var timeout net.Error
	require.False(t, err == nil || (errors.As(err, &timeout) && timeout.Timeout()), "still open after 10 s")
}

// With both, the header comes before the handshake.
func TestProxyProtocolBeforeTLS(t *testing.T) {
	port, a := serveTLS(t, everybody)
	plain, err := net.Dial("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	_, err = plain.Write([]byte(proxyHeader(t, 2, proxyproto.PROXY, "203.0.113.7:5000")))
	require.NoError(t, err)
	require.Equal(t, "200 peer=203.0.113.7:5000", send(t, tls.Client(plain, believing(t, a)), ""))
}
