package mail

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// server is an SMTP server that takes one mail a connection and hands its text on.
func server(t *testing.T) (port int, mails chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	mails = make(chan string, 8)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go speak(conn, mails)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, mails
}

func speak(conn net.Conn, mails chan string) {
	defer conn.Close()
	say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
	say("220 test")
	in, data := bufio.NewScanner(conn), (*strings.Builder)(nil)
	for in.Scan() {
		line := in.Text()
		switch {
		case data != nil && line == ".":
			mails <- data.String()
			data = nil
			say("250 kept")
		case data != nil:
			data.WriteString(line + "\n")
		case line == "DATA":
			data = &strings.Builder{}
			say("354 go on")
		case line == "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func TestSend(t *testing.T) {
	port, mails := server(t)
	s, err := New(
		Config{Host: "127.0.0.1", Port: port, TLS: "off", From: "adnet <no-reply@ads.example>"},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Pause: time.Millisecond},
	)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.Send("not an address", "", "") // given up, and the next one is sent
	s.Send("a@example.com", "Hello", "A link")
	select {
	case text := <-mails:
		require.Contains(t, text, "Subject: Hello")
		require.Contains(t, text, "To: <a@example.com>")
		require.Contains(t, text, "A link")
	case <-time.After(10 * time.Second):
		t.Fatal("no mail came")
	}
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// A full queue and a server that is away delay no call.
func TestNothingWaits(t *testing.T) {
	s, err := New(
		Config{Host: "127.0.0.1", Port: 1, From: "a@ads.example"},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	for range 2 * queued {
		s.Send("a@example.com", "", "")
	}
	require.Len(t, s.queue, queued)
}

func TestSettings(t *testing.T) {
	for _, c := range []Config{
		{Host: "x"}, {Host: "x", From: "no address"}, {Host: "x", From: "a@ads.example", Port: 1 << 20},
	} {
		_, err := New(c, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
		require.ErrorContains(t, err, "ADNET_SMTP_", "%+v", c)
	}
}
