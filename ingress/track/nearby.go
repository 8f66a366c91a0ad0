package track

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
)

// nearbyClicks are the clicks that count and that came to this node, by network. They judge while
// the count over all nodes is out of reach: without them, whoever keeps the store busy would have
// all clicks counted.
//
// Memory is bounded: the networks that clicked last, and of each no more clicks than the largest
// limit, at most nearbyMost; a limit above that is not judged here.
type nearbyClicks struct {
	rates []Rate
	most  int

	mu sync.Mutex // a network's clicks are read and changed at once
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

// allow says whether a click is inside every rate by the clicks of this node, and notes it if so. A
// click of an auction that counted is inside again, as in [Clicks].
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

// note adds a click that counts over all nodes.
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
