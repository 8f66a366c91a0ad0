-- The ledger: what settlement has applied, what it cost, and what the archive has copied.
--
-- Amounts are micro-USD (asset USD) or whole Credits (asset CREDIT). A day is a UTC day counted from
-- 1970-01-01. A stream is the broker's topic id in hex. Offsets are half open: first included, next excluded.

-- The fence: an applier moves next_offset by compare-and-set as the first thing of its transaction. The row is
-- rewritten by every batch, hence the room for in-page updates.
CREATE TABLE consumer_offset (
    stream      text    COLLATE "C" NOT NULL,
    partition   integer NOT NULL,
    next_offset bigint  NOT NULL CHECK (next_offset >= 0),
    PRIMARY KEY (stream, partition)
) WITH (fillfactor = 50);

-- The deduplication marks. One partition per auction day, made by the store before the first key of that day;
-- day 0 holds the ids that carry no time. There is no DEFAULT partition on purpose: rows that landed there
-- would make it impossible to ever attach the day's own partition, and every later attach would have to scan the
-- default under an exclusive lock while settlement waits.
CREATE TABLE billed_event (
    auction_day integer NOT NULL,
    auction_id  uuid    NOT NULL,
    event_type  text    COLLATE "C" NOT NULL,
    PRIMARY KEY (auction_day, auction_id, event_type)
) PARTITION BY LIST (auction_day);

-- What each applied range decided, record by record. outcomes is the codec of internal/postgres/ledger_outcomes.go.
-- There is no overlap and no gap: consumer_offset moves in the same transaction.
CREATE TABLE applied_batch (
    stream       text        COLLATE "C" NOT NULL,
    partition    integer     NOT NULL,
    first_offset bigint      NOT NULL CHECK (first_offset >= 0),
    next_offset  bigint      NOT NULL CHECK (next_offset > first_offset),
    outcomes     bytea       NOT NULL,
    applied_at   timestamptz NOT NULL,
    PRIMARY KEY (stream, partition, first_offset)
);
-- The codec already packs; a second compression would only burn the applier's core.
ALTER TABLE applied_batch ALTER COLUMN outcomes SET STORAGE EXTERNAL;

-- Records that could not be decoded.
CREATE TABLE dlq (
    stream        text        COLLATE "C" NOT NULL,
    partition     integer     NOT NULL,
    record_offset bigint      NOT NULL,
    problem       text        NOT NULL,
    raw           bytea       NOT NULL,
    at            timestamptz NOT NULL,
    PRIMARY KEY (stream, partition, record_offset)
);

-- The archive's progress: everything below archived_next is in the analytics store; [archived_next,
-- planned_next) is the chunk that is being inserted, fixed before its first try.
CREATE TABLE archive_progress (
    stream        text    COLLATE "C" NOT NULL,
    partition     integer NOT NULL,
    archived_next bigint  NOT NULL CHECK (archived_next >= 0),
    planned_next  bigint  CHECK (planned_next > archived_next),
    PRIMARY KEY (stream, partition)
);

-- The double-entry ledger. A (kind, ref, subject) is written once for ever, so a replay cannot pay twice even if
-- the fence were broken.
CREATE TABLE ledger_transaction (
    id      uuid        PRIMARY KEY,
    kind    text        COLLATE "C" NOT NULL,
    ref     text        COLLATE "C" NOT NULL,
    subject uuid        NOT NULL,
    at      timestamptz NOT NULL,
    UNIQUE (kind, ref, subject)
);
CREATE INDEX ledger_transaction_subject ON ledger_transaction (subject, at);

CREATE TABLE ledger_entry (
    transaction_id uuid     NOT NULL, -- no foreign key: both rows are written by one statement pair, and adnet verify checks
    leg            smallint NOT NULL, -- place in the transaction
    account        text     COLLATE "C" NOT NULL,
    asset          text     COLLATE "C" NOT NULL CHECK (asset IN ('USD', 'CREDIT')),
    amount         bigint   NOT NULL CHECK (amount <> 0),
    PRIMARY KEY (transaction_id, leg)
);
CREATE INDEX ledger_entry_account ON ledger_entry (account, asset);

-- Every statement that adds entries must add whole transactions: one hash aggregate per statement, where a
-- deferred constraint trigger would run once per row.
CREATE FUNCTION ledger_entry_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    bad uuid;
BEGIN
    SELECT transaction_id INTO bad FROM added GROUP BY transaction_id, asset HAVING sum(amount) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'entries of transaction % do not sum to zero', bad USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ledger_entry_balanced AFTER INSERT ON ledger_entry
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_balanced();

-- Append only: a correction is a new transaction.
CREATE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER ledger_transaction_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transaction
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();
CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- The transaction that last changed a row of a room, for readers that follow changes: a reader that remembers the
-- xmin of its snapshot and asks for changed_xid >= xmin next time misses no commit, in whatever order they come.
CREATE FUNCTION room_xid() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT pg_current_xact_id()::text::bigint
$$;

-- Sums of the entries, kept with them. version counts changes.
CREATE TABLE balance (
    account     text   COLLATE "C" NOT NULL,
    asset       text   COLLATE "C" NOT NULL,
    amount      bigint NOT NULL,
    version     bigint NOT NULL DEFAULT 1,
    changed_xid bigint NOT NULL DEFAULT room_xid(),
    PRIMARY KEY (account, asset)
) WITH (fillfactor = 50);
CREATE INDEX balance_changed ON balance (changed_xid);

-- What a campaign spent, per UTC day of the charge, and in total. Nothing is reset at midnight. The budget columns
-- keep the budget that was in force at the last charge, so that the promise "never above the budget" can be checked
-- after the budget was changed.
CREATE TABLE campaign_spend (
    campaign_id  uuid    NOT NULL,
    day          integer NOT NULL,
    amount       bigint  NOT NULL CHECK (amount >= 0),
    daily_budget bigint,
    PRIMARY KEY (campaign_id, day)
) WITH (fillfactor = 50);

-- One row per campaign from its first moment on: it is the lock that settlement takes before it reads a campaign.
CREATE TABLE campaign_total (
    campaign_id  uuid   PRIMARY KEY,
    spent        bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
    total_budget bigint,
    version      bigint NOT NULL DEFAULT 0,
    changed_xid  bigint NOT NULL DEFAULT room_xid()
) WITH (fillfactor = 50);
CREATE INDEX campaign_total_changed ON campaign_total (changed_xid);

INSERT INTO campaign_total (campaign_id) SELECT id FROM campaign;

CREATE FUNCTION campaign_add_total() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO campaign_total (campaign_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER campaign_add_total AFTER INSERT ON campaign
    FOR EACH ROW EXECUTE FUNCTION campaign_add_total();

-- Budgets and states are part of a room too.
ALTER TABLE campaign ADD COLUMN room_changed_xid bigint NOT NULL DEFAULT room_xid();
CREATE INDEX campaign_room_changed ON campaign (room_changed_xid);
CREATE FUNCTION campaign_room_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.room_changed_xid := room_xid();
    RETURN NEW;
END $$;
CREATE TRIGGER campaign_room_changed BEFORE UPDATE ON campaign
    FOR EACH ROW EXECUTE FUNCTION campaign_room_changed();
