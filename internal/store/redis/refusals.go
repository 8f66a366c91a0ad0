package redis

import (
	"context"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
)

// Refusals stores the marks of refused conversations for all nodes: a list per hour, in order of
// arrival. Marks are opaque bytes here. They exist only in Redis, and a list expires.
type Refusals struct {
	client *Client
	bounds refusalBounds
}

// refusalBounds limits the marks of an hour, so that callers with invented marks neither fill Redis
// and the nodes nor crowd out others.
type refusalBounds struct {
	key     int // per API key
	crowded int // in total: from here on an API key with a full share is rejected
	share   int
	most    int // in total
}

const (
	// refusalLife is the life of an hour's list: a mark counts for a day, and clocks differ.
	refusalLife = 26 * time.Hour
	// refusalPage is the maximum number of an hour's marks in one read.
	refusalPage = 5_000
)

// NewRefusals returns a view of the marks. It does no I/O.
func NewRefusals(client *Client) *Refusals {
	return &Refusals{client, refusalBounds{key: 10_000, crowded: 100_000, share: 100, most: 150_000}}
}

// Keep stores a mark that an API key set in an hour (since 1970, UTC); kept is false where the hour
// has no room for it.
func (r *Refusals) Keep(ctx context.Context, hour int64, apiKey uuid.UUID, mark []byte) (stored bool, err error) {
	keys := []string{r.client.keys.refusals(hour), r.client.keys.refusalCounts(hour)}
	b := &r.bounds
	n, err := markScript.Run(
		ctx, r.client.rdb, keys, apiKey.String(), mark, b.key, b.crowded, b.share, b.most, int(refusalLife/time.Second),
	).Int()
	return n == 1, r.client.explain(err)
}

// Since reads the marks of hours starting at the caller's positions, at most a page of each: one
// round trip. An hour with fewer marks than the caller's position sets lost and returns nothing:
// this Redis is another one, or was emptied.
func (r *Refusals) Since(ctx context.Context, hours, from []int64) (marks [][]string, lost []bool, err error) {
	lengths, pages := make([]*goredis.IntCmd, len(hours)), make([]*goredis.StringSliceCmd, len(hours))
	_, err = r.client.rdb.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for i, hour := range hours {
			key := r.client.keys.refusals(hour)
			lengths[i] = p.LLen(ctx, key)
			pages[i] = p.LRange(ctx, key, from[i], from[i]+refusalPage-1)
		}
		return nil
	})
	if err != nil {
		return nil, nil, r.client.explain(err)
	}
	marks, lost = make([][]string, len(hours)), make([]bool, len(hours))
	for i := range hours {
		if lost[i] = lengths[i].Val() < from[i]; !lost[i] {
			marks[i] = pages[i].Val()
		}
	}
	return marks, lost, nil
}
