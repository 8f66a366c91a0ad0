package campaigns

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/compliance/adreport"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/pg"
)

// AdReports stores readers' reports of ads.
type AdReports struct{ *pg.Core }

const (
	insertAdReport = `
INSERT INTO ad_report (auction_id, auction_day, campaign_id, advertiser_id, developer_id, network, headline, reason,
	text, email, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`
	forgetReportEmails = `UPDATE ad_report SET email = '' WHERE email <> '' AND at < $1`
	countReportEmails  = `SELECT count(*) FROM ad_report WHERE email <> '' AND at < $1`
	dropAdReports      = `DELETE FROM ad_report WHERE at < $1`
	countOldAdReports  = `SELECT count(*) FROM ad_report WHERE at < $1`

	// A report counts once settlement has marked its impression.
	countAdReports = `
UPDATE ad_report r SET counted = true FROM billed_event b
WHERE r.outcome IS NULL AND NOT r.counted AND ($1::uuid IS NULL OR r.campaign_id = $1)
	AND b.auction_day = r.auction_day AND b.auction_id = r.auction_id AND b.event_type = 'impression'`

	// Publishers are counted by family. A seat belongs to its owner's.
	sumAdReports = `
SELECT r.campaign_id, count(*), count(*) FILTER (WHERE r.counted), count(DISTINCT r.network) FILTER (WHERE r.counted),
	count(DISTINCT coalesce(f.family_id, u.parent_id, u.id, r.developer_id)) FILTER (WHERE r.counted), max(r.at)
FROM ad_report r LEFT JOIN app_user u ON u.developer_id = r.developer_id
	LEFT JOIN account_family f ON f.account_id = coalesce(u.parent_id, u.id) WHERE r.outcome IS NULL`
	reporters = `
WITH member AS (
	SELECT u.developer_id, coalesce(f.family_id, u.parent_id, u.id) AS family
	FROM app_user u LEFT JOIN account_family f ON f.account_id = coalesce(u.parent_id, u.id)
)
SELECT m.family FROM ad_report r JOIN member m USING (developer_id)
WHERE r.outcome IS NULL AND r.counted AND r.campaign_id = $1 AND r.at >= $2 AND r.reason <> '` +
		adreport.UnsuitablePlace + `'
GROUP BY 1 HAVING (SELECT count(DISTINCT d.day) FROM publisher_day d JOIN member p USING (developer_id)
	WHERE p.family = m.family AND d.minted > 0) >= $3 ORDER BY 1`
	sumOfCampaign = sumAdReports + ` AND r.campaign_id = $1 AND r.at >= $2 AND r.reason <> '` +
		adreport.UnsuitablePlace + `' GROUP BY 1`
	sumOfThese    = sumAdReports + ` AND r.campaign_id = ANY ($1) GROUP BY 1`
	sumOfAll      = sumAdReports + ` GROUP BY 1 ORDER BY 3 DESC, 2 DESC, 1 LIMIT $1 OFFSET $2`
	countReported = `SELECT count(DISTINCT campaign_id) FROM ad_report WHERE outcome IS NULL`

	// reported selects live campaigns that have an open report that counts; see countAdReports.
	reported = `(c.status IN ('active', 'paused') AND EXISTS (SELECT FROM ad_report r WHERE r.campaign_id = c.id AND r.outcome IS NULL AND r.counted))`

	adReportReasons = `SELECT reason, count(*) FROM ad_report WHERE outcome IS NULL AND campaign_id = $1 AND at >= $2 GROUP BY 1`
	adReportTexts   = `
SELECT at, reason, headline, text, developer_id, counted FROM ad_report WHERE outcome IS NULL AND campaign_id = $1
	AND at >= $2 ORDER BY at DESC, auction_id LIMIT 20`

	decideAdReports = `
WITH waiting AS (SELECT auction_id, email FROM ad_report WHERE campaign_id = $1 AND outcome IS NULL FOR UPDATE)
UPDATE ad_report r SET outcome = $2, decided_by = $3, decided_at = $4, email = '' FROM waiting w
	WHERE r.auction_id = w.auction_id RETURNING w.email`
)

var _ adreport.Store = (*AdReports)(nil)

// AddReport implements adreport.Store.
func (s *AdReports) AddReport(ctx context.Context, r adreport.Report) (added bool, err error) {
	err = s.Transact(ctx, "report an ad", func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx, insertAdReport, r.AuctionID, int32(r.AuctionDay), r.CampaignID, r.AdvertiserID, r.DeveloperID,
			r.Network[:], r.Headline, r.Reason, r.Text, r.Email, r.At,
		)
		added = err == nil && tag.RowsAffected() == 1
		return err
	})
	return added && err == nil, err
}

