-- The name that an administrator let an account's ads say: models read it. It is company, else
-- display_name, as it was looked at; empty without approval. Verified says that who is behind it was
-- checked.
ALTER TABLE app_user ADD COLUMN approved_name text NOT NULL DEFAULT '';
ALTER TABLE app_user ADD COLUMN name_verified boolean NOT NULL DEFAULT false;
