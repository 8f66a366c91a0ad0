-- House ads: a publisher's own campaigns, shown where an auction ended without a winner. They cost and earn nothing, are in
-- no count of impressions, and no auction has one as its campaign_id.
ALTER TABLE events MODIFY COLUMN IF EXISTS verdict LowCardinality(String) COMMENT 'what settlement decided: ok, duplicate, expired, unsigned, bad_signature, unverified, paused, over_budget, over_balance, conversion_cap, sandbox, house, self_served, unknown_campaign, poison, invalid_traffic:<rule>';
ALTER TABLE events MODIFY COLUMN IF EXISTS class LowCardinality(String) MATERIALIZED multiIf(
        verdict IN ('ok', 'paused', 'over_budget', 'over_balance', 'conversion_cap', 'self_served'), 'counted',
        verdict = 'duplicate', 'duplicate',
        verdict = 'sandbox', 'sandbox',
        verdict = 'house', 'house',
        verdict = 'unverified', 'unverified',
        startsWith(verdict, 'invalid_traffic:'), 'invalid',
        'rejected')                                        COMMENT 'counted (really happened, once), duplicate, rejected (forged, expired, unsigned, unknown campaign, undecodable), sandbox, house (house ads), unverified (conversions that the advertiser does not vouch for), invalid (invalid traffic)';

ALTER TABLE auctions ADD COLUMN IF NOT EXISTS house_id UUID COMMENT 'campaign of the house ad that was shown as nothing won; the nil UUID for none';

ALTER TABLE traffic_daily COMMENT COLUMN IF EXISTS reason 'rule of invalid traffic, or house, self_served, mint_capped, mint_held';

ALTER TABLE traffic_daily_mv MODIFY QUERY SELECT
    day,
    advertiser_id,
    campaign_id,
    developer_id,
    multiIf(
        class = 'invalid', substring(toString(verdict), length('invalid_traffic:') + 1),
        verdict IN ('house', 'self_served'), toString(verdict),
        concat('mint_', toString(credit))) AS reason,
    toInt64(countIf(type = 'impression')) AS impressions,
    toInt64(countIf(type = 'click')) AS clicks,
    toInt64(countIf(type NOT IN ('impression', 'click'))) AS other
FROM events
WHERE class = 'invalid' OR verdict IN ('house', 'self_served') OR credit != ''
GROUP BY day, advertiser_id, campaign_id, developer_id, reason;
