package rtb

import (
	"bytes"
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/ingress/offer"
	"adnet/internal/money"
)

// everything has a member of each kind.
type everything struct {
	Text    text
	Whole   whole
	Amount  amount
	Texts   texts
	Wholes  wholes
	Object  object[size]
	Objects objects[size]
}

func (e *everything) member(r *reader, name string) {
	switch name {
	case "text":
		e.Text = r.string()
	case "whole":
		e.Whole = r.whole()
	case "amount":
		e.Amount = r.amount()
	case "texts":
		e.Texts = r.texts()
	case "wholes":
		e.Wholes = r.wholes()
	case "object":
		into(r, &e.Object)
	case "objects":
		e.Objects = list(r, &r.sizes)
	default:
		r.skip()
	}
}

// all gives every member the same value.
func all(value string) string {
	var members []string
	for _, name := range []string{"text", "whole", "amount", "texts", "wholes", "object", "objects", "unknown"} {
		members = append(members, `"`+name+`":`+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// What each kind of member makes of each value. Members that are not stated are absent.
func TestReaderConvertsEachKind(t *testing.T) {
	bad := amount{set: true, bad: true}
	w := func(n int64) whole { return whole{true, n} }
	for value, want := range map[string]everything{
		`null`:  {},
		`true`:  {Whole: w(1), Amount: bad},
		`false`: {Whole: w(0), Amount: bad},
		`7`:     {Whole: w(7), Amount: amount{micros: 7 * money.USD, set: true}},
		`-1`:    {Whole: w(-1), Amount: amount{set: true}},
		`0.5`:   {Whole: w(0), Amount: amount{micros: money.USD / 2, set: true}},
		`2e9`: {
			Whole: w(2_000_000_000), Amount: amount{micros: 2_000_000_000 * money.USD, set: true},
		},
		`1e400`: {Amount: amount{micros: money.Max, set: true}},
		`9223372036854775807`: {
			Whole: w(9223372036854775807), Amount: amount{micros: money.Max, set: true},
		},
		`9223372036854775808`: {Whole: w(2147483647), Amount: amount{micros: money.Max, set: true}},
		`""`:                  {Texts: texts{""}},
		`" "`:                 {Text: " ", Texts: texts{" "}},
		`"x"`:                 {Text: "x", Texts: texts{"x"}, Amount: bad},
		`"3"`: {
			Text: "3", Texts: texts{"3"}, Whole: w(3), Amount: amount{micros: 3 * money.USD, set: true},
		},
		`" 3"`: {
			Text: " 3", Texts: texts{" 3"}, Amount: amount{micros: 3 * money.USD, set: true},
		},
		`"1e1"`: {
			Text: "1e1", Texts: texts{"1e1"}, Whole: w(10), Amount: amount{micros: 10 * money.USD, set: true},
		},
		`"NaN"`:                        {Text: "NaN", Texts: texts{"NaN"}, Amount: bad},
		`"a\/\u0062\n\"é\ud83d\ude00"`: {Text: "a/b\n\"é😀", Texts: texts{"a/b\n\"é😀"}, Amount: bad},
		`"cut \ud83d"`:                 {Text: "cut \ufffd", Texts: texts{"cut \ufffd"}, Amount: bad},
		`[]`:                           {Amount: bad},
		`[1,"2",true,null,[3],{"w":4}]`: {
			Amount: bad, Texts: texts{"2"}, Wholes: wholes{1, 2, 1},
			Objects: objects[size]{list: []size{{W: w(4)}}, bad: true},
		},
		`["a","\u0062",""]`: {
			Amount: bad, Texts: texts{"a", "b", ""}, Objects: objects[size]{bad: true},
		},
		`[{},{"w":1,"h":"2","h":[]}]`:          {Amount: bad, Objects: objects[size]{list: []size{{}, {W: w(1)}}}},
		`{}`:                                   {Amount: bad, Object: object[size]{set: true}},
		`{"w":1,"\u0068":2,"W":3,"x":{"w":4}}`: {Amount: bad, Object: object[size]{true, size{w(1), w(2)}}},
	} {
		for _, spaced := range []string{value, " \n" + value + "\t"} {
			r := newReader()
			// the second time with used lists
			for _, read := range []func(string, members) (bool, error){r.document, r.document, r.decoded, r.decoded} {
				var got everything
				is, err := read(all(spaced), &got)
				require.NoError(t, err, value)
				require.True(t, is)
				got.same(t, want, value)
				r.forget()
			}
		}
	}
}

// same compares without telling an empty list from none.
func (e everything) same(t testing.TB, want everything, about string) {
	t.Helper()
	for _, x := range []*everything{&e, &want} {
		x.Texts, x.Wholes, x.Objects.list = append(texts(nil), x.Texts...), append(wholes(nil), x.Wholes...), append(
			[]size(nil), x.Objects.list...,
		)
	}
	require.Equal(t, want, e, about)
}

// Of a name that occurs twice the last value counts, also if its kind is unexpected.
func TestLastRepeatedNameCounts(t *testing.T) {
	values := []string{`null`, `1`, `"x"`, `["a"]`, `[1]`, `{"w":1}`, `[{"h":2}]`, `[{"w":3},0]`}
	for _, first := range values {
		for _, last := range values {
			var got, want everything
			r := newReader()
			_, err := r.document(strings.TrimSuffix(all(first), "}")+","+strings.TrimPrefix(all(last), "{"), &got)
			require.NoError(t, err)
			_, err = newReader().document(all(last), &want)
			require.NoError(t, err)
			got.same(t, want, first+" "+last)
		}
	}
}

// Values stay valid while more is read, and nothing of them is left after forget.
func TestReaderForgets(t *testing.T) {
	r := newReader()
	var first, second everything
	_, err := r.document(all(`["a",{"w":1},5]`), &first)
	require.NoError(t, err)
	_, err = r.document(all(`["b",{"w":2},6]`), &second)
	require.NoError(t, err)
	require.Equal(t, texts{"a"}, first.Texts)
	require.Equal(t, wholes{5}, first.Wholes)
	require.Equal(t, []size{{W: whole{true, 1}}}, first.Objects.list)
	r.forget()
	require.Equal(t, texts{""}, second.Texts, "its memory was cleared")
	require.Empty(t, r.text)

	_, err = r.document(all("["+strings.Repeat(`{},`, keptList)+`{}]`), &first)
	require.NoError(t, err)
	r.forget()
	require.Nil(t, r.sizes, "a long list does not wait")
}

func TestReaderRefuses(t *testing.T) {
	for _, bad := range []string{``, ` `, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{a:1}`,
		`{"text":"`, `{"text":"\x"}`, `{"text":"` + "\n" + `"}`, `{} {}`, `{},`, `{}]`,
		`{"texts":[`, `{"texts":[1,]}`, `{"texts":["a" "b"]}`, `{"texts":[}`, `{"object":{"w":01}}`, `{"objects":[{]}`,
		`{"x":tru}`, `{"x":1.}`, `{"x":+1}`, `[}`, `nul`, `{"wholes":[1}]`} {
		var e everything
		_, err := newReader().document(bad, &e)
		require.Error(t, err, bad)
		_, plain := newReader().scanned(bad, &e)
		require.False(t, plain, bad)
	}
	for _, other := range []string{`1`, `"x"`, `null`, `[{"text":"x"}]`} {
		var e everything
		is, err := newReader().document(other, &e)
		require.NoError(t, err)
		require.False(t, is, other)
		require.Zero(t, e, other)
	}
}

// Typical requests of exchanges are read without the general decoder, whose cost row rtb_100k would
// show; unusual ones are read with it.
func TestReaderTakesPlainRequestsItself(t *testing.T) {
	files, err := filepath.Glob("testdata/openrtb/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var plainly, generally bidRequest
		is, plain := newReader().scanned(string(raw), &plainly)
		require.True(t, is && plain, file)
		_, err = newReader().decoded(string(raw), &generally)
		require.NoError(t, err)
		require.Equal(t, generally, plainly)
	}
	for _, odd := range []string{
		`{"text":"x","\u0074ext":"y"}`, `{"text":"a","text":"cut \ud83d"}`,
		`{"x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`,
	} {
		var got, want everything
		_, plain := newReader().scanned(odd, new(everything))
		require.False(t, plain, odd)
		_, err := newReader().document(odd, &got)
		require.NoError(t, err)
		_, err = newReader().decoded(odd, &want)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// FuzzReader compares with the standard library: whether a text is JSON, whether it is an object,
// and its members.
func FuzzReader(f *testing.F) {
	for _, value := range []string{
		`null`, `"a\ud800"`, `[1,"2",{}]`, `{"w":1}`, `[{"w":"3"}]`, `1e400`, `"0x1p-2"`, `{"w":1,"w":[]}`,
	} {
		f.Add([]byte(all(value)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !utf8.Valid(body) || len(body) > 9_000 { // other bodies never get to a reader; no deeper than is read
			return
		}
		var got everything
		is, err := newReader().document(string(body), &got)
		require.Equal(t, stdjson.Valid(body), err == nil, "%s", body)
		var decoded everything
		if _, err := newReader().decoded(string(body), &decoded); err == nil {
			got.same(t, decoded, string(body))
		}
		var members map[string]any
		decoder := stdjson.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if err != nil || decoder.Decode(&members) != nil || members == nil {
			require.False(t, is && err == nil, "%s", body)
			return
		}
		require.True(t, is)
		want := text("")
		if s, isString := members["text"].(string); isString {
			want = text(s)
		}
		require.Equal(t, want, got.Text)
		require.Equal(t, wholeOf(members["whole"]), got.Whole)
		var list []string
		switch v := members["texts"].(type) {
		case string:
			list = []string{v}
		case []any:
			for _, one := range v {
				if s, isString := one.(string); isString {
					list = append(list, s)
				}
			}
		}
		require.Equal(t, list, append([]string(nil), got.Texts...))
		var numbers []int64
		if v, isList := members["wholes"].([]any); isList {
			for _, one := range v {
				if n := wholeOf(one); n.set {
					numbers = append(numbers, n.n)
				}
			}
		}
		require.Equal(t, numbers, append([]int64(nil), got.Wholes...))
		one, isObject := members["object"].(map[string]any)
		require.Equal(t, isObject, got.Object.set)
		require.Equal(t, size{wholeOf(one["w"]), wholeOf(one["h"])}, got.Object.v)
		var sizes []size
		bad := false
		if v, isList := members["objects"].([]any); isList {
			for _, one := range v {
				if o, isObject := one.(map[string]any); isObject {
					sizes = append(sizes, size{wholeOf(o["w"]), wholeOf(o["h"])})
				} else {
					bad = true
				}
			}
		}
		require.Equal(t, bad, got.Objects.bad)
		require.Equal(t, sizes, append([]size(nil), got.Objects.list...))
	})
}

// wholeOf is what a decoded value is as an integer.
func wholeOf(v any) whole {
	s := ""
	switch v := v.(type) {
	case bool:
		if v {
			return whole{true, 1}
		}
		return whole{true, 0}
	case stdjson.Number:
		s = v.String()
	case string:
		s = v
	default:
		return whole{}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return whole{true, n}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f {
		return whole{}
	}
	return whole{true, int64(max(min(f, 1<<31-1), -1<<31))}
}

// A pooled bid session carries nothing from one request to the next: the replies equal those of a
// new server.
func TestTurnsAreForgotten(t *testing.T) {
	requests := []string{
		`{"id":"a","test":1,"imp":[{"id":"1","banner":{"w":728,"h":90}},{"id":"1","video":{}},{"id":"2","video":{"mimes":["video/mp4"]}}],"badv":["rival.example"],"ext":{"mcp_context":{"intent":"postgres backup","active_tools":["x"],"host":"claude-desktop"}}}`,
		`{"id":"b","imp":[{"id":"1","banner":{}}]}`,
		`{"id":"c","cur":["EUR"],"ext":{"debug":1},"imp":[{"id":"9","banner":{}}]}`,
		`{"id":"d","imp":[{"id":"1","native":{"request":"{\"assets\":[{\"id\":1,\"title\":{\"len\":90}}]}"}}],"tmax":700}`,
		`{"id":"e","imp":[{"id":"1","banner":{},"pmp":{"private_auction":1,"deals":[{"id":"fixed","bidfloor":2,"at":3}]}}]}`,
		`{"id":"f","imp":[{"id":"1","banner":{"w":1,"h":1}}],`,
	}
	fresh := map[string]string{}
	for _, request := range requests {
		alone := newFixture(t)
		alone.Shelf.Put(shelfOf("image", "native", "video", "words", "hosted", "deal")...)
		fresh[request] = string(steady(alone.send([]byte(request)).Body.Bytes()))
	}
	used := newFixture(t)
	used.Shelf.Put(shelfOf("image", "native", "video", "words", "hosted", "deal")...)
	for i := range requests {
		for j := range requests {
			for _, request := range []string{requests[i], requests[j]} {
				require.Equal(t, fresh[request], string(steady(used.send([]byte(request)).Body.Bytes())), request)
			}
		}
	}
	used.Contract = nil
	var all sync.WaitGroup
	for _, request := range requests {
		all.Go(func() { // beside all the others
			for range 50 {
				assert.Equal(t, fresh[request], string(steady(used.send([]byte(request)).Body.Bytes())), request)
			}
		})
	}
	all.Wait()
}

// Between two requests a bid session holds nothing of the previous one, so that memory does not
// grow and no text waits in the pool.
func TestTurnsReleaseTexts(t *testing.T) {
	turn := newBidSession().(*bidSession)
	turn.Server = &Server{deps: Deps{Seller: new(offer.Seller)}}
	require.NoError(
		t,
		turn.read([]byte(
			`{"id":"r","imp":[{"id":"1","banner":{}}],"badv":["a.example"],"ext":{"mcp_context":{"intent":"restore postgres","intent_tokens":["backup"],"active_tools":["db"]}}}`,
		)),
	)
	place := turn.beginAuction(t.Context(), &turn.in.Imp.list[0]).place
	require.Equal(t, []string{"backup"}, place.tokens)
	said := turn.words.Terms()
	require.Len(t, said, 2)
	turn.end()
	require.Equal(t, []string{""}, place.tokens)
	require.Empty(t, said[0].Text)
	require.Empty(t, turn.signals.words)
	require.True(t, reflect.ValueOf(turn.sessionRequest).IsZero())
	require.Empty(t, turn.json.text)
}

// quote writes what the library writes.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,40}`), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		})).Draw(t, "text")
		want, _ := jsontext.AppendQuote([]byte("x"), s)
		require.Equal(t, string(want), string(quote([]byte("x"), s)))
		require.Equal(t, string(want), string(quote([]byte("x"), []byte(s))))
	})
	for c := range 256 { // every byte in every place of the eight
		for at := range 17 {
			s := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("b", 16-at)
			want, _ := jsontext.AppendQuote(nil, s)
			require.Equal(t, string(want), string(quote(nil, s)))
		}
	}
}
