-- Endpoints to which accounts get events. Owners write it, at most 5 each. The secrets sign messages, so
-- they are stored as they are.
CREATE TABLE webhook_endpoint (
    id          uuid        PRIMARY KEY,
    account_id  uuid        NOT NULL REFERENCES app_user (id),
    url         text        NOT NULL,
    description text        NOT NULL,
    events      text[]      COLLATE "C" NOT NULL, -- empty: all
    enabled     boolean     NOT NULL,
    secret      text        NOT NULL,
    former      text        NOT NULL, -- the secret before the last rotation; empty without one
    former_ends timestamptz, -- until then it signs too
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);
CREATE INDEX webhook_endpoint_account ON webhook_endpoint (account_id, created_at);

-- Messages to others, written in the transaction of the change that they report, and sent by the
-- consumers. A message waits while an earlier one of its topic and subject waits. Ended messages
-- are the delivery log: at most 1,000 of an owner, for 7 days.
CREATE TABLE outbox (
    seq        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         uuid        NOT NULL, -- of the message, the same for each target
    topic      text        COLLATE "C" NOT NULL,
    subject    text        COLLATE "C" NOT NULL,
    owner_id   uuid        NOT NULL, -- account; the number of its messages is bounded
    target_id  uuid        NOT NULL, -- endpoint; it may be gone
    kind       text        COLLATE "C" NOT NULL,
    payload    bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    begun_at   timestamptz NOT NULL, -- creation or last replay: attempts end 3 days later
    state      text        COLLATE "C" NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'delivered', 'failed', 'dropped')),
    attempts   integer     NOT NULL DEFAULT 0, -- since begun_at
    due_at     timestamptz NOT NULL, -- next attempt, or end of the running attempt's lease
    lease      uuid, -- the last attempt
    tried_at   timestamptz,
    ended_at   timestamptz,
    status     integer     NOT NULL DEFAULT 0, -- HTTP status of the last attempt; 0 without a reply
    problem    text        NOT NULL DEFAULT '',
    CHECK ((state = 'waiting') = (ended_at IS NULL))
);
CREATE INDEX outbox_due ON outbox (topic, due_at) WHERE state = 'waiting';
CREATE INDEX outbox_order ON outbox (topic, subject, seq) WHERE state = 'waiting';
CREATE INDEX outbox_owner ON outbox (owner_id, topic, seq);
CREATE INDEX outbox_target ON outbox (target_id, seq);
CREATE INDEX outbox_ended ON outbox (ended_at) WHERE state <> 'waiting';
