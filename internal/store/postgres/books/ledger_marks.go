package books

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"adnet/internal/day"
	"adnet/internal/ledger"
)

const (
	// SeenSQL looks up marks one day at a time, so that the planner opens only that day's
	// partition, and one lookup per auction, which OFFSET 0 forces. With auction_id = ANY(...) the
	// planner took a day without statistics for empty, as every day is after midnight until
	// autovacuum has analyzed it. It then read the whole day for every batch and compared each row
	// with all auctions.
	SeenSQL = `
SELECT b.auction_id, b.event_type FROM unnest($2::uuid[]) AS want (auction_id)
CROSS JOIN LATERAL (SELECT auction_id, event_type FROM billed_event WHERE auction_day = $1
	AND auction_id = want.auction_id OFFSET 0) b`

	// COPY writes rows a page at a time; INSERT with ON CONFLICT writes them one by one, each
	// twice.
	copyMarksSQL = `COPY billed_event (auction_day, auction_id, event_type) FROM STDIN (FORMAT binary)`

	// Sorted, so that two appliers with the same keys cannot deadlock and neighbours in the index
	// are written together.
	markSQL = `
INSERT INTO billed_event (auction_day, auction_id, event_type)
SELECT day, id, type FROM unnest($1::integer[], $2::uuid[], $3::text[]) AS k (day, id, type)
ORDER BY day, id, type COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING auction_day, auction_id, event_type`

	// The application's role cannot create tables: see schemas/postgres/0001_baseline.sql.
	addDaySQL = `SELECT billed_event_add_day($1)`
)

// SQLSTATE codes. The server also returns checkViolation for a row without a partition.
const (
	checkViolation  = "23514"
	uniqueViolation = "23505"
)

// dayCache holds the days known to have a partition. The zero value is ready to use.
type dayCache struct {
	mu   sync.Mutex
	have map[day.Day]struct{}
}

func (c *dayCache) missing(keys []ledger.Key) []day.Day {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []day.Day
	last, some := day.Day(0), false
	for i := range keys { // sorted: equal days are neighbours
		if date := keys[i].Day; !some || date != last {
			last, some = date, true
			if _, ok := c.have[date]; !ok {
				missing = append(missing, date)
			}
		}
	}
	return missing
}

func (c *dayCache) add(date day.Day) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have == nil {
		c.have = make(map[day.Day]struct{})
	}
	c.have[date] = struct{}{}
}

func (c *dayCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.have = nil
}

// MarkFirst records new keys and returns which keys are new. The unique index decides: of two
// transactions with one key the second waits until the first ends.
//
// Existing marks are read first and the rest is copied in. If another transaction marks one of the
// rest in between, the whole copy fails and is rolled back, and the keys are inserted one by one.
// That is slow but rare, since an auction's events are in one partition and Claim locks the
// partition.
func (b *batchTx) MarkFirst(ctx context.Context, keys []ledger.Key) ([]bool, error) {
	fresh := make([]bool, len(keys))
	if len(keys) == 0 {
		return fresh, nil
	}
	sorted, place := firstPlaces(keys)
	seen, err := b.seen(ctx, sorted)
	if err != nil {
		return nil, err
	}
	rest, places := make([]ledger.Key, 0, len(sorted)), make([]int32, 0, len(sorted))
	for i := range sorted {
		if !seen[i] && !repeatsValid(sorted, place, i) && ledger.Accepted(b.horizon, sorted[i].Day) {
			rest, places = append(rest, sorted[i]), append(places, place[i])
		}
	}
	for _, date := range b.store.days.missing(rest) {
		if err := b.store.addDay(ctx, date); err != nil {
			return nil, err
		}
	}
	if err := b.mark(ctx, rest, func(i int) { fresh[places[i]] = true }); err != nil {
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == checkViolation {
			b.store.days.forget() // another process dropped a partition: the retry creates it again
		}
		return nil, fmt.Errorf("mark events: %w", err)
	}
	return fresh, nil
}

// seen reports which of the sorted keys are recorded, reads and locks the horizon, and sets the
// savepoint that mark needs, in one round trip.
func (b *batchTx) seen(ctx context.Context, sorted []ledger.Key) ([]bool, error) {
	seen := make([]bool, len(sorted))
	b.invalid, b.converted = make(map[uuid.UUID]bool), make(map[uuid.UUID]bool)
	suspects := slices.ContainsFunc(sorted, func(k ledger.Key) bool { _, invalid := k.Type.Valid(); return invalid })
	var batch pgx.Batch
	queueHorizon(&batch, &b.horizon)
	for rest := sorted; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Day == rest[0].Day {
			n++
		}
		ofDay, before := rest[:n], len(sorted)-len(rest)
		rest = rest[n:]
		ids := make([][16]byte, 0, n)
		for i := range ofDay {
			if i == 0 || ofDay[i].Auction != ofDay[i-1].Auction {
				ids = append(ids, ofDay[i].Auction)
			}
		}
		batch.Queue(SeenSQL, int32(ofDay[0].Day), ids).Query(func(rows pgx.Rows) error {
			var id [16]byte
			var kind string
			_, err := pgx.ForEachRow(rows, []any{&id, &kind}, func() error {
				key := ledger.Key{Day: ofDay[0].Day, Auction: id, Type: ledger.EventType(kind)}
				if i, found := slices.BinarySearchFunc(ofDay, key, compareKeys); found {
					seen[before+i] = true
				}
				if key.Type == ledger.ChargedConversion {
					b.converted[id] = true
					return nil
				}
				if _, invalid := key.Type.Valid(); invalid {
					b.invalid[id] = b.invalid[id] || key.Type == ledger.Impression.Invalid()
				} else if suspects {
					// An invalid key beside its valid one counts as recorded.
					key.Type = key.Type.Invalid()
					if i, found := slices.BinarySearchFunc(ofDay, key, compareKeys); found {
						seen[before+i] = true
					}
				}
				return nil
			})
			return err
		})
	}
	batch.Queue("SAVEPOINT marks")
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read marks: %w", err)
	}
	b.saved = true
	return seen, nil
}

