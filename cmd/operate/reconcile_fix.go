package operate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/consumers/archive"
	"adnet/consumers/project"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/kafka"
	"adnet/internal/ledger"
	"adnet/internal/process/obs"
	"adnet/internal/report"
	"adnet/internal/store/postgres"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/redis"
	"adnet/internal/stream"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// sameCampaign compares a version of a campaign in PostgreSQL and Redis, except for the ledger's
// fields.
func sameCampaign(a, b *campaign.Campaign) bool {
	text := func(c *campaign.Campaign) []byte {
		plain := c.Clone()
		plain.SpentToday, plain.SpentTotal = 0, 0
		plain.Normalize()
		out, err := json.Marshal(&plain, json.Deterministic(true))
		if err != nil {
			return nil
		}
		return out
	}
	return bytes.Equal(text(a), text(b))
}

// refillRedis removes the catalog and publishes everything again, like a projector that finds it
// empty.
func (r *reconciling) refillRedis() error {
	return refillRedis(r.Process, refill{store: r.store, cache: r.cache, funds: r.cfg.Money, keys: r.cfg.TokenKeys})
}

type refill struct {
	store *postgres.Stores
	cache *redis.Client
	funds backends.Money
	keys  string // ADNET_TOKEN_KEYS
}

// sealing seals campaigns and rooms in Redis like the processes of the installation.
func sealing(setting string) (trust redis.Trust, err error) {
	keys, err := token.ParseKeys(setting)
	if err != nil {
		return trust, fmt.Errorf("ADNET_TOKEN_KEYS: %w", err)
	}
	trust.Seal, err = token.NewSeal(keys)
	return trust, err
}

func refillRedis(p cli.Process, f refill) error {
	var trust redis.Trust
	if f.keys != "" {
		var err error
		if trust, err = sealing(f.keys); err != nil {
			return err
		}
	}
	target := redis.NewProjection(f.cache.Trusting(trust))
	if err := target.Clear(p.Ctx); err != nil {
		return err
	}
	if f.keys == "" { // nodes take only sealed campaigns: the consumers fill it, at once where they run
		return nil
	}
	source := backends.RoomsOf(f.store, f.funds)
	projection, err := project.New(project.Config{
		Every: 100 * time.Millisecond, RepairEvery: time.Hour, Page: 500, Timeout: 30 * time.Second,
	},
		project.Deps{Source: source, Target: target, Log: p.Log, Metrics: obs.NewRegistry()})
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(p.Ctx, time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- projection.Run(ctx) }()
	for projection.Ready() != nil && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	failure := projection.Ready()
	stop()
	return errors.Join(<-ended, failure)
}

// rebuildDay assembles a day's events from the log and the verdicts, and replaces the day with them
// if their charges equal the ledger's. If it cannot, problem is the reason and nothing has changed.
func (r *reconciling) rebuildDay(date day.Day, hold *books.Hold) (problem string, err error) {
	spans, err := kafka.Spans(r.Ctx, r.cfg.Kafka, event.TopicEvents, kafka.Deps{Log: r.Log})
	if err != nil {
		return "", err
	}
	build, err := r.decided.StartRebuild(r.Ctx, date)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, build.Drop(r.Ctx)) }()
	judged, err := r.judged(hold)
	if err != nil {
		return "", err
	}
	for _, span := range spans {
		archived := hold.Archived()[span.Partition]
		if archived == 0 {
			continue
		}
		if problem, err = r.rebuildPartition(
			date, build, kafka.Span{Partition: span.Partition, First: span.First, Next: archived}, judged,
		); err != nil || problem != "" {
			return problem, err
		}
	}
	for p := range hold.Archived() {
		if len(spans) > 0 && p.Stream != spans[0].Stream && p.Stream != ledger.EarlyStream {
			return "some events came from a topic that was deleted", nil
		}
	}
	want, err := r.store.Archive.SpendBetween(r.Ctx, date, date)
	if err != nil {
		return "", err
	}
	got, err := build.Charges(r.Ctx)
	if err != nil {
		return "", err
	}
	for _, id := range differing(want[date], got) {
		if got[id] > want[date][id] || date < day.Of(time.Now()) {
			return fmt.Sprintf(
				"campaign %s would have %d micro-USD, but %d in the ledger", id, int64(got[id]), int64(want[date][id]),
			), nil
		}
	}
	return "", build.Replace(r.Ctx)
}

// judged returns the archived outcomes of early events, by their place in [ledger.EarlyStream].
func (r *reconciling) judged(hold *books.Hold) (map[stream.Range]ledger.Outcome, error) {
	outcomes := make(map[stream.Range]ledger.Outcome)
	for p, archived := range hold.Archived() {
		if p.Stream != ledger.EarlyStream {
			continue
		}
		err := r.store.Archive.AppliedBelow(r.Ctx, p, archived, func(c ledger.AppliedRange) error {
			for i, o := range c.Outcomes {
				at := c.First + int64(i)
				if at < archived {
					outcomes[stream.Range{Partition: p, First: at, Next: at + 1}] = o
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// rebuildPartition adds the day's rows of one partition. It needs the verdict and the record of
// every offset from before the day began. judged holds the outcomes of early events.
func (r *reconciling) rebuildPartition(
	date day.Day, build dayBuilder, span kafka.Span, judged map[stream.Range]ledger.Outcome,
) (problem string, err error) {
	outcomes := make(map[int64]ledger.Outcome)
	from := int64(-1)
	err = r.store.Archive.AppliedBelow(r.Ctx, span.Partition, span.Next, func(c ledger.AppliedRange) error {
		if from < 0 {
			from = c.First
		}
		for i, o := range c.Outcomes {
			outcomes[c.First+int64(i)] = o
		}
		return nil
	})
	if err != nil || from < 0 {
		return "", err
	}
	places, err := r.store.Archive.EarlyVerdicts(r.Ctx, span.Partition)
	if err != nil {
		return "", err
	}
	complete := from == 0 && span.First == 0
	from = max(from, span.First)
	if from >= span.Next {
		return fmt.Sprintf("Kafka has nothing left of partition %d", span.Number), nil
	}
	first := true
	var page []report.Row
	err = kafka.Read(r.Ctx, r.cfg.Kafka, event.TopicEvents, []kafka.Span{{
		Partition: span.Partition, First: from, Next: span.Next,
	}}, kafka.Deps{Log: r.Log}, func(rec event.Record) error {
		if first && !complete && !rec.Time.Before(date.Time()) {
			problem = fmt.Sprintf(
				"Kafka or the verdicts of partition %d begin at %s, after the day did", span.Number,
				rec.Time.Format(time.DateTime),
			)
			return errStopReading
		}
		first = false
		outcome, known := outcomes[rec.Offset]
		if outcome.Verdict == ledger.VerdictEarly { // without a place it still waits and has no row
			outcome, known = judged[places[rec.Offset]]
		}
		if !known {
			return nil
		}
		row := archive.RowOf(&rec, outcome)
		if day.Of(row.ReceivedAt) != date {
			return nil
		}
		if page = append(page, row); len(page) < 20_000 {
			return nil
		}
		err := build.Add(r.Ctx, page)
		page = page[:0]
		return err
	})
	if errors.Is(err, errStopReading) {
		return problem, nil
	}
	if err != nil {
		return "", err
	}
	return "", build.Add(r.Ctx, page)
}

var errStopReading = errors.New("enough was read")

// dayBuilder accepts the rows of a day.
type dayBuilder interface {
	Add(ctx context.Context, rows []report.Row) error
}
