package rtb

import (
	"bytes"
	stdjson "encoding/json"
	"math"
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
	Names   names
	Numbers numbers
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
	case "names":
		e.Names = r.names()
	case "numbers":
		e.Numbers = r.numbers()
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
	for _, name := range []string{"text", "whole", "amount", "texts", "names", "numbers", "object", "objects", "unknown"} {
		members = append(members, `"`+name+`":`+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// What each kind of member makes of each value. Members that are not stated are absent.
func TestReaderConvertsEachKind(t *testing.T) {
	bad := amount{set: true, bad: true}
	w := func(n int64) whole { return whole{readable, n} }
	n := func(list ...string) names { return names{readable, list} }
	unread := everything{
		Whole: whole{state: unreadable}, Amount: bad, Names: names{state: unreadable},
		Numbers: numbers{state: unreadable}, Object: object[size]{bad: true}, Objects: objects[size]{bad: true},
	}
	// of returns unread with the readable members of e.
	of := func(e everything) everything {
		fill := func(member, from any, zero bool) {
			if zero {
				reflect.ValueOf(member).Elem().Set(reflect.ValueOf(from))
			}
		}
		fill(&e.Whole, unread.Whole, e.Whole == whole{})
		fill(&e.Amount, bad, e.Amount == amount{})
		fill(&e.Names, unread.Names, e.Names.state == absent)
		fill(&e.Numbers, unread.Numbers, e.Numbers.state == absent)
		fill(&e.Object, unread.Object, e.Object == object[size]{})
		fill(&e.Objects, unread.Objects, len(e.Objects.list) == 0)
		return e
	}
	usd := func(n money.Micros) amount { return amount{micros: n, set: true} }
	for value, want := range map[string]everything{
		`null`:  {},
		`[]`:    {Object: object[size]{hollow: true}},
		`true`:  of(everything{Whole: w(1), Numbers: numbers{readable, wholes{1}}}),
		`false`: of(everything{Whole: w(0), Numbers: numbers{readable, wholes{0}}}),
		`7`: of(everything{
			Whole: w(7), Amount: usd(7 * money.USD), Names: n("7"), Numbers: numbers{readable, wholes{7}},
		}),
		`-1`: of(everything{
			Whole: w(-1), Amount: usd(0), Names: n("-1"), Numbers: numbers{readable, wholes{-1}},
		}),
		`0.5`: of(everything{Amount: usd(money.USD / 2), Names: n("0.5")}),
		`2e9`: of(everything{
			Whole: w(2_000_000_000), Amount: usd(2_000_000_000 * money.USD), Names: n("2e9"),
			Numbers: numbers{readable, wholes{2_000_000_000}},
		}),
		`1e400`: of(everything{Amount: usd(money.Max), Names: n("1e400")}),
		`9223372036854775808`: of(everything{
			Whole: w(mostWhole), Amount: usd(money.Max), Names: n("9223372036854775808"),
			Numbers: numbers{readable, wholes{mostWhole}},
		}),
		`""`:  {Texts: texts{""}, Object: object[size]{bad: true}, Objects: objects[size]{bad: true}},
		`" "`: {Text: " ", Texts: texts{" "}, Object: object[size]{bad: true}, Objects: objects[size]{bad: true}},
		`"x"`: of(everything{Text: "x", Texts: texts{"x"}, Names: n("x")}),
		`"3"`: of(everything{
			Text: "3", Texts: texts{"3"}, Whole: w(3), Amount: usd(3 * money.USD), Names: n("3"),
			Numbers: numbers{readable, wholes{3}},
		}),
		`" 3"`: of(everything{
			Text: " 3", Texts: texts{" 3"}, Whole: w(3), Amount: usd(3 * money.USD), Names: n("3"),
			Numbers: numbers{readable, wholes{3}},
		}),
		`"1e1"`: of(everything{
			Text: "1e1", Texts: texts{"1e1"}, Whole: w(10), Amount: usd(10 * money.USD), Names: n("1e1"),
			Numbers: numbers{readable, wholes{10}},
		}),
		`"2, 3;4"`: of(everything{
			Text: "2, 3;4", Texts: texts{"2, 3;4"}, Names: n("2", "3", "4"), Numbers: numbers{readable, wholes{2, 3, 4}},
		}),
		`"2,x"`: of(everything{
			Text: "2,x", Texts: texts{"2,x"}, Names: n("2", "x"), Numbers: numbers{unreadable, wholes{2}},
		}),
		`"NaN"`: of(everything{Text: "NaN", Texts: texts{"NaN"}, Names: n("NaN")}),
		`"a\/\u0062\n\"é\ud83d\ude00"`: of(everything{
			Text: "a/b\n\"é😀", Texts: texts{"a/b\n\"é😀"}, Names: n("a/b", "\"é😀"),
		}),
		`"cut \ud83d"`: of(everything{
			Text: "cut \ufffd", Texts: texts{"cut \ufffd"}, Names: n("cut", "\ufffd"),
		}),
		`[1,"2",true,null,[3],{"w":4}]`: of(everything{
			Texts: texts{"2"}, Names: names{unreadable, texts{"1", "2"}}, Numbers: numbers{unreadable, wholes{1, 2, 1}},
			Objects: objects[size]{list: []size{{W: w(4)}}, bad: true},
		}),
		`[1," 2,3",null]`: of(everything{
			Texts: texts{" 2,3"}, Names: n("1", "2", "3"), Numbers: numbers{readable, wholes{1, 2, 3}},
		}),
		`["a","\u0062",""]`:           of(everything{Texts: texts{"a", "b", ""}, Names: n("a", "b")}),
		`[""]`:                        of(everything{Texts: texts{""}, Names: n(), Numbers: numbers{state: readable}}),
		`[null]`:                      {Object: object[size]{bad: true}, Amount: bad, Whole: whole{state: unreadable}},
		`[{},{"w":1,"h":"2","h":[]}]`: of(everything{Objects: objects[size]{list: []size{{}, {W: w(1)}}}}),
		`[{"w":"3.7"},null]`:          of(everything{Objects: objects[size]{list: []size{{W: w(3)}}}}),
		`{}`:                          of(everything{Object: object[size]{set: true}, Objects: objects[size]{list: []size{{}}}}),
		`{"w":1,"\u0068":2,"W":3,"x":{"w":4}}`: of(everything{
			Object: object[size]{set: true, v: size{w(1), w(2)}}, Objects: objects[size]{list: []size{{w(1), w(2)}}},
		}),
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
		x.Texts, x.Names.list = append(texts(nil), x.Texts...), append(texts(nil), x.Names.list...)
		x.Numbers.list = append(wholes(nil), x.Numbers.list...)
		x.Objects.list = append([]size(nil), x.Objects.list...)
	}
	require.Equal(t, want, e, about)
}

// structs adds the types of all objects of kind to types.
func structs(kind reflect.Type, types map[reflect.Type]bool) {
	if _, is := reflect.New(kind).Interface().(members); is {
		types[kind] = true
	}
	for i := range kind.NumField() {
		at := kind.Field(i).Type
		if at.Kind() == reflect.Slice {
			at = at.Elem()
		}
		if at.Kind() == reflect.Struct && !types[at] {
			structs(at, types)
		}
	}
}

// Each tag of a struct is read into its field, and into no other; each field has a tag.
func TestEachTagIsRead(t *testing.T) {
	types := map[reflect.Type]bool{}
	structs(reflect.TypeFor[bidRequest](), types)
	require.Greater(t, len(types), 30)
	for kind := range types {
		for _, f := range reflect.VisibleFields(kind) {
			if f.Anonymous {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("rtb"), ",")
			require.NotEmpty(t, name, "%s.%s", kind, f.Name)
			value := `"1"`
			if strings.HasPrefix(f.Type.Name(), "object") { // of lists too
				value = "{}"
			}
			o := reflect.New(kind)
			_, err := newReader().document(`{"`+name+`":`+value+`}`, o.Interface().(members))
			require.NoError(t, err)
			at := o.Elem().FieldByIndex(f.Index)
			require.False(t, at.IsZero(), "%s.%s", kind, f.Name)
			at.SetZero()
			require.True(t, o.Elem().IsZero(), "%s.%s: %s", kind, f.Name, name)
		}
	}
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
	require.Equal(t, wholes{5}, first.Numbers.list)
	require.Equal(t, []size{{W: whole{readable, 1}}}, first.Objects.list)
	r.forget()
	require.Equal(t, texts{"", ""}, second.Names.list, "its memory was cleared")
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
		`{"x":tru}`, `{"x":1.}`, `{"x":+1}`, `[}`, `nul`, `{"numbers":[1}]`} {
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
			for _, item := range v {
				if s, isString := item.(string); isString {
					list = append(list, s)
				}
			}
		}
		require.Equal(t, list, append([]string(nil), got.Texts...))
		if v, isList := members["numbers"].([]any); isList {
			require.Equal(t, numbersOf(v), got.Numbers.state)
		}
		first, isObject := members["object"].(map[string]any)
		require.Equal(t, isObject, got.Object.set)
		require.Equal(t, size{pixelsOf(first["w"]), pixelsOf(first["h"])}, got.Object.v)
		var sizes []size
		bad := false
		if v, isList := members["objects"].([]any); isList {
			for _, item := range v {
				if o, isObject := item.(map[string]any); isObject {
					sizes = append(sizes, size{pixelsOf(o["w"]), pixelsOf(o["h"])})
				} else if list, isList := item.([]any); item != nil && (!isList || len(list) > 0) {
					bad = true
				}
			}
			require.Equal(t, bad, got.Objects.bad)
			require.Equal(t, sizes, append([]size(nil), got.Objects.list...))
		}
	})
}

