-- What stands for a person is a keyed hash, and leaves after its time. Whole columns of old parts are cleared: without
-- ttl_only_drop_parts a merge does that, too. Rows still leave as whole months, since all of a part expire together.
ALTER TABLE events MODIFY SETTING ttl_only_drop_parts = 0;
ALTER TABLE events MODIFY COLUMN IF EXISTS session String COMMENT 'keyed hash of the publisher''s session on the UTC day of the auction; empty without consent, and after 30 days' TTL day + INTERVAL 30 DAY;
ALTER TABLE events MODIFY COLUMN IF EXISTS external_id String COMMENT 'keyed hash of the advertiser''s id of the order or user; empty without consent, and after 90 days' TTL day + INTERVAL 90 DAY;
