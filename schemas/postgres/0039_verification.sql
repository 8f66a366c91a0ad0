-- Runs of `adnet verify` by the consumers, every night or asked for by an administrator; and an index by which
-- administrators look through the ledger without naming an account.

-- A row without started_at waits; one without ended_at runs, or died with its process when it started an hour ago.
-- checks is a list of {name, want, got, detail}. The newest 60 rows are kept.
CREATE TABLE verification (
    id         bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    asked_by   uuid, -- account; null for the nightly one
    asked_at   timestamptz NOT NULL,
    started_at timestamptz,
    ended_at   timestamptz,
    checks     jsonb,
    problem    text        NOT NULL DEFAULT ''
);

CREATE INDEX ledger_transaction_at ON ledger_transaction (at, id);
