package kafka

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/internal/process/schedule"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// measureEvery is the interval between two measurements of a group's lag.
const measureEvery = 5 * time.Second

// lag holds the lag of a member's partitions. It is measured, not remembered from the last applied
// record: it grows while nothing is applied.
type lag struct {
	records, seconds prometheus.Gauge
	failures         prometheus.Counter

	// Used only by Watch.
	stream     string // whose partitions follow
	partitions map[int32]backlog
	answered   time.Time // last time that the log stated its ends, or that this member had no partition
}

// backlog is the state of one partition at the last measurement.
type backlog struct {
	next, end int64 // offset of the first record that is not applied, and of the next one to be written
	behind    int64
	oldest    time.Time // when the record at next was written; zero if it arrived since the measurement before
}

func newLag(group string) *lag {
	labels := prometheus.Labels{"group": strings.TrimPrefix(group, "adnet-")}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "adnet_log_behind_" + name, Help: help, ConstLabels: labels})
	}
	return &lag{
		records: gauge("records", "Records in this process's partitions that the group has not applied."),
		seconds: gauge(
			"seconds", "Age of the oldest of them, 0 if it arrived since the last measurement. While the log does not "+
				"answer or the group does not admit this process, at least the time since.",
		),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "adnet_log_behind_failures_total", Help: "Measurements of the lag without the log or the stored offsets.",
			ConstLabels: labels,
		}),
		partitions: make(map[int32]backlog),
	}
}

// Watch measures the lag of this member's partitions every 5 s, whether or not records are applied,
// until ctx ends. It runs beside the goroutine that polls.
func (g *Group) Watch(ctx context.Context) {
	schedule.Loop(ctx, 0, func(ctx context.Context) time.Duration {
		turn, cancel := context.WithTimeout(ctx, measureEvery)
		defer cancel()
		if err := g.measure(turn, time.Now()); err != nil && ctx.Err() == nil {
			g.lag.failures.Inc()
			g.deps.log().Warn("the lag was not measured", "topic", g.topic, "group", g.group.Group, "error", err)
		}
		return measureEvery
	})
}

// measure compares the ends of the log with the stored offsets, the ends first, so that records
// applied meanwhile do not make a partition end before its offset.
func (g *Group) measure(ctx context.Context, now time.Time) error {
	g.mu.Lock()
	client, hints := g.client, maps.Clone(g.hintedAt)
	g.mu.Unlock()
	if g.lag.answered.IsZero() {
		g.lag.answered = now
	}
	if len(hints) == 0 {
		clear(g.lag.partitions)
		if client != nil && inGroup(client) { // other members have all partitions
			g.lag.answered = now
		}
		g.lag.show(now)
		return nil
	}
	admin := kadm.NewClient(client)
	spans, err := spansOf(ctx, admin, g.topic)
	if err != nil {
		g.lag.show(now)
		return err
	}
	g.lag.answered = now
	applied, err := g.appliedOf(ctx, admin, spans)
	missing := g.lag.advance(spans, hints, applied)
	g.date(ctx, missing, now)
	g.lag.show(now)
	return err
}

// inGroup reports whether the broker knows the client as a member.
func inGroup(client *kgo.Client) bool {
	_, generation := client.GroupMetadata()
	return generation >= 0
}

// appliedOf returns the next offset to apply of each partition, whichever member has applied it.
func (g *Group) appliedOf(ctx context.Context, admin *kadm.Client, spans []Span) (map[stream.Partition]int64, error) {
	if g.group.Stored != nil {
		partitions := make([]stream.Partition, len(spans))
		for i := range spans {
			partitions[i] = spans[i].Partition
		}
		stored, err := g.group.Stored(ctx, partitions)
		if err != nil {
			return nil, fmt.Errorf("read stored offsets of %s: %w", g.group.Group, err)
		}
		return stored, nil
	}
	committed, err := admin.FetchOffsetsForTopics(ctx, g.cfg.TopicPrefix+g.group.Group, g.topic)
	if err == nil {
		err = committed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read committed offsets of %s: %w", g.group.Group, err)
	}
	applied := make(map[stream.Partition]int64, len(spans))
	for _, s := range spans {
		at, _ := committed.Lookup(g.topic, s.Number)
		applied[s.Partition] = max(at.At, 0)
	}
	return applied, nil
}

// advance takes over the state of the log and returns the spans whose first record that is not
// applied has no date yet. Without the stored offsets, which nothing moves while their store is out
// of reach, the last known ones apply, before the first answer the committed ones (hints).
func (l *lag) advance(spans []Span, hints map[int32]int64, applied map[stream.Partition]int64) (undated []Span) {
	maps.DeleteFunc(l.partitions, func(p int32, _ backlog) bool { _, ours := hints[p]; return !ours })
	for _, s := range spans {
		hint, ours := hints[s.Number]
		if !ours {
			continue
		}
		if s.Stream != l.stream { // the topic was recreated
			clear(l.partitions)
			l.stream = s.Stream
		}
		before, known := l.partitions[s.Number]
		now := backlog{next: applied[s.Partition], end: s.Next}
		if applied == nil {
			now.next = hint
			if known {
				now.next = before.next
			}
		}
		now.next = max(now.next, s.First) // retention may have removed the rest
		now.behind = s.Behind(now.next)
		switch {
		case now.behind == 0 || known && now.next >= before.end: // the rest arrived since
		case known && now.next == before.next && !before.oldest.IsZero():
			now.oldest = before.oldest
		default:
			undated = append(undated, Span{Partition: s.Partition, First: now.next, Next: now.next + 1})
		}
		l.partitions[s.Number] = now
	}
	return undated
}

// date reads when the first record of each span was written. A record that cannot be read counts
// from now on.
func (g *Group) date(ctx context.Context, spans []Span, now time.Time) {
	written := make(map[int32]time.Time, len(spans))
	ctx, cancel := context.WithTimeout(ctx, measureEvery/2)
	defer cancel()
	err := readWith(ctx, g.cfg, g.group.Topic, spans, g.deps, func(r event.Record) error {
		written[r.Partition] = r.Time
		return nil
	}, kgo.FetchMaxPartitionBytes(64<<10), kgo.FetchMaxBytes(1<<20)) // the broker sends at least one batch
	if err != nil {
		g.deps.log().Debug("the oldest records were not read", "topic", g.topic, "error", err)
	}
	for _, s := range spans {
		b := g.lag.partitions[s.Number]
		if b.oldest = written[s.Number]; b.oldest.IsZero() {
			b.oldest = now
		}
		g.lag.partitions[s.Number] = b
	}
}

// show sets the gauges.
func (l *lag) show(now time.Time) {
	var records int64
	late := now.Sub(l.answered)
	for _, b := range l.partitions {
		records += b.behind
		if !b.oldest.IsZero() {
			late = max(late, now.Sub(b.oldest))
		}
	}
	l.records.Set(float64(records))
	l.seconds.Set(late.Seconds())
}
