package mcp_test

import (
	"testing"

	"adnet/auction"
	"adnet/ingress/track"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The record of an auction holds how old the session was, and an answer without an ad says under which id it is.
func TestRecordOfACall(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	f.shelf.refuse = auction.Paced
	for minutes, seconds := range map[string]uint32{"0": 0, "12.5": 750, "0.99": 59, "1e300": 365 * 24 * 3600} {
		f.log.auctions = nil
		var reply struct {
			Result struct {
				Said struct {
					AuctionID uuid.UUID `json:"auction_id"`
				} `json:"structuredContent"`
			} `json:"result"`
		}
		w := f.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"chess","session_len_min":` + minutes + `}}}`)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
		require.Len(t, f.log.auctions, 1)
		require.Equal(t, seconds, f.log.auctions[0].SessionS, minutes)
		require.Equal(t, f.log.auctions[0].AuctionId, reply.Result.Said.AuctionID[:])
	}
}
