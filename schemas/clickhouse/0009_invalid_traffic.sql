-- Why traffic was not paid for, and why Credits did not go to the publisher.
ALTER TABLE events ADD COLUMN IF NOT EXISTS credit LowCardinality(String) COMMENT 'what became of the Credit: capped (daily mint cap, none minted), held (publisher in quarantine), empty otherwise' AFTER minted;

-- Kept when the events themselves are dropped. The window of its own: see 0003_stats_daily.sql. Events from before this
-- table are not in it.
CREATE TABLE IF NOT EXISTS traffic_daily
(
    day           Date                   COMMENT 'UTC day of receipt',
    advertiser_id UUID                   COMMENT 'owner of the campaign',
    campaign_id   UUID                   COMMENT 'campaign',
    developer_id  UUID                   COMMENT 'publisher',
    reason        LowCardinality(String) COMMENT 'rule of invalid traffic, or self_served, mint_capped, mint_held',
    impressions   Int64                  COMMENT 'impressions with the reason',
    clicks        Int64                  COMMENT 'clicks with the reason',
    other         Int64                  COMMENT 'other events with the reason'
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (day, advertiser_id, campaign_id, developer_id, reason)
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Invalid, self-served, capped and held traffic per day and reason; sum() it';

CREATE MATERIALIZED VIEW IF NOT EXISTS traffic_daily_mv TO traffic_daily AS
SELECT
    day,
    advertiser_id,
    campaign_id,
    developer_id,
    multiIf(
        class = 'invalid', substring(toString(verdict), length('invalid_traffic:') + 1),
        verdict = 'self_served', 'self_served',
        concat('mint_', toString(credit))) AS reason,
    toInt64(countIf(type = 'impression')) AS impressions,
    toInt64(countIf(type = 'click')) AS clicks,
    toInt64(countIf(type NOT IN ('impression', 'click'))) AS other
FROM events
WHERE class = 'invalid' OR verdict = 'self_served' OR credit != ''
GROUP BY day, advertiser_id, campaign_id, developer_id, reason;

CREATE VIEW IF NOT EXISTS invalid_traffic_daily AS
SELECT
    day,
    developer_id,
    campaign_id,
    reason,
    sum(traffic_daily.impressions) AS impressions,
    sum(traffic_daily.clicks) AS clicks,
    sum(traffic_daily.other) AS other
FROM traffic_daily
GROUP BY day, developer_id, campaign_id, reason
COMMENT 'Traffic that was not paid for per UTC day, publisher, campaign and reason; mint_capped and mint_held were paid for but earned nothing, or not yet';
