package cmd

import (
	"context"

	"adnet/ingress/track"
	"adnet/internal/redis"
)

// networkClicks is Redis as tracking counts clicks with it.
type networkClicks struct{ redis.Clicks }

// Allow implements track.Clicks.
func (n networkClicks) Allow(ctx context.Context, click track.NetworkClick, rates []track.Rate) (bool, error) {
	list := make([]redis.ClickRate, len(rates))
	for i, r := range rates {
		list[i] = redis.ClickRate{Limit: r.Limit, Window: r.Window}
	}
	return n.Clicks.Allow(ctx, click.Network, click.Auction.String(), click.At, list)
}
