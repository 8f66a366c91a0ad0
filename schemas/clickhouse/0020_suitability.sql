-- Why an auction was refused because of its conversation. Such a row has neither region nor counts of terms and tools,
-- and there is no session of it anywhere.
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS suitability LowCardinality(String) COMMENT 'of a refused auction (reason unsuitable or sensitive): the subject; empty for others, for a session that was refused before, and after 30 days' TTL day + INTERVAL 30 DAY;
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS suitability_by LowCardinality(String) COMMENT 'what decided: rule, table, flag, classifier, memory; empty for others, where it was a text beside a sensitive subject, and after 30 days' TTL day + INTERVAL 30 DAY;
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS age_adult Bool COMMENT 'the publisher said that the reader is an adult';
