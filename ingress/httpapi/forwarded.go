package httpapi

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"adnet/internal/process/roster"
)

// unidentified counts requests for a field of [roster.Addresses].
type unidentified struct{ requests, lastAt atomic.Int64 }

func (u *unidentified) add() {
	u.requests.Add(1)
	u.lastAt.Store(time.Now().UnixMicro())
}

func (u *unidentified) seen() roster.Seen {
	s := roster.Seen{Requests: u.requests.Load()}
	if at := u.lastAt.Load(); at != 0 {
		s.LastAt = time.UnixMicro(at).UTC()
	}
	return s
}

// Addresses returns the numbers of requests whose client could not be identified by its address.
func (s *Server) Addresses() roster.Addresses {
	m := s.metrics
	return roster.Addresses{Unreadable: m.unreadable.seen(), Absent: m.absent.seen(), Unlisted: m.unlisted.seen()}
}

// identify prepares the header from which gin reads the client's address, and counts the requests
// for which it cannot.
func (s *Server) identify(r *http.Request) {
	sent := len(r.Header[forwardedFor]) > 0
	if !sent && len(s.proxies) == 0 {
		return
	}
	switch from, ok := peer(r); {
	case ok && s.proxies.Contain(from):
		s.readForwardedFor(r)
	case ok && sent:
		s.noticeProxy(r, from)
	}
}

// readForwardedFor makes X-Forwarded-For of r, a trusted proxy's request, a single address: the
// last entry that does not belong to a trusted proxy. A client may have written the entries before
// it. Empty parts are not entries (RFC 9110, section 5.6.1).
func (s *Server) readForwardedFor(r *http.Request) {
	lines := r.Header[forwardedFor]
	if len(lines) == 1 && plainAddress(lines[0]) {
		return
	}
	first, found := "", false // the entry nearest to the client that is an address of a proxy
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			var entry string
			if rest, entry, more = cutLast(rest); entry == "" {
				continue
			}
			addr, ok := readForwarded(entry)
			if !ok {
				s.noteUnreadable(r, entry)
				r.Header[forwardedFor] = []string{hiddenAddress(entry).String()}
				return
			}
			first, found = addr.String(), true
			if !s.proxies.Contain(addr) {
				r.Header[forwardedFor] = []string{first}
				return
			}
		}
	}
	if !found {
		delete(r.Header, forwardedFor)
		s.noteAbsent(r)
		return
	}
	r.Header[forwardedFor] = []string{first}
}

// cutLast returns the last part of a comma list without spaces, and the rest before it.
func cutLast(list string) (rest, last string, more bool) {
	at := strings.LastIndexByte(list, ',')
	if at < 0 {
		return "", strings.TrimSpace(list), false
	}
	return list[:at], strings.TrimSpace(list[at+1:]), true
}

// plainAddress reports whether gin reads text as it is.
func plainAddress(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Zone() == "" && !addr.Is4In6()
}

// maxForwarded is the maximum length of a readable entry: an IPv6 address with zone, port and the
// parameters of RFC 7239.
const maxForwarded = 256

// readForwarded parses an entry of X-Forwarded-For. It accepts the forms that proxies send: an
// address with or without port, brackets, quotes or zone, and the element for= of the header
// Forwarded (RFC 7239, section 4). The zone is dropped, and IPv4 in IPv6 becomes IPv4.
func readForwarded(entry string) (netip.Addr, bool) {
	if len(entry) > maxForwarded {
		return netip.Addr{}, false
	}
	for pair := range strings.SplitSeq(entry, ";") {
		name, value, named := strings.Cut(pair, "=")
		if named && strings.EqualFold(strings.TrimSpace(name), "for") {
			entry = value
			break
		}
	}
	text := strings.TrimSpace(strings.Trim(strings.TrimSpace(entry), `"'`))
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, port, closed := strings.Cut(inner, "]")
		if !closed || port != "" && (port[0] != ':' || !portLike(port[1:])) {
			return netip.Addr{}, false
		}
		return readAddress(inner)
	}
	if addr, ok := readAddress(text); ok {
		return addr, true
	}
	// IPv6 without brackets and with a port is readable where the whole is no address: with more
	// groups, or with a port of five digits.
	at := strings.LastIndexByte(text, ':')
	if at < 0 || !portLike(text[at+1:]) {
		return netip.Addr{}, false
	}
	return readAddress(text[:at])
}

func readAddress(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(text)
	return addr.WithZone("").Unmap(), err == nil
}

// portLike reports whether text is a port, absent, or an obfuscated port of RFC 7239, section 6.
func portLike(text string) bool {
	if hidden, ok := strings.CutPrefix(text, "_"); ok {
		return hidden != ""
	}
	return len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}

// hiddenAddress returns the identity of a client whose entry is not an address: the proxy may send
// a name for each client (RFC 7239, section 6.3). It lies in f000::/8, which is not assigned (RFC
// 4291, section 2.4), and differs within the /48, so that each entry is a network of its own. The
// address of the proxy instead would count all its clients as one. The port is left out, since each
// connection has its own.
func hiddenAddress(entry string) netip.Addr {
	if at := strings.LastIndexByte(entry, ':'); at > 0 && portLike(entry[at+1:]) {
		entry = entry[:at]
	}
	sum := sha256.Sum256([]byte(entry))
	var addr [16]byte
	addr[0] = 0xf0
	copy(addr[1:6], sum[:])
	addr[15] = 1
	return netip.AddrFrom16(addr)
}

// noteUnreadable counts and logs an entry that is not an address. The log gets its form only: the
// entry identifies a person.
func (s *Server) noteUnreadable(r *http.Request, entry string) {
	s.metrics.unreadable.add()
	s.often.Error(r.Context(), "X-Forwarded-For of a trusted proxy holds no address: clients with the same entry "+
		"count as one; have the proxy send the client's address",
		"proxy", r.RemoteAddr, "form", formOf(entry))
}

// noteAbsent counts and logs a trusted proxy's request without an address. Balancers send health
// checks that way.
func (s *Server) noteAbsent(r *http.Request) {
	if r.URL.Path == healthPath || r.URL.Path == readyPath {
		return
	}
	s.metrics.absent.add()
	s.often.Warn(r.Context(), "a trusted proxy sends no X-Forwarded-For: all clients of such requests count as one; "+
		"have it append the client's address",
		"proxy", r.RemoteAddr)
}

// formOf returns an entry with a for its letters, 9 for its digits and ? for its other characters
// outside ASCII punctuation, at most 40 of them.
func formOf(entry string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return '9'
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			return 'a'
		case r < '!' || r > '~':
			return '?'
		}
		return r
	}, entry[:min(len(entry), 40)])
}
