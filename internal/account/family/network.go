package family

import (
	"net/netip"

	"adnet/internal/traffic"
)

// carriers is the range in which carriers number their customers (RFC 6598).
var carriers = netip.MustParsePrefix("100.64.0.0/10")

// Network returns the network of a registration, by which it binds: the /24 or /56 of a public
// address. It is empty for an address that many people may share: loopback, private, carriers' own,
// and those in shared.
func Network(address string, shared traffic.Networks) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || carriers.Contains(ip) || shared.Contain(ip) {
		return ""
	}
	return traffic.Network(ip.String())
}
