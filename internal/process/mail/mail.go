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
		return nil, errors.New(
			"ADNET_SMTP_FROM is not set: it is the sender of mails, for example no-reply@ads.example",
		)
	}
	if deps.Pause == 0 {
		deps.Pause = 30 * time.Second
	}
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
	s := &Sender{cfg: cfg, deps: deps, client: client, queue: newQueue(),
		sent: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_mails_total",
			Help: "Mails by result: sent, failed (the server refused or did not answer), dropped (too many waited, or the process ended).",
		}, []string{"result"}))}
	_, err = s.message(account.Letter{To: "a@example.com"})
	return s, err
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
	message, err := s.message(l)
	if err != nil {
		return err
	}
	err = s.client.DialAndSendWithContext(ctx, message)
	if message.IsDelivered() { // only the end of the connection failed
		return nil
	}
	return err
}

func (s *Sender) message(l account.Letter) (*mail.Msg, error) {
	message := mail.NewMsg()
	if err := message.From(s.cfg.From); err != nil {
		return nil, fmt.Errorf("ADNET_SMTP_FROM: %w", err)
	}
	if err := message.To(l.To); err != nil {
		return nil, errAddress
	}
	message.Subject(l.Subject)
	message.SetDate()
	message.SetMessageID()
	message.SetBodyString(mail.TypeTextPlain, l.Text)
	return message, nil
}
