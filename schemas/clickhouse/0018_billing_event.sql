-- What a campaign pays for may be a view.
ALTER TABLE events COMMENT COLUMN IF EXISTS billing_model 'cpm, cpc, cpa, or vcpm: cpm that is paid on view';
