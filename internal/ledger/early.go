package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/stream"
)

// The bounds of early events: those that overtook the event that permits them.
const (
	// EarlyFor is the time for which an event waits, by the clock of the log.
	EarlyFor = 15 * time.Minute
	// MaxEarly is the number of events of one auction that wait at the same time.
	MaxEarly = 4

	// strayFor is added for events of partitions without a reader.
	strayFor = time.Hour
	// dueAtOnce is the number of expired events that one batch judges.
	dueAtOnce = 256
)

// EarlyStream is the stream of early events that were judged. Its partitions are positions of the
// store and not of the broker: each judged event has one offset there, with its outcome and its row
// in the analytics store. Its own place in the log has the verdict [VerdictEarly] and no row.
const EarlyStream = "early"

// Early is an early event in the store.
type Early struct {
	ID int64 // of the store, in the order of holding; 0 in Effects
	stream.Partition
	Offset  int64 // its place in the log
	Auction uuid.UUID
	Written time.Time // its record, UTC
	Value   []byte    // its record
	Acts              // of its campaign at its publisher
	Held    bool      // it waits for a decision about these
}

// Judged is an early event at its place in [EarlyStream].
type Judged struct {
	stream.Partition
	Offset  int64
	Written time.Time // its record, UTC
	Value   []byte    // its record
}

// EarlyQuery selects early events.
type EarlyQuery struct {
	Auctions []uuid.UUID // sorted
	Due      []Due       // by partition
	Stray    time.Time   // events written up to this time, of any partition
	Held     time.Time   // held events written up to this time
	Limit    int         // of the events that are selected by their time only, and of the held ones
}

// Due selects the events of a partition whose time is over.
type Due struct {
	stream.Partition
	Written time.Time // at the latest
}

// Covers reports whether the query selects an event by its time. A held one has a time of its own.
func (q *EarlyQuery) Covers(e *Early) bool {
	if e.Held {
		return !e.Written.After(q.Held)
	}
	return !e.Written.After(q.Stray) || slices.ContainsFunc(q.Due, func(d Due) bool {
		return d.Partition == e.Partition && !e.Written.After(d.Written)
	})
}

// earlyQuery selects the events that b may judge. Time passes with the records of a partition, so
// that a settler that was stopped for longer than [EarlyFor] reads the impression first.
func (b *Batch) earlyQuery() EarlyQuery {
	q := EarlyQuery{Stray: b.At.Add(-EarlyFor - strayFor), Held: ActsDue(b.At), Limit: dueAtOnce}
	q.Auctions = auctions(*b, func(r *Record) bool { return r.shows() || r.leads() || r.screened() || r.verified() })
	for i := range b.Runs {
		var last time.Time
		for j := range b.Runs[i].Records {
			if at := b.Runs[i].Records[j].Written; at.After(last) {
				last = at
			}
		}
		q.Due = append(q.Due, Due{b.Runs[i].Partition, last.Add(-EarlyFor)})
	}
	for _, p := range b.Idle {
		q.Due = append(q.Due, Due{p, b.At.Add(-EarlyFor)})
	}
	slices.SortFunc(q.Due, func(a, b Due) int { return a.Compare(b.Partition) })
	return q
}

