-- An account's choice of mails. The owner writes it. An account without a row gets no mail: no mailed
-- link has confirmed its address.
CREATE TABLE notice_setting (
    account_id uuid   PRIMARY KEY REFERENCES app_user (id),
    confirmed  text   NOT NULL DEFAULT '', -- the address that a mailed link confirmed; mails go only to it
    language   text   COLLATE "C" NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'de')),
    off        text[] COLLATE "C" NOT NULL DEFAULT '{report.weekly}' -- kinds that are not sent
);

-- Facts that a timer found, and not a change: each is reported once. The consumers write it.
CREATE TABLE notice_once (
    owner_id uuid        NOT NULL,
    event    text        COLLATE "C" NOT NULL,
    about    text        COLLATE "C" NOT NULL, -- object and occasion
    at       timestamptz NOT NULL,
    PRIMARY KEY (owner_id, event, about)
);
CREATE INDEX notice_once_at ON notice_once (at);

-- A mail collects what happened until its first attempt. day is the UTC day for which it counts: an
-- account has one mail of a kind and day, whatever is written at the same time.
ALTER TABLE outbox
    ADD COLUMN day integer,
    ADD COLUMN results integer NOT NULL DEFAULT 0; -- attempts since begun_at whose result is stored

-- What held before this version is no news.
INSERT INTO notice_once (owner_id, event, about, at)
SELECT c.advertiser_id, 'campaign.first_ad', c.id::text, now()
FROM campaign c JOIN campaign_total t ON t.campaign_id = c.id WHERE t.spent > 0;
INSERT INTO notice_once (owner_id, event, about, at)
SELECT c.advertiser_id, 'campaign.budget_spent', c.id::text || ' ' || c.total_budget, now()
FROM campaign c JOIN campaign_total t ON t.campaign_id = c.id
WHERE c.total_budget > 0 AND t.spent - t.refunded >= c.total_budget;
