package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"adnet/internal/campaign"
	"adnet/internal/errs"
)

// ErrLost reports that the catalog was emptied or rebuilt by another process since this one last
// read it. The writer must read [Campaigns.Head] and continue from there.
var ErrLost error = errs.New(errs.Conflict, "the catalog was emptied or rebuilt meanwhile")

const (
	writeChunk = 500  // objects per script: Redis serves no other client while one runs
	readChunk  = 1000 // objects, or rooms, per read
	readers    = 4    // concurrent reads
)

// Campaigns is the projection of the campaigns, as objects with versions. Its methods may be called
// from any goroutine, but a value remembers its catalog and belongs to one role: the writer and the
// nodes of one process each take their own with [NewCampaigns].
type Campaigns struct {
	client *Client

	mu    sync.Mutex
	epoch string // of the catalog this value works on; empty before the first read
	lost  bool   // a write was refused and Head has not been read since
}

// NewCampaigns returns a view of the campaigns. It does no I/O.
func NewCampaigns(client *Client) *Campaigns { return &Campaigns{client: client} }

// PublishCampaigns writes changed campaigns, never an older one over a newer one, and sends each
// accepted one to every subscriber. Afterwards versions up to head are complete; head never goes
// down. With nothing changed it only raises the head, and notices a lost catalog.
//
// Errors: [ErrLost] when the catalog is not the one this value knows, repeated by every further
// call until Head is read. Nothing was written then, so a change can never be missing below the
// head.
func (c *Campaigns) PublishCampaigns(ctx context.Context, changed []campaign.Campaign, head int64) error {
	for len(changed) > writeChunk {
		if err := c.publish(ctx, changed[:writeChunk], ""); err != nil {
			return err
		}
		changed = changed[writeChunk:]
	}
	return c.publish(ctx, changed, strconv.FormatInt(head, 10))
}

func (c *Campaigns) publish(ctx context.Context, changed []campaign.Campaign, head string) error {
	c.mu.Lock()
	expected, lost := c.epoch, c.lost
	c.mu.Unlock()
	if lost {
		return ErrLost
	}
	args := make([]any, 0, 4+3*len(changed))
	args = append(args, c.client.keys.changes, expected, rand.Text(), head)
	for i := range changed {
		object, err := c.client.encode(&changed[i])
		if err != nil {
			return err
		}
		args = append(args, changed[i].ID.String(), changed[i].ConfigVersion, object)
	}
	k := &c.client.keys
	keys := []string{k.objects, k.versions, k.head, k.epoch}
	epoch, err := publishScript.Run(ctx, c.client.rdb, keys, args...).Text()
	if err != nil {
		return c.client.explain(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch == "" {
		c.lost = true
		return ErrLost
	}
	c.epoch = epoch
	return nil
}

// Head returns the version up to which the catalog is complete. found is false without a complete
// catalog, and once after the catalog was replaced: everything read from the old one must be read
// again, and a writer must start at version 0.
func (c *Campaigns) Head(ctx context.Context) (version int64, found bool, err error) {
	values, err := c.client.rdb.MGet(ctx, c.client.keys.head, c.client.keys.epoch).Result()
	if err != nil {
		return 0, false, c.client.explain(err)
	}
	head, hasHead := values[0].(string)
	epoch, hasEpoch := values[1].(string)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = false
	if !hasHead || !hasEpoch || c.epoch != "" && c.epoch != epoch {
		c.epoch = ""
		return 0, false, nil
	}
	c.epoch = epoch
	version, err = strconv.ParseInt(head, 10, 64)
	return version, err == nil, err
}

// EachCampaign reads the whole catalog and passes it to take in pages: to one goroutine at a time,
// and a page is reused when take returns. Versions up to head are in it, and perhaps some newer
// ones; head is 0 if no complete catalog exists. Errors: [ErrLost] if it was emptied meanwhile.
func (c *Campaigns) EachCampaign(ctx context.Context, take func(page []campaign.Campaign)) (head int64, err error) {
	head, ids, err := c.versions(ctx, "-inf")
	if err != nil {
		return 0, err
	}
	pages := make(chan []campaign.Campaign, readers)
	for range readers {
		pages <- make([]campaign.Campaign, min(readChunk, len(ids)))
	}
	var taking sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for chunk := range slices.Chunk(ids, readChunk) {
		group.Go(func() error {
			page := <-pages
			defer func() { pages <- page }()
			clear(page)
			into := page[:len(chunk)]
			n, err := c.loadChunk(ctx, chunk, into)
			if err != nil {
				return err
			}
			taking.Lock()
			defer taking.Unlock()
			take(into[:n])
			return nil
		})
	}
	return head, group.Wait()
}

// All loads the whole catalog, in order of version. Head and errors are those of
// [Campaigns.EachCampaign].
func (c *Campaigns) All(ctx context.Context) (all []campaign.Campaign, head int64, err error) {
	return c.load(ctx, "-inf")
}

// CampaignsSince loads campaigns with a config version above version, in order of version. Head and
// errors are those of [Campaigns.EachCampaign].
func (c *Campaigns) CampaignsSince(
	ctx context.Context, version int64,
) (changed []campaign.Campaign, head int64, err error) {
	return c.load(ctx, "("+strconv.FormatInt(version, 10))
}

// versions returns the head and, in order of version, the campaigns starting at from.
func (c *Campaigns) versions(ctx context.Context, from string) (head int64, ids []string, err error) {
	// The head is read before the objects, so that all versions up to it are among them.
	head, err = c.client.rdb.Get(ctx, c.client.keys.head).Int64()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return 0, nil, c.client.explain(err)
	}
	ids, err = c.client.rdb.ZRangeByScore(
		ctx, c.client.keys.versions, &goredis.ZRangeBy{Min: from, Max: "+inf"},
	).Result()
	if err != nil {
		return 0, nil, c.client.explain(err)
	}
	return head, ids, nil
}

func (c *Campaigns) load(ctx context.Context, from string) ([]campaign.Campaign, int64, error) {
	head, ids, err := c.versions(ctx, from)
	if err != nil {
		return nil, 0, err
	}
	list := make([]campaign.Campaign, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for at := 0; at < len(ids); at += readChunk {
		end := min(at+readChunk, len(ids))
		group.Go(func() error {
			_, err := c.loadChunk(ctx, ids[at:end], list[at:end])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	return slices.DeleteFunc(list, func(k campaign.Campaign) bool { return k.ID == uuid.Nil }), head, nil
}

// loadChunk reads campaigns into the first elements of into and returns their number. A rejected
// campaign that exists nowhere else is left out.
func (c *Campaigns) loadChunk(ctx context.Context, ids []string, into []campaign.Campaign) (n int, err error) {
	objects, err := c.client.rdb.HMGet(ctx, c.client.keys.objects, ids...).Result()
	if err != nil {
		return 0, c.client.explain(err)
	}
	for i, object := range objects {
		text, ok := object.(string)
		if !ok {
			return 0, ErrLost
		}
		known, err := c.client.take(ctx, ids[i], text, &into[n])
		if err != nil {
			return 0, err
		}
		if known {
			n++
		}
	}
	return n, nil
}

// Clear removes the catalog: campaigns, versions, head, epoch and rooms. Nodes stop serving until a
// projector has published everything again, which a running one does at its next check. It serves
// to replace a wrong catalog that newer-wins rules would protect: after a restore, or damage.
func (c *Campaigns) Clear(ctx context.Context) error {
	k := &c.client.keys
	return c.client.explain(c.client.rdb.Del(ctx, k.objects, k.versions, k.head, k.epoch, k.rooms).Err())
}
