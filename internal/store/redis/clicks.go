package redis

import (
	"cmp"
	"context"
	"strconv"
	"time"
)

// Clicks counts the clicks of networks, addresses and readers over all nodes. The key of each holds
// the auctions with a counted click and its time. It has at most as many members as its largest
// rate allows, and expires with the longest window. A click outside the rates of its network
// creates no key, so a network has at most two keys per counted click, and its own.
type Clicks struct{ client *Client }

// NewClicks returns the counter. It does no I/O.
func NewClicks(client *Client) Clicks { return Clicks{client} }

// ClickRate permits one person at most Limit clicks in every stretch of Window.
type ClickRate struct {
	Limit  int
	Window time.Duration
}

// Click is one click with its sources. Address and Reader are names within the network.
type Click struct {
	Network, Address, Reader string
	NetworkPeople            int // the number of people whose clicks the network may have
	AddressPeople            int
	Auction                  string
	At                       time.Time
}

// Allow reports whether a click is inside every rate of its reader, and of as many people as its
// address and network stand for. If so, it counts the click: one round trip.
func (c Clicks) Allow(ctx context.Context, click Click, rates []ClickRate) (bool, error) {
	longest := time.Duration(0)
	args := []any{
		strconv.FormatInt(click.At.UnixMilli(), 10), click.Auction, "", click.NetworkPeople, click.AddressPeople, 1,
	}
	for _, r := range rates {
		longest = max(longest, r.Window)
		args = append(args, r.Limit, r.Window.Milliseconds())
	}
	args[2] = longest.Milliseconds()
	network := c.client.keys.clicks(cmp.Or(click.Network, "unknown")) // an empty tag is no tag of a cluster
	inside, err := clickScript.Run(
		ctx, c.client.rdb, []string{network, network + ":a:" + click.Address, network + ":r:" + click.Reader}, args...,
	).Int()
	return inside == 1, c.client.explain(err)
}
