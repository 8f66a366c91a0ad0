package httpapi

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The quick reader of a beacon's query must not read anything that the general one reads otherwise.
func TestQueryValuesReadsAsParseQuery(t *testing.T) {
	names := []string{"event", "auction_id", "a b", ""}
	check := func(t require.TestingT, raw string) {
		want, _ := url.ParseQuery(strings.ReplaceAll(raw, "&amp;", "&"))
		values := make([]string, len(names))
		QueryValues(raw, names, values)
		for i, name := range names {
			require.Equal(t, want.Get(name), values[i], "%s of %q", name, raw)
		}
	}
	for _, raw := range []string{
		"", "&", "=", "event", "event=", "event=click", "event=&event=click", "event=click&event=skip", "event=%63lick",
		"%65vent=click", "a+b=c+d",
		"event=%zz&event=skip", "%zz=1&event=skip", "event=a;b&event=skip", "event=a=b", "&&event=x&&",
		"x=1&auction_id=2&event=3", "=nameless", "event=%",
		"x=1&amp;event=click&amp;auction_id=2", "event=a&amp;amp;auction_id=2", "event=a%26amp;b",
	} {
		check(t, raw)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"event", "auction_id", "a", "b", "=", "&", "%62", "%", "+", ";", "%20", "é", "\x00", "&amp;",
		})).Draw(t, "parts")
		raw := ""
		for _, part := range parts {
			raw += part
		}
		check(t, raw)
	})
}
