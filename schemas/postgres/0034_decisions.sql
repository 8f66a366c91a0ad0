-- What was decided against the owners of accounts, and their appeals. A statement is written beside the row of the audit
-- log that the decision has, in its transaction; it never changes.
CREATE TABLE decision (
    id          uuid PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    owner_id    uuid NOT NULL REFERENCES app_user (id),
    kind        text COLLATE "C" NOT NULL CHECK (kind IN ('rejection', 'pause', 'hold', 'clawback', 'suspension')),
    target_kind text COLLATE "C" NOT NULL,
    target_id   text COLLATE "C" NOT NULL,
    rule        text NOT NULL,
    reason      text NOT NULL,
    automated   boolean NOT NULL
);
CREATE INDEX decision_owner ON decision (owner_id, at DESC, id DESC);
CREATE INDEX decision_age ON decision (at DESC, id DESC);
CREATE TRIGGER decision_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON decision
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

CREATE TABLE appeal (
    id          uuid PRIMARY KEY,
    decision_id uuid NOT NULL REFERENCES decision (id),
    owner_id    uuid NOT NULL REFERENCES app_user (id),
    text        text NOT NULL,
    created_at  timestamptz NOT NULL,
    outcome     text COLLATE "C" CHECK (outcome IN ('upheld', 'reversed')), -- null while it is open
    words       text NOT NULL DEFAULT '',
    decided_by  uuid,
    decided_at  timestamptz,
    CHECK ((outcome IS NULL) = (decided_at IS NULL))
);
CREATE INDEX appeal_decision ON appeal (decision_id, created_at);
-- One open appeal of a decision, however many are sent at once.
CREATE UNIQUE INDEX appeal_open ON appeal (decision_id) WHERE outcome IS NULL;
CREATE INDEX appeal_owner ON appeal (owner_id);
