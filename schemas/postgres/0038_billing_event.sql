-- What of an ad a cpm campaign pays for: its impression or its view.
ALTER TABLE campaign
    ADD COLUMN billing_event text NOT NULL DEFAULT 'impression' CHECK (billing_event IN ('impression', 'viewable')),
    ADD CONSTRAINT campaign_paid_on_view CHECK (billing_event = 'impression' OR billing_model = 'cpm');
