package track

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// The click rates are those of one person. Behind an address may be a family, behind a network an
// office, behind a carrier's gateway a town. User agents can be invented, so an address has a limit
// of its own, and so has a network for senders with many addresses.
const (
	addressPeople = 4
	networkPeople = 16
)

// sources finds the senders of clicks.
type sources struct {
	shared  traffic.Networks // see TrafficConfig.SharedNetworks
	keyring *token.Keyring
}

// widest is the shortest prefix of a shared network: a list must not contain half the internet.
const widest = 8

// sharedNetworks parses the networks of the setting.
func sharedNetworks(texts []string) (traffic.Networks, error) {
	list := make(traffic.Networks, 0, len(texts))
	for _, text := range texts {
		text = strings.TrimSpace(text)
		of, err := traffic.ParseNetworks([]string{text})
		if err != nil || of[0].Bits() < widest || of[0].Addr().Is4In6() { // the last has more than IPv4
			return nil, fmt.Errorf(
				"ADNET_SHARED_NETWORKS must list networks of at least /%d and addresses, like 198.51.100.0/24, not %q",
				widest, text,
			)
		}
		list = append(list, of...)
	}
	return list, nil
}

// click returns the click of a request with this address and user agent. A gateway's address has
// the limit of a network and does not count for its neighbours.
func (s *sources) click(address, agent string, auction uuid.UUID, now time.Time) NetworkClick {
	click := NetworkClick{
		Network: traffic.Network(address), AddressPeople: addressPeople, Auction: auction, At: now,
	}
	if ip, err := netip.ParseAddr(address); err == nil {
		if s.shared.Contain(ip.WithZone("")) {
			click.AddressPeople, click.Network = networkPeople, ""
		}
		address = traffic.Subscriber(ip).String()
	}
	date := day.Of(now)
	click.Address = s.address(address, date)
	click.Reader = s.keyring.Lasting(uuid.Nil, date, "click\n"+address+"\n"+agent)
	if click.Network == "" {
		click.Network = click.Address.String()
	}
	return click
}

// network returns the network of an address, and for a gateway's address this address.
func (s *sources) network(address string, now time.Time) string {
	if ip, err := netip.ParseAddr(address); err == nil && s.shared.Contain(ip.WithZone("")) {
		return s.address(traffic.Subscriber(ip).String(), day.Of(now)).String()
	}
	return traffic.Network(address)
}

// address returns the keyed hash of an address on a day.
func (s *sources) address(address string, date day.Day) token.Pseudonym {
	return s.keyring.Lasting(uuid.Nil, date, "click\n"+address)
}
