package books

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

const (
	// Settlement holds the day's row (lockPublisherDaysSQL), so the flag is set once.
	addSourcesSQL = `
WITH added AS (
	SELECT * FROM unnest($1::uuid[], $2::integer[], $3::uuid[], $4::boolean[], $5::bigint[]) AS s (developer_id, day,
		advertiser_id, by_credits, charged)
), due AS (
	UPDATE publisher_day p SET credit_due = true FROM (SELECT DISTINCT developer_id, day FROM added) a
	WHERE p.developer_id = a.developer_id AND p.day = a.day AND NOT p.credit_due
)
INSERT INTO credit_source AS c (developer_id, day, advertiser_id, by_credits, charged)
SELECT developer_id, day, advertiser_id, by_credits, charged FROM added ORDER BY 1, 2, 3, 4
ON CONFLICT (developer_id, day, advertiser_id, by_credits) DO UPDATE SET charged = c.charged + EXCLUDED.charged`

	addCaseMintsSQL = `
UPDATE publisher_day p SET in_case = p.in_case + m.amount
FROM unnest($1::uuid[], $2::integer[], $3::bigint[]) AS m (developer_id, day, amount)
	WHERE p.developer_id = m.developer_id AND p.day = m.day`

	dueDaysSQL = `
SELECT developer_id, day FROM (
	SELECT developer_id, day FROM publisher_day WHERE credit_due
	UNION SELECT developer_id, day FROM credit_lot WHERE until > '-infinity' AND until <= $1) due
WHERE (developer_id, day) > ($2, $3) ORDER BY developer_id, day LIMIT $4`

	lockDaysSQL = `
SELECT p.developer_id, p.day, p.minted, p.in_case, p.gone, p.credit_moves FROM publisher_day p
JOIN unnest($1::uuid[], $2::integer[]) AS want (developer_id, day) USING (developer_id, day)
ORDER BY p.developer_id, p.day FOR UPDATE OF p`

	readSourcesSQL = `
SELECT s.developer_id, s.day, s.advertiser_id, coalesce(f.family_id, u.parent_id, s.advertiser_id), s.by_credits,
	s.charged, s.refunded, s.unbacked FROM credit_source s
JOIN unnest($1::uuid[], $2::integer[]) AS want (developer_id, day) USING (developer_id, day)
LEFT JOIN app_user u ON u.id = s.advertiser_id
LEFT JOIN account_family f ON f.account_id = coalesce(u.parent_id, s.advertiser_id) ORDER BY 1, 2, 3, 5`

	lockLotsSQL = `
SELECT l.developer_id, l.day, l.value, CASE WHEN l.until > '-infinity' THEN l.until END, l.long, l.amount,
	l.remaining FROM credit_lot l
JOIN unnest($1::uuid[], $2::integer[]) AS want (developer_id, day) USING (developer_id, day)
ORDER BY l.developer_id, l.day, l.value, l.until, l.long FOR UPDATE OF l`

	moveDaysSQL = `
UPDATE publisher_day p SET gone = m.gone, released = m.released, credit_moves = m.moves, credit_due = false
FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[]) AS m (developer_id, day, gone,
	released, moves)
WHERE p.developer_id = m.developer_id AND p.day = m.day`

	keepLotsSQL = `
INSERT INTO credit_lot (developer_id, day, value, until, long, amount, remaining)
SELECT developer_id, day, value, coalesce(until, '-infinity'), long, amount, remaining
FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::timestamptz[], $5::boolean[], $6::bigint[], $7::bigint[])
	AS l (developer_id, day, value, until, long, amount, remaining)
ON CONFLICT (developer_id, day, value, until, long) DO UPDATE SET amount = EXCLUDED.amount,
	remaining = EXCLUDED.remaining`

	dropLotsSQL = `
DELETE FROM credit_lot l USING unnest($1::uuid[], $2::integer[]) AS moved (developer_id, day)
WHERE l.developer_id = moved.developer_id AND l.day = moved.day AND l.amount = 0 AND l.remaining = 0`

	// The owners of publishers with an account, and the Credits in their notices since a time.
	noticedCreditsSQL = `
SELECT u.developer_id, coalesce(u.parent_id, u.id), (
	SELECT coalesce(sum((a.changes->$3::text->>'after')::bigint), 0)::bigint FROM audit_log a
	WHERE a.target_kind = $2 AND a.target_id = u.developer_id::text AND a.at >= $4)
FROM app_user u WHERE u.developer_id = ANY($1::uuid[]) ORDER BY 1`

	// Only rows with expired pending Credits: settlement sets the flag of all others.
	markExpiredSQL = `
UPDATE publisher_day SET credit_due = true
WHERE day >= $1 AND day < $2 AND NOT credit_due AND minted - in_case - gone - released > 0`

	debtorsSQL = `
WITH owing AS (
	SELECT c.advertiser_id, false AS by_credits, least(c.back, greatest(0, -coalesce(b.amount, 0)))::bigint AS owed
	FROM (SELECT advertiser_id, sum(amount) AS back FROM (
		SELECT d.advertiser_id, p.reversed AS amount FROM payment p JOIN deposit d ON d.id = p.deposit_id
			WHERE p.reversed > 0
		UNION ALL SELECT account_id, applied FROM payment_parked WHERE decision = 'debit') taken GROUP BY 1) c
	LEFT JOIN balance b ON b.account = 'advertiser:' || c.advertiser_id AND b.asset = 'USD'
	UNION ALL
	SELECT u.id, true, greatest(0, -sum(l.remaining * l.value))::bigint FROM credit_lot l JOIN app_user u
		ON u.developer_id = l.developer_id
	WHERE l.until = '-infinity' AND l.developer_id IN (SELECT developer_id FROM credit_lot WHERE remaining < 0)
		GROUP BY u.id
)
SELECT coalesce(n.advertiser_id, k.advertiser_id), coalesce(n.by_credits, k.by_credits), coalesce(n.owed, 0)
FROM owing n FULL JOIN credit_debt k ON k.advertiser_id = n.advertiser_id AND k.by_credits = n.by_credits
WHERE coalesce(n.owed, 0) <> coalesce(k.owed, 0)
	OR n.owed > 0 -- who owes may have been charged anew: what is newest has changed
ORDER BY 1, 2`

	debtDaysSQL = `
SELECT developer_id, day FROM (
	SELECT developer_id, day, unbacked, sum(charged - refunded) OVER (ORDER BY day DESC,
		developer_id) - (charged - refunded) AS newer
	FROM credit_source WHERE advertiser_id = $1 AND by_credits = $2) s
WHERE newer < $3 OR unbacked > 0`

	paidDaysSQL = `
SELECT developer_id, day, charged - refunded, unbacked FROM credit_source
JOIN unnest($3::uuid[], $4::integer[]) AS want (developer_id, day) USING (developer_id, day)
WHERE advertiser_id = $1 AND by_credits = $2 ORDER BY day DESC, developer_id`

	unbackSQL = `
WITH changed AS (
	SELECT * FROM unnest($3::uuid[], $4::integer[], $5::bigint[]) AS c (developer_id, day, unbacked)
), due AS (
	UPDATE publisher_day p SET credit_due = true FROM changed c WHERE p.developer_id = c.developer_id AND p.day = c.day
)
UPDATE credit_source s SET unbacked = c.unbacked FROM changed c
WHERE s.developer_id = c.developer_id AND s.day = c.day AND s.advertiser_id = $1 AND s.by_credits = $2`

	keepDebtSQL = `
INSERT INTO credit_debt (advertiser_id, by_credits, owed, spread) VALUES ($1, $2, $3, $4)
ON CONFLICT (advertiser_id, by_credits) DO UPDATE SET owed = EXCLUDED.owed, spread = EXCLUDED.spread`

	lockFundingSQL = `
SELECT day, value, remaining FROM credit_lot WHERE developer_id = $1 AND until = '-infinity' AND remaining <> 0
	ORDER BY day, value FOR UPDATE`

	takeFundingSQL = `
UPDATE credit_lot l SET remaining = l.remaining - t.amount FROM unnest($2::integer[], $3::bigint[],
	$4::bigint[]) AS t (day, value, amount)
WHERE l.developer_id = $1 AND l.day = t.day AND l.value = t.value AND l.until = '-infinity' AND NOT l.long`

	waitingDaysSQL = `
SELECT day, minted, in_case, gone,
	coalesce((SELECT q.rule FROM quarantine q WHERE q.developer_id = $1 AND q.decision IS NULL AND q.campaign_id IS NULL), '') FROM publisher_day p WHERE developer_id = $1 AND (in_case > 0 OR minted <> in_case + gone + released
	OR EXISTS (SELECT 1 FROM credit_lot l WHERE l.developer_id = $1 AND l.day = p.day AND l.until > '-infinity'))
ORDER BY day`

	waitingLotsSQL = `
SELECT day, value, CASE WHEN until > '-infinity' THEN until END, long, amount, remaining FROM credit_lot
WHERE developer_id = $1 AND day = ANY($2::integer[]) ORDER BY day, value, until, long`

	creditBalancesSQL = `SELECT account, amount FROM balance WHERE asset = 'CREDIT' AND account = ANY($1::text[])`

	// The days that a decision about a case affects. They are locked before the case, as in
	// settlement.
	lockCaseDaysSQL = `
SELECT 1 FROM publisher_day WHERE developer_id = $1 AND (in_case > 0 OR minted > in_case + gone + released
	OR day IN (SELECT day FROM quarantine_source WHERE quarantine_id = $2)) ORDER BY developer_id, day FOR UPDATE`

	endCaseDaysSQL = `
UPDATE publisher_day SET in_case = 0, gone = gone + CASE WHEN $2 THEN in_case ELSE 0 END, credit_due = true
WHERE developer_id = $1 AND (in_case > 0 OR minted > in_case + gone + released)`

	refundSourcesSQL = `
UPDATE credit_source s SET refunded = s.refunded + r.amount
FROM (SELECT q.day, c.advertiser_id, c.credit_funded, sum(q.amount)::bigint AS amount
	FROM quarantine_source q JOIN campaign c ON c.id = q.campaign_id WHERE q.quarantine_id = $2 GROUP BY 1, 2, 3) r
WHERE s.developer_id = $1 AND s.day = r.day AND s.advertiser_id = r.advertiser_id AND s.by_credits = r.credit_funded`

	refundedDaysSQL = `
UPDATE publisher_day SET credit_due = true
WHERE developer_id = $1 AND NOT credit_due AND day IN (SELECT day FROM quarantine_source WHERE quarantine_id = $2)`

	meanChargeSQL = `
SELECT coalesce((SELECT sum(charged - refunded) FROM credit_source WHERE day BETWEEN $1 AND $2), 0)::bigint,
	coalesce((SELECT sum(impressions) FROM publisher_day WHERE day BETWEEN $1 AND $2), 0)::bigint`
)

