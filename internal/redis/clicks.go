package redis

import (
	"context"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Clicks counts the clicks of networks, for all nodes at once. The key of a network holds the auctions whose click
// counted and when; it has at most as many members as the largest rate allows, and ends with the longest window.
type Clicks struct{ client *Client }

// NewClicks makes the counter. It does no I/O.
func NewClicks(client *Client) Clicks { return Clicks{client} }

// ClickRate is at most Limit in every stretch of Window.
type ClickRate struct {
	Limit  int
	Window time.Duration
}

// A click of an auction that counted is inside, whatever came since: a repeat must not be worse than the first. One
// that is outside does not count, so the network's next click in time is inside.
var clickScript = goredis.NewScript(`
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 1 end
local now, longest = tonumber(ARGV[1]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - longest)
for i = 4, #ARGV, 2 do
	if redis.call('ZCOUNT', KEYS[1], '(' .. (now - tonumber(ARGV[i + 1])), '+inf') >= tonumber(ARGV[i]) then return 0 end
end
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('PEXPIRE', KEYS[1], longest)
return 1`)

// Allow says whether a click of network at the given time is inside every rate, and counts it if so: one round trip.
func (c Clicks) Allow(ctx context.Context, network, auction string, at time.Time, rates []ClickRate) (bool, error) {
	longest := time.Duration(0)
	args := []any{strconv.FormatInt(at.UnixMilli(), 10), auction, ""}
	for _, r := range rates {
		longest = max(longest, r.Window)
		args = append(args, r.Limit, r.Window.Milliseconds())
	}
	args[2] = longest.Milliseconds()
	inside, err := clickScript.Run(ctx, c.client.rdb, []string{c.client.cfg.Prefix + ":clicks:{" + network + "}"}, args...).Int()
	return inside == 1, c.client.explain(err)
}
