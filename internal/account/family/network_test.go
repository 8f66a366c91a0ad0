package family_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/account/family"
	"adnet/internal/traffic"
)

func TestNetworksOfManyPeopleDoNotBind(t *testing.T) {
	shared, err := traffic.ParseNetworks([]string{"198.51.100.0/24", "2001:db8:7::/48", "203.0.113.9"})
	require.NoError(t, err)
	for address, want := range map[string]string{
		"203.0.113.7": "203.0.113.0/24", "::ffff:203.0.113.7": "203.0.113.0/24",
		"2001:db8:1:23ff::1": "2001:db8:1:2300::/56",
		"203.0.113.9":        "", "198.51.100.200": "", "2001:db8:7:1::1": "",
		"127.0.0.1": "", "::1": "", "10.1.2.3": "", "192.168.1.1": "", "172.31.0.1": "", "fd00::1": "",
		"fe80::1%eth0": "", "169.254.1.1": "", "100.64.0.1": "", "0.0.0.0": "", "": "", "proxy": "",
	} {
		require.Equal(t, want, family.Network(address, shared), "%q", address)
	}
}
