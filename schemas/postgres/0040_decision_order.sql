-- The order of decisions. Times may be equal, and clocks go back; the sequence is drawn in the transaction that
-- has the row of what was decided about, so of two decisions about one target the later one has the higher number.
-- Rows that are there get theirs in the order in which they were written.
ALTER TABLE decision ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY;
DROP INDEX decision_owner;
DROP INDEX decision_age;
CREATE INDEX decision_owner ON decision (owner_id, seq DESC);
CREATE UNIQUE INDEX decision_age ON decision (seq DESC);
