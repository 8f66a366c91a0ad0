package httpapi

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/money/share"
)

type nested struct {
	A string `json:"a"`
	N *int   `json:"n"`
}

type loose struct {
	nested
	Text  string        `json:"text"`
	Float *float64      `json:"float"`
	Share *share.Share  `json:"share"`
	Paid  *money.Micros `json:"paid"`
	Words []string      `json:"words"`
	In    nested        `json:"in"`
	List  []nested      `json:"list"`
	Yes   bool          `json:"yes"`
}

func TestValuesOfAnotherKindAreReadWhereTheirMeaningIsCertain(t *testing.T) {
	three, twelve, half := 3, 12.5, share.Whole/2
	for text, want := range map[string]loose{
		`[]`: {},
		`{"text":null,"in":null,"words":null,"n":null}`:       {},
		`{"in":[],"list":[]}`:                                 {List: []nested{}},
		`{"in":[ ]}`:                                          {},
		`{"n":"3","in":{"n":" 3.0 "}}`:                        {nested: nested{N: &three}, In: nested{N: &three}},
		`{"n":""}`:                                            {},
		`{"float":"12.5"}`:                                    {Float: &twelve},
		`{"share":"0.5"}`:                                     {Share: &half},
		`{"text":7,"a":1.50}`:                                 {Text: "7", nested: nested{A: "1.50"}},
		`{"words":"a, b,,c"}`:                                 {Words: []string{"a", "b", "c"}},
		`{"words":""}`:                                        {Words: []string{}},
		`{"words":"[\"a,b\",1]"}`:                             {Words: []string{"a,b", "1"}},
		`{"words":["a",null,2]}`:                              {Words: []string{"a", "2"}},
		`{"words":{"0":"a","5":"b"}}`:                         {Words: []string{"a", "b"}},
		`{"words":{}}`:                                        {Words: []string{}},
		`{"in":"{\"a\":\"x\",\"n\":\"3\"}"}`:                  {In: nested{A: "x", N: &three}},
		`{"list":{"a":"x"}}`:                                  {List: []nested{{A: "x"}}},
		`{"list":[[],null,"{\"a\":\"x\"}"]}`:                  {List: []nested{{}, {A: "x"}}},
		`{"unknown":{"in":[],"n":"3"},"text":"cut\","n":"3"}`: {Text: "cut", nested: nested{N: &three}},
		`"{\"text\":\"x\"}"`:                                  {Text: "x"},
	} {
		got := loose{Text: "of the first reading"}
		require.NoError(t, UnmarshalLoose([]byte(text), &got), text)
		require.Equal(t, want, got, text)
		if text != `{"text":null,"in":null,"words":null,"n":null}` {
			require.Error(t, Unmarshal([]byte(text), new(loose)), "%s: an account's texts are read strictly", text)
		}
	}
}

func TestValuesWithoutACertainMeaningAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		`{"n":"three"}`:                   "field n must be a whole number like 3, not a text",
		`{"n":"3.5"}`:                     "field n must be a whole number within its limits",
		`{"n":[3]}`:                       "field n must be a whole number like 3, not a list",
		`{"n":true}`:                      "not true or false",
		`{"share":"2"}`:                   "must be a number from 0 to 1",
		`{"paid":"5"}`:                    "field paid must be a plain number, like 2.5",
		`{"words":5}`:                     `field words must be a list of texts like ["abc"], not a number`,
		`{"words":{"x":"a"}}`:             "not an object",
		`{"in":["a"]}`:                    `field in must be an object like {"name": …}, not a list`,
		`{"in":"a"}`:                      "not a text",
		`{"in":"{\"a\":"}`:                "not a text",
		`{"in":"\"{}\""}`:                 "not a text",
		`{"text":[]}`:                     `field text must be a text like "abc", not a list`,
		`{"text":{}}`:                     "not an object",
		`{"yes":"yes"}`:                   "field yes must be true or false, not a text",
		`{"text":"a","text":"b","in":[]}`: "a field occurs twice",
		`{"Text":"a","in":[]}`:            "field text must be written in this case",
		`{"in":[]`:                        "field in must be an object",
		`{"in":[]} x`:                     "field in must be an object",
		`{"text":"a"`:                     "the JSON body ends too early",
		`["a"]`:                           "must be a JSON object",
		``:                                "the body is empty",
	} {
		err := UnmarshalLoose([]byte(text), new(loose))
		require.True(t, errs.Is(err, errs.InvalidRequest), text)
		require.Contains(t, errs.Of(err).Message, want, text)
	}
	deep := `{"in":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}`
	require.Error(t, UnmarshalLoose([]byte(deep), new(loose)))
}

// A text in a text in a text does not multiply the work.
func TestTextsAreOpenedOnce(t *testing.T) {
	text := `{"in":"{\"a\":\"x\",\"in\":\"{}\"}"}`
	var got loose
	require.NoError(t, UnmarshalLoose([]byte(text), &got))
	plain, err := fit([]byte(`{"in":"{}"}`), reflect.TypeFor[loose](), false)
	require.NoError(t, err)
	require.Equal(t, `{"in":"{}"}`, strings.TrimSpace(string(plain)))
}
