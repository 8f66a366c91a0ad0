-- Keys of publishers who do not want ranking to learn from what is asked with them.
ALTER TABLE api_key ADD COLUMN unlearned boolean NOT NULL DEFAULT false;
