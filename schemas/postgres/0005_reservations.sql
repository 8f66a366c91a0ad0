-- Reservations: what a served ad may still cost is held in Redis until its beacon or its expiry. Postgres says what was
-- released and under which epoch Redis was last rebuilt.

-- How much of a campaign's reservations of one minute's auctions settlement has used up, in micro-USD: an absolute sum,
-- written in the transaction that decides the events. A minute is a UTC minute counted from 1970-01-01. Rows matter for
-- little more than an hour and are pruned; the current minute's are rewritten by every batch.
CREATE TABLE reservation_released (
    campaign_id uuid    NOT NULL,
    minute      integer NOT NULL,
    amount      bigint  NOT NULL CHECK (amount >= 0),
    changed_xid bigint  NOT NULL DEFAULT room_xid(),
    PRIMARY KEY (campaign_id, minute)
) WITH (fillfactor = 50);

-- The epoch of the shared reservations only grows, so a Redis that holds an older one is known to be old.
CREATE TABLE reservation_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch bigint  NOT NULL
);
INSERT INTO reservation_epoch (epoch) VALUES (0);
