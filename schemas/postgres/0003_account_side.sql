-- The side of the market that an account is for, as its owner stated it. Empty for accounts that never
-- stated one. A mailed link has that of the account to create.
ALTER TABLE app_user ADD COLUMN side text NOT NULL DEFAULT ''
    CHECK (side IN ('', 'advertise', 'publish', 'both'));
ALTER TABLE mail_link ADD COLUMN side text NOT NULL DEFAULT ''
    CHECK (side IN ('', 'advertise', 'publish', 'both'));
