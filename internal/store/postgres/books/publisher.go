package books

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/traffic"
)

// Publishers stores publishers' traffic and cases of quarantine.
type Publishers struct{ *pg.Core }

const (
	// Caps are counted under the locks of these rows, so they are created in advance. Writing the
	// old value back locks an existing row.
	lockPublisherDaysSQL = `
INSERT INTO publisher_day AS p (developer_id, day)
SELECT developer_id, day FROM unnest($1::uuid[]) AS developer_id, unnest($2::integer[]) AS day
ORDER BY developer_id, day
ON CONFLICT (developer_id, day) DO UPDATE SET minted = p.minted
RETURNING developer_id, day, minted`

	readCapsSQL = `
SELECT DISTINCT ON (developer_id) developer_id, cap FROM mint_cap WHERE developer_id = ANY($1::uuid[])
ORDER BY developer_id, id DESC`

	// Only for seats: their owner never changes.
	readOwnersSQL = `
SELECT s.developer_id, o.developer_id FROM app_user s JOIN app_user o ON o.id = s.parent_id
	WHERE s.developer_id = ANY($1::uuid[])`

	shareCasesSQL = `
SELECT developer_id, id FROM quarantine WHERE developer_id = ANY($1::uuid[]) AND decision IS NULL
	AND campaign_id IS NULL
ORDER BY developer_id FOR SHARE`

	addPublisherDaysSQL = `
INSERT INTO publisher_day AS p (developer_id, day, minted, capped, impressions, clicks, invalid, redeemed,
	browser_minted, browser_impressions, browser_clicks, browser_invalid, readers)
SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
	$8::bigint[],
	$9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[])
	AS d (developer_id, day, minted, capped, impressions, clicks, invalid, redeemed,
	browser_minted, browser_impressions, browser_clicks, browser_invalid, readers)
ORDER BY developer_id, day
ON CONFLICT (developer_id, day) DO UPDATE SET minted = p.minted + EXCLUDED.minted, capped = p.capped + EXCLUDED.capped,
	impressions = p.impressions + EXCLUDED.impressions, clicks = p.clicks + EXCLUDED.clicks,
		invalid = p.invalid + EXCLUDED.invalid,
	redeemed = p.redeemed + EXCLUDED.redeemed, browser_minted = p.browser_minted + EXCLUDED.browser_minted,
	browser_impressions = p.browser_impressions + EXCLUDED.browser_impressions,
		browser_clicks = p.browser_clicks + EXCLUDED.browser_clicks,
	browser_invalid = p.browser_invalid + EXCLUDED.browser_invalid, readers = p.readers + EXCLUDED.readers,
	credit_due = p.credit_due OR EXCLUDED.minted > 0`

	addHeldChargesSQL = `
INSERT INTO quarantine_source (quarantine_id, transaction_id, campaign_id, day, amount)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::bigint[])`

	// The publisher of a family's oldest account stands for the family, a seat's owner for the
	// seat.
	familySQL = `
	nullif(o.developer_id, d.developer_id) AS owner_id, coalesce(o.developer_id, d.developer_id) AS family
	FROM publisher_day d LEFT JOIN app_user s ON s.developer_id = d.developer_id
	LEFT JOIN account_family f ON f.account_id = coalesce(s.parent_id, s.id)
	LEFT JOIN app_user o ON o.id = coalesce(f.family_id, s.parent_id)
	WHERE d.day BETWEEN $1 AND $2`

	familyOwnersSQL = `
SELECT s.developer_id, o.developer_id FROM app_user s
LEFT JOIN account_family f ON f.account_id = coalesce(s.parent_id, s.id)
JOIN app_user o ON o.id = coalesce(f.family_id, s.parent_id)
WHERE o.developer_id <> s.developer_id`

	publisherDaysSQL = `
WITH p AS (SELECT d.*, ` + familySQL + `)
SELECT developer_id, owner_id, day, minted, capped, impressions, clicks, invalid, redeemed,
	browser_minted, browser_impressions, browser_clicks, browser_invalid, readers FROM p
WHERE family IN (SELECT family FROM p WHERE day = $2)
ORDER BY family, developer_id, day`

	readerSumsSQL = `
WITH p AS (
	SELECT d.developer_id, sum(d.impressions)::bigint AS impressions,
		sum(d.browser_impressions)::bigint AS browser_impressions, sum(d.readers)::bigint AS readers,
		min(owner_id::text)::uuid AS owner_id, min(family::text) AS family
	FROM (SELECT d.*, ` + familySQL + `) d
	WHERE NOT EXISTS (SELECT 1 FROM quarantine q WHERE q.developer_id = d.developer_id AND q.rule = 'no_readers'
		AND q.decision = 'release')
	GROUP BY d.developer_id
), families AS (
	SELECT *, sum(impressions - browser_impressions) OVER (PARTITION BY family) AS shown,
		min(readers) OVER (PARTITION BY family) AS fewest FROM p
)
SELECT developer_id, owner_id, impressions, browser_impressions, readers FROM families
WHERE shown >= $3 AND fewest = 0 ORDER BY family, developer_id`

	openQuarantineSQL = `
INSERT INTO quarantine (id, developer_id, rule, evidence, opened_at, campaign_id)
VALUES ($1, $2, $3, $4, $5, nullif($6, '00000000-0000-0000-0000-000000000000'::uuid)) ON CONFLICT DO NOTHING`

	// SelectQuarantineSQL reads cases; see [ScanQuarantine].
	SelectQuarantineSQL = `
SELECT q.id, q.developer_id, q.evidence, q.opened_at, coalesce(q.decision, ''), q.decided_at, q.decided_by, q.note,
	coalesce((SELECT sum(e.amount) FROM ledger_entry e WHERE e.account = 'held:' || q.id AND e.asset = 'CREDIT'
		AND e.amount > 0), 0)::bigint,
	coalesce((SELECT sum(c.amount) FROM quarantine_source c WHERE c.quarantine_id = q.id), 0)::bigint
FROM quarantine q `

	listQuarantineSQL = SelectQuarantineSQL + `
WHERE ($1::uuid IS NULL OR q.developer_id = $1) AND (NOT $2 OR q.decision IS NULL) AND q.opened_at >= $3
ORDER BY q.opened_at DESC, q.id LIMIT $4`

	caseDeveloperSQL = `SELECT developer_id FROM quarantine WHERE id = $1`

	lockQuarantineSQL = `SELECT 1 FROM quarantine WHERE id = $1 FOR UPDATE`

	decideQuarantineSQL = `UPDATE quarantine SET decision = $2, decided_at = $3, decided_by = $4, note = $5 WHERE id = $1`

	heldCampaignsSQL = `SELECT DISTINCT campaign_id FROM quarantine_source WHERE quarantine_id = $1 ORDER BY 1`

	refundableSQL = `
SELECT q.campaign_id, q.day, q.amount, q.first, c.advertiser_id, c.credit_funded
FROM (SELECT campaign_id, day, sum(amount)::bigint AS amount, (array_agg(transaction_id ORDER BY seq))[1] AS first
		FROM quarantine_source WHERE quarantine_id = $1 GROUP BY 1, 2) q
JOIN campaign c ON c.id = q.campaign_id ORDER BY 1, 2`

	firstMintSQL = `
SELECT transaction_id FROM ledger_entry WHERE account = 'held:' || $1::uuid AND asset = 'CREDIT' AND amount > 0
	ORDER BY seq LIMIT 1`

	addMintReversalsSQL = `
INSERT INTO ledger_reversal (transaction_id, reverses, amount)
SELECT $2, transaction_id, amount FROM ledger_entry WHERE account = 'held:' || $1::uuid AND asset = 'CREDIT'
	AND amount > 0`

	addChargeReversalsSQL = `
INSERT INTO ledger_reversal (transaction_id, reverses, amount)
SELECT back.id, s.transaction_id, sum(s.amount) FROM quarantine_source s
JOIN unnest($2::uuid[], $3::uuid[]) AS back (id, campaign_id) USING (campaign_id) WHERE s.quarantine_id = $1
	GROUP BY 1, 2`

	reopenDaysSQL = `
UPDATE campaign_spend s SET refunded = s.refunded + r.amount
FROM unnest($1::uuid[], $2::integer[], $3::bigint[]) AS r (campaign_id, day, amount)
	WHERE s.campaign_id = r.campaign_id AND s.day = r.day`

	reopenTotalsSQL = `
UPDATE campaign_total t SET refunded = t.refunded + r.amount, version = t.version + 1, changed_xid = room_xid()
FROM (SELECT campaign_id, sum(amount)::bigint AS amount FROM unnest($1::uuid[], $2::bigint[]) AS r (campaign_id,
	amount) GROUP BY 1) r
WHERE t.campaign_id = r.campaign_id`

	reversalsSQL = `SELECT transaction_id, reverses, amount FROM ledger_reversal WHERE transaction_id = $1 ORDER BY reverses`

	readCapSQL       = `SELECT cap FROM mint_cap WHERE developer_id = $1 ORDER BY id DESC LIMIT 1`
	insertMintCapSQL = `INSERT INTO mint_cap (developer_id, cap, set_by, note, set_at) VALUES ($1, $2, $3, $4, $5)`

	heldCreditsSQL = `
SELECT coalesce(sum(b.amount), 0)::bigint FROM quarantine q JOIN balance b ON b.account = 'held:' || q.id
	AND b.asset = 'CREDIT'
WHERE q.developer_id = $1 AND q.decision IS NULL`
)

