-- What stated tokens are, and the least relevance that an advertiser accepts (millionths; 0 leaves it to the network).
-- Campaigns that are there keep their tokens as a filter; new ones say otherwise if they want that.
ALTER TABLE campaign
    ADD COLUMN targeting_mode text   COLLATE "C" NOT NULL DEFAULT 'exact' CHECK (targeting_mode IN ('broad', 'exact')),
    ADD COLUMN min_relevance  bigint NOT NULL DEFAULT 0 CHECK (min_relevance BETWEEN 0 AND 1000000);

-- Nodes know campaigns without the two fields. A new version of each makes the projection tell them.
WITH renumbered AS (
    SELECT c.id, h.version + row_number() OVER (ORDER BY c.config_version) AS version FROM campaign c, config_head h
)
UPDATE campaign SET config_version = r.version FROM renumbered r WHERE r.id = campaign.id;
UPDATE config_head SET version = greatest(version, coalesce((SELECT max(config_version) FROM campaign), version));
