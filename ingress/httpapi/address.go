package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

const forwardedFor = "X-Forwarded-For"

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
