-- Disputes (chargebacks) of payments, and deliveries of payment providers that a person must look at. Amounts are
-- micro-USD, times are UTC.

-- held is the part of reversed that disputes took; hold_id the last row of the ledger that took it.
ALTER TABLE payment ADD COLUMN dispute_sum bigint NOT NULL DEFAULT 0 CHECK (dispute_sum >= 0);
ALTER TABLE payment ADD COLUMN held bigint NOT NULL DEFAULT 0 CHECK (held BETWEEN 0 AND reversed);
ALTER TABLE payment ADD COLUMN hold_id uuid REFERENCES ledger_transaction (id);

-- One dispute of a provider; its payment's row is the lock. A state never goes back: open, lost, won.
CREATE TABLE payment_dispute (
    provider   text   COLLATE "C" NOT NULL,
    dispute_id text   COLLATE "C" NOT NULL,
    payment_id text   COLLATE "C" NOT NULL,
    amount     bigint NOT NULL CHECK (amount >= 0),
    state      text   COLLATE "C" NOT NULL CHECK (state IN ('open', 'lost', 'won')),
    PRIMARY KEY (provider, dispute_id)
);
CREATE INDEX payment_dispute_payment ON payment_dispute (provider, payment_id);

-- Append only: deliveries that moved nothing although money moved at the provider, and why.
CREATE TABLE payment_parked (
    provider    text        COLLATE "C" NOT NULL,
    event_id    text        COLLATE "C" NOT NULL,
    payment_id  text        COLLATE "C" NOT NULL,
    reason      text        NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (provider, event_id)
);
CREATE INDEX payment_parked_age ON payment_parked (received_at);
CREATE TRIGGER payment_parked_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_parked
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();
