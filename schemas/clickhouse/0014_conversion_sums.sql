-- Sums of what advertisers state of their conversions cannot wrap: they have 128 bits, in the live counters, which
-- merges add up, and in rolled days. A thousand events of earlier builds, whose values had no cap, filled 64.
ALTER TABLE stats_daily MODIFY COLUMN IF EXISTS conversion_usd Int128 COMMENT 'value of counted conversions stated in USD, micro-USD';
ALTER TABLE stats_rollup MODIFY COLUMN IF EXISTS conversion_usd Int128 COMMENT 'value of counted conversions stated in USD, micro-USD';

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
    sumIf(toInt128(conversion_value), class = 'counted' AND type = 'conversion' AND currency IN ('', 'USD')) AS conversion_usd,
    toInt64(countIf(class = 'duplicate')) AS duplicates,
    toInt64(countIf(class = 'rejected')) AS rejected,
    toInt64(countIf(class = 'sandbox')) AS sandbox,
    toInt64(countIf(class = 'invalid')) AS invalid,
    max(received_at) AS last_received_at
FROM events
GROUP BY day, advertiser_id, campaign_id, developer_id, format, integration_method, host_app;

CREATE OR REPLACE VIEW conversion_path AS
SELECT
    auction_id,
    any(events.campaign_id) AS campaign_id,
    any(events.developer_id) AS developer_id,
    minIf(received_at, type = 'impression') AS impression_at,
    minIf(received_at, type = 'click') AS click_at,
    minIf(received_at, type = 'conversion') AS conversion_at,
    sumIf(toInt128(conversion_value), type = 'conversion' AND currency IN ('', 'USD')) / 1e6 AS value_usd,
    sum(events.charge) / 1e6 AS charge_usd
FROM events
WHERE class = 'counted'
GROUP BY auction_id
HAVING countIf(type = 'conversion') > 0
COMMENT 'Auctions that led to a counted conversion: times (1970-01-01 when a step is missing), value and charge (USD)';
