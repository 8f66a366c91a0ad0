// Package link is the one rule of connections to other servers: off loopback they are encrypted and
// the other end proves its name, or the operator has said otherwise with --insecure. It makes the
// TLS settings of clients and listeners from files, opens connections under the rule ([Dialer]),
// says what to do about a failed handshake ([Explain]), and describes what was found at the other
// end ([Report]).
//
// # Not obvious
//
// The rule is kept where a connection is opened, not only where settings are read: a Kafka broker,
// a Redis cluster or a sentinel may send a client on to an address that no setting names.
package link

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// EnvInsecure names the setting that allows plain text off loopback.
const EnvInsecure = "ADNET_INSECURE"

// Insecure says that links off loopback may be plain text, or encrypted without proof of who
// answers. The flag --insecure sets it in every configuration of a link; the zero value refuses.
type Insecure bool

// Security is what a link gives.
type Security int

// The kinds of links, from the weakest.
const (
	PlainText  Security = iota // readable and changeable on the way
	Unverified                 // encrypted, but any server is believed
	Verified                   // encrypted, and the server's certificate is checked
)

// Refused is an error that no repeat cures: a link that may not be used, or one end that does not
// accept the other.
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

// Unwrap gives errors.Is and errors.As the cause.
func (r *Refused) Unwrap() error { return r.cause }

// Allow returns an error if a link of this security to one of the addresses (host, host:port or the
// path of a socket) needs the operator's word. setting names where the address is said, cure what
// encrypts the link.
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

// Local says whether a connection to address stays on this machine: a loopback address, localhost,
// the path of a socket, or no host at all.
func Local(address string) bool {
	host := hostOf(address)
	return host == "" || strings.HasPrefix(host, "/") || loopback(host)
}

// LocalListener says whether only this machine can reach a listener at address. No host means all
// networks.
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
