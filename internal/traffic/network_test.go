package traffic_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/traffic"
)

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.77": "203.0.113.0/24", "::ffff:203.0.113.9": "203.0.113.0/24",
		"2001:db8:1:2ff::1": "2001:db8:1:200::/56",
		"fe80::1%eth0":      "fe80::/56", "": "", "203.0.113.77:80": "", "localhost": "", "203.0.113": "",
	} {
		require.Equal(t, want, traffic.Network(address), address)
	}
}

func TestBlock(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.77": "203.0.113.0/24", "2001:db8:1:2ff::1": "2001:db8::/40", "": "", "localhost": "",
	} {
		require.Equal(t, want, traffic.Block(address), address)
	}
	for address, want := range map[string]string{
		"203.0.113.77": "", "::ffff:203.0.113.9": "", "2001:db8:1:2ff::1": "2001:db8:1::/48", "": "",
	} {
		require.Equal(t, want, traffic.Wide(address, 48), address)
	}
}

func TestSubscriber(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.77": "203.0.113.77", "::ffff:203.0.113.9": "203.0.113.9",
		"2001:db8:1:2ff:a:b:c:d": "2001:db8:1:2ff::", "2001:db8:1:2ff::1": "2001:db8:1:2ff::", "fe80::1%eth0": "fe80::",
	} {
		require.Equal(t, want, traffic.Subscriber(netip.MustParseAddr(address)).String(), address)
	}
	require.False(t, traffic.Subscriber(netip.Addr{}).IsValid())
}