// repeatsValid reports whether sorted[i] is the key of an invalid event and the batch has the valid
// one before it.
func repeatsValid(sorted []ledger.Key, place []int32, i int) bool {
	valid, is := sorted[i].Type.Valid()
	if !is {
		return false
	}
	key := sorted[i]
	key.Type = valid
	at, found := slices.BinarySearchFunc(sorted, key, compareKeys)
	return found && place[at] < place[i]
}

// mark records sorted keys and calls first for each new key.
func (b *batchTx) mark(ctx context.Context, keys []ledger.Key, first func(i int)) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := b.tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(copyOfMarks(keys)), copyMarksSQL)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == uniqueViolation {
		return b.markEach(ctx, keys, first)
	}
	if err != nil {
		return err
	}
	for i := range keys {
		first(i)
	}
	return nil
}

// copyOfMarks encodes the keys as rows of COPY in binary format (PostgreSQL manual, COPY, "Binary
// Format").
func copyOfMarks(keys []ledger.Key) []byte {
	b := make([]byte, 0, 32+len(keys)*48)
	b = append(b, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for i := range keys {
		b = binary.BigEndian.AppendUint16(b, 3)
		b = binary.BigEndian.AppendUint32(b, 4)
		b = binary.BigEndian.AppendUint32(b, uint32(keys[i].Day))
		b = binary.BigEndian.AppendUint32(b, uint32(len(keys[i].Auction)))
		b = append(b, keys[i].Auction[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(keys[i].Type)))
		b = append(b, keys[i].Type...)
	}
	return binary.BigEndian.AppendUint16(b, 0xffff)
}

// markEach replaces mark after the savepoint, for keys that other transactions mark at the same
// time.
func (b *batchTx) markEach(ctx context.Context, keys []ledger.Key, first func(i int)) error {
	if _, err := b.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT marks"); err != nil {
		return err
	}
	days, ids, types := make([]int32, len(keys)), make([][16]byte, len(keys)), make([]string, len(keys))
	for i := range keys {
		days[i], ids[i], types[i] = int32(keys[i].Day), keys[i].Auction, string(keys[i].Type)
	}
	rows, err := b.tx.Query(ctx, markSQL, days, ids, types)
	if err != nil {
		return err
	}
	var date int32
	var id [16]byte
	var kind string
	_, err = pgx.ForEachRow(rows, []any{&date, &id, &kind}, func() error {
		i, ok := slices.BinarySearchFunc(
			keys, ledger.Key{Day: day.Day(date), Auction: id, Type: ledger.EventType(kind)}, compareKeys,
		)
		if !ok {
			return fmt.Errorf("the store marked %s %s, which is not in the batch", id, kind)
		}
		first(i)
		return nil
	})
	return err
}

// firstPlaces sorts keys and drops repeats; place[i] is the index in keys of the first sorted[i].
func firstPlaces(keys []ledger.Key) (sorted []ledger.Key, place []int32) {
	place = make([]int32, len(keys))
	for i := range keys {
		place[i] = int32(i)
	}
	slices.SortFunc(place, func(a, b int32) int {
		return cmp.Or(compareKeys(keys[a], keys[b]), cmp.Compare(a, b))
	})
	place = slices.CompactFunc(place, func(a, b int32) bool { return keys[a] == keys[b] })
	sorted = make([]ledger.Key, len(place))
	for i, p := range place {
		sorted[i] = keys[p]
	}
	return sorted, place
}

// compareKeys orders keys as the index of billed_event does.
func compareKeys(a, b ledger.Key) int {
	return cmp.Or(
		cmp.Compare(a.Day, b.Day), bytes.Compare(a.Auction[:], b.Auction[:]),
		strings.Compare(string(a.Type), string(b.Type)),
	)
}

// addDay creates the partition of a day, in a connection and a transaction of its own. So the
// batch's transaction never holds a schema lock, and batches that wait for a partition cannot
// exhaust the pool.
func (s *Ledger) addDay(ctx context.Context, date day.Day) error {
	conn, err := pgx.ConnectConfig(ctx, s.Pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connect to add the partition of %s: %w", date, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, addDaySQL, int32(date)); err != nil {
		return fmt.Errorf("add the partition of %s: %w", date, err)
	}
	s.days.add(date)
	return nil
}
