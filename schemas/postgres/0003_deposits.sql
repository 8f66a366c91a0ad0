-- Deposits: money that payment providers captured and gave back. Amounts are micro-USD, times are UTC.

-- A wish to pay in. Nothing here moves money.
CREATE TABLE deposit (
    id            uuid        PRIMARY KEY,
    advertiser_id uuid        NOT NULL REFERENCES app_user (id),
    provider      text        COLLATE "C" NOT NULL,
    checkout_id   text        COLLATE "C" NOT NULL, -- the provider's checkout session; empty when the payment came without one
    requested     bigint      NOT NULL CHECK (requested >= 0),
    return_url    text        NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE INDEX deposit_advertiser ON deposit (advertiser_id, created_at DESC);
CREATE UNIQUE INDEX deposit_checkout ON deposit (provider, checkout_id) WHERE checkout_id <> '';

-- One payment of a provider: the row is the lock that every notice about it takes, so notices in any order and at
-- any time are applied one after the other. A refund that comes before its payment waits here with paid = 0.
CREATE TABLE payment (
    provider     text   COLLATE "C" NOT NULL,
    payment_id   text   COLLATE "C" NOT NULL,
    deposit_id   uuid   REFERENCES deposit (id), -- null until paid
    paid         bigint NOT NULL DEFAULT 0 CHECK (paid >= 0),
    refund_total bigint NOT NULL DEFAULT 0 CHECK (refund_total >= 0), -- the largest total that the provider told
    refund_sum   bigint NOT NULL DEFAULT 0 CHECK (refund_sum >= 0),   -- the sum of its single refunds
    reversed     bigint NOT NULL DEFAULT 0 CHECK (reversed BETWEEN 0 AND paid),
    PRIMARY KEY (provider, payment_id),
    CHECK ((deposit_id IS NULL) = (paid = 0))
);
CREATE INDEX payment_deposit ON payment (deposit_id);

-- Append only: a provider's event changes something once, a single refund counts once.
CREATE TABLE payment_event (
    provider    text        COLLATE "C" NOT NULL,
    event_id    text        COLLATE "C" NOT NULL,
    kind        text        COLLATE "C" NOT NULL,
    payment_id  text        COLLATE "C" NOT NULL,
    amount      bigint      NOT NULL,
    outcome     text        COLLATE "C" NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (provider, event_id)
);
CREATE TABLE payment_refund (
    provider   text   COLLATE "C" NOT NULL,
    refund_id  text   COLLATE "C" NOT NULL,
    payment_id text   COLLATE "C" NOT NULL,
    amount     bigint NOT NULL,
    PRIMARY KEY (provider, refund_id)
);

-- Append only: which transaction a refund takes back.
CREATE TABLE ledger_reversal (
    transaction_id uuid PRIMARY KEY REFERENCES ledger_transaction (id),
    reverses       uuid NOT NULL REFERENCES ledger_transaction (id)
);

CREATE TRIGGER payment_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_event
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();
CREATE TRIGGER payment_refund_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_refund
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();
CREATE TRIGGER ledger_reversal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_reversal
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- The place of an entry in its account's history: newest first and the running balance both read this index
-- alone.
ALTER TABLE ledger_entry ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY;
DROP INDEX ledger_entry_account;
CREATE INDEX ledger_entry_account ON ledger_entry (account, asset, seq) INCLUDE (amount);
