package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/schemas/event"
)

// written returns the number of records ever written to the events topic, over all partitions.
func (t *site) written(ctx context.Context, client *kgo.Client) (sum int64, err error) {
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, t.Prefix+"."+event.TopicEvents)
	if err != nil {
		return 0, err
	}
	ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	return sum, ends.Error()
}

func (p *pipeline) makeTopic(ctx context.Context, client *kgo.Client, topic string) error {
	created, err := kadm.NewClient(client).CreateTopic(ctx, 4, 1, nil, topic)
	if err == nil {
		err = created.Err
	}
	return err
}

func (p *pipeline) dropTopic(ctx context.Context, client *kgo.Client, topic string) error {
	_, err := kadm.NewClient(client).DeleteTopic(ctx, topic)
	return err
}
