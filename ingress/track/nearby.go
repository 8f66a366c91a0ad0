package track

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
)

// nearbyClicks are the counted clicks that reached this node, by network. They replace the count
// over all nodes during an outage of the store: otherwise, overloading the store would make all
// clicks count.
//
// Memory is bounded: the most recent networks, and per network at most nearbyMost clicks or the
// largest limit. A higher limit is not checked here.
type nearbyClicks struct {
	rates []Rate
	most  int

	mu sync.Mutex // a network's clicks are read and changed together
	of *lru.Cache[string, []nearbyClick]
}

type nearbyClick struct {
	auction uuid.UUID
	at      time.Time
}

const (
	nearbyNetworks = 1 << 14
	nearbyMost     = 32
)

func newNearbyClicks(rates []Rate) (*nearbyClicks, error) {
	of, err := lru.New[string, []nearbyClick](nearbyNetworks)
	n := &nearbyClicks{rates: rates, of: of}
	for _, r := range rates {
		n.most = min(max(n.most, r.Limit), nearbyMost)
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
	for _, r := range n.rates {
		inside := 0
		for _, c := range counted {
			if click.At.Sub(c.at) < r.Window {
				inside++
			}
		}
		if inside >= r.Limit {
			return false
		}
	}
	n.add(counted, click)
	return true
}

// note records a click that was counted over all nodes.
func (n *nearbyClicks) note(click NetworkClick) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if counted, _ := n.of.Get(click.Network); !has(counted, click.Auction) {
		n.add(counted, click)
	}
}

// add needs the lock.
func (n *nearbyClicks) add(counted []nearbyClick, click NetworkClick) {
	n.of.Add(click.Network, append(counted[max(0, len(counted)+1-n.most):], nearbyClick{click.Auction, click.At}))
}

func has(counted []nearbyClick, auction uuid.UUID) bool {
	return slices.ContainsFunc(counted, func(c nearbyClick) bool { return c.auction == auction })
}
