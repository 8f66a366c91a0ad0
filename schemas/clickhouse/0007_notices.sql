-- What exchanges said about bids (OpenRTB). The stream is best effort: rows can be missing, and of several of one
-- kind about one bid one stays. Read with FINAL where a repeat would matter. Nothing is billed by it.
CREATE TABLE IF NOT EXISTS notices
(
    auction_id    UUID                         COMMENT 'id of the bid, UUIDv7; as the caller named it when proof is not signed',
    kind          LowCardinality(String)       COMMENT 'win, loss, bill, error',
    proof         LowCardinality(String)       COMMENT 'signed: our bid; unsigned, bad_signature: anybody may have sent it',
    at            DateTime64(6, 'UTC')         COMMENT 'when the notice was received, UTC',
    day           Date MATERIALIZED toDate(at) COMMENT 'UTC day of at',
    campaign_id   UUID                         COMMENT 'campaign that was bid for; nil UUID when not signed',
    developer_id  UUID                         COMMENT 'seat; nil UUID when not signed',
    impression_id String                       COMMENT 'imp.id of the exchange',
    price         Int64                        COMMENT 'clearing price of 1000 impressions, micro-USD, at most the bid; 0 when unknown',
    reason        Int64                        COMMENT 'OpenRTB loss reason, for an error the VAST code; -1 when not given',
    sandbox       Bool                         COMMENT 'of a test request'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (auction_id, kind, proof)
TTL toStartOfMonth(day) + INTERVAL 13 MONTH
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'OpenRTB win, loss and billing notices, best effort; whole months are dropped after 13 months';

CREATE VIEW IF NOT EXISTS bid_outcome_daily AS
SELECT
    day,
    campaign_id,
    developer_id,
    countIf(kind = 'win') AS wins,
    countIf(kind = 'loss') AS losses,
    avgIf(price, kind = 'win' AND price > 0) / 1e6 AS average_win_cpm_usd
FROM notices FINAL
WHERE proof = 'signed' AND NOT sandbox
GROUP BY day, campaign_id, developer_id
COMMENT 'Bids on exchanges per UTC day, campaign and seat without sandbox: wins, losses, average clearing price (USD per 1000 impressions); best effort';
