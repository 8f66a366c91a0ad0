package operate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/process/link"
)

func TestConnectionsAreCounted(t *testing.T) {
	for _, c := range []struct {
		reached       bool
		accepts, open int
		advised       bool
	}{
		{true, 97, 96, false},
		{true, 97, 97, false},
		{true, 97, 98, true},
		{false, 0, 98, false}, // its own finding names the cause
	} {
		looks := []func() link.Report{
			func() link.Report { return link.Report{Reached: c.reached, Conns: c.accepts} },
			func() link.Report { return link.Report{Reached: true, Conns: c.open} },
		}
		reports := atOnce(looks)
		require.Len(t, reports[0].Findings, map[bool]int{true: 1}[c.advised], "%+v", c)
		require.True(t, !c.advised || reports[0].OK(), "a pooler may stand between")
	}
}
