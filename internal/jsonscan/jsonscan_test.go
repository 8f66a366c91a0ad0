package jsonscan

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// known is read member by member, as the endpoints do it.
type known struct {
	Text  string         `json:"text"`
	Texts []string       `json:"texts"`
	Int   *int           `json:"int"`
	Float *float64       `json:"float"`
	Raw   jsontext.Value `json:"raw"`
}

func read(text string) (known, bool) {
	var k known
	in := Read(text)
	o := in.Object()
	for name, more := o.Next(); more; name, more = o.Next() {
		switch name {
		case "text":
			k.Text = in.Text()
		case "texts":
			k.Texts = in.Texts()
		case "int":
			k.Int = in.Int()
		case "float":
			k.Float = in.Float()
		case "raw":
			k.Raw = jsontext.Value(in.Raw())
		default:
			in.Skip()
		}
	}
	return k, in.Done()
}

// same compares the reader with the general decoder; plain says whether it accepted the text.
func same(t *testing.T, text string) (plain bool) {
	got, plain := read(text)
	if plain {
		var want known
		require.NoError(t, json.Unmarshal([]byte(text), &want), "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
	return plain
}

var (
	taken = []string{
		`{}`, " {\t} \r\n",
		`{"text":"a","texts":["b","c"],"int":-12,"float":0.25,"raw":{"x":[1,2.5,true,false,null,"é",{},[]]}}`,
		`{"text":null,"texts":null,"int":null,"float":null,"raw":null}`, `{"texts":[]}`, `{"texts":[ "a" , "b" ]}`,
		`{"text":"\"\\\/\b\f\n\r\té😀"}`, `{"text":"é😀` + "\x7f" + `"}`, `{"int":999999999999999}`, `{"float":-7}`,
		`{"float":3.5}`,
		`{"Text":"another name","other":{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}}`, `{"raw":"\u0000"}`, `{"raw" : -1.5 }`,
		`{"int":0}`, `{"":1}`,
	}
	declined = []string{
		``, ` `, `null`, `[]`, `"x"`, `{`, `}`, `{}{}`, `{}x`, `{"text"}`, `{"text":}`, `{"text":"a",}`,
		`{,"text":"a"}`, `{"text":"a" "int":1}`, `{text:"a"}`,
		`{"text":"a","text":"a"}`, `{"x":1,"x":2}`, `{"raw":{"x":1,"x":2}}`, `{"raw":[{"x":1,"x":2}]}`,
		`{"te\u0078t":"a"}`,
		`{"text":1}`, `{"text":"a`, `{"text":"a\"`, `{"text":"\x"}`, `{"text":"\ud800"}`, `{"text":"\ud800\u0041"}`,
		`{"text":"\u12"}`,
		"{\"text\":\"\xff\"}", "{\"text\":\"\xed\xa0\x80\"}", "{\"text\":\"a\nb\"}", "{\"\xff\":1}",
		"{\"text\":\"\\n\xff\"}",
		`{"texts":["a",null]}`, `{"texts":["a",]}`, `{"texts":["a" "b"]}`, `{"texts":"a"}`, `{"texts":[1]}`,
		`{"texts":["a"`,
		`{"int":1.0}`, `{"int":1e3}`, `{"int":01}`, `{"int":-}`, `{"int":+1}`, `{"int":"1"}`,
		`{"int":9999999999999999}`, `{"int":1x}`,
		`{"float":1.}`, `{"float":.5}`, `{"float":1e5}`, `{"float":00.5}`, `{"float":NaN}`, `{"raw":nul}`,
		`{"raw":True}`, `{"raw":nullx}`, `{"raw":[1 2]}`, `{"raw":[,]}`,
		`{"raw":[[[[[[[[[[]]]]]]]]]]}`, "\ufeff{}", `{"raw":1}}`, `{"raw":[1]]}`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"t":1,"u":1,"v":1,"w":1,"x":1,"y":1}`,
	}
)

func TestPlainTextMatchesTheDecoder(t *testing.T) {
	for _, text := range taken {
		require.True(t, same(t, text), text)
	}
	for _, text := range declined {
		require.False(t, same(t, text), text)
	}
}

// Every beginning of a plain text, and every text with one byte changed, is declined or means the
// same to both.
func TestDamage(t *testing.T) {
	for _, text := range taken {
		for i := range len(text) {
			same(t, text[:i])
			for _, c := range []byte("\"\\{}[]:,. 0-1eE+n\x00\x80\xff") {
				same(t, text[:i]+string([]byte{c})+text[i+1:])
				same(t, text[:i]+string([]byte{c})+text[i:])
			}
		}
	}
}

func FuzzSame(f *testing.F) {
	for _, text := range append(taken, declined...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { same(t, text) })
}

// A plain text is read in its own memory.
func TestNoCopies(t *testing.T) {
	plain := true
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		in := Read(`{"a":"b","c":{"d":[1,"e"]},"f":null}`)
		in.Skip()
		plain = plain && in.Done()
	}), 1.0)
	require.True(t, plain)
}

func TestDeclineIsFinal(t *testing.T) {
	in := Read(`{"a":1,"b":"x"}`)
	o := in.Object()
	_, more := o.Next()
	require.True(t, more)
	require.Empty(t, in.Text(), "a number is no text")
	require.True(t, in.Odd())
	_, more = o.Next()
	require.False(t, more)
	require.Empty(t, in.Text())
	require.Nil(t, in.Int())
	require.Empty(t, in.Raw())
	require.Zero(t, in.Peek())
	require.False(t, in.Done())
}

func TestMembersComeInOrder(t *testing.T) {
	in := Read(`{"a":1,"b":true,"d":"x"}`)
	m := in.Members()
	require.False(t, m.Next("b"), "not yet")
	require.True(t, m.Next("a"))
	require.EqualValues(t, 1, in.Whole())
	require.True(t, m.Next("b"))
	require.True(t, in.Bool())
	require.False(t, m.Next("c"))
	require.True(t, m.Next("d"), "one that may be missing was asked for and nothing was passed over")
	require.Equal(t, "x", in.Text())
	m.End()
	require.True(t, in.Done())

	for _, text := range []string{
		``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,"a":1}`, `{"a" :1}`, `{"ab":1}`, `{"":1}`,
		`["a":1]`, `{"a":1}}`, `{"a":1"b":2}`, `{"a":1,"b":2}`,
	} {
		in := Read(text)
		m := in.Members()
		if m.Next("a") {
			in.Whole()
		}
		m.End()
		require.False(t, in.Done(), text)
	}

	in = Read(`{"a":1}`)
	m = in.Members()
	require.Zero(t, m.Value("b").Whole(), "another one comes next")
	require.Zero(t, m.Value("a").Whole(), "declined is declined")
	require.False(t, in.Done())
}

func TestWholeAndBool(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-1": -1, "9223372036854775807": 9223372036854775807, "-9223372036854775808": -9223372036854775808,
	} {
		in := Read(text)
		require.Equal(t, want, in.Whole())
		require.True(t, in.Done(), text)
	}
	for _, text := range []string{
		"", "-", "-0", "01", "1.0", "1e3", "9223372036854775808", "00000000000000000000001", "null", `"1"`, "1 2",
	} {
		in := Read(text)
		in.Whole()
		require.False(t, in.Done(), text)
	}
	for text, want := range map[string]bool{"true": true, " false": false} {
		in := Read(text)
		require.Equal(t, want, in.Bool())
		require.True(t, in.Done(), text)
	}
	for _, text := range []string{"", "null", "tru", "truee", "1", `"true"`} {
		in := Read(text)
		in.Bool()
		require.False(t, in.Done(), text)
	}
}

