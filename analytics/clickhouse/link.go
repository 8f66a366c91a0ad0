package clickhouse

import (
	"context"
	"errors"
	"net"

	"github.com/ClickHouse/clickhouse-go/v2"

	"adnet/internal/errs"
	"adnet/internal/process/link"
)

const (
	envURL = "ADNET_CLICKHOUSE_URL"

	// authenticationFailed is the server's code for a rejected login.
	authenticationFailed = 516
)

var names = link.NamesOf("ADNET_CLICKHOUSE", envURL)

// secure configures the driver's link by the rule of package link. The URL decides whether the link
// is encrypted, the files which authorities are trusted. Errors name the wrong setting.
func (c Config) secure(options *clickhouse.Options) error {
	const cure = "add secure=true (and set ADNET_CLICKHOUSE_CA)"
	files := link.Files{CA: c.CA, Cert: c.Cert, Key: c.Key}
	security := link.PlainText
	switch {
	case options.TLS != nil:
		config, err := files.Client(names)
		if err != nil {
			return errs.New(errs.InvalidRequest, "%s", err)
		}
		config.ServerName, config.InsecureSkipVerify = options.TLS.ServerName, options.TLS.InsecureSkipVerify
		options.TLS, security = config, link.Verified
		if config.InsecureSkipVerify {
			security = link.Unverified
		}
	case files.Any():
		return errs.New(
			errs.InvalidRequest,
			"ADNET_CLICKHOUSE_CA, ADNET_CLICKHOUSE_CERT and ADNET_CLICKHOUSE_KEY are for encrypted links: add "+
				"secure=true to %s", envURL,
		)
	}
	if err := c.Insecure.Allow(security, options.Addr, envURL, cure); err != nil {
		return errs.Wrap(err, errs.InvalidRequest, "ADNET_CLICKHOUSE_URL is not allowed")
	}
	dialer := link.Dialer{
		TLS: options.TLS, Insecure: c.Insecure, Timeout: positive(c.DialTimeout, defaultDial), Names: names, Cure: cure,
		Write: positive(c.Timeout, defaultSilence), Seen: c.seen,
	}
	options.DialContext = func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.Dial(ctx, "tcp", address)
	}
	return nil
}

// explain adds the remedy to an error that waiting does not fix.
func explain(err error) error {
	var exception *clickhouse.Exception
	switch {
	case errors.As(err, &exception) && exception.Code == authenticationFailed:
		return link.Refuse(err, "the server refuses the login: check user and password in "+envURL)
	case link.HungUp(err):
		return errs.Wrap(
			err, errs.Unavailable,
			"the server closes the connection: check whether the port expects TLS (secure=true in %s)", envURL,
		)
	}
	return link.Explain(err, names)
}
