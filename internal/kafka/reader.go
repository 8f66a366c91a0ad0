package kafka

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/stream"
	"adnet/schemas/event"
)

// Span is the range of offsets that a partition of a topic still holds: from First, up to but not
// including Next.
type Span struct {
	stream.Partition
	First, Next int64
}

// Behind returns the number of records of the span that are not applied, given the next offset to
// apply.
func (s Span) Behind(next int64) int64 { return max(0, s.Next-max(s.First, next)) }

// Spans lists the partitions of a topic of schemas/event with their current ranges.
func Spans(ctx context.Context, cfg Config, topic string, deps Deps) ([]Span, error) {
	cfg = cfg.withDefaults()
	client, err := cfg.client(deps)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	spans, err := spansOf(ctx, kadm.NewClient(client), cfg.TopicPrefix+topic)
	return spans, cfg.unavailable(err)
}

// spansOf is [Spans] by a client, for a topic's name with its prefix.
func spansOf(ctx context.Context, admin *kadm.Client, name string) ([]Span, error) {
	id, _, err := describe(ctx, admin, name)
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", name, err)
	}
	first, err := admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = first.Error()
	}
	if err != nil {
		return nil, err
	}
	next, err := admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = next.Error()
	}
	if err != nil {
		return nil, err
	}
	var spans []Span
	for _, p := range next.Offsets().Sorted() {
		start, _ := first.Lookup(name, p.Partition)
		of := stream.Partition{Stream: streamOf(id), Number: p.Partition}
		spans = append(spans, Span{Partition: of, First: start.Offset, Next: p.At})
	}
	return spans, nil
}

// Read returns the records of a range that the topic still has, in the order of offsets, whichever
// member owns its partition. It opens its own connection and is for records that polling did not
// return.
func (g *Group) Read(ctx context.Context, r stream.Range) ([]event.Record, error) {
	spans, err := Spans(ctx, g.cfg, g.group.Topic, g.deps)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(spans, func(s Span) bool { return s.Partition == r.Partition })
	if i < 0 {
		return nil, nil // the topic was recreated: its stream has another name
	}
	there := Span{Partition: r.Partition, First: max(spans[i].First, r.First), Next: min(spans[i].Next, r.Next)}
	var records []event.Record
	err = Read(ctx, g.cfg, g.group.Topic, []Span{there}, g.deps, func(record event.Record) error {
		record.Key, record.Value = bytes.Clone(record.Key), bytes.Clone(record.Value)
		records = append(records, record)
		return nil
	})
	return records, err
}

// Read calls use for every record of the spans, each partition's in the order of offsets, outside
// any group and without moving any offset. It ends after all records, with use's first error, or
// with ctx's. use must not keep a record after it returns.
func Read(ctx context.Context, cfg Config, topic string, spans []Span, deps Deps, use func(event.Record) error) error {
	return readWith(ctx, cfg, topic, spans, deps, use)
}

// readWith is [Read] with more options of its client.
func readWith(
	ctx context.Context, cfg Config, topic string, spans []Span, deps Deps, use func(event.Record) error,
	options ...kgo.Opt,
) error {
	cfg = cfg.withDefaults()
	name := cfg.TopicPrefix + topic
	from, until := make(map[int32]kgo.Offset), make(map[int32]int64)
	for _, s := range spans {
		if s.Next > s.First {
			from[s.Number], until[s.Number] = kgo.NewOffset().At(s.First), s.Next
		}
	}
	if len(from) == 0 {
		return nil
	}
	id := spans[0].Stream
	client, err := cfg.client(
		deps, append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: from}))...,
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for len(until) > 0 {
		fetches := client.PollRecords(ctx, 10_000)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := firstError(fetches); err != nil {
			return cfg.unavailable(err)
		}
		var failed error
		fetches.EachRecord(func(r *kgo.Record) {
			end, wanted := until[r.Partition]
			if failed != nil || !wanted {
				return
			}
			if r.Offset < end {
				failed = use(event.Record{
					Topic: topic, TopicID: id, Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value,
					Time: r.Timestamp.UTC(),
				})
			}
			if r.Offset+1 >= end {
				delete(until, r.Partition)
			}
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}
