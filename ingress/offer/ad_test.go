package offer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/token"
)

func TestAppendID(t *testing.T) {
	for _, id := range []uuid.UUID{uuid.Nil, uuid.New()} {
		require.Equal(t, "x"+id.String(), string(AppendID([]byte("x"), id)))
	}
}

// Every placement that a request may name is a surface that campaigns may target.
func TestSurfaces(t *testing.T) {
	for _, placement := range placements {
		in := Request{Context: "chess", Placement: placement}
		require.NoError(t, in.Check())
		require.NotEmpty(t, in.surface())
	}
}

// A base URL makes links that JSON strings and Markdown take as they are; one of a URL's characters
// stays what it is.
func TestLinksAreSafe(t *testing.T) {
	for _, same := range []string{
		"", "https://ads.example:8443/a-b_c~d/(x)?y=1&z=%20", "https://werbung.öffentlich.example",
	} {
		require.Equal(t, same, safeURL(same))
	}
	rapid.Check(t, func(t *rapid.T) {
		safe := safeURL(
			rapid.OneOf(
				rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a\"\\/<>&`\x00\n é\x7f"))),
				rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			).Draw(t, "base"),
		)
		quoted, err := jsontext.AppendQuote(nil, safe)
		require.NoError(t, err)
		require.Equal(t, `"`+safe+`"`, string(quoted))
		require.False(t, strings.ContainsAny(safe, "<>` \n"))
	})
	base := "https://one.example"
	s := New(Config{}, Deps{Metrics: prometheus.NewRegistry(), BaseURL: func() string { return base }})
	require.Equal(t, "https://one.example", s.Base())
	base = `https://two.example/"`
	require.Equal(t, "https://two.example/%22", s.Base(), "the listener's address is known after the first question")
}

// single is a catalog of one campaign, and what its gate says.
type single struct {
	creative campaign.Campaign
	snapshot *auction.Snapshot
	refuse   auction.Reason
}

func (o *single) Snapshot() *auction.Snapshot { return o.snapshot }
func (o *single) Version() int64              { return 1 }
func (o *single) Fresh(time.Time) bool        { return true }
func (o *single) Gate(time.Time) auction.Gate {
	return auction.GateFunc(func(*auction.Campaign, auction.Valuation) auction.Reason { return o.refuse })
}
func (o *single) Creative(uuid.UUID) (*campaign.Campaign, bool) { return &o.creative, true }

func (o *single) Room(uuid.UUID) (reserve.Room, bool) { return reserve.Room{Daily: 1 << 40}, true }

func (o *single) CanRecord(context.Context) bool { return true }

func (o *single) Produce(_ string, _, _ []byte, done func(error)) { done(nil) }

// shelf is what a seller sells from and writes to.
type shelf interface {
	Catalog
	Producer
	Recording
}

// sellerOf is a seller over of; deps needs nothing that every seller has.
func sellerOf(t testing.TB, cfg Config, of shelf, deps Deps) *Seller {
	t.Helper()
	master, err := token.NewKey("k1")
	require.NoError(t, err)
	ring, err := token.NewKeyring([]token.Key{master})
	require.NoError(t, err)
	deps.Metrics, deps.Catalog, deps.Keyring, deps.Producer, deps.Recording = prometheus.NewRegistry(), of, ring, of, of
	deps.BaseURL = func() string { return "https://ads.example" }
	return New(cfg, deps)
}

func auctionID(a Answer) string { return string(a.AppendAuctionID(nil)) }

// An answer can be reused: nothing of its earlier content remains.
func TestReusedAnswerIsCleared(t *testing.T) {
	id := uuid.UUID{15: 1}
	shelf := &single{
		creative: campaign.Campaign{
			ID: id, Creative: campaign.Creative{Format: campaign.Native}, BillingModel: campaign.CPM,
			BidAmount: money.USD,
		},
		snapshot: index.Build(
			ranker.Version2(),
			[]auction.Campaign{{ID: auction.ID(id), Bid: money.USD, Targeting: &auction.Targeting{}}},
		),
	}
	seller := sellerOf(t, Config{}, shelf, Deps{})
	developerID := uuid.New()
	caller := httpapi.Caller{DeveloperID: developerID}
	var answer Answer
	ask := func() Answer {
		in := Request{Context: "chess", SessionID: "s"}
		require.NoError(t, in.Check())
		require.NoError(t, seller.Answer(t.Context(), caller, &in, &answer))
		return answer
	}
	first := auctionID(ask())
	require.NotNil(t, answer.Creative)
	second := ask()
	require.Len(t, auctionID(second), len(first))
	require.NotEqual(t, first, auctionID(second))
	shelf.refuse = auction.Paced
	none := ask()
	require.Nil(t, none.Creative)
	require.Empty(t, none.session)
	require.Equal(t, auction.Paced, none.Reason)
	shelf.refuse, caller.Sandbox = "", true
	drawn := ask()
	require.True(t, drawn.Sandbox)
	require.Empty(t, drawn.Reason)
	caller.Sandbox = false
	require.False(t, ask().Sandbox)
}
