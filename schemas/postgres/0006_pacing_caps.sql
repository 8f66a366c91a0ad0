-- How the daily budget is spent, and how often one session sees the ad in a UTC day (0: as often as it likes).
ALTER TABLE campaign
    ADD COLUMN pacing        text    COLLATE "C" NOT NULL DEFAULT 'even' CHECK (pacing IN ('even', 'asap')),
    ADD COLUMN frequency_cap integer NOT NULL DEFAULT 3 CHECK (frequency_cap BETWEEN 0 AND 1000);

-- Nodes know campaigns without the two fields. A new version of each makes the projection tell them.
WITH renumbered AS (
    SELECT c.id, h.version + row_number() OVER (ORDER BY c.config_version) AS version FROM campaign c, config_head h
)
UPDATE campaign SET config_version = r.version FROM renumbered r WHERE r.id = campaign.id;
UPDATE config_head SET version = greatest(version, coalesce((SELECT max(config_version) FROM campaign), version));
