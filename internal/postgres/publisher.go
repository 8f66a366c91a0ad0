package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/trail"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// One day at a time, so that the planner opens that day's partition only.
	// The rows are the lock under which caps are counted, so they are made before they are needed. Writing the value
	// back is what locks a row that exists.
	lockPublisherDaysSQL = `
INSERT INTO publisher_day AS p (developer_id, day)
SELECT developer_id, day FROM unnest($1::uuid[]) AS developer_id, unnest($2::integer[]) AS day
ORDER BY developer_id, day
ON CONFLICT (developer_id, day) DO UPDATE SET minted = p.minted
RETURNING developer_id, day, minted`

	readCapsSQL = `
SELECT DISTINCT ON (developer_id) developer_id, cap FROM mint_cap WHERE developer_id = ANY($1::uuid[])
ORDER BY developer_id, id DESC`

	shareCasesSQL = `
SELECT developer_id, id FROM quarantine WHERE developer_id = ANY($1::uuid[]) AND decision IS NULL
ORDER BY developer_id FOR SHARE`

	addPublisherDaysSQL = `
INSERT INTO publisher_day AS p (developer_id, day, minted, capped, impressions, clicks, invalid)
SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
	AS d (developer_id, day, minted, capped, impressions, clicks, invalid)
ORDER BY developer_id, day
ON CONFLICT (developer_id, day) DO UPDATE SET minted = p.minted + EXCLUDED.minted, capped = p.capped + EXCLUDED.capped,
	impressions = p.impressions + EXCLUDED.impressions, clicks = p.clicks + EXCLUDED.clicks, invalid = p.invalid + EXCLUDED.invalid`

	addHeldChargesSQL = `
INSERT INTO quarantine_charge AS q (quarantine_id, campaign_id, amount)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS c (quarantine_id, campaign_id, amount)
ORDER BY quarantine_id, campaign_id
ON CONFLICT (quarantine_id, campaign_id) DO UPDATE SET amount = q.amount + EXCLUDED.amount`

	publisherDaysSQL = `
SELECT developer_id, day, minted, capped, impressions, clicks, invalid FROM publisher_day
WHERE day BETWEEN $1 AND $2 AND developer_id IN (SELECT developer_id FROM publisher_day WHERE day = $2)
ORDER BY developer_id, day`

	openQuarantineSQL = `
INSERT INTO quarantine (id, developer_id, rule, evidence, opened_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`

	selectQuarantineSQL = `
SELECT q.id, q.developer_id, q.evidence, q.opened_at, coalesce(q.decision, ''), q.decided_at, q.decided_by, q.note,
	coalesce((SELECT sum(e.amount) FROM ledger_entry e WHERE e.account = 'held:' || q.id AND e.asset = 'CREDIT' AND e.amount > 0), 0)::bigint,
	coalesce((SELECT sum(c.amount) FROM quarantine_charge c WHERE c.quarantine_id = q.id), 0)::bigint
FROM quarantine q `

	listQuarantineSQL = selectQuarantineSQL + `
WHERE ($1::uuid IS NULL OR q.developer_id = $1) AND (NOT $2 OR q.decision IS NULL) AND q.opened_at >= $3
ORDER BY q.opened_at DESC, q.id LIMIT $4`

	lockQuarantineSQL = `SELECT 1 FROM quarantine WHERE id = $1 FOR UPDATE`

	decideQuarantineSQL = `UPDATE quarantine SET decision = $2, decided_at = $3, decided_by = $4, note = $5 WHERE id = $1`

	refundableSQL = `
SELECT q.campaign_id, q.amount, c.advertiser_id, c.credit_funded
FROM quarantine_charge q JOIN campaign c ON c.id = q.campaign_id WHERE q.quarantine_id = $1 ORDER BY 1`

	insertMintCapSQL = `INSERT INTO mint_cap (developer_id, cap, set_by, note, set_at) VALUES ($1, $2, $3, $4, $5)`

	heldCreditsSQL = `
SELECT coalesce(sum(b.amount), 0)::bigint FROM quarantine q JOIN balance b ON b.account = 'held:' || q.id AND b.asset = 'CREDIT'
WHERE q.developer_id = $1 AND q.decision IS NULL`
)

// Impressions says which of the auctions have a recorded impression.
func (b *batchTx) Impressions(ctx context.Context, auctions []uuid.UUID) (map[uuid.UUID]bool, error) {
	return b.recorded(ctx, auctions, ledger.Impression)
}