// creditChunk is the number of publisher days moved in one transaction of the release. Settlement
// waits for their rows meanwhile.
const creditChunk = 100

// queueCredits adds the charges and mints that affect the release of Credits to the batch.
func queueCredits(batch *pgx.Batch, e ledger.Effects) {
	if n := len(e.Sources); n > 0 {
		developers, payers := make([][16]byte, n), make([][16]byte, n)
		days, credits, amounts := make([]int32, n), make([]bool, n), make([]int64, n)
		for i, c := range e.Sources {
			developers[i], days[i], payers[i], credits[i], amounts[i] = c.DeveloperID, int32(c.Day), c.AdvertiserID,
				c.ByCredits, int64(c.Amount)
		}
		batch.Queue(addSourcesSQL, developers, days, payers, credits, amounts)
	}
	if n := len(e.CaseMints); n > 0 {
		developers, days, amounts := make([][16]byte, n), make([]int32, n), make([]int64, n)
		for i, m := range e.CaseMints {
			developers[i], days[i], amounts[i] = m.DeveloperID, int32(m.Day), m.Amount
		}
		batch.Queue(addCaseMintsSQL, developers, days, amounts)
	}
}

// ReleaseCredits updates every publisher day with a change or an ended hold: see
// [ledger.CreditRules.Move]. Before that it spreads the debts of payers over the days of their
// charges.
//
// Each transaction locks the days, then their lots, then balances, and computes its writes only
// from what it reads under these locks. So any number of processes may run it at once, and a crash
// leaves only complete steps.
func (s *Ledger) ReleaseCredits(ctx context.Context, r ledger.CreditRules) (run ledger.CreditRun, err error) {
	// A take-back may leave a publisher in debt and thereby make further charges unbacked that it
	// paid for with Credits. The next run handles them.
	if err := s.spreadDebts(ctx); err != nil {
		return run, err
	}
	var last publisherDay
	for {
		var days []publisherDay
		var part ledger.CreditRun
		err := s.Transact(ctx, "release Credits", func(tx pgx.Tx) (err error) {
			part = ledger.CreditRun{}
			if days, err = dueDays(ctx, tx, r.Now, last); err != nil || len(days) == 0 {
				return err
			}
			part, err = releaseDays(ctx, tx, r, days)
			return err
		})
		if err != nil {
			return run, err
		}
		run.Merge(part)
		if len(days) < creditChunk {
			return run, nil
		}
		last = days[len(days)-1]
	}
}

