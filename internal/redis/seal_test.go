package redis

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/errs"
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
