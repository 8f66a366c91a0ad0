-- Keys that pages show to everybody: the origins whose pages may use them, and from when a rotated key does not work.
ALTER TABLE api_key DROP CONSTRAINT api_key_kind_check;
ALTER TABLE api_key ADD CONSTRAINT api_key_kind_check CHECK (kind IN ('publisher', 'browser', 'seat', 'conversion', 'seatpath'));
ALTER TABLE api_key ADD COLUMN origins text[] NOT NULL DEFAULT '{}',
    ADD COLUMN ends_at timestamptz,
    ADD CONSTRAINT api_key_origins CHECK ((origins = '{}') = (kind <> 'browser'));
CREATE INDEX api_key_origin ON api_key USING gin (origins) WHERE kind = 'browser';

-- What pages with such keys did: parts of the sums beside them, but for invalid traffic, which is counted here alone. The
-- rules of quarantine leave it out, since anybody can take a key from a page.
ALTER TABLE publisher_day ADD COLUMN browser_minted bigint NOT NULL DEFAULT 0,
    ADD COLUMN browser_impressions bigint NOT NULL DEFAULT 0,
    ADD COLUMN browser_clicks bigint NOT NULL DEFAULT 0,
    ADD COLUMN browser_invalid bigint NOT NULL DEFAULT 0;
