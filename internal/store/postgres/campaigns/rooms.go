package campaigns

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"adnet/internal/day"
	"adnet/internal/ledger/owed"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/postgres/pg"
)

const (
	// The families of accounts whose campaigns pay per act, once per account: the number of these
	// campaigns, and whether one was charged or a person approved a campaign.
	selectUnproven = `
SELECT a.advertiser_id, f.*
FROM (SELECT DISTINCT c.advertiser_id FROM campaign c
	WHERE c.billing_model IN ('cpc', 'cpa')
	AND c.status NOT IN ('archived', 'rejected') AND `

	selectUnprovenEnd = `) a
LEFT JOIN account_family m ON m.account_id = a.advertiser_id
CROSS JOIN LATERAL (
	SELECT count(*) FILTER (WHERE o.per_act AND o.status NOT IN ('archived', 'rejected')) AS campaigns,
		coalesce(bool_or(o.per_act AND ot.spent > ot.refunded), false) AS charged,
		coalesce(bool_or(o.review->>'decision' = 'approved'
			AND o.review->>'reviewer_id' <> '00000000-0000-0000-0000-000000000000'), false) AS reviewed
	FROM (SELECT id, status, review, billing_model IN ('cpc', 'cpa') AS per_act
		FROM campaign WHERE advertiser_id IN (SELECT coalesce(m.family_id, a.advertiser_id)
			UNION SELECT a.advertiser_id
			UNION SELECT account_id FROM account_family WHERE family_id = coalesce(m.family_id, a.advertiser_id))) o
	LEFT JOIN campaign_total ot ON ot.campaign_id = o.id) f`

	// One statement, so rooms and the next cursor come from one snapshot. The version is a sum of
	// counters that only grow, read in one snapshot: a later snapshot never has a lower sum, and
	// has a higher one when any counter grew. What other campaigns of the family change follows
	// with the next change of the balance or of the standing.
	selectRoomsOf = `
SELECT c.id, c.config_version + coalesce(t.version, 0) + CASE WHEN $2
	AND NOT c.credit_funded THEN coalesce(b.version, 0) ELSE 0 END,
	c.daily_budget, c.daily_budget - coalesce(d.amount - d.refunded, 0),
		c.total_budget - coalesce(t.spent - t.refunded, 0),
	CASE WHEN $2 AND NOT c.credit_funded THEN coalesce(b.amount, 0) ELSE $3::bigint END, c.advertiser_id,
	CASE WHEN c.billing_model = 'cpm' THEN c.bid_amount / 1000 ELSE c.bid_amount END,
	coalesce(f.campaigns, 0), coalesce(f.reviewed, false)
FROM campaign c
LEFT JOIN campaign_total t ON t.campaign_id = c.id
LEFT JOIN campaign_spend d ON d.campaign_id = c.id AND d.day = $1
LEFT JOIN balance b ON $2 AND b.account = 'advertiser:' || c.advertiser_id::text AND b.asset = 'USD'
LEFT JOIN family f ON f.advertiser_id = c.advertiser_id AND NOT f.charged
	AND c.billing_model IN ('cpc', 'cpa')
WHERE c.status NOT IN ('archived', 'rejected')`

	selectRooms = `
WITH family AS MATERIALIZED (` + selectUnproven + `true` + selectUnprovenEnd + `)` + selectRoomsOf

	selectChangedRooms = `
WITH changed AS MATERIALIZED (
	SELECT id FROM campaign WHERE room_changed_xid >= $4
	UNION SELECT campaign_id FROM campaign_total WHERE changed_xid >= $4
	UNION SELECT owned.id FROM balance moved JOIN campaign owned ON owned.advertiser_id = substr(moved.account,
		12)::uuid
	WHERE $2 AND moved.changed_xid >= $4 AND moved.account LIKE 'advertiser:%' AND moved.asset = 'USD'),
family AS MATERIALIZED (` + selectUnproven + `c.id IN (SELECT id FROM changed)` + selectUnprovenEnd + `)` +
		selectRoomsOf + `
AND c.id IN (SELECT id FROM changed)`

	selectReleased = `
SELECT campaign_id, minute, amount FROM reservation_released WHERE minute >= $1`

	selectChangedReleased = selectReleased + `
AND campaign_id = ANY($2::uuid[]) AND changed_xid >= $3`

	pruneReleased = `
DELETE FROM reservation_released WHERE minute < $1`

	selectEpoch = `
SELECT epoch FROM reservation_epoch`

	// The time makes it increase even over a restored backup, whose last epoch may be long past.
	nextEpoch = `
UPDATE reservation_epoch SET epoch = greatest(epoch + 1, extract(epoch FROM now())::bigint) RETURNING epoch`

	selectCursor = `
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
	pg_snapshot_xmax(pg_current_snapshot())::text::bigint, now()`
)

// RoomReader reads the campaigns' rooms: the amounts that they may still spend.
type RoomReader struct {
	store *pg.Core
	opts  reserve.RoomOptions
}

