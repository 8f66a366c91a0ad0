-- The PostgreSQL schema of adnet 0.1.0.
--
-- Units, unless a column states another: USD amounts are bigint in micro-USD, Credits are whole
-- Credits, ratios are millionths. A day, hour or minute in an integer column counts UTC days, hours
-- or minutes since 1970-01-01. A stream is the id of a broker topic in hex. Offset ranges are half
-- open: the first offset is included, the next one is excluded.
--
-- Identifiers have COLLATE "C", so that an index orders them by bytes. Tables whose rows change
-- often leave room in each page (fillfactor) for updates that touch no index.
--
-- "Nodes" are the ingress processes. Settlement, the release of Credits, the archive, the projector
-- and the nightly jobs are consumers. Both connect as a role that owns nothing: `adnet migrate`
-- grants it SELECT and INSERT only on each table that a trigger guards with a function whose name
-- ends in append_only.
--
-- Functions that run with the owner's rights (SECURITY DEFINER) take over the search path that is
-- set here. They resolve names in this schema only, with any search path of the caller.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);


---------------------------------------------------------------------------------------------------
-- Shared functions
---------------------------------------------------------------------------------------------------

-- Guards the append-only tables of the books: a correction is a new row.
CREATE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

-- The number of the running transaction, kept in each row that decides how much a campaign may
-- still spend (its room). The projector remembers the xmin of its snapshot and next time reads the
-- rows with a number >= xmin: it misses no commit, in any order of the commits.
CREATE FUNCTION room_xid() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT pg_current_xact_id()::text::bigint
$$;


---------------------------------------------------------------------------------------------------
-- Accounts, keys and sessions
---------------------------------------------------------------------------------------------------

