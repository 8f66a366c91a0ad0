// Package mail sends the few mails that accounts need, over SMTP.
//
// Contract: [Sender.Send] never waits. Mails go through a bounded queue, so that the duration of a
// call does not reveal whether an address has an account. A mail that cannot be sent waits for its
// next try without a sender, so it delays no other. One that the server refuses for good (5xx) is
// not tried again. A mail that is given up or has no place is logged (without its text) and counted;
// its recipient can request another. Mails in the queue are lost when the process ends.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wneessen/go-mail"

	"adnet/internal/account"
	"adnet/internal/process/obs"
)

// Config holds the settings of the mail server.
type Config struct {
	Host     string `name:"smtp-host" env:"ADNET_SMTP_HOST" help:"Mail server (SMTP) for password resets and for confirming e-mails; empty: none."`
	Port     int    `name:"smtp-port" env:"ADNET_SMTP_PORT" default:"587" help:"Port of the mail server."`
	TLS      string `name:"smtp-tls" env:"ADNET_SMTP_TLS" default:"starttls" enum:"starttls,tls,off" help:"Encryption of mail: starttls (required, port 587), tls (from the first byte, port 465), off (only for a server on this machine)."`
	Username string `name:"smtp-username" env:"ADNET_SMTP_USERNAME" help:"User of the mail server; empty: no login."`
	Password string `name:"smtp-password" env:"ADNET_SMTP_PASSWORD" secret:"" help:"Password of the mail server."`
	From     string `name:"smtp-from" env:"ADNET_SMTP_FROM" help:"Sender of mails, for example adnet <no-reply@ads.example>."`
}

// On reports whether there is a mail server.
func (c Config) On() bool { return c.Host != "" }

const (
	senders = 16
	tries   = 4
	timeout = 20 * time.Second
)

// Deps holds the dependencies of a Sender.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Pause is the wait before the second try, and a quarter of the wait after that; default 30 s.
	Pause time.Duration
}

// Sender sends mails while it runs.
type Sender struct {
	cfg    Config
	deps   Deps
	client *mail.Client
	queue  *queue
	sent   *prometheus.CounterVec
}

// New returns a Sender. Errors: unusable settings.
func New(cfg Config, deps Deps) (*Sender, error) {
	if cfg.From == "" {
		return nil, errNoSender
	}
	if deps.Pause == 0 {
		deps.Pause = 30 * time.Second
	}
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	s := &Sender{cfg: cfg, deps: deps, client: client, queue: newQueue(),
		sent: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_mails_total",
			Help: "Mails by result: sent, failed (the server refused or did not answer), dropped (too many waited, or the process ended).",
		}, []string{"result"}))}
	_, err = message(cfg.From, account.Letter{To: "a@example.com"})
	return s, err
}

// newClient returns a client of the mail server.
func newClient(cfg Config) (*mail.Client, error) {
	options := []mail.Option{mail.WithPort(cfg.Port), mail.WithTimeout(timeout)}
	switch cfg.TLS {
	case "tls":
		options = append(options, mail.WithSSL())
	case "off":
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if cfg.Username != "" {
		options = append(
			options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(cfg.Username),
			mail.WithPassword(cfg.Password),
		)
	}
	client, err := mail.NewClient(cfg.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("ADNET_SMTP_HOST: %w", err)
	}
	return client, nil
}

// Send puts a mail into the queue. If it is full, a mail of the network that has the most is
// dropped, counted and logged.
func (s *Sender) Send(l account.Letter) {
	for _, lost := range s.queue.add(l, time.Now()) {
		s.sent.WithLabelValues("dropped").Inc()
		s.deps.Log.Warn(
			"a mail was dropped: too many wait", "of", lost.scope, "domain", lost.domain, "network", lost.Network,
		)
	}
}

// Run sends queued mails until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range senders {
		all.Go(func() { s.work(ctx) })
	}
	all.Wait()
	if left := s.queue.drain(); left > 0 {
		s.sent.WithLabelValues("dropped").Add(float64(left))
		s.deps.Log.Warn("mails were dropped: the process ends", "mails", left)
	}
	return ctx.Err()
}

// work is one sender.
func (s *Sender) work(ctx context.Context) {
	for ctx.Err() == nil {
		if w, wait := s.queue.next(time.Now()); w != nil {
			s.deliver(ctx, w)
		} else {
			s.rest(ctx, wait)
		}
	}
}

// rest waits for a change of the queue, or until its next letter is due if wait is not zero.
func (s *Sender) rest(ctx context.Context, wait time.Duration) {
	var due <-chan time.Time
	if wait > 0 {
		due = time.After(wait)
	}
	select {
	case <-ctx.Done():
	case <-s.queue.wake:
	case <-due:
	}
}

// deliver tries a mail once. A failure that may end gives it back to the queue with a time of its
// own.
func (s *Sender) deliver(ctx context.Context, w *waiting) {
	err := s.try(ctx, w.Letter)
	switch w.tries++; {
	case err == nil:
		s.queue.done(w)
		s.sent.WithLabelValues("sent").Inc()
	case w.tries < tries && !final(err):
		s.queue.again(w, time.Now().Add(s.deps.Pause<<(2*(w.tries-1))))
	default:
		s.queue.done(w)
		s.sent.WithLabelValues("failed").Inc()
		s.deps.Log.Error("a mail could not be sent", "domain", w.domain, "tries", w.tries, "error", err)
	}
}

// errAddress reports an address that no try can reach.
var errAddress = errors.New("mail cannot be sent to this address")

// final reports whether another try would fail as well: the server answered this mail with 5xx.
// A refused connection or login is no answer to the mail.
func final(err error) bool {
	var refused *mail.SendError
	return errors.Is(err, errAddress) ||
		errors.As(err, &refused) && refused.ErrorCode() >= 500 && refused.ErrorCode() < 600
}

func (s *Sender) try(ctx context.Context, l account.Letter) error {
	_, err := deliver(ctx, s.client, s.cfg.From, l)
	return err
}

// deliver hands a letter to the server. unsure reports that an error leaves open whether the server
// took it: the connection broke after the text.
func deliver(ctx context.Context, client *mail.Client, from string, l account.Letter) (unsure bool, err error) {
	m, err := message(from, l)
	if err != nil {
		return false, err
	}
	err = client.DialAndSendWithContext(ctx, m)
	if err == nil || m.IsDelivered() { // only the end of the connection failed
		return false, nil
	}
	var refused *mail.SendError
	return errors.As(err, &refused) && refused.Reason == mail.ErrSMTPDataClose && refused.ErrorCode() == 0, err
}

func message(from string, l account.Letter) (*mail.Msg, error) {
	m := mail.NewMsg()
	if err := m.From(from); err != nil {
		return nil, fmt.Errorf("ADNET_SMTP_FROM: %w", err)
	}
	if err := m.To(l.To); err != nil {
		return nil, errAddress
	}
	m.Subject(l.Subject)
	m.SetDate()
	m.SetMessageID()
	m.SetBodyString(mail.TypeTextPlain, l.Text)
	if l.HTML != "" {
		m.AddAlternativeString(mail.TypeTextHTML, l.HTML)
	}
	if l.Unsubscribe != "" {
		m.SetGenHeader("List-Unsubscribe", "<"+l.Unsubscribe+">")
		m.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	return m, nil
}
