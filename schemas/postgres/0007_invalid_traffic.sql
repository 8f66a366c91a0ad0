-- Publishers as minting sees them: what they did per day, caps of their own, and quarantine.

-- Sums of settlement's decisions per publisher and UTC day of receipt. The row is also the lock under which a publisher's
-- daily mint cap is counted. The numbers are those of ledger.PublisherDay.
CREATE TABLE publisher_day (
    developer_id uuid    NOT NULL,
    day          integer NOT NULL,
    minted       bigint  NOT NULL DEFAULT 0 CHECK (minted >= 0),
    capped       bigint  NOT NULL DEFAULT 0 CHECK (capped >= 0),
    impressions  bigint  NOT NULL DEFAULT 0 CHECK (impressions >= 0),
    clicks       bigint  NOT NULL DEFAULT 0 CHECK (clicks >= 0),
    invalid      bigint  NOT NULL DEFAULT 0 CHECK (invalid >= 0),
    PRIMARY KEY (developer_id, day)
) WITH (fillfactor = 50);
CREATE INDEX publisher_day_day ON publisher_day (day);

-- Append only: the newest row of a developer is its cap; a NULL cap goes back to the installation's.
CREATE TABLE mint_cap (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    developer_id uuid        NOT NULL,
    cap          bigint      CHECK (cap >= 0),
    set_by       uuid        NOT NULL,
    note         text        NOT NULL,
    set_at       timestamptz NOT NULL
);
CREATE INDEX mint_cap_developer ON mint_cap (developer_id, id DESC);
CREATE TRIGGER mint_cap_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON mint_cap
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- A publisher's quarantine. Settlement shares the row of the open case while it applies, a decision takes it
-- exclusively: no Credit is held for a case after it was decided. Evidence is ledger.Evidence as JSON.
CREATE TABLE quarantine (
    id           uuid        PRIMARY KEY,
    developer_id uuid        NOT NULL,
    rule         text        COLLATE "C" NOT NULL,
    evidence     jsonb       NOT NULL,
    opened_at    timestamptz NOT NULL,
    decision     text        COLLATE "C" CHECK (decision IN ('release', 'clawback')),
    decided_at   timestamptz,
    decided_by   uuid,
    note         text        NOT NULL DEFAULT '',
    CHECK ((decision IS NULL) = (decided_at IS NULL) AND (decision IS NULL) = (decided_by IS NULL))
);
CREATE UNIQUE INDEX quarantine_open ON quarantine (developer_id) WHERE decision IS NULL;
CREATE INDEX quarantine_developer ON quarantine (developer_id, opened_at DESC);

-- A case is opened once and decided once; nothing else of it ever changes.
CREATE FUNCTION quarantine_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'UPDATE' OR OLD.decision IS NOT NULL OR NEW.decision IS NULL
        OR (NEW.id, NEW.developer_id, NEW.rule, NEW.evidence, NEW.opened_at) IS DISTINCT FROM (OLD.id, OLD.developer_id, OLD.rule, OLD.evidence, OLD.opened_at) THEN
        RAISE EXCEPTION 'a quarantine case is decided once' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER quarantine_once BEFORE UPDATE OR DELETE ON quarantine FOR EACH ROW EXECUTE FUNCTION quarantine_once();

-- What campaigns were charged for the traffic of a case, micro-USD: what a claw-back gives back.
CREATE TABLE quarantine_charge (
    quarantine_id uuid   NOT NULL REFERENCES quarantine (id),
    campaign_id   uuid   NOT NULL,
    amount        bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (quarantine_id, campaign_id)
) WITH (fillfactor = 50);
