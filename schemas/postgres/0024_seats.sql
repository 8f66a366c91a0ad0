-- Each exchange that sends bid requests is an account of its own: a seat. It never logs in, its keys are of it, and its
-- publisher side has Credits, quarantine and stats of its own. The owner is the account that it was made for.
ALTER TABLE app_user ADD COLUMN parent_id uuid REFERENCES app_user (id);
ALTER TABLE app_user DROP CONSTRAINT app_user_role_check;
ALTER TABLE app_user ADD CONSTRAINT app_user_role_check CHECK (role IN ('advertiser', 'admin', 'seat')),
    ADD CONSTRAINT app_user_seat CHECK ((role = 'seat') = (parent_id IS NOT NULL));
CREATE INDEX app_user_parent ON app_user (parent_id) WHERE parent_id IS NOT NULL;

-- Keys that stand in a path, and from where they are taken (CIDR): an empty list is from anywhere.
ALTER TABLE api_key DROP CONSTRAINT api_key_kind_check;
ALTER TABLE api_key ADD CONSTRAINT api_key_kind_check CHECK (kind IN ('publisher', 'seat', 'conversion', 'seatpath'));
ALTER TABLE api_key ADD COLUMN addresses cidr[] NOT NULL DEFAULT '{}',
    ADD CONSTRAINT api_key_addresses CHECK (addresses = '{}' OR kind = 'seatpath');

-- Until now a seat was a key of its owner's account. What was earned stays with the owner; an open quarantine and the
-- newest mint cap go along with each seat.
CREATE TEMP TABLE split ON COMMIT DROP AS
    SELECT id AS key_id, owner_id, developer_id AS owner_developer, created_at, gen_random_uuid() AS seat_id, gen_random_uuid() AS developer_id
    FROM api_key WHERE kind = 'seat';
INSERT INTO app_user (id, developer_id, email, password_hash, role, disabled, token_version, created_at, parent_id)
    SELECT s.seat_id, s.developer_id, s.seat_id || '@seats.invalid', '', 'seat', u.disabled, 1, s.created_at, s.owner_id
    FROM split s JOIN app_user u ON u.id = s.owner_id;
UPDATE api_key k SET owner_id = s.seat_id, developer_id = s.developer_id FROM split s WHERE k.id = s.key_id;
INSERT INTO quarantine (id, developer_id, rule, evidence, opened_at)
    SELECT gen_random_uuid(), s.developer_id, q.rule, q.evidence, q.opened_at
    FROM split s JOIN quarantine q ON q.developer_id = s.owner_developer AND q.decision IS NULL;
INSERT INTO mint_cap (developer_id, cap, set_by, note, set_at)
    SELECT s.developer_id, c.cap, c.set_by, c.note, c.set_at FROM split s
    CROSS JOIN LATERAL (SELECT * FROM mint_cap m WHERE m.developer_id = s.owner_developer ORDER BY m.id DESC LIMIT 1) c;
