-- What an account keeps is limited by its size, too. Rows of the build before have none, and are measured when asked.
ALTER TABLE campaign ADD COLUMN targeting_size integer;

-- Whose an idempotency key is: a hash of the account or the network. Rows of the build before have none.
ALTER TABLE idempotency_key ADD COLUMN scope bytea CHECK (octet_length(scope) = 32);
CREATE INDEX idempotency_key_scope ON idempotency_key (scope, created_at);
