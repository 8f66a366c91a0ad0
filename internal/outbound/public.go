package outbound

import "net/netip"

// unicast is the part of IPv6 that IANA hands out as global unicast. Everything outside it (loopback,
// link-local, unique local, multicast, IPv4-compatible, discard) is refused without a list.
var unicast = netip.MustParsePrefix("2000::/3")

// nat64 is the prefix under which an IPv6 network reaches IPv4 (RFC 6052). The last four bytes are the
// IPv4 address, which is judged.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// special are the networks of IANA's registries of special purposes that are not globally
// reachable, or that lead to an address which the socket does not show.
var special = prefixes(
	"0.0.0.0/8",       // this host
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carriers
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local, metadata of clouds
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocols
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // relays of 6to4
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast
	"2001::/23",       // protocols, Teredo, benchmarks, ORCHID
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4: contains an IPv4 address
	"3fff::/20",       // documentation
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Public reports whether a is a unicast address of the public internet.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap() // ::ffff:10.0.0.1 connects to 10.0.0.1
	if nat64.Contains(a) {
		bytes := a.As16()
		a = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if a.Is6() && !unicast.Contains(a) {
		return false
	}
	for _, network := range special {
		if network.Contains(a) {
			return false
		}
	}
	return true
}
