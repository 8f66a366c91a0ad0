package httpapi_test

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	proxyproto "github.com/pires/go-proxyproto"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/internal/process/link"
	"adnet/internal/testenv/linktest"
)

// TestHTTPS asks the listener as a client behind a proxy that speaks the PROXY protocol does.
func TestHTTPS(t *testing.T) {
	a, err := linktest.NewAuthority(t.TempDir(), "ca")
	require.NoError(t, err)
	require.NoError(t, a.Issue(linktest.Wish{File: "server", Hosts: []string{"localhost"}}))
	cfg := local(time.Second)
	cfg.TLSCert, cfg.TLSKey, cfg.ProxyFrom = a.File("server.pem"), a.File("server.key"), []string{"127.0.0.0/8"}
	s := server(t, cfg)
	client := ""
	s.Handle(http.MethodGet, "/who", httpapi.Plain(func(c *gin.Context) error {
		client = c.ClientIP()
		return httpapi.JSON(c, http.StatusOK, map[string]any{})
	}), open)
	listening(t, s)
	require.Equal(t, "https://"+s.Addr(), s.BaseURL())

	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer conn.Close()
	header := &proxyproto.Header{
		Version: 2, Command: proxyproto.PROXY, TransportProtocol: proxyproto.TCPv4,
		SourceAddr:      net.TCPAddrFromAddrPort(netip.MustParseAddrPort("203.0.113.7:5000")),
		DestinationAddr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:443")),
	}
	_, err = header.WriteTo(conn)
	require.NoError(t, err)
	config, err := link.Files{CA: a.CA()}.Client(link.NamesOf("ADNET_X", "ADNET_X"))
	require.NoError(t, err)
	config.ServerName = "localhost"
	secure := tls.Client(conn, config)
	_, err = secure.Write([]byte("GET /who HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 198.51.100.1\r\n\r\n"))
	require.NoError(t, err)
	reply, err := http.ReadResponse(bufio.NewReader(secure), nil)
	require.NoError(t, err)
	reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
	require.Equal(t, "203.0.113.7", client)
}
