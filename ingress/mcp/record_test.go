package mcp_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/track"
)

// The record of an auction holds how old the session was, and an answer without an ad says under
// which id it is.
func TestRecordOfACall(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	f.Shelf.Refuse = auction.Paced
	for minutes, seconds := range map[string]uint32{"0": 0, "12.5": 750, "0.99": 59, "1e300": 365 * 24 * 3600} {
		f.Log.Auctions = nil
		var reply struct {
			Result struct {
				Reply struct {
					AuctionID uuid.UUID `json:"auction_id"`
				} `json:"structuredContent"`
			} `json:"result"`
		}
		w := f.post(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"chess","session_len_min":` + minutes + `}}}`,
		)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
		require.Len(t, f.Log.Auctions, 1)
		require.Equal(t, seconds, f.Log.Auctions[0].SessionS, minutes)
		require.Equal(t, f.Log.Auctions[0].AuctionId, reply.Result.Reply.AuctionID[:])
	}
}

// A call reuses the memory of an earlier one, and nothing of the earlier call may appear.
func TestCallsDoNotShareState(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	ask := func(params string) string {
		w := f.post(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content"` + params + `}}`,
		)
		return w.Body.String()
	}
	for range 20 { // the pool may give another call's memory, or none
		before := len(f.Log.Auctions)
		full := ask(
			`,"arguments":{"context":"secret-context","host":"secret-host","user_region":"US","session_id":"secret-session","session_len_min":7,"turn":3,"active_tools":["secret-tool"]}`,
		)
		require.Contains(t, full, "&session=s.", "which stands for secret-session")
		require.NotContains(t, full, "secret-session")
		for _, none := range []string{``, `,"arguments":{}`, `,"arguments":{"context":" "}`} {
			require.Contains(t, ask(none), `"isError":true`, none)
		}
		for _, bare := range []string{
			`,"arguments":{"context":"chess"}`, `,"arguments":{"context":"chess","extra":1}`,
		} {
			reply := ask(bare)
			require.Contains(t, reply, `"isError":false`)
			require.NotContains(t, reply, "secret")
			require.NotContains(t, reply, "session=s.")
		}
		require.Len(t, f.Log.Auctions, before+3)
		for _, a := range f.Log.Auctions[before+1:] {
			require.Empty(t, a.Placement.HostApp)
			require.Empty(t, a.Placement.Region)
			require.Zero(t, a.SessionS)
			require.Zero(t, a.Tools)
			require.EqualValues(t, 1, a.Tokens)
		}
	}
}