// Recorded returns the auctions that have a recorded event of a type.
func (b *batchTx) Recorded(ctx context.Context, of ledger.EventType, auctions []uuid.UUID) (map[uuid.UUID]bool, error) {
	ask := recorded{auctions, of, make(map[uuid.UUID]bool)}
	if len(auctions) == 0 {
		return ask.found, nil
	}
	var batch pgx.Batch
	queueRecorded(&batch, ask)
	if err := b.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read recorded events: %w", err)
	}
	return ask.found, nil
}

// queuePublishers locks and reads the rows that minting depends on. Afterwards no other transaction
// mints for these publishers or decides about their quarantine until this one ends. It runs after
// the campaigns and before every balance; rows are locked by developer and day.
func queuePublishers(batch *pgx.Batch, need ledger.Need, books *ledger.Books) {
	if len(need.Publishers) == 0 || len(need.Days) == 0 {
		return
	}
	books.Publishers = make(map[uuid.UUID]ledger.PublisherBook, len(need.Publishers))
	for _, id := range need.Publishers {
		books.Publishers[id] = ledger.PublisherBook{MintedOn: make(map[day.Day]int64, len(need.Days))}
	}
	change := func(id uuid.UUID, edit func(*ledger.PublisherBook)) {
		book := books.Publishers[id]
		edit(&book)
		books.Publishers[id] = book
	}
	ids, days := rawIDs(need.Publishers), rawDays(need.Days)
	var id, open [16]byte
	var date int32
	var n int64
	var limit *int64
	batch.Queue(lockPublisherDaysSQL, ids, days).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&id, &date, &n}, func() error {
			books.Publishers[id].MintedOn[day.Day(date)] = n
			return nil
		})
		return err
	})
	batch.Queue(readCapsSQL, ids).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&id, &limit}, func() error {
			if limit != nil {
				change(id, func(b *ledger.PublisherBook) { b.HasCap, b.Cap = true, money.Credits(*limit) })
			}
			return nil
		})
		return err
	})
	batch.Queue(readOwnersSQL, ids).Query(func(rows pgx.Rows) error {
		var owner [16]byte
		_, err := pgx.ForEachRow(rows, []any{&id, &owner}, func() error {
			change(id, func(b *ledger.PublisherBook) { b.Owner = owner })
			return nil
		})
		return err
	})
	batch.Queue(shareCasesSQL, ids).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&id, &open}, func() error {
			change(id, func(b *ledger.PublisherBook) { b.Case = open })
			return nil
		})
		return err
	})
}

