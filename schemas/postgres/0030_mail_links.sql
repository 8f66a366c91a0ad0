-- Links that were mailed and not used: to confirm the e-mail of a registration, or to set a new password. Of the token
-- there is a hash. A registration makes its account when the link is used, so that every account has a confirmed e-mail
-- where that is required; those of before count as confirmed. A notice stands for an e-mail that got no link: it takes
-- the same time.
CREATE TABLE mail_link (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    purpose text NOT NULL CHECK (purpose IN ('register', 'reset', 'notice')),
    email text NOT NULL,
    user_id uuid REFERENCES app_user (id),
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CHECK ((purpose = 'reset') = (user_id IS NOT NULL)),
    CHECK ((purpose = 'register') = (password_hash <> ''))
);
CREATE INDEX mail_link_email ON mail_link (email);
CREATE INDEX mail_link_expires ON mail_link (expires_at);
