package redis

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger/reserve"
	"adnet/internal/token"
)

func newSeal(t *testing.T) *token.Seal {
	t.Helper()
	key, err := token.NewKey("k1")
	require.NoError(t, err)
	seal, err := token.NewSeal([]token.Key{key})
	require.NoError(t, err)
	return seal
}

// Whoever writes to Redis changes no campaign: what is not sealed is refused, counted, and read
// from where it belongs.
func TestOnlySealedCampaignsAreRead(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		seal := newSeal(t)
		own, other, gone := someCampaign(1), someCampaign(2), someCampaign(3)
		var refused []string
		down := false
		trust := Trust{
			Seal: seal, Refused: func(id string, _ error) { refused = append(refused, id) },
			Truth: func(_ context.Context, id uuid.UUID) (campaign.Campaign, error) {
				switch {
				case down:
					return campaign.Campaign{}, errs.New(errs.Unavailable, "down")
				case id == own.ID:
					return own, nil
				case id == other.ID:
					return other, nil
				}
				return campaign.Campaign{}, errs.New(errs.NotFound, "no such campaign")
			},
		}
		trusting := client.Trusting(trust)
		writer, node := NewCampaigns(trusting), NewCampaigns(trusting)
		require.NoError(t, writer.PublishCampaigns(t.Context(), []campaign.Campaign{own, other, gone}, 3))
		read := func() []campaign.Campaign {
			refused = nil
			all, _, err := node.All(t.Context())
			require.NoError(t, err)
			return all
		}
		require.Equal(t, []campaign.Campaign{own, other, gone}, read())
		require.Empty(t, refused)

		put := func(id uuid.UUID, object string) {
			require.NoError(t, client.rdb.HSet(t.Context(), client.keys.objects, id.String(), object).Err())
		}
		forged := own
		forged.CTAURL = "https://evil.example/"
		bare, err := client.encode(&forged)
		require.NoError(t, err)
		elsewhere, err := client.Trusting(Trust{Seal: newSeal(t)}).encode(&forged)
		require.NoError(t, err)
		genuine, err := trusting.encode(&other)
		require.NoError(t, err)
		for name, object := range map[string]string{
			"without a seal": string(bare), "by another key": string(elsewhere), "another campaign": string(genuine),
			"nothing": "{}", "empty": "",
		} {
			put(own.ID, object)
			require.Equal(t, []campaign.Campaign{own, other, gone}, read(), name)
			require.Equal(t, []string{own.ID.String()}, refused, name)
		}
		put(gone.ID, string(bare))
		require.Equal(t, []campaign.Campaign{own, other}, read(), "one that PostgreSQL does not know is left out")
		var pages []campaign.Campaign
		_, err = node.EachCampaign(t.Context(), func(page []campaign.Campaign) { pages = append(pages, page...) })
		require.NoError(t, err)
		require.Len(t, pages, 2)

		down = true
		_, _, err = node.All(t.Context())
		require.Error(t, err, "the node keeps what it had")

		down = false
		require.NoError(t, writer.PublishCampaigns(t.Context(), []campaign.Campaign{own, other, gone}, 3))
		require.Equal(t, []campaign.Campaign{own, other, gone}, read(), "the same versions are sealed again")
		require.Empty(t, refused)
	})
}

