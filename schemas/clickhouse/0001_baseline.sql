-- The analytics schema, in the order of the domain: events, auctions and candidates, notices of
-- exchanges, learning, daily sums with the views that fill them, views for analysts. Conversions
-- are events; their view is conversion_path.
--
-- non_replicated_deduplication_window: an insert is sent again with the same token when its reply
-- was lost. The window is the number of tokens that the server still recognises, one per chunk and
-- month. The target of a materialized view needs a window of its own. The server pushes a block to
-- the view even if the source refuses its token: without the window, a repeated insert would count
-- twice in the target and once in the source.
--
-- fsync_after_insert, fsync_part_directory: the archive marks a chunk of events as done after the
-- reply, so an acknowledged insert must survive a power cut.
--
-- Tables that are "best effort" can miss rows.


-- Events

-- One row per record of the event log, whatever its verdict. The daily sums of events can be
-- computed again from this table. Whole months are dropped by the TTL of the table. Pseudonyms have
-- a shorter TTL on their columns: ttl_only_drop_parts = 0 lets a merge clear them in a part whose
-- rows stay. Rows still leave by whole months, because all rows of a part expire together. Rows of
-- a day before 2000 never expire.
CREATE TABLE IF NOT EXISTS events
(
    event_id           UUID                   COMMENT 'id of the record, UUIDv7',
    received_at        DateTime64(6, 'UTC')   COMMENT 'when ingress received the event, UTC',
    day                Date MATERIALIZED toDate(received_at) COMMENT 'UTC day of received_at',
    type               LowCardinality(String) COMMENT 'impression, click, close, skip, video_complete, conversion, viewable; empty when the record could not be decoded',
    verdict            LowCardinality(String) COMMENT 'what settlement decided: ok, duplicate, expired, unsigned, bad_signature, unverified, paused, over_budget, over_balance, conversion_cap, sandbox, house, self_served, unknown_campaign, poison, invalid_traffic:<rule>',
    class              LowCardinality(String) MATERIALIZED multiIf(
        verdict IN (
            'ok', 'paused', 'over_budget', 'over_balance', 'conversion_cap', 'self_served'
        ), 'counted',
        verdict = 'duplicate', 'duplicate',
        verdict = 'sandbox', 'sandbox',
        verdict = 'house', 'house',
        verdict = 'unverified', 'unverified',
        startsWith(verdict, 'invalid_traffic:'), 'invalid',
        'rejected')                           COMMENT 'counted (really happened, once), duplicate, rejected (forged, expired, unsigned, unknown campaign, undecodable), sandbox, house (house ads), unverified (conversions that the advertiser does not vouch for), invalid (invalid traffic)',
    price              Int64                  COMMENT 'price of the billed unit at the auction, micro-USD; charge is at most this, less where a budget ended',
    charge             Int64                  COMMENT 'charged to the advertiser, micro-USD',
    minted             Int64                  COMMENT 'Credits earned by the publisher, whole Credits',
    credit             LowCardinality(String) COMMENT 'what became of the Credit: capped (daily mint cap, none minted), held (publisher in quarantine), empty otherwise',
    auction_id         UUID                   COMMENT 'auction that served the ad, UUIDv7',
    campaign_id        UUID                   COMMENT 'campaign; nil UUID when unknown',
    advertiser_id      UUID                   COMMENT 'owner of the campaign; nil UUID when unknown',
    developer_id       UUID                   COMMENT 'publisher; nil UUID when unknown',
    billing_model      LowCardinality(String) COMMENT 'cpm, cpc, cpa, or vcpm: cpm that is paid on view',
    format             LowCardinality(String) COMMENT 'ad format that was served',
    integration_method LowCardinality(String) COMMENT 'mcp, js_snippet, npm_sdk, rest',
    surface            LowCardinality(String) COMMENT 'where in the application the ad was shown',
    region             LowCardinality(String) COMMENT 'region of the ad request',
    language           LowCardinality(String) COMMENT 'language of the ad request',
    host_app           String                 COMMENT 'application that showed the ad, as it named itself',
    session            String                 COMMENT 'keyed hash of the publisher''s session on the UTC day of the auction; empty without consent, and after 30 days' TTL day + INTERVAL 30 DAY,
    conversion_type    LowCardinality(String) COMMENT 'kind of conversion, as the campaign names it',
    conversion_value   Int64                  COMMENT 'value of the conversion in millionths of currency',
    currency           LowCardinality(String) COMMENT 'ISO 4217; empty means USD',
    external_id        String                 COMMENT 'keyed hash of the advertiser''s id of the order or user; empty without consent, and after 90 days' TTL day + INTERVAL 90 DAY,
    network_mark       Int64                  COMMENT 'of a click: 16 bits of a hash of network and campaign, keyed by the UTC day, and 1; 0 when unknown, and after 30 days' TTL day + INTERVAL 30 DAY
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (campaign_id, day, type, auction_id)
TTL if(day < toDate('2000-01-01'), toDate('2106-01-01'), toStartOfMonth(day) + INTERVAL 37 MONTH)
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 0,
    fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Every decided event; whole months are dropped after 37 months';


-- Auctions and candidates

-- One row per auction, best effort. A repeated row is merged into one: read with FINAL where a
-- repeat would matter.
--
-- The three arrays of candidates have one entry per candidate, best first, at most 10. Of the
-- request only sizes are stored (tokens, tools), never its text. A row that was refused because of
-- its conversation has no region, tokens or tools.
CREATE TABLE IF NOT EXISTS auctions
(
    auction_id         UUID                          COMMENT 'UUIDv7',
    at                 DateTime64(6, 'UTC')          COMMENT 'when the auction was decided, UTC',
    day                Date MATERIALIZED toDate(at)  COMMENT 'UTC day of at',
    developer_id       UUID                          COMMENT 'publisher that asked; nil UUID when unknown',
    campaign_id        UUID                          COMMENT 'winner; nil UUID when not filled',
    reason             LowCardinality(String)        COMMENT 'why it was not filled; empty when filled',
    price              Int64                         COMMENT 'price of one billed unit, micro-USD; 0 when not filled',
    ecpm               Int64                         COMMENT 'effective price of 1000 impressions, micro-USD; 0 when not filled',
    format             LowCardinality(String)        COMMENT 'format that was asked for: embed, card, text, native, banner; of a bid request the kinds of markup that the imp takes, native, banner, video, joined by +',
    creative_format    LowCardinality(String)        COMMENT 'format of the winner''s creative: image, video, native; empty when not filled',
    integration_method LowCardinality(String)        COMMENT 'mcp, js_snippet, npm_sdk, rest',
    surface            LowCardinality(String)        COMMENT 'where in the application the ad is shown',
    region             LowCardinality(String)        COMMENT 'region of the request',
    language           LowCardinality(String)        COMMENT 'language of the request',
    host_app           String                        COMMENT 'application, as it named itself',
    sandbox            Bool                          COMMENT 'asked with a sandbox key',
    took_us            Int64                         COMMENT 'time of the decision, microseconds',
    tokens             Int64                         COMMENT 'terms of the request; of the context nothing else is stored here, see outcome_terms',
    tools              Int64                         COMMENT 'active tools of the request',
    floor              Int64                         COMMENT 'least effective price of 1000 impressions that was accepted, micro-USD',
    candidate_ids      Array(UUID)                   COMMENT 'campaigns, best first',
    candidate_ecpms    Array(Int64)                  COMMENT 'effective price of 1000 impressions of each, micro-USD',
    candidate_reasons  Array(LowCardinality(String)) COMMENT 'why each did not win; empty for the winner',
    more_candidates    Bool                          COMMENT 'there may have been candidates behind those listed',
    model_version      LowCardinality(String)        COMMENT 'version of the tables that decided',
    explores           Bool                          COMMENT 'the winner won as a new campaign that explores',
    consent            LowCardinality(String)        COMMENT 'what the signals of consent said: of given, gdpr, no_storage, child, opt_out, malformed, separated by commas; empty when there were none',
    house_id           UUID                          COMMENT 'campaign of the house ad that was shown as nothing won; the nil UUID for none',
    suitability        LowCardinality(String)        COMMENT 'of a refused auction (reason unsuitable or sensitive): the subject; empty for others, for a session that was refused before, and after 30 days' TTL day + INTERVAL 30 DAY,
    suitability_by     LowCardinality(String)        COMMENT 'what decided: rule, table, flag, classifier, memory; empty for others, where it was a text beside a sensitive subject, and after 30 days' TTL day + INTERVAL 30 DAY,
    age_adult          Bool                          COMMENT 'the publisher said that the reader is an adult'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY auction_id
TTL toStartOfMonth(day) + INTERVAL 13 MONTH
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Auction outcomes, best effort; whole months are dropped after 13 months';

-- Outcomes of each campaign per minute, which explain why a campaign does not deliver without a
-- read of every auction of the hour. The nil UUID stands for the auctions themselves: its outcomes
-- are their no-fill reasons, and more_candidates.
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

-- Refused requests are left out: no campaign could have won them.
CREATE MATERIALIZED VIEW IF NOT EXISTS candidate_minutes_mv TO candidate_minutes AS
SELECT
    toStartOfMinute(toDateTime(at, 'UTC')) AS minute,
    entry.1 AS candidate_id,
    entry.2 AS outcome,
    toInt64(count()) AS auctions
FROM auctions
ARRAY JOIN arrayConcat(
    [(toUUID('00000000-0000-0000-0000-000000000000'), toString(reason))],
    if(more_candidates, [(toUUID('00000000-0000-0000-0000-000000000000'), 'more_candidates')], []),
    arrayMap((id, why) -> (id, toString(why)), candidate_ids, candidate_reasons)) AS entry
WHERE NOT sandbox AND reason NOT IN ('unsuitable', 'sensitive')
GROUP BY minute, candidate_id, outcome;


-- Notices

-- OpenRTB notices of exchanges about bids, best effort. Of several notices of one kind about one
-- bid, one stays: read with FINAL where a repeat would matter. No charge depends on this table.
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


-- Learning

-- Outcomes with the ids of terms, apart from auctions and events.
--
-- A term is a 32-bit hash of a word that campaigns use. It is stored with an outcome only if at
-- least 50 sessions of at least 3 publishers had it in the month of the outcome (known_terms). It
-- is never stored if it belongs to a special category (GDPR Art. 9) or if the publisher opted out.
-- The ids are sorted, so the order of the words is lost. Text, session and click are not stored.
CREATE TABLE IF NOT EXISTS outcome_terms
(
    auction_id    UUID          COMMENT 'UUIDv7 of the auction, which an ad won',
    day           Date          COMMENT 'UTC day of the auction',
    terms         Array(UInt32) COMMENT 'ids of terms of the request that campaigns say, ascending, at most 32, each common enough in the month',
    p_click       Int64         COMMENT 'probability of a click on the winner by what decided, parts per million',
    trial_p_click Int64         COMMENT 'the same by the weights on trial; 0 while none are',
    weights       Int64         COMMENT 'version of the learnt weights that decided; 0 for none'
)
ENGINE = ReplacingMergeTree
PARTITION BY day
ORDER BY auction_id
TTL day + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'What ranking learns from, best effort; days are dropped after 30 days';

-- Sketches of the sessions and publishers that had a term in a month, from which neither can be
-- read back. The hashes differ from term to term, so the terms of one session cannot be joined.
CREATE TABLE IF NOT EXISTS term_months
(
    month      Date                                        COMMENT 'first day of the UTC month',
    term       UInt32                                      COMMENT 'id of the term',
    sessions   AggregateFunction(uniqCombined(14), UInt64) COMMENT 'sketch of the sessions that had it',
    publishers AggregateFunction(uniqCombined(14), UInt64) COMMENT 'sketch of the publishers whose requests had it'
)
ENGINE = AggregatingMergeTree
PARTITION BY month
ORDER BY term
TTL month + INTERVAL 2 MONTH
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Sketches of how many sessions and publishers had a term in a month; in no backup';

-- Input of term_months: rows pass through to term_months_mv and are not stored.
CREATE TABLE IF NOT EXISTS term_marks
(
    month        Date          COMMENT 'first day of the UTC month',
    developer_id UUID          COMMENT 'publisher',
    session_mark Int64         COMMENT '16 bits of a hash of publisher, session and month, and 1',
    terms        Array(UInt32) COMMENT 'ids of terms'
)
ENGINE = Null
COMMENT 'The way into term_months; it keeps nothing';

-- Fills term_months from term_marks. The term is part of each hash.
CREATE MATERIALIZED VIEW IF NOT EXISTS term_months_mv TO term_months AS
SELECT
    month,
    term,
    uniqCombinedState(14)(sipHash64(term, session_mark)) AS sessions,
    uniqCombinedState(14)(sipHash64(term, developer_id)) AS publishers
FROM term_marks
ARRAY JOIN terms AS term
GROUP BY month, term;

-- Terms that are common enough in a month to be stored with an outcome.
CREATE VIEW IF NOT EXISTS known_terms AS
SELECT month, term
FROM term_months
GROUP BY month, term
HAVING uniqCombinedMerge(14)(sessions) >= 50 AND uniqCombinedMerge(14)(publishers) >= 3
COMMENT 'Terms that enough people used in a month to be recorded, learnt and shown: 50 sessions of 3 publishers';


-- Daily sums

-- Counters of report.Counts, summed at insert by stats_daily_mv.
--
-- The projection gives the number of events of each day and the newest receipt without a read of
-- the dimensions. It is stored inside the parts, so it always agrees with the rows.
-- conversion_usd has 128 bits, because sums of values that advertisers state can overflow 64.
CREATE TABLE IF NOT EXISTS stats_daily
(
    day                    Date                   COMMENT 'UTC day of receipt',
    advertiser_id          UUID                   COMMENT 'owner of the campaign',
    campaign_id            UUID                   COMMENT 'campaign',
    developer_id           UUID                   COMMENT 'publisher',
    format                 LowCardinality(String) COMMENT 'ad format',
    integration_method     LowCardinality(String) COMMENT 'mcp, js_snippet, npm_sdk, rest',
    host_app               String                 COMMENT 'application, as it named itself',
    events                 Int64                  COMMENT 'all events, whatever the verdict',
    impressions            Int64                  COMMENT 'counted impressions',
    clicks                 Int64                  COMMENT 'counted clicks',
    closes                 Int64                  COMMENT 'counted closes',
    skips                  Int64                  COMMENT 'counted skips',
    video_completes        Int64                  COMMENT 'counted completed videos',
    conversions            Int64                  COMMENT 'counted conversions: those that the advertiser vouches for',
    spend                  Int64                  COMMENT 'charged, micro-USD',
    credits                Int64                  COMMENT 'Credits minted',
    billed                 Int64                  COMMENT 'events with a charge',
    conversion_usd         Int128                 COMMENT 'value of counted conversions stated in USD, micro-USD',
    duplicates             Int64                  COMMENT 'events with class duplicate',
    rejected               Int64                  COMMENT 'events with class rejected',
    sandbox                Int64                  COMMENT 'events with class sandbox',
    invalid                Int64                  COMMENT 'events with class invalid',
    last_received_at       SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'newest receipt among the events, UTC',
    conversions_unverified Int64                  COMMENT 'conversions with class unverified',
    viewable               Int64                  COMMENT 'counted views: half of the ad was in view for a second',
    INDEX developer developer_id TYPE bloom_filter(0.01) GRANULARITY 1,
    PROJECTION per_day (SELECT day, sum(events), max(last_received_at) GROUP BY day)
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(day)
PRIMARY KEY (day, advertiser_id, campaign_id)
ORDER BY (day, advertiser_id, campaign_id, developer_id, format, integration_method, host_app)
SETTINGS non_replicated_deduplication_window = 100000,
    deduplicate_merge_projection_mode = 'rebuild', fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Live daily counters; sum() them, rows of one key may not be merged yet';

-- Fills stats_daily. The roll-up computes the same counters; the conformance suite compares them.
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
    toInt64(countIf(class = 'counted' AND type = 'viewable')) AS viewable,
    toInt64(countIf(class = 'counted' AND type = 'conversion')) AS conversions,
    toInt64(countIf(class = 'unverified')) AS conversions_unverified,
    sum(charge) AS spend,
    sum(minted) AS credits,
    toInt64(countIf(charge > 0)) AS billed,
    sumIf(
        toInt128(conversion_value),
        class = 'counted' AND type = 'conversion' AND currency IN ('', 'USD')) AS conversion_usd,
    toInt64(countIf(class = 'duplicate')) AS duplicates,
    toInt64(countIf(class = 'rejected')) AS rejected,
    toInt64(countIf(class = 'sandbox')) AS sandbox,
    toInt64(countIf(class = 'invalid')) AS invalid,
    max(received_at) AS last_received_at
FROM events
GROUP BY day, advertiser_id, campaign_id, developer_id, format, integration_method, host_app;

-- The counters of stats_daily, computed again from events for a whole closed day. REPLACE PARTITION
-- puts them in place of the day at once.
--
-- Two replacements of one partition at the same time can both stay (measured on 26.7: their rows
-- add up). Every row therefore names its run, and a reader takes one run per day that counts at
-- least as many events as stats_daily. A read without a choice of run is wrong.
CREATE TABLE IF NOT EXISTS stats_rollup
(
    day                    Date                   COMMENT 'UTC day of receipt',
    run                    UUID                   COMMENT 'roll-up that wrote the row; take the rows of one run per day',
    advertiser_id          UUID                   COMMENT 'owner of the campaign',
    campaign_id            UUID                   COMMENT 'campaign',
    developer_id           UUID                   COMMENT 'publisher',
    format                 LowCardinality(String) COMMENT 'ad format',
    integration_method     LowCardinality(String) COMMENT 'mcp, js_snippet, npm_sdk, rest',
    host_app               String                 COMMENT 'application, as it named itself',
    events                 Int64                  COMMENT 'all events, whatever the verdict',
    impressions            Int64                  COMMENT 'counted impressions',
    clicks                 Int64                  COMMENT 'counted clicks',
    closes                 Int64                  COMMENT 'counted closes',
    skips                  Int64                  COMMENT 'counted skips',
    video_completes        Int64                  COMMENT 'counted completed videos',
    conversions            Int64                  COMMENT 'counted conversions: those that the advertiser vouches for',
    spend                  Int64                  COMMENT 'charged, micro-USD',
    credits                Int64                  COMMENT 'Credits minted',
    billed                 Int64                  COMMENT 'events with a charge',
    conversion_usd         Int128                 COMMENT 'value of counted conversions stated in USD, micro-USD',
    duplicates             Int64                  COMMENT 'events with class duplicate',
    rejected               Int64                  COMMENT 'events with class rejected',
    sandbox                Int64                  COMMENT 'events with class sandbox',
    invalid                Int64                  COMMENT 'events with class invalid',
    last_received_at       DateTime64(6, 'UTC')   COMMENT 'newest receipt among the events, UTC',
    conversions_unverified Int64                  COMMENT 'conversions with class unverified',
    viewable               Int64                  COMMENT 'counted views: half of the ad was in view for a second',
    INDEX developer developer_id TYPE bloom_filter(0.01) GRANULARITY 1,
    PROJECTION per_day (SELECT day, run, sum(events) GROUP BY day, run)
)
ENGINE = MergeTree
PARTITION BY day
PRIMARY KEY (run, advertiser_id, campaign_id)
ORDER BY (run, advertiser_id, campaign_id, developer_id, format, integration_method, host_app)
COMMENT 'Closed days computed from events, one row per run and key, replaced whole per day';

-- Money and verdicts per day. They stay when the TTL of events drops the events: the comparison
-- with the ledger must always be possible.
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
SETTINGS non_replicated_deduplication_window = 100000,
    fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Events, charges and Credits per day and verdict; sum() them';

-- Fills verdict_daily.
CREATE MATERIALIZED VIEW IF NOT EXISTS verdict_daily_mv TO verdict_daily AS
SELECT day, verdict, toInt64(count()) AS events, sum(charge) AS charge, sum(minted) AS minted
FROM events
GROUP BY day, verdict;

-- Reasons for which traffic was not paid or its Credits did not go to the publisher. The rows stay
-- when the TTL of events drops the events.
CREATE TABLE IF NOT EXISTS traffic_daily
(
    day           Date                   COMMENT 'UTC day of receipt',
    advertiser_id UUID                   COMMENT 'owner of the campaign',
    campaign_id   UUID                   COMMENT 'campaign',
    developer_id  UUID                   COMMENT 'publisher',
    reason        LowCardinality(String) COMMENT 'rule of invalid traffic, or house, self_served, mint_capped, mint_held',
    impressions   Int64                  COMMENT 'impressions with the reason',
    clicks        Int64                  COMMENT 'clicks with the reason',
    other         Int64                  COMMENT 'other events with the reason'
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (day, advertiser_id, campaign_id, developer_id, reason)
SETTINGS non_replicated_deduplication_window = 100000,
    fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Invalid, self-served, capped and held traffic per day and reason; sum() it';

-- Fills traffic_daily. An event has one reason: its rule, else its verdict, else its Credit.
CREATE MATERIALIZED VIEW IF NOT EXISTS traffic_daily_mv TO traffic_daily AS
SELECT
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

-- Requests and refusals of a publisher per hour, so that the console and the alert do not read
-- auctions.
CREATE TABLE IF NOT EXISTS suitability_hours
(
    hour         DateTime('UTC') COMMENT 'UTC hour of the requests',
    developer_id UUID            COMMENT 'publisher that asked',
    requests     Int64           COMMENT 'requests that were not refused, without sandbox keys; sum() them',
    adults       Int64           COMMENT 'those among them that said age: adult',
    never        Int64           COMMENT 'requests refused as unsuitable',
    sensitive    Int64           COMMENT 'requests refused as sensitive',
    sold_rest    Int64           COMMENT 'ads sold to servers with integration method rest, without house ads',
    sold_mcp     Int64           COMMENT 'ads sold to servers with integration method mcp, without house ads'
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (developer_id, hour)
TTL toStartOfMonth(toDate(hour)) + INTERVAL 13 MONTH
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Requests and refusals of a publisher per hour, best effort; the API tells them by day, and none below 10; whole months are dropped after 13 months';

-- Fills suitability_hours.
CREATE MATERIALIZED VIEW IF NOT EXISTS suitability_hours_mv TO suitability_hours AS
SELECT
    toStartOfHour(toDateTime(at, 'UTC')) AS hour,
    developer_id,
    toInt64(countIf(reason NOT IN ('unsuitable', 'sensitive'))) AS requests,
    toInt64(countIf(reason NOT IN ('unsuitable', 'sensitive') AND age_adult)) AS adults,
    toInt64(countIf(reason = 'unsuitable')) AS never,
    toInt64(countIf(reason = 'sensitive')) AS sensitive,
    toInt64(countIf(reason = '' AND integration_method = 'rest')) AS sold_rest,
    toInt64(countIf(reason = '' AND integration_method = 'mcp')) AS sold_mcp
FROM auctions
WHERE NOT sandbox
GROUP BY hour, developer_id;

-- Refused requests per day by subject and placement.
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

-- Fills refusals_daily.
CREATE MATERIALIZED VIEW IF NOT EXISTS refusals_daily_mv TO refusals_daily AS
SELECT
    day,
    developer_id,
    reason,
    suitability,
    surface,
    integration_method,
    language,
    host_app,
    toInt64(count()) AS requests
FROM auctions
WHERE NOT sandbox AND reason IN ('unsuitable', 'sensitive')
GROUP BY
    day,
    developer_id,
    reason,
    suitability,
    surface,
    integration_method,
    language,
    host_app;


-- Views for analysts
--
-- Their names and columns are a contract: columns are only added. docs/data.md has example queries.

-- Counters, spend and rates of a campaign.
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

-- Counters and earnings of a publisher.
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

-- Share of each verdict among the events of a day.
CREATE VIEW IF NOT EXISTS verdict_share_daily AS
SELECT
    day,
    verdict,
    sum(verdict_daily.events) AS events,
    events / sum(events) OVER (PARTITION BY day) AS share
FROM verdict_daily
GROUP BY day, verdict
COMMENT 'Share (fraction 0 to 1) of each verdict per UTC day; a jump of duplicates or invalid traffic shows here';

-- Traffic without payment, by reason.
CREATE VIEW IF NOT EXISTS invalid_traffic_daily AS
SELECT
    day,
    developer_id,
    campaign_id,
    reason,
    sum(traffic_daily.impressions) AS impressions,
    sum(traffic_daily.clicks) AS clicks,
    sum(traffic_daily.other) AS other
FROM traffic_daily
GROUP BY day, developer_id, campaign_id, reason
COMMENT 'Traffic that was not paid for per UTC day, publisher, campaign and reason; mint_capped and mint_held were paid for but earned nothing, or not yet';

-- Fill rate and decision time of auctions.
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

-- Auctions without a winner, by reason.
CREATE VIEW IF NOT EXISTS no_fill_daily AS
SELECT day, reason, count() AS auctions
FROM auctions FINAL
WHERE NOT sandbox AND reason != ''
GROUP BY day, reason
COMMENT 'Auctions that were not filled per UTC day and reason; best effort';

-- Wins, losses and clearing prices of bids. Only signed notices count.
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

-- Steps from impression to conversion of each auction with a counted conversion. The sum of values
-- has 128 bits, as in stats_daily.
CREATE VIEW IF NOT EXISTS conversion_path AS
SELECT
    auction_id,
    any(events.campaign_id) AS campaign_id,
    any(events.developer_id) AS developer_id,
    minIf(received_at, type = 'impression') AS impression_at,
    minIf(received_at, type = 'click') AS click_at,
    minIf(received_at, type = 'conversion') AS conversion_at,
    sumIf(
        toInt128(conversion_value),
        type = 'conversion' AND currency IN ('', 'USD')) / 1e6 AS value_usd,
    sum(events.charge) / 1e6 AS charge_usd
FROM events
WHERE class = 'counted'
GROUP BY auction_id
HAVING countIf(type = 'conversion') > 0
COMMENT 'Auctions that led to a counted conversion: times (1970-01-01 when a step is missing), value and charge (USD)';