// publisherDay names a row of publisher_day.
type publisherDay struct {
	developer uuid.UUID
	day       day.Day
}

func splitDays(days []publisherDay) (ids [][16]byte, dates []int32) {
	for _, d := range days {
		ids, dates = append(ids, d.developer), append(dates, int32(d.day))
	}
	return ids, dates
}

func scanDay(row pgx.CollectableRow) (d publisherDay, err error) {
	err = row.Scan(&d.developer, &d.day)
	return d, err
}

func dueDays(ctx context.Context, tx pgx.Tx, now time.Time, after publisherDay) ([]publisherDay, error) {
	rows, err := tx.Query(ctx, dueDaysSQL, now, after.developer, int32(after.day), creditChunk)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanDay)
}

// releaseDays moves the Credits of the days.
func releaseDays(
	ctx context.Context, tx pgx.Tx, r ledger.CreditRules, due []publisherDay,
) (run ledger.CreditRun, err error) {
	days, err := lockDays(ctx, tx, due)
	if err != nil {
		return run, err
	}
	var written []ledger.Transaction
	var back []ledger.TakenBack
	for i := range days {
		moves := r.Move(days[i])
		run.Add(moves)
		back = moves.AddTakenBack(back)
		days[i], written = moves.CreditDay, append(written, moves.Written...)
	}
	if err := keepDays(ctx, tx, days); err != nil {
		return run, err
	}
	if err := InsertTransactions(ctx, tx, written); err != nil {
		return run, err
	}
	return run, noticeTakenBack(ctx, tx, r.Now, back)
}

