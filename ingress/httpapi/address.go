package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// networks are those of proxies that are trusted. gin reads the address of a client behind them
// ([gin.Context.ClientIP]): of a trusted proxy's X-Forwarded-For the last address that does not
// belong to a trusted proxy, otherwise the connection's. No other header counts: a proxy that does
// not set it would pass on its client's.
type networks []*net.IPNet

const forwardedFor = "X-Forwarded-For"

// readNetworks reads networks and single addresses. Errors: one that is neither.
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

// peer returns the other end of r's connection.
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

// noticeProxy logs when r, which has X-Forwarded-For, looks like it came through a proxy that the
// settings do not name: then all people behind that proxy share its address, so that the limits
// strike them together and most of their clicks do not count.
func (s *Server) noticeProxy(r *http.Request) {
	addr, ok := peer(r)
	if !ok || !addr.IsPrivate() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() || s.proxies.contain(addr) {
		return
	}
	s.metrics.unnamed.Inc()
	s.often.Error(r.Context(), "a proxy that ADNET_TRUSTED_PROXIES does not name: everybody behind it counts as one "+
		"person; add its address there",
		"address", addr.String())
}
