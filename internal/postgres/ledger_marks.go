package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"adnet/internal/ledger"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// Sorted, so that two appliers that meet on the same keys wait for each other in one order, and so that
	// neighbours in the index are written together.
	markSQL = `
INSERT INTO billed_event (auction_day, auction_id, event_type)
SELECT day, id, type FROM unnest($1::integer[], $2::uuid[], $3::text[]) AS k (day, id, type)
ORDER BY day, id, type COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING auction_day, auction_id, event_type`

	// The application's role may not make tables: see schemas/postgres/0004_ledger_chain.sql.
	addDaySQL = `SELECT billed_event_add_day($1)`
)

// checkViolation is also the SQLSTATE of a row that no partition takes.
const checkViolation = "23514"

// dayCache remembers which days have a partition. The zero value is ready.
type dayCache struct {
	mu   sync.Mutex
	have map[ledger.Day]struct{}
}

func (c *dayCache) missing(keys []ledger.Key) []ledger.Day {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []ledger.Day
	last, some := ledger.Day(0), false
	for i := range keys { // sorted: equal days are neighbours
		if day := keys[i].Day; !some || day != last {
			last, some = day, true
			if _, ok := c.have[day]; !ok {
				missing = append(missing, day)
			}
		}
	}
	return missing
}

func (c *dayCache) add(day ledger.Day) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have == nil {
		c.have = make(map[ledger.Day]struct{})
	}
	c.have[day] = struct{}{}
}

func (c *dayCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.have = nil
}

// MarkFirst records keys that were never recorded and says which they are. The unique index decides: of
// two transactions with one key the second waits for the end of the first.
func (b *batchTx) MarkFirst(ctx context.Context, keys []ledger.Key) ([]bool, error) {
	fresh := make([]bool, len(keys))
	if len(keys) == 0 {
		return fresh, nil
	}
	var err error
	if b.horizon, err = horizonOf(ctx, b.tx); err != nil {
		return nil, err
	}
	sorted, place := firstPlaces(keys, b.horizon)
	if len(sorted) == 0 {
		return fresh, nil
	}
	for _, day := range b.store.days.missing(sorted) {
		if err := b.store.addDay(ctx, day); err != nil {
			return nil, err
		}
	}
	days, ids, types := make([]int32, len(sorted)), make([][16]byte, len(sorted)), make([]string, len(sorted))
	for i := range sorted {
		days[i], ids[i], types[i] = int32(sorted[i].Day), sorted[i].Auction, string(sorted[i].Type)
	}
	rows, err := b.tx.Query(ctx, markSQL, days, ids, types)
	if err != nil {
		return nil, fmt.Errorf("mark events: %w", err)
	}
	var day int32
	var id [16]byte
	var eventType string
	_, err = pgx.ForEachRow(rows, []any{&day, &id, &eventType}, func() error {
		i, ok := slices.BinarySearchFunc(sorted, ledger.Key{Day: ledger.Day(day), Auction: id, Type: ledger.EventType(eventType)}, compareKeys)
		if !ok {
			return fmt.Errorf("the store marked %s %s, which was not asked for", id, eventType)
		}
		fresh[place[i]] = true
		return nil
	})
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == checkViolation {
		b.store.days.forget() // a partition was dropped behind our back: the next try makes it again
	}
	if err != nil {
		return nil, fmt.Errorf("mark events: %w", err)
	}
	return fresh, nil
}

// firstPlaces sorts keys and drops repeats, and those whose marks may be gone; place[i] is where sorted[i] stands first in keys.
func firstPlaces(keys []ledger.Key, horizon ledger.Day) (sorted []ledger.Key, place []int32) {
	place = make([]int32, 0, len(keys))
	for i := range keys {
		if horizon.Accepted(keys[i].Day) {
			place = append(place, int32(i))
		}
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

// compareKeys is the order of the index of billed_event.
func compareKeys(a, b ledger.Key) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), bytes.Compare(a.Auction[:], b.Auction[:]), strings.Compare(string(a.Type), string(b.Type)))
}

// addDay makes the partition of a day, in a connection and a transaction of its own: the batch's transaction
// never holds a schema lock, and a pool that is empty because every batch waits for a partition cannot exist.
func (s *Store) addDay(ctx context.Context, day ledger.Day) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connect to add the partition of %s: %w", day, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, addDaySQL, int32(day)); err != nil {
		return fmt.Errorf("add the partition of %s: %w", day, err)
	}
	s.days.add(day)
	return nil
}