// noticeTakenBack writes entries that publishers with an account read.
func noticeTakenBack(ctx context.Context, tx pgx.Tx, now time.Time, back []ledger.TakenBack) error {
	if len(back) == 0 {
		return nil
	}
	of := make(map[uuid.UUID]ledger.TakenBack, len(back))
	ids := make([][16]byte, len(back))
	for i, t := range back {
		of[t.DeveloperID], ids[i] = t, t.DeveloperID
	}
	rows, err := tx.Query(
		ctx, noticedCreditsSQL, ids, auditlog.TargetPublisher, auditlog.CreditsTakenBack, day.Of(now).Time(),
	)
	if err != nil {
		return err
	}
	var entries []auditlog.Entry
	var developer, owner uuid.UUID
	var noticed int64
	if _, err := pgx.ForEachRow(rows, []any{&developer, &owner, &noticed}, func() error {
		if t := of[developer]; t.NeedsNotice(noticed) {
			entries = append(entries, auditlog.OfTakenBack(owner, t))
		}
		return nil
	}); err != nil {
		return fmt.Errorf("read notices of Credits: %w", err)
	}
	for _, e := range entries {
		if err := audit.Record(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// lockDays locks and reads the days, their charges and their lots.
func lockDays(ctx context.Context, tx pgx.Tx, due []publisherDay) ([]ledger.CreditDay, error) {
	ids, dates := splitDays(due)
	var days []ledger.CreditDay
	at := make(map[publisherDay]int, len(due))
	var batch pgx.Batch
	batch.Queue(lockDaysSQL, ids, dates).Query(func(rows pgx.Rows) error {
		var d ledger.CreditDay
		_, err := pgx.ForEachRow(rows, []any{
			&d.DeveloperID, &d.Day, &d.Minted, &d.InCase, &d.Gone, &d.Moves,
		}, func() error {
			at[publisherDay{d.DeveloperID, d.Day}] = len(days)
			days = append(days, d)
			return nil
		})
		return err
	})
	batch.Queue(shareCasesSQL, ids).Query(func(rows pgx.Rows) error {
		var developer, id uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&developer, &id}, func() error {
			for i := range days {
				days[i].Frozen = days[i].Frozen || days[i].DeveloperID == developer
			}
			return nil
		})
		return err
	})
	batch.Queue(readSourcesSQL, ids, dates).Query(func(rows pgx.Rows) error {
		var d publisherDay
		var c ledger.CreditSource
		_, err := pgx.ForEachRow(rows, []any{
			&d.developer, &d.day, &c.AdvertiserID, &c.Family, &c.ByCredits, &c.Charged, &c.Refunded, &c.Unbacked,
		}, func() error {
			if i, ok := at[d]; ok {
				days[i].Sources = append(days[i].Sources, c)
			}
			return nil
		})
		return err
	})
	batch.Queue(lockLotsSQL, ids, dates).Query(func(rows pgx.Rows) error {
		var d publisherDay
		var l ledger.CreditLot
		var until *time.Time
		_, err := pgx.ForEachRow(rows, []any{
			&d.developer, &d.day, &l.Value, &until, &l.Long, &l.Amount, &l.Left,
		}, func() error {
			l.Until = time.Time{}
			if until != nil {
				l.Until = until.UTC()
			}
			if i, ok := at[d]; ok {
				days[i].Lots = append(days[i].Lots, l)
			}
			return nil
		})
		return err
	})
	return days, tx.SendBatch(ctx, &batch).Close()
}

// keepDays writes the days back. Lots emptied since they were read are first written as zeros, then
// removed: campaign funding that waits for such a lot finds the old row, not a new one.
func keepDays(ctx context.Context, tx pgx.Tx, days []ledger.CreditDay) error {
	var ids, lotIDs [][16]byte
	var dates, lotDates []int32
	var gone, released, moves, values, amounts, left []int64
	var untils []*time.Time
	var long []bool
	for i := range days {
		d := &days[i]
		n := int64(0)
		for _, l := range d.Lots {
			n += l.Amount
			lotIDs, lotDates = append(lotIDs, d.DeveloperID), append(lotDates, int32(d.Day))
			values, long, amounts, left = append(values, int64(l.Value)), append(long, l.Long),
				append(amounts, l.Amount), append(left, l.Left)
			untils = append(untils, pg.NullTime(l.Until))
		}
		ids, dates = append(ids, d.DeveloperID), append(dates, int32(d.Day))
		gone, released, moves = append(gone, d.Gone), append(released, n), append(moves, d.Moves)
	}
	var batch pgx.Batch
	batch.Queue(moveDaysSQL, ids, dates, gone, released, moves).Exec(expects(len(days), "publisher days were moved"))
	if len(lotIDs) > 0 {
		batch.Queue(keepLotsSQL, lotIDs, lotDates, values, untils, long, amounts, left)
		batch.Queue(dropLotsSQL, ids, dates)
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("store released Credits: %w", err)
	}
	return nil
}

// debtor is a payer whose debt differs from the amount already spread.
type debtor struct {
	advertiser uuid.UUID
	byCredits  bool
	owed       money.Micros
}

// spreadDebts marks the charges that payers owe as unbacked, and those that they no longer owe as
// backed.
func (s *Ledger) spreadDebts(ctx context.Context) error {
	rows, err := s.Pool.Query(ctx, debtorsSQL)
	if err != nil {
		return pg.Failure("find debts", err)
	}
	debtors, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d debtor, err error) {
		err = row.Scan(&d.advertiser, &d.byCredits, &d.owed)
		return d, err
	})
	if err != nil {
		return pg.Failure("find debts", err)
	}
	for _, d := range debtors {
		if err := s.Transact(ctx, "spread debt", func(tx pgx.Tx) error { return spreadDebt(ctx, tx, d) }); err != nil {
			return err
		}
	}
	return nil
}

