package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/internal/money"
)

// drawLearnt draws weights about campaigns and terms that others draw, none in half of the cases.
func drawLearnt(t *rapid.T) *ranker.Learnt {
	if rapid.Bool().Draw(t, "first day") {
		return nil
	}
	l := &ranker.Learnt{
		Version: 7, Campaigns: map[[16]byte][]ranker.Lesson{}, Clicks: clicks(),
		Explored: map[uint64]bool{}, Advertisers: map[[16]byte]bool{id(1): true},
	}
	l.View = rapid.SampledFrom([]ranker.PPM{0, ranker.LeastView, 333_333, ranker.Certain}).Draw(t, "view")
	l.Conversions = ranker.PPM(
		rapid.SampledFrom([]int64{250_000, 999_999, 1_000_000, 1_000_001, 4_000_000}).Draw(t, "conversions"),
	)
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 20).Draw(t, "taught") {
		var lessons []ranker.Lesson
		for _, term := range []string{"databas", "api", "vector", "search", "travel", "天気", "nowhere"} {
			by := int32(rapid.IntRange(-1<<16, 1<<16).Draw(t, "by"))
			if by%3 != 0 {
				lessons = append(lessons, ranker.Lesson{Term: lexicon.TermID(term), By: by})
			}
		}
		l.Campaigns[id(n)] = lessons
	}
	old := auction.Campaign{Headline: "Vector databases"}
	l.Explored[old.Content()] = true
	return l
}

// clicks is a curve that rises with relevance.
func clicks() (curve [ranker.Knots]ranker.PPM) {
	for i := range curve {
		curve[i] = ranker.PPM(500 + 400*i)
	}
	return curve
}

// explorers returns a network with learnt weights: campaign 1 is known, the others are passed in.
func explorers(others ...auction.Campaign) *auction.Snapshot {
	known := auction.Campaign{
		ID: id(1), Advertiser: id(101), Bid: 4 * money.USD, Vote: index.FullVote, Headline: "Vector database hosting", Subtext: "for teams",
	}
	l := &ranker.Learnt{
		Version: 1, Clicks: clicks(), Explored: map[uint64]bool{known.Content(): true},
		Advertisers: map[[16]byte]bool{id(150): true},
	}
	return index.Build(ranker.Version2().With(l), append(others, known))
}

// wins counts the wins per campaign over many auctions, and checks the limits of exploring in each.
func wins(t *testing.T, s *auction.Snapshot, auctions int) (won, explored map[auction.ID]int) {
	won, explored = map[auction.ID]int{}, map[auction.ID]int{}
	req := auction.Request{Words: terms("vector database hosting"), MinRelevance: ranker.DefaultFloor}
	for n := range auctions {
		req.ID = id(n)
		got := decide(t, req, s, nil)
		if got.Winner == nil {
			continue
		}
		won[got.Winner.ID]++
		require.GreaterOrEqual(t, got.Prediction.Relevance, ranker.DefaultFloor, "never below the floor")
		require.LessOrEqual(t, 1000*got.Price, got.Winner.Bid, "never above the stated bid")
		if got.Explores {
			explored[got.Winner.ID]++
		}
	}
	return won, explored
}

func TestNewCampaignsExplore(t *testing.T) {
	const auctions = 2000
	young := func(n, advertiser int) auction.Campaign {
		return auction.Campaign{
			ID: id(n), Advertiser: id(advertiser), Bid: 4 * money.USD, Vote: index.FullVote, Headline: "Hosting of a vector database",
			Subtext: "with backups and restores",
		}
	}
	won, explored := wins(t, explorers(young(2, 102)), auctions)
	require.Equal(t, won[id(2)], explored[id(2)], "the known one is better by far")
	require.Greater(t, explored[id(2)], auctions/100)
	require.LessOrEqual(t, explored[id(2)], auctions/20, "at most 5 %")

	var copies []auction.Campaign
	for n := range 20 {
		copies = append(copies, young(2+n, 102))
	}
	_, explored = wins(t, explorers(copies...), auctions)
	sum := 0
	for _, n := range explored {
		sum += n
	}
	require.Positive(t, sum)
	require.LessOrEqual(t, sum, auctions/20, "together no more than one")

	same := auction.Campaign{
		ID: id(2), Advertiser: id(102), Bid: 3 * money.USD, Vote: index.FullVote, Headline: "vector DATABASE  hosting", Subtext: "For teams",
	}
	_, explored = wins(t, explorers(same), auctions)
	require.Empty(t, explored, "a copy has its source's counts")
	_, explored = wins(t, explorers(young(2, 150)), auctions)
	require.Empty(t, explored, "its advertiser has explored enough")
	cheap := young(2, 102)
	cheap.Bid = money.USD
	_, explored = wins(t, explorers(cheap), auctions)
	require.Empty(t, explored, "a stated bid that is lower wins nothing")
	away := young(2, 102)
	away.Headline, away.Subtext, away.Bid = "Cheap flights", "to Rome", 400*money.USD
	won, _ = wins(t, explorers(away), auctions)
	require.Zero(t, won[id(2)], "what is not relevant is not shown")
	open := explorers(away)
	for n := range auctions {
		req := auction.Request{ID: id(n), Words: terms("vector database hosting")}
		require.False(t, decide(t, req, open, nil).Explores, "nor tried where the floor is off")
	}
}

// Before anything is learnt, no campaign is newer than another.
func TestNothingExploresOnTheFirstDay(t *testing.T) {
	req := auction.Request{Words: terms("vector database")}
	s := snapshot(cpm(1, 5), cpm(2, 4), cpm(3, 4))
	for n := range 200 {
		req.ID = id(n)
		require.False(t, decide(t, req, s, nil).Explores)
	}
}

// A refused explorer leaves the auction unchanged.
func TestAnExplorerThatMayNotServe(t *testing.T) {
	young := auction.Campaign{
		ID: id(2), Advertiser: id(102), Bid: 4 * money.USD, Vote: index.FullVote, Headline: "Hosting of a vector database",
		Subtext: "with backups and restores",
	}
	s := explorers(young)
	broke := auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
		if c.ID == id(2) {
			return auction.Budget
		}
		return ""
	})
	for n := range 500 {
		got := decide(t, auction.Request{ID: id(n), Words: terms("vector database hosting")}, s, broke)
		require.Equal(t, id(1), got.Winner.ID)
		require.False(t, got.Explores)
	}
}
