package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"adnet/internal/process/link"
)

// Link holds the encryption and login of connections to the brokers.
type Link struct {
	TLS  bool   `name:"kafka-tls" env:"ADNET_KAFKA_TLS" help:"Encrypt connections to Kafka and check the brokers' certificates."`
	CA   string `name:"kafka-ca" env:"ADNET_KAFKA_CA" type:"path" help:"PEM file of the authorities that sign the brokers' certificates (default: the system's)."`
	Cert string `name:"kafka-cert" env:"ADNET_KAFKA_CERT" type:"path" help:"PEM file of this client's certificate, for brokers that require one."`
	Key  string `name:"kafka-key" env:"ADNET_KAFKA_KEY" type:"path" help:"PEM file of the certificate's key."`

	Mechanism string `name:"kafka-sasl-mechanism" env:"ADNET_KAFKA_SASL_MECHANISM" help:"How to log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER (default: no login)."`
	Username  string `name:"kafka-username" env:"ADNET_KAFKA_USERNAME" help:"Kafka user, for PLAIN and SCRAM."`
	Password  string `name:"kafka-password" env:"ADNET_KAFKA_PASSWORD" secret:"" help:"Kafka password, for PLAIN and SCRAM."`
	TokenFile string `name:"kafka-token-file" env:"ADNET_KAFKA_TOKEN_FILE" type:"path" help:"File with the token of OAUTHBEARER; it is read at every login, so it may be renewed."`

	Insecure link.Insecure `kong:"-"` // plain text off loopback
}

const envBrokers = "ADNET_KAFKA_BROKERS"

var names = link.NamesOf("ADNET_KAFKA", envBrokers)

// tls returns the encryption of the link, nil for plain text.
func (l Link) tls() (*tls.Config, error) {
	files := link.Files{CA: l.CA, Cert: l.Cert, Key: l.Key}
	if l.TLS {
		return files.Client(names)
	}
	if files.Any() {
		return nil, errors.New(
			"ADNET_KAFKA_CA, ADNET_KAFKA_CERT and ADNET_KAFKA_KEY are for encrypted connections: set " +
				"ADNET_KAFKA_TLS=true",
		)
	}
	return nil, nil
}

// login returns the client's authentication, nil for none.
func (l Link) login() (sasl.Mechanism, error) {
	mechanism := strings.ToUpper(l.Mechanism)
	switch mechanism {
	case "":
		if l.Username != "" || l.Password != "" || l.TokenFile != "" {
			return nil, errors.New(
				"ADNET_KAFKA_SASL_MECHANISM is not set, so the Kafka user or token would not be used: it must be " +
					"PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER",
			)
		}
		return nil, nil
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
		if l.Username == "" || l.Password == "" {
			return nil, fmt.Errorf(
				"ADNET_KAFKA_SASL_MECHANISM=%s needs ADNET_KAFKA_USERNAME and ADNET_KAFKA_PASSWORD", mechanism,
			)
		}
	case "OAUTHBEARER":
		if _, err := l.token(); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf(
			"ADNET_KAFKA_SASL_MECHANISM must be PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, not %q",
			l.Mechanism,
		)
	}
	switch mechanism {
	case "PLAIN":
		return plain.Auth{User: l.Username, Pass: l.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: l.Username, Pass: l.Password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: l.Username, Pass: l.Password}.AsSha512Mechanism(), nil
	}
	return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
		token, err := l.token()
		return oauth.Auth{Token: token}, err
	}), nil
}

// token reads the OAUTHBEARER token, which another process renews.
func (l Link) token() (string, error) {
	if l.TokenFile == "" {
		return "", errors.New("ADNET_KAFKA_SASL_MECHANISM=OAUTHBEARER needs ADNET_KAFKA_TOKEN_FILE")
	}
	text, err := os.ReadFile(l.TokenFile)
	if err != nil {
		return "", fmt.Errorf("ADNET_KAFKA_TOKEN_FILE: %w", err)
	}
	if token := strings.TrimSpace(string(text)); token != "" {
		return token, nil
	}
	return "", fmt.Errorf("ADNET_KAFKA_TOKEN_FILE: %s is empty", l.TokenFile)
}

// linkOptions returns the options of encryption and login. If seen is not nil, it is called for
// every handshake.
func (c Config) linkOptions(seen func(tls.ConnectionState)) ([]kgo.Opt, error) {
	secure, err := c.Link.tls()
	if err != nil {
		return nil, err
	}
	const cure = "set ADNET_KAFKA_TLS=true"
	if secure == nil {
		if err := c.Insecure.Allow(link.PlainText, c.Brokers, envBrokers, cure); err != nil {
			return nil, err
		}
	}
	dialer := link.Dialer{TLS: secure, Insecure: c.Insecure, Timeout: dialTimeout, Names: names, Cure: cure, Seen: seen}
	options := []kgo.Opt{kgo.Dialer(dialer.Dial)}
	login, err := c.login()
	if err != nil {
		return nil, err
	}
	if login != nil {
		options = append(options, kgo.SASL(login))
	}
	return options, nil
}

const (
	// dialTimeout bounds a connection with its handshake.
	dialTimeout = 3 * time.Second
	// checkTimeout bounds the check of the log before a role starts.
	checkTimeout = 5 * time.Second
)

// Check checks that a broker responds. An error for which [link.Permanent] is true is due to the
// settings: the encryption, the login or the wrong server. Any other error means that the log is
// temporarily unreachable.
func Check(ctx context.Context, cfg Config, deps Deps) error {
	cfg = cfg.withDefaults()
	client, err := cfg.client(deps, kgo.RetryTimeout(checkTimeout), kgo.RequestRetries(2))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err = kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	return cfg.unavailable(err)
}

// client creates a client of the log with further options. Errors: invalid settings.
func (c Config) client(deps Deps, more ...kgo.Opt) (*kgo.Client, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	options, err := c.clientOptions(deps.log())
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka settings: %w", err)
	}
	return client, nil
}

// explain adds a remedy to a failure that waiting does not cure.
func (c Config) explain(err error) error {
	var hungUp *kgo.ErrFirstReadEOF
	switch {
	case err == nil:
		return nil
	// the broker states the reason of its rejection, which the client does not expect
	case strings.Contains(err.Error(), "oauth response"):
		return link.Refuse(err, "the broker rejects the token of ADNET_KAFKA_TOKEN_FILE")
	case strings.Contains(err.Error(), "tls alert"):
		return link.Refuse(err, "the broker speaks TLS at the port of ADNET_KAFKA_BROKERS: set ADNET_KAFKA_TLS=true")
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		what := "the broker rejects the login: check ADNET_KAFKA_USERNAME and ADNET_KAFKA_PASSWORD"
		if strings.EqualFold(c.Mechanism, "OAUTHBEARER") {
			what = "the broker rejects the token of ADNET_KAFKA_TOKEN_FILE"
		}
		return link.Refuse(err, what)
	case errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return link.Refuse(
			err,
			"the broker does not accept this login at this port: check ADNET_KAFKA_SASL_MECHANISM and the port of "+
				"ADNET_KAFKA_BROKERS",
		)
	case errors.As(err, &hungUp), link.HungUp(err):
		tls := "may require TLS (ADNET_KAFKA_TLS)"
		if c.TLS {
			tls = "may not speak TLS"
		}
		return fmt.Errorf(
			"the broker closes the connection: the port of ADNET_KAFKA_BROKERS %s, or require a login "+
				"(ADNET_KAFKA_SASL_MECHANISM): %w", tls, err,
		)
	}
	return link.Explain(err, names)
}
