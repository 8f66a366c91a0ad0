-- Replay and explanation need the tables that decided.
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS model_version LowCardinality(String) COMMENT 'version of the tables that decided; empty in records of earlier versions';
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS explores Bool COMMENT 'the winner won as a new campaign that explores';
