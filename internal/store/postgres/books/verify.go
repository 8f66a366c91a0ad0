package books

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"adnet/internal/ledger"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/stream"
)

const (
	verifySums = `SELECT coalesce(sum(amount), 0)::bigint FROM ledger_entry WHERE asset = $1`

	verifyMoved = `
SELECT coalesce(sum(e.amount), 0)::bigint FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
WHERE t.kind = $1 AND e.asset = $2 AND e.amount > 0`

	verifyDays   = `SELECT coalesce(sum(amount), 0)::bigint FROM campaign_spend`
	verifyTotals = `SELECT coalesce(sum(spent), 0)::bigint FROM campaign_total`
	verifyMarks  = `SELECT count(*), count(*) FILTER (WHERE event_type = $1) FROM billed_event WHERE event_type NOT LIKE 'invalid%' AND event_type <> 'charged_conversion'`
	verifyDead   = `SELECT count(*) FROM dlq`

	verifyApplied = `SELECT stream, partition, first_offset, next_offset, outcomes FROM applied_batch ORDER BY 1, 2, 3`

	archivedRanges = `
SELECT b.stream, b.partition, b.first_offset, b.next_offset, b.outcomes
FROM applied_batch b JOIN archive_progress a USING (stream, partition) WHERE b.next_offset <= a.archived_next`
)

// verifyCounted counts the rows of a check (everything) and those that fail it, and names some of
// these. Each row has a description and a mark.
const verifyCounted = `
WITH everything (what, bad) AS (%s)
SELECT count(*), count(*) FILTER (WHERE bad),
	coalesce((SELECT string_agg(what, '; ') FROM (SELECT what FROM everything WHERE bad ORDER BY what
		LIMIT 3) offenders), '')
FROM everything`