// A writer to Redis makes no room: one without the seal of its place is left out, and one that keeps
// the true room away is replaced.
func TestOnlySealedRoomsAreRead(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		seal := newSeal(t)
		var refused []string
		trusting := func() *Client {
			return client.Trusting(Trust{Seal: seal, Refused: func(id string, _ error) { refused = append(refused, id) }})
		}
		writer, node := NewRooms(trusting()), NewRooms(trusting())
		own, other := someRoom(5), someRoom(5)
		publish := func(epoch int64, rooms ...reserve.Room) {
			require.NoError(t, writer.PublishRooms(t.Context(), epoch, rooms))
		}
		read := func(of *Rooms) []reserve.Room {
			refused = nil
			all, err := of.All(t.Context())
			require.NoError(t, err)
			return all
		}
		publish(7, own, other)
		require.ElementsMatch(t, []reserve.Room{own, other}, read(node))
		require.Empty(t, refused)
		stored := func(id uuid.UUID) string {
			text, err := client.rdb.HGet(t.Context(), client.keys.rooms, id.String()).Result()
			require.NoError(t, err)
			return text
		}
		put := func(id uuid.UUID, text string) {
			require.NoError(t, client.rdb.HSet(t.Context(), client.keys.rooms, id.String(), text).Err())
		}
		genuine, ofOther := stored(own.CampaignID), stored(other.CampaignID)
		object, err := trusting().encode(&campaign.Campaign{ID: own.CampaignID, ConfigVersion: 5})
		require.NoError(t, err)
		for name, text := range map[string]string{
			"more money": strings.Replace(genuine, `"total":`, `"total":9`, 1), "no seal": `9|{"epoch":7,"id":"` + own.CampaignID.String() + `"}`,
			"another room": ofOther, "a later version": "9" + genuine, "a campaign": "5|" + string(object), "nothing": "",
		} {
			put(own.CampaignID, text)
			require.Equal(t, []reserve.Room{other}, read(node), name)
			require.Equal(t, []string{own.CampaignID.String()}, refused, name)
			publish(7, own)
			require.ElementsMatch(t, []reserve.Room{own, other}, read(node), "%s: the true room is back", name)
		}

		// A room of an earlier filling is not played back where the later one is known.
		publish(8, own, other)
		require.ElementsMatch(t, []reserve.Room{own, other}, read(node))
		put(own.CampaignID, genuine)
		require.Equal(t, []reserve.Room{other}, read(node))
		require.Empty(t, refused, "it is genuine, and old")
	})
}

func TestForgedRoomsAreNotHeard(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		refused := make(chan string, 10)
		trusting := client.Trusting(Trust{Seal: newSeal(t), Refused: func(id string, _ error) { refused <- id }})
		heard := make(chan []reserve.Room, 10)
		subscribe(t, newCatalog(trusting), func(c Change) { heard <- c.Rooms })
		forged, real := someRoom(1), someRoom(2)
		require.NoError(t, NewRooms(client).PublishRooms(t.Context(), 7, []reserve.Room{forged}))
		await(t, refused, "the refusal")
		require.Empty(t, await(t, heard, "the forged message"))
		require.NoError(t, NewRooms(trusting).PublishRooms(t.Context(), 7, []reserve.Room{real}))
		require.Equal(t, []reserve.Room{real}, await(t, heard, "the sealed message"))
	})
}

func someRoom(version int64) reserve.Room {
	return reserve.Room{
		CampaignID: uuid.New(), AdvertiserID: uuid.New(), Version: version, Day: day.Of(time.Now()), Daily: 100, Today: 80,
		Total: 90, Balance: reserve.Unlimited, Open: 50,
	}
}

func TestForgedMessagesAreNotHeard(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		refused := make(chan string, 10)
		trusting := client.Trusting(Trust{Seal: newSeal(t), Refused: func(id string, _ error) { refused <- id }})
		sealed := newCatalog(trusting)
		heard := make(chan campaign.Campaign, 10)
		subscribe(t, sealed, func(c Change) { heard <- *c.Campaign })
		forged, real := someCampaign(1), someCampaign(2)
		_, err := NewNodes(client).Announce(t.Context(), forged)
		require.NoError(t, err)
		await(t, refused, "the refusal")
		_, err = NewNodes(trusting).Announce(t.Context(), real)
		require.NoError(t, err)
		require.Equal(t, real.ID, await(t, heard, "the sealed message").ID)
		require.Empty(t, heard)
	})
}

func TestSealedObjectsComeBackAsTheyWere(t *testing.T) {
	client := (&Client{}).Trusting(Trust{Seal: newSeal(t)})
	c := someCampaign(1)
	c.CTALabel = `,"seal":"k1.AAAA"}`
	object, err := client.encode(&c)
	require.NoError(t, err)
	var read campaign.Campaign
	require.NoError(t, client.decode(string(object), &read))
	require.Equal(t, c, read)
}
