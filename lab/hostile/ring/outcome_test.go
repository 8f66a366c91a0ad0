package ring

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/money"
)

// Nine dear conversions may be chance. Little more from hundreds of clicks is none.
func TestFewConversionsOfOthersAreChance(t *testing.T) {
	charged := func(n int, price money.Micros) (o Outcome) {
		o.Fair, o.Requests = 14*money.USD, 1
		for range n {
			o.addOthers(price)
		}
		return o
	}
	for _, c := range []struct {
		n      int
		price  money.Micros
		breach bool
	}{
		{9, 5 * money.USD, false}, {8, 5 * money.USD, false}, {270, money.USD / 5, true}, {200, money.USD / 5, false},
		{25, 5 * money.USD, true},
	} {
		o := charged(c.n, c.price)
		require.Equal(t, c.breach, o.Breach() != "", c)
	}
}

func TestRingThatTakesMoreThanItPaysIsABreach(t *testing.T) {
	o := Outcome{Elsewhere: 100, Allowance: 10, Tolerated: 20, Credits: 5, Paid: 75, Requests: 1}
	require.Empty(t, o.Breach())
	o.Paid--
	require.NotEmpty(t, o.Breach())
}
