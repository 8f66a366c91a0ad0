-- What an account calls itself: receipts show it in place of an id. Nothing checks it.
ALTER TABLE app_user ADD COLUMN display_name text NOT NULL DEFAULT '';
ALTER TABLE app_user ADD COLUMN company text NOT NULL DEFAULT '';
