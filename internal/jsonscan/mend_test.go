package jsonscan

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMend(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"\ud83d"}`:                            `{"a":"\ufffd"}`,
		`{"a":"x\ude00y"}`:                          `{"a":"x\ufffdy"}`,
		`{"a":"\ud83d\ude00 \ud83d"}`:               `{"a":"\ud83d\ude00 \ufffd"}`,
		`{"a":"\ud83d\ud83d\ude00"}`:                `{"a":"\ufffd\ud83d\ude00"}`,
		`{"a":"\ud83d\u0041"}`:                      `{"a":"\ufffd\u0041"}`,
		`{"a":"x\ud83d\ude0"}`:                      `{"a":"x\ufffd\ufffd"}`,
		`{"a":"x\u","b":1}`:                         `{"a":"x\ufffd","b":1}`,
		`{"a":"x\u00e"}`:                            `{"a":"x\ufffd"}`,
		`{"a":"x\u00..."}`:                          `{"a":"x\ufffd..."}`,
		"{\"a\":\"caf\xc3\"}":                       `{"a":"caf\ufffd"}`,
		"{\"a\":\"\xf0\x9f\x98\"}":                  `{"a":"\ufffd"}`,
		"{\"a\":\"\xf0\x9f\x98é\"}":                 `{"a":"\ufffdé"}`,
		"{\"a\xff\":1}":                             `{"a\ufffd":1}`,
		"{\"a\":\"1\n2\t\x1f\"}":                    `{"a":"1\u000a2\u0009\u001f"}`,
		`{"a":"it\'s"}`:                             `{"a":"it's"}`,
		`{"a":"\x41\x22\xe9"}`:                      `{"a":"\u0041\u0022\\xe9"}`,
		`{"a":"C:\users\Public\new"}`:               `{"a":"C:\\users\\Public\new"}`,
		`{"a":"cut\","b":1}`:                        `{"a":"cut","b":1}`,
		`{"a":"cut\"}`:                              `{"a":"cut"}`,
		`{"a":["cut\" , "\"x\""],"b":"y\"}`:         `{"a":["cut" , "\"x\""],"b":"y"}`,
		`[{"a":"he said \"hi\", then\"},{"b":"c"}]`: `[{"a":"he said \"hi\", then"},{"b":"c"}]`,
		`{"a":"\\\","b":""}`:                        `{"a":"\\","b":""}`,
	} {
		plain, mended := Mend([]byte(in))
		require.True(t, mended, "%q", in)
		require.Equal(t, want, string(plain), "%q", in)
		require.True(t, jsontext.Value(plain).IsValid(), "%s", plain)
	}
	for _, in := range []string{
		`{}`, `{"a":"é 😀 \" \\ \/ \u00e9 \ud83d\ude00 \","}`, `{"a":"\",","b":"\"}"}`, ``, `x`, `{"a":NaN}`,
		"{\"a\":\"\x00\"}", "{\xff}", `{"a":1`, `{"a":"x`, `"`, `{"a":"x" "b":1}`,
	} {
		plain, mended := Mend([]byte(in))
		require.False(t, mended, "%q", in)
		require.Equal(t, in, string(plain))
	}
	_, mended := Mend([]byte(`"\`))
	require.True(t, mended, "a text that ends in an escape")
}

// A JSON text whose string was cut anywhere after it was encoded is read.
func TestStringsCutAnywhereAreMended(t *testing.T) {
	whole := `a \"b\" \\ \n \u00e9 \ud83d\ude00 é 😀 \/,}`
	for i := range len(whole) + 1 {
		for _, around := range [][2]string{
			{`{"x":"`, `"}`}, {`{"x":"`, `","y":"z"}`}, {`{"x":["`, `" , "é\""]}`}, {`{"x":{"w":1,"y":"`, `"} }`},
		} {
			text := around[0] + whole[:i] + around[1]
			plain, _ := Mend([]byte(text))
			require.True(t, jsontext.Value(plain).IsValid(), "%q became %q", text, plain)
		}
	}
}

// Valid JSON stays as it is, and damage never makes a valid text invalid.
func TestMendKeepsValidTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`\{("[a"\\nux0é,:}]*"[,:]){0,4}[1"}]*`).Draw(t, "text"))
		plain, mended := Mend(text)
		if jsontext.Value(text).IsValid() {
			require.False(t, mended, "%q became %q", text, plain)
		}
		again, mended := Mend(plain)
		if jsontext.Value(plain).IsValid() {
			require.False(t, mended, "%q became %q", plain, again)
		}
	})
}

// The cost is proportional to the length, whatever the text.
func TestMendIsLinear(t *testing.T) {
	for _, piece := range []string{`"\"`, `\"`, `"`, "\xff", `\u`, `"x\",`, "\"\t\t\t\t"} {
		text := []byte(`{"` + strings.Repeat(piece, 1<<20/len(piece)))
		plain, _ := Mend(text)
		require.LessOrEqual(t, len(plain), 8*len(text))
	}
}
