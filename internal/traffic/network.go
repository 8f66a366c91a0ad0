package traffic

import "net/netip"

// Network returns the part of an address that may be counted or stored: /24 of IPv4, /56 of IPv6.
// It is empty if address does not parse.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	bits := 24
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		bits = 56
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.String()
}

// Subscriber returns the part of an address that one subscriber usually has: all of IPv4, the /64 of
// IPv6.
func Subscriber(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		prefix, _ := address.Prefix(64)
		address = prefix.Addr()
	}
	return address
}
