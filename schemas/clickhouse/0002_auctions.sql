-- Outcomes of auctions. The stream is best effort: rows can be missing, and one that comes twice is merged
-- into one. Read with FINAL where a repeat would matter.
CREATE TABLE IF NOT EXISTS auctions
(
    auction_id         UUID                                COMMENT 'UUIDv7',
    at                 DateTime64(6, 'UTC')                COMMENT 'when the auction was decided, UTC',
    day                Date MATERIALIZED toDate(at)        COMMENT 'UTC day of at',
    developer_id       UUID                                COMMENT 'publisher that asked; nil UUID when unknown',
    campaign_id        UUID                                COMMENT 'winner; nil UUID when not filled',
    reason             LowCardinality(String)              COMMENT 'why it was not filled; empty when filled',
    price              Int64                               COMMENT 'price of one billed unit, micro-USD; 0 when not filled',
    ecpm               Int64                               COMMENT 'effective price of 1000 impressions, micro-USD; 0 when not filled',
    format             LowCardinality(String)              COMMENT 'ad format',
    integration_method LowCardinality(String)              COMMENT 'mcp, js_snippet, npm_sdk, rest',
    surface            LowCardinality(String)              COMMENT 'where in the application the ad is shown',
    region             LowCardinality(String)              COMMENT 'region of the request',
    language           LowCardinality(String)              COMMENT 'language of the request',
    host_app           String                              COMMENT 'application, as it named itself',
    sandbox            Bool                                COMMENT 'asked with a sandbox key',
    took_us            Int64                               COMMENT 'time of the decision, microseconds'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY auction_id
TTL toStartOfMonth(day) + INTERVAL 13 MONTH
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Auction outcomes, best effort; whole months are dropped after 13 months';
