-- One insert into the analytics store for several partitions: with one each, a store that gets small blocks does little but
-- open, sync and merge files (rows freshness and archive of the benchmark).
--
-- Rows with the same plan are one insert: chunks [archived_next, planned_to), marked together. The column has a new name so
-- that archives of the build before stop here (and are not ready) and wait for the new build: they would carry out
-- a part of a plan, under another token. What they had planned keeps its token.
ALTER TABLE archive_progress RENAME COLUMN planned_next TO planned_to;
ALTER TABLE archive_progress ADD COLUMN plan uuid;
UPDATE archive_progress SET plan = gen_random_uuid() WHERE planned_to IS NOT NULL;
ALTER TABLE archive_progress ADD CHECK ((plan IS NULL) = (planned_to IS NULL));
CREATE INDEX archive_progress_plan ON archive_progress (plan) WHERE plan IS NOT NULL;
