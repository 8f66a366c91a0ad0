-- Invalid traffic counts once per auction and type: its marks are rows of billed_event, with the types invalid_impression,
-- invalid_click and so on. They are no part of the comparison of marks with first-time events.

-- Auctions with an invalid impression that a valid one followed. invalid counts, from this version on, auctions with an
-- invalid impression and no valid one before it.
ALTER TABLE publisher_day ADD COLUMN redeemed bigint NOT NULL DEFAULT 0 CHECK (redeemed >= 0);

-- As in 0008_operations.sql, but for the marks that are counted.
DO $outer$
BEGIN
    EXECUTE format($define$
        CREATE OR REPLACE FUNCTION billed_event_drop_day(gone integer, OUT marks bigint, OUT impressions bigint) LANGUAGE plpgsql SECURITY DEFINER
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
                EXECUTE format('SELECT count(*) FILTER (WHERE event_type NOT LIKE ''invalid%%%%''), count(*) FILTER (WHERE event_type = ''impression'') FROM %%I', name)
                    INTO marks, impressions;
                EXECUTE format('DROP TABLE %%I', name);
                INSERT INTO pruned_total AS p (name, amount) VALUES ('marks', marks), ('marked_impressions', impressions)
                    ON CONFLICT ON CONSTRAINT pruned_total_pkey DO UPDATE SET amount = p.amount + EXCLUDED.amount;
            END IF;
        END $body$
        $define$, current_schema());
END $outer$;
REVOKE ALL ON FUNCTION billed_event_drop_day(integer) FROM PUBLIC;