const (
	verifyTransactions = `
SELECT coalesce(t.id, e.transaction_id)::text, t.id IS NULL OR e.balanced IS NOT TRUE
FROM ledger_transaction t FULL JOIN (
	SELECT transaction_id, bool_and(total = 0) AS balanced FROM (
		SELECT transaction_id, asset, sum(amount) AS total FROM ledger_entry GROUP BY 1, 2) sums
	GROUP BY 1) e ON e.transaction_id = t.id`

	verifyBalances = `
SELECT format('%s %s: balance %s, entries %s', coalesce(b.account, e.account), coalesce(b.asset, e.asset),
	coalesce(b.amount, 0), coalesce(e.total, 0)),
	coalesce(b.amount, 0) <> coalesce(e.total, 0)
FROM balance b FULL JOIN (SELECT account, asset, sum(amount) AS total FROM ledger_entry GROUP BY 1, 2) e
	ON e.account = b.account AND e.asset = b.asset`

	verifyCampaigns = `
SELECT format('campaign %s: ledger %s, days %s, total %s', id, sum(ledger), sum(days), sum(total)),
	sum(ledger) <> sum(days) OR sum(days) <> sum(total)
FROM (
	SELECT t.subject AS id, e.amount AS ledger, 0 AS days, 0 AS total FROM ledger_transaction t
		JOIN ledger_entry e ON e.transaction_id = t.id WHERE t.kind = 'charge' AND e.asset = 'USD' AND e.amount > 0
	UNION ALL SELECT campaign_id, 0, amount, 0 FROM campaign_spend
	UNION ALL SELECT campaign_id, 0, 0, spent FROM campaign_total
) parts GROUP BY id`

	verifyDailyBudget = `
SELECT format('campaign %s day %s: spent %s of %s', campaign_id, day, amount - refunded, daily_budget),
	coalesce(amount - refunded > daily_budget, false)
FROM campaign_spend`

	verifyTotalBudget = `
SELECT format('campaign %s: spent %s of %s', campaign_id, spent - refunded, total_budget),
	coalesce(spent - refunded > total_budget, false)
FROM campaign_total`

	verifyClawbacks = `
SELECT format('%s %s: moves %s, names %s', t.kind, t.id, e.amount, coalesce(l.named, 0)),
	e.amount <> coalesce(l.named, 0)
FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id AND e.amount > 0
LEFT JOIN (SELECT transaction_id, sum(amount) AS named FROM ledger_reversal GROUP BY 1) l ON l.transaction_id = t.id
WHERE t.kind IN ('mint_clawback', 'traffic_refund')`

	verifyReversed = `
SELECT format('%s: moved %s, taken back %s', r.reverses, e.amount, r.back), e.amount IS NULL OR r.back > e.amount
FROM (SELECT reverses, sum(amount) AS back FROM ledger_reversal GROUP BY 1) r
LEFT JOIN ledger_entry e ON e.transaction_id = r.reverses AND e.amount > 0`

	verifyReopened = `SELECT coalesce(sum(refunded), 0)::bigint FROM campaign_total`

	verifyPrepaid = `
SELECT format('%s: %s, given back %s', b.account, b.amount, coalesce(r.back, 0)), b.amount + coalesce(r.back, 0) < 0
FROM balance b LEFT JOIN (
	SELECT e.account, -sum(e.amount) AS back FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
	WHERE t.kind IN ('refund', 'refund_failed', 'dispute', 'dispute_won', 'parked_debit') AND e.asset = 'USD'
	GROUP BY 1) r ON r.account = b.account
WHERE b.asset = 'USD' AND b.account LIKE 'advertiser:%'`

	// A credit of a parked payment is in the payment's row.
	verifyPayments = `
SELECT (SELECT coalesce(sum(paid - reversed), 0) FROM payment)::bigint
	+ (SELECT coalesce(sum(CASE decision WHEN 'credit' THEN applied ELSE -applied END), 0) FROM payment_parked
		WHERE decision = 'debit' OR decision = 'credit' AND (kind <> 'paid' OR shared))::bigint`
	verifyDeposits = `SELECT coalesce(-sum(amount), 0)::bigint FROM ledger_entry WHERE account = $1 AND asset = 'USD'`

	verifyGaps = `
SELECT format('%s/%s: %s follows %s', stream, partition, first_offset, before), coalesce(first_offset <> before, false)
FROM (SELECT stream, partition, first_offset, lag(next_offset) OVER (PARTITION BY stream, partition
	ORDER BY first_offset) AS before
	FROM applied_batch) ranges`

	verifyOffsets = `
SELECT format('%s/%s: applied to %s, stored %s', coalesce(o.stream, b.stream), coalesce(o.partition, b.partition),
	b.applied, o.next_offset),
	o.next_offset IS DISTINCT FROM b.applied
FROM consumer_offset o FULL JOIN (SELECT stream, partition, max(next_offset) AS applied FROM applied_batch
	GROUP BY 1, 2) b
	ON b.stream = o.stream AND b.partition = o.partition`

	verifyArchive = `
SELECT format('%s/%s: archived or planned to %s, applied to %s', a.stream, a.partition, coalesce(a.planned_to,
	a.archived_next), o.next_offset),
	coalesce(coalesce(a.planned_to, a.archived_next) > o.next_offset, true)
FROM archive_progress a LEFT JOIN consumer_offset o ON o.stream = a.stream AND o.partition = a.partition`
)

// Verify runs the checks that need only the database, in one snapshot, so settlement may continue
// meanwhile. It reads every row of the ledger and is too expensive for a frequent timer.
func (s *Ledger) Verify(ctx context.Context, o ledger.VerifyOptions) ([]ledger.Check, error) {
	var checks []ledger.Check
	err := s.Snapshot(ctx, func(tx pgx.Tx) (err error) {
		checks, err = (&verification{ctx: ctx, tx: tx, opts: o}).run()
		return err
	})
	return checks, pg.Failure("verify", err)
}

// ArchivedTotals sums the rows marked as archived; the analytics store must have the same sums.
func (s *Archive) ArchivedTotals(ctx context.Context) (ledger.Totals, error) {
	var a applied
	err := s.Snapshot(ctx, func(tx pgx.Tx) error { return a.read(ctx, tx, archivedRanges) })
	if err == nil && a.damaged != "" {
		err = fmt.Errorf("%w: %s", errOutcomes, a.damaged)
	}
	return a.totals.WithoutEarly(), pg.Failure("sum archived ranges", err)
}

