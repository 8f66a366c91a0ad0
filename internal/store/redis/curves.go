package redis

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"adnet/internal/campaign"
)

// Curves stores the traffic curves of campaigns, by which nodes pace: a hash of campaign id →
// base64, 256 bytes each. It can be rebuilt from the analytics at any time.
type Curves struct {
	client *Client
	hash   string
}

// NewCurves returns a view of the curves. It does no I/O.
func NewCurves(client *Client) *Curves {
	return &Curves{client: client, hash: client.keys.curves}
}

// Curves returns the curves of the given campaigns, as far as they have one.
func (c *Curves) Curves(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]campaign.Curve, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	fields := make([]string, len(ids))
	for i, id := range ids {
		fields[i] = id.String()
	}
	values, err := c.client.rdb.HMGet(ctx, c.hash, fields...).Result()
	if err != nil {
		return nil, c.client.explain(err)
	}
	found := make(map[uuid.UUID]campaign.Curve, len(ids))
	for i, value := range values {
		text, ok := value.(string)
		var curve campaign.Curve
		if ok && curve.UnmarshalText([]byte(text)) == nil {
			found[ids[i]] = curve
		}
	}
	return found, nil
}

// PublishCurves replaces every curve: campaigns missing from all have none afterwards.
func (c *Curves) PublishCurves(ctx context.Context, all map[uuid.UUID]campaign.Curve) error {
	next := c.hash + ":" + rand.Text() // of this call: several processes publish
	_, err := c.client.rdb.Pipelined(ctx, func(p goredis.Pipeliner) error {
		args := make([]any, 0, 2*writeChunk)
		for id, curve := range all {
			text, err := curve.MarshalText()
			if err != nil {
				return err
			}
			if args = append(args, id.String(), text); len(args) == 2*writeChunk {
				p.HSet(ctx, next, args...)
				args = args[:0:0]
			}
		}
		if len(args) > 0 {
			p.HSet(ctx, next, args...)
		}
		if len(all) == 0 {
			p.Del(ctx, c.hash)
			return nil
		}
		p.PExpire(ctx, next, time.Hour) // a crash here leaves it
		p.Rename(ctx, next, c.hash)
		p.Persist(ctx, c.hash)
		return nil
	})
	return c.client.explain(err)
}