// queuePublisherEffects adds the batch's effects on publishers.
func queuePublisherEffects(batch *pgx.Batch, e ledger.Effects) {
	if n := len(e.Publishers); n > 0 {
		ids, days := make([][16]byte, n), make([]int32, n)
		var numbers [11][]int64
		for i, p := range e.Publishers {
			ids[i], days[i] = p.DeveloperID, int32(p.Day)
			for j, v := range []int64{p.Minted, p.Capped, p.Impressions, p.Clicks, p.Invalid, p.Redeemed,
				p.BrowserMinted, p.BrowserImpressions, p.BrowserClicks, p.BrowserInvalid, p.Readers} {
				numbers[j] = append(numbers[j], v)
			}
		}
		batch.Queue(addPublisherDaysSQL, ids, days, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
			numbers[5],
			numbers[6], numbers[7], numbers[8], numbers[9], numbers[10])
	}
	queueCredits(batch, e)
	if n := len(e.HeldCharges); n > 0 {
		cases, charges, campaigns := make([][16]byte, n), make([][16]byte, n), make([][16]byte, n)
		days, amounts := make([]int32, n), make([]int64, n)
		for i, c := range e.HeldCharges {
			cases[i], charges[i], campaigns[i], days[i], amounts[i] = c.Case, c.Charge, c.CampaignID, int32(c.Day),
				int64(c.Amount)
		}
		batch.Queue(addHeldChargesSQL, cases, charges, campaigns, days, amounts)
	}
}

