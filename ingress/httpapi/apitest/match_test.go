package apitest

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

func TestMatchSeesEveryDifference(t *testing.T) {
	decode := func(text string) (value any) {
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		return value
	}
	own := func(names map[string]string) func(string, any, any) (bool, error) {
		return func(at string, want, got any) (bool, error) {
			if text, is := want.(string); is {
				return true, MatchText(at, text, got, names, ".+")
			}
			return false, nil
		}
	}
	const want = `{"id":"${id}","again":"<${id}>","list":[1,true,null]}`
	require.NoError(
		t,
		Match(
			"body", decode(want), decode(`{"again":"<x>","id":"x","list":[1,true,null]}`),
			own(map[string]string{"id": "x"}),
		),
	)
	for name, got := range map[string]string{
		"other text":     `{"id":"y","again":"<y>","list":[1,true,null]}`,
		"number as text": `{"id":1,"again":"<x>","list":[1,true,null]}`,
		"field missing":  `{"id":"x","list":[1,true,null]}`,
		"field more":     `{"id":"x","again":"<x>","list":[1,true,null],"more":null}`,
		"item missing":   `{"id":"x","again":"<x>","list":[1,true]}`,
		"item other":     `{"id":"x","again":"<x>","list":[1,false,null]}`,
		"no list":        `{"id":"x","again":"<x>","list":{}}`,
		"no object":      `[]`,
	} {
		require.Error(t, Match("body", decode(want), decode(got), own(map[string]string{"id": "x"})), name)
	}
}

func TestMatchTextBindsNamesOnce(t *testing.T) {
	names := map[string]string{}
	require.NoError(t, MatchText("at", "a ${one}, b ${two}", "a 1, b 2", names, ".+"))
	require.Equal(t, map[string]string{"one": "1", "two": "2"}, names)
	require.Error(t, MatchText("at", "${one}", "3", names, ".+"), "a bound name means the same everywhere")
	require.Error(t, MatchText("at", "${new}${new}", "33", names, ".+"))
	require.Error(t, MatchText("at", "${lines}", "a\nb", names, ".+"))
	require.NoError(t, MatchText("at", "${lines}", "a\nb", names, "(?s:.+)"))
}