func spreadDebt(ctx context.Context, tx pgx.Tx, d debtor) error {
	rows, err := tx.Query(ctx, debtDaysSQL, d.advertiser, d.byCredits, int64(d.owed))
	if err != nil {
		return err
	}
	days, err := pgx.CollectRows(rows, scanDay)
	if err != nil {
		return err
	}
	ids, dates := splitDays(days)
	if _, err := tx.Exec(ctx, lockDaysSQL, ids, dates); err != nil {
		return err
	}
	if rows, err = tx.Query(ctx, paidDaysSQL, d.advertiser, d.byCredits, ids, dates); err != nil {
		return err
	}
	newest, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.PaidDay])
	if err != nil {
		return err
	}
	changed, spread := ledger.Debt(d.owed, newest)
	var batch pgx.Batch
	if len(changed) > 0 {
		ids, dates = nil, nil
		var unbacked []int64
		for _, c := range changed {
			ids, dates, unbacked = append(ids, c.DeveloperID), append(dates, int32(c.Day)), append(
				unbacked, int64(c.Unbacked),
			)
		}
		batch.Queue(unbackSQL, d.advertiser, d.byCredits, ids, dates, unbacked)
	}
	batch.Queue(keepDebtSQL, d.advertiser, d.byCredits, int64(d.owed), int64(spread))
	return tx.SendBatch(ctx, &batch).Close()
}

