-- When auctions may choose a campaign: from start_at to before end_at, whole seconds; NULL is no bound.
ALTER TABLE campaign
    ADD COLUMN start_at timestamptz,
    ADD COLUMN end_at   timestamptz,
    ADD CONSTRAINT campaign_dates CHECK (end_at > start_at);
