-- Accounts, keys and campaigns. Amounts are micro-USD, times are UTC.

CREATE TABLE app_user (
    id            uuid PRIMARY KEY, -- also the advertiser id
    developer_id  uuid NOT NULL UNIQUE, -- the publisher side of the same account
    email         text NOT NULL,
    password_hash text NOT NULL,
    role          text NOT NULL CHECK (role IN ('advertiser', 'admin')),
    disabled      boolean NOT NULL,
    token_version bigint NOT NULL,
    created_at    timestamptz NOT NULL
);

-- One account per address, however its letters are written.
CREATE UNIQUE INDEX app_user_email ON app_user (lower(email));

CREATE TABLE api_key (
    id           uuid PRIMARY KEY,
    owner_id     uuid NOT NULL REFERENCES app_user (id),
    developer_id uuid NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('publisher', 'seat')),
    name         text NOT NULL,
    prefix       text NOT NULL,
    hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32), -- SHA-256; the key itself is never kept
    created_at   timestamptz NOT NULL,
    revoked_at   timestamptz
);

CREATE INDEX api_key_owner ON api_key (owner_id, created_at DESC, id DESC);

-- One row. Every change of any campaign raises version inside its own transaction. The row lock is held until
-- commit, so versions have no gaps and appear in commit order: who has seen version n has seen all before it.
CREATE TABLE config_head (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint NOT NULL
);

INSERT INTO config_head (version) VALUES (1); -- so that an installation without campaigns has a complete catalog too: 0 means none

CREATE TABLE campaign (
    id            uuid PRIMARY KEY,
    advertiser_id uuid NOT NULL REFERENCES app_user (id),
    name          text NOT NULL,
    status        text NOT NULL CHECK (status IN ('draft', 'in_review', 'active', 'paused', 'rejected', 'archived')),

    format              text NOT NULL CHECK (format IN ('image', 'video', 'native')),
    headline            text NOT NULL,
    subtext             text NOT NULL,
    media_url           text NOT NULL,
    poster_url          text NOT NULL,
    cta_label           text NOT NULL,
    cta_url             text NOT NULL,
    skippable_after_sec integer NOT NULL,

    billing_model     text NOT NULL CHECK (billing_model IN ('cpm', 'cpc', 'cpa')),
    bid_amount        bigint NOT NULL CHECK (bid_amount >= 0),
    daily_budget      bigint NOT NULL CHECK (daily_budget >= 0),
    total_budget      bigint NOT NULL CHECK (total_budget >= 0),
    target_cpa        bigint NOT NULL,
    target_roas       bigint, -- a ratio in millionths
    optimization_goal text NOT NULL,
    credit_funded     boolean NOT NULL,

    target_intent_tokens       text[] NOT NULL,
    target_keywords            text[] NOT NULL,
    target_active_tools        text[] NOT NULL,
    target_host_apps           text[] NOT NULL,
    target_surfaces            text[] NOT NULL,
    target_integration_methods text[] NOT NULL,
    target_regions             text[] NOT NULL,
    target_languages           text[] NOT NULL,

    policy_violations jsonb NOT NULL,
    review            jsonb, -- a copy of the latest campaign_review row

    config_version bigint NOT NULL UNIQUE, -- the unique index also serves readers of changes
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL
);

CREATE INDEX campaign_by_advertiser ON campaign (advertiser_id, created_at DESC, id DESC);
CREATE INDEX campaign_by_status ON campaign (status, created_at DESC, id DESC);
CREATE INDEX campaign_by_age ON campaign (created_at DESC, id DESC);

-- Append only: every decision an administrator took.
CREATE TABLE campaign_review (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id uuid NOT NULL REFERENCES campaign (id),
    decision    text NOT NULL,
    notes       text NOT NULL,
    reviewer_id uuid NOT NULL,
    at          timestamptz NOT NULL
);

CREATE INDEX campaign_review_campaign ON campaign_review (campaign_id, seq);

CREATE FUNCTION campaign_review_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER campaign_review_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON campaign_review
    FOR EACH STATEMENT EXECUTE FUNCTION campaign_review_append_only();

-- When a campaign was not active: from_at included, to_at excluded, open while to_at is null. Settlement charges
-- nothing that was received inside an interval. Both ends are taken while the campaign's row is locked, and
-- settlement holds that row FOR SHARE: an impression is settled before the pause, or sees the interval.
CREATE TABLE campaign_inactive (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id uuid NOT NULL REFERENCES campaign (id),
    from_at     timestamptz NOT NULL,
    to_at       timestamptz,
    CHECK (to_at >= from_at)
);

CREATE INDEX campaign_inactive_campaign ON campaign_inactive (campaign_id, from_at);
CREATE UNIQUE INDEX campaign_inactive_open ON campaign_inactive (campaign_id) WHERE to_at IS NULL;
