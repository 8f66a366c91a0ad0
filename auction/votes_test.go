package auction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/money"
)

// stranger is the first id of campaigns and families without votes.
const stranger = 1000

// drawStrangers draws campaigns of families without votes: copies of rivals, whole and in part,
// with more tokens, misspelt, and words that nobody else has.
func drawStrangers(t *rapid.T, rivals []auction.Campaign) (list []auction.Campaign) {
	for i := range rapid.IntRange(1, 30).Draw(t, "strangers") {
		c := drawCampaign(t)
		if len(rivals) > 0 && rapid.Bool().Draw(t, "copy") {
			c = rapid.SampledFrom(rivals).Draw(t, "of")
		}
		c.ID, c.Advertiser, c.Vote = id(stranger+i), id(stranger+rapid.IntRange(0, 9).Draw(t, "owner")), 0
		if rapid.Bool().Draw(t, "in a family") {
			c.Family = id(stranger + 500)
		}
		c.Headline += " " + strings.Join(few(t, "words", 6, "vector", "vektor", "databases", "serach", "café",
			"cafe", "traveling", "other", "go", "r", "天気", "天", "alpha", "and"), " ")
		if rapid.Bool().Draw(t, "tokens") {
			c.Targeting = &auction.Targeting{
				IntentTokens: few(t, "stranger tokens", 5, "go", "it", "r", "serach", "vector", "api", "other"),
				Exact:        rapid.Bool().Draw(t, "exact stranger"),
			}
		}
		list = append(list, c)
	}
	return list
}

// isStranger reports whether a campaign was added.
func isStranger(c *auction.Campaign) bool { return c != nil && c.ID[14] >= stranger>>8 }

// broke is a gate that refuses strangers, who have no balance.
type broke struct{ auction.Gate }

func (b broke) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
	switch {
	case isStranger(c):
		return auction.Budget
	case b.Gate == nil:
		return ""
	}
	return b.Gate.Check(c, of)
}

func (b broke) Undo(c *auction.Campaign) {
	if b.Gate != nil {
		b.Gate.Undo(c)
	}
}

// Whatever campaigns without votes say, and however many there are: if they cannot pay, every other
// campaign wins and loses as without them, at the same price. If they can, they change an auction
// only by winning it.
func TestCampaignsWithoutVotesChangeNothingForOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rivals := distinctCampaigns(t)
		table := ranker.Version2().With(drawLearnt(t))
		before := index.Build(table, rivals)
		strangers := drawStrangers(t, rivals)
		after := index.Build(table, append(append([]auction.Campaign{}, rivals...), strangers...))
		if rapid.Bool().Draw(t, "changed later") {
			after = before.Apply(index.Changes{Upsert: strangers})
		}
		for range rapid.IntRange(1, 5).Draw(t, "requests") {
			req, gate := drawRequest(t), drawGate(t)
			want := auction.Decide(&req, before, gate, new(auction.Scratch))
			got := auction.Decide(&req, after, broke{gate}, new(auction.Scratch))
			require.Equal(t, winnerID(want), winnerID(got))
			require.Equal(t, want.Price, got.Price)
			require.Equal(t, want.Prediction, got.Prediction)
			require.Equal(t, want.Explores, got.Explores)
			if paid := auction.Decide(&req, after, gate, new(auction.Scratch)); !isStranger(paid.Winner) {
				require.Equal(t, winnerID(want), winnerID(paid))
				require.Equal(t, want.Price, paid.Price)
			}
		}
	})
}

// A family has one vote, however many accounts it has: twenty that share a vote devalue a word as
// little as one.
func TestAFamilyVotesOnce(t *testing.T) {
	value := func(rivals int, family bool) int {
		list := []auction.Campaign{reply(0, "Postgres hosting", "Backups and replicas")}
		for i := range 60 {
			list = append(list, reply(100+i, fmt.Sprintf("thing%d matter%d", i, i%7), fmt.Sprintf("item%d", i%5)))
		}
		for i := range rivals {
			c := reply(1000+i, fmt.Sprintf("Postgres rival%d", i), "")
			if family {
				c.Family = id(9)
			}
			list = append(list, c)
		}
		r := auction.Request{ID: id(1), Words: terms("postgres with replicas")}
		e := auction.Decide(&r, index.Build(ranker.Version2(), list), nil, new(auction.Scratch))
		require.Equal(t, id(0), e.Winner.ID)
		for _, term := range e.Prediction.Terms {
			if term.Term == "postgr" {
				return int(term.By)
			}
		}
		require.Fail(t, "the word adds nothing")
		return 0
	}
	first := value(1, true)
	require.InEpsilon(t, first, value(20, true), 0.05)
	require.Less(t, value(20, false), first*9/10, "twenty families do")
}

// reply returns a campaign of an advertiser of its own with a full vote.
func reply(n int, headline, subtext string, tokens ...string) auction.Campaign {
	return auction.Campaign{
		ID: id(n), Advertiser: id(n), Bid: 5 * money.USD, Vote: index.FullVote, Headline: headline, Subtext: subtext,
		Targeting: &auction.Targeting{IntentTokens: tokens},
	}
}

