package ledger

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
)

func TestChargesAreHeldToBids(t *testing.T) {
	a, b, unknown := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	bids := []HighestBid{{a, campaign.CPM, 5_000_999}, {a, campaign.CPC, 70}, {b, campaign.CPA, 9}}
	for name, c := range map[string]struct {
		charges []HighestCharge
		broken  int64
	}{
		"nothing": {nil, 0},
		"at the bids": {
			[]HighestCharge{{a, campaign.CPM, 5_000}, {a, campaign.CPC, 70}, {b, campaign.CPA, 9}}, 0,
		},
		"an impression above":           {[]HighestCharge{{a, campaign.CPM, 5_001}}, 1},
		"a click as dear as impression": {[]HighestCharge{{a, campaign.CPC, 71}}, 1},
		"a model it never had":          {[]HighestCharge{{b, campaign.CPC, 1}}, 1},
		"without a token":               {[]HighestCharge{{a, "", 5_000}, {b, "", 9}}, 0},
		"without a token, above":        {[]HighestCharge{{a, "", 5_001}, {b, "", 10}}, 2},
		"a campaign that never was":     {[]HighestCharge{{unknown, campaign.CPM, 1}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			check := CompareBids(c.charges, bids)
			require.Equal(t, c.broken, check.Got)
			require.Equal(t, c.broken == 0, check.OK())
			require.Equal(t, c.broken > 0, check.Detail != "")
		})
	}
}
