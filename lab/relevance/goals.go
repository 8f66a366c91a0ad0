package main

import "adnet/consumers/goal/goaltest"

// goalCampaigns is the number of campaigns in the simulated week.
const goalCampaigns = 40

// goalRows returns the results of target_cpa in a simulated week with drifting prices and
// conversions, with the control that consumers run.
func goalRows() []row {
	w := goaltest.TargetCPA(goalCampaigns, false)
	counted := len(w.Costs)
	return []row{
		{
			Name: "target_cpa, 30 conversions or more: within 10 % of the target", Value: ratio(w.Within, counted),
			Must: 0.90, Aim: 0.95, Of: counted,
		},
		{Name: "target_cpa: value against hindsight", Value: w.Value, Must: 0.85, Aim: 0.90, Of: counted},
		{
			Name: "target_cpa: overspent, of what was spent", Value: float64(w.Overspent) / float64(max(w.Spend, 1)),
			AtMost: true, Of: w.Campaigns,
		},
	}
}
