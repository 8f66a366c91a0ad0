-- Logins that work. Ending one removes its row; one of an earlier version of its user's tokens has ended, too. strong
-- says that a second factor was shown. network is IPv4 /24 or IPv6 /56, as in the audit log.
CREATE TABLE login_session (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES app_user (id),
    version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    network text NOT NULL,
    agent text NOT NULL,
    strong boolean NOT NULL
);
CREATE INDEX login_session_user ON login_session (user_id, created_at);
