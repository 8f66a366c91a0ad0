package decision_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/decision"
)

func TestDecisionsHoldAnErasureWhileTheyCanBeAppealed(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	end := at.Add(decision.AppealTime)
	for name, tc := range map[string]struct {
		kind    decision.Kind
		appeals []decision.Outcome
		after   time.Duration
		until   time.Time
		waits   bool
	}{
		"fresh":           {decision.Pause, nil, 0, end, true},
		"of a claw-back":  {decision.Clawback, nil, decision.AppealTime - 1, end, true},
		"old":             {decision.Pause, nil, decision.AppealTime, end, false},
		"of a hold":       {decision.Hold, nil, 0, end, false},
		"open appeal":     {decision.Hold, []decision.Outcome{""}, 2 * decision.AppealTime, time.Time{}, true},
		"upheld":          {decision.Rejection, []decision.Outcome{decision.Upheld}, 0, end, true},
		"upheld and open": {decision.Rejection, []decision.Outcome{decision.Upheld, ""}, 0, time.Time{}, true},
		"reversed":        {decision.Pause, []decision.Outcome{decision.Reversed}, 0, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := decision.Statement{Kind: tc.kind, At: at}
			for _, outcome := range tc.appeals {
				s.Appeals = append(s.Appeals, decision.Appeal{Outcome: outcome})
			}
			until, waits := s.HoldsErasure(at.Add(tc.after))
			require.Equal(t, tc.waits, waits)
			require.Equal(t, tc.until, until)
		})
	}
}
