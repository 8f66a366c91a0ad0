-- Campaigns that an administrator had paused before pauses were kept as findings (`paused_by_administrator`): their
-- owners cannot resume them either. The audit log has had every change since 0008: a campaign is paused by who changed
-- its status last. What its owner paused, or an administrator of its own, stays the owner's to resume.
WITH stopped AS (
    SELECT c.id, h.version + row_number() OVER (ORDER BY c.config_version) AS version
    FROM campaign c CROSS JOIN config_head h CROSS JOIN LATERAL (
        SELECT a.actor_id, a.actor_role, a.changes -> 'status' ->> 'after' AS status FROM audit_log a
        WHERE a.target_kind = 'campaign' AND a.target_id = c.id::text AND a.changes ? 'status'
        ORDER BY a.seq DESC LIMIT 1
    ) last
    WHERE c.status = 'paused' AND last.status = 'paused' AND last.actor_role = 'admin' AND last.actor_id <> c.advertiser_id
      AND NOT c.policy_violations @? '$[*] ? (@.rule == "paused_by_administrator" || @.rule == "held_by_administrator")'
)
UPDATE campaign SET config_version = s.version, policy_violations = policy_violations || jsonb_build_array(jsonb_build_object(
    'rule', 'paused_by_administrator', 'field', 'status', 'holds', true,
    'message', 'an administrator has paused the campaign; its owner reads why under Decisions'))
FROM stopped s WHERE s.id = campaign.id;
-- A new version of each makes the projection tell the nodes.
UPDATE config_head SET version = greatest(version, coalesce((SELECT max(config_version) FROM campaign), version));
