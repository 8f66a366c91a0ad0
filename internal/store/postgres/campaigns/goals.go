package campaigns

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/campaign"
	"adnet/internal/store/postgres/pg"
)

// campaign_goals indexes them.
var selectPursued = SelectCampaigns + ` WHERE c.status = 'active' AND c.optimization_goal <> 'manual' ORDER BY c.id`

const (
	selectGoalStates = `SELECT campaign_id, state FROM goal_state`

	// In the order of ids, so that processes that write the same states cannot deadlock.
	keepGoalStates = `INSERT INTO goal_state (campaign_id, state) SELECT id, state FROM unnest($1::uuid[],
		$2::jsonb[]) AS s (id, state) ORDER BY id
		ON CONFLICT (campaign_id) DO UPDATE SET state = EXCLUDED.state`

	// The campaign's row is locked before the head, as in UpdateCampaign.
	lockSeen    = `SELECT id FROM campaign WHERE id = $1 AND config_version = $2 FOR UPDATE`
	keepPursuit = `UPDATE campaign SET goal_multiplier = $2, goal_price = $3, goal_conversions = $4, config_version = $5 WHERE id = $1`
)

// PursuedGoals lists the active campaigns with a goal, with the state of their control.
func (s *Campaigns) PursuedGoals(ctx context.Context) ([]campaign.GoalRecord, error) {
	campaigns, err := readCampaigns(ctx, s.Pool, selectPursued)
	if err != nil || len(campaigns) == 0 {
		return nil, err
	}
	rows, err := s.Pool.Query(ctx, selectGoalStates)
	if err != nil {
		return nil, pg.Failure("read goals", err)
	}
	states := map[uuid.UUID][]byte{}
	var id uuid.UUID
	var state []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &state}, func() error {
		states[id], state = state, nil
		return nil
	}); err != nil {
		return nil, pg.Failure("read goals", err)
	}
	var list []campaign.GoalRecord
	for i := range campaigns {
		if c := &campaigns[i]; c.Delivers() && c.Pursues() {
			list = append(list, campaign.GoalRecord{Campaign: *c, State: states[c.ID]})
		}
	}
	return list, nil
}

// KeepGoals stores the states, and the bids of campaigns that did not change meanwhile: an owner's
// change takes precedence, and the next minute's run starts from it.
func (s *Campaigns) KeepGoals(ctx context.Context, changes []campaign.GoalChange) error {
	ids, states := make([]uuid.UUID, len(changes)), make([]string, len(changes))
	for i := range changes {
		ids[i], states[i] = changes[i].CampaignID, string(changes[i].State)
	}
	if _, err := s.Pool.Exec(ctx, keepGoalStates, ids, states); err != nil {
		return pg.Failure("keep goals", err)
	}
	for i := range changes {
		if changes[i].Pursuit == nil {
			continue
		}
		// One transaction each: config_head is held for a moment only.
		if err := s.Transact(
			ctx, "keep a goal", func(tx pgx.Tx) error { return pursue(ctx, tx, &changes[i]) },
		); err != nil {
			return err
		}
	}
	return nil
}

func pursue(ctx context.Context, tx pgx.Tx, change *campaign.GoalChange) error {
	var id uuid.UUID
	err := tx.QueryRow(ctx, lockSeen, change.CampaignID, change.Seen).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	var c campaign.Campaign
	if err := stampVersion(ctx, tx, &c); err != nil {
		return err
	}
	p := change.Pursuit
	_, err = tx.Exec(
		ctx, keepPursuit, change.CampaignID, p.GoalMultiplier, p.GoalPrice, p.GoalConversions, c.ConfigVersion,
	)
	return err
}
