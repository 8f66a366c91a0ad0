-- A copy of what serving nodes may have reserved, apart from Redis: what nodes that died had reserved is held back when
-- Redis is lost, too. Rows matter for little more than an hour and are pruned.

-- Each node that serves, or has served: epoch is the one of Redis that knows everything it has reserved; acked, the number
-- of the last call that this Redis has answered; closed, that it ended in order. Rewritten every second.
CREATE TABLE reservation_writer (
    node   text        PRIMARY KEY,
    epoch  bigint      NOT NULL,
    acked  bigint      NOT NULL,
    seen   timestamptz NOT NULL,
    closed boolean     NOT NULL
) WITH (fillfactor = 50);

-- What changed of a node's reservations since its page before. An entry is 29 bytes: campaign (16), minute of the auction
-- (4), minutes that it lasts and 128 for a bid (1), micro-USD (8), big endian. Those of later pages replace earlier ones.
CREATE TABLE reservation_page (
    node    text        NOT NULL,
    page    bigint      NOT NULL,
    written timestamptz NOT NULL DEFAULT clock_timestamp(),
    entries bytea       NOT NULL,
    PRIMARY KEY (node, page)
);
CREATE INDEX reservation_page_written ON reservation_page (written);
-- Identifiers do not get smaller, and most pages are read by nobody.
ALTER TABLE reservation_page ALTER COLUMN entries SET STORAGE EXTERNAL;

-- When a projector last showed that it works and reaches this database, and the times in which none did.
CREATE TABLE reservation_watch (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    last     timestamptz NOT NULL
);
INSERT INTO reservation_watch (last) VALUES (clock_timestamp());

CREATE TABLE reservation_gap (
    began timestamptz NOT NULL,
    ended timestamptz NOT NULL
);
