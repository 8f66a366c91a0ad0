-- Ads of which half was in view for a second, as their pages report it: an event that costs nothing.
--
-- Rows of stats_rollup have the new counter last, as it is added there.
ALTER TABLE events COMMENT COLUMN IF EXISTS type 'impression, click, close, skip, video_complete, conversion, viewable; empty when the record could not be decoded';
ALTER TABLE stats_daily ADD COLUMN IF NOT EXISTS viewable Int64 COMMENT 'counted views: half of the ad was in view for a second';
ALTER TABLE stats_rollup ADD COLUMN IF NOT EXISTS viewable Int64 COMMENT 'counted views: half of the ad was in view for a second';

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
    toInt64(countIf(class = 'counted' AND type = 'viewable')) AS viewable,
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
