-- The review queue also has live campaigns that the policy check holds: few of many.
CREATE INDEX campaign_waiting ON campaign (created_at DESC, id DESC)
    WHERE status IN ('active', 'paused') AND policy_violations @? '$[*] ? (!(@.holds == true))';
