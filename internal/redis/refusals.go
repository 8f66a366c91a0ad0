package redis

import (
	"context"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
)

// Refusals keeps the marks of refused conversations for all nodes: a list an hour, in the order in
// which they came. What a mark is its owner knows; here it is bytes. They are kept in Redis alone,
// and a list ends by itself.
type Refusals struct {
	client *Client
	bounds refusalBounds
}

// refusalBounds are how many marks an hour takes, so that callers who make marks up fill neither
// Redis nor the nodes, and do not take the room of others.
type refusalBounds struct {
	key     int // of an API key
	crowded int // of all: from there on an API key that has had its share gets no more
	share   int
	most    int // of all
}

const (
	// refusalLife is how long an hour's list is kept: a mark counts for a day, and clocks differ.
	refusalLife = 26 * time.Hour
	// refusalPage is how many marks of an hour one call reads at most.
	refusalPage = 5_000
)

// NewRefusals makes a view of the marks. It does no I/O.
func NewRefusals(client *Client) *Refusals {
	return &Refusals{client, refusalBounds{key: 10_000, crowded: 100_000, share: 100, most: 150_000}}
}

// Keep keeps a mark that an API key set in an hour (since 1970, UTC); kept is false where the hour
// has no room for it.
func (r *Refusals) Keep(ctx context.Context, hour int64, apiKey uuid.UUID, mark []byte) (kept bool, err error) {
	keys := []string{r.client.keys.refusals(hour), r.client.keys.refusalCounts(hour)}
	b := &r.bounds
	n, err := markScript.Run(
		ctx, r.client.rdb, keys, apiKey.String(), mark, b.key, b.crowded, b.share, b.most, int(refusalLife/time.Second),
	).Int()
	return n == 1, r.client.explain(err)
}

// Since reads the marks of hours from where the caller has read them before, a page of each at
// most: one round trip. Of an hour of which less is there than was read before, nothing is read and
// lost is set: this Redis is another one, or was emptied.
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
