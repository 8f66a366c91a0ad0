-- What ranking may learn from: outcomes with the numbers of terms, apart from auctions and events.
--
-- A term is a 32-bit hash of a word that campaigns say. It is stored with an outcome only when at least 50 sessions of
-- at least 3 publishers had it in the month of the outcome, never if it is of a special category (GDPR Art. 9), and not
-- for publishers who say no. Of a request there are at most 32, ascending: neither their text nor their order is known,
-- nor the session or the click.
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

-- How many sessions of how many publishers had a term in a month: sketches, from which neither can be told. They are of
-- hashes that differ from term to term, so that terms of one session cannot be joined.
CREATE TABLE IF NOT EXISTS term_months
(
    month      Date                                       COMMENT 'first day of the UTC month',
    term       UInt32                                     COMMENT 'id of the term',
    sessions   AggregateFunction(uniqCombined(14), UInt64) COMMENT 'sketch of the sessions that had it',
    publishers AggregateFunction(uniqCombined(14), UInt64) COMMENT 'sketch of the publishers whose requests had it'
)
ENGINE = AggregatingMergeTree
PARTITION BY month
ORDER BY term
TTL month + INTERVAL 2 MONTH
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'Sketches of how many sessions and publishers had a term in a month; in no backup';

CREATE TABLE IF NOT EXISTS term_marks
(
    month        Date          COMMENT 'first day of the UTC month',
    developer_id UUID          COMMENT 'publisher',
    session_mark Int64         COMMENT '16 bits of a hash of publisher, session and month, and 1',
    terms        Array(UInt32) COMMENT 'ids of terms'
)
ENGINE = Null
COMMENT 'The way into term_months; it keeps nothing';

CREATE MATERIALIZED VIEW IF NOT EXISTS term_months_mv TO term_months AS
SELECT month, term, uniqCombinedState(14)(sipHash64(term, session_mark)) AS sessions, uniqCombinedState(14)(sipHash64(term, developer_id)) AS publishers
FROM term_marks
ARRAY JOIN terms AS term
GROUP BY month, term;

CREATE VIEW IF NOT EXISTS known_terms AS
SELECT month, term
FROM term_months
GROUP BY month, term
HAVING uniqCombinedMerge(14)(sessions) >= 50 AND uniqCombinedMerge(14)(publishers) >= 3
COMMENT 'Terms that enough people used in a month to be recorded, learnt and shown: 50 sessions of 3 publishers';

-- The same click of a network must not teach twice a day.
ALTER TABLE events ADD COLUMN IF NOT EXISTS network_mark Int64 COMMENT 'of a click: 16 bits of a hash of network, campaign and UTC day, and 1; 0 when unknown, and after 30 days' TTL day + INTERVAL 30 DAY;
ALTER TABLE auctions COMMENT COLUMN IF EXISTS tokens 'terms of the request; of the context nothing else is stored here, see outcome_terms';
