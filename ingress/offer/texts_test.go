package offer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

var textsAt = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// A publisher records 100 texts of a kind and day as they are, whatever others send; the further
// ones are "other", or their registered part. The texts of yesterday count no more.
func TestAPublisherRecordsHundredTextsADay(t *testing.T) {
	known, one := newTexts(), uuid.New()
	describe := func(publisher uuid.UUID, page bool, n int, at time.Time) described {
		p := Place{
			Developer: publisher, Surface: fmt.Sprint("s", n), Host: fmt.Sprint("h", n),
			Region: fmt.Sprintf("US-%03d", n), Language: fmt.Sprintf("en-%03d", n),
		}
		p.Browser.Asks = page
		return known.describe(&p, at)
	}
	sent := func(n int) described {
		return described{fmt.Sprint("s", n), fmt.Sprint("h", n), fmt.Sprintf("US-%03d", n), fmt.Sprintf("en-%03d", n)}
	}
	for n := range 500 {
		want := sent(n)
		if n >= 100 {
			want.surface, want.host = report.OtherKey, report.OtherKey
		}
		if n >= 300 {
			want.region, want.language = "US", "en"
		}
		require.Equal(t, want, describe(one, false, n, textsAt), n)
	}
	require.Equal(t, sent(3), describe(one, false, 3, textsAt), "the first ones stay")
	require.Equal(t, sent(700), describe(one, true, 700, textsAt), "requests of pages use up nothing of servers'")
	require.Equal(t, sent(700), describe(uuid.New(), false, 700, textsAt), "nor does another publisher")
	tomorrow := textsAt.AddDate(0, 0, 1)
	require.Equal(t, sent(700), describe(one, false, 700, tomorrow))
	require.Len(t, known.known, 4)
	require.Equal(t, sent(701), describe(one, false, 701, textsAt), "a late request of yesterday")
	require.Len(t, known.known, 8, "and it clears nothing")

	plain := Place{Developer: one, Surface: "tool_result", Region: "DE", Language: "de"}
	require.Equal(t, described{"tool_result", "", "DE", "de"}, known.describe(&plain, tomorrow))
	require.Equal(t, described{}, known.describe(new(Place), tomorrow))
	require.Len(t, known.known, 8, "surfaces of placements and registered subtags are not counted")
}

// All publishers together cost a node a bounded memory.
func TestRecordedTextsAreBounded(t *testing.T) {
	known := newTexts()
	known.date, known.count = 1, map[textOwner]int{}
	known.known = make(map[knownText]struct{}, mostKnown)
	for n := range uint64(mostKnown) {
		known.known[knownText{hash: n}] = struct{}{}
	}
	require.False(t, known.admit(textOwner{publisher: uuid.New()}, "new", 1))
	require.Len(t, known.known, mostKnown)
	require.True(t, known.admit(textOwner{publisher: uuid.New()}, "new", 2), "the next day")
}

// The 101st app is served by the campaigns that target it, while the record and the links have
// "other". The same holds for regions and languages that are not registered; no request is refused.
func TestTargetingSeesTheTextsAsSent(t *testing.T) {
	id := uuid.UUID{15: 1}
	shelf := &recorder{single: single{
		creative: campaign.Campaign{
			ID: id, Creative: campaign.Creative{Format: campaign.Native}, BillingModel: campaign.CPM,
			BidAmount: money.USD,
		},
		snapshot: index.Build(ranker.Version2(), []auction.Campaign{{
			ID: auction.ID(id), Bid: money.USD, Targeting: &auction.Targeting{HostApps: []string{"wanted"}},
		}}),
	}}
	seller := sellerOf(t, Config{}, shelf, Deps{Now: func() time.Time { return textsAt }})
	caller := httpapi.Caller{DeveloperID: uuid.New()}
	var answer Answer
	ask := func(in Request) *event.Placement {
		in.Context = "chess"
		require.NoError(t, in.Check())
		require.NoError(t, seller.Answer(t.Context(), caller, &in, &answer))
		return shelf.auctions[len(shelf.auctions)-1].Placement
	}
	for n := range 100 {
		require.Equal(t, fmt.Sprint("app", n), ask(Request{HostApp: fmt.Sprint("app", n)}).HostApp)
		require.Nil(t, answer.Creative)
	}
	require.Equal(t, report.OtherKey, ask(Request{HostApp: "wanted"}).HostApp)
	require.NotNil(t, answer.Creative, "the campaign targets the app")
	for _, text := range []string{"xx", "*", "xx-yyyyy"} {
		require.Equal(t, report.OtherKey, ask(Request{UserLanguage: text}).Language, text)
	}
	require.Equal(t, report.OtherKey, ask(Request{UserRegion: "XX"}).Region)
	require.Equal(t, "pt-BR", ask(Request{UserLanguage: "pt_br"}).Language)
	require.Equal(t, "US-CA", ask(Request{UserRegion: "us-ca"}).Region)
	require.Empty(t, ask(Request{}).Region)
}
