package link_test

import (
	"crypto/tls"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/process/link"
	"adnet/internal/testenv/linktest"
)

func TestLocal(t *testing.T) {
	for address, local := range map[string]bool{
		"127.0.0.1:6379": true, "127.8.9.1:1": true, "[::1]:5432": true, "[::ffff:127.0.0.1]:1": true,
		"localhost:9092": true, "LocalHost.": true,
		"db.localhost:1": true, "/var/run/postgresql": true, ":6379": true,
		"10.0.0.1:6379": false, "redis:6379": false, "localhost.example:1": false, "[2001:db8::1]:1": false,
		"0.0.0.0:1": false, "127.0.0.1.example:1": false,
	} {
		require.Equal(t, local, link.Local(address), address)
	}
	require.False(t, link.LocalListener(":8081"), "all networks")
	require.False(t, link.LocalListener("0.0.0.0:8081"))
	require.True(t, link.LocalListener("127.0.0.1:8081"))
}

// Off loopback a link is encrypted and proven, unless the operator has said otherwise.
func TestAllow(t *testing.T) {
	const here, away = "127.0.0.1:1", "10.0.0.1:1"
	for _, c := range []struct {
		security link.Security
		to       []string
		ok       bool
	}{
		{link.PlainText, []string{here}, true}, {link.Unverified, []string{here}, true},
		{link.Verified, []string{away}, true},
		{link.PlainText, []string{here, away}, false}, {link.Unverified, []string{away}, false},
	} {
		err := link.Insecure(false).Allow(c.security, c.to, "ADNET_X_ADDR", "encrypt it")
		require.NoError(t, link.Insecure(true).Allow(c.security, c.to, "ADNET_X_ADDR", "encrypt it"))
		if c.ok {
			require.NoError(t, err)
			continue
		}
		require.True(t, link.Permanent(err))
		for _, says := range []string{"ADNET_X_ADDR", away, "encrypt it", "--insecure", "ADNET_INSECURE=true"} {
			require.ErrorContains(t, err, says)
		}
	}
}

// authorities are two authorities with a server's certificate for localhost and a client's each.
func authorities(t *testing.T) (good, other *linktest.Authority) {
	t.Helper()
	created := [2]*linktest.Authority{}
	for i := range created {
		a, err := linktest.NewAuthority(t.TempDir(), "ca")
		require.NoError(t, err)
		require.NoError(t, a.Issue(linktest.Wish{File: "server", Hosts: []string{"localhost"}}))
		require.NoError(t, a.Issue(linktest.Wish{File: "client", Name: "adnet"}))
		created[i] = a
	}
	return created[0], created[1]
}

// serve answers one byte to every connection.
func serve(t *testing.T, config *tls.Config) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Write([]byte("+OK\r\n"))
				_, _ = conn.Read(make([]byte, 1)) // until the client leaves
				_ = conn.Close()
			}()
		}
	}()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

func TestDial(t *testing.T) {
	good, other := authorities(t)
	pair, err := link.OpenPair(good.File("server.pem"), good.File("server.key"), nil)
	require.NoError(t, err)
	require.NoError(
		t,
		good.Issue(linktest.Wish{File: "expired", Hosts: []string{"localhost"}, From: -48 * time.Hour, For: time.Hour}),
	)
	expired, err := link.OpenPair(good.File("expired.pem"), good.File("expired.key"), nil)
	require.NoError(t, err)
	secure, late, plain := serve(t, pair.Listen()), serve(t, expired.Listen()), serve(t, nil)
	names := link.NamesOf("ADNET_X", "ADNET_X_ADDR")
	for name, c := range map[string]struct{ ca, to, says string }{
		"right":             {good.CA(), "localhost:" + secure, ""},
		"another authority": {other.CA(), "localhost:" + secure, "ADNET_X_CA"},
		"another name":      {good.CA(), "127.0.0.1:" + secure, "ADNET_X_ADDR"},
		"expired":           {good.CA(), "localhost:" + late, "renew it"},
		"plain text":        {good.CA(), "localhost:" + plain, "does not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := link.Files{CA: c.ca}.Client(names)
			require.NoError(t, err)
			conn, err := link.Dialer{TLS: config, Names: names, Timeout: 5 * time.Second}.Dial(t.Context(), "tcp", c.to)
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, conn.Close())
				return
			}
			require.True(t, link.Permanent(err), "%v", err)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// An address that another server named does not get around the rule.
func TestDialRefusesPlainTextElsewhere(t *testing.T) {
	_, err := link.Dialer{
		Names: link.NamesOf("ADNET_X", "ADNET_X_ADDR"), Timeout: 100 * time.Millisecond,
	}.Dial(t.Context(), "tcp", "192.0.2.1:6379")
	require.True(t, link.Permanent(err), "%v", err)
	require.ErrorContains(t, err, "--insecure")
}

// A server that reads nothing does not hold a write for longer than either bound.
func TestDialBoundsWrites(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close() // connections wait in its queue
	for name, c := range map[string]struct{ most, own time.Duration }{
		"the dialer's": {100 * time.Millisecond, time.Minute}, "the client's": {time.Minute, 100 * time.Millisecond},
		"one alone": {100 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := link.Dialer{Write: c.most}.Dial(t.Context(), "tcp", silent.Addr().String())
			require.NoError(t, err)
			defer conn.Close()
			if c.own > 0 {
				require.NoError(t, conn.SetDeadline(time.Now().Add(c.own)))
			}
			began := time.Now()
			_, err = conn.Write(make([]byte, 64<<20))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Less(t, time.Since(began), 30*time.Second)
		})
	}
}

func TestFiles(t *testing.T) {
	good, other := authorities(t)
	names := link.NamesOf("ADNET_X", "ADNET_X_ADDR")
	for name, c := range map[string]struct {
		files link.Files
		says  string
	}{
		"no such file":   {link.Files{CA: "/does/not/exist"}, "ADNET_X_CA"},
		"no certificate": {link.Files{CA: good.File("server.key")}, "ADNET_X_CA"},
		"no key":         {link.Files{Cert: good.File("client.pem")}, "ADNET_X_KEY"},
		"another's key":  {link.Files{Cert: good.File("client.pem"), Key: other.File("client.key")}, "ADNET_X_CERT"},
	} {
		_, err := c.files.Client(names)
		require.ErrorContains(t, err, c.says, name)
	}
}

// A renewed certificate is shown without a restart; files that do not fit together are told once,
// and the old certificate stays.
func TestPairIsReadAgain(t *testing.T) {
	good, other := authorities(t)
	var reported []error
	pair, err := link.OpenPair(
		good.File("server.pem"), good.File("server.key"), func(_ time.Time, err error) { reported = append(reported, err) },
	)
	require.NoError(t, err)
	first := pair.Current().Leaf.SerialNumber
	serial := func() string { return pair.Current().Leaf.SerialNumber.String() }

	foreign, err := os.ReadFile(other.File("server.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(good.File("server.key"), foreign, 0o600))
	require.Eventually(
		t, func() bool { return serial() == first.String() && len(reported) == 1 }, 5*time.Second, 50*time.Millisecond,
	)
	require.Error(t, reported[0])
	require.Never(t, func() bool { serial(); return len(reported) > 1 }, 1200*time.Millisecond, 100*time.Millisecond)

	require.NoError(t, good.Issue(linktest.Wish{File: "server", Hosts: []string{"localhost"}}))
	require.Eventually(t, func() bool { return serial() != first.String() }, 5*time.Second, 50*time.Millisecond)
	require.NoError(t, reported[len(reported)-1])
}
