package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// networks are the networks of trusted proxies. Behind them gin reads the address of a client
// ([gin.Context.ClientIP]): the last address in X-Forwarded-For that does not belong to a trusted
// proxy; otherwise the address of the connection. No other header counts, because a proxy that does
// not set it would pass on its client's value.
type networks []*net.IPNet

const forwardedFor = "X-Forwarded-For"

// readNetworks parses networks and single addresses. Errors: a text that is neither.
func readNetworks(texts []string) (networks, error) {
	all := make(networks, 0, len(texts))
	for _, text := range texts {
		if !strings.Contains(text, "/") {
			ip := net.ParseIP(text)
			switch {
			case ip == nil:
				return nil, &net.ParseError{Type: "IP address", Text: text}
			case ip.To4() != nil:
				text = ip.To4().String() + "/32"
			default:
				text += "/128"
			}
		}
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			return nil, err
		}
		all = append(all, network)
	}
	return all, nil
}

func (n networks) contain(addr netip.Addr) bool {
	ip := net.IP(addr.AsSlice())
	for _, network := range n {
		if network.Contains(ip) {
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
// the settings. All people behind such a proxy share its address, so limits apply to them together
// and most of their clicks do not count.
func (s *Server) noticeProxy(r *http.Request) {
	addr, ok := peer(r)
	if !ok || !addr.IsPrivate() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() || s.proxies.contain(addr) {
		return
	}
	s.metrics.unnamed.Inc()
	s.often.Error(r.Context(), "a proxy is missing from ADNET_TRUSTED_PROXIES: all people behind it count as one; "+
		"add its address there",
		"address", addr.String())
}
