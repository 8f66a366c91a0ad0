package redis

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
)

// A decision is confirmed by its own beacon only, however many of a session come together, also in
// one list with the decisions, and by a Redis that has forgotten the script.
func TestConfirmationsOfASessionComeTogether(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		sessions := NewSessions(client)
		crowd, lonely := campaign.SessionKey{1}, campaign.SessionKey{2}
		day := int32(time.Now().Unix() / 86400)
		until := time.Unix(time.Now().Unix()+60, 0)
		exposure := func(kind campaign.ExposureKind, session campaign.SessionKey, n int) campaign.Exposure {
			return campaign.Exposure{
				Kind: kind, Session: session, Day: day, Auction: uuid.UUID{byte(n >> 8), byte(n), 7},
				Campaign: uuid.UUID{9}, Until: until, Turn: 3,
			}
		}
		var list []campaign.Exposure
		for n := range 2*mostConfirmed + 500 {
			list = append(list, exposure(campaign.Confirmed, crowd, n), exposure(campaign.Decided, crowd, n))
		}
		list = append(list,
			// one not confirmed, one not decided
			exposure(campaign.Decided, crowd, 5000), exposure(campaign.Confirmed, crowd, 5001),
			exposure(campaign.Decided, lonely, 1), exposure(campaign.Confirmed, lonely, 1))
		require.NoError(t, client.rdb.ScriptFlush(t.Context()).Err())
		for range 2 { // a repeat changes nothing
			require.NoError(t, sessions.Record(t.Context(), list))
			found, turns, err := sessions.Session(t.Context(), crowd, day)
			require.NoError(t, err)
			require.Zero(t, turns)
			require.Len(t, found, 2*mostConfirmed+501)
			for _, e := range found {
				want := exposure(campaign.Confirmed, crowd, int(e.Auction[0])<<8|int(e.Auction[1]))
				if e.Auction[0] == 5000>>8 && e.Auction[1] == 5000&0xff {
					want.Kind = campaign.Decided
				}
				require.Equal(t, want, e)
			}
			found, _, err = sessions.Session(t.Context(), lonely, day)
			require.NoError(t, err)
			require.Equal(t, []campaign.Exposure{exposure(campaign.Confirmed, lonely, 1)}, found)
		}
		require.NoError(t, sessions.Record(t.Context(), nil))
		require.NoError(
			t, sessions.Record(t.Context(), []campaign.Exposure{{Kind: campaign.Turned, Session: lonely, Day: day}}),
		)
		_, turns, err := sessions.Session(t.Context(), lonely, day)
		require.NoError(t, err)
		require.Equal(t, 1, turns)
	})
}
