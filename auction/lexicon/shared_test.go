package lexicon

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCampaignsShareContentWords(t *testing.T) {
	kettle := Text{Headline: "Kettles that sing", Subtext: "Boil water in two minutes"}
	for name, c := range map[string]struct {
		other Text
		want  bool
	}{
		"same word, other form": {Text{Headline: "A kettle for campers"}, true},
		"a stated token":        {Text{Headline: "Tea", Stated: [2][]string{{"boil"}, nil}}, true},
		"common words only":     {Text{Headline: "The best in the town", Subtext: "that you can find"}, false},
		"another trade":         {Text{Headline: "Violins made of maple"}, false},
	} {
		require.Equal(t, c.want, Shared(&kettle, &c.other), name)
		require.Equal(t, c.want, Shared(&c.other, &kettle), name)
	}
}
