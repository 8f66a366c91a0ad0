package offer_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/budget"
	"adnet/ingress/budget/budgettest"
	"adnet/ingress/ingresstest"
	"adnet/ingress/offer"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/token"
)

// Of random campaigns and requests, what won the auction is what is reserved, signed and recorded:
// one price, and never more than was stated.
func TestOnePriceFromTheAuctionToTheToken(t *testing.T) {
	// behind the other bubbles: ids of auctions never go back
	start := day.Of(time.Now()).Time().AddDate(0, 1, 0)
	// its caches have goroutines that no bubble may wait for
	w := ingresstest.New(t, ingresstest.Options{Clock: time.Now})
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		rng := rand.New(rand.NewPCG(7, 12))
		store := &budgettest.Store{Now: time.Now}
		campaigns := make([]campaign.Campaign, 12)
		for i := range campaigns {
			campaigns[i] = priced(rng, byte(i))
			store.Publish(reserve.Room{
				CampaignID: campaigns[i].ID, AdvertiserID: campaigns[i].AdvertiserID, Version: 1,
				Day:   day.Of(time.Now()),
				Daily: money.Max / 4, Today: money.Max / 4, Total: money.Max / 4, Balance: reserve.Unlimited,
			})
		}
		w.Shelf.Learnt = &ranker.Learnt{Version: 1, View: 333_333}
		for i := range w.Shelf.Learnt.Clicks {
			w.Shelf.Learnt.Clicks[i] = ranker.PPM(2000 + 300*i)
		}
		store.Open(1)
		leases, err := budget.New(budget.DefaultConfig(), budget.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Store: store, Node: "n",
			ImpressionLife: time.Hour, Now: time.Now,
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- leases.Run(ctx) }()
		defer func() { cancel(); require.NoError(t, <-ended) }()
		time.Sleep(2 * time.Second)
		selling := w.Selling()
		selling.Budget = leases
		seller := ingresstest.Seller(selling)
		models := map[string]int{}
		for n := range 600 {
			if n%50 == 0 { // other bids of the same campaigns
				for i := range campaigns {
					campaigns[i] = priced(rng, byte(i))
				}
				w.Shelf.Put(campaigns...)
			}
			models[onePrice(t, w, seller, rng)]++
		}
		require.Greater(
			t, min(models["cpm"], models["cpc"], models["cpa"], models["vcpm"]), 5, "all models win: %v", models,
		)
	})
}

var subjects = []string{"chess", "opening", "postgres", "backup", "guitar", "lesson"}

// priced is a campaign with a random bid and targeting.
func priced(rng *rand.Rand, n byte) campaign.Campaign {
	k := campaign.Campaign{
		ID: uuid.UUID{0: 0xc0, 6: 0x80, 8: 0x80, 15: n}, AdvertiserID: uuid.UUID{0: 0xad, 6: 0x80, 8: 0x80, 15: n},
		Status: campaign.Active,
		Creative: campaign.Creative{
			Format: campaign.Native, Headline: fmt.Sprint("Campaign ", n),
			CTAURL: "https://shop.example/",
		},
		BillingModel: []campaign.BillingModel{campaign.CPM, campaign.CPC, campaign.CPA, campaign.CPM}[n%4],
	}
	if n%4 == 3 {
		k.BillingEvent = campaign.OnView
	}
	k.BidAmount = map[campaign.BillingModel]money.Micros{
		campaign.CPM: 10_000 + money.Micros(rng.Int64N(9_000_000)),
		campaign.CPC: 10_000 + money.Micros(rng.Int64N(500_000)),
		campaign.CPA: money.USD + money.Micros(rng.Int64N(9_000_000)),
	}[k.BillingModel]
	if k.BillingEvent == campaign.OnView {
		k.BidAmount *= 2 // of which an impression is worth a third
	}
	rng.Shuffle(len(subjects), func(i, j int) { subjects[i], subjects[j] = subjects[j], subjects[i] })
	k.IntentTokens = append([]string(nil), subjects[:1+rng.IntN(4)]...)
	return k
}

// onePrice sells one impression and compares what each place says of its price; it returns the
// winner's billing model, or nothing.
func onePrice(t *testing.T, w *ingresstest.World, seller *offer.Seller, rng *rand.Rand) string {
	t.Helper()
	var a offer.Auction
	var ad offer.Ad
	rng.Shuffle(len(subjects), func(i, j int) { subjects[i], subjects[j] = subjects[j], subjects[i] })
	a.Terms = offer.Terms{
		Judged: seller.Judge(t.Context(), new(offer.Conversation), offer.Stated{}),
		Request: auction.Request{
			Tokens: subjects[:1+rng.IntN(3)], FloorCPM: money.Micros(rng.Int64N(300_000)), Views: true,
		},
		Place: offer.Place{Developer: ingresstest.DeveloperID, Method: "rest"}, Received: time.Now(),
		Bid: rng.IntN(2) == 0,
	}
	require.NoError(t, seller.Sell(t.Context(), &a, &ad))
	if a.Outcome.Winner == nil {
		return ""
	}
	_, link, _ := strings.Cut(string(ad.AppendClick(nil)), "/s/")
	text, _, _ := strings.Cut(link, "?")
	signed, err := w.Ring.Verify(token.ForRedirect, text, time.Now())
	require.NoError(t, err)
	logged := w.Log.Auctions[len(w.Log.Auctions)-1]
	won, bid := a.Outcome.EffectiveCPM, a.Outcome.Winner.Bid
	require.Equal(t, won, a.Outcome.Prediction.Bid)
	require.EqualValues(t, won, logged.EcpmMicros)
	require.EqualValues(t, signed.Price, logged.PriceMicros)
	require.Equal(t, signed.Price, a.Outcome.Price)
	require.LessOrEqual(t, signed.Price, bid)
	switch signed.BillingModel {
	case "cpm":
		require.Equal(t, won/1000, signed.Price, "the bid that won")
		require.LessOrEqual(t, 1000*signed.Price, bid)
		require.Equal(t, signed.Price, a.Reservation.Amount())
	case "vcpm":
		require.InDelta(
			t, float64(won)/333_333, float64(signed.Price)/1000, 0.002, "of three impressions one is viewed",
		)
		require.LessOrEqual(t, 1000*signed.Price, bid)
		require.Equal(t, signed.Price, a.Reservation.Amount())
	default:
		require.Equal(t, bid, signed.Price, "the stated bid for a click or conversion")
		require.Equal(t, max(1, won/1000), a.Reservation.Amount(), "what an impression is expected to cost")
	}
	return signed.BillingModel
}
