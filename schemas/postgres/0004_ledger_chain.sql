-- The hash chain of every account, the link from a correction to what it corrects, closed months, and what the
-- application's restricted role needs in order to work without owning anything.

-- What a transaction takes back, in part or whole: refunds, claw-backs, disputes.
ALTER TABLE ledger_transaction ADD COLUMN reverses uuid REFERENCES ledger_transaction (id);
ALTER TABLE ledger_transaction DISABLE TRIGGER ledger_transaction_append_only;
UPDATE ledger_transaction t SET reverses = r.reverses FROM ledger_reversal r WHERE r.transaction_id = t.id;
ALTER TABLE ledger_transaction ENABLE TRIGGER ledger_transaction_append_only;
DROP TABLE ledger_reversal;
CREATE INDEX ledger_transaction_reverses ON ledger_transaction (reverses) WHERE reverses IS NOT NULL;

-- Each entry is a link: its number in its account and asset, the balance after it, and the hash of the link before
-- together with everything that the entry says. Written under the lock of the balance's row, which keeps the
-- last link. So no entry can be changed, removed, inserted or moved unseen: `adnet verify` walks every chain.
ALTER TABLE ledger_entry ADD COLUMN chain_seq bigint, ADD COLUMN balance_after bigint, ADD COLUMN at timestamptz, ADD COLUMN hash bytea;
ALTER TABLE balance ADD COLUMN chain_seq bigint NOT NULL DEFAULT 0, ADD COLUMN hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex');

-- The hash of a link. internal/ledger/chain.go (Link.Sum) computes the same and says why the form is unambiguous.
CREATE FUNCTION ledger_entry_hash(previous bytea, e ledger_entry, t ledger_transaction) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(previous || convert_to(concat_ws(E'\n', e.account, e.asset, e.chain_seq, e.amount, e.balance_after, e.transaction_id,
        e.leg, t.kind, t.subject, coalesce(t.reverses::text, ''), (extract(epoch FROM t.at) * 1000000)::bigint, t.ref), 'UTF8'))
$$;

-- Entries from before the chain are linked in the order in which they were written.
ALTER TABLE ledger_entry DISABLE TRIGGER ledger_entry_append_only;
DO $$
DECLARE
    e ledger_entry;
    t ledger_transaction;
    side_account text;
    side_asset text;
    number bigint;
    total bigint;
    head bytea;
BEGIN
    FOR e IN SELECT * FROM ledger_entry ORDER BY account, asset, seq LOOP
        IF side_account IS DISTINCT FROM e.account OR side_asset IS DISTINCT FROM e.asset THEN
            side_account := e.account; side_asset := e.asset; number := 0; total := 0; head := decode(repeat('00', 32), 'hex');
        END IF;
        SELECT * INTO t FROM ledger_transaction WHERE id = e.transaction_id;
        number := number + 1; total := total + e.amount;
        e.chain_seq := number; e.balance_after := total;
        head := ledger_entry_hash(head, e, t);
        UPDATE ledger_entry le SET chain_seq = number, balance_after = total, at = t.at, hash = head
            WHERE le.transaction_id = e.transaction_id AND le.leg = e.leg;
        INSERT INTO balance AS b (account, asset, amount, chain_seq, hash) VALUES (e.account, e.asset, total, number, head)
            ON CONFLICT (account, asset) DO UPDATE SET chain_seq = EXCLUDED.chain_seq, hash = EXCLUDED.hash;
    END LOOP;
END $$;
ALTER TABLE ledger_entry ENABLE TRIGGER ledger_entry_append_only;
ALTER TABLE ledger_entry ALTER COLUMN chain_seq SET NOT NULL, ALTER COLUMN balance_after SET NOT NULL,
    ALTER COLUMN at SET NOT NULL, ALTER COLUMN hash SET NOT NULL, ADD CHECK (octet_length(hash) = 32), ADD CHECK (chain_seq > 0);

-- One index serves an account's pages (seq), its months (at, chain_seq) and its sums (amount).
DROP INDEX ledger_entry_account;
CREATE INDEX ledger_entry_account ON ledger_entry (account, asset, seq) INCLUDE (amount, at, chain_seq);

-- Append only: a month of an account that is closed ends with this entry, for ever. Written when its statement is
-- first asked for after the month, under the lock of the balance's row. month counts from the year 0.
CREATE TABLE statement_close (
    account   text    COLLATE "C" NOT NULL,
    asset     text    COLLATE "C" NOT NULL,
    month     integer NOT NULL,
    chain_seq bigint  NOT NULL CHECK (chain_seq >= 0),
    PRIMARY KEY (account, asset, month)
);
CREATE TRIGGER statement_close_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON statement_close
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- The application may not create tables. This makes one kind only, for its owner: the partition of a day. It is built
-- on its own and then attached, which lets settlement go on (SHARE UPDATE EXCLUSIVE on the parent), where CREATE TABLE …
-- PARTITION OF would stop it (ACCESS EXCLUSIVE). Names are looked up in this schema only, whoever calls.
DO $outer$
BEGIN
    EXECUTE format($define$
        CREATE FUNCTION billed_event_add_day(day integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = %I, pg_temp AS $body$
        DECLARE
            name text := 'billed_event_' || CASE WHEN day < 0 THEN 'm' ELSE '' END || abs(day);
        BEGIN
            PERFORM pg_advisory_xact_lock(x'61646e657464'::bigint); -- across processes: "adnet" and 'd' in ASCII
            IF to_regclass(name) IS NULL THEN
                EXECUTE format('CREATE TABLE %%I (LIKE billed_event INCLUDING ALL, CHECK (auction_day = %%s))', name, day);
                EXECUTE format('ALTER TABLE billed_event ATTACH PARTITION %%I FOR VALUES IN (%%s)', name, day);
            END IF;
        END $body$
        $define$, current_schema());
END $outer$;
REVOKE ALL ON FUNCTION billed_event_add_day(integer) FROM PUBLIC;
