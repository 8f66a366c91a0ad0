package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// proxies are the networks whose word about a client's address is believed.
type proxies []*net.IPNet

// readProxies reads networks and single addresses. Errors: one that is neither.
func readProxies(texts []string) (proxies, error) {
	all := make(proxies, 0, len(texts))
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

func (p proxies) trust(ip net.IP) bool {
	for _, network := range p {
		if network.Contains(ip) {
			return true
		}
	}
	return false
}

const forwardedFor = "X-Forwarded-For"

// peer is the other end of r's connection, and its text, which is the same for the same address.
func peer(r *http.Request) (addr netip.Addr, text string, ok bool) {
	host, _, err := net.SplitHostPort(strings.TrimSpace(r.RemoteAddr))
	if err != nil {
		return netip.Addr{}, "", false
	}
	if addr, err = netip.ParseAddr(host); err != nil || addr.Zone() != "" {
		return netip.Addr{}, "", false
	}
	if addr.Is4() { // has one spelling
		return addr, host, true
	}
	addr = addr.Unmap()
	return addr, addr.String(), true
}

// client is the address that r comes from: of a trusted proxy's X-Forwarded-For the last address
// that does not belong to a trusted proxy; otherwise the connection's. Empty if that does not
// parse. No other header is believed: a proxy that does not set it would pass on its client's.
func (p proxies) client(r *http.Request) string {
	addr, text, ok := peer(r)
	if !ok {
		return ""
	}
	if len(p) > 0 && p.trust(addr.AsSlice()) {
		if said := p.said(strings.Join(r.Header[forwardedFor], ",")); said != "" {
			return said
		}
	}
	return text
}

// noticeProxy says so when r, which has X-Forwarded-For, looks like it came through a proxy that
// the settings do not name: then all people behind that proxy share its address, so that the
// limits strike them together and most of their clicks do not count.
func (s *Server) noticeProxy(r *http.Request) {
	addr, text, ok := peer(r)
	if !ok || !addr.IsPrivate() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() || s.proxies.trust(addr.AsSlice()) {
		return
	}
	s.metrics.unnamed.Inc()
	s.often.Error(r.Context(), "a proxy that ADNET_TRUSTED_PROXIES does not name: everybody behind it counts as one person; add its address there",
		"address", text)
}

// said is the client in a list to which every proxy has added the address that it was called from:
// the last one that does not belong to a trusted proxy, or else the first. Empty if an entry up to
// there is not an address.
func (p proxies) said(list string) string {
	items := strings.Split(list, ",")
	for i := len(items) - 1; i >= 0; i-- {
		item := strings.TrimSpace(items[i])
		ip := net.ParseIP(item)
		if ip == nil {
			return ""
		}
		if i == 0 || !p.trust(ip) {
			return item
		}
	}
	return ""
}