// MarkExpired makes the next release examine the days from since to before (excluded) that have
// pending Credits.
func (s *Ledger) MarkExpired(ctx context.Context, since, before day.Day) error {
	_, err := s.Pool.Exec(ctx, markExpiredSQL, int32(since), int32(before))
	return pg.Failure("mark expired Credits", err)
}

// MeanCharge sums what advertisers were charged for publishers' traffic, and counts its
// impressions, on the days from first to last.
func (s *Ledger) MeanCharge(ctx context.Context, first, last day.Day) (m ledger.MeanCharge, err error) {
	err = s.Pool.QueryRow(ctx, meanChargeSQL, int32(first), int32(last)).Scan(&m.Charged, &m.Impressions)
	return m, pg.Failure("read the mean charge", err)
}

// CreditBalance returns a publisher's Credits by state; all are 0 if it never earned any.
func (s *Ledger) CreditBalance(ctx context.Context, developer uuid.UUID) (b ledger.CreditBalance, err error) {
	of := map[ledger.Account]*money.Credits{
		ledger.DeveloperCredits(developer): &b.Spendable, ledger.PendingCredits(developer): &b.Pending,
		ledger.WaitingCredits(developer): &b.Held,
	}
	accounts := make([]string, 0, len(of))
	for a := range of {
		accounts = append(accounts, string(a))
	}
	err = s.Snapshot(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, creditBalancesSQL, accounts)
		if err != nil {
			return err
		}
		var account ledger.Account
		var amount money.Credits
		if _, err := pgx.ForEachRow(
			rows, []any{&account, &amount}, func() error { *of[account] = amount; return nil },
		); err != nil {
			return err
		}
		return tx.QueryRow(ctx, heldCreditsSQL, developer).Scan(&b.Quarantined)
	})
	return b, pg.Failure("read Credits", err)
}

// WaitingDays reads a publisher's days with Credits that cannot be spent yet, without their
// Sources.
func (s *Ledger) WaitingDays(ctx context.Context, developer uuid.UUID) (days []ledger.CreditDay, err error) {
	err = s.Snapshot(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, waitingDaysSQL, developer)
		if err != nil {
			return err
		}
		d := ledger.CreditDay{DeveloperID: developer}
		var dates []int32
		at := make(map[day.Day]int)
		if _, err := pgx.ForEachRow(rows, []any{&d.Day, &d.Minted, &d.InCase, &d.Gone, &d.Rule}, func() error {
			d.Frozen = d.Rule != ""
			at[d.Day] = len(days)
			days, dates = append(days, d), append(dates, int32(d.Day))
			return nil
		}); err != nil || len(days) == 0 {
			return err
		}
		if rows, err = tx.Query(ctx, waitingLotsSQL, developer, dates); err != nil {
			return err
		}
		var of day.Day
		var l ledger.CreditLot
		var until *time.Time
		_, err = pgx.ForEachRow(rows, []any{&of, &l.Value, &until, &l.Long, &l.Amount, &l.Left}, func() error {
			l.Until = time.Time{}
			if until != nil {
				l.Until = until.UTC()
			}
			days[at[of]].Lots = append(days[at[of]].Lots, l)
			return nil
		})
		return err
	})
	return days, pg.Failure("read waiting Credits", err)
}