// verification is one run. The first error stops it.
type verification struct {
	ctx    context.Context
	tx     pgx.Tx
	opts   ledger.VerifyOptions
	checks []ledger.Check
	err    error
}

func (a *verification) run() ([]ledger.Check, error) {
	a.equal(ledger.CheckSumUSD, 0, a.number(verifySums, string(ledger.USD)))
	a.equal(ledger.CheckSumCredit, 0, a.number(verifySums, string(ledger.Credit)))
	a.all(ledger.CheckTransactions, verifyTransactions)
	a.all(ledger.CheckBalances, verifyBalances)
	a.chains()
	a.rights()
	a.equal(ledger.CheckDeposits, a.number(verifyPayments), a.number(verifyDeposits, string(ledger.Deposits)))
	a.verdicts()
	a.all(ledger.CheckCampaigns, verifyCampaigns)
	a.none(ledger.CheckDailyBudget, verifyDailyBudget)
	a.none(ledger.CheckTotalBudget, verifyTotalBudget)
	a.all(ledger.CheckClawbacks, verifyClawbacks)
	a.none(ledger.CheckReversed, verifyReversed)
	a.equal(
		ledger.CheckReopened, a.number(verifyMoved, string(ledger.KindTrafficRefund), string(ledger.USD)),
		a.number(verifyReopened),
	)
	a.credits()
	if a.opts.Prepaid {
		a.none(ledger.CheckPrepaid, verifyPrepaid)
	}
	a.none(ledger.CheckGaps, verifyGaps)
	a.all(ledger.CheckOffsets, verifyOffsets)
	a.all(ledger.CheckArchive, verifyArchive)
	return a.checks, a.err
}

// verdicts compares the sums of the applied outcomes with the ledger and with the marks.
func (a *verification) verdicts() {
	var applied applied
	if a.err == nil {
		a.err = applied.read(a.ctx, a.tx, verifyApplied)
	}
	charged := a.number(verifyMoved, string(ledger.KindCharge), string(ledger.USD))
	minted := a.number(verifyMoved, string(ledger.KindMint), string(ledger.Credit))
	var marks, impressions int64
	if a.err == nil {
		a.err = a.tx.QueryRow(a.ctx, verifyMarks, string(ledger.Impression)).Scan(&marks, &impressions)
	}
	marks, impressions = marks+applied.pruned[ledger.PrunedMarks], impressions+applied.pruned[ledger.PrunedImpressions]
	t := &applied.totals
	a.checks = append(
		a.checks, ledger.Check{Name: ledger.CheckRecords, Want: applied.claimed, Got: t.Rows, Detail: applied.damaged},
	)
	a.equal(ledger.CheckChargeVerdicts, int64(t.Charge), charged)
	a.equal(ledger.CheckChargeDays, charged, a.number(verifyDays))
	a.equal(ledger.CheckChargeTotals, charged, a.number(verifyTotals))
	a.equal(ledger.CheckChargedOK, applied.tally.Charged, applied.tally.ChargedOK)
	a.equal(ledger.CheckChargedUnique, applied.tally.Charged, min(applied.tally.Charged, marks))
	a.equal(ledger.CheckMinted, int64(t.Minted), minted)
	a.equal(ledger.CheckMintedUnique, applied.tally.Minting, min(applied.tally.Minting, impressions))
	a.equal(ledger.CheckMarks, t.Marked(), marks)
	a.equal(ledger.CheckDead, t.ByVerdict[ledger.Poison], a.number(verifyDead)+applied.pruned[ledger.PrunedDead])
}

func (a *verification) equal(name string, want, got int64) {
	a.checks = append(a.checks, ledger.Check{Name: name, Want: want, Got: got})
}

func (a *verification) number(sql string, args ...any) int64 {
	var n int64
	if a.err == nil {
		a.err = a.tx.QueryRow(a.ctx, sql, args...).Scan(&n)
	}
	return n
}

// all adds a check that every row of everything passes.
func (a *verification) all(name, everything string) {
	rows, bad, detail := a.counted(everything)
	a.checks = append(a.checks, ledger.Check{Name: name, Want: rows, Got: rows - bad, Detail: detail})
}

