-- What publishers do not show: account.Blocks as JSON. Seats have their owner's.
CREATE TABLE publisher_blocks (
    user_id uuid  PRIMARY KEY REFERENCES app_user (id),
    blocks  jsonb NOT NULL
);

-- What a campaign is about, in the IAB's Content Taxonomy 1.0, as its owner says.
ALTER TABLE campaign ADD COLUMN categories text[] NOT NULL DEFAULT '{}';
