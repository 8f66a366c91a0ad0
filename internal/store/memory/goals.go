package memory

import (
	"context"
	"slices"

	"adnet/internal/campaign"
)

// PursuedGoals lists the campaigns that deliver and have a goal, with the state of its control.
func (s *Campaigns) PursuedGoals(context.Context) (list []campaign.GoalRecord, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.byAge {
		if k.Delivers() && k.Pursues() {
			list = append(list, campaign.GoalRecord{Campaign: s.heldCampaign(k), State: slices.Clone(s.goals[k.ID])})
		}
	}
	return list, nil
}

// KeepGoals stores the states, and the bids of campaigns that did not change meanwhile.
func (s *Campaigns) KeepGoals(_ context.Context, changes []campaign.GoalChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		change := &changes[i]
		k, ok := s.campaigns[change.CampaignID]
		if !ok {
			continue
		}
		s.goals[k.ID] = slices.Clone(change.State)
		if change.Pursuit == nil || k.ConfigVersion != change.Seen {
			continue
		}
		s.head++
		k.Pursuit, k.ConfigVersion = *change.Pursuit, s.head
		k.Normalize()
		s.logChange(k)
	}
	return nil
}