// PublisherDays lists the days from since (included) of the publishers with a day on last, and of
// all other publishers of the same families, by family, developer and day.
func (s *Publishers) PublisherDays(ctx context.Context, since, last day.Day) ([]traffic.PublisherDay, error) {
	rows, err := s.Pool.Query(ctx, publisherDaysSQL, int32(since), int32(last))
	if err != nil {
		return nil, pg.Failure("read publisher days", err)
	}
	days, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d traffic.PublisherDay, err error) {
		var owner *uuid.UUID
		err = row.Scan(&d.DeveloperID, &owner, &d.Day, &d.Minted, &d.Capped, &d.Impressions, &d.Clicks, &d.Invalid,
			&d.Redeemed,
			&d.BrowserMinted, &d.BrowserImpressions, &d.BrowserClicks, &d.BrowserInvalid, &d.Readers)
		if owner != nil {
			d.OwnerID = *owner
		}
		return d, err
	})
	return days, pg.Failure("read publisher days", err)
}

// FamilyOwners maps the developer ids of accounts to that of their family's oldest account, unless
// it is their own.
func (s *Publishers) FamilyOwners(ctx context.Context) (map[uuid.UUID]uuid.UUID, error) {
	rows, err := s.Pool.Query(ctx, familyOwnersSQL)
	if err != nil {
		return nil, pg.Failure("read families of publishers", err)
	}
	owners := make(map[uuid.UUID]uuid.UUID)
	var member, owner uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&member, &owner}, func() error {
		owners[member] = owner
		return nil
	})
	return owners, pg.Failure("read families of publishers", err)
}

// ReaderSums lists the sums of the days from since to last of the publishers of families with at
// least so many impressions, by family and developer. Those that a person approved are not listed.
func (s *Publishers) ReaderSums(
	ctx context.Context, since, last day.Day, impressions int64,
) ([]traffic.PublisherDay, error) {
	rows, err := s.Pool.Query(ctx, readerSumsSQL, int32(since), int32(last), impressions)
	if err != nil {
		return nil, pg.Failure("read sums of readers", err)
	}
	sums, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d traffic.PublisherDay, err error) {
		var owner *uuid.UUID
		err = row.Scan(&d.DeveloperID, &owner, &d.Impressions, &d.BrowserImpressions, &d.Readers)
		if owner != nil {
			d.OwnerID = *owner
		}
		return d, err
	})
	return sums, pg.Failure("read sums of readers", err)
}

// OpenQuarantine opens a case. It returns false when the publisher has an open case, about the same
// campaign if it is about acts, or the case exists.
func (s *Publishers) OpenQuarantine(ctx context.Context, c ledger.Quarantine) (bool, error) {
	opened := false
	err := s.Transact(ctx, "open quarantine", func(tx pgx.Tx) (err error) {
		opened, err = OpenCase(ctx, tx, c)
		return err
	})
	return opened && err == nil, err
}

// OpenCase stores a case unless one like it is open, and reports whether it did.
func OpenCase(ctx context.Context, tx pgx.Tx, c ledger.Quarantine) (bool, error) {
	evidence, err := json.Marshal(c.Evidence)
	if err != nil {
		return false, err
	}
	tag, err := tx.Exec(
		ctx, openQuarantineSQL, c.ID, c.DeveloperID, string(c.Evidence.Rule), evidence, c.OpenedAt, c.Evidence.Campaign,
	)
	if err != nil || tag.RowsAffected() != 1 {
		return false, err
	}
	return true, audit.Record(ctx, tx, auditlog.OfCase(c))
}

