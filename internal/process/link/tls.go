package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Names holds the names of a link's settings, for its errors.
type Names struct {
	Address string // address of the server
	CA      string // trusted authorities
	Cert    string // certificate of this client
}

// NamesOf returns the names that begin with prefix, such as ADNET_KAFKA.
func NamesOf(prefix, address string) Names {
	return Names{Address: address, CA: prefix + "_CA", Cert: prefix + "_CERT"}
}

// Files holds the PEM files of an encrypted link. All may be empty.
type Files struct {
	CA   string // trusted authorities instead of the system's
	Cert string // this end's certificate, the leaf first
	Key  string // its key
}

// Any reports whether a file is set.
func (f Files) Any() bool { return f != Files{} }

// Client returns the TLS configuration of a client: TLS 1.2 or newer, with checks of the server's
// certificate and name. A client certificate is read again when its files change. Errors name the
// setting.
func (f Files) Client(names Names) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pool, err := Authorities(f.CA)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names.CA, err)
		}
		config.RootCAs = pool
	}
	if f.Cert == "" && f.Key == "" {
		return config, nil
	}
	pair, err := OpenPair(f.Cert, f.Key, nil)
	if err != nil {
		return nil, fmt.Errorf("%s, %s_KEY: %w", names.Cert, strings.TrimSuffix(names.Cert, "_CERT"), err)
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return pair.Current(), nil
	}
	return config, nil
}

// Authorities reads the certificates of a PEM file as trusted authorities.
func Authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

// Explain adds the cause and the relevant setting to an error of a connection, and returns a
// [Refused] when waiting cannot cure it. Other errors are returned unchanged.
func Explain(err error, names Names) error {
	var known *Refused
	if err == nil || errors.As(err, &known) {
		return err
	}
	if what := refusal(err, names); what != "" {
		return &Refused{what: what, cause: err}
	}
	return err
}

// refusal returns the cause of a failed handshake, or an empty string.
func refusal(err error, names Names) string {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var plain tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf(
			"the server's certificate is not signed by a trusted authority: %s names the file of its "+
				"authority (without it the system's count)", names.CA,
		)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate is not valid at this time: renew it, or correct the clock of this machine"
	case errors.As(err, &invalid):
		return "the server's certificate cannot be used"
	case errors.As(err, &name):
		return fmt.Sprintf(
			"the server's certificate is for another name: use one of its names in %s, or give the server a "+
				"certificate for this one", names.Address,
		)
	case errors.As(err, &plain):
		return fmt.Sprintf(
			"the server does not speak TLS at the port of %s: name its TLS port, or switch TLS on there", names.Address,
		)
	case errors.As(err, &remote) && remote.Op == "remote error":
		return fmt.Sprintf(
			"the server refuses this end's TLS: does it require a client certificate (%s), or another one?", names.Cert,
		)
	}
	return ""
}

// Closed adds a hint to the error of an encrypted link that the other end closed silently: it may
// have rejected this end's certificate, because the alert can be lost when the connection is reset
// behind it. It may also be a restart, so waiting is right.
func Closed(err error, names Names) error {
	if err == nil || Permanent(err) || !HungUp(err) {
		return err
	}
	return fmt.Errorf(
		"%w (if it persists: does the server require a client certificate (%s), or another one?)", err, names.Cert,
	)
}

// HungUp reports whether err is a connection that the other end closed silently, as servers do
// after a request in the wrong protocol.
func HungUp(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// Permanent reports whether err is a [Refused]: a restart does not help before an operator acts.
func Permanent(err error) bool {
	var refused *Refused
	return errors.As(err, &refused)
}

// Refuse wraps err as a [Refused]; what has the reason and the remedy.
func Refuse(err error, what string) error { return &Refused{what: what, cause: err} }
