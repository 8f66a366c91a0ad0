package serve

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/auction"
	"adnet/ingress/ingresstest"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// The record of an auction names the best candidates and why each lost, and of the request only how
// much there was.
func TestRecordExplainsTheAuction(t *testing.T) {
	f := newFixture(t, 0)
	var list []campaign.Campaign
	for i := range 14 {
		k := generic()
		k.ID, k.BidAmount, k.IntentTokens = uuid.UUID{15: byte(i + 1)}, money.Micros(20-i)*money.USD,
			[]string{"zebra", "okapi"}
		list = append(list, k)
	}
	f.Shelf.Put(list...)
	ask := func() {
		f.ask(
			f.key,
			`{"context":"A zebra and an okapi at night","active_tools":["secret-tool"],"session_id":"secret-session"}`,
		)
	}
	ask()
	logged := f.Log.Auctions[0]
	require.EqualValues(t, 7, logged.Tokens)
	require.EqualValues(t, 1, logged.Tools)
	require.True(t, logged.MoreCandidates)
	require.Equal(t, list[0].ID[:], logged.CampaignId)
	require.Greater(t, len(logged.Candidates), 1)
	for i, c := range logged.Candidates {
		require.Equal(t, list[i].ID[:], c.CampaignId)
		require.Equal(t, i == 0, c.Reason == "")
		require.Equal(t, i > 0, c.Reason == string(auction.Outbid))
		require.Positive(t, c.EcpmMicros)
	}
	raw, err := proto.Marshal(logged)
	require.NoError(t, err)
	for _, reply := range []string{"zebra", "okapi", "night", "secret"} {
		require.NotContains(t, string(raw), reply, "what a conversation is about is not kept")
	}

	f.Shelf.Refuse = auction.Budget
	ask()
	refused := f.Log.Auctions[1]
	require.Len(t, refused.Candidates, auction.MaxTrace)
	require.True(t, refused.MoreCandidates)
	for _, c := range refused.Candidates {
		require.Equal(t, string(auction.Budget), c.Reason)
	}
	f.Shelf.Refuse, f.Shelf.Stale = "", true
	ask()
	require.Empty(t, f.Log.Auctions[2].Candidates, "no auction took place, and nothing is left of the one before")
	require.False(t, f.Log.Auctions[2].MoreCandidates)
}

func TestLimitFieldsAreInTheReply(t *testing.T) {
	f := newFixture(t, 3)
	for i := range 3 {
		w := f.send(body(t, nil), "Authorization", "Bearer "+f.key)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, []string{"3", strconv.Itoa(2 - i), "61"},
			[]string{
				w.Header().Get("RateLimit-Limit"), w.Header().Get("RateLimit-Remaining"),
				w.Header().Get("RateLimit-Reset"),
			})
	}
	w := f.send(body(t, nil), "Authorization", "Bearer "+f.key)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, w.Header().Get("Retry-After"), w.Header().Get("RateLimit-Reset"))
}

// Sandbox keys that were never issued can be made up at will: they are limited by address.
func TestMadeUpSandboxKeysShareALimit(t *testing.T) {
	f := newFixture(t, 5)
	for i := range 5 {
		require.Equal(t, http.StatusOK, f.send(body(t, nil), "Authorization", "Bearer pub_test_"+strconv.Itoa(i)).Code)
	}
	ingresstest.RequireError(
		t, f.send(body(t, nil), "Authorization", "Bearer sk_test_new", "X-Forwarded-For", "198.51.100.9"),
		http.StatusTooManyRequests, "rate_limited", "",
	)
	require.Equal(t, http.StatusOK, f.send(body(t, nil), "Authorization", "Bearer "+f.key).Code)
}

func TestReplyContainsTheOutcome(t *testing.T) {
	f := newFixture(t, 0)
	require.NotNil(t, f.ask(f.key, body(t, nil)).Ad)
	f.Shelf.Refuse = auction.Paced
	f.ask(f.key, body(t, nil))
	require.Equal(t, []auction.Reason{"", auction.Paced}, f.reported.reasons)
}