// A loose reader accepts a text only if it is valid JSON, and returns its content; sure says that
// it must accept.
func loosely(t *testing.T, text string, sure bool) {
	t.Helper()
	in := Loose(text)
	var got, want [2]string // the last of a name counts
	for in.Enter('{'); in.More('}'); {
		switch in.Name() {
		case "text":
			got[0] = in.Text()
		case "number":
			got[1] = in.Numeral()
		default:
			in.Skip()
		}
	}
	if !in.Done() {
		require.False(t, sure, text)
		return
	}
	var members struct {
		Text   *string        `json:"text"`
		Number jsontext.Value `json:"number"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &members, jsontext.AllowDuplicateNames(true)), "%q", text)
	if members.Text != nil {
		want[0] = *members.Text
	}
	want[1] = string(members.Number)
	require.Equal(t, want, got, "%q", text)
}

func TestLoose(t *testing.T) {
	texts := []string{
		`{}`, " {\t} ", `{"text":"a","text":"b"}`, `{"x":{"y":1,"y":[1,"\n",{}]},"x":[]}`, `{"number":-1.5e+300}`,
		`{ "number" : 0E0 , "text" : "é\/" }`,
		`{"number":123456789012345678901234567890.5}`, `{"x":[1e5,-0,0.10000000000000000001,2E-7,true,null,false]}`,
		`{"number":-0.0}`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"t":1,"u":1,"v":1,"w":1,"x":1,"y":1}`,
	}
	for _, text := range texts {
		loosely(t, text, true)
		for i := range len(text) {
			loosely(t, text[:i], false)
			for _, c := range []byte("\"\\{}[]:,. 0-1eE+n\x00\x80\xff") {
				loosely(t, text[:i]+string([]byte{c})+text[i+1:], false)
				loosely(t, text[:i]+string([]byte{c})+text[i:], false)
			}
		}
	}
	for _, text := range []string{
		``, `{]`, `{"x":[1}`, `{"x":[1,]}`, `{"x":[,]}`, `{"x":1,}`, `{,}`, `{"x":[1 2]}`, `{"x":1 "y":2}`, `{"x":01}`,
		`{"x":1.}`, `{"x":.5}`, `{"x":1e}`, `{"x":1e+}`, `{"x":+1}`,
		`{"x":-}`, `{"x":"\q"}`, `{"number":1x}`, `{"number":00}`, `{}}`, `{} {}`, `{"x"}`, `{"x":}`,
	} {
		in := Loose(text)
		in.Skip()
		require.False(t, in.Done(), text)
		loosely(t, text, false)
	}
}

// Every byte in every place of the eight that are looked at together.
func TestQuoted(t *testing.T) {
	for c := range 256 {
		for at := range 17 {
			text := `{"text":"` + strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("~", 16-at) + `"}`
			plain := same(t, text)
			require.Equal(t, c >= ' ' && c < 0x80 && c != '"' && c != '\\', plain, "%q", text)
		}
	}
}
