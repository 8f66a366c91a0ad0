-- What operators and callers rely on beside the ledger: the audit log, idempotency keys, the life of dead letters,
-- retention. Times are UTC.

-- Append only: who changed what. Written in the transaction of the change. Secrets are never in it.
CREATE TABLE audit_log (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor_id    uuid, -- account; null for a caller without a login, a command or the system itself
    actor_role  text  COLLATE "C" NOT NULL,
    actor_name  text  NOT NULL, -- of a command: the operating system's user
    via         text  COLLATE "C" NOT NULL CHECK (via IN ('api', 'cli', 'system')),
    network     text  COLLATE "C" NOT NULL, -- the caller's /24 or /56
    action      text  COLLATE "C" NOT NULL, -- route and action, or command
    request_id  text  COLLATE "C" NOT NULL,
    target_kind text  COLLATE "C" NOT NULL,
    target_id   text  COLLATE "C" NOT NULL,
    owner_id    uuid, -- account that the target belongs to
    changes     jsonb NOT NULL -- field → {before, after}
);
CREATE INDEX audit_log_owner ON audit_log (owner_id, seq);
CREATE INDEX audit_log_actor ON audit_log (actor_id, seq);
CREATE INDEX audit_log_target ON audit_log (target_kind, target_id, seq);
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- One row per idempotency key of a caller and route. attempt is a fence: a call whose row another one took over
-- cannot commit its effect any more, because the effect's transaction also writes effect_kind here.
CREATE TABLE idempotency_key (
    id           bytea       PRIMARY KEY CHECK (octet_length(id) = 32), -- hash of caller, route and key
    fingerprint  bytea       NOT NULL CHECK (octet_length(fingerprint) = 32), -- keyed hash of the request
    attempt      uuid        NOT NULL,
    created_at   timestamptz NOT NULL,
    leased_until timestamptz NOT NULL,
    effect_kind  text        COLLATE "C", -- set in the transaction of the effect
    effect_id    text        COLLATE "C",
    status       integer,    -- HTTP status; null while the first call runs
    content_type text,
    reply        bytea       -- sealed with a key made from the caller's idempotency key
);
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);

-- A dead letter keeps its row when it is sent again.
ALTER TABLE dlq ADD COLUMN replay_started_at timestamptz;
ALTER TABLE dlq ADD COLUMN replayed_at timestamptz;
ALTER TABLE dlq ADD COLUMN replayed_by text;
ALTER TABLE dlq ADD COLUMN replays integer NOT NULL DEFAULT 0;
CREATE INDEX dlq_age ON dlq (at);

-- Events of auctions before this day are never accepted again: their deduplication marks may be gone. Settlement
-- reads it under a shared lock, retention moves it under the exclusive one before it drops marks. 0 drops nothing.
CREATE TABLE retention_horizon (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    day      integer NOT NULL
);
INSERT INTO retention_horizon (day) VALUES (0);

-- Sums of what retention removed, so that the audit and the comparison with the analytics store still add up.
CREATE TABLE pruned_total (
    name   text   COLLATE "C" PRIMARY KEY,
    amount bigint NOT NULL
);

-- While it is held no new chunk is planned for the archive: a backup copies both stores at one watermark.
CREATE TABLE archive_hold (
    only_row   boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    holder     uuid        NOT NULL,
    held_until timestamptz NOT NULL
);

-- A horizon only rises.
CREATE FUNCTION retention_horizon_rises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.day < OLD.day THEN
        RAISE EXCEPTION 'the retention horizon only rises' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER retention_horizon_rises BEFORE UPDATE OR DELETE ON retention_horizon
    FOR EACH ROW EXECUTE FUNCTION retention_horizon_rises();

-- The application may not drop tables. This drops one kind only, for its owner: the deduplication marks of a day before
-- the horizon, counted first. It answers how many marks, and how many of impressions, there were.
DO $outer$
BEGIN
    EXECUTE format($define$
        CREATE FUNCTION billed_event_drop_day(gone integer, OUT marks bigint, OUT impressions bigint) LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %I, pg_temp AS $body$
        DECLARE
            name text := 'billed_event_' || CASE WHEN gone < 0 THEN 'm' ELSE '' END || abs(gone);
        BEGIN
            IF gone = 0 OR gone >= (SELECT day FROM retention_horizon) THEN
                RAISE EXCEPTION 'marks of day %% may still be needed', gone USING ERRCODE = 'check_violation';
            END IF;
            PERFORM pg_advisory_xact_lock(x'61646e657464'::bigint); -- with billed_event_add_day
            marks := 0; impressions := 0;
            IF to_regclass(name) IS NOT NULL THEN
                EXECUTE format('LOCK TABLE %%I IN ACCESS EXCLUSIVE MODE', name);
                EXECUTE format('SELECT count(*), count(*) FILTER (WHERE event_type = ''impression'') FROM %%I', name) INTO marks, impressions;
                EXECUTE format('DROP TABLE %%I', name);
                INSERT INTO pruned_total AS p (name, amount) VALUES ('marks', marks), ('marked_impressions', impressions)
                    ON CONFLICT ON CONSTRAINT pruned_total_pkey DO UPDATE SET amount = p.amount + EXCLUDED.amount;
            END IF;
        END $body$
        $define$, current_schema());
END $outer$;
REVOKE ALL ON FUNCTION billed_event_drop_day(integer) FROM PUBLIC;