// Quarantines lists cases, newest first.
func (s *Publishers) Quarantines(ctx context.Context, q ledger.QuarantineQuery) ([]ledger.Quarantine, error) {
	var developer *uuid.UUID
	if q.Developer != uuid.Nil {
		developer = &q.Developer
	}
	rows, err := s.Pool.Query(ctx, listQuarantineSQL, developer, q.Open, q.Since, max(1, q.Limit))
	if err != nil {
		return nil, pg.Failure("list quarantine", err)
	}
	cases, err := pgx.CollectRows(rows, ScanQuarantine)
	return cases, pg.Failure("list quarantine", err)
}

// ScanQuarantine reads a row of [SelectQuarantineSQL].
func ScanQuarantine(row pgx.CollectableRow) (c ledger.Quarantine, err error) {
	var evidence []byte
	var decidedAt *time.Time
	var decidedBy *uuid.UUID
	err = row.Scan(
		&c.ID, &c.DeveloperID, &evidence, &c.OpenedAt, &c.Decision, &decidedAt, &decidedBy, &c.Note, &c.Held,
		&c.Charged,
	)
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

// errMoreCampaigns means that settlement charged another campaign before the case was locked.
var errMoreCampaigns = errors.New("a further campaign was charged for the traffic of the case")

// EndQuarantine carries out a decision in one transaction: see [ledger.EndQuarantine]. The same
// decision again returns the same case and writes nothing. Errors: errs.NotFound, errs.Conflict
// after the opposite decision.
func (s *Publishers) EndQuarantine(ctx context.Context, v ledger.QuarantineVerdict) (c ledger.Quarantine, err error) {
	for range 20 {
		err = s.Transact(ctx, "end quarantine", func(tx pgx.Tx) error {
			c, err = endQuarantine(ctx, tx, v)
			return err
		})
		if !errors.Is(err, errMoreCampaigns) {
			return c, err
		}
	}
	return c, errs.Wrap(err, errs.Unavailable, "the case's traffic is being settled: try again")
}

// endQuarantine locks in the order of settlement: first the totals of the campaigns whose budgets a
// claw-back reopens, then the publisher's days, the case and the balances. The set of campaigns is
// only certain under the lock of the case.
func endQuarantine(ctx context.Context, tx pgx.Tx, v ledger.QuarantineVerdict) (c ledger.Quarantine, err error) {
	locked, err := lockHeldTotals(ctx, tx, v)
	if err != nil {
		return c, err
	}
	if err := lockCase(ctx, tx, v.Case); err != nil {
		return c, err
	}
	// A separate statement after the lock sees everything that settlement wrote during the wait.
	if c, err = readQuarantine(ctx, tx, v.Case); err != nil {
		return c, err
	}
	if done, err := v.Repeats(c); done || err != nil {
		return c, err
	}
	books, err := quarantineBooks(ctx, tx, v.Case)
	if err != nil {
		return c, err
	}
	if _, err := tx.Exec(ctx, decideQuarantineSQL, v.Case, string(v.Decision), v.At, v.By, v.Note); err != nil {
		return c, err
	}
	if err := audit.Record(ctx, tx, auditlog.OfVerdict(c, v)); err != nil {
		return c, err
	}
	if c.OfActs() { // settlement finds the decision; no Credit is held
		return readQuarantine(ctx, tx, v.Case)
	}
	written := ledger.EndQuarantine(c, v, books)
	if v.Decision == ledger.QuarantineClawback {
		for _, charge := range books.Charges {
			if !slices.Contains(locked, charge.CampaignID) {
				return c, errMoreCampaigns
			}
		}
		if err := takeBack(ctx, tx, v.Case, clawback{written, books.Charges}); err != nil {
			return c, err
		}
	}
	if err := endCase(ctx, tx, c, v.Decision); err != nil {
		return c, err
	}
	if err := InsertTransactions(ctx, tx, written); err != nil {
		return c, err
	}
	return readQuarantine(ctx, tx, v.Case)
}

// lockCase locks the publisher's days, then the case, in the order of settlement.
func lockCase(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	var developer uuid.UUID // never changes
	err := tx.QueryRow(ctx, caseDeveloperSQL, id).Scan(&developer)
	if errors.Is(err, pgx.ErrNoRows) {
		return errs.New(errs.NotFound, "no such quarantine case")
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, lockCaseDaysSQL, developer, id); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, lockQuarantineSQL, id)
	return err
}

