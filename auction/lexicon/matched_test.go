package lexicon

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/words"
)

// ids returns the recorded ids of a request with these texts.
func ids(texts ...string) (recorded []uint32) {
	var r words.Reader
	for _, text := range texts {
		r.Reset()
		r.ReadStated(text, words.Unit)
		for _, term := range r.Terms() {
			recorded = append(recorded, TermID(term.Text))
		}
	}
	slices.Sort(recorded)
	return recorded
}

func TestMatchedWords(t *testing.T) {
	texts := []string{"Cheap FLIGHTS to Rome", "flights, hotels & cancer insurance", "東京旅行"}
	for _, c := range []struct {
		recorded, want []string
	}{
		{nil, nil},
		{[]string{"boats"}, nil},
		{[]string{"flight", "rome", "boats"}, []string{"flights", "rome"}},
		{[]string{"hotel", "cheap"}, []string{"cheap", "hotels"}},
		{[]string{"cancer", "insurance"}, []string{"insurance"}}, // even if a number of it was recorded, by a collision
	} {
		require.Equal(t, c.want, Matched(ids(c.recorded...), texts, 10), "%v", c.recorded)
	}
	require.Equal(t, []string{"cheap"}, Matched(ids("cheap", "flights", "rome"), texts, 1))
	for _, reply := range Matched(ids("東京旅行"), texts, 10) {
		require.NotEqual(t, "東京旅行", reply, "letters that match, not the sentence around them")
	}
}
