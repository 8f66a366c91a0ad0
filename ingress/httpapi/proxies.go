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

// client is the address that r comes from: of a trusted proxy's X-Forwarded-For, else X-Real-IP,
// the last address that does not belong to a trusted proxy; otherwise the connection's. Empty if
// that does not parse.
func (p proxies) client(r *http.Request) string {
	host, _, err := net.SplitHostPort(strings.TrimSpace(r.RemoteAddr))
	if err != nil {
		return ""
	}
	peer, err := netip.ParseAddr(host)
	if err != nil || peer.Zone() != "" {
		return ""
	}
	peer = peer.Unmap()
	if len(p) > 0 && p.trust(peer.AsSlice()) {
		for _, name := range []string{"X-Forwarded-For", "X-Real-Ip"} {
			if said := p.said(strings.Join(r.Header[name], ",")); said != "" {
				return said
			}
		}
	}
	return peer.String()
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
