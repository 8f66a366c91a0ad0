package books

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/stream"
)

const (
	lockOffsetsSQL = `
SELECT o.stream, o.partition, o.next_offset FROM consumer_offset o
JOIN unnest($1::text[], $2::integer[]) AS want (stream, partition) USING (stream, partition)
ORDER BY o.stream, o.partition FOR UPDATE OF o`

	addOffsetsSQL = `
INSERT INTO consumer_offset (stream, partition, next_offset)
SELECT stream, partition, next FROM unnest($1::text[], $2::integer[], $3::bigint[]) AS want (stream, partition, next)
ORDER BY stream COLLATE "C", partition
ON CONFLICT DO NOTHING`

	moveOffsetsSQL = `
UPDATE consumer_offset o SET next_offset = want.next
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[]) AS want (stream, partition, first, next)
WHERE o.stream = want.stream AND o.partition = want.partition AND o.next_offset = want.first`

	insertAppliedSQL = `
INSERT INTO applied_batch (stream, partition, first_offset, next_offset, outcomes, applied_at)
SELECT stream, partition, first, next, outcomes, $6
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bytea[]) AS a (stream, partition, first, next,
	outcomes)`

	insertDeadSQL = `
INSERT INTO dlq (stream, partition, record_offset, problem, raw, at)
SELECT stream, partition, record_offset, problem, raw, $6
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::text[], $5::bytea[]) AS d (stream, partition, record_offset,
	problem, raw)`

	addSpendSQL = `
INSERT INTO campaign_spend (campaign_id, day, amount, daily_budget)
SELECT s.campaign_id, s.day, s.amount, c.daily_budget
FROM unnest($1::uuid[], $2::integer[], $3::bigint[]) AS s (campaign_id, day, amount) JOIN campaign c
	ON c.id = s.campaign_id
ORDER BY s.campaign_id, s.day
ON CONFLICT (campaign_id, day) DO UPDATE
SET amount = campaign_spend.amount + EXCLUDED.amount, daily_budget = EXCLUDED.daily_budget`

	addTotalsSQL = `
UPDATE campaign_total t
SET spent = t.spent + s.amount, total_budget = CASE WHEN s.amount > 0 THEN c.total_budget ELSE t.total_budget END,
	version = t.version + 1, changed_xid = room_xid()
FROM (SELECT campaign_id, sum(amount)::bigint AS amount FROM unnest($1::uuid[], $2::bigint[]) AS s (campaign_id,
	amount) GROUP BY 1) s
JOIN campaign c ON c.id = s.campaign_id
WHERE t.campaign_id = s.campaign_id`

	addReleasedSQL = `
INSERT INTO reservation_released (campaign_id, minute, amount)
SELECT campaign_id, minute, amount FROM unnest($1::uuid[], $2::integer[], $3::bigint[]) AS r (campaign_id, minute,
	amount)
ORDER BY campaign_id, minute
ON CONFLICT (campaign_id, minute) DO UPDATE
SET amount = reservation_released.amount + EXCLUDED.amount, changed_xid = EXCLUDED.changed_xid`
)

// InTx runs fn in one READ COMMITTED transaction and commits when fn returns nil. An error rolls
// everything back. An error with errs.Unavailable may have occurred during the commit: read
// [Ledger.Offsets] before a retry. fn must not call the store itself, only its [ledger.Tx].
func (s *Ledger) InTx(ctx context.Context, fn func(ledger.Tx) error) error {
	return s.Transact(ctx, "apply batch", func(tx pgx.Tx) error {
		return fn(&batchTx{store: s, tx: tx})
	})
}

