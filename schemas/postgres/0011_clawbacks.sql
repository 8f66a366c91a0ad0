-- Claw-backs: every row of the ledger that one takes back, and the budgets that its refunds reopen. Amounts are micro-USD
-- or Credits. All of it is additive: processes of the build before go on while it is applied, and are only too careful.

-- What claw-backs gave back of what was spent. spent and amount stay what was charged, as the verdicts and the analytics
-- store have it; what a budget has left is the budget less (spent - refunded).
ALTER TABLE campaign_total ADD COLUMN refunded bigint NOT NULL DEFAULT 0, ADD CHECK (refunded BETWEEN 0 AND spent);
ALTER TABLE campaign_spend ADD COLUMN refunded bigint NOT NULL DEFAULT 0, ADD CHECK (refunded BETWEEN 0 AND amount);

-- The charges of a quarantine case's traffic, one row for each transaction of the ledger and day of the budget. It takes
-- the place of quarantine_charge, which keeps what earlier builds summed.
CREATE TABLE quarantine_source (
    seq            bigint  GENERATED ALWAYS AS IDENTITY,
    quarantine_id  uuid    NOT NULL REFERENCES quarantine (id),
    transaction_id uuid    NOT NULL, -- no foreign key, as in ledger_entry: adnet verify checks
    campaign_id    uuid    NOT NULL,
    day            integer NOT NULL, -- UTC day of the charge
    amount         bigint  NOT NULL CHECK (amount > 0),
    PRIMARY KEY (quarantine_id, transaction_id, day)
);

-- Append only: what a transaction takes back of others, when that can be many. ledger_transaction.reverses is the first.
CREATE TABLE ledger_reversal (
    transaction_id uuid   NOT NULL,
    reverses       uuid   NOT NULL,
    amount         bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (transaction_id, reverses)
);
CREATE INDEX ledger_reversal_reverses ON ledger_reversal (reverses);
CREATE TRIGGER ledger_reversal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_reversal
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- Claw-backs of earlier builds: the mints are known, the charges only as sums of a campaign.
INSERT INTO ledger_reversal (transaction_id, reverses, amount)
SELECT back.id, held.transaction_id, held.amount
FROM ledger_transaction back JOIN ledger_entry held ON held.account = 'held:' || back.ref AND held.asset = 'CREDIT' AND held.amount > 0
WHERE back.kind = 'mint_clawback';

UPDATE campaign_total c SET refunded = r.amount, version = version + 1, changed_xid = room_xid()
FROM (SELECT t.subject, sum(e.amount)::bigint AS amount FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
    WHERE t.kind = 'traffic_refund' AND e.asset = 'USD' AND e.amount > 0 GROUP BY 1) r
WHERE r.subject = c.campaign_id;
