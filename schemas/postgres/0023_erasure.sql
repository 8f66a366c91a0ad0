-- Erasing an account: what names the person goes, the books stay. The audit log is append only but for this: the rows
-- of an erased account lose names, networks and e-mails, in one function that runs as the tables' owner. The
-- application's role has no right to change a row.
CREATE FUNCTION audit_log_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('adnet.forgets', true) = 'yes' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
DROP TRIGGER audit_log_append_only ON audit_log;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_append_only();

-- Only of an account that cannot log in any more and whose e-mail is gone. It may run again.
DO $outer$
BEGIN
    EXECUTE format($define$
        CREATE FUNCTION account_forget(erased uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %I, pg_temp SET adnet.forgets = 'yes' AS $body$
        BEGIN
            IF NOT EXISTS (SELECT FROM app_user WHERE id = erased AND disabled AND email = 'erased-' || erased || '@erased.invalid') THEN
                RAISE EXCEPTION 'account %% is not erased', erased USING ERRCODE = 'check_violation';
            END IF;
            DELETE FROM login_network WHERE user_id = erased;
            UPDATE api_key SET name = '' WHERE owner_id = erased AND name <> '';
            UPDATE deposit SET return_url = '' WHERE advertiser_id = erased AND return_url <> '';
            UPDATE audit_log SET actor_name = '', network = '' WHERE actor_id = erased AND (actor_name <> '' OR network <> '');
            UPDATE audit_log SET changes = changes || '{"email": {"before": "(erased)", "after": "(erased)"}}'
                WHERE target_kind = 'user' AND target_id = erased::text AND changes ? 'email';
            UPDATE audit_log SET changes = changes || '{"name": {"before": "(erased)", "after": "(erased)"}}'
                WHERE target_kind IN ('key', 'campaign') AND owner_id = erased AND changes ? 'name';
        END $body$
        $define$, current_schema());
END $outer$;
REVOKE ALL ON FUNCTION account_forget(uuid) FROM PUBLIC;
