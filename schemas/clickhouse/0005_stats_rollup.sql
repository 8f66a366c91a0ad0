-- The same counters, computed again from events for a whole day and put in place of the day at once by REPLACE
-- PARTITION.
--
-- Two replacements of one partition at the same time can both stay (measured on 26.7: their rows add up). So
-- every row says which run wrote it, and a reader takes one run per day: one that counts at least as many
-- events as stats_daily. Reading without a choice of run is wrong.
CREATE TABLE IF NOT EXISTS stats_rollup
(
    day                Date                                COMMENT 'UTC day of receipt',
    run                UUID                                COMMENT 'roll-up that wrote the row; take the rows of one run per day',
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
    last_received_at   DateTime64(6, 'UTC')                COMMENT 'newest receipt among the events, UTC',
    INDEX developer developer_id TYPE bloom_filter(0.01) GRANULARITY 1,
    PROJECTION per_day (SELECT day, run, sum(events) GROUP BY day, run)
)
ENGINE = MergeTree
PARTITION BY day
PRIMARY KEY (run, advertiser_id, campaign_id)
ORDER BY (run, advertiser_id, campaign_id, developer_id, format, integration_method, host_app)
COMMENT 'Closed days computed from events, one row per run and key, replaced whole per day';
