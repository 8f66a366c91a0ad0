package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// networks are the networks of trusted proxies. Behind them the address of a client
// ([gin.Context.ClientIP]) is the last entry of X-Forwarded-For that does not belong to a trusted
// proxy ([Server.readForwardedFor]); otherwise it is the address of the connection. No other header
// counts, because a proxy that does not set it would pass on its client's value.
type networks []netip.Prefix

const forwardedFor = "X-Forwarded-For"

// readNetworks parses networks and single addresses. Errors: a text that is neither.
func readNetworks(texts []string) (networks, error) {
	all := make(networks, 0, len(texts))
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil && addr.Zone() == "" {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, &net.ParseError{Type: "network or IP address", Text: text}
		}
		if network.Addr().Is4In6() && network.Bits() >= 96 {
			network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

func (n networks) contain(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, network := range n {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// peer returns the remote address of r's connection.
func peer(r *http.Request) (addr netip.Addr, ok bool) {
	host, _, err := net.SplitHostPort(strings.TrimSpace(r.RemoteAddr))
	if err != nil {
		return netip.Addr{}, false
	}
	if addr, err = netip.ParseAddr(host); err != nil || addr.Zone() != "" {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// noticeProxy logs a request with X-Forwarded-For that seems to come through a proxy missing from
// the settings: from is private and not trusted. All people behind such a proxy share its address,
// so limits apply to them together and most of their clicks do not count.
func (s *Server) noticeProxy(r *http.Request, from netip.Addr) {
	if !from.IsPrivate() && !from.IsLoopback() && !from.IsLinkLocalUnicast() {
		return
	}
	s.metrics.unlisted.add()
	s.often.Error(r.Context(), "a proxy is missing from ADNET_TRUSTED_PROXIES: all people behind it count as one; "+
		"add its address there",
		"address", from.String())
}
