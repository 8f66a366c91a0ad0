package lexicon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/words"
)

func TestSpecialCategories(t *testing.T) {
	var r words.Reader
	for context, want := range map[string]bool{
		"I was diagnosed with diabetes": true, "antidepressants": true, "churches nearby": true, "trade unions": true,
		"癌症": true, "がん": true, "dépression": true, "depresión": true, "depresion": true, "grossesse": true,
		"Église": true, "eglise": true, "EGLISE": true,
		"Schwangerschaft": true, "postgres hosting": false, "flights to Rome": false, "a small red bike": false,
	} {
		r.Reset()
		r.ReadContext(context)
		found := false
		for _, term := range r.Terms() {
			found = found || Special(term.Text)
		}
		require.Equal(t, want, found, context)
	}
}
