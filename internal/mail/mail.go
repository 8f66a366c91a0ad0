// Package mail sends the few mails that accounts need, over SMTP.
//
// Contract: [Sender.Send] never waits. Mails go through a bounded queue, so that the duration of a
// call does not reveal whether an address has an account. A mail that cannot be sent is retried a
// few times, then logged (without its text) and counted; its recipient can request another. Mails
// in the queue are lost when the process ends.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wneessen/go-mail"

	"adnet/internal/obs"
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

// letter is a text to one address.
type letter struct{ To, Subject, Text string }

const (
	queued  = 256
	tries   = 3
	timeout = 20 * time.Second
)

// Deps holds the dependencies of a Sender.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Pause is the wait before another try; default 30 s.
	Pause time.Duration
}

// Sender sends mails while it runs.
type Sender struct {
	cfg    Config
	deps   Deps
	client *mail.Client
	queue  chan letter
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
	s := &Sender{cfg: cfg, deps: deps, client: client, queue: make(chan letter, queued),
		sent: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_mails_total",
			Help: "Mails by result: sent, failed (the server refused or did not answer), dropped (too many waited).",
		}, []string{"result"}))}
	_, err = s.message(letter{To: "a@example.com"})
	return s, err
}

// Send puts a mail into the queue. With a full queue it is dropped and counted.
func (s *Sender) Send(to, subject, text string) {
	select {
	case s.queue <- letter{to, subject, text}:
	default:
		s.sent.WithLabelValues("dropped").Inc()
	}
}

// Run sends queued mails until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-s.queue:
			s.deliver(ctx, m)
		}
	}
}

func (s *Sender) deliver(ctx context.Context, m letter) {
	err := errors.New("not tried")
	for try := 0; try < tries && err != nil && ctx.Err() == nil; try++ {
		if try > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(s.deps.Pause):
			}
		}
		err = s.try(ctx, m)
	}
	if err != nil {
		s.sent.WithLabelValues("failed").Inc()
		s.deps.Log.Error("a mail could not be sent", "error", err)
		return
	}
	s.sent.WithLabelValues("sent").Inc()
}

func (s *Sender) try(ctx context.Context, m letter) error {
	message, err := s.message(m)
	if err != nil {
		return err
	}
	return s.client.DialAndSendWithContext(ctx, message)
}

func (s *Sender) message(m letter) (*mail.Msg, error) {
	message := mail.NewMsg()
	if err := message.From(s.cfg.From); err != nil {
		return nil, fmt.Errorf("ADNET_SMTP_FROM: %w", err)
	}
	if err := message.To(m.To); err != nil {
		return nil, errors.New("mail cannot be sent to this address")
	}
	message.Subject(m.Subject)
	message.SetDate()
	message.SetMessageID()
	message.SetBodyString(mail.TypeTextPlain, m.Text)
	return message, nil
}
