-- Money and verdicts per day, kept when the events themselves are dropped by their TTL: the comparison with
-- the ledger must stay possible for ever.
CREATE TABLE IF NOT EXISTS verdict_daily
(
    day     Date                   COMMENT 'UTC day of receipt',
    verdict LowCardinality(String) COMMENT 'verdict, see events',
    events  Int64                  COMMENT 'events with the verdict',
    charge  Int64                  COMMENT 'charged, micro-USD',
    minted  Int64                  COMMENT 'Credits minted'
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (day, verdict)
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Events, charges and Credits per day and verdict; sum() them';

CREATE MATERIALIZED VIEW IF NOT EXISTS verdict_daily_mv TO verdict_daily AS
SELECT day, verdict, toInt64(count()) AS events, sum(charge) AS charge, sum(minted) AS minted
FROM events
GROUP BY day, verdict;
