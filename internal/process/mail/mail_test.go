package mail

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
)

// server is an SMTP server that takes one mail a connection and hands its text on. It answers the
// recipients of refuse.example with 550, those of busy.example with 450, and does not answer those
// of slow.example.
type server struct {
	port  int
	mails chan string
	end   chan struct{} // closed when slow.example answers
	mu    sync.Mutex
	tried map[string]int // by domain
}

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s := &server{
		port: l.Addr().(*net.TCPAddr).Port, mails: make(chan string, 64), end: make(chan struct{}),
		tried: map[string]int{},
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.speak(conn)
		}
	}()
	return s
}

func (s *server) tries(domain string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried[domain]
}

// recipient answers a RCPT command.
func (s *server) recipient(line string) string {
	_, domain, _ := strings.Cut(strings.TrimSuffix(line, ">"), "@")
	s.mu.Lock()
	s.tried[domain]++
	s.mu.Unlock()
	switch domain {
	case "refuse.example":
		return "550 no such user"
	case "busy.example":
		return "450 try again"
	case "slow.example", "sub.slow.example":
		<-s.end
	}
	return "250 ok"
}

func (s *server) speak(conn net.Conn) {
	defer conn.Close()
	say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
	say("220 test")
	in, data := bufio.NewScanner(conn), (*strings.Builder)(nil)
	for in.Scan() {
		line := in.Text()
		switch {
		case data != nil && line == ".":
			s.mails <- data.String()
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
		case strings.HasPrefix(line, "RCPT"):
			say(s.recipient(line))
		default:
			say("250 ok")
		}
	}
}

// running returns a Sender that runs until the test ends.
func running(t *testing.T, port int, pause time.Duration) *Sender {
	t.Helper()
	s, err := New(
		Config{Host: "127.0.0.1", Port: port, TLS: "off", From: "adnet <no-reply@ads.example>"},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Pause: pause},
	)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	return s
}

func (s *Sender) count(result string) int {
	return int(testutil.ToFloat64(s.sent.WithLabelValues(result)))
}

func TestSend(t *testing.T) {
	server := newServer(t)
	s := running(t, server.port, time.Millisecond)
	s.Send(account.Letter{To: "not an address"}) // given up
	s.Send(account.Letter{To: "a@example.com", Subject: "Hello", Text: "A link"})
	select {
	case text := <-server.mails:
		require.Contains(t, text, "Subject: Hello")
		require.Contains(t, text, "To: <a@example.com>")
		require.Contains(t, text, "A link")
	case <-time.After(10 * time.Second):
		t.Fatal("no mail came")
	}
	require.Eventually(t, func() bool { return s.count("failed") == 1 }, 10*time.Second, time.Millisecond)
}

// Mails that a server refuses, puts off or does not answer delay no other: while they wait, others
// are sent.
func TestFailuresDelayNoOther(t *testing.T) {
	server := newServer(t)
	s := running(t, server.port, time.Hour)
	defer close(server.end)
	for n := range 6 {
		for _, domain := range []string{"slow.example", "sub.slow.example"} {
			s.Send(account.Letter{To: "a@" + domain, Network: fmt.Sprint("slow", n)})
		}
		for _, domain := range []string{"refuse.example", "busy.example"} {
			s.Send(account.Letter{To: "a@" + domain, Network: fmt.Sprint(n)})
		}
	}
	for n := range 8 {
		s.Send(account.Letter{To: fmt.Sprintf("a@shop%d.example", n), Network: fmt.Sprint("shop", n)})
	}
	for range 8 {
		select {
		case <-server.mails:
		case <-time.After(10 * time.Second):
			t.Fatal("no mail came")
		}
	}
	require.Eventually(t, func() bool { return s.count("failed") == 6 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 6, server.tries("refuse.example"), "5xx ends at once")
	require.Eventually(t, func() bool { return server.tries("busy.example") == 6 }, 10*time.Second, time.Millisecond)
	require.LessOrEqual(t, server.tries("slow.example")+server.tries("sub.slow.example"), domainSenders)
}

// A mail that is put off is tried again, at its own times, and then given up.
func TestTries(t *testing.T) {
	server := newServer(t)
	s := running(t, server.port, time.Millisecond)
	s.Send(account.Letter{To: "a@busy.example"})
	require.Eventually(t, func() bool { return s.count("failed") == 1 }, 10*time.Second, time.Millisecond)
	require.Equal(t, tries, server.tries("busy.example"))
}

// A full queue and a server that is away delay no call, and each dropped mail is counted.
func TestNothingWaits(t *testing.T) {
	s, err := New(
		Config{Host: "127.0.0.1", Port: 1, From: "a@ads.example"},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	for n := range 2 * places {
		s.Send(account.Letter{To: fmt.Sprintf("a@shop%d.example", n)})
	}
	require.Len(t, s.queue.letters, places)
	require.Equal(t, places, s.count("dropped"))
	ended, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, s.Run(ended), context.Canceled)
	require.Equal(t, 2*places, s.count("dropped"), "the end of the process drops the others")
}

// queueOf returns a queue with letters as "network/domain", with ! for urgent ones, and what was
// lost.
func queueOf(texts ...string) (q *queue, lost []string) {
	q = newQueue()
	for _, text := range texts {
		network, domain, _ := strings.Cut(text, "/")
		host, urgent := strings.CutSuffix(domain, "!")
		for _, l := range q.add(account.Letter{To: "a@" + host, Network: network, Urgent: urgent}, time.Now()) {
			lost = append(lost, l.scope+" "+l.Network+"/"+l.To[2:])
		}
	}
	return q, lost
}

func many(n int, format string) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf(format, i))
	}
	return texts
}