// RoomReader returns a reader of rooms with the options.
func (s *Campaigns) RoomReader(opts reserve.RoomOptions) *RoomReader {
	return &RoomReader{s.Core, opts}
}

// Rooms lists the rooms of all campaigns that are neither archived nor rejected when cursor is 0.
// Otherwise it lists those that may have changed since the call that returned cursor as next; some
// may be unchanged.
//
// The cursor is the oldest transaction still running in the reader's snapshot (xmin). Every row
// records the transaction that last changed it. A change that the snapshot did not see comes from a
// transaction that was running then or began later. Its number is ≥ xmin and the next call finds
// it, whatever the order of commits. A clock or a sequence has no such bound. A cursor from another
// server (a restored dump) may be ahead of this server's numbers: then everything is listed.
func (r *RoomReader) Rooms(ctx context.Context, cursor int64) (rooms []reserve.Room, next int64, err error) {
	// REPEATABLE READ: the cursor and the rooms must be of the same snapshot.
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, r.store.Pool, opts, func(tx pgx.Tx) error {
		var ahead int64
		var now time.Time
		if err := tx.QueryRow(ctx, selectCursor).Scan(&next, &ahead, &now); err != nil {
			return err
		}
		sql, args := selectRooms, []any{int32(day.Of(now)), r.opts.Prepaid, int64(math.MaxInt64)}
		changes := cursor > 0 && cursor <= ahead
		if changes {
			sql, args = selectChangedRooms, append(args, cursor)
		}
		found, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		if rooms, err = collectRooms(found, day.Of(now)); err != nil || len(rooms) == 0 {
			return err
		}
		if !changes {
			cursor = 0
		}
		return addReleased(ctx, tx, rooms, releasedSince{cursor, day.MinuteOf(now) - reserve.MaxMinutes - 5})
	})
	return rooms, next, pg.Failure("read rooms", err)
}

func collectRooms(rows pgx.Rows, today day.Day) ([]reserve.Room, error) {
	var rooms []reserve.Room
	var id [16]byte
	var advertiser [16]byte
	var version, daily, left, total, balance, price, unproven int64
	var reviewed bool
	_, err := pgx.ForEachRow(rows, []any{
		&id, &version, &daily, &left, &total, &balance, &advertiser, &price, &unproven, &reviewed,
	}, func() error {
		open := money.Micros(0)
		if unproven > 0 {
			open = owed.Open(unproven, reviewed)
		}
		rooms = append(rooms, reserve.Room{
			CampaignID: id, AdvertiserID: advertiser, Version: version, Day: today, Daily: money.Micros(daily),
			Today: money.Micros(max(0, left)), Total: money.Micros(max(0, total)),
			Balance: money.Micros(max(0, balance)),
			Price:   money.Micros(price), Open: open,
		})
		return nil
	})
	return rooms, err
}

// releasedSince bounds the rows that addReleased reads: changes since a cursor (0 for all) of
// minutes that still count.
type releasedSince struct {
	cursor int64
	minute day.Minute
}

// addReleased fills in settlement's releases, from the snapshot of the rooms.
func addReleased(ctx context.Context, tx pgx.Tx, rooms []reserve.Room, since releasedSince) error {
	at := make(map[[16]byte]int, len(rooms))
	ids := make([][16]byte, len(rooms))
	for i := range rooms {
		at[rooms[i].CampaignID], ids[i] = i, rooms[i].CampaignID
	}
	sql, args := selectReleased, []any{int32(since.minute)}
	if since.cursor > 0 {
		sql, args = selectChangedReleased, append(args, ids, since.cursor)
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	var id [16]byte
	var minute int32
	var amount int64
	_, err = pgx.ForEachRow(rows, []any{&id, &minute, &amount}, func() error {
		if i, listed := at[id]; listed {
			rooms[i].Released = append(
				rooms[i].Released,
				reserve.Released{CampaignID: id, Minute: day.Minute(minute), Amount: money.Micros(amount)},
			)
		}
		return nil
	})
	return err
}

// Epoch returns the epoch of the last rebuild of the shared reservations; 0 before the first.
func (r *RoomReader) Epoch(ctx context.Context) (epoch int64, err error) {
	return epoch, pg.Failure("read the reservations' epoch", r.store.Pool.QueryRow(ctx, selectEpoch).Scan(&epoch))
}

// NextEpoch begins a new epoch, higher than all earlier ones.
func (r *RoomReader) NextEpoch(ctx context.Context) (epoch int64, err error) {
	return epoch, pg.Failure("begin an epoch of reservations", r.store.Pool.QueryRow(ctx, nextEpoch).Scan(&epoch))
}

// Prune removes releases of minutes before minute, and the journals of nodes for which nothing is
// held back.
func (r *RoomReader) Prune(ctx context.Context, minute day.Minute) error {
	if _, err := r.store.Pool.Exec(ctx, pruneReleased, int32(minute)); err != nil {
		return pg.Failure("forget released reservations", err)
	}
	_, err := r.store.Pool.Exec(ctx, pruneJournal, reserve.JournalMemory)
	return pg.Failure("forget the journal of reservations", err)
}
