package ring

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a patient ring does for a month, it takes out no more than it pays in, found or not.
func TestRingTakesOutNoMoreThanItPaysIn(t *testing.T) {
	strategies := append(Strategies(), Drawn(rand.New(rand.NewPCG(7, 31))))
	for _, s := range strategies {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			out, err := Month(t.Context(), s, 0)
			require.NoError(t, err)
			t.Logf("takes %s pays %s %+v", out.Takes(), out.Pays(), out)
			require.Empty(t, out.Breach())
			require.Positive(t, out.Requests)
			require.True(t, out.Elsewhere > 0 || out.Paid > 0 || out.Others > 0, "the ring does nothing")
		})
	}
}