// Funding is a campaign paid for with Credits.
type Funding struct {
	Campaign, Developer uuid.UUID
	Budget, Value       money.Micros
}

// FundWithCredits takes Credits under the locks of the publisher's lots and balance, so that two
// campaigns cannot spend the same Credits. A publisher that never earned any has nothing to spend.
func FundWithCredits(ctx context.Context, tx pgx.Tx, f Funding) error {
	rows, err := tx.Query(ctx, lockFundingSQL, f.Developer)
	if err != nil {
		return err
	}
	lots, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.FundingLot])
	if err != nil {
		return err
	}
	take, cost, enough := ledger.Fund(f.Budget, f.Value, lots)
	if !enough {
		return ledger.InsufficientCredits(f.Budget, f.Value, lots)
	}
	days, values, amounts := []int32{}, []int64{}, []int64{}
	for i, n := range take {
		if n > 0 {
			days, values, amounts = append(days, int32(lots[i].Day)), append(
				values, int64(lots[i].Value),
			), append(amounts, n)
		}
	}
	tag, err := tx.Exec(ctx, takeFundingSQL, f.Developer, days, values, amounts)
	if err == nil && tag.RowsAffected() != int64(len(days)) {
		err = fmt.Errorf("%d of %d lots were debited", tag.RowsAffected(), len(days))
	}
	if err != nil {
		return err
	}
	payer := ledger.DeveloperCredits(f.Developer)
	available, err := lockBalance(ctx, tx, payer, ledger.Credit)
	if err == nil && available < cost {
		err = errs.Wrap(
			errors.New("lots and balance differ"), errs.Internal,
			"the Credits of the account are inconsistent: run adnet verify",
		)
	}
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	return InsertTransaction(ctx, tx, ledger.Transaction{
		ID: id, Kind: ledger.KindCreditFund, Ref: f.Campaign.String(), Subject: f.Campaign, At: time.Now().UTC(),
		Entries: []ledger.Entry{
			{Account: payer, Asset: ledger.Credit, Amount: -cost},
			{Account: ledger.CreditSpent, Asset: ledger.Credit, Amount: cost},
		},
	})
}

// endCase moves the Credits of a case by day: to pending, or out of the account together with the
// charges of its traffic. The caller has locked the days.
func endCase(ctx context.Context, tx pgx.Tx, c ledger.Quarantine, d ledger.QuarantineDecision) error {
	clawback := d == ledger.QuarantineClawback
	var batch pgx.Batch
	batch.Queue(endCaseDaysSQL, c.DeveloperID, clawback)
	if clawback {
		batch.Queue(refundSourcesSQL, c.DeveloperID, c.ID)
		batch.Queue(refundedDaysSQL, c.DeveloperID, c.ID)
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("end case: %w", err)
	}
	return nil
}

