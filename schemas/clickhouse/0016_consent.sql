-- What an auction may remember of its reader is seen afterwards, without the texts that said it.
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS consent LowCardinality(String) COMMENT 'what the signals of consent said: of given, gdpr, no_storage, child, opt_out, malformed, separated by commas; empty when there were none';
