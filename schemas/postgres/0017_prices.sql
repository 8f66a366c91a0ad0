-- What charges are held to, and until when settlement believes events without an auction token.

-- The highest bid that a campaign ever had, by the event that it paid for: no charge may be above it (adnet verify).
-- The database keeps it itself, so no process can forget to, or lower it.
CREATE TABLE campaign_highest_bid (
    campaign_id   uuid   NOT NULL REFERENCES campaign (id),
    billing_model text   COLLATE "C" NOT NULL,
    bid           bigint NOT NULL, -- micro-USD, as bid_amount
    PRIMARY KEY (campaign_id, billing_model)
);

DO $outer$
BEGIN
    EXECUTE format($define$
        CREATE FUNCTION campaign_highest_bid_keep() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = %I, pg_temp AS $body$
        BEGIN
            INSERT INTO campaign_highest_bid AS kept (campaign_id, billing_model, bid) VALUES (NEW.id, NEW.billing_model, NEW.bid_amount)
            ON CONFLICT (campaign_id, billing_model) DO UPDATE SET bid = EXCLUDED.bid WHERE kept.bid < EXCLUDED.bid;
            RETURN NULL;
        END $body$
    $define$, current_schema());
END $outer$;
REVOKE EXECUTE ON FUNCTION campaign_highest_bid_keep() FROM PUBLIC;

CREATE TRIGGER campaign_highest_bid_created AFTER INSERT ON campaign
    FOR EACH ROW EXECUTE FUNCTION campaign_highest_bid_keep();
CREATE TRIGGER campaign_highest_bid_changed AFTER UPDATE ON campaign
    FOR EACH ROW WHEN (OLD.bid_amount <> NEW.bid_amount OR OLD.billing_model <> NEW.billing_model)
    EXECUTE FUNCTION campaign_highest_bid_keep();

-- Bids of before: the one of now, and those that the audit log knows. Which model they were of it does not always say,
-- so they count for every model that the campaign had.
INSERT INTO campaign_highest_bid (campaign_id, billing_model, bid)
SELECT c.id, models.model, greatest(c.bid_amount, coalesce(bids.highest, 0))
FROM campaign c
LEFT JOIN LATERAL (
    SELECT max(greatest((a.changes #>> '{bid_amount,before}')::numeric, (a.changes #>> '{bid_amount,after}')::numeric) * 1000000)::bigint AS highest
    FROM audit_log a WHERE a.target_kind = 'campaign' AND a.target_id = c.id::text AND a.changes ? 'bid_amount') bids ON true
CROSS JOIN LATERAL (
    SELECT c.billing_model AS model
    UNION
    SELECT v.model FROM audit_log a CROSS JOIN LATERAL (VALUES (a.changes #>> '{billing_model,before}'), (a.changes #>> '{billing_model,after}')) v (model)
    WHERE a.target_kind = 'campaign' AND a.target_id = c.id::text AND v.model IS NOT NULL) models;

-- Bids that were changed before the audit log existed are known to nobody: charges count from here on. Where events of an
-- earlier build may still be on their way, settlement takes events without a token for an hour.
CREATE TABLE price_proof (
    only_row        boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    bids_since      timestamptz NOT NULL,
    tokenless_until timestamptz NOT NULL
);
INSERT INTO price_proof (bids_since, tokenless_until)
SELECT CASE WHEN filled THEN now() ELSE 'epoch' END, CASE WHEN filled THEN now() + interval '1 hour' ELSE 'epoch' END
FROM (SELECT EXISTS (SELECT FROM consumer_offset) AS filled) was;
