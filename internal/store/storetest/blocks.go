package storetest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/money/share"
)

var blockCases = []testCase{
	{"AreKeptAndReplaced", func(t *testing.T, s Stores) {
		u, other := AddUser(t, s), AddUser(t, s)
		none := account.Blocks{
			Advertisers: []uuid.UUID{}, Domains: []string{}, Categories: []string{}, Words: []string{},
		}
		requireBlocks(t, s, u.ID, none)
		first := account.Blocks{
			Advertisers: []uuid.UUID{newID(t)}, Domains: []string{"a.example", "b.example"},
			Categories: []string{"IAB7"}, Words: []string{"casino", "賭博"},
		}
		require.NoError(t, s.Blocks.PutBlocks(t.Context(), u.ID, first))
		requireBlocks(t, s, u.ID, first)
		requireBlocks(t, s, other.ID, none)
		second := account.Blocks{
			Advertisers: []uuid.UUID{}, Domains: []string{}, Categories: []string{}, Words: []string{"x"},
		}
		require.NoError(t, s.Blocks.PutBlocks(t.Context(), u.ID, second))
		requireBlocks(t, s, u.ID, second)
		_, err := s.Blocks.Blocks(t.Context(), newID(t))
		requireCode(t, err, errs.NotFound)
		requireCode(t, s.Blocks.PutBlocks(t.Context(), newID(t), first), errs.NotFound)
		requireCode(t, s.Blocks.PutBlocks(t.Context(), u.ID, account.Blocks{Words: []string{"!"}}), errs.InvalidRequest)
		requireBlocks(t, s, u.ID, second)
	}},
	{"PublishingIsKeptAndTravels", func(t *testing.T, s Stores) {
		u, other := AddUser(t, s), AddUser(t, s)
		k, foreign := addKey(t, s, u, 1), addKey(t, s, other, 2)
		_, seatKey := addSeat(t, s, u)
		least := share.Share(123_456)
		asks := func(want account.Publishing) {
			t.Helper()
			got, err := s.Publish.Publishing(t.Context(), u.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)
			for _, hash := range [][32]byte{k.Hash, seatKey.Hash} {
				got, _, err := s.Keys.KeyByHash(t.Context(), hash)
				require.NoError(t, err)
				require.Equal(t, want, got.Publishing, "that of the account, for its seats too")
			}
			none, _, err := s.Keys.KeyByHash(t.Context(), foreign.Hash)
			require.NoError(t, err)
			require.Zero(t, none.Publishing)
		}
		asks(account.Publishing{})
		require.NoError(t, s.Publish.PutPublishing(t.Context(), u.ID, account.Publishing{MinRelevance: &least}))
		asks(account.Publishing{MinRelevance: &least})
		require.NoError(t, s.Blocks.PutBlocks(t.Context(), u.ID, account.Blocks{Words: []string{"x"}}))
		asks(account.Publishing{MinRelevance: &least})
		house := account.Publishing{MinRelevance: &least, HouseAds: true}
		require.NoError(t, s.Publish.PutPublishing(t.Context(), u.ID, house))
		asks(house)
		off, wrong := share.Share(0), share.Whole+1
		require.NoError(t, s.Publish.PutPublishing(t.Context(), u.ID, account.Publishing{MinRelevance: &off}))
		asks(account.Publishing{MinRelevance: &off})
		requireCode(
			t, s.Publish.PutPublishing(t.Context(), u.ID, account.Publishing{MinRelevance: &wrong}),
			errs.InvalidRequest,
		)
		requireCode(t, s.Publish.PutPublishing(t.Context(), newID(t), account.Publishing{}), errs.NotFound)
		_, err := s.Publish.Publishing(t.Context(), newID(t))
		requireCode(t, err, errs.NotFound)
		require.NoError(t, s.Publish.PutPublishing(t.Context(), u.ID, account.Publishing{}))
		asks(account.Publishing{})
	}},
	{"HouseAdsTravelWithTheKeysOfTheirOwner", func(t *testing.T, s Stores) {
		u, other := AddUser(t, s), AddUser(t, s)
		k, foreign := addKey(t, s, u, 1), addKey(t, s, other, 2)
		_, seatKey := addSeat(t, s, u)
		travels := func(want ...uuid.UUID) {
			t.Helper()
			got, _, err := s.Keys.KeyByHash(t.Context(), k.Hash)
			require.NoError(t, err)
			require.Equal(t, want, got.House)
			for _, hash := range [][32]byte{foreign.Hash, seatKey.Hash} {
				got, _, err := s.Keys.KeyByHash(t.Context(), hash)
				require.NoError(t, err)
				require.Empty(t, got.House, "neither another account's nor on a seat")
			}
		}
		first, paused, last := AddCampaign(
			t, s, u.ID, campaign.Active,
		), AddCampaign(t, s, u.ID, campaign.Active), AddCampaign(t, s, u.ID, campaign.Active)
		AddCampaign(t, s, other.ID, campaign.Active)
		_, err := s.Campaigns.UpdateCampaign(
			t.Context(), paused.ID, func(c *campaign.Campaign) error { c.Status = campaign.Paused; return nil },
		)
		require.NoError(t, err)
		travels() // not asked for
		require.NoError(t, s.Publish.PutPublishing(t.Context(), u.ID, account.Publishing{HouseAds: true}))
		travels(last.ID, first.ID)
		for range account.MaxHouse {
			last = AddCampaign(t, s, u.ID, campaign.Active)
		}
		got, _, err := s.Keys.KeyByHash(t.Context(), k.Hash)
		require.NoError(t, err)
		require.Len(t, got.House, account.MaxHouse)
		require.Equal(t, last.ID, got.House[0])
		require.NoError(t, s.Publish.PutPublishing(t.Context(), u.ID, account.Publishing{}))
		travels()
	}},
	{"TravelWithEveryKey", func(t *testing.T, s Stores) {
		u, other := AddUser(t, s), AddUser(t, s)
		k, foreign := addKey(t, s, u, 1), addKey(t, s, other, 2)
		_, seatKey := addSeat(t, s, u)
		got, _, err := s.Keys.KeyByHash(t.Context(), k.Hash)
		require.NoError(t, err)
		require.Nil(t, got.Blocks)
		b := account.Blocks{
			Advertisers: []uuid.UUID{newID(t)}, Domains: []string{"a.example"}, Categories: []string{},
			Words: []string{"casino"},
		}
		require.NoError(t, s.Blocks.PutBlocks(t.Context(), u.ID, b))
		for _, hash := range [][32]byte{k.Hash, seatKey.Hash} {
			got, _, err := s.Keys.KeyByHash(t.Context(), hash)
			require.NoError(t, err)
			require.Equal(t, &b, got.Blocks, "those of the account, for its seats too")
		}
		got, _, err = s.Keys.KeyByHash(t.Context(), foreign.Hash)
		require.NoError(t, err)
		require.Nil(t, got.Blocks)
	}},
}

func requireBlocks(t *testing.T, s Stores, user uuid.UUID, want account.Blocks) {
	t.Helper()
	got, err := s.Blocks.Blocks(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
