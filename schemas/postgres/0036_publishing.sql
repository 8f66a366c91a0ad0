-- What publishers ask of the ads that they show: account.Publishing as JSON. Seats have their owner's.
ALTER TABLE publisher_blocks
    ALTER COLUMN blocks SET DEFAULT '{}',
    ADD COLUMN publishing jsonb NOT NULL DEFAULT '{}';
