-- What explains an auction: how much of a request there was (never what it said), and the best candidates with
-- what became of each. The three arrays have one entry per candidate, best first, at most 10.
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS tokens Int64 COMMENT 'intent tokens of the request; the context is never stored';
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS tools Int64 COMMENT 'active tools of the request';
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS floor Int64 COMMENT 'least effective price of 1000 impressions that was accepted, micro-USD';
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS candidate_ids Array(UUID) COMMENT 'campaigns, best first';
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS candidate_ecpms Array(Int64) COMMENT 'effective price of 1000 impressions of each, micro-USD';
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS candidate_reasons Array(LowCardinality(String)) COMMENT 'why each did not win; empty for the winner';
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS more_candidates Bool COMMENT 'there may have been candidates behind those listed';

-- What became of each campaign in auctions, per minute: for the question why a campaign does not deliver, which
-- must not read every auction of the hour. The nil UUID stands for the auctions themselves: its outcomes are their
-- no-fill reasons, and more_candidates.
CREATE TABLE IF NOT EXISTS candidate_minutes
(
    minute       DateTime('UTC')        COMMENT 'UTC minute of the auctions',
    candidate_id UUID                   COMMENT 'campaign; the nil UUID for all auctions',
    outcome      LowCardinality(String) COMMENT 'why it did not win; empty for the winner',
    auctions     Int64                  COMMENT 'auctions; sum() them'
)
ENGINE = SummingMergeTree
PARTITION BY toDate(minute)
ORDER BY (candidate_id, minute, outcome)
TTL toDate(minute) + INTERVAL 8 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Outcomes of candidates per minute, best effort; whole days are dropped after 8 days';

CREATE MATERIALIZED VIEW IF NOT EXISTS candidate_minutes_mv TO candidate_minutes AS
SELECT toStartOfMinute(toDateTime(at, 'UTC')) AS minute, entry.1 AS candidate_id, entry.2 AS outcome, toInt64(count()) AS auctions
FROM auctions
ARRAY JOIN arrayConcat(
    [(toUUID('00000000-0000-0000-0000-000000000000'), toString(reason))],
    if(more_candidates, [(toUUID('00000000-0000-0000-0000-000000000000'), 'more_candidates')], []),
    arrayMap((id, why) -> (id, toString(why)), candidate_ids, candidate_reasons)) AS entry
WHERE NOT sandbox
GROUP BY minute, candidate_id, outcome;