// lockPublishers locks and reads what minting depends on, in one round trip: after it nobody else mints for these
// publishers or decides about their quarantine until the transaction ends. It comes after the campaigns and before
// every balance; rows are taken by developer and day.
func (b *batchTx) lockPublishers(ctx context.Context, need ledger.Need, books *ledger.Books) error {
	if len(need.Publishers) == 0 || len(need.Days) == 0 {
		return nil
	}
	all := make(map[[16]byte]*ledger.PublisherBook, len(need.Publishers))
	for _, id := range need.Publishers {
		all[id] = &ledger.PublisherBook{MintedOn: make(map[ledger.Day]int64, len(need.Days))}
	}
	ids, days := rawIDs(need.Publishers), make([]int32, len(need.Days))
	for i, day := range need.Days {
		days[i] = int32(day)
	}
	var batch pgx.Batch
	var id, open [16]byte
	var day int32
	var n int64
	var limit *int64
	batch.Queue(lockPublisherDaysSQL, ids, days).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&id, &day, &n}, func() error {
			all[id].MintedOn[ledger.Day(day)] = n
			return nil
		})
		return err
	})
	batch.Queue(readCapsSQL, ids).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&id, &limit}, func() error {
			if limit != nil {
				all[id].HasCap, all[id].Cap = true, money.Credits(*limit)
			}
			return nil
		})
		return err
	})
	batch.Queue(shareCasesSQL, ids).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&id, &open}, func() error { all[id].Case = open; return nil })
		return err
	})
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("lock publishers: %w", err)
	}
	books.Publishers = make(map[uuid.UUID]ledger.PublisherBook, len(all))
	for id, book := range all {
		books.Publishers[id] = *book
	}
	return nil
}

// writePublishers adds what the batch did with publishers, in one round trip.
func (b *batchTx) writePublishers(ctx context.Context, e ledger.Effects) error {
	var batch pgx.Batch
	if n := len(e.Publishers); n > 0 {
		ids, days := make([][16]byte, n), make([]int32, n)
		var numbers [5][]int64
		for i, p := range e.Publishers {
			ids[i], days[i] = p.DeveloperID, int32(p.Day)
			for j, v := range []int64{p.Minted, p.Capped, p.Impressions, p.Clicks, p.Invalid} {
				numbers[j] = append(numbers[j], v)
			}
		}
		batch.Queue(addPublisherDaysSQL, ids, days, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
	}
	if n := len(e.HeldCharges); n > 0 {
		cases, campaigns, amounts := make([][16]byte, n), make([][16]byte, n), make([]int64, n)
		for i, c := range e.HeldCharges {
			cases[i], campaigns[i], amounts[i] = c.Case, c.CampaignID, int64(c.Amount)
		}
		batch.Queue(addHeldChargesSQL, cases, campaigns, amounts)
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("add publisher days: %w", err)
	}
	return nil
}

// PublisherDays lists the days since (included) of the publishers that have one on last, by developer, then day.
func (s *Store) PublisherDays(ctx context.Context, since, last ledger.Day) ([]ledger.PublisherDay, error) {
	rows, err := s.pool.Query(ctx, publisherDaysSQL, int32(since), int32(last))
	if err != nil {
		return nil, failure("read publisher days", err)
	}
	days, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d ledger.PublisherDay, err error) {
		err = row.Scan(&d.DeveloperID, &d.Day, &d.Minted, &d.Capped, &d.Impressions, &d.Clicks, &d.Invalid)
		return d, err
	})
	return days, failure("read publisher days", err)
}

// OpenQuarantine opens a case; false when the publisher has an open one, or the case exists.
func (s *Store) OpenQuarantine(ctx context.Context, c ledger.Quarantine) (bool, error) {
	evidence, err := json.Marshal(c.Evidence)
	if err != nil {
		return false, err
	}
	tag, err := s.pool.Exec(ctx, openQuarantineSQL, c.ID, c.DeveloperID, string(c.Evidence.Rule), evidence, c.OpenedAt)
	return err == nil && tag.RowsAffected() == 1, failure("open quarantine", err)
}

// Quarantines lists cases, newest first.
func (s *Store) Quarantines(ctx context.Context, q ledger.QuarantineQuery) ([]ledger.Quarantine, error) {
	var developer *uuid.UUID
	if q.Developer != uuid.Nil {
		developer = &q.Developer
	}
	rows, err := s.pool.Query(ctx, listQuarantineSQL, developer, q.Open, q.Since, max(1, q.Limit))
	if err != nil {
		return nil, failure("list quarantine", err)
	}
	cases, err := pgx.CollectRows(rows, scanQuarantine)
	return cases, failure("list quarantine", err)
}

