-- Conversions are counted apart by what proves them: the ones that their advertiser vouches for, and the unverified ones,
-- which nobody is charged for. What was recorded before keeps its class.
--
-- Rows of stats_rollup have the new counter behind last_received_at, as it is added there.
ALTER TABLE events MODIFY COLUMN IF EXISTS verdict LowCardinality(String) COMMENT 'what settlement decided: ok, duplicate, expired, unsigned, bad_signature, unverified, paused, over_budget, over_balance, conversion_cap, sandbox, self_served, unknown_campaign, poison, invalid_traffic:<rule>';
ALTER TABLE events MODIFY COLUMN IF EXISTS class LowCardinality(String) MATERIALIZED multiIf(
        verdict IN ('ok', 'paused', 'over_budget', 'over_balance', 'conversion_cap', 'self_served'), 'counted',
        verdict = 'duplicate', 'duplicate',
        verdict = 'sandbox', 'sandbox',
        verdict = 'unverified', 'unverified',
        startsWith(verdict, 'invalid_traffic:'), 'invalid',
        'rejected')                                        COMMENT 'counted (really happened, once), duplicate, rejected (forged, expired, unsigned, unknown campaign, undecodable), sandbox, unverified (conversions that the advertiser does not vouch for), invalid (invalid traffic)';

ALTER TABLE stats_daily ADD COLUMN IF NOT EXISTS conversions_unverified Int64 COMMENT 'conversions with class unverified';
ALTER TABLE stats_daily COMMENT COLUMN IF EXISTS conversions 'counted conversions: those that the advertiser vouches for';
ALTER TABLE stats_rollup ADD COLUMN IF NOT EXISTS conversions_unverified Int64 COMMENT 'conversions with class unverified';
ALTER TABLE stats_rollup COMMENT COLUMN IF EXISTS conversions 'counted conversions: those that the advertiser vouches for';

ALTER TABLE stats_daily_mv MODIFY QUERY SELECT
    day,
    advertiser_id,
    campaign_id,
    developer_id,
    format,
    integration_method,
    host_app,
    toInt64(count()) AS events,
    toInt64(countIf(class = 'counted' AND type = 'impression')) AS impressions,
    toInt64(countIf(class = 'counted' AND type = 'click')) AS clicks,
    toInt64(countIf(class = 'counted' AND type = 'close')) AS closes,
    toInt64(countIf(class = 'counted' AND type = 'skip')) AS skips,
    toInt64(countIf(class = 'counted' AND type = 'video_complete')) AS video_completes,
    toInt64(countIf(class = 'counted' AND type = 'conversion')) AS conversions,
    toInt64(countIf(class = 'unverified')) AS conversions_unverified,
    sum(charge) AS spend,
    sum(minted) AS credits,
    toInt64(countIf(charge > 0)) AS billed,
    sumIf(conversion_value, class = 'counted' AND type = 'conversion' AND currency IN ('', 'USD')) AS conversion_usd,
    toInt64(countIf(class = 'duplicate')) AS duplicates,
    toInt64(countIf(class = 'rejected')) AS rejected,
    toInt64(countIf(class = 'sandbox')) AS sandbox,
    toInt64(countIf(class = 'invalid')) AS invalid,
    max(received_at) AS last_received_at
FROM events
GROUP BY day, advertiser_id, campaign_id, developer_id, format, integration_method, host_app;