const (
	verifyWorth = `SELECT coalesce(sum(amount * value), 0)::bigint FROM credit_lot`

	// What advertisers were charged, less claw-backs and payers' debts. A cash debt counts up to
	// the payments that providers took back, a Credit debt up to the spent Credits that were taken
	// back.
	verifyBacked = `
WITH charged AS (
	SELECT c.advertiser_id, c.credit_funded, sum(CASE t.kind WHEN 'charge' THEN e.amount ELSE -e.amount END) AS amount
	FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id AND e.asset = 'USD' AND e.amount > 0
	JOIN campaign c ON c.id = t.subject WHERE t.kind IN ('charge', 'traffic_refund') GROUP BY 1, 2
), back AS (
	SELECT e.account, -sum(e.amount) AS amount FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
	WHERE t.kind IN ('refund', 'refund_failed', 'dispute', 'dispute_won', 'parked_debit') AND e.asset = 'USD'
		AND e.account LIKE 'advertiser:%'
	GROUP BY 1
), debt AS (
	SELECT developer_id, greatest(0, -sum(remaining * value)) AS amount FROM credit_lot WHERE until = '-infinity'
		GROUP BY 1
)
SELECT coalesce(sum(ch.amount - least(greatest(0, ch.amount), CASE WHEN ch.credit_funded THEN coalesce(d.amount, 0)
	ELSE greatest(0, least(coalesce(r.amount, 0), -coalesce(b.amount, 0))) END)), 0)::bigint
FROM charged ch JOIN app_user u ON u.id = ch.advertiser_id
LEFT JOIN back r ON r.account = 'advertiser:' || ch.advertiser_id
LEFT JOIN balance b ON b.account = 'advertiser:' || ch.advertiser_id AND b.asset = 'USD'
LEFT JOIN debt d ON d.developer_id = u.developer_id`

	verifyCreditDays = `
SELECT format('publisher %s day %s: released %s, charged %s', l.developer_id, l.day, l.worth, coalesce(s.backed, 0)),
	l.worth > coalesce(s.backed, 0)
FROM (SELECT developer_id, day, sum(amount * value) AS worth FROM credit_lot WHERE day > 0 GROUP BY 1, 2) l
LEFT JOIN (SELECT developer_id, day, sum(greatest(0, charged - refunded - unbacked)) AS backed FROM credit_source
	GROUP BY 1, 2) s
	ON s.developer_id = l.developer_id AND s.day = l.day`

	// Spent Credits are one house account, so they are a row of their own.
	verifyCreditLots = `
WITH lots AS (
	SELECT developer_id::text AS who, sum(remaining) FILTER (WHERE until = '-infinity') AS spendable,
		sum(remaining) FILTER (WHERE until > '-infinity') AS held, 0::numeric AS pending FROM credit_lot GROUP BY 1
	UNION ALL SELECT developer_id::text, 0, 0, sum(minted - in_case - gone - released) FROM publisher_day GROUP BY 1
	UNION ALL SELECT 'spent', sum(amount - remaining), 0, 0 FROM credit_lot
), booked AS (
	SELECT CASE account WHEN 'house:credit_spent' THEN 'spent' ELSE substr(account,
		position(':' IN account) + 1) END AS who,
		coalesce(sum(amount) FILTER (WHERE account LIKE 'developer:%' OR account = 'house:credit_spent'),
			0) AS spendable,
		coalesce(sum(amount) FILTER (WHERE account LIKE 'developer-held:%'), 0) AS held,
		coalesce(sum(amount) FILTER (WHERE account LIKE 'developer-pending:%'), 0) AS pending
	FROM balance WHERE asset = 'CREDIT' AND (account LIKE 'developer%' OR account = 'house:credit_spent') GROUP BY 1
), summed AS (
	SELECT who, coalesce(sum(spendable), 0) AS spendable, coalesce(sum(held), 0) AS held, coalesce(sum(pending),
		0) AS pending FROM lots GROUP BY 1
)
SELECT format('%s: spendable %s of %s, held %s of %s, pending %s of %s', coalesce(s.who, b.who),
	coalesce(s.spendable, 0), coalesce(b.spendable, 0),
		coalesce(s.held, 0), coalesce(b.held, 0), coalesce(s.pending, 0), coalesce(b.pending, 0)),
	coalesce(s.spendable, 0) <> coalesce(b.spendable, 0) OR coalesce(s.held, 0) <> coalesce(b.held, 0)
		OR coalesce(s.pending, 0) <> coalesce(b.pending, 0)
FROM summed s FULL JOIN booked b ON b.who = s.who`
)

// credits checks that Credits are worth no more than what was charged.
func (a *verification) credits() {
	worth, backed := a.number(verifyWorth), a.number(verifyBacked)
	a.checks = append(a.checks, ledger.CreditCheck(worth, backed))
	a.none(ledger.CheckCreditDays, verifyCreditDays)
	a.all(ledger.CheckCreditLots, verifyCreditLots)
}
