-- Credits leave pending only as far as charges back them: sums per publisher and day, charges per payer, released Credits as
-- lots with the value of their release. Amounts are micro-USD or whole Credits. Stop the consumers of the build before while
-- this is applied: they would go on minting into spendable Credits.

-- minted = in_case + gone + released + what is pending. gone is expired or clawed back (below zero only on days whose mints
-- an earlier build did not count here). credit_moves numbers the transactions that move the day's Credits. credit_due says
-- that the day must be looked at: settlement sets it, the release clears it.
ALTER TABLE publisher_day
    ADD COLUMN in_case      bigint  NOT NULL DEFAULT 0 CHECK (in_case >= 0),
    ADD COLUMN gone         bigint  NOT NULL DEFAULT 0,
    ADD COLUMN released     bigint  NOT NULL DEFAULT 0 CHECK (released >= 0),
    ADD COLUMN credit_moves bigint  NOT NULL DEFAULT 0,
    ADD COLUMN credit_due   boolean NOT NULL DEFAULT false;
CREATE INDEX publisher_day_credit_due ON publisher_day (developer_id, day) WHERE credit_due;

-- What each payer was charged for a publisher's traffic of a day. unbacked is the part that the payer owes.
CREATE TABLE credit_source (
    developer_id  uuid    NOT NULL,
    day           integer NOT NULL, -- UTC day of receipt
    advertiser_id uuid    NOT NULL,
    by_credits    boolean NOT NULL, -- paid from the advertiser's Credits
    charged       bigint  NOT NULL CHECK (charged >= 0),
    refunded      bigint  NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    unbacked      bigint  NOT NULL DEFAULT 0 CHECK (unbacked >= 0),
    PRIMARY KEY (developer_id, day, advertiser_id, by_credits)
) WITH (fillfactor = 50);
CREATE INDEX credit_source_payer ON credit_source (advertiser_id, by_credits, day);

-- Released Credits of a publisher's day. until is the end of their hold, -infinity once they are spendable. amount is what was
-- released and not taken back, remaining what of it is not spent; it is below zero when spent Credits were taken back.
CREATE TABLE credit_lot (
    developer_id uuid        NOT NULL,
    day          integer     NOT NULL,
    value        bigint      NOT NULL CHECK (value >= 0), -- of one Credit when it was released
    until        timestamptz NOT NULL,
    long         boolean     NOT NULL, -- held longer: one advertiser paid for more than a quarter of the day
    amount       bigint      NOT NULL CHECK (amount >= 0),
    remaining    bigint      NOT NULL CHECK (remaining <= amount),
    PRIMARY KEY (developer_id, day, value, until, long)
) WITH (fillfactor = 50);
CREATE INDEX credit_lot_until ON credit_lot (until) WHERE until > '-infinity';
CREATE INDEX credit_lot_debt ON credit_lot (developer_id) WHERE remaining < 0;

-- What payers owe, as it was last spread over credit_source.unbacked.
CREATE TABLE credit_debt (
    advertiser_id uuid    NOT NULL,
    by_credits    boolean NOT NULL,
    owed          bigint  NOT NULL CHECK (owed >= 0),
    spread        bigint  NOT NULL CHECK (spread >= 0),
    PRIMARY KEY (advertiser_id, by_credits)
);

CREATE INDEX payment_reversed ON payment (deposit_id) WHERE reversed > 0;

-- Credits of earlier builds were spendable at once, whatever had been charged. They stay spendable, as lots of day 0, and are
-- worth what was charged until now, at most 0.005 USD each.
UPDATE publisher_day SET gone = minted;

INSERT INTO publisher_day (developer_id, day, in_case, gone)
SELECT q.developer_id, floor(extract(epoch FROM e.at) / 86400)::int, sum(e.amount), -sum(e.amount)
FROM quarantine q JOIN ledger_entry e ON e.account = 'held:' || q.id AND e.asset = 'CREDIT' AND e.amount > 0
WHERE q.decision IS NULL GROUP BY 1, 2
ON CONFLICT (developer_id, day) DO UPDATE SET in_case = EXCLUDED.in_case, gone = publisher_day.gone + EXCLUDED.gone;

INSERT INTO credit_source (developer_id, day, advertiser_id, by_credits, charged)
SELECT q.developer_id, s.day, c.advertiser_id, c.credit_funded, sum(s.amount)
FROM quarantine q JOIN quarantine_source s ON s.quarantine_id = q.id JOIN campaign c ON c.id = s.campaign_id
WHERE q.decision IS NULL GROUP BY 1, 2, 3, 4;

WITH earned AS (
    SELECT substr(account, 11)::uuid AS developer_id, sum(amount) AS held, sum(amount) FILTER (WHERE amount > 0) AS ever
    FROM ledger_entry WHERE asset = 'CREDIT' AND account LIKE 'developer:%' GROUP BY 1
), backed AS (
    SELECT coalesce((SELECT sum(e.amount) FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
            WHERE t.kind = 'charge' AND e.asset = 'USD' AND e.amount > 0), 0)
        - coalesce((SELECT sum(e.amount) FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
            WHERE t.kind = 'traffic_refund' AND e.asset = 'USD' AND e.amount > 0), 0)
        - coalesce((SELECT sum(least(r.back, greatest(0, -b.amount))) FROM balance b JOIN (
                SELECT e.account, -sum(e.amount) AS back FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
                WHERE t.kind IN ('refund', 'dispute', 'dispute_won') AND e.asset = 'USD' AND e.account LIKE 'advertiser:%' GROUP BY 1) r
            ON r.account = b.account AND b.asset = 'USD'), 0)
        - coalesce((SELECT sum(s.amount) FROM quarantine_source s JOIN quarantine q ON q.id = s.quarantine_id WHERE q.decision IS NULL), 0)
        - coalesce((SELECT sum(s.amount) FROM quarantine_charge s JOIN quarantine q ON q.id = s.quarantine_id WHERE q.decision IS NULL), 0) AS amount
)
INSERT INTO credit_lot (developer_id, day, value, until, long, amount, remaining)
SELECT e.developer_id, 0, floor(least(5000, greatest(0, b.amount) / (SELECT sum(ever) FROM earned)))::bigint, '-infinity', false, e.ever, e.held
FROM earned e, backed b WHERE e.ever > 0;