-- One row per account. Nodes and `adnet user` write it. An account of role seat is an exchange that
-- sends bid requests: it has keys, Credits, quarantine and stats of its own, belongs to the account
-- parent_id and never logs in.
CREATE TABLE app_user (
    id            uuid        PRIMARY KEY, -- also the advertiser id
    developer_id  uuid        NOT NULL UNIQUE, -- the publisher side of the same account
    email         text        NOT NULL,
    password_hash text        NOT NULL,
    role          text        NOT NULL CHECK (role IN ('advertiser', 'admin', 'seat')),
    disabled      boolean     NOT NULL,
    token_version bigint      NOT NULL, -- sessions of a lower version have ended
    created_at    timestamptz NOT NULL,
    parent_id     uuid        REFERENCES app_user (id), -- owner of a seat
    display_name  text        NOT NULL DEFAULT '', -- chosen by the owner, unchecked; on receipts
    company       text        NOT NULL DEFAULT '', -- the same
    -- The name that an administrator approved for the account's ads, as it was then: company, else
    -- display_name. Empty without approval.
    approved_name text        NOT NULL DEFAULT '',
    name_verified boolean     NOT NULL DEFAULT false, -- the owner's identity was checked
    -- The same text for all addresses of one mailbox. Empty for seats and erased accounts.
    mailbox       text        COLLATE "C" NOT NULL DEFAULT '',
    beside        uuid, -- account that registered from the same network within 24 hours before
    CONSTRAINT app_user_seat CHECK ((role = 'seat') = (parent_id IS NOT NULL))
);
-- One account per e-mail address, in any mix of upper and lower case.
CREATE UNIQUE INDEX app_user_email ON app_user (lower(email));
CREATE INDEX app_user_parent ON app_user (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX app_user_mailbox ON app_user (mailbox) WHERE mailbox <> '';

-- The family of an account that belongs together with others, or is bound to the use of an older
-- one (internal/account/family). An account without a row is a family of its own. The consumer of standing
-- writes it, and nodes for a new account.
CREATE TABLE account_family (
    account_id uuid PRIMARY KEY REFERENCES app_user (id),
    family_id  uuid NOT NULL, -- id of the family's oldest account
    bound_to   uuid           -- family whose use counts for this newer account, which was never charged
);
CREATE INDEX account_family_family ON account_family (family_id);
CREATE INDEX account_family_bound ON account_family (bound_to) WHERE bound_to IS NOT NULL;

-- One row per account, fact and key of the ring: a keyed hash. Nodes write it. Marks of the network
-- of a registration end after 24 hours, those of an erased account's mailbox after 90 days.
CREATE TABLE account_mark (
    account_id uuid        NOT NULL REFERENCES app_user (id),
    kind       text        COLLATE "C" NOT NULL CHECK (kind IN ('mailbox', 'network')),
    hash       bytea       NOT NULL CHECK (octet_length(hash) = 16),
    created_at timestamptz NOT NULL,
    ends_at    timestamptz,
    PRIMARY KEY (account_id, kind, hash)
);
CREATE INDEX account_mark_hash ON account_mark (kind, hash, created_at);
CREATE INDEX account_mark_ends ON account_mark (ends_at) WHERE ends_at IS NOT NULL;

-- One row per payment and key of the ring: the keyed hash of its payer id or card fingerprint. Nodes
-- write it, also before the payment is known.
CREATE TABLE payment_mark (
    provider   text  COLLATE "C" NOT NULL,
    payment_id text  COLLATE "C" NOT NULL,
    hash       bytea NOT NULL CHECK (octet_length(hash) = 16),
    PRIMARY KEY (provider, payment_id, hash)
);

-- One row per account that an operator split from its family or joined to another one. Nodes write
-- it.
CREATE TABLE family_ruling (
    account_id uuid        PRIMARY KEY REFERENCES app_user (id),
    with_id    uuid        REFERENCES app_user (id), -- NULL: split
    decided_by uuid        NOT NULL,
    at         timestamptz NOT NULL
);

-- One row per key of an account, revoked ones included. Nodes write it. The key itself is stored
-- nowhere, only its hash.
CREATE TABLE api_key (
    id           uuid        PRIMARY KEY,
    owner_id     uuid        NOT NULL REFERENCES app_user (id),
    developer_id uuid        NOT NULL,
    -- browser: public, in a page's source; seat: of an exchange, in a header; seatpath: of an
    -- exchange, in the path; conversion: reports conversions.
    kind         text        NOT NULL
        CHECK (kind IN ('publisher', 'browser', 'seat', 'conversion', 'seatpath')),
    name         text        NOT NULL,
    prefix       text        NOT NULL, -- first characters of the key, to recognize it
    hash         bytea       NOT NULL UNIQUE CHECK (octet_length(hash) = 32), -- SHA-256 of the key
    created_at   timestamptz NOT NULL,
    revoked_at   timestamptz,
    campaign_id  uuid, -- the only campaign of a conversion key; NULL: all campaigns of the owner
    unlearned    boolean     NOT NULL DEFAULT false, -- ranking does not learn from its requests
    addresses    cidr[]      NOT NULL DEFAULT '{}', -- callers of a seatpath key; empty: any address
    origins      text[]      NOT NULL DEFAULT '{}', -- of the pages that may use a browser key
    ends_at      timestamptz, -- a rotated key stops working at this time
    read_by_models boolean   NOT NULL DEFAULT false, -- a model reads the ads of a browser key
    CONSTRAINT api_key_campaign CHECK (campaign_id IS NULL OR kind = 'conversion'),
    CONSTRAINT api_key_addresses CHECK (addresses = '{}' OR kind = 'seatpath'),
    CONSTRAINT api_key_origins CHECK ((origins = '{}') = (kind <> 'browser')),
    CONSTRAINT api_key_models CHECK (NOT read_by_models OR kind = 'browser')
);
CREATE INDEX api_key_owner ON api_key (owner_id, created_at DESC, id DESC);
CREATE INDEX api_key_origin ON api_key USING gin (origins) WHERE kind = 'browser';

-- One row per login that is still valid. Nodes write it and remove the row when the session ends. A
-- session also ends when the account's token_version passes its own.
CREATE TABLE login_session (
    id         uuid        PRIMARY KEY,
    user_id    uuid        NOT NULL REFERENCES app_user (id),
    version    bigint      NOT NULL, -- app_user.token_version at the login
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    network    text        NOT NULL, -- IPv4 /24 or IPv6 /56, as in audit_log
    agent      text        NOT NULL,
    strong     boolean     NOT NULL -- with a second factor
);
CREATE INDEX login_session_user ON login_session (user_id, created_at);

-- One row per account and network (IPv4 /24, IPv6 /56) of a successful login. Nodes write it. The
-- limit on wrong passwords of an account exempts these networks, so a stranger's guesses do not
-- lock the owner out.
CREATE TABLE login_network (
    user_id uuid        NOT NULL REFERENCES app_user (id),
    network bytea       NOT NULL CHECK (octet_length(network) = 16), -- keyed hash with the account's id
    good_at timestamptz NOT NULL, -- last successful login
    PRIMARY KEY (user_id, network)
);

-- One row per account with a second factor. Nodes write it. No code works twice: its time step must
-- be above last_step. The sealing key is not in the database.
CREATE TABLE second_factor (
    user_id      uuid        PRIMARY KEY REFERENCES app_user (id),
    sealed       bytea       NOT NULL, -- the encrypted secret
    confirmed_at timestamptz,
    last_step    bigint      NOT NULL, -- time step of the last accepted code
    recovery     bytea[]     NOT NULL, -- hashes of the unused recovery codes
    failures     integer     NOT NULL CHECK (failures >= 0), -- wrong codes in a row, from networks unknown to the account
    failed_at    timestamptz,
    known_failures  integer  NOT NULL DEFAULT 0 CHECK (known_failures >= 0), -- from known networks
    known_failed_at timestamptz
);


---------------------------------------------------------------------------------------------------
-- Campaigns, reviews and decisions
---------------------------------------------------------------------------------------------------

-- One row. Nodes and the consumers of goals and of standing raise version in the transaction of
-- every change of a campaign. The row lock lasts until commit, so versions have no gaps and become
-- visible in their order: a reader of version n has read all versions before it. Version 0 means
-- that no catalog exists, so an installation without campaigns starts with 1.
CREATE TABLE config_head (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version  bigint  NOT NULL
);
INSERT INTO config_head (version) VALUES (1);

-- One row per campaign. Nodes write it; the consumer of goals writes the three goal columns, and the
-- consumer of standing those of the standing.
-- Settlement holds the row FOR SHARE while it charges, so a pause waits for the charge or the
-- charge sees the pause.
CREATE TABLE campaign (
    id            uuid NOT NULL PRIMARY KEY,
    advertiser_id uuid NOT NULL REFERENCES app_user (id),
    name          text NOT NULL,
    status        text NOT NULL
        CHECK (status IN ('draft', 'in_review', 'active', 'paused', 'rejected', 'archived')),

    -- The ad.
    format              text    NOT NULL CHECK (format IN ('image', 'video', 'native')),
    headline            text    NOT NULL,
    subtext             text    NOT NULL,
    media_url           text    NOT NULL,
    poster_url          text    NOT NULL,
    cta_label           text    NOT NULL,
    cta_url             text    NOT NULL,
    skippable_after_sec integer NOT NULL,

    -- The price.
    billing_model     text    NOT NULL CHECK (billing_model IN ('cpm', 'cpc', 'cpa')),
    bid_amount        bigint  NOT NULL CHECK (bid_amount >= 0), -- cpm: for 1,000 impressions
    daily_budget      bigint  NOT NULL CHECK (daily_budget >= 0),
    total_budget      bigint  NOT NULL CHECK (total_budget >= 0),
    target_cpa        bigint  NOT NULL,
    target_roas       bigint, -- millionths
    optimization_goal text    NOT NULL,
    credit_funded     boolean NOT NULL, -- paid from the advertiser's Credits

    -- The targeting.
    target_intent_tokens       text[] NOT NULL,
    target_keywords            text[] NOT NULL,
    target_active_tools        text[] NOT NULL,
    target_host_apps           text[] NOT NULL,
    target_surfaces            text[] NOT NULL,
    target_integration_methods text[] NOT NULL,
    target_regions             text[] NOT NULL,
    target_languages           text[] NOT NULL,

    -- The review.
    policy_violations jsonb NOT NULL, -- findings of the policy check; one with holds: true stops it
    review            jsonb, -- copy of the latest campaign_review row
    reviewed          boolean NOT NULL DEFAULT false, -- a reviewer approved exactly the current version
    approved_creative jsonb, -- the version approved last, while the current one waits; NULL: none

    config_version bigint      NOT NULL UNIQUE, -- see config_head; readers of changes use the index
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,

    -- Settings in the order in which they were added.
    room_changed_xid bigint  NOT NULL DEFAULT room_xid(),
    pacing           text    COLLATE "C" NOT NULL DEFAULT 'even' CHECK (pacing IN ('even', 'asap')),
    frequency_cap    integer NOT NULL DEFAULT 3 -- impressions per session and UTC day; 0: no cap
        CHECK (frequency_cap BETWEEN 0 AND 1000),
    deal_ids         text[]  NOT NULL DEFAULT '{}', -- private deals of exchanges
    logo_url         text    NOT NULL DEFAULT '', -- for native ads of exchanges
    click_id         text    NOT NULL DEFAULT 'on' CHECK (click_id IN ('on', 'off')),
    conversion_type  text    NOT NULL DEFAULT '', -- of the conversions that are charged; empty: the first of a click
    targeting_mode   text    COLLATE "C" NOT NULL DEFAULT 'exact' -- exact: tokens filter
        CHECK (targeting_mode IN ('broad', 'exact')),
    min_relevance    bigint  NOT NULL DEFAULT 0 -- millionths; 0: the network's minimum
        CHECK (min_relevance BETWEEN 0 AND 1000000),
    targeting_size   integer, -- part of the account's limit; NULL: measured when needed
    goal_multiplier  bigint  NOT NULL DEFAULT 1000000 -- of the bid, millionths
        CHECK (goal_multiplier BETWEEN 250000 AND 4000000),
    goal_price       bigint  NOT NULL DEFAULT 0 -- most for a conversion, before the multiplier
        CHECK (goal_price >= 0),
    goal_conversions bigint  NOT NULL DEFAULT 0 -- settled conversions that the goal learned from
        CHECK (goal_conversions >= 0),
    start_at         timestamptz, -- in auctions from here, whole seconds; NULL: no bound
    end_at           timestamptz, -- in auctions until before this time; NULL: no bound
    categories       text[]  NOT NULL DEFAULT '{}', -- IAB Content Taxonomy 1.0, set by the owner
    billing_event    text    NOT NULL DEFAULT 'impression' -- the event that a cpm campaign pays for
        CHECK (billing_event IN ('impression', 'viewable')),
    -- Ids of internal/campaign/subject: subjects of conversations that the campaign avoids, sensitive
    -- subjects that it accepts, and restricted trades that it declares.
    exclude_contexts   text[] NOT NULL DEFAULT '{}',
    sensitive_contexts text[] NOT NULL DEFAULT '{}',
    trades             text[] NOT NULL DEFAULT '{}',
    -- The standing: what settled charges show about the campaign, see internal/campaign.
    family_id    uuid   NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- zero: the advertiser alone
    vote         bigint NOT NULL DEFAULT 0 -- of the family, millionths
        CHECK (vote BETWEEN 0 AND 1000000),
    click_rate   bigint NOT NULL DEFAULT 0 CHECK (click_rate >= 0), -- ÷ the network's, millionths; 0: unknown
    convert_rate bigint NOT NULL DEFAULT 0 CHECK (convert_rate >= 0),
    ceiling      bigint NOT NULL DEFAULT 0 CHECK (ceiling >= 0), -- value of 1,000 impressions; 0: no limit
    bound        text   COLLATE "C" NOT NULL DEFAULT '' CHECK (bound IN ('', 'unproven', 'behind')),
    settings_version bigint NOT NULL DEFAULT 0, -- config_version of the last change of what people set

    CONSTRAINT campaign_dates CHECK (end_at > start_at),
    CONSTRAINT campaign_paid_on_view CHECK (billing_event = 'impression' OR billing_model = 'cpm')
);
CREATE INDEX campaign_by_advertiser ON campaign (advertiser_id, created_at DESC, id DESC);
CREATE INDEX campaign_by_status ON campaign (status, created_at DESC, id DESC);
CREATE INDEX campaign_by_age ON campaign (created_at DESC, id DESC);
CREATE INDEX campaign_room_changed ON campaign (room_changed_xid);
CREATE INDEX campaign_ceiling ON campaign (config_version) WHERE ceiling > 0;
-- The review queue also lists live campaigns that the policy check holds: few of many.
CREATE INDEX campaign_waiting ON campaign (created_at DESC, id DESC)
    WHERE status IN ('active', 'paused') AND policy_violations @? '$[*] ? (!(@.holds == true))';
CREATE INDEX campaign_unreviewed ON campaign (created_at DESC, id DESC)
    WHERE status IN ('active', 'paused') AND NOT reviewed;
CREATE INDEX campaign_goals ON campaign (id)
    WHERE optimization_goal <> 'manual' AND status = 'active';

ALTER TABLE api_key
    ADD CONSTRAINT api_key_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaign (id);

-- Budgets and states are part of a campaign's room.
CREATE FUNCTION campaign_room_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.room_changed_xid := room_xid();
    RETURN NEW;
END $$;
CREATE TRIGGER campaign_room_changed BEFORE UPDATE ON campaign
    FOR EACH ROW EXECUTE FUNCTION campaign_room_changed();

-- The highest bid that a campaign ever had, per billing model. Only triggers write it, so no
-- process can omit or lower it. `adnet verify` checks that no charge is above it.
CREATE TABLE campaign_highest_bid (
    campaign_id   uuid   NOT NULL REFERENCES campaign (id),
    billing_model text   COLLATE "C" NOT NULL,
    bid           bigint NOT NULL, -- as campaign.bid_amount
    PRIMARY KEY (campaign_id, billing_model)
);
CREATE FUNCTION campaign_highest_bid_keep() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
        BEGIN
            INSERT INTO campaign_highest_bid AS kept (campaign_id, billing_model, bid) VALUES (NEW.id, NEW.billing_model, NEW.bid_amount)
            ON CONFLICT (campaign_id, billing_model) DO UPDATE SET bid = EXCLUDED.bid WHERE kept.bid < EXCLUDED.bid;
            RETURN NULL;
        END $$;
REVOKE ALL ON FUNCTION campaign_highest_bid_keep() FROM PUBLIC;
CREATE TRIGGER campaign_highest_bid_created AFTER INSERT ON campaign
    FOR EACH ROW EXECUTE FUNCTION campaign_highest_bid_keep();
CREATE TRIGGER campaign_highest_bid_changed AFTER UPDATE ON campaign
    FOR EACH ROW WHEN (OLD.bid_amount <> NEW.bid_amount OR OLD.billing_model <> NEW.billing_model)
    EXECUTE FUNCTION campaign_highest_bid_keep();

-- One row per campaign: what is compared to find campaigns of like ads (internal/account/family). Nodes write
-- it with the campaign.
CREATE TABLE campaign_likeness (
    campaign_id   uuid     PRIMARY KEY REFERENCES campaign (id),
    advertiser_id uuid     NOT NULL,
    landing       text     COLLATE "C" NOT NULL, -- registrable domain; empty for a shared site
    words         bigint[] NOT NULL, -- hashes of the words of its texts, ascending
    bands         bigint[] NOT NULL  -- keys of which two near copies share one
);
CREATE INDEX campaign_likeness_landing ON campaign_likeness (landing) WHERE landing <> '';
CREATE INDEX campaign_likeness_bands ON campaign_likeness USING gin (bands);

-- One row per period in which a campaign was not active: from_at included, to_at excluded, open
-- while to_at is NULL. Nodes write it. Settlement charges nothing that was received inside a
-- period. Both ends are taken under the campaign's row lock, which settlement shares: an impression
-- is settled before the pause, or sees the period.
CREATE TABLE campaign_inactive (
    seq         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id uuid        NOT NULL REFERENCES campaign (id),
    from_at     timestamptz NOT NULL,
    to_at       timestamptz,
    CHECK (to_at >= from_at)
);
CREATE INDEX campaign_inactive_campaign ON campaign_inactive (campaign_id, from_at);
CREATE UNIQUE INDEX campaign_inactive_open ON campaign_inactive (campaign_id) WHERE to_at IS NULL;

-- One row per review of a campaign by an administrator. Nodes write it. Append only.
CREATE TABLE campaign_review (
    seq         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id uuid        NOT NULL REFERENCES campaign (id),
    decision    text        NOT NULL,
    notes       text        NOT NULL,
    reviewer_id uuid        NOT NULL,
    at          timestamptz NOT NULL
);
CREATE INDEX campaign_review_campaign ON campaign_review (campaign_id, seq);
CREATE FUNCTION campaign_review_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER campaign_review_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON campaign_review
    FOR EACH STATEMENT EXECUTE FUNCTION campaign_review_append_only();

-- One row per decision against the owner of an account: the statement of reasons. The process that
-- decides writes it in the transaction of the change, beside the row of audit_log. Append only.
CREATE TABLE decision (
    id          uuid        PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    owner_id    uuid        NOT NULL REFERENCES app_user (id),
    kind        text        COLLATE "C" NOT NULL
        CHECK (kind IN ('rejection', 'pause', 'hold', 'clawback', 'suspension')),
    target_kind text        COLLATE "C" NOT NULL,
    target_id   text        COLLATE "C" NOT NULL,
    rule        text        NOT NULL,
    reason      text        NOT NULL,
    automated   boolean     NOT NULL, -- decided by a process, without a person
    -- The order of decisions: times may be equal, and clocks go back. The number is drawn under the
    -- lock of the target's row, so of two decisions about one target the later has the higher
    -- number.
    seq         bigint      GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX decision_owner ON decision (owner_id, seq DESC);
CREATE UNIQUE INDEX decision_age ON decision (seq DESC);
CREATE TRIGGER decision_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON decision
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- One row per appeal of an owner against a decision. Nodes write it.
CREATE TABLE appeal (
    id          uuid        PRIMARY KEY,
    decision_id uuid        NOT NULL REFERENCES decision (id),
    owner_id    uuid        NOT NULL REFERENCES app_user (id),
    text        text        NOT NULL,
    created_at  timestamptz NOT NULL,
    outcome     text        COLLATE "C" CHECK (outcome IN ('upheld', 'reversed')), -- NULL: open
    words       text        NOT NULL DEFAULT '', -- the administrator's answer
    decided_by  uuid,
    decided_at  timestamptz,
    CHECK ((outcome IS NULL) = (decided_at IS NULL))
);
CREATE INDEX appeal_decision ON appeal (decision_id, created_at);
-- At most one open appeal per decision, under concurrent calls too.
CREATE UNIQUE INDEX appeal_open ON appeal (decision_id) WHERE outcome IS NULL;
CREATE INDEX appeal_owner ON appeal (owner_id);


---------------------------------------------------------------------------------------------------
-- Ledger and balances
---------------------------------------------------------------------------------------------------

-- One row per transaction of the double-entry ledger: a charge, mint, deposit, refund and so on.
-- Settlement, the release of Credits and nodes write it. Append only. A (kind, ref, subject) exists
-- once, so a replay cannot pay twice even if the fence of consumer_offset failed.
CREATE TABLE ledger_transaction (
    id       uuid        PRIMARY KEY, -- hash of kind, ref and subject
    kind     text        COLLATE "C" NOT NULL,
    ref      text        COLLATE "C" NOT NULL, -- the cause: a batch, a payment event, a case, a day
    subject  uuid        NOT NULL, -- campaign, publisher or advertiser
    at       timestamptz NOT NULL,
    reverses uuid        REFERENCES ledger_transaction (id), -- taken back by this one
    UNIQUE (kind, ref, subject)
);
CREATE INDEX ledger_transaction_subject ON ledger_transaction (subject, at);
CREATE INDEX ledger_transaction_reverses ON ledger_transaction (reverses)
    WHERE reverses IS NOT NULL;
-- Administrators page through the ledger without naming an account.
CREATE INDEX ledger_transaction_at ON ledger_transaction (at, id);
CREATE TRIGGER ledger_transaction_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transaction
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- One row per leg of a transaction, written with it. Append only. Each entry is a link in the chain
-- of its account and asset: its hash covers the entry and the hash of the link before. The lock of
-- the balance's row puts links in order. So an entry that is changed, removed, inserted or moved
-- breaks a chain, and `adnet verify` walks every chain.
CREATE TABLE ledger_entry (
    -- Without a foreign key: one pair of statements writes both rows, and `adnet verify` checks
    -- them.
    transaction_id uuid        NOT NULL,
    leg            smallint    NOT NULL, -- position in the transaction
    account        text        COLLATE "C" NOT NULL,
    asset          text        COLLATE "C" NOT NULL CHECK (asset IN ('USD', 'CREDIT')),
    amount         bigint      NOT NULL CHECK (amount <> 0), -- micro-USD or Credits; > 0 adds
    seq            bigint      GENERATED ALWAYS AS IDENTITY, -- order in the account's history
    chain_seq      bigint      NOT NULL CHECK (chain_seq > 0), -- number in the chain: 1, 2, 3, …
    balance_after  bigint      NOT NULL,
    at             timestamptz NOT NULL, -- as in the transaction
    hash           bytea       NOT NULL CHECK (octet_length(hash) = 32), -- see ledger_entry_hash
    PRIMARY KEY (transaction_id, leg)
);
-- One index serves an account's pages (seq), its months (at, chain_seq) and its sums (amount).
CREATE INDEX ledger_entry_account ON ledger_entry (account, asset, seq)
    INCLUDE (amount, at, chain_seq);
CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- Every statement that adds entries must add whole transactions, which sum to zero in each asset.
-- This costs one hash aggregate per statement; a deferred constraint trigger would run once per
-- row.
CREATE FUNCTION ledger_entry_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    bad uuid;
BEGIN
    SELECT transaction_id INTO bad FROM added GROUP BY transaction_id, asset HAVING sum(amount) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'entries of transaction % do not sum to zero', bad USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ledger_entry_balanced AFTER INSERT ON ledger_entry
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_balanced();

-- The hash of a link. Link.Sum in internal/ledger/chain.go computes the same and explains why the
-- form is unambiguous.
CREATE FUNCTION ledger_entry_hash(previous bytea, e ledger_entry, t ledger_transaction)
    RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(previous || convert_to(concat_ws(E'\n', e.account, e.asset, e.chain_seq, e.amount, e.balance_after, e.transaction_id,
        e.leg, t.kind, t.subject, coalesce(t.reverses::text, ''), (extract(epoch FROM t.at) * 1000000)::bigint, t.ref), 'UTF8'))
$$;

-- One row per transaction that another takes back, for claw-backs, which can take back many.
-- ledger_transaction.reverses names the first of them. Nodes write it when an administrator ends a
-- quarantine case. Append only.
CREATE TABLE ledger_reversal (
    transaction_id uuid   NOT NULL,
    reverses       uuid   NOT NULL,
    amount         bigint NOT NULL CHECK (amount > 0), -- the part that is taken back
    PRIMARY KEY (transaction_id, reverses)
);
CREATE INDEX ledger_reversal_reverses ON ledger_reversal (reverses);
CREATE TRIGGER ledger_reversal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_reversal
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- One row per account and asset: the sum of its entries and the head of its chain, written with the
-- entries. The row's lock puts the writers of a chain in order.
CREATE TABLE balance (
    account     text   COLLATE "C" NOT NULL,
    asset       text   COLLATE "C" NOT NULL,
    amount      bigint NOT NULL, -- micro-USD or Credits
    version     bigint NOT NULL DEFAULT 1, -- number of changes
    changed_xid bigint NOT NULL DEFAULT room_xid(),
    chain_seq   bigint NOT NULL DEFAULT 0, -- of the last entry
    hash        bytea  NOT NULL DEFAULT decode(repeat('00', 32), 'hex'), -- of the last entry
    PRIMARY KEY (account, asset)
) WITH (fillfactor = 50);
CREATE INDEX balance_changed ON balance (changed_xid);

-- One row per account and closed month: the month ends with this entry and never changes again. A
-- node writes it when the month's statement is first read after the month, under the lock of the
-- balance's row. Append only.
CREATE TABLE statement_close (
    account   text    COLLATE "C" NOT NULL,
    asset     text    COLLATE "C" NOT NULL,
    month     integer NOT NULL, -- months since the year 0
    chain_seq bigint  NOT NULL CHECK (chain_seq >= 0), -- the month's last entry
    PRIMARY KEY (account, asset, month)
);
CREATE TRIGGER statement_close_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON statement_close
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- The spend of a campaign per UTC day of the charge. Settlement writes it; nothing is reset at
-- midnight. The day's remaining budget is the budget less (amount - refunded).
CREATE TABLE campaign_spend (
    campaign_id  uuid    NOT NULL,
    day          integer NOT NULL,
    amount       bigint  NOT NULL CHECK (amount >= 0), -- charged, refunds not deducted
    -- The budget at the last charge, so that "never above the budget" can be checked after a
    -- change.
    daily_budget bigint,
    refunded     bigint  NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND amount), -- by claw-backs
    PRIMARY KEY (campaign_id, day)
) WITH (fillfactor = 50);

-- The total spend of a campaign, one row from its creation on. Settlement writes it and locks the
-- row before it reads the campaign. The remaining total budget is the budget less (spent -
-- refunded).
CREATE TABLE campaign_total (
    campaign_id  uuid   PRIMARY KEY,
    spent        bigint NOT NULL DEFAULT 0 CHECK (spent >= 0), -- charged, refunds not deducted
    total_budget bigint, -- at the last charge
    version      bigint NOT NULL DEFAULT 0, -- number of changes
    changed_xid  bigint NOT NULL DEFAULT room_xid(),
    refunded     bigint NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND spent) -- by claw-backs
) WITH (fillfactor = 50);
CREATE INDEX campaign_total_changed ON campaign_total (changed_xid);
CREATE FUNCTION campaign_add_total() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO campaign_total (campaign_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER campaign_add_total AFTER INSERT ON campaign
    FOR EACH ROW EXECUTE FUNCTION campaign_add_total();


---------------------------------------------------------------------------------------------------
-- Deposits and payments
---------------------------------------------------------------------------------------------------

-- One row per deposit that an advertiser started. Nodes write it. It moves no money.
CREATE TABLE deposit (
    id            uuid        PRIMARY KEY,
    advertiser_id uuid        NOT NULL REFERENCES app_user (id),
    provider      text        COLLATE "C" NOT NULL,
    checkout_id   text        COLLATE "C" NOT NULL, -- provider's session; empty without one
    requested     bigint      NOT NULL CHECK (requested >= 0),
    return_url    text        NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE INDEX deposit_advertiser ON deposit (advertiser_id, created_at DESC);
CREATE UNIQUE INDEX deposit_checkout ON deposit (provider, checkout_id) WHERE checkout_id <> '';

-- One row per payment of a provider. Nodes write it when the provider's events arrive. Every event
-- locks the row of its payment, so events in any order are applied one after the other. A refund
-- that arrives before its payment waits here with paid = 0. No more is refunded or disputed than
-- was paid.
CREATE TABLE payment (
    provider     text   COLLATE "C" NOT NULL,
    payment_id   text   COLLATE "C" NOT NULL,
    deposit_id   uuid   REFERENCES deposit (id), -- NULL until paid
    paid         bigint NOT NULL DEFAULT 0 CHECK (paid >= 0),
    refunded     bigint NOT NULL DEFAULT 0 CHECK (refunded >= 0), -- by the refund events of payment_event
    reversed     bigint NOT NULL DEFAULT 0 -- taken back from the advertiser
        CONSTRAINT payment_check CHECK (reversed BETWEEN 0 AND paid),
    dispute_sum  bigint NOT NULL DEFAULT 0 CHECK (dispute_sum >= 0), -- of payment_dispute
    held         bigint NOT NULL DEFAULT 0 -- the part of reversed that disputes took
        CONSTRAINT payment_check2 CHECK (held BETWEEN 0 AND reversed),
    hold_id      uuid   REFERENCES ledger_transaction (id), -- the last transaction of a dispute
    refund_id    uuid   REFERENCES ledger_transaction (id), -- the last transaction of a refund
    refund_peak  bigint NOT NULL DEFAULT 0, -- the most that refunds had ever taken
    PRIMARY KEY (provider, payment_id),
    CONSTRAINT payment_check1 CHECK ((deposit_id IS NULL) = (paid = 0))
);
CREATE INDEX payment_deposit ON payment (deposit_id);
CREATE INDEX payment_reversed ON payment (deposit_id) WHERE reversed > 0;

-- One row per event of a provider. Nodes write it in the transaction of the event's effect, so an
-- event has its effect once. Append only.
CREATE TABLE payment_event (
    provider    text        COLLATE "C" NOT NULL,
    event_id    text        COLLATE "C" NOT NULL,
    kind        text        COLLATE "C" NOT NULL,
    payment_id  text        COLLATE "C" NOT NULL,
    amount      bigint      NOT NULL,
    outcome     text        COLLATE "C" NOT NULL,
    received_at timestamptz NOT NULL,
    refund_id   text        COLLATE "C" NOT NULL, -- of an event about one refund
    sent_at     timestamptz NOT NULL, -- provider's time of the event
    PRIMARY KEY (provider, event_id)
);
CREATE INDEX payment_event_refund ON payment_event (provider, payment_id)
    WHERE kind IN ('refunded', 'refund_failed', 'refunded_to', 'refund_total');
CREATE TRIGGER payment_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_event
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- One row per dispute (chargeback) of a payment. Nodes write it under the lock of the payment's
-- row. A state only advances: open, lost, won.
CREATE TABLE payment_dispute (
    provider   text   COLLATE "C" NOT NULL,
    dispute_id text   COLLATE "C" NOT NULL,
    payment_id text   COLLATE "C" NOT NULL,
    amount     bigint NOT NULL CHECK (amount >= 0),
    state      text   COLLATE "C" NOT NULL CHECK (state IN ('open', 'lost', 'won')),
    PRIMARY KEY (provider, dispute_id)
);
CREATE INDEX payment_dispute_payment ON payment_dispute (provider, payment_id);

-- One row per event that moved money at the provider but none here, with the reason. An operator
-- decides it. Nodes write it. Many events of one type share one row, so that at most 1,000 rows
-- wait. A decision is made once.
CREATE TABLE payment_parked (
    id          uuid        PRIMARY KEY,
    provider    text        COLLATE "C" NOT NULL,
    event_id    text        COLLATE "C" NOT NULL, -- of a shared row: the newest
    payment_id  text        COLLATE "C" NOT NULL,
    event_type  text        COLLATE "C" NOT NULL,
    kind        text        COLLATE "C" NOT NULL, -- of the notice; empty for an unknown type
    amount      bigint      NOT NULL CHECK (amount >= 0), -- micro-USD, 0 if unknown
    reason      text        NOT NULL,
    received_at timestamptz NOT NULL,
    shared      boolean     NOT NULL,
    count       bigint      NOT NULL CHECK (count > 0),
    decision    text        COLLATE "C" NOT NULL DEFAULT '', -- empty while it waits
    account_id  uuid        REFERENCES app_user (id), -- of a credit or debit
    applied     bigint      NOT NULL DEFAULT 0 CHECK (applied >= 0),
    decided_at  timestamptz,
    decided_by  uuid,
    note        text        NOT NULL DEFAULT '',
    CONSTRAINT payment_parked_decided CHECK ((decision = '') = (decided_at IS NULL))
);
CREATE UNIQUE INDEX payment_parked_event ON payment_parked (provider, event_id) WHERE NOT shared;
CREATE UNIQUE INDEX payment_parked_shared ON payment_parked (provider, event_type) WHERE shared AND decision = '';
CREATE INDEX payment_parked_waiting ON payment_parked (received_at) WHERE decision = '';
CREATE INDEX payment_parked_debit ON payment_parked (account_id) WHERE decision = 'debit';
CREATE INDEX payment_parked_age ON payment_parked (received_at);


---------------------------------------------------------------------------------------------------
-- Reservations
---------------------------------------------------------------------------------------------------
-- Redis holds the possible cost of each served ad until its beacon or its expiry. These tables have
-- the part that must survive the loss of Redis or of a node. Rows matter for little more than an
-- hour; the projector prunes them.

-- The reservations of a campaign, by minute of the auction, that settlement has used up: an
-- absolute sum, written in the transaction that decides the events. Every batch rewrites the
-- current minute.
CREATE TABLE reservation_released (
    campaign_id uuid    NOT NULL,
    minute      integer NOT NULL,
    amount      bigint  NOT NULL CHECK (amount >= 0),
    changed_xid bigint  NOT NULL DEFAULT room_xid(),
    PRIMARY KEY (campaign_id, minute)
) WITH (fillfactor = 50);

-- One row: the epoch under which the projector last rebuilt Redis. It only rises, so a Redis with a
-- lower epoch is recognized as outdated.
CREATE TABLE reservation_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch    bigint  NOT NULL
);
INSERT INTO reservation_epoch (epoch) VALUES (0);

-- One row per node of the last hour. The node rewrites it every second. With reservation_page it is
-- the journal by which the reservations of dead nodes are held back after a loss of Redis.
CREATE TABLE reservation_writer (
    node   text        PRIMARY KEY,
    epoch  bigint      NOT NULL, -- of the Redis that has all reservations of the node
    acked  bigint      NOT NULL, -- number of the last call that this Redis answered
    seen   timestamptz NOT NULL,
    closed boolean     NOT NULL -- the node shut down in order
) WITH (fillfactor = 50);

-- One row per page of a node's journal: upper limits of its reservations, as far as they changed
-- since the page before. The node writes it. An entry has 29 bytes, big endian: campaign (16),
-- minute of the auction (4), duration in minutes plus 128 for a bid (1), micro-USD (8). Entries of
-- later pages replace earlier ones.
CREATE TABLE reservation_page (
    node    text        NOT NULL,
    page    bigint      NOT NULL,
    written timestamptz NOT NULL DEFAULT clock_timestamp(),
    entries bytea       NOT NULL,
    PRIMARY KEY (node, page)
);
CREATE INDEX reservation_page_written ON reservation_page (written);
-- Uncompressed: ids do not shrink, and most pages are never read.
ALTER TABLE reservation_page ALTER COLUMN entries SET STORAGE EXTERNAL;

-- One row: the last time at which a projector reached this database. The row's lock puts several
-- projectors in order.
CREATE TABLE reservation_watch (
    only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    last     timestamptz NOT NULL
);
INSERT INTO reservation_watch (last) VALUES (clock_timestamp());

-- One row per period in which nodes saw no working projector, so that they may have reserved beyond
-- their pages. The projector writes it when it returns.
CREATE TABLE reservation_gap (
    began timestamptz NOT NULL,
    ended timestamptz NOT NULL
);


---------------------------------------------------------------------------------------------------
-- Billing marks and settlement
---------------------------------------------------------------------------------------------------

-- The next offset of each partition that settlement has not applied. It moves by compare-and-set as
-- the first statement of the applying transaction: the fence that lets one process apply a range.
CREATE TABLE consumer_offset (
    stream      text    COLLATE "C" NOT NULL,
    partition   integer NOT NULL,
    next_offset bigint  NOT NULL CHECK (next_offset >= 0),
    PRIMARY KEY (stream, partition)
) WITH (fillfactor = 50);

-- One row per applied range: the verdict on each of its records. Settlement writes it in the
-- transaction that moves consumer_offset, so ranges neither overlap nor leave gaps. Retention
-- removes archived ranges.
CREATE TABLE applied_batch (
    stream       text        COLLATE "C" NOT NULL,
    partition    integer     NOT NULL,
    first_offset bigint      NOT NULL CHECK (first_offset >= 0),
    next_offset  bigint      NOT NULL CHECK (next_offset > first_offset),
    outcomes     bytea       NOT NULL, -- codec of internal/store/postgres/ledger_outcomes.go
    applied_at   timestamptz NOT NULL,
    PRIMARY KEY (stream, partition, first_offset)
);
-- The codec already packs. A second compression would only cost CPU time of settlement.
ALTER TABLE applied_batch ALTER COLUMN outcomes SET STORAGE EXTERNAL;

-- Events that overtook the impression or the click that they need. Settlement stores one in the
-- transaction of its batch, at most 4 of an auction, and judges it when that event comes or 15
-- minutes are over: then it has an offset of stream 'early', whose outcome is in applied_batch. The
-- archive removes judged rows. A held event waits for the decision of a case about its campaign's
-- acts, for at most 28 days.
CREATE TABLE early_event (
    id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream           text        COLLATE "C" NOT NULL,
    partition        integer     NOT NULL,
    record_offset    bigint      NOT NULL,
    auction_id       uuid        NOT NULL,
    written_at       timestamptz NOT NULL, -- to the log
    value            bytea       NOT NULL, -- the record
    campaign_id      uuid        NOT NULL,
    developer_id     uuid        NOT NULL,
    held             boolean     NOT NULL,
    judged_partition integer,
    judged_offset    bigint,
    UNIQUE (stream, partition, record_offset),
    CHECK ((judged_partition IS NULL) = (judged_offset IS NULL))
);
CREATE INDEX early_event_waiting ON early_event (auction_id) WHERE judged_offset IS NULL;
CREATE INDEX early_event_held ON early_event (campaign_id, developer_id) WHERE held AND judged_offset IS NULL;
CREATE UNIQUE INDEX early_event_judged ON early_event (judged_partition, judged_offset) WHERE judged_offset IS NOT NULL;

-- The place in stream 'early' of each judged event, by its place in the log. `adnet reconcile`
-- reads it. Retention removes it with the outcome.
CREATE TABLE early_verdict (
    stream           text    COLLATE "C" NOT NULL,
    partition        integer NOT NULL,
    record_offset    bigint  NOT NULL,
    judged_partition integer NOT NULL,
    judged_offset    bigint  NOT NULL,
    PRIMARY KEY (stream, partition, record_offset)
);
CREATE INDEX early_verdict_judged ON early_verdict (judged_partition, judged_offset);

-- The deduplication marks: one row per auction and type of an applied event, of conversions one per
-- type and external id. Settlement adds it in the transaction of the event's effect, so an event
-- counts once. Two kinds of marks stay out of the comparison of marks with first events: invalid
-- traffic has types of its own (invalid_impression, invalid_click, …), which also count once per
-- auction, and charged_conversion marks an auction of which a conversion was charged.
--
-- Each auction day has a partition; day 0 has the ids without a time. There is no DEFAULT
-- partition: rows in it would keep the day's own partition from being attached, and each later
-- attach would scan it under an exclusive lock while settlement waits.
CREATE TABLE billed_event (
    auction_day integer NOT NULL,
    auction_id  uuid    NOT NULL,
    event_type  text    COLLATE "C" NOT NULL,
    PRIMARY KEY (auction_day, auction_id, event_type)
) PARTITION BY LIST (auction_day);

-- Adds the partition of a day, with the owner's rights: the application's role cannot create
-- tables. The partition is built on its own and then attached, which does not stop settlement
-- (SHARE UPDATE EXCLUSIVE on the parent). CREATE TABLE … PARTITION OF would (ACCESS EXCLUSIVE).
CREATE FUNCTION billed_event_add_day(day integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
        DECLARE
            name text := 'billed_event_' || CASE WHEN day < 0 THEN 'm' ELSE '' END || abs(day);
        BEGIN
            PERFORM pg_advisory_xact_lock(x'61646e657464'::bigint); -- across processes: "adnet" and 'd' in ASCII
            IF to_regclass(name) IS NULL THEN
                EXECUTE format('CREATE TABLE %I (LIKE billed_event INCLUDING ALL, CHECK (auction_day = %s))', name, day);
                EXECUTE format('ALTER TABLE billed_event ATTACH PARTITION %I FOR VALUES IN (%s)', name, day);
            END IF;
        END $$;
REVOKE ALL ON FUNCTION billed_event_add_day(integer) FROM PUBLIC;

-- One row: events of auctions before this day are refused, because their marks may be gone.
-- Settlement reads it under a shared lock; retention raises it under the exclusive lock before it
-- drops marks. So a dropped mark never makes a repeat new. 0 drops nothing.
CREATE TABLE retention_horizon (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    day      integer NOT NULL
);
INSERT INTO retention_horizon (day) VALUES (0);
CREATE FUNCTION retention_horizon_rises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.day < OLD.day THEN
        RAISE EXCEPTION 'the retention horizon only rises' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER retention_horizon_rises BEFORE UPDATE OR DELETE ON retention_horizon
    FOR EACH ROW EXECUTE FUNCTION retention_horizon_rises();

-- Sums of the verdicts, marks and dead letters that retention removed, so that `adnet verify` and
-- the comparison with the analytics store still add up.
CREATE TABLE pruned_total (
    name   text   COLLATE "C" PRIMARY KEY,
    amount bigint NOT NULL -- number of removed rows or records
);

-- Drops the marks of a day before the horizon, with the owner's rights: the application's role
-- cannot drop tables. Returns the numbers of the day's marks, without invalid traffic, and of its
-- marks of impressions, and adds them to pruned_total.
CREATE FUNCTION billed_event_drop_day(gone integer, OUT marks bigint, OUT impressions bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
        DECLARE
            name text := 'billed_event_' || CASE WHEN gone < 0 THEN 'm' ELSE '' END || abs(gone);
        BEGIN
            IF gone = 0 OR gone >= (SELECT day FROM retention_horizon) THEN
                RAISE EXCEPTION 'marks of day % may still be needed', gone USING ERRCODE = 'check_violation';
            END IF;
            PERFORM pg_advisory_xact_lock(x'61646e657464'::bigint); -- with billed_event_add_day
            marks := 0; impressions := 0;
            IF to_regclass(name) IS NOT NULL THEN
                EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
                EXECUTE format('SELECT count(*) FILTER (WHERE event_type NOT LIKE ''invalid%%'' AND event_type <> ''charged_conversion''), count(*) FILTER (WHERE event_type = ''impression'') FROM %I', name)
                    INTO marks, impressions;
                EXECUTE format('DROP TABLE %I', name);
                INSERT INTO pruned_total AS p (name, amount) VALUES ('marks', marks), ('marked_impressions', impressions)
                    ON CONFLICT ON CONSTRAINT pruned_total_pkey DO UPDATE SET amount = p.amount + EXCLUDED.amount;
            END IF;
        END $$;
REVOKE ALL ON FUNCTION billed_event_drop_day(integer) FROM PUBLIC;

-- Charged conversions per campaign, publisher and UTC hour of receipt, for the hourly cap.
-- Settlement writes it under the lock of the campaign's row in campaign_total.
CREATE TABLE conversion_hour (
    campaign_id  uuid    NOT NULL,
    developer_id uuid    NOT NULL, -- the nil UUID without a known publisher
    hour         integer NOT NULL,
    charged      bigint  NOT NULL CHECK (charged > 0), -- number of conversions
    PRIMARY KEY (campaign_id, developer_id, hour)
) WITH (fillfactor = 50);
CREATE INDEX conversion_hour_age ON conversion_hour (hour);

-- Clicks of networks per campaign and UTC day of receipt: settlement charges a bounded number of each
-- network, whatever Redis counted. Only clicks that cost something or permit a conversion. Retention
-- removes rows after 9 days.
CREATE TABLE network_clicks (
    day          integer NOT NULL,
    campaign_id  uuid    NOT NULL,
    network_mark integer NOT NULL, -- 16 bits of a hash of network and campaign, keyed by the day, and 1; 0 when unknown
    clicks       bigint  NOT NULL CHECK (clicks > 0),
    PRIMARY KEY (day, campaign_id, network_mark)
) WITH (fillfactor = 70);

-- Counts of unverified events (without a token, or with an invalid one) per campaign and minute.
-- The events themselves are not stored, because a caller can send any number. A node adds at most
-- 512 rows a minute and removes rows after 30 days.
CREATE TABLE unproven_minute (
    campaign_id uuid    NOT NULL, -- as in the event; the nil UUID for an unknown campaign
    reason      text    COLLATE "C" NOT NULL, -- unsigned, bad_signature, key_expired, bad_click_id
    minute      integer NOT NULL, -- of receipt
    events      bigint  NOT NULL CHECK (events > 0),
    sample      jsonb, -- one of 1,000 events of a node
    PRIMARY KEY (campaign_id, minute, reason)
) WITH (fillfactor = 80);
CREATE INDEX unproven_minute_minute ON unproven_minute (minute);

-- One row per record that could not be decoded. Settlement writes it in the transaction of its
-- range, nodes and `adnet dlq` when it is sent again, which keeps the row. Retention removes old
-- rows.
CREATE TABLE dlq (
    stream            text        COLLATE "C" NOT NULL,
    partition         integer     NOT NULL,
    record_offset     bigint      NOT NULL,
    problem           text        NOT NULL,
    raw               bytea       NOT NULL,
    at                timestamptz NOT NULL,
    replay_started_at timestamptz,
    replayed_at       timestamptz,
    replayed_by       text,
    replays           integer     NOT NULL DEFAULT 0,
    PRIMARY KEY (stream, partition, record_offset)
);
CREATE INDEX dlq_age ON dlq (at);

-- The archive's progress per partition. Everything below archived_next is in the analytics store;
-- [archived_next, planned_to) is the chunk that is being inserted, fixed before its first try. Rows
-- with the same plan are one insert and are marked together. The archive writes it, so a retry by
-- any process inserts the same block under the same token.
CREATE TABLE archive_progress (
    stream        text    COLLATE "C" NOT NULL,
    partition     integer NOT NULL,
    archived_next bigint  NOT NULL CHECK (archived_next >= 0),
    planned_to    bigint  CHECK (planned_to > archived_next),
    plan          uuid,
    PRIMARY KEY (stream, partition),
    CHECK ((plan IS NULL) = (planned_to IS NULL))
);
CREATE INDEX archive_progress_plan ON archive_progress (plan) WHERE plan IS NOT NULL;

-- At most one row: while it is held, the archive plans no chunk. `adnet backup` takes it, so that
-- both stores are copied at one watermark, and so does `adnet reconcile`.
CREATE TABLE archive_hold (
    only_row   boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    holder     uuid        NOT NULL,
    held_until timestamptz NOT NULL -- the holder renews it
);


---------------------------------------------------------------------------------------------------
-- Publishers, Credits and quarantine
---------------------------------------------------------------------------------------------------

-- One row per account with rules for the ads in its placements; its seats share them. Nodes write
-- it.
CREATE TABLE publisher_blocks (
    user_id    uuid  PRIMARY KEY REFERENCES app_user (id),
    blocks     jsonb NOT NULL DEFAULT '{}', -- ads that it does not show: account.Blocks
    publishing jsonb NOT NULL DEFAULT '{}' -- requirements on ads: account.Publishing
);

-- Sums of settlement's verdicts per publisher and UTC day of receipt, see traffic.PublisherDay.
-- Settlement and the release of Credits write it. The row's lock is the one under which the daily
-- mint cap is counted.
CREATE TABLE publisher_day (
    developer_id uuid    NOT NULL,
    day          integer NOT NULL,
    -- Credits: minted = in_case + gone + released + pending.
    minted       bigint  NOT NULL DEFAULT 0 CHECK (minted >= 0),
    capped       bigint  NOT NULL DEFAULT 0 CHECK (capped >= 0), -- impressions above the mint cap
    impressions  bigint  NOT NULL DEFAULT 0 CHECK (impressions >= 0),
    clicks       bigint  NOT NULL DEFAULT 0 CHECK (clicks >= 0),
    -- Auctions with an invalid impression and no valid one before, and those of them that a valid
    -- impression followed.
    invalid      bigint  NOT NULL DEFAULT 0 CHECK (invalid >= 0),
    redeemed     bigint  NOT NULL DEFAULT 0 CHECK (redeemed >= 0),
    in_case      bigint  NOT NULL DEFAULT 0 CHECK (in_case >= 0), -- Credits in the open case
    gone         bigint  NOT NULL DEFAULT 0, -- Credits expired or clawed back
    released     bigint  NOT NULL DEFAULT 0 CHECK (released >= 0), -- Credits, see credit_lot
    credit_moves bigint  NOT NULL DEFAULT 0, -- numbers the transactions that move the day's Credits
    credit_due   boolean NOT NULL DEFAULT false, -- settlement sets it, the release clears it
    -- Traffic of browser keys: part of the sums above, except invalid traffic, which counts only
    -- here. Quarantine rules leave it out, because a page shows its key to all readers.
    browser_minted      bigint NOT NULL DEFAULT 0,
    browser_impressions bigint NOT NULL DEFAULT 0,
    browser_clicks      bigint NOT NULL DEFAULT 0,
    browser_invalid     bigint NOT NULL DEFAULT 0,
    readers             bigint NOT NULL DEFAULT 0, -- valid events that readers' devices sent
    PRIMARY KEY (developer_id, day)
) WITH (fillfactor = 50);
CREATE INDEX publisher_day_day ON publisher_day (day);
CREATE INDEX publisher_day_credit_due ON publisher_day (developer_id, day) WHERE credit_due;

-- One row per change of a publisher's daily mint cap by an administrator; the newest row applies.
-- Nodes write it. Append only.
CREATE TABLE mint_cap (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    developer_id uuid        NOT NULL,
    cap          bigint      CHECK (cap >= 0), -- Credits; NULL: the installation's cap
    set_by       uuid        NOT NULL,
    note         text        NOT NULL,
    set_at       timestamptz NOT NULL
);
CREATE INDEX mint_cap_developer ON mint_cap (developer_id, id DESC);
CREATE TRIGGER mint_cap_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON mint_cap
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only();

-- The votes of publishers in rules that count publishers (internal/ledger/standing); one without a row has
-- none. The consumer of standing writes it.
CREATE TABLE publisher_vote (
    developer_id uuid   PRIMARY KEY,
    vote         bigint NOT NULL CHECK (vote BETWEEN 1 AND 1000000) -- millionths
);

-- The charges of each payer for a publisher's traffic of a day: they back the day's Credits.
-- Settlement adds charges; claw-backs and the release of Credits write the other two sums.
CREATE TABLE credit_source (
    developer_id  uuid    NOT NULL,
    day           integer NOT NULL, -- UTC day of receipt
    advertiser_id uuid    NOT NULL,
    by_credits    boolean NOT NULL, -- paid from the advertiser's Credits
    charged       bigint  NOT NULL CHECK (charged >= 0),
    refunded      bigint  NOT NULL DEFAULT 0 CHECK (refunded >= 0), -- by claw-backs
    unbacked      bigint  NOT NULL DEFAULT 0 CHECK (unbacked >= 0), -- the part that the payer owes
    PRIMARY KEY (developer_id, day, advertiser_id, by_credits)
) WITH (fillfactor = 50);
CREATE INDEX credit_source_day ON credit_source (day);
CREATE INDEX credit_source_payer ON credit_source (advertiser_id, by_credits, day);

-- One row per lot of released Credits of a publisher's day. The release of Credits and the funding
-- of campaigns write it. Lots keep released Credits worth no more than the charges that back them.
CREATE TABLE credit_lot (
    developer_id uuid        NOT NULL,
    day          integer     NOT NULL,
    value        bigint      NOT NULL CHECK (value >= 0), -- micro-USD of one Credit at its release
    until        timestamptz NOT NULL, -- end of the hold; -infinity: spendable
    long         boolean     NOT NULL, -- longer hold: one advertiser paid over a quarter of the day
    amount       bigint      NOT NULL CHECK (amount >= 0), -- Credits released and not taken back
    remaining    bigint      NOT NULL CHECK (remaining <= amount), -- unspent; < 0: a debt
    PRIMARY KEY (developer_id, day, value, until, long)
) WITH (fillfactor = 50);
CREATE INDEX credit_lot_until ON credit_lot (until) WHERE until > '-infinity';
CREATE INDEX credit_lot_debt ON credit_lot (developer_id) WHERE remaining < 0;

-- The debt of each payer as last spread over credit_source.unbacked. The release of Credits writes
-- it.
CREATE TABLE credit_debt (
    advertiser_id uuid    NOT NULL,
    by_credits    boolean NOT NULL,
    owed          bigint  NOT NULL CHECK (owed >= 0),
    spread        bigint  NOT NULL CHECK (spread >= 0),
    PRIMARY KEY (advertiser_id, by_credits)
);

-- One row per quarantine case of a publisher: Credits minted while it is open are held, or a
-- campaign's acts at the publisher wait. The
-- consumer of quarantine rules or an administrator opens it; an administrator decides it.
-- Settlement shares the row of the open case while it applies and a decision locks it exclusively,
-- so no Credit is held for a decided case.
CREATE TABLE quarantine (
    id           uuid        PRIMARY KEY,
    developer_id uuid        NOT NULL,
    rule         text        COLLATE "C" NOT NULL,
    evidence     jsonb       NOT NULL, -- ledger.Evidence
    opened_at    timestamptz NOT NULL,
    decision     text        COLLATE "C" CHECK (decision IN ('release', 'clawback')), -- NULL: open
    decided_at   timestamptz,
    decided_by   uuid,
    note         text        NOT NULL DEFAULT '',
    campaign_id  uuid, -- the campaign whose acts at the publisher wait; NULL: the publisher's Credits are held
    CHECK ((decision IS NULL) = (decided_at IS NULL) AND (decision IS NULL) = (decided_by IS NULL))
);
CREATE UNIQUE INDEX quarantine_open ON quarantine (developer_id) WHERE decision IS NULL AND campaign_id IS NULL;
CREATE UNIQUE INDEX quarantine_acts_open ON quarantine (campaign_id, developer_id)
    WHERE decision IS NULL AND campaign_id IS NOT NULL;
CREATE INDEX quarantine_acts ON quarantine (campaign_id, developer_id) WHERE campaign_id IS NOT NULL;
CREATE INDEX quarantine_developer ON quarantine (developer_id, opened_at DESC);

-- A case is opened once and decided once. Nothing else in it changes.
CREATE FUNCTION quarantine_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'UPDATE' OR OLD.decision IS NOT NULL OR NEW.decision IS NULL
        OR (NEW.id, NEW.developer_id, NEW.rule, NEW.evidence, NEW.opened_at, NEW.campaign_id) IS DISTINCT FROM (OLD.id, OLD.developer_id, OLD.rule, OLD.evidence, OLD.opened_at, OLD.campaign_id) THEN
        RAISE EXCEPTION 'a quarantine case is decided once' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER quarantine_once BEFORE UPDATE OR DELETE ON quarantine
    FOR EACH ROW EXECUTE FUNCTION quarantine_once();

-- The charges for the traffic of a case, one row per ledger transaction and day of the budget.
-- Settlement writes it; a claw-back refunds exactly these rows and reopens the budgets of these
-- days.
CREATE TABLE quarantine_source (
    seq            bigint  GENERATED ALWAYS AS IDENTITY,
    quarantine_id  uuid    NOT NULL REFERENCES quarantine (id),
    transaction_id uuid    NOT NULL, -- without a foreign key, as in ledger_entry
    campaign_id    uuid    NOT NULL,
    day            integer NOT NULL, -- UTC day of the charge
    amount         bigint  NOT NULL CHECK (amount > 0),
    PRIMARY KEY (quarantine_id, transaction_id, day)
);


---------------------------------------------------------------------------------------------------
-- Learning and ranking
---------------------------------------------------------------------------------------------------

-- One row per version of learned weights. The nightly training and `adnet train` write it; nodes
-- follow the stages. At most one version is on trial and at most one is live.
CREATE TABLE ranking_weights (
    number   bigint      PRIMARY KEY CHECK (number > 0),
    stage    text        COLLATE "C" NOT NULL
        CHECK (stage IN ('refused', 'shadow', 'part', 'all', 'live', 'retired')),
    made_at  timestamptz NOT NULL,
    stage_at timestamptz NOT NULL, -- of the last change of stage
    report   jsonb       NOT NULL,
    data     bytea       NOT NULL -- the encoded weights
);
CREATE UNIQUE INDEX ranking_weights_trial ON ranking_weights ((true))
    WHERE stage IN ('shadow', 'part', 'all');
CREATE UNIQUE INDEX ranking_weights_live ON ranking_weights ((true)) WHERE stage = 'live';

-- The state of the control loop that steers a campaign's bids towards its goal. The consumer of
-- goals writes it with the goal columns of the campaign.
CREATE TABLE goal_state (
    campaign_id uuid  PRIMARY KEY REFERENCES campaign (id),
    state       jsonb NOT NULL
);


---------------------------------------------------------------------------------------------------
-- Reports, audit, idempotency, mail, operations
---------------------------------------------------------------------------------------------------

-- One row per reader's report against an ad, at most one per auction, by its receipt. Nodes write
-- it and retention removes old rows. A report counts if the auction has a mark of a valid
-- impression, which may be settled after the report.
CREATE TABLE ad_report (
    auction_id    uuid        PRIMARY KEY,
    auction_day   integer     NOT NULL,
    campaign_id   uuid        NOT NULL,
    advertiser_id uuid        NOT NULL,
    developer_id  uuid        NOT NULL,
    network       bytea       NOT NULL CHECK (octet_length(network) = 16), -- keyed hash with campaign and day
    headline      text        NOT NULL,
    reason        text        COLLATE "C" NOT NULL,
    text          text        NOT NULL,
    email         text        NOT NULL, -- removed with the decision, or after 90 days
    at            timestamptz NOT NULL,
    counted       boolean     NOT NULL DEFAULT false,
    outcome       text        COLLATE "C" CHECK (outcome IN ('kept', 'removed')), -- NULL: waits
    decided_by    uuid,
    decided_at    timestamptz
);
CREATE INDEX ad_report_waiting ON ad_report (campaign_id, at) WHERE outcome IS NULL;
CREATE INDEX ad_report_email ON ad_report (at) WHERE email <> '';
CREATE INDEX ad_report_age ON ad_report (at);

-- One row per change by an owner, an administrator, a payment provider, a command or the system
-- itself, written in the transaction of the change. It contains no secrets. Append only, except for
-- the erasure of an account.
CREATE TABLE audit_log (
    seq         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor_id    uuid, -- account; NULL for a caller without a login, a command or the system
    actor_role  text        COLLATE "C" NOT NULL,
    actor_name  text        NOT NULL, -- for a command, the user of the operating system
    via         text        COLLATE "C" NOT NULL CHECK (via IN ('api', 'cli', 'system')),
    network     text        COLLATE "C" NOT NULL, -- the caller's IPv4 /24 or IPv6 /56
    action      text        COLLATE "C" NOT NULL, -- route and action, or command
    request_id  text        COLLATE "C" NOT NULL,
    target_kind text        COLLATE "C" NOT NULL,
    target_id   text        COLLATE "C" NOT NULL,
    owner_id    uuid, -- account that owns the target
    changes     jsonb       NOT NULL -- field → {before, after}
);
CREATE INDEX audit_log_owner ON audit_log (owner_id, seq);
CREATE INDEX audit_log_actor ON audit_log (actor_id, seq);
CREATE INDEX audit_log_target ON audit_log (target_kind, target_id, seq);
-- Lets account_forget update rows. The application's role has no right to update one.
CREATE FUNCTION audit_log_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('adnet.forgets', true) = 'yes' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_append_only();

-- Removes the personal data of an erased account with the owner's rights; the books stay. It
-- accepts only an account that is disabled and has no e-mail any more. It may run again.
CREATE FUNCTION account_forget(erased uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET adnet.forgets = 'yes' AS $$
        BEGIN
            IF NOT EXISTS (SELECT FROM app_user WHERE id = erased AND disabled AND email = 'erased-' || erased || '@erased.invalid') THEN
                RAISE EXCEPTION 'account % is not erased', erased USING ERRCODE = 'check_violation';
            END IF;
            DELETE FROM login_network WHERE user_id = erased;
            UPDATE account_mark SET ends_at = now() + interval '90 days' WHERE account_id = erased AND ends_at IS NULL;
            UPDATE api_key SET name = '' WHERE owner_id = erased AND name <> '';
            UPDATE deposit SET return_url = '' WHERE advertiser_id = erased AND return_url <> '';
            UPDATE audit_log SET actor_name = '', network = '' WHERE actor_id = erased AND (actor_name <> '' OR network <> '');
            UPDATE audit_log SET changes = changes || '{"email": {"before": "(erased)", "after": "(erased)"}}'
                WHERE target_kind = 'user' AND target_id = erased::text AND changes ? 'email';
            UPDATE audit_log SET changes = changes || '{"name": {"before": "(erased)", "after": "(erased)"}}'
                WHERE target_kind IN ('key', 'campaign') AND owner_id = erased AND changes ? 'name';
        END $$;
REVOKE ALL ON FUNCTION account_forget(uuid) FROM PUBLIC;

-- One row per idempotency key of a caller and route. Nodes write it; retention removes old rows.
-- The transaction of the effect writes effect_kind if attempt is still its own, so a call whose row
-- another call took over cannot commit its effect.
CREATE TABLE idempotency_key (
    id           bytea       PRIMARY KEY CHECK (octet_length(id) = 32), -- hash: caller, route, key
    fingerprint  bytea       NOT NULL -- keyed hash of the request
        CHECK (octet_length(fingerprint) = 32),
    attempt      uuid        NOT NULL,
    created_at   timestamptz NOT NULL,
    leased_until timestamptz NOT NULL,
    effect_kind  text        COLLATE "C",
    effect_id    text        COLLATE "C",
    status       integer, -- HTTP status; NULL while the first call runs
    content_type text,
    reply        bytea, -- encrypted with a key derived from the idempotency key
    scope        bytea       CHECK (octet_length(scope) = 32) -- hash of the account or network
);
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);
CREATE INDEX idempotency_key_scope ON idempotency_key (scope, created_at);

-- One row per mailed and unused link. Nodes write it. A registration creates its account when the
-- link is used, so every account has a confirmed e-mail where the installation requires one. A
-- notice is an e-mail without a link: its row makes both cases take the same time.
CREATE TABLE mail_link (
    hash          bytea       PRIMARY KEY CHECK (octet_length(hash) = 32), -- of the token
    purpose       text        NOT NULL CHECK (purpose IN ('register', 'reset', 'notice')),
    email         text        NOT NULL,
    user_id       uuid        REFERENCES app_user (id), -- of a reset
    password_hash text        NOT NULL, -- of a registration
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    network       text        NOT NULL, -- /24 or /56 of the caller; empty if unknown
    CHECK ((purpose = 'reset') = (user_id IS NOT NULL)),
    CHECK ((purpose = 'register') = (password_hash <> ''))
);
CREATE INDEX mail_link_email ON mail_link (email);
CREATE INDEX mail_link_expires ON mail_link (expires_at);

-- One row per run of `adnet verify` by the consumers, every night or on request of an
-- administrator. A row without started_at waits. A row without ended_at runs; after an hour its
-- process is taken for dead. The newest 60 rows are kept.
CREATE TABLE verification (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asked_by   uuid, -- account; NULL for the nightly run
    asked_at   timestamptz NOT NULL,
    started_at timestamptz,
    ended_at   timestamptz,
    checks     jsonb, -- list of {name, want, got, detail}
    problem    text        NOT NULL DEFAULT ''
);
