package goal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/consumers/goal/goaltest"
)

// A week of campaigns with target_cpa: what they pay on average, what they bring against the best
// that hindsight finds, and that nothing is overspent.
func TestWeekOfTargetCPA(t *testing.T) { checkWeek(t, false) }

// The same where the ranking learns in the middle of the week how often clicks convert: the control
// must let go of what it had made up for.
func TestWeekInWhichRatesAreLearnt(t *testing.T) { checkWeek(t, true) }

func checkWeek(t *testing.T, learns bool) {
	t.Helper()
	w := goaltest.TargetCPA(40, learns)
	counted := len(w.Costs)
	require.Zero(t, w.Overspent)
	require.Zero(t, w.AboveBid)
	require.Greater(t, counted, w.Campaigns/2)
	t.Logf("%d campaigns, %d with %d conversions or more: %.1f %% within 10 %% of target_cpa (5th, 50th, 95th of a "+
		"hundred: %.2f %.2f %.2f); value %.1f %% of hindsight (of all campaigns %.1f); %.0f changes published a "+
		"campaign and day",
		w.Campaigns, counted, goaltest.Enough, 100*float64(w.Within)/float64(counted), w.Costs[counted/20],
		w.Costs[counted/2], w.Costs[counted*19/20], 100*w.Value, 100*w.ValueOfAll,
		float64(w.Published)/float64(w.Campaigns)/7)
	require.GreaterOrEqual(t, float64(w.Within)/float64(counted), 0.9)
	require.GreaterOrEqual(t, w.Value, 0.85)
}