func TestPlaces(t *testing.T) {
	_, lost := queueOf(append(many(networkPlaces, "bomber/x%d.example"), "bomber/y.example", "owner/y.example")...)
	require.Equal(t, []string{"network bomber/y.example"}, lost, "a network has few places")
	_, lost = queueOf(append(many(networkPlaces, "bomber/x%d.example"), "bomber/y.example!")...)
	require.Equal(t, []string{"network bomber/x15.example"}, lost, "a reset goes before registrations")

	var flood []string
	for n := range 4 {
		flood = append(flood, many(networkPlaces, fmt.Sprintf("bomber%d/s%%d.big.example!", n))...)
	}
	q, lost := queueOf(append(flood, "owner/big.example", "owner/other.example")...)
	require.Len(t, lost, 1, "a domain has few places, its subdomains included")
	require.Contains(t, lost[0], "domain bomber", "the network with most mails loses one")
	require.Len(t, q.letters, domainPlaces+1)

	flood = nil
	for n := range places / 4 {
		flood = append(flood, many(4, fmt.Sprintf("bomber%d/x%d-%%d.example!", n, n))...)
	}
	_, lost = queueOf(append(flood, "owner/new.example")...)
	require.Len(t, lost, 1)
	require.Contains(t, lost[0], "all bomber")
}

func TestTurns(t *testing.T) {
	q, _ := queueOf("b/b.example", "b/c.example", "b/d.example", "a/e.example", "r/f.example!", "/g.example", "/h.example")
	now := time.Now()
	next := func() *waiting { w, _ := q.next(now); return w }
	first, second, third := next(), next(), next()
	require.Equal(t, "a@f.example", first.To, "a reset goes before others")
	require.Equal(t, "a@b.example", second.To)
	require.Equal(t, "a@e.example", third.To, "networks take turns, with one sender each")
	require.Equal(t, "a@g.example", next().To)
	require.Equal(t, "a@h.example", next().To, "adnet's own mails are of no network")
	require.Nil(t, next())
	q.again(second, now.Add(time.Minute))
	q.done(third)
	require.Equal(t, "a@c.example", next().To, "a mail that is put off leaves its sender")
	w, wait := q.next(now)
	require.Nil(t, w)
	require.Zero(t, wait, "its network is busy")
	require.NotContains(t, q.served, "a")
}

func TestRestUntilDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Sender{queue: newQueue()}
		s.queue.add(account.Letter{To: "a@b.example"}, time.Now())
		w, _ := s.queue.next(time.Now())
		s.queue.again(w, time.Now().Add(time.Minute))
		<-s.queue.wake
		_, wait := s.queue.next(time.Now())
		s.rest(t.Context(), wait)
		again, _ := s.queue.next(time.Now())
		require.Equal(t, w, again)
	})
}

func TestSettings(t *testing.T) {
	for _, c := range []Config{
		{Host: "x"}, {Host: "x", From: "no address"}, {Host: "x", From: "a@ads.example", Port: 1 << 20},
	} {
		_, err := New(c, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
		require.ErrorContains(t, err, "ADNET_SMTP_", "%+v", c)
	}
}

// A letter with a link that ends its kind has both parts and the headers of RFC 8058.
func TestPostSendsBothParts(t *testing.T) {
	server := newServer(t)
	p, err := NewPost(Config{Host: "127.0.0.1", Port: server.port, TLS: "off", From: "adnet <no-reply@ads.example>"})
	require.NoError(t, err)
	again, err := p.Deliver(t.Context(), account.Letter{
		To: "a@example.com", Subject: "Hello", Text: "A text", HTML: "<p>A page</p>",
		Unsubscribe: "https://ads.example/unsubscribe/x",
	})
	require.NoError(t, err)
	require.False(t, again)
	text := <-server.mails
	require.Contains(t, text, "List-Unsubscribe: <https://ads.example/unsubscribe/x>")
	require.Contains(t, text, "List-Unsubscribe-Post: List-Unsubscribe=One-Click")
	require.Contains(t, text, "multipart/alternative")
	require.Contains(t, text, "A text")
	require.Contains(t, text, "<p>A page</p>")
	again, err = p.Deliver(t.Context(), account.Letter{To: "a@busy.example"})
	require.Error(t, err)
	require.True(t, again, "the server did not take it")
	again, err = p.Deliver(t.Context(), account.Letter{To: "a@refuse.example"})
	require.Error(t, err)
	require.False(t, again)
	_, err = NewPost(Config{Host: "127.0.0.1"})
	require.Error(t, err)
}