// CountReports counts what [AdReports.forgetReports] would remove.
func CountReports(ctx context.Context, tx pgx.Tx, cut ledger.Cutoffs, r *ledger.Removed) error {
	if err := tx.QueryRow(ctx, countReportEmails, cut.Emails).Scan(&r.Emails); err != nil {
		return err
	}
	return tx.QueryRow(ctx, countOldAdReports, cut.Reports).Scan(&r.Reports)
}

// ForgetReports removes old ad reports; it is a part of [Retention.Retain].
func (s *AdReports) ForgetReports(ctx context.Context, cut ledger.Cutoffs, r *ledger.Removed) error {
	return s.Transact(ctx, "forget reports of ads", func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, dropAdReports, cut.Reports)
		if err != nil {
			return err
		}
		emails, err := tx.Exec(ctx, forgetReportEmails, cut.Emails)
		r.Reports, r.Emails = gone.RowsAffected(), emails.RowsAffected()
		return err
	})
}

// CountReports implements adreport.Store.
func (s *AdReports) CountReports(
	ctx context.Context, campaign uuid.UUID, since time.Time,
) (counts adreport.Counts, err error) {
	if _, err := s.Pool.Exec(ctx, countAdReports, campaign); err != nil {
		return counts, pg.Failure("count reports", err)
	}
	list, err := s.sumReports(ctx, since, sumOfCampaign, campaign, since)
	if err != nil || len(list) == 0 {
		return counts, err
	}
	return list[0].Counts, nil
}

// Reporters implements adreport.Store.
func (s *AdReports) Reporters(
	ctx context.Context, campaign uuid.UUID, since time.Time, days int,
) (families []uuid.UUID, err error) {
	rows, err := s.Pool.Query(ctx, reporters, campaign, since, days)
	if err == nil {
		families, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	}
	return families, pg.Failure("list reporters", err)
}

// sumReports reads campaigns with their counts and the reports written since a time.
func (s *AdReports) sumReports(ctx context.Context, since time.Time, sql string, args ...any) ([]adreport.Reported, error) {
	rows, err := s.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, pg.Failure("count reports", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r adreport.Reported, err error) {
		err = row.Scan(&r.CampaignID, &r.Reports, &r.Counted, &r.Networks, &r.Publishers, &r.Newest)
		r.Newest = r.Newest.UTC()
		return r, err
	})
	if err != nil {
		return nil, pg.Failure("count reports", err)
	}
	for i := range list {
		if err := s.readReports(ctx, &list[i], since); err != nil {
			return nil, pg.Failure("read reports", err)
		}
	}
	return list, nil
}

func (s *AdReports) readReports(ctx context.Context, r *adreport.Reported, since time.Time) error {
	r.Reasons = make(map[string]int)
	rows, err := s.Pool.Query(ctx, adReportReasons, r.CampaignID, since)
	if err != nil {
		return err
	}
	var reason string
	var n int
	if _, err := pgx.ForEachRow(
		rows, []any{&reason, &n}, func() error { r.Reasons[reason] = n; return nil },
	); err != nil {
		return err
	}
	if rows, err = s.Pool.Query(ctx, adReportTexts, r.CampaignID, since); err != nil {
		return err
	}
	r.Texts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t adreport.Text, err error) {
		err = row.Scan(&t.At, &t.Reason, &t.Headline, &t.Text, &t.DeveloperID, &t.Counted)
		t.At = t.At.UTC()
		return t, err
	})
	return err
}

// ReportedCampaigns implements adreport.Store.
func (s *AdReports) ReportedCampaigns(ctx context.Context, limit, offset int) ([]adreport.Reported, int, error) {
	if err := s.markCounted(ctx); err != nil {
		return nil, 0, err
	}
	var total int
	if err := s.Pool.QueryRow(ctx, countReported).Scan(&total); err != nil {
		return nil, 0, pg.Failure("count reports", err)
	}
	list, err := s.sumReports(ctx, time.Time{}, sumOfAll, limit, offset)
	return list, total, err
}

// ReportsOf implements adreport.Store.
func (s *AdReports) ReportsOf(ctx context.Context, campaigns []uuid.UUID) ([]adreport.Reported, error) {
	if err := s.markCounted(ctx); err != nil {
		return nil, err
	}
	return s.sumReports(ctx, time.Time{}, sumOfThese, campaigns)
}

// markCounted marks the reports whose impressions have been settled since.
func (s *AdReports) markCounted(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, countAdReports, nil)
	return pg.Failure("count reports", err)
}

// DecideReports implements adreport.Store.
func (s *AdReports) DecideReports(ctx context.Context, d adreport.Decision) (emails []string, err error) {
	err = s.Transact(ctx, "decide reports", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, decideAdReports, d.CampaignID, d.Outcome, d.By, d.At)
		if err != nil {
			return err
		}
		left, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return errs.New(errs.InvalidState, "no report of this campaign waits")
		}
		emails = adreport.Addresses(left)
		return audit.Record(ctx, tx, auditlog.OfReports(d.CampaignID, d.Outcome, d.Words, len(left)))
	})
	return emails, err
}