// numbersOf returns the state of a list of integers.
func numbersOf(list []any) (s state) {
	for _, item := range list {
		if text, is := item.(string); is {
			s = max(s, readable)
			for _, field := range strings.FieldsFunc(text, separates) {
				s = max(s, wholeOf(field).state)
			}
			continue
		}
		s = max(s, wholeOf(item).state)
	}
	return s
}

// wholeOf is what a decoded value is as an integer.
func wholeOf(v any) whole {
	w := pixelsOf(v)
	if s, is := v.(string); is {
		v = stdjson.Number(strings.TrimSpace(s))
	}
	if n, is := v.(stdjson.Number); is && w.set() {
		if f, err := strconv.ParseFloat(n.String(), 64); err != nil || f != math.Trunc(f) {
			return whole{state: unreadable}
		}
	}
	return w
}

// pixelsOf is what a decoded value is as a length in pixels.
func pixelsOf(v any) whole {
	s := ""
	switch v := v.(type) {
	case nil:
		return whole{}
	case bool:
		if v {
			return whole{readable, 1}
		}
		return whole{readable, 0}
	case stdjson.Number:
		s = v.String()
	case string:
		if s = strings.TrimSpace(v); s == "" {
			return whole{}
		}
	case []any:
		if len(v) == 0 {
			return whole{}
		}
		return whole{state: unreadable}
	default:
		return whole{state: unreadable}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return whole{readable, n}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f {
		return whole{state: unreadable}
	}
	return whole{readable, int64(max(min(f, mostWhole), -mostWhole))}
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
	reply := turn.words.Terms()
	require.Len(t, reply, 2)
	turn.end()
	require.Equal(t, []string{""}, place.tokens)
	require.Empty(t, reply[0].Text)
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