func scanQuarantine(row pgx.CollectableRow) (c ledger.Quarantine, err error) {
	var evidence []byte
	var decidedAt *time.Time
	var decidedBy *uuid.UUID
	err = row.Scan(&c.ID, &c.DeveloperID, &evidence, &c.OpenedAt, &c.Decision, &decidedAt, &decidedBy, &c.Note, &c.Held, &c.Charged)
	if err != nil {
		return c, err
	}
	c.OpenedAt = c.OpenedAt.UTC()
	if decidedAt != nil {
		c.DecidedAt = decidedAt.UTC()
	}
	if decidedBy != nil {
		c.DecidedBy = *decidedBy
	}
	return c, json.Unmarshal(evidence, &c.Evidence)
}

// EndQuarantine carries out a decision in one transaction: see [ledger.EndQuarantine]. The same decision again answers
// the same case and writes nothing. Errors: errs.NotFound, errs.Conflict after the other decision.
func (s *Store) EndQuarantine(ctx context.Context, v ledger.QuarantineVerdict) (c ledger.Quarantine, err error) {
	err = s.inTx(ctx, "end quarantine", func(tx pgx.Tx) error {
		c, err = endQuarantine(ctx, tx, v)
		return err
	})
	return c, err
}

func endQuarantine(ctx context.Context, tx pgx.Tx, v ledger.QuarantineVerdict) (c ledger.Quarantine, err error) {
	var one int
	err = tx.QueryRow(ctx, lockQuarantineSQL, v.Case).Scan(&one)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, errs.New(errs.NotFound, "no such quarantine case")
	}
	if err != nil {
		return c, err
	}
	// A statement of its own after the lock: it sees what settlement wrote while this one waited.
	if c, err = readQuarantine(ctx, tx, v.Case); err != nil {
		return c, err
	}
	if done, err := v.Repeats(c); done || err != nil {
		return c, err
	}
	charges, err := refundable(ctx, tx, v.Case)
	if err != nil {
		return c, err
	}
	if _, err := tx.Exec(ctx, decideQuarantineSQL, v.Case, string(v.Decision), v.At, v.By, v.Note); err != nil {
		return c, err
	}
	if err := record(ctx, tx, trail.Entry{TargetKind: trail.TargetQuarantine, TargetID: v.Case.String(), Changes: map[string]trail.Change{
		"decision": {After: string(v.Decision)}, "note": {After: v.Note},
	}}); err != nil {
		return c, err
	}
	if err := insertTransactions(ctx, tx, ledger.EndQuarantine(c, v, charges)); err != nil {
		return c, err
	}
	return readQuarantine(ctx, tx, v.Case)
}

func readQuarantine(ctx context.Context, tx pgx.Tx, id uuid.UUID) (ledger.Quarantine, error) {
	rows, err := tx.Query(ctx, selectQuarantineSQL+"WHERE q.id = $1", id)
	if err != nil {
		return ledger.Quarantine{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanQuarantine)
}

func refundable(ctx context.Context, tx pgx.Tx, id uuid.UUID) ([]ledger.RefundableCharge, error) {
	rows, err := tx.Query(ctx, refundableSQL, id)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c ledger.RefundableCharge, err error) {
		c.Case = id
		err = row.Scan(&c.CampaignID, &c.Amount, &c.AdvertiserID, &c.CreditFunded)
		return c, err
	})
}

// SetMintCap gives a publisher a daily mint cap of its own; a nil Cap goes back to the installation's. Every change is kept.
func (s *Store) SetMintCap(ctx context.Context, c ledger.MintCap) error {
	_, err := s.pool.Exec(ctx, insertMintCapSQL, c.DeveloperID, (*int64)(c.Cap), c.By, c.Note, c.At)
	return failure("set mint cap", err)
}

// HeldCredits is how many Credits of a publisher are held by an open quarantine case.
func (s *Store) HeldCredits(ctx context.Context, developer uuid.UUID) (money.Credits, error) {
	var n int64
	err := s.pool.QueryRow(ctx, heldCreditsSQL, developer).Scan(&n)
	return money.Credits(n), failure("read held Credits", err)
}
