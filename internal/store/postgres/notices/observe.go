package notices

import (
	"github.com/jackc/pgx/v5"

	"adnet/internal/outbound/notice"
	"adnet/internal/store/postgres/campaigns"
)

const (
	// The second condition leaves out campaigns whose facts are both reported: the few others are read.
	chargedSQL = `
SELECT c.id, c.advertiser_id, c.billing_model, c.bid_amount, c.total_budget, t.spent - t.refunded
FROM campaign c JOIN campaign_total t ON t.campaign_id = c.id
WHERE c.status = 'active' AND t.spent > 0 AND (
	NOT EXISTS (SELECT FROM notice_once n WHERE n.owner_id = c.advertiser_id AND n.event = 'campaign.first_ad'
		AND n.about = c.id::text)
	OR c.total_budget > 0 AND c.total_budget - (t.spent - t.refunded) <= c.bid_amount
		AND NOT EXISTS (SELECT FROM notice_once n WHERE n.owner_id = c.advertiser_id
			AND n.event = 'campaign.budget_spent' AND n.about = c.id::text || ' ' || c.total_budget))
ORDER BY c.id`

	balancesSQL = `
SELECT c.advertiser_id, coalesce(b.amount, 0), sum(s.amount - s.refunded)::bigint
FROM campaign c JOIN campaign_spend s ON s.campaign_id = c.id AND s.day >= $1 AND s.day < $2
LEFT JOIN balance b ON b.account = 'advertiser:' || c.advertiser_id AND b.asset = 'USD'
WHERE c.status = 'active' AND NOT c.credit_funded GROUP BY 1, 2 ORDER BY 1`

	silentSQL = `
WITH quiet AS (
	SELECT u.id, u.developer_id, greatest(max(extract(epoch FROM k.created_at)::bigint / 86400),
		coalesce((SELECT max(d.day) FROM publisher_day d WHERE d.developer_id = u.developer_id AND d.impressions > 0), 0)
	)::integer AS since
	FROM app_user u JOIN api_key k ON k.owner_id = u.id
	WHERE k.kind IN ('publisher', 'browser') AND k.revoked_at IS NULL AND (k.ends_at IS NULL OR k.ends_at > $1)
	GROUP BY u.id
)
SELECT id, developer_id, since FROM quiet q WHERE $2::integer - since BETWEEN 14 AND 28
	AND NOT EXISTS (SELECT FROM notice_once n WHERE n.owner_id = q.id AND n.event = 'key.unused'
		AND n.about = q.since::text) ORDER BY id`

	releasedSQL = `
SELECT t.subject, $3::integer, sum(e.amount)::bigint
FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
WHERE t.at >= $1 AND t.at < $2 AND t.kind = 'credit_release' AND e.asset = 'CREDIT' AND e.amount > 0
GROUP BY 1 ORDER BY 1`

	// Of the account and its seats.
	weeksSQL = `
SELECT n.account_id,
	coalesce((SELECT sum(s.amount - s.refunded) FROM campaign c JOIN campaign_spend s ON s.campaign_id = c.id
		JOIN app_user u ON u.id = c.advertiser_id
		WHERE n.account_id IN (u.id, u.parent_id) AND s.day >= $1 AND s.day < $2), 0)::bigint,
	coalesce((SELECT sum(d.impressions) FROM publisher_day d JOIN app_user u USING (developer_id)
		WHERE n.account_id IN (u.id, u.parent_id) AND d.day >= $1 AND d.day < $2), 0)::bigint,
	coalesce((SELECT sum(d.clicks) FROM publisher_day d JOIN app_user u USING (developer_id)
		WHERE n.account_id IN (u.id, u.parent_id) AND d.day >= $1 AND d.day < $2), 0)::bigint
FROM notice_setting n WHERE n.confirmed <> '' AND 'report.weekly' <> ALL(n.off) ORDER BY 1`

	adminsSQL = `SELECT id FROM app_user WHERE role = 'admin' AND NOT disabled ORDER BY id`

	waitingSQL = `
SELECT (SELECT count(*) FROM campaign c WHERE ` + campaigns.Waiting + ` AND c.updated_at < $1),
	(SELECT count(DISTINCT campaign_id) FROM ad_report WHERE outcome IS NULL AND at < $1),
	(SELECT count(*) FROM appeal WHERE outcome IS NULL AND created_at < $1)`
)

func scanCharged(row pgx.CollectableRow) (c notice.Charged, err error) {
	err = row.Scan(&c.CampaignID, &c.AdvertiserID, &c.Billing, &c.Bid, &c.Total, &c.Spent)
	return c, err
}

func scanBalance(row pgx.CollectableRow) (b notice.Balance, err error) {
	err = row.Scan(&b.AdvertiserID, &b.Cash, &b.Spent)
	return b, err
}

func scanSilent(row pgx.CollectableRow) (s notice.Silent, err error) {
	err = row.Scan(&s.AccountID, &s.DeveloperID, &s.Since)
	return s, err
}

func scanReleased(row pgx.CollectableRow) (r notice.Released, err error) {
	err = row.Scan(&r.DeveloperID, &r.Day, &r.Credits)
	return r, err
}

func scanWeek(row pgx.CollectableRow) (w notice.Week, err error) {
	err = row.Scan(&w.AccountID, &w.Spent, &w.Shown, &w.Clicks)
	return w, err
}