// Settle applies a batch: it is the body of the transaction of tx. The early events that it judges
// become the first run of b, so that they precede later events of their auctions as in the log.
// decode reads the record of such an event. Nothing of Settle outlives a rollback, but b must then
// be built anew.
func Settle(
	ctx context.Context, tx Tx, b *Batch, decode func(value []byte, written time.Time) Record,
) (Effects, error) {
	ranges := make([]stream.Range, len(b.Runs))
	for i := range b.Runs {
		ranges[i] = b.Runs[i].Range
	}
	if err := tx.AdvanceOffsets(ctx, ranges); err != nil {
		return Effects{}, fmt.Errorf("claim: %w", err)
	}
	var query EarlyQuery
	early, err := tx.Early(ctx, func() EarlyQuery { query = b.earlyQuery(); return query })
	if err != nil {
		return Effects{}, fmt.Errorf("early events: %w", err)
	}
	b.recall(early, &query, decode)
	held := slices.ContainsFunc(early, func(e Early) bool { return e.Held })
	if b.acts, err = tx.Acts(ctx, held, b.actsOf); err != nil {
		return Effects{}, fmt.Errorf("acts: %w", err)
	}
	if err := screen(ctx, tx, b); err != nil {
		return Effects{}, err
	}
	if err := b.judge(ctx, tx, early); err != nil {
		return Effects{}, err
	}
	if len(b.Runs) == 0 {
		return Effects{}, nil
	}
	fresh, err := tx.MarkFirst(ctx, Candidates(*b))
	if err != nil {
		return Effects{}, fmt.Errorf("mark: %w", err)
	}
	books, err := tx.Books(ctx, NeedOf(*b))
	if err != nil {
		return Effects{}, fmt.Errorf("books: %w", err)
	}
	effects := Decide(*b, fresh, books)
	if err := tx.Write(ctx, effects); err != nil {
		return Effects{}, fmt.Errorf("write: %w", err)
	}
	return effects, nil
}

// screen reads what [Batch.Screen] needs and calls it, again after the click rule refused a click.
func screen(ctx context.Context, tx Tx, b *Batch) error {
	impressions, err := tx.Recorded(ctx, Impression, Clicked(*b))
	if err != nil {
		return fmt.Errorf("impressions: %w", err)
	}
	clicks, err := tx.Recorded(ctx, Click, b.clicksToRead())
	if err != nil {
		return fmt.Errorf("clicks: %w", err)
	}
	b.Screen(impressions, clicks)
	refused, err := limitClicks(ctx, tx, b, clicks)
	if !refused {
		return err
	}
	b.Screen(impressions, clicks) // conversions of the refused clicks
	return nil
}

// recall puts the early events before the records of the batch.
func (b *Batch) recall(
	early []Early, query *EarlyQuery, decode func(value []byte, written time.Time) Record,
) {
	if len(early) == 0 {
		return
	}
	run := Run{Range: stream.Range{Partition: stream.Partition{Stream: EarlyStream}}}
	if len(b.Runs) > 0 { // of which other settlers have none, so that they rarely wait for each other
		run.Number = b.Runs[0].Number
	}
	for i := range early {
		r := decode(early[i].Value, early[i].Written)
		r.stored, r.waited, r.due = true, early[i].Held, query.Covers(&early[i])
		run.Records = append(run.Records, r)
	}
	b.Runs = slices.Insert(b.Runs, 0, run)
}

// judge claims offsets for the recalled events that are no longer early, and leaves out the others.
func (b *Batch) judge(ctx context.Context, tx Tx, early []Early) error {
	if len(early) == 0 {
		return nil
	}
	run := &b.Runs[0]
	var ids, hold []int64
	judged := make([]Record, 0, len(early))
	for i := range run.Records {
		switch r := &run.Records[i]; {
		case !r.early:
			ids, judged = append(ids, early[i].ID), append(judged, *r)
		case r.held && !r.waited:
			hold = append(hold, early[i].ID)
		}
	}
	if len(hold) > 0 {
		if err := tx.Hold(ctx, hold); err != nil {
			return fmt.Errorf("hold early events: %w", err)
		}
	}
	if len(ids) == 0 {
		b.Runs = b.Runs[1:]
		return nil
	}
	claimed, err := tx.Judge(ctx, run.Number, ids)
	if err != nil {
		return fmt.Errorf("judge early events: %w", err)
	}
	run.Range, run.Records = claimed, judged
	return nil
}

// SortEarly lists early events by their id.
func SortEarly(found map[int64]Early) []Early {
	return slices.SortedFunc(maps.Values(found), func(a, b Early) int { return cmp.Compare(a.ID, b.ID) })
}
