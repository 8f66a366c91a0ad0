package traffic

import (
	"fmt"
	"net/netip"
)

// Networks is a list of networks in a setting. IPv4 in IPv6 is IPv4.
type Networks []netip.Prefix

// ParseNetworks parses networks and single addresses. Errors: a text that is neither.
func ParseNetworks(texts []string) (Networks, error) {
	all := make(Networks, 0, len(texts))
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil && addr.Zone() == "" {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("invalid network or IP address: %s", text)
		}
		if network.Addr().Is4In6() && network.Bits() >= 96 {
			network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

// Contain reports whether an address is in one of the networks.
func (n Networks) Contain(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, network := range n {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}
