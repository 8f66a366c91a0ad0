-- What exchanges ask of a campaign: the private deals it may answer, and a logo for native ads.

ALTER TABLE campaign
    ADD COLUMN deal_ids text[] NOT NULL DEFAULT '{}',
    ADD COLUMN logo_url text NOT NULL DEFAULT '';
