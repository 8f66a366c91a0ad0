-- Conversions on the advertiser's word: keys that report them, the setting of click ids, and how many were charged an hour.

ALTER TABLE api_key DROP CONSTRAINT api_key_kind_check;
ALTER TABLE api_key ADD CONSTRAINT api_key_kind_check CHECK (kind IN ('publisher', 'seat', 'conversion'));
-- The one campaign that a conversion key reports for; NULL is every campaign of its owner.
ALTER TABLE api_key ADD COLUMN campaign_id uuid REFERENCES campaign (id),
    ADD CONSTRAINT api_key_campaign CHECK (campaign_id IS NULL OR kind = 'conversion');

ALTER TABLE campaign ADD COLUMN click_id text NOT NULL DEFAULT 'on' CHECK (click_id IN ('on', 'off'));

-- Charged conversions of a campaign on a publisher in an hour (UTC, since 1970) of receipt: what the cap counts. The lock
-- of the campaign's total is that of its rows here.
CREATE TABLE conversion_hour (
    campaign_id  uuid    NOT NULL,
    developer_id uuid    NOT NULL, -- nil when no publisher is known
    hour         integer NOT NULL,
    charged      bigint  NOT NULL CHECK (charged > 0),
    PRIMARY KEY (campaign_id, developer_id, hour)
) WITH (fillfactor = 50);
CREATE INDEX conversion_hour_age ON conversion_hour (hour);
