package manage_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
)

// Creation succeeds without funds and says so; a balance that cannot be read does not make a retry
// create a second campaign.
func TestReplyReportsUnfundedCampaign(t *testing.T) {
	w := newWorld(t)
	p := w.advertiser(t)
	require.NotContains(t, p.Post(t, "/api/campaigns", p.draft()).As(201), "unfunded")
	w.unfunded = func(c campaign.Campaign) (bool, error) { return c.AdvertiserID == p.ID, nil }
	require.Equal(t, true, p.Post(t, "/api/campaigns", p.draft()).As(201)["unfunded"])
	other := w.advertiser(t)
	require.NotContains(t, other.Post(t, "/api/campaigns", other.draft()).As(201), "unfunded")
	w.unfunded = func(campaign.Campaign) (bool, error) { return true, errors.New("down") }
	require.NotContains(t, p.Post(t, "/api/campaigns", p.draft()).As(201), "unfunded")
}
