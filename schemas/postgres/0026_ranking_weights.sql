-- Versions of learnt weights. Nodes follow the stages; at most one version is on trial, and one live.
CREATE TABLE ranking_weights (
    number   bigint      PRIMARY KEY CHECK (number > 0),
    stage    text        COLLATE "C" NOT NULL CHECK (stage IN ('refused', 'shadow', 'part', 'all', 'live', 'retired')),
    made_at  timestamptz NOT NULL,
    stage_at timestamptz NOT NULL,
    report   jsonb       NOT NULL,
    data     bytea       NOT NULL
);
CREATE UNIQUE INDEX ranking_weights_trial ON ranking_weights ((true)) WHERE stage IN ('shadow', 'part', 'all');
CREATE UNIQUE INDEX ranking_weights_live ON ranking_weights ((true)) WHERE stage = 'live';
