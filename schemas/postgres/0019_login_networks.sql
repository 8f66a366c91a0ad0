-- From which networks (IPv4 /24, IPv6 /56) an account was logged in to. A limit on the wrong passwords of an account
-- leaves them out, so that a stranger's guesses lock nobody out. network is a hash over the account's id, too.
CREATE TABLE login_network (
    user_id uuid NOT NULL REFERENCES app_user (id),
    network bytea NOT NULL CHECK (octet_length(network) = 16),
    good_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, network)
);
