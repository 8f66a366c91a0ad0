-- Events that prove nothing (no token, or one that does not verify), counted by ingress: they are not kept, since anybody
-- can send any number of them. A node adds at most 512 rows a minute, and counts leave after 30 days.
CREATE TABLE unproven_minute (
    campaign_id uuid    NOT NULL, -- as the sender says; nil when there is no such campaign
    reason      text    COLLATE "C" NOT NULL, -- unsigned, bad_signature, key_expired
    minute      integer NOT NULL, -- since 1970, UTC, of receipt
    events      bigint  NOT NULL CHECK (events > 0),
    sample      jsonb, -- one of 1,000 of a node's events
    PRIMARY KEY (campaign_id, minute, reason)
) WITH (fillfactor = 80);
CREATE INDEX unproven_minute_minute ON unproven_minute (minute);
