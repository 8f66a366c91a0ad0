package rtb

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A request without a bid says which auction explains it: in a header of the empty answer, and for
// each imp where reasons are asked for.
func TestLostAuctionsAreNamed(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put()
	imps := `"imp":[{"id":"1","banner":{}},{"id":"1","banner":{}},{"id":"2","banner":{}}]`
	w := f.send([]byte(`{"id":"r",` + imps + `}`))
	require.Equal(t, 204, w.Code)
	require.Len(t, f.Log.Auctions, 2, "the repeated imp has no auction")
	require.Equal(t, uuid.UUID(f.Log.Auctions[0].AuctionId).String(), w.Header().Get("X-Adnet-Auction-Id"))

	f.Log.Auctions = nil
	w = f.send([]byte(`{"id":"r","ext":{"debug":1},` + imps + `}`))
	var reply struct {
		Ext struct {
			SeatNonBid []struct {
				NonBid []struct {
					ImpID string `json:"impid"`
					Ext   struct {
						AuctionID uuid.UUID `json:"auction_id"`
					} `json:"ext"`
				} `json:"nonbid"`
			} `json:"seatnonbid"`
		} `json:"ext"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
	require.Len(t, reply.Ext.SeatNonBid, 1)
	reported := reply.Ext.SeatNonBid[0].NonBid
	require.Len(t, reported, 3)
	require.Equal(t, uuid.UUID(f.Log.Auctions[0].AuctionId), reported[0].Ext.AuctionID)
	require.Equal(t, uuid.Nil, reported[1].Ext.AuctionID)
	require.Equal(t, uuid.UUID(f.Log.Auctions[1].AuctionId), reported[2].Ext.AuctionID)
}
