-- concurrently
-- An account has one mail of a kind and day: a second one with the same key is refused.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS outbox_mail
    ON outbox (owner_id, kind, day) WHERE topic = 'mail';