// batchTx is the transaction that applies one batch.
//
// Every applier takes its locks in one order: consumer_offset, early_event, network_clicks,
// consumer_offset of ledger.EarlyStream, billed_event, campaign_total,
// campaign, publisher_day, quarantine (shared), balance; inside each table by key. The release of
// Credits locks publisher_day, quarantine (shared), credit_lot, balance. So appliers cannot
// deadlock. The only other writers of these rows (campaign changes, Credit funding) lock a campaign
// that only they write, then balances.
type batchTx struct {
	store     *Ledger
	tx        pgx.Tx
	claimed   ledger.Claims
	anyEarly  bool               // early events are stored, as AdvanceOffsets found it
	anyActs   bool               // cases about acts may apply, as AdvanceOffsets found it
	horizon   day.Day            // as MarkFirst found it; it cannot move until the transaction ends
	saved     bool               // the savepoint of MarkFirst is set
	invalid   map[uuid.UUID]bool // ledger.Books.Invalid, as MarkFirst found it
	converted map[uuid.UUID]bool // ledger.Books.Converted, as MarkFirst found it
}

var _ ledger.Tx = (*batchTx)(nil)

// AdvanceOffsets moves the offsets from First to Next. A partition without a stored offset may
// start anywhere, because retention may have removed the start of its log. A second claimer waits
// here for the first, then fails with [ledger.ErrFenced]: it sees the moved offset, or finds the
// row that it wanted to add.
func (b *batchTx) AdvanceOffsets(ctx context.Context, ranges []stream.Range) (err error) {
	if b.claimed, err = ledger.Claim(ranges); err != nil {
		return err
	}
	streams, numbers, firsts, nexts := splitRanges(ranges)
	var stored map[stream.Partition]int64
	moved := int64(0)
	var batch pgx.Batch // the second statement moves the rows that the first has locked
	batch.Queue(lockOffsetsSQL, streams, numbers).Query(func(rows pgx.Rows) (err error) {
		stored, err = CollectOffsets(rows)
		return err
	})
	batch.Queue(moveOffsetsSQL, streams, numbers, firsts, nexts).Exec(func(tag pgconn.CommandTag) error {
		moved = tag.RowsAffected()
		return nil
	})
	batch.Queue(anyEarlySQL).QueryRow(func(row pgx.Row) error { return row.Scan(&b.anyEarly, &b.anyActs) })
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("move offsets: %w", err)
	}
	if moved != int64(len(stored)) {
		return fmt.Errorf("claim %v, stored are %v: %w", ranges, stored, ledger.ErrFenced)
	}
	var added []stream.Range
	for _, r := range ranges {
		if _, known := stored[r.Partition]; !known {
			added = append(added, r)
		}
	}
	return b.addOffsets(ctx, added)
}

// addOffsets claims partitions for the first time.
func (b *batchTx) addOffsets(ctx context.Context, ranges []stream.Range) error {
	if len(ranges) == 0 {
		return nil
	}
	streams, numbers, _, nexts := splitRanges(ranges)
	tag, err := b.tx.Exec(ctx, addOffsetsSQL, streams, numbers, nexts)
	if err != nil {
		return fmt.Errorf("claim offsets: %w", err)
	}
	if tag.RowsAffected() != int64(len(ranges)) {
		return fmt.Errorf("claim of %d partitions took %d: %w", len(ranges), tag.RowsAffected(), ledger.ErrFenced)
	}
	return nil
}

// Write stores the effects in two round trips: first everything that needs no reply, together with
// the locks of the balances, then the entries. It rejects outcomes that do not cover exactly the
// claimed ranges, and transactions that do not sum to zero. Balances come last: all appliers share
// the house accounts, so they are locked as briefly as possible.
func (b *batchTx) Write(ctx context.Context, e ledger.Effects) error {
	if err := balanced(e.Transactions); err != nil {
		return err
	}
	var batch pgx.Batch
	if err := b.queueApplied(&batch, e); err != nil {
		return err
	}
	queueDead(&batch, e)
	if err := QueueSpend(&batch, e); err != nil {
		return err
	}
	queuePublisherEffects(&batch, e)
	queueConversionEffects(&batch, e)
	queueEarly(&batch, e)
	opened := queueTransactions(&batch, e.Transactions)
	if batch.Len() > 0 {
		if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
			return fmt.Errorf("write effects: %w", err)
		}
	}
	return opened.link(ctx, b.tx)
}

