-- Who was refused because of the conversation, summed so that neither a screen nor the alert reads auctions.
CREATE TABLE IF NOT EXISTS suitability_hours
(
    hour         DateTime('UTC') COMMENT 'UTC hour of the requests',
    developer_id UUID            COMMENT 'publisher that asked',
    requests     Int64           COMMENT 'requests that were not refused, without sandbox keys; sum() them',
    adults       Int64           COMMENT 'those among them that said age: adult',
    never        Int64           COMMENT 'requests refused as unsuitable',
    sensitive    Int64           COMMENT 'requests refused as sensitive'
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (developer_id, hour)
TTL toStartOfMonth(toDate(hour)) + INTERVAL 13 MONTH
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Requests and refusals of a publisher per hour, best effort; the API tells them by day, and none below 10; whole months are dropped after 13 months';

CREATE MATERIALIZED VIEW IF NOT EXISTS suitability_hours_mv TO suitability_hours AS
SELECT
    toStartOfHour(toDateTime(at, 'UTC')) AS hour,
    developer_id,
    toInt64(countIf(reason NOT IN ('unsuitable', 'sensitive'))) AS requests,
    toInt64(countIf(reason NOT IN ('unsuitable', 'sensitive') AND age_adult)) AS adults,
    toInt64(countIf(reason = 'unsuitable')) AS never,
    toInt64(countIf(reason = 'sensitive')) AS sensitive
FROM auctions
WHERE NOT sandbox
GROUP BY hour, developer_id;

CREATE TABLE IF NOT EXISTS refusals_daily
(
    day                Date                   COMMENT 'UTC day of the requests',
    developer_id       UUID                   COMMENT 'publisher that asked',
    reason             LowCardinality(String) COMMENT 'unsuitable or sensitive',
    suitability        LowCardinality(String) COMMENT 'the subject; empty for a session that was refused before',
    surface            LowCardinality(String) COMMENT 'where in the application the ad would have been shown',
    integration_method LowCardinality(String) COMMENT 'mcp, js_snippet, npm_sdk, rest',
    language           LowCardinality(String) COMMENT 'language of the request',
    host_app           String                 COMMENT 'application, as it named itself',
    requests           Int64                  COMMENT 'refused requests, without sandbox keys; sum() them'
)
ENGINE = SummingMergeTree
PARTITION BY day
ORDER BY (developer_id, reason, suitability, surface, integration_method, language, host_app)
TTL day + INTERVAL 31 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Refused requests by subject and place, best effort; the API tells whole hundreds of them; days are dropped after 31 days';

CREATE MATERIALIZED VIEW IF NOT EXISTS refusals_daily_mv TO refusals_daily AS
SELECT day, developer_id, reason, suitability, surface, integration_method, language, host_app, toInt64(count()) AS requests
FROM auctions
WHERE NOT sandbox AND reason IN ('unsuitable', 'sensitive')
GROUP BY day, developer_id, reason, suitability, surface, integration_method, language, host_app;

-- No campaign could have won what was refused: such a request is no auction of the last hour.
ALTER TABLE candidate_minutes_mv MODIFY QUERY SELECT toStartOfMinute(toDateTime(at, 'UTC')) AS minute, entry.1 AS candidate_id, entry.2 AS outcome, toInt64(count()) AS auctions
FROM auctions
ARRAY JOIN arrayConcat(
    [(toUUID('00000000-0000-0000-0000-000000000000'), toString(reason))],
    if(more_candidates, [(toUUID('00000000-0000-0000-0000-000000000000'), 'more_candidates')], []),
    arrayMap((id, why) -> (id, toString(why)), candidate_ids, candidate_reasons)) AS entry
WHERE NOT sandbox AND reason NOT IN ('unsuitable', 'sensitive')
GROUP BY minute, candidate_id, outcome;
