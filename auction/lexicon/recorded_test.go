package lexicon_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/lexicon"
	"adnet/auction/words"
)

// Only terms of campaigns are recorded: the request's own before those that its other words
// resemble.
func TestRecordedTermsAreTheCampaigns(t *testing.T) {
	owners, order := map[string]int{}, []string{"versicherungsvergleich online", "garden tools", "chess lessons"}
	for i, text := range order {
		owners[text] = i
	}
	table := freeze(owners, order)
	reply := map[uint32]bool{}
	for id := range table.Len() {
		term := lexicon.TermID(table.Term(uint32(id)))
		reply[term], reply[lexicon.LikeID(term)] = true, true
	}
	var v lexicon.Reader
	recorded := func(context string, most int) []uint32 {
		var r words.Reader
		r.ReadContext(context)
		v.Request(table, r.Terms())
		return v.Recorded(table, nil, most)
	}
	look := lexicon.LikeID(lexicon.TermID("versicherungsvergleich"))
	require.True(t, reply[look])
	require.Equal(t, lexicon.TermID("versicherungsvergleich"), lexicon.LikeID(look))
	got := recorded("versicherungsvergliech for chess in the aquarium", 32)
	require.Contains(t, got, look, "a word that looks like it")
	require.Contains(t, got, lexicon.TermID("chess"))
	require.NotContains(t, got, lexicon.LikeID(look), "which it did not say")
	require.True(t, slices.IsSorted(got))
	for _, term := range got {
		require.True(t, reply[term])
	}
	require.Equal(
		t, []uint32{lexicon.TermID("chess")}, recorded("versicherungsvergliech for chess", 1), "its own words first",
	)
	require.Empty(t, recorded("aquarium", 32))
}
