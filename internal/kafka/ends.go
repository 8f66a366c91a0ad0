package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"

	"adnet/internal/stream"
)

// Ends returns the offset of the next record in each partition of a topic. Earlier records that are
// not applied yet wait for settlement. It opens a new connection and gives up after some seconds.
// Errors: errs.Unavailable.
func Ends(ctx context.Context, cfg Config, deps Deps, topic string) (map[stream.Partition]int64, error) {
	cfg = cfg.withDefaults()
	client, err := cfg.watched(deps, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	admin, name := kadm.NewClient(client), cfg.TopicPrefix+topic
	found, err := admin.Metadata(ctx, name)
	if err != nil {
		return nil, cfg.unavailable(err)
	}
	listed, err := admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, cfg.unavailable(err)
	}
	id := streamOf(found.Topics[name].ID)
	ends := make(map[stream.Partition]int64)
	listed.Each(func(o kadm.ListedOffset) {
		ends[stream.Partition{Stream: id, Number: o.Partition}] = o.Offset
	})
	return ends, nil
}
