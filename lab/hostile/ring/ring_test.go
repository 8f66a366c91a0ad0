package ring

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a patient ring does for a month, it takes out no more than it pays in, found or not.
func TestRingTakesOutNoMoreThanItPaysIn(t *testing.T) {
	for _, s := range Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(1) {
				out, err := Month(t.Context(), s, seed)
				require.NoError(t, err)
				t.Logf("takes %s pays %s %+v", out.Takes(), out.Pays(), out)
				require.Empty(t, out.Breach())
				require.Positive(t, out.Requests)
			}
		})
	}
}
