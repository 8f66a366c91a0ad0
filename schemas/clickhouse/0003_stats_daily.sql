-- Counters of report.Counts, kept by a materialized view at insert.
--
-- The target has a deduplication window of its own on purpose. A block whose token the source refuses is
-- still pushed to the view, so without this window a repeated insert counts twice here while events stays
-- right. Every target of a view on events needs it.
--
-- The projection answers "how many events has each day, and how new are they" without reading the
-- dimensions; it lives inside the parts, so it always agrees with the rows.
CREATE TABLE IF NOT EXISTS stats_daily
(
    day                Date                                COMMENT 'UTC day of receipt',
    advertiser_id      UUID                                COMMENT 'owner of the campaign',
    campaign_id        UUID                                COMMENT 'campaign',
    developer_id       UUID                                COMMENT 'publisher',
    format             LowCardinality(String)              COMMENT 'ad format',
    integration_method LowCardinality(String)              COMMENT 'mcp, js_snippet, npm_sdk, rest',
    host_app           String                              COMMENT 'application, as it named itself',
    events             Int64                               COMMENT 'all events, whatever the verdict',
    impressions        Int64                               COMMENT 'counted impressions',
    clicks             Int64                               COMMENT 'counted clicks',
    closes             Int64                               COMMENT 'counted closes',
    skips              Int64                               COMMENT 'counted skips',
    video_completes    Int64                               COMMENT 'counted completed videos',
    conversions        Int64                               COMMENT 'counted conversions',
    spend              Int64                               COMMENT 'charged, micro-USD',
    credits            Int64                               COMMENT 'Credits minted',
    billed             Int64                               COMMENT 'events with a charge',
    conversion_usd     Int64                               COMMENT 'value of counted conversions stated in USD, micro-USD',
    duplicates         Int64                               COMMENT 'events with class duplicate',
    rejected           Int64                               COMMENT 'events with class rejected',
    sandbox            Int64                               COMMENT 'events with class sandbox',
    invalid            Int64                               COMMENT 'events with class invalid',
    last_received_at   SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'newest receipt among the events, UTC',
    INDEX developer developer_id TYPE bloom_filter(0.01) GRANULARITY 1,
    PROJECTION per_day (SELECT day, sum(events), max(last_received_at) GROUP BY day)
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(day)
PRIMARY KEY (day, advertiser_id, campaign_id)
ORDER BY (day, advertiser_id, campaign_id, developer_id, format, integration_method, host_app)
SETTINGS non_replicated_deduplication_window = 100000, deduplicate_merge_projection_mode = 'rebuild', fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Live daily counters; sum() them, rows of one key may not be merged yet';

CREATE MATERIALIZED VIEW IF NOT EXISTS stats_daily_mv TO stats_daily AS
SELECT
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
