package track

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
)

// One reader is an address with an agent; an address of IPv6 is a /64; nothing of an address is
// left in a name.
func TestSourcesOfClicks(t *testing.T) {
	f := newFixture(t)
	of := func(address, agent string) NetworkClick {
		return f.tracker.traffic.from.click(address, agent, uuid.New(), f.Now)
	}
	first := of("203.0.113.77", browser)
	require.Equal(t, "203.0.113.0/24", first.Network)
	require.Equal(t, 4, first.AddressPeople)
	require.Equal(t, 16, first.NetworkPeople())
	other := of("203.0.113.77", "another browser")
	require.Equal(t, first.Address, other.Address)
	require.NotEqual(t, first.Reader, other.Reader)
	neighbour := of("203.0.113.78", browser)
	require.Equal(t, first.Network, neighbour.Network)
	require.NotEqual(t, first.Address, neighbour.Address)
	require.NotEqual(t, first.Reader, neighbour.Reader)
	require.Equal(t, first.Reader, of("::ffff:203.0.113.77", browser).Reader, "a mapped address")
	require.NotEqual(t, first.Reader, first.Address)

	home := of("2001:db8:1:2ff::1", browser)
	require.Equal(t, "2001:db8:1:200::/56", home.Network)
	require.Equal(t, home.Reader, of("2001:db8:1:2ff:1:2:3:4", browser).Reader, "privacy addresses of one subscriber")
	require.NotEqual(t, home.Address, of("2001:db8:1:2fe::1", browser).Address)
	require.Equal(t, home.Network, of("2001:db8:1:2fe::1", browser).Network)

	f.Now = f.Now.Add(25 * time.Hour)
	require.Equal(t, first.Reader, of("203.0.113.77", browser).Reader, "a day's limit does not end at midnight")
	nobody := of("", "")
	require.NotEmpty(t, nobody.Network)
}

// A listed gateway is a network of its own, and its neighbours are not.
func TestSharedNetworks(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		c.Traffic.SharedNetworks = []string{
			" 100.64.0.0/10", "198.51.100.7", "::ffff:192.0.2.0/120", "2001:db8:5::/48",
		}
	})
	of := func(address string) NetworkClick {
		return f.tracker.traffic.from.click(address, browser, uuid.New(), f.Now)
	}
	for _, address := range []string{
		"100.64.0.1", "100.127.255.255", "198.51.100.7", "192.0.2.9", "::ffff:100.64.0.1", "2001:db8:5:1::1",
	} {
		click := of(address)
		require.Equal(t, 16, click.AddressPeople, address)
		require.Equal(t, click.Address.String(), click.Network, "%s does not use up its neighbours' clicks", address)
	}
	require.NotEqual(t, of("100.64.0.1").Network, of("100.64.0.2").Network)
	for _, address := range []string{"100.128.0.1", "198.51.100.8", "192.0.3.1", "2001:db8:6::1"} {
		require.Equal(t, 4, of(address).AddressPeople, address)
	}
	for _, bad := range []string{"", "carrier", "0.0.0.0/0", "::/0", "10.0.0.0/7", "100.64.0.0/33", "100.64.0.1:80"} {
		_, err := newScreening(TrafficConfig{SharedNetworks: []string{bad}}, Deps{})
		require.ErrorContains(t, err, "ADNET_SHARED_NETWORKS", bad)
	}
}

// During an outage of the store each node judges by its own clicks, with the same sources.
func TestClicksOfOneAddressDuringAnOutage(t *testing.T) {
	f, clicks := guarded(t, func(c *Config) { c.Traffic.SharedNetworks = []string{"100.64.0.0/10"} })
	clicks.err = ingresstest.ErrDown
	counted := func(address func(i int) string) (n int) {
		for i := range 40 {
			rule, _ := f.fire(
				"GET", f.clickPath("rest", time.Second), "", address(i)+":1", "User-Agent", browser+string(rune('a'+i)),
			)
			if rule == "" {
				n++
			}
		}
		return n
	}
	require.Equal(t, 4, counted(func(int) string { return "203.0.113.9" }), "invented agents")
	require.Equal(t, 16, counted(func(i int) string {
		return "198.51.100." + string(rune('0'+i%10))
	}), "and addresses of a network")
	require.Equal(t, 16, counted(func(int) string { return "100.64.7.7" }), "a carrier's gateway")
}