func (b *batchTx) queueApplied(batch *pgx.Batch, e ledger.Effects) error {
	if err := b.claimed.Apply(e.Applied); err != nil {
		return err
	}
	n := len(e.Applied)
	if n == 0 {
		return nil
	}
	streams, numbers := make([]string, n), make([]int32, n)
	firsts, nexts, outcomes := make([]int64, n), make([]int64, n), make([][]byte, n)
	for i := range e.Applied {
		a := &e.Applied[i]
		streams[i], numbers[i], firsts[i], nexts[i] = a.Stream, a.Number, a.First, a.Next
		outcomes[i] = EncodeOutcomes(nil, a.Outcomes)
	}
	batch.Queue(insertAppliedSQL, streams, numbers, firsts, nexts, outcomes, e.At)
	return nil
}

func queueDead(batch *pgx.Batch, e ledger.Effects) {
	n := len(e.Dead)
	if n == 0 {
		return
	}
	streams, numbers, offsets := make([]string, n), make([]int32, n), make([]int64, n)
	problems, raws := make([]string, n), make([][]byte, n)
	for i := range e.Dead {
		d := &e.Dead[i]
		streams[i], numbers[i], offsets[i] = d.Stream, d.Number, d.Offset
		problems[i] = plainText(d.Problem)
		raws[i] = append([]byte{}, d.Raw...) // never nil, which would be NULL
	}
	batch.Queue(insertDeadSQL, streams, numbers, offsets, problems, raws, e.At)
}

// plainText returns s in a form that a text column accepts. A decoder's error may quote the
// record's bytes, and a dead letter must never block a partition.
func plainText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "�"), "\x00", "�")
}

// QueueSpend adds the charges and the releases. Both raise the total's version in one statement, so
// a reader of rooms sees the higher spend and the lower reservation together.
func QueueSpend(batch *pgx.Batch, e ledger.Effects) error {
	n, m := len(e.Spend), len(e.Released)
	if n+m == 0 {
		return nil
	}
	ids, days, amounts := make([][16]byte, n, n+m), make([]int32, n), make([]int64, n, n+m)
	campaigns := make(map[[16]byte]struct{}, n)
	for i, s := range e.Spend {
		if s.Amount <= 0 {
			return fmt.Errorf("spend of %d on campaign %s", int64(s.Amount), s.CampaignID)
		}
		ids[i], days[i], amounts[i] = s.CampaignID, int32(s.Day), int64(s.Amount)
		campaigns[s.CampaignID] = struct{}{}
	}
	if n > 0 {
		batch.Queue(addSpendSQL, ids, days, amounts).Exec(expects(n, "spend rows belong to campaigns"))
	}
	if err := queueReleased(batch, e.Released); err != nil {
		return err
	}
	for _, r := range e.Released {
		if _, charged := campaigns[r.CampaignID]; !charged {
			campaigns[r.CampaignID] = struct{}{}
			ids, amounts = append(ids, r.CampaignID), append(amounts, 0)
		}
	}
	// Books has locked these rows, so no order is needed here.
	batch.Queue(addTotalsSQL, ids, amounts).Exec(expects(len(campaigns), "campaign totals were raised"))
	return nil
}

func queueReleased(batch *pgx.Batch, released []reserve.Released) error {
	n := len(released)
	if n == 0 {
		return nil
	}
	ids, minutes, amounts := make([][16]byte, n), make([]int32, n), make([]int64, n)
	for i, r := range released {
		if r.Amount <= 0 {
			return fmt.Errorf("release of %d on campaign %s", int64(r.Amount), r.CampaignID)
		}
		ids[i], minutes[i], amounts[i] = r.CampaignID, int32(r.Minute), int64(r.Amount)
	}
	batch.Queue(addReleasedSQL, ids, minutes, amounts)
	return nil
}

// expects returns a check that fails a statement unless it changed exactly n rows.
func expects(n int, what string) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(n) {
			return fmt.Errorf("%d of %d %s", tag.RowsAffected(), n, what)
		}
		return nil
	}
}
