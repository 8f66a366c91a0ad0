package lexicon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/lexicon"
	"adnet/auction/words"
)

// fullVote is a vote in parts per million.
const fullVote = 1_000_000

// freeze makes a table of campaigns, each with its owner.
func freeze(campaigns map[string]int, order []string) *lexicon.Table {
	owned := map[int]int{}
	for _, text := range order {
		owned[campaigns[text]]++
	}
	var size lexicon.Size
	b := lexicon.NewBuilder()
	for _, text := range order {
		share := lexicon.Share(fullVote, owned[campaigns[text]])
		size.Count(share, owned[campaigns[text]])
		b.Add(&lexicon.Text{Headline: text}, share)
	}
	return b.Freeze(size)
}

// match returns the match of a request with a campaign.
func match(t *lexicon.Table, request, campaign string) uint32 {
	var r words.Reader
	r.ReadContext(request)
	var v lexicon.Reader
	weights := map[string]uint32{}
	for _, w := range v.Request(t, r.Terms()).Weights {
		weights[w.Term(t)] = w.By
	}
	var sum uint32
	for _, impact := range v.Campaign(t, &lexicon.Text{Headline: campaign}) {
		sum += weights[impact.Term] * uint32(impact.By)
	}
	return lexicon.Match(sum)
}

// network is a hundred campaigns of as many advertisers.
func network() (owners map[string]int, order []string) {
	owners = map[string]int{}
	for i := range 100 {
		text := fmt.Sprintf("alpha%d beta%d gamma%d shared", i, i%10, i%3)
		owners[text] = i
		order = append(order, text)
	}
	return owners, order
}

// A thousand copies by one advertiser devalue a rival's word no more than one campaign does.
func TestCopiesDoNotDevalueAWord(t *testing.T) {
	owners, order := network()
	rival := "postgres hosting"
	owners[rival] = 1000
	order = append(order, rival)
	first := append(order, "postgres copy0")
	owners["postgres copy0"] = 2000
	few := match(freeze(owners, first), "postgres backups", rival)
	many := first
	for i := range 1000 {
		text := fmt.Sprintf("postgres copy%d", i+1)
		owners[text] = 2000
		many = append(many, text)
	}
	require.InEpsilon(t, few, match(freeze(owners, many), "postgres backups", rival), 0.05)
}

// Repeating a word hardly improves a campaign's match for it.
func TestStuffingAddsLittle(t *testing.T) {
	owners, order := network()
	honest, stuffed := "postgres hosting backups", strings.Repeat("postgres ", 5)+"hosting backups"
	owners[honest], owners[stuffed] = 1000, 1001
	table := freeze(owners, append(order, honest, stuffed))
	require.Less(t, match(table, "postgres advice", stuffed), match(table, "postgres advice", honest)*9/5)
}

func TestWordsThatLookAlike(t *testing.T) {
	owners, order := network()
	for i, text := range []string{"Versicherung vergleichen", "flight tickets", "restaurant reservations"} {
		owners[text] = 1000 + i
		order = append(order, text)
	}
	table := freeze(owners, order)
	for request, campaign := range map[string]string{
		"Krankenversicherungsvergleich": "Versicherung vergleichen", "flihgt": "flight tickets",
		"reservaton": "restaurant reservations",
	} {
		require.Greater(t, match(table, request, campaign), uint32(lexicon.Full/20), request)
	}
	require.Zero(t, match(table, "zebra", "flight tickets"))
}

// The version identifies the content of a table.
func TestEqualCampaignsGiveEqualTables(t *testing.T) {
	owners, order := network()
	require.Equal(t, freeze(owners, order).Version(), freeze(owners, order).Version())
	require.NotEqual(t, freeze(owners, order).Version(), freeze(owners, order[1:]).Version())
}
