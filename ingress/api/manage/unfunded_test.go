package manage_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// Where deposits are required, each reply about a campaign without one states it, and the same
// replies after the deposit do not.
func TestRepliesReportUnfundedCampaigns(t *testing.T) {
	w := emptyWorld(t)
	w.campaigns = campaign.NewService(campaign.Deps{
		Store: w.Store.Campaigns, Announcer: w.nodes, Now: w.Clock, CreditValue: money.USD, Prepaid: true,
	})
	w.management().Mount(w.HTTP)
	p := w.advertiser(t)
	created := p.Post(t, "/api/campaigns", p.draft()).As(201)
	require.Equal(t, true, created["unfunded"])
	id := at(created, "campaign", "id").(string)
	delivery := func(want string) {
		t.Helper()
		listed := p.Get(t, "/api/campaigns").As(200)
		require.Equal(t, want, at(listed, "campaigns", 0, "delivery"))
		require.Equal(t, "active", at(listed, "campaigns", 0, "status"))
		read := p.Get(t, "/api/campaigns/"+id).As(200)
		require.Equal(t, want, at(read, "campaign", "delivery"))
		// What was read is sent back: the field is accepted, and ignored.
		sent := at(read, "campaign").(object)
		sent["delivery"] = "delivering"
		changed := p.Call(t, "PATCH", "/api/campaigns/"+id, sent).As(200)
		require.Equal(t, want, at(changed, "campaign", "delivery"))
	}
	delivery("unfunded")
	other := w.advertiser(t)
	w.pays(t, other, 25*money.USD)
	delivery("unfunded")
	require.NotContains(t, other.Post(t, "/api/campaigns", other.draft()).As(201), "unfunded")
	w.pays(t, p, 25*money.USD)
	delivery("delivering")
}

// pays credits a deposit.
func (w *world) pays(t *testing.T, p *person, amount money.Micros) {
	t.Helper()
	_, err := w.Store.Payments.ApplyNotice(t.Context(), ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_" + p.ID.String(), Kind: ledger.NoticePaid, PaymentID: "pi_" + p.ID.String(),
		Amount: amount, Names: []uuid.UUID{p.ID}, At: w.Clock(),
	})
	require.NoError(t, err)
}
