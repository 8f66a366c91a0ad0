package redis

import "context"

// Clear removes the catalog: campaigns, versions, head, epoch and rooms. Nodes stop serving until a projector has
// published everything again, which a running one does by itself at its next look. It is for a catalog that is
// known to be wrong and that newer-wins rules would protect: after a restore, or damage.
func (c *Catalog) Clear(ctx context.Context) error {
	k := c.keys
	return c.client.explain(c.client.rdb.Del(ctx, k.objects, k.versions, k.head, k.epoch, k.rooms).Err())
}
