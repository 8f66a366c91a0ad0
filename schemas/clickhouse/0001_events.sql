-- Every decided event, one row per record of the log whatever its verdict. This table is what the others
-- can be computed from again.
--
-- non_replicated_deduplication_window: an insert is sent again with the same token when its reply was lost;
-- the window is how many tokens back the server still recognises (one per chunk and month). fsync: the
-- archive marks a chunk as done after the reply, so a reply must survive a power cut.
CREATE TABLE IF NOT EXISTS events
(
    event_id           UUID                                COMMENT 'id of the record, UUIDv7',
    received_at        DateTime64(6, 'UTC')                COMMENT 'when ingress received the event, UTC',
    day                Date MATERIALIZED toDate(received_at) COMMENT 'UTC day of received_at',
    type               LowCardinality(String)              COMMENT 'impression, click, close, skip, video_complete, conversion; empty when the record could not be decoded',
    verdict            LowCardinality(String)              COMMENT 'what settlement decided: ok, duplicate, expired, unsigned, bad_signature, paused, over_budget, over_balance, sandbox, self_served, unknown_campaign, poison, invalid_traffic:<rule>',
    class              LowCardinality(String) MATERIALIZED multiIf(
        verdict IN ('ok', 'paused', 'over_budget', 'over_balance', 'self_served'), 'counted',
        verdict = 'duplicate', 'duplicate',
        verdict = 'sandbox', 'sandbox',
        startsWith(verdict, 'invalid_traffic:'), 'invalid',
        'rejected')                                        COMMENT 'counted (really happened, once), duplicate, rejected (forged, expired, unsigned, unknown campaign, undecodable), sandbox, invalid (invalid traffic)',
    price              Int64                               COMMENT 'price of the billed unit at the auction, micro-USD; charge is at most this, less where a budget ended',
    charge             Int64                               COMMENT 'charged to the advertiser, micro-USD',
    minted             Int64                               COMMENT 'Credits earned by the publisher, whole Credits',
    auction_id         UUID                                COMMENT 'auction that served the ad, UUIDv7',
    campaign_id        UUID                                COMMENT 'campaign; nil UUID when unknown',
    advertiser_id      UUID                                COMMENT 'owner of the campaign; nil UUID when unknown',
    developer_id       UUID                                COMMENT 'publisher; nil UUID when unknown',
    billing_model      LowCardinality(String)              COMMENT 'cpm, cpc or cpa',
    format             LowCardinality(String)              COMMENT 'ad format that was served',
    integration_method LowCardinality(String)              COMMENT 'mcp, js_snippet, npm_sdk, rest',
    surface            LowCardinality(String)              COMMENT 'where in the application the ad was shown',
    region             LowCardinality(String)              COMMENT 'region of the ad request',
    language           LowCardinality(String)              COMMENT 'language of the ad request',
    host_app           String                              COMMENT 'application that showed the ad, as it named itself',
    session            String                              COMMENT 'opaque session of the publisher',
    conversion_type    LowCardinality(String)              COMMENT 'kind of conversion, as the campaign names it',
    conversion_value   Int64                               COMMENT 'value of the conversion in millionths of currency',
    currency           LowCardinality(String)              COMMENT 'ISO 4217; empty means USD',
    external_id        String                              COMMENT 'order or user id of the advertiser'
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (campaign_id, day, type, auction_id)
TTL if(day < toDate('2000-01-01'), toDate('2106-01-01'), toStartOfMonth(day) + INTERVAL 37 MONTH)
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Every decided event; whole months are dropped after 37 months';
