package track

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"adnet/internal/token"
)

// nearbyClicks are the counted clicks that reached this node, by network. They count beside those of
// all nodes, and replace them during an outage of the store: otherwise, emptying or overloading the
// store would make all clicks count.
//
// Memory is bounded: the most recent networks with nearbyTotal clicks together, and per network at
// most nearbyMost clicks or the largest limit. A higher limit is not checked here.
type nearbyClicks struct {
	rates []Rate
	most  int

	mu    sync.Mutex // a network's clicks are read and changed together
	of    *simplelru.LRU[string, []nearbyClick]
	total int // clicks in of
}

// nearbyClick is a counted click. Address and reader are parts of their pseudonyms.
type nearbyClick struct {
	auction         uuid.UUID
	address, reader uint32
	at              int64 // ms since 1970
}

const (
	nearbyNetworks = 1 << 14
	nearbyMost     = 512
	nearbyTotal    = 1 << 19
)

func newNearbyClicks(rates []Rate) (n *nearbyClicks, err error) {
	n = &nearbyClicks{rates: rates}
	n.of, err = simplelru.NewLRU(nearbyNetworks, func(_ string, gone []nearbyClick) { n.total -= len(gone) })
	for _, r := range rates {
		n.most = min(max(n.most, networkPeople*r.Limit), nearbyMost)
	}
	return n, err
}

// allow reports whether a click is within every rate by the clicks of this node, and records it if
// so. A click of a counted auction is within them again, as in [Clicks].
func (n *nearbyClicks) allow(click NetworkClick) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	counted, _ := n.of.Get(click.Network)
	if has(counted, click.Auction) {
		return true
	}
	is := nearbyOf(click)
	for _, r := range n.rates {
		begin, network, address, reader := is.at-r.Window.Milliseconds(), 0, 0, 0
		for i := range counted {
			c := &counted[i]
			if c.at <= begin {
				continue
			}
			network++
			if c.address == is.address {
				address++
			}
			if c.reader == is.reader {
				reader++
			}
		}
		if network >= networkPeople*r.Limit || address >= click.AddressPeople*r.Limit || reader >= r.Limit {
			return false
		}
	}
	n.add(click.Network, counted, is)
	return true
}

// note records a click that was counted over all nodes.
func (n *nearbyClicks) note(click NetworkClick) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if counted, _ := n.of.Get(click.Network); !has(counted, click.Auction) {
		n.add(click.Network, counted, nearbyOf(click))
	}
}

// add needs the lock.
func (n *nearbyClicks) add(network string, counted []nearbyClick, click nearbyClick) {
	longer := append(counted[max(0, len(counted)+1-n.most):], click)
	n.total += len(longer) - len(counted)
	n.of.Add(network, longer)
	for n.total > nearbyTotal {
		n.of.RemoveOldest()
	}
}

func nearbyOf(click NetworkClick) nearbyClick {
	mark := func(p token.Pseudonym) uint32 { return binary.BigEndian.Uint32(p[:]) }
	return nearbyClick{click.Auction, mark(click.Address), mark(click.Reader), click.At.UnixMilli()}
}

func has(counted []nearbyClick, auction uuid.UUID) bool {
	return slices.ContainsFunc(counted, func(c nearbyClick) bool { return c.auction == auction })
}
