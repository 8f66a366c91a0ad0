package traffic

import "net/netip"

// Network returns the part of an address that may be counted or stored: /24 of IPv4, /56 of IPv6.
// It is empty if address does not parse.
func Network(address string) string { return prefixOf(address, 24, 56) }

// Block returns the part of an address by which strangers take turns: /24 of IPv4, /40 of IPv6,
// since one line or tunnel may have many /56. It is empty if address does not parse.
func Block(address string) string { return prefixOf(address, 24, 40) }

// Wide returns the IPv6 network of an address with bits. It is empty for IPv4 and if address does
// not parse.
func Wide(address string, bits int) string {
	if ip, err := netip.ParseAddr(address); err != nil || ip.Unmap().Is4() {
		return ""
	}
	return prefixOf(address, 0, bits)
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

// prefixOf returns the network of an address with bits of IPv4 or bits6 of IPv6.
func prefixOf(address string, bits, bits6 int) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		bits = bits6
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.String()
}
