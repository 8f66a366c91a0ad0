-- Subjects of conversations beside which a campaign does not run, sensitive ones beside which it may, and the
-- restricted trades that it declares: ids of internal/subject.
ALTER TABLE campaign ADD COLUMN exclude_contexts text[] NOT NULL DEFAULT '{}';
ALTER TABLE campaign ADD COLUMN sensitive_contexts text[] NOT NULL DEFAULT '{}';
ALTER TABLE campaign ADD COLUMN trades text[] NOT NULL DEFAULT '{}';

-- Campaigns of earlier builds, which no rule about trades has judged: those of a version above judged, up to
-- unjudged. A node goes through them once; what is changed meanwhile has a higher version and was judged.
ALTER TABLE config_head ADD COLUMN judged bigint NOT NULL DEFAULT 0, ADD COLUMN unjudged bigint NOT NULL DEFAULT 0;
UPDATE config_head SET unjudged = version;
