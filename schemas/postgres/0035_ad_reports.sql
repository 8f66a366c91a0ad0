-- What readers say against ads. One of each auction, by its receipt. It counts where the auction has a mark of a valid
-- impression, which may come after the report. The network is a hash keyed by the campaign; e-mails go with the
-- decision, or after 90 days.
CREATE TABLE ad_report (
    auction_id    uuid PRIMARY KEY,
    auction_day   integer NOT NULL,
    campaign_id   uuid NOT NULL,
    advertiser_id uuid NOT NULL,
    developer_id  uuid NOT NULL,
    network       bytea NOT NULL CHECK (octet_length(network) = 16),
    headline      text NOT NULL,
    reason        text COLLATE "C" NOT NULL,
    text          text NOT NULL,
    email         text NOT NULL,
    at            timestamptz NOT NULL,
    counted       boolean NOT NULL DEFAULT false,
    outcome       text COLLATE "C" CHECK (outcome IN ('kept', 'removed')), -- null while it waits
    decided_by    uuid,
    decided_at    timestamptz
);
CREATE INDEX ad_report_waiting ON ad_report (campaign_id, at) WHERE outcome IS NULL;
CREATE INDEX ad_report_email ON ad_report (at) WHERE email <> '';
CREATE INDEX ad_report_age ON ad_report (at);
