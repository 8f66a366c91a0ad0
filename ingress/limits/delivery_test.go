package limits

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/limits/frequency"
	"adnet/internal/campaign"
)

// Without caps and pacing only the budgets' gate decides, and every method is safe to call.
func TestNoDelivery(t *testing.T) {
	var none *Delivery
	var g DeliveryGate
	refuse := auction.Budget
	none.Begin(
		t.Context(), &g, uuid.New(), frequency.Ask{Session: campaign.SessionKey{1}, Now: time.Now()},
		auction.GateFunc(func(*auction.Campaign, auction.Valuation) auction.Reason { return refuse }),
	)
	c := &auction.Campaign{}
	require.Equal(t, auction.Budget, g.Check(c, auction.Valuation{}))
	refuse = ""
	require.Empty(t, g.Check(c, auction.Valuation{}))
	require.Zero(t, g.Early())
	seconds, turns := g.RetryAfter(auction.FrequencyCapped)
	require.Zero(t, seconds+turns)
	seconds, _ = g.RetryAfter(auction.Paced)
	require.Equal(t, 60, seconds)
	g.End(c)
	require.Empty(t, new(DeliveryGate).Check(c, auction.Valuation{}), "the zero value lets everything pass")
}