// none adds a check that no row of everything fails.
func (a *verification) none(name, everything string) {
	_, bad, detail := a.counted(everything)
	a.checks = append(a.checks, ledger.Check{Name: name, Got: bad, Detail: detail})
}

func (a *verification) counted(everything string) (rows, bad int64, detail string) {
	if a.err == nil {
		sql := strings.Replace(verifyCounted, "%s", everything, 1)
		a.err = a.tx.QueryRow(a.ctx, sql).Scan(&rows, &bad, &detail)
	}
	return rows, bad, detail
}

// applied sums ranges as stored.
type applied struct {
	totals  ledger.Totals
	tally   ledger.Tally
	claimed int64  // records by the offsets of the ranges
	damaged string // the first range that cannot be read or has another number of outcomes
	pruned  ledger.Pruned
}

// read streams the ranges and adds the removed rows, which were archived: it holds one range in
// memory however long the history is.
func (a *applied) read(ctx context.Context, tx pgx.Tx, sql string) error {
	if err := a.readEach(ctx, tx, sql, nil); err != nil {
		return err
	}
	var err error
	if a.pruned, err = pruned(ctx, tx); err != nil {
		return err
	}
	a.pruned.AddTo(&a.totals, &a.tally)
	a.claimed += a.pruned.Rows()
	return nil
}

func (a *applied) readEach(ctx context.Context, tx pgx.Tx, sql string, each func(), args ...any) error {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	a.totals.ByVerdict = make(map[ledger.Verdict]int64)
	var r stream.Range
	var packed []byte
	var outcomes []ledger.Outcome
	_, err = pgx.ForEachRow(rows, []any{&r.Stream, &r.Number, &r.First, &r.Next, &packed}, func() error {
		if each != nil {
			each()
		}
		a.claimed += r.Next - r.First
		var damage error
		outcomes, damage = DecodeOutcomes(outcomes[:0], packed)
		if (damage != nil || int64(len(outcomes)) != r.Next-r.First) && a.damaged == "" {
			a.damaged = fmt.Sprintf("range %s has %d readable outcomes", r, len(outcomes))
		}
		a.totals.Add(outcomes)
		a.tally.Add(outcomes)
		return nil
	})
	return err
}

// AppendOnly lists the tables with an …append_only trigger, to which rows may only be added.
const AppendOnly = `
SELECT DISTINCT c.oid FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid JOIN pg_proc p ON p.oid = t.tgfoid
WHERE c.relnamespace = current_schema()::regnamespace AND right(p.proname, 11) = 'append_only'`

// VerifyRights lists the current role's rights to change rows that must never change.
const VerifyRights = `
SELECT format('%s on %s', how, c.relname)
FROM (` + AppendOnly + ` UNION SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace
	AND relname IN ('ledger_transaction', 'ledger_entry')) guarded
JOIN pg_class c ON c.oid = guarded.oid
CROSS JOIN LATERAL (
	SELECT p FROM unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) p WHERE has_table_privilege(c.oid, p)
	UNION ALL SELECT 'UPDATE of a column' WHERE has_any_column_privilege(c.oid, 'UPDATE')
		AND NOT has_table_privilege(c.oid, 'UPDATE')
	UNION ALL SELECT 'ownership' WHERE pg_has_role(c.relowner, 'MEMBER')
	UNION ALL SELECT 'a trigger that is off' WHERE EXISTS (
		SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled NOT IN ('O', 'A'))
) found (how)
ORDER BY 1`

// rights lists the changes that the role of this connection could make to the ledger.
func (a *verification) rights() {
	if a.err != nil {
		return
	}
	rows, err := a.tx.Query(a.ctx, VerifyRights)
	if err != nil {
		a.err = err
		return
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		a.err = err
		return
	}
	detail := ""
	if len(found) > 0 {
		detail = strings.Join(
			found[:min(3, len(found))], "; ",
		) + ": connect as a role that does not own the tables, see ADNET_POSTGRES_OWNER_URL"
	}
	a.checks = append(a.checks, ledger.Check{Name: ledger.CheckRights, Got: int64(len(found)), Detail: detail})
}
