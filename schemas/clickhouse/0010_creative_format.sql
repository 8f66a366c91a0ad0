-- What was asked for and what was shown are two things. Bids that were recorded before this column have the creative's
-- format in format, and an empty one where nothing won.
ALTER TABLE auctions ADD COLUMN IF NOT EXISTS creative_format LowCardinality(String) COMMENT 'format of the winner''s creative: image, video, native; empty when not filled' AFTER format;
ALTER TABLE auctions COMMENT COLUMN IF EXISTS format 'format that was asked for: embed, card, text, native, banner; of a bid request the kinds of markup that the imp takes, native, banner, video, joined by +';
