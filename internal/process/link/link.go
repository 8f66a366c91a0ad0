// Package link enforces the rule for connections to other servers: off loopback they are encrypted
// and the other end proves its name, unless the operator has set --insecure. It creates the TLS
// settings of clients and listeners from files, opens connections under the rule ([Dialer]),
// explains failed handshakes ([Explain]), and describes the other end ([Report]).
//
// # Not obvious
//
// The rule applies where a connection is opened, not only where settings are read: a Kafka broker,
// a Redis cluster or a sentinel may redirect a client to an address that no setting names.
package link

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// EnvInsecure names the setting that allows plain text off loopback.
const EnvInsecure = "ADNET_INSECURE"

// Insecure permits links off loopback in plain text, or encrypted without proof of the server's
// identity. The flag --insecure sets it in every configuration of a link; the zero value refuses.
type Insecure bool

// Security is the level of protection of a link.
type Security int

// The kinds of links, from the weakest.
const (
	PlainText  Security = iota // readable and changeable on the way
	Unverified                 // encrypted, but any server is accepted
	Verified                   // encrypted, and the server's certificate is checked
)

// Refused is an error that a retry cannot cure: a forbidden link, or one end that does not accept
// the other.
type Refused struct {
	what  string
	cause error
}

// Error implements error.
func (r *Refused) Error() string {
	if r.cause == nil {
		return r.what
	}
	return r.what + ": " + r.cause.Error()
}

// Unwrap returns the cause for errors.Is and errors.As.
func (r *Refused) Unwrap() error { return r.cause }

// Allow returns an error if a link of this security to one of the addresses (host, host:port or the
// path of a socket) needs --insecure. setting names the setting of the address; cure describes how
// to encrypt the link.
func (i Insecure) Allow(security Security, addresses []string, setting, cure string) error {
	if i || security == Verified {
		return nil
	}
	for _, address := range addresses {
		if Local(address) {
			continue
		}
		what := "plain text to " + address + " could be read and changed on the way"
		if security == Unverified {
			what = "the server at " + address + " would not have to prove who it is"
		}
		return &Refused{what: fmt.Sprintf(
			"%s: %s: %s, or allow it with --insecure (%s=true)", setting, what, cure, EnvInsecure,
		)}
	}
	return nil
}

// Local reports whether a connection to address stays on this machine: a loopback address,
// localhost, the path of a socket, or no host at all.
func Local(address string) bool {
	host := hostOf(address)
	return host == "" || strings.HasPrefix(host, "/") || loopback(host)
}

// LocalListener reports whether only this machine can reach a listener at address. No host means
// all networks.
func LocalListener(address string) bool { return loopback(hostOf(address)) }

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return host
}

func loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761, section 6.3
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
