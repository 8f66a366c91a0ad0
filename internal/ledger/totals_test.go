package ledger_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	. "adnet/internal/ledger"
)

func TestTotalsAndTally(t *testing.T) {
	outcomes := []Outcome{
		{Verdict: OK, Charge: 7, Minted: 1}, {Verdict: OK, Charge: 5}, {Verdict: VerdictPaused, Minted: 1},
		{Verdict: OverBudget, Charge: 1},
		{Verdict: Duplicate}, {Verdict: VerdictExpired}, {Verdict: VerdictUnsigned}, {Verdict: VerdictForged},
		{Verdict: Poison},
		{Verdict: InvalidTraffic + "bot"}, {Verdict: OverBalance}, {Verdict: VerdictSandbox}, {Verdict: SelfServed},
		{Verdict: UnknownCampaign},
	}
	var totals Totals
	var tally Tally
	totals.Add(outcomes[:3])
	totals.Add(outcomes[3:])
	tally.Add(outcomes)
	require.EqualValues(t, len(outcomes), totals.Rows)
	require.EqualValues(t, 13, totals.Charge)
	require.EqualValues(t, 2, totals.Minted)
	require.EqualValues(t, 2, totals.ByVerdict[OK])
	require.EqualValues(t, 8, totals.Marked()) // the first four and the last four
	require.Equal(t, Tally{Charged: 3, ChargedOK: 2, Minting: 2}, tally)
}

func TestBalanced(t *testing.T) {
	entry := func(asset Asset, amount int64) Entry { return Entry{Account: Revenue, Asset: asset, Amount: amount} }
	for name, c := range map[string]struct {
		entries []Entry
		ok      bool
	}{
		"one asset": {[]Entry{entry(USD, 5), entry(USD, -5)}, true},
		"two assets": {
			[]Entry{entry(USD, 5), entry(USD, -5), entry(Credit, 1), entry(Credit, -1)}, true,
		},
		"empty":                       {nil, false},
		"off by one":                  {[]Entry{entry(USD, 5), entry(USD, -4)}, false},
		"balanced across assets only": {[]Entry{entry(USD, 5), entry(Credit, -5)}, false},
		"nothing moved":               {[]Entry{entry(USD, 0)}, false},
	} {
		x := Transaction{ID: uuid.New(), Kind: KindCharge, Entries: c.entries}
		require.Equal(t, c.ok, x.Balanced() == nil, name)
	}
}
