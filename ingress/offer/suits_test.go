package offer_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/suitability"
	"adnet/ingress/ingresstest"
	"adnet/ingress/offer"
	"adnet/internal/account"
	"adnet/internal/campaign"
)

// What a conversation and its publisher say decides with the campaign's own fields, in every
// auction.
func TestACampaignSuitsItsConversation(t *testing.T) {
	w := ingresstest.New(t, ingresstest.Options{})
	seller := ingresstest.Seller(w.Selling())
	both := account.Publishing{SensitiveContexts: []string{"health", "debt"}}
	for _, c := range []struct {
		name       string
		text       string
		age        offer.Age
		publishing account.Publishing
		edit       func(*campaign.Campaign)
		reason     auction.Reason // empty: the campaign wins
	}{
		{name: "ordinary", text: "a chess opening", publishing: both},
		{
			name: "the publisher allows it alone", text: "chess with diabetes", publishing: both,
			reason: auction.SensitiveSubject,
		},
		{
			name: "the campaign allows it alone", text: "chess with diabetes",
			edit:   func(k *campaign.Campaign) { k.SensitiveContexts = []string{"health"} },
			reason: auction.SensitiveSubject,
		},
		{
			name: "both allow it", text: "chess with diabetes", publishing: both,
			edit: func(k *campaign.Campaign) { k.SensitiveContexts = []string{"health"} },
		},
		{name: "the campaign excludes it, too", text: "chess with diabetes", publishing: both,
			edit: func(k *campaign.Campaign) {
				k.SensitiveContexts, k.ExcludeContexts = []string{"health"}, []string{"health"}
			}, reason: auction.SensitiveSubject},
		{
			name: "a trade for adults, of an unknown age",
			edit: func(k *campaign.Campaign) { k.Trades = []string{"gambling"} }, reason: auction.NoMatch,
		},
		{
			name: "a trade for adults, and an adult", age: offer.AgeAdult,
			edit: func(k *campaign.Campaign) { k.Trades = []string{"gambling", "credit"} },
		},
		{
			name: "a trade for all, of an unknown age",
			edit: func(k *campaign.Campaign) { k.Trades = []string{"credit"} },
		},
		{
			name: "politics, and an adult", age: offer.AgeAdult,
			edit: func(k *campaign.Campaign) { k.Trades = []string{"politics"} }, reason: auction.NoMatch,
		},
	} {
		k := campaign.Campaign{
			ID: uuid.New(), AdvertiserID: uuid.New(), Status: campaign.Active, Creative: campaign.Creative{
				Format: campaign.Native, Headline: "Chess", CTAURL: "https://shop.example/",
			},
			BillingModel: campaign.CPM, BidAmount: 5_000_000,
		}
		if c.edit != nil {
			c.edit(&k)
		}
		w.Shelf.Put(k)
		var read offer.Conversation
		read.Read(c.text, suitability.User)
		var a offer.Auction
		var ad offer.Ad
		a.Terms = offer.Terms{
			Judged: seller.Judge(t.Context(), &read, offer.Stated{Age: c.age}), Publishing: c.publishing,
			Place: offer.Place{Developer: ingresstest.DeveloperID, Method: "rest"}, Received: time.Now(),
		}
		require.NoError(t, seller.Sell(t.Context(), &a, &ad))
		require.Equal(t, c.reason, a.Outcome.Reason, c.name)
		require.Equal(t, c.reason == "", a.Outcome.Winner != nil, c.name)
	}
}