// trade is what all advertisers of one trade say, with requests that are about it and others.
type trade struct {
	headline, subtext string
	tokens            []string
	answers, others   []string
}

// of returns campaigns of as many advertisers.
func (a *trade) of(from, n int, vote uint32) (list []auction.Campaign) {
	for i := range n {
		c := reply(from+i, fmt.Sprintf("%s %d", a.headline, i), a.subtext, a.tokens...)
		c.Vote = vote
		list = append(list, c)
	}
	return list
}

var oneTrade = map[string]trade{
	"lamps": {
		"Zebra lamps number", "Warm light for zebras", []string{"zebra", "lamp"},
		[]string{"zebra lamp", "where can I buy a zebra lamp with warm light", "recommend a lamp"},
		[]string{"what is the meaning of life", "how do I cook rice for ten people"},
	},
	"insurance without tokens": {
		"Car insurance from broker", "Compare prices and save on your car insurance today", nil,
		[]string{"car insurance", "where can I get insurance for a new car", "recommend an insurance"},
		[]string{"what is the meaning of life", "compare the prices of apples", "how do I paint a door"},
	},
	"German": {
		"Günstige Fahrräder", "Das beste Fahrrad für die Stadt und für dich", []string{"Fahrrad"},
		[]string{"Fahrrad", "Ich suche ein Fahrrad für die Stadt", "Empfiehl mir ein Fahrrad"},
		[]string{"Was ist der Sinn des Lebens", "Wie wird das Wetter für die nächsten Tage und wo ist es warm"},
	},
	"Spanish": {
		"Seguros de coche", "El mejor precio para tu seguro de coche", []string{"seguro", "coche"},
		[]string{"seguro de coche", "dónde puedo contratar un seguro para mi coche", "recomiéndame un seguro"},
		[]string{"cuál es el sentido de la vida", "la capital de Francia para el examen"},
	},
	"Russian": {
		"Лампы для зебр", "Тёплый свет для зебры", []string{"лампа", "зебра"},
		[]string{"лампа зебра", "где купить лампу для зебры с тёплым светом"},
		[]string{"в чём смысл жизни", "какая завтра погода для дачи"},
	},
	"Japanese": {
		"シマウマのランプ", "シマウマのための暖かい光", []string{"シマウマ", "ランプ"},
		[]string{"シマウマのランプ", "暖かい光のランプはどこで買えますか", "ランプをおすすめして"},
		[]string{"人生の意味は何ですか", "明日の天気を教えてください"},
	},
	"Korean": {
		"서울 호텔", "서울에서 가장 편안한 호텔", []string{"호텔"},
		[]string{"서울 호텔", "서울에서 편안한 호텔을 찾고 있어요", "호텔 추천해줘"},
		[]string{"인생의 의미는 무엇인가요", "내일 날씨 알려줘"},
	},
}

// check requires an ad of the trade for each of its requests, and none for the others.
func (a *trade) check(t *testing.T, x *auction.Snapshot) {
	t.Helper()
	for _, lists := range [][]string{a.answers, a.others} {
		for _, context := range lists {
			r := auction.Request{ID: id(1), Words: terms(context), MinRelevance: ranker.DefaultFloor}
			o := decide(t, r, x, nil)
			if len(lists) > 0 && &lists[0] == &a.others[0] {
				require.Nil(t, o.Winner, context)
				continue
			}
			require.NotNil(t, o.Winner, "%s: %s", context, o.Reason)
			require.Equal(t, a.subtext, o.Winner.Subtext, context)
		}
	}
}

// A word that every advertiser uses still shows that a request is about what they sell, whether
// they have votes or nobody has paid yet.
func TestANetworkOfOneTradeFills(t *testing.T) {
	for name, a := range oneTrade {
		for _, vote := range []uint32{index.FullVote, 0} {
			for _, n := range []int{1, 5, 20, 200} {
				t.Run(fmt.Sprintf("%s, %d of vote %d", name, n, vote), func(t *testing.T) {
					a.check(t, index.Build(ranker.Version2(), a.of(0, n, vote)))
				})
			}
		}
	}
}

// The same holds for the parts of a network, however unequal.
func TestTradesOfUnequalSizeFill(t *testing.T) {
	lamps, bikes := oneTrade["lamps"], trade{
		"Bicycle repair shop", "We fix your bike within a day", []string{"bicycle", "bike", "repair"},
		[]string{"bicycle repair", "my bike has a flat tire, who can repair it", "recommend a bike"},
		[]string{"what is the meaning of life", "how do I cook rice for ten people"},
	}
	for _, part := range []int{2, 3, 10} {
		for _, n := range []int{20, 200} {
			x := index.Build(ranker.Version2(), append(lamps.of(0, n-n/part, index.FullVote),
				bikes.of(stranger, n/part, index.FullVote)...))
			lamps.check(t, x)
			bikes.check(t, x)
		}
	}
	var all []auction.Campaign
	for i := range 100 {
		all = append(all, reply(stranger+i, fmt.Sprintf("thing%d matter%d", i, i%31), fmt.Sprintf("item%d", i%7)))
	}
	lamps.check(t, index.Build(ranker.Version2(), append(all, lamps.of(0, 100, index.FullVote)...)))
}
