-- What settled conversions taught about the goal of a campaign: what its bids are multiplied by (in millionths), what a
-- conversion may cost before that, and how many were learnt from. goal_state is what the control remembers.
ALTER TABLE campaign
    ADD COLUMN goal_multiplier  bigint NOT NULL DEFAULT 1000000 CHECK (goal_multiplier BETWEEN 250000 AND 4000000),
    ADD COLUMN goal_price       bigint NOT NULL DEFAULT 0 CHECK (goal_price >= 0),
    ADD COLUMN goal_conversions bigint NOT NULL DEFAULT 0 CHECK (goal_conversions >= 0);
CREATE INDEX campaign_goals ON campaign (id) WHERE optimization_goal <> 'manual' AND status = 'active';

CREATE TABLE goal_state (
    campaign_id uuid  PRIMARY KEY REFERENCES campaign (id),
    state       jsonb NOT NULL
);

-- Nodes know campaigns without their goals. A new version of those that have one makes the projection tell them.
WITH renumbered AS (
    SELECT c.id, h.version + row_number() OVER (ORDER BY c.config_version) AS version
    FROM campaign c, config_head h WHERE c.optimization_goal <> 'manual'
)
UPDATE campaign SET config_version = r.version FROM renumbered r WHERE r.id = campaign.id;
UPDATE config_head SET version = greatest(version, coalesce((SELECT max(config_version) FROM campaign), version));