// lockHeldTotals locks the totals of the campaigns known so far whose budgets a claw-back reopens,
// and returns these campaigns.
func lockHeldTotals(ctx context.Context, tx pgx.Tx, v ledger.QuarantineVerdict) ([]uuid.UUID, error) {
	if v.Decision != ledger.QuarantineClawback {
		return nil, nil
	}
	rows, err := tx.Query(ctx, heldCampaignsSQL, v.Case)
	if err != nil {
		return nil, err
	}
	campaigns, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, lockTotalsSQL, rawIDs(campaigns))
	return campaigns, err
}

func quarantineBooks(ctx context.Context, tx pgx.Tx, id uuid.UUID) (b ledger.QuarantineBooks, err error) {
	rows, err := tx.Query(ctx, refundableSQL, id)
	if err != nil {
		return b, err
	}
	b.Charges, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c ledger.RefundableCharge, err error) {
		c.Case = id
		err = row.Scan(&c.CampaignID, &c.Day, &c.Amount, &c.Charge, &c.AdvertiserID, &c.CreditFunded)
		return c, err
	})
	if err != nil {
		return b, err
	}
	if err = tx.QueryRow(ctx, firstMintSQL, id).Scan(&b.FirstMint); errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return b, err
}

// clawback holds the transactions of a claw-back and the charges that they refund.
type clawback struct {
	written []ledger.Transaction
	charges []ledger.RefundableCharge
}

// takeBack records the reversed rows of the transactions and reopens the budgets.
func takeBack(ctx context.Context, tx pgx.Tx, id uuid.UUID, c clawback) error {
	var batch pgx.Batch
	var backs, subjects [][16]byte
	for i := range c.written {
		switch t := &c.written[i]; t.Kind {
		case ledger.KindMintClawback:
			batch.Queue(addMintReversalsSQL, id, t.ID)
		case ledger.KindTrafficRefund:
			backs, subjects = append(backs, t.ID), append(subjects, t.Subject)
		}
	}
	batch.Queue(addChargeReversalsSQL, id, backs, subjects)
	n := len(c.charges)
	ids, amounts := make([][16]byte, n), make([]int64, n)
	var dayIDs [][16]byte
	var days []int32
	var dayAmounts []int64
	for i, charge := range c.charges {
		ids[i], amounts[i] = charge.CampaignID, int64(charge.Amount)
		if charge.Day != 0 {
			dayIDs, days, dayAmounts = append(dayIDs, charge.CampaignID), append(days, int32(charge.Day)), append(
				dayAmounts, int64(charge.Amount),
			)
		}
	}
	batch.Queue(reopenDaysSQL, dayIDs, days, dayAmounts).Exec(expects(len(days), "days of campaigns were reopened"))
	batch.Queue(reopenTotalsSQL, ids, amounts).Exec(expects(len(backs), "campaign totals were reopened"))
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("take back: %w", err)
	}
	return nil
}

// Reversals lists the rows that a transaction reverses.
func (s *Publishers) Reversals(ctx context.Context, transaction uuid.UUID) ([]ledger.Reversal, error) {
	rows, err := s.Pool.Query(ctx, reversalsSQL, transaction)
	if err != nil {
		return nil, pg.Failure("read reversals", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.Reversal])
	return list, pg.Failure("read reversals", err)
}

func readQuarantine(ctx context.Context, tx pgx.Tx, id uuid.UUID) (ledger.Quarantine, error) {
	rows, err := tx.Query(ctx, SelectQuarantineSQL+"WHERE q.id = $1", id)
	if err != nil {
		return ledger.Quarantine{}, err
	}
	return pgx.CollectExactlyOneRow(rows, ScanQuarantine)
}

// SetMintCap gives a publisher a daily mint cap of its own; a nil Cap restores the installation's.
// Every change stays on record.
func (s *Publishers) SetMintCap(ctx context.Context, c ledger.MintCap) error {
	return s.Transact(ctx, "set mint cap", func(tx pgx.Tx) error {
		var before *int64
		err := tx.QueryRow(ctx, readCapSQL, c.DeveloperID).Scan(&before)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if _, err := tx.Exec(ctx, insertMintCapSQL, c.DeveloperID, (*int64)(c.Cap), c.By, c.Note, c.At); err != nil {
			return err
		}
		return audit.Record(ctx, tx, auditlog.OfMintCap(before, c))
	})
}
