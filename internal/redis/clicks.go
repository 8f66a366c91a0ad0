package redis

import (
	"context"
	"strconv"
	"time"
)

// Clicks counts the clicks of networks over all nodes. The key of a network holds the auctions with
// a counted click and its time. It has at most as many members as the largest rate allows, and
// expires with the longest window.
type Clicks struct{ client *Client }

// NewClicks returns the counter. It does no I/O.
func NewClicks(client *Client) Clicks { return Clicks{client} }

// ClickRate permits at most Limit clicks in every stretch of Window.
type ClickRate struct {
	Limit  int
	Window time.Duration
}

// Allow reports whether a click of network at the given time is inside every rate, and counts it if
// so: one round trip.
func (c Clicks) Allow(ctx context.Context, network, auction string, at time.Time, rates []ClickRate) (bool, error) {
	longest := time.Duration(0)
	args := []any{strconv.FormatInt(at.UnixMilli(), 10), auction, ""}
	for _, r := range rates {
		longest = max(longest, r.Window)
		args = append(args, r.Limit, r.Window.Milliseconds())
	}
	args[2] = longest.Milliseconds()
	inside, err := clickScript.Run(ctx, c.client.rdb, []string{c.client.keys.clicks(network)}, args...).Int()
	return inside == 1, c.client.explain(err)
}
