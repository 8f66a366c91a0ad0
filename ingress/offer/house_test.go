package offer_test

import (
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money/share"
	"adnet/internal/token"
	"adnet/schemas/event"
)

var pixelToken = regexp.MustCompile(`event=impression[^"]*?auction_id=([A-Za-z0-9_-]+)`)

// Where nothing wins, a publisher's own campaign fills if it allows that: free, marked as a house
// ad, and subject to all rules that have nothing to do with money. Exchanges never get one.
func TestHouse(t *testing.T) {
	start := day.Of(time.Now()).Time().Add(300 * time.Hour)
	for _, wire := range publisherWires {
		t.Run(wire, func(t *testing.T) {
			start = start.Add(time.Hour)
			store, auth := doors()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(start))
				w := newWorld(t, store, auth, options{own: true})
				defer w.stop()
				k := theCampaign()
				_, err := store.Campaigns.CreateCampaign(
					t.Context(),
					campaign.NewCampaign{Campaign: k, Admit: func(bool) campaign.Status { return campaign.Active }},
				)
				require.NoError(t, err)
				ask := func(in query) adReply { return wires[wire](w, in) }
				garden := func(k *campaign.Campaign) { k.Headline, k.Subtext = "Garden tools", "Spades and rakes" }
				least := share.Share(400_000)
				says := func(house bool) {
					p := account.Publishing{MinRelevance: &least, HouseAds: house}
					require.NoError(t, store.Accounts.PutPublishing(t.Context(), w.owner, p))
					time.Sleep(2 * time.Second)
				}
				filled := adReply{filled: true}

				says(true)
				require.Equal(t, filled, ask(query{}))
				require.NotContains(t, w.last, `"house"`, "what wins is no house ad")
				w.change(garden)
				says(false)
				require.Equal(t, adReply{reason: "irrelevant"}, ask(query{}), "nobody asked for house ads")
				says(true)
				require.Equal(t, filled, ask(query{session: "a"}))
				w.isHouse(t, wire, k.ID)
				require.Equal(t, adReply{reason: "irrelevant"}, ask(query{session: "a"}), "its frequency cap holds")
				require.Equal(t, adReply{reason: "irrelevant"}, askRTB(w, query{}), "an exchange has none")
				require.Equal(
					t, adReply{reason: "frequency_capped"}, ask(query{turn: 1, first: 5}),
					"not too early in a conversation",
				)

				w.spend(func(r *reserve.Room) { r.Today, r.Total, r.Balance = 0, 0, 0 })
				require.Equal(t, filled, ask(query{}), "it needs no money")
				w.change(func(k *campaign.Campaign) { garden(k); k.Languages = []string{"fi"} })
				require.Equal(t, adReply{reason: "no_match"}, ask(query{}), "its targeting holds")
				w.change(func(k *campaign.Campaign) { garden(k); k.EndAt = seconds(1) })
				require.Equal(t, adReply{reason: "no_match"}, ask(query{}), "its dates hold")
				w.change(
					func(k *campaign.Campaign) { garden(k); k.PolicyViolations = []campaign.Violation{{Rule: "x"}} },
				)
				require.Equal(t, adReply{reason: "no_campaigns"}, ask(query{}), "it must be approved")
				w.change(func(k *campaign.Campaign) { garden(k); k.Status = campaign.Paused })
				require.Equal(t, adReply{reason: "no_campaigns"}, ask(query{}))
				w.change(garden)
				require.Equal(t, filled, ask(query{}))
				w.change(func(k *campaign.Campaign) { garden(k); k.AdvertiserID = uuid.UUID{0: 1, 6: 0x80, 8: 0x80} })
				require.Equal(t, adReply{reason: "irrelevant"}, ask(query{}), "it must be the publisher's own")
				w.change(garden)
				w.blocks(account.Blocks{Words: []string{"spades"}})
				require.Equal(t, adReply{reason: "irrelevant"}, ask(query{}), "the publisher's blocks hold")
				w.blocks(account.Blocks{})
				require.Equal(t, filled, ask(query{}))
				w.net.deaf.Store(true)
				require.Equal(t, adReply{reason: "stale"}, ask(query{}), "a node that may not sell shows nothing")
			})
		})
	}
}

// isHouse holds the last reply, its token and its record to being of a house ad.
func (w *world) isHouse(t *testing.T, wire string, id uuid.UUID) {
	t.Helper()
	require.Contains(t, w.last, `"house":true`)
	require.Contains(t, w.last, `"House ad"`)
	require.NotContains(t, w.last, "Sponsored")
	found := pixelToken.FindStringSubmatch(w.last)
	require.NotNil(t, found, "%s: %s", wire, w.last)
	a, err := w.ring.Verify(token.ForEvent(event.Type_IMPRESSION), found[1], time.Now())
	require.NoError(t, err)
	require.True(t, a.House)
	require.Zero(t, a.Price)
	require.Equal(t, id, a.CampaignID)
	require.Equal(t, w.owner, a.AdvertiserID)

	var r event.Auction
	record, err := w.ring.Outcomes().Open(*w.net.recorded.Load(), time.Now())
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(record, &r))
	require.Equal(t, "irrelevant", r.Reason, "the auction had no winner")
	require.Empty(t, r.CampaignId)
	require.Equal(t, id[:], r.HouseCampaignId)
	require.Zero(t, r.PClick, "nothing is learnt from it")
	require.Empty(t, r.Terms)
}
