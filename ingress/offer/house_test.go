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
	"adnet/internal/reserve"
	"adnet/internal/share"
	"adnet/internal/token"
	"adnet/schemas/event"
)

var pixelToken = regexp.MustCompile(`event=impression[^"]*?auction_id=([A-Za-z0-9_-]+)`)

// Where nothing wins a publisher's own campaign fills, if it said so: free, marked as what it is,
// and held to all that has nothing to do with money. Exchanges never see one.
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
				_, err := store.CreateCampaign(
					t.Context(),
					campaign.NewCampaign{Campaign: k, Admit: func(bool) campaign.Status { return campaign.Active }},
				)
				require.NoError(t, err)
				ask := func(in asked) said { return wires[wire](w, in) }
				garden := func(k *campaign.Campaign) { k.Headline, k.Subtext = "Garden tools", "Spades and rakes" }
				least := share.Share(400_000)
				says := func(house bool) {
					p := account.Publishing{MinRelevance: &least, HouseAds: house}
					require.NoError(t, store.PutPublishing(t.Context(), w.owner, p))
					time.Sleep(2 * time.Second)
				}
				filled := said{filled: true}

				says(true)
				require.Equal(t, filled, ask(asked{}))
				require.NotContains(t, w.last, `"house"`, "what wins is no house ad")
				w.change(garden)
				says(false)
				require.Equal(t, said{reason: "irrelevant"}, ask(asked{}), "nobody asked for house ads")
				says(true)
				require.Equal(t, filled, ask(asked{session: "a"}))
				w.isHouse(t, wire, k.ID)
				require.Equal(t, said{reason: "irrelevant"}, ask(asked{session: "a"}), "its frequency cap holds")
				require.Equal(t, said{reason: "irrelevant"}, askRTB(w, asked{}), "an exchange has none")
				require.Equal(
					t, said{reason: "frequency_capped"}, ask(asked{turn: 1, first: 5}),
					"not too early in a conversation",
				)

				w.spend(func(r *reserve.Room) { r.Today, r.Total, r.Balance = 0, 0, 0 })
				require.Equal(t, filled, ask(asked{}), "it needs no money")
				w.change(func(k *campaign.Campaign) { garden(k); k.Languages = []string{"fi"} })
				require.Equal(t, said{reason: "no_match"}, ask(asked{}), "its targeting holds")
				w.change(func(k *campaign.Campaign) { garden(k); k.EndAt = seconds(1) })
				require.Equal(t, said{reason: "no_match"}, ask(asked{}), "its dates hold")
				w.change(
					func(k *campaign.Campaign) { garden(k); k.PolicyViolations = []campaign.Violation{{Rule: "x"}} },
				)
				require.Equal(t, said{reason: "no_campaigns"}, ask(asked{}), "it must be approved")
				w.change(func(k *campaign.Campaign) { garden(k); k.Status = campaign.Paused })
				require.Equal(t, said{reason: "no_campaigns"}, ask(asked{}))
				w.change(garden)
				require.Equal(t, filled, ask(asked{}))
				w.change(func(k *campaign.Campaign) { garden(k); k.AdvertiserID = uuid.UUID{0: 1, 6: 0x80, 8: 0x80} })
				require.Equal(t, said{reason: "irrelevant"}, ask(asked{}), "it must be the publisher's own")
				w.change(garden)
				w.blocks(account.Blocks{Words: []string{"spades"}})
				require.Equal(t, said{reason: "irrelevant"}, ask(asked{}), "the publisher's blocks hold")
				w.blocks(account.Blocks{})
				require.Equal(t, filled, ask(asked{}))
				w.net.deaf.Store(true)
				require.Equal(t, said{reason: "stale"}, ask(asked{}), "a node that may not sell shows nothing")
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
	a, err := w.ring.Verify(token.ForEvent("impression"), found[1], time.Now())
	require.NoError(t, err)
	require.True(t, a.House)
	require.Zero(t, a.Price)
	require.Equal(t, id, a.CampaignID)
	require.Equal(t, w.owner, a.AdvertiserID)

	var r event.Auction
	require.NoError(t, proto.Unmarshal(*w.net.recorded.Load(), &r))
	require.Equal(t, "irrelevant", r.Reason, "the auction had no winner")
	require.Empty(t, r.CampaignId)
	require.Equal(t, id[:], r.HouseCampaignId)
	require.Zero(t, r.PClick, "nothing is learnt from it")
	require.Empty(t, r.Terms)
}
