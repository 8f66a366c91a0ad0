package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/stream"
)

func TestClaimsAreAppliedOnce(t *testing.T) {
	at := func(number int32, first, next int64) stream.Range {
		return stream.Range{Partition: stream.Partition{Stream: "s", Number: number}, First: first, Next: next}
	}
	for _, r := range []stream.Range{at(0, 3, 3), at(0, 4, 3), at(0, -1, 3)} {
		_, err := Claim([]stream.Range{r})
		require.ErrorContains(t, err, "not a range")
	}
	one, two := at(0, 3, 5), at(1, 0, 1)
	whole := []AppliedRange{{one, make([]Outcome, 2)}, {two, make([]Outcome, 1)}}
	for problem, applied := range map[string][]AppliedRange{
		"":                       whole,
		"2 ranges were claimed":  whole[:1],
		"applied twice":          {whole[0], whole[0]},
		"was not claimed":        {whole[0], {at(1, 0, 2), make([]Outcome, 2)}},
		"has 1 outcomes":         {{one, make([]Outcome, 1)}, whole[1]},
		"3 applied":              append(whole[:2:2], whole[0]),
		"was not claimed, or is": {whole[1], whole[1]},
	} {
		c, err := Claim([]stream.Range{one, two})
		require.NoError(t, err)
		if problem == "" {
			require.NoError(t, c.Apply(applied))
			continue
		}
		require.ErrorContains(t, c.Apply(applied), problem)
	}
}
