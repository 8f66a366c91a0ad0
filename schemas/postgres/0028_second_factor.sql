-- Second factors of logins. The secret is sealed with a key that the database does not have; of the recovery codes
-- there are hashes of those that were not used. last_step is that of the last code: no code works twice.
CREATE TABLE second_factor (
    user_id uuid PRIMARY KEY REFERENCES app_user (id),
    sealed bytea NOT NULL,
    confirmed_at timestamptz,
    last_step bigint NOT NULL,
    recovery bytea[] NOT NULL,
    failures integer NOT NULL CHECK (failures >= 0),
    failed_at timestamptz
);
