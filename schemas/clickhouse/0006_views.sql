-- Views for data teams. Their names and columns are a contract: columns are only added. README.md beside this
-- file has example queries.
CREATE VIEW IF NOT EXISTS campaign_daily AS
SELECT
    day,
    campaign_id,
    any(stats_daily.advertiser_id) AS advertiser_id,
    sum(stats_daily.impressions) AS impressions,
    sum(stats_daily.clicks) AS clicks,
    sum(stats_daily.conversions) AS conversions,
    sum(stats_daily.spend) / 1e6 AS spend_usd,
    if(impressions = 0, 0, clicks / impressions) AS ctr,
    if(impressions = 0, 0, 1000 * spend_usd / impressions) AS ecpm_usd
FROM stats_daily
GROUP BY day, campaign_id
COMMENT 'A campaign per UTC day: counts, spend (USD), ctr (fraction 0 to 1), ecpm (USD per 1000 impressions)';

CREATE VIEW IF NOT EXISTS publisher_daily AS
SELECT
    day,
    developer_id,
    host_app,
    integration_method,
    sum(stats_daily.impressions) AS impressions,
    sum(stats_daily.clicks) AS clicks,
    sum(stats_daily.credits) AS credits,
    sum(stats_daily.spend) / 1e6 AS advertiser_spend_usd
FROM stats_daily
GROUP BY day, developer_id, host_app, integration_method
COMMENT 'A publisher per UTC day, application and integration: counts, Credits earned, what advertisers paid (USD)';

CREATE VIEW IF NOT EXISTS verdict_share_daily AS
SELECT
    day,
    verdict,
    sum(verdict_daily.events) AS events,
    events / sum(events) OVER (PARTITION BY day) AS share
FROM verdict_daily
GROUP BY day, verdict
COMMENT 'Share (fraction 0 to 1) of each verdict per UTC day; a jump of duplicates or invalid traffic shows here';

CREATE VIEW IF NOT EXISTS fill_daily AS
SELECT
    day,
    format,
    integration_method,
    count() AS auctions,
    countIf(reason = '') AS filled,
    filled / auctions AS fill_rate,
    quantileTDigest(0.99)(took_us) AS took_p99_us
FROM auctions FINAL
WHERE NOT sandbox
GROUP BY day, format, integration_method
COMMENT 'Auctions per UTC day without sandbox: fill rate (fraction 0 to 1), 99th percentile of the decision time (microseconds); best effort';

CREATE VIEW IF NOT EXISTS no_fill_daily AS
SELECT day, reason, count() AS auctions
FROM auctions FINAL
WHERE NOT sandbox AND reason != ''
GROUP BY day, reason
COMMENT 'Auctions that were not filled per UTC day and reason; best effort';

CREATE VIEW IF NOT EXISTS conversion_path AS
SELECT
    auction_id,
    any(events.campaign_id) AS campaign_id,
    any(events.developer_id) AS developer_id,
    minIf(received_at, type = 'impression') AS impression_at,
    minIf(received_at, type = 'click') AS click_at,
    minIf(received_at, type = 'conversion') AS conversion_at,
    sumIf(conversion_value, type = 'conversion' AND currency IN ('', 'USD')) / 1e6 AS value_usd,
    sum(events.charge) / 1e6 AS charge_usd
FROM events
WHERE class = 'counted'
GROUP BY auction_id
HAVING countIf(type = 'conversion') > 0
COMMENT 'Auctions that led to a counted conversion: times (1970-01-01 when a step is missing), value and charge (USD)';
