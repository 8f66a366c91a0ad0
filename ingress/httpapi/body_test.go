package httpapi

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/process/obs"
)

type common struct {
	Amount money.Micros `json:"amount"`
}

type body struct {
	common
	Name string   `json:"name"`
	N    int      `json:"n"`
	List []string `json:"list"`
}

func TestUnmarshal(t *testing.T) {
	for name, tc := range map[string]struct{ text, field string }{
		"empty":              {"", ""},
		"blank":              {" \n\t", ""},
		"array":              {`[]`, ""},
		"null":               {`null`, ""},
		"string":             {`"x"`, ""},
		"not JSON":           {`{name:1}`, ""},
		"cut":                {`{"name":"x"`, ""},
		"two objects":        {`{}{}`, ""},
		"rest":               {`{} x`, ""},
		"duplicate":          {`{"name":"a","name":"b"}`, ""},
		"duplicate unknown":  {`{"x":1,"x":2}`, ""},
		"escaped duplicate":  {`{"name":"a","\u006eame":"b"}`, ""},
		"other case":         {`{"Name":"a"}`, "name"},
		"both cases":         {`{"amount":1,"Amount":900}`, "amount"},
		"invalid UTF-8":      {"{\"name\":\"\xff\"}", ""},
		"lone surrogate":     {`{"name":"\ud800"}`, ""},
		"raw NUL":            {"{\"name\":\"\x00\"}", ""},
		"wrong kind":         {`{"name":1}`, "name"},
		"wrong kind in list": {`{"list":["a",1]}`, "list"},
		"fraction":           {`{"n":1.5}`, "n"},
		"huge int":           {`{"n":1e400}`, "n"},
		"huge amount":        {`{"amount":1e400}`, "amount"},
		"NaN":                {`{"amount":NaN}`, ""},
		"amount as text":     {`{"amount":"5"}`, "amount"},
		"too deep":           {`{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Unmarshal([]byte(tc.text), new(body))
			require.True(t, errs.Is(err, errs.InvalidRequest), "%v", err)
			e := errs.Of(err)
			require.Regexp(t, `^[^{}]*$`, e.Message)
			for _, foreign := range []string{"Go ", "json:", "unmarshal", "jsontext"} {
				require.NotContains(t, e.Message, foreign)
			}
			if tc.field != "" {
				require.Equal(t, tc.field, e.Extra["field"])
			}
		})
	}
	var in body
	require.NoError(
		t, Unmarshal([]byte(" {\"name\":\"ä\",\"unknown\":{\"NAME\":1},\"amount\":2.5,\"list\":[\"a\"]} \n"), &in),
	)
	require.Equal(t, body{common{2_500_000}, "ä", 0, []string{"a"}}, in, "unknown fields are ignored")
}

func TestDecodeLimit(t *testing.T) {
	decode := func(text string) error {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
		c := NewContext(httptest.NewRecorder(), r)
		limitBody(c, 100)
		return Decode(c, new(body))
	}
	fill := func(n int) string { return `{"name":"` + strings.Repeat("x", n-len(`{"name":""}`)) + `"}` }
	require.NoError(t, decode(fill(100)))
	require.True(t, errs.Is(decode(fill(101)), errs.PayloadTooLarge))
	require.NoError(t, decode(fill(50)), "a buffer is used again after a body that was too large")
}

func TestParseID(t *testing.T) {
	const id = "0192f0c2-0d1e-7a3b-9a6f-5b2e8c7d6e01"
	for _, text := range []string{id, strings.ToUpper(id)} {
		got, err := ParseID("id", text)
		require.NoError(t, err)
		require.Equal(t, id, got.String())
	}
	for _, text := range []string{
		"", "x", "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), id + " ", "' or 1=1 --",
		id[:35] + "\x00",
	} {
		_, err := ParseID("id", text)
		require.True(t, errs.Is(err, errs.InvalidRequest), text)
	}
}

// 191.0 and 2e3 are integers to JSON Schema, and so to what the document says of a field; what is
// none stays refused, and the rest of the body means what it means.
func TestWholeNumbersOfEveryForm(t *testing.T) {
	type counts struct {
		N     int            `json:"n"`
		Small *uint8         `json:"small"`
		List  []int64        `json:"list"`
		Map   map[string]int `json:"map"`
		Share float64        `json:"share"`
		Paid  money.Micros   `json:"paid"`
		Text  string         `json:"text"`
	}
	small := uint8(7)
	var got counts
	require.NoError(
		t,
		Unmarshal(
			[]byte(
				`{"text":"1.0 \"2.0\" ä","n":191.0,"small":0.7e1,"list":[-0.0,2e3,9007199254740993],"map":{"a":1.0},"share":0.25,"paid":2.50,"other":[1.0,{"x":null}]}`,
			), &got,
		),
	)
	require.Equal(
		t,
		counts{191, &small, []int64{0, 2000, 9007199254740993}, map[string]int{"a": 1}, 0.25, 2_500_000, `1.0 "2.0" ä`},
		got,
	)

	for text, field := range map[string]string{
		`{"n":1.5}`: "n", `{"n":191.0,"small":300.0}`: "small", `{"n":1.0,"n":2.0}`: "n", `{"n":1e19}`: "n",
		`{"n":9007199254740994.0}`: "n", `{"N":1.0}`: "n",
		`{"n":2e3,"list":[1.5]}`: "list", `{"n":2e3,"paid":"5"}`: "paid", `{"n":"1.0"}`: "n",
	} {
		err := Unmarshal([]byte(text), new(counts))
		require.True(t, errs.Is(err, errs.InvalidRequest), "%s: %v", text, err)
		require.Equal(t, field, errs.Of(err).Extra["field"], text)
	}
	require.Error(t, Unmarshal([]byte(`{"n":1.0`), new(counts)))
	require.Error(t, Unmarshal([]byte(`{"n":1.0} x`), new(counts)))
}

// No text of a Go parser reaches a client, which gets the expected type instead.
func TestWrongTypesNameTheExpectedType(t *testing.T) {
	type forms struct {
		Whole  int64           `json:"whole"`
		Least  uint8           `json:"least"`
		Number float64         `json:"number"`
		At     *time.Time      `json:"at"`
		ID     uuid.UUID       `json:"id"`
		Amount *money.Micros   `json:"amount"`
		Starts campaign.Date   `json:"starts"`
		Ratio  campaign.Ratio  `json:"ratio"`
		Words  []string        `json:"words"`
		Nested struct{ N int } `json:"nested"`
	}
	for text, want := range map[string]string{
		`{"whole":1.5}`:        "field whole must be a whole number within its limits",
		`{"whole":1e400}`:      "field whole must be a whole number within its limits",
		`{"least":300}`:        "field least must be a whole number within its limits, and not below 0",
		`{"at":"yesterday"}`:   "field at must be a time like 2026-01-31T10:00:00Z",
		`{"id":"x"}`:           "field id must be an id like 0198c2a4-7f00-7000-8000-000000000000",
		`{"amount":"5"}`:       "field amount must be a plain number, like 2.5",
		`{"amount":2e10}`:      "field amount must be a number of at most 10,000,000,000",
		`{"starts":"x"}`:       "field starts must be a time like 2026-01-31T10:00:00Z, or null",
		`{"starts":5}`:         "field starts must be a time like 2026-01-31T10:00:00Z, or null",
		`{"ratio":"x"}`:        "field ratio must be a number, or null",
		`{"ratio":1e20}`:       "field ratio must be a number, or null",
		`{"whole":"3"}`:        "field whole must be a whole number like 3, not a text",
		`{"number":[]}`:        "field number must be a number like 2.5, not a list",
		`{"words":5}`:          `field words must be a list of texts like ["abc"], not a number`,
		`{"words":["a",{}]}`:   `field words.1 must be a text like "abc", not an object`,
		`{"nested":[]}`:        `field nested must be an object like {"name": …}, not a list`,
		`{"nested":{"N":"x"}}`: "field nested.N must be a whole number like 3, not a text",
	} {
		err := errs.Of(Unmarshal([]byte(text), new(forms)))
		require.Equal(t, errs.InvalidRequest, err.Code, text)
		require.Equal(t, want, err.Message, text)
		require.NotRegexp(t, `strconv|parsing|Go |layout|unmarshal|json:`, err.Message)
	}
}

// limitBody puts c on a route with a limit of its bodies.
func limitBody(c *gin.Context, limit int64) {
	c.Request = c.Request.WithContext(&request{
		Identity: *obs.Identify(c.Request.Context(), ""), to: &endpoint{policy: Policy{Body: limit}},
	})
}

// send gives the text that a handler reads of a body with a limit.
func send(limit int64, body []byte, coding ...string) (read string, err error) {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	if len(coding) > 0 {
		r.Header["Content-Encoding"] = coding
	}
	c := NewContext(httptest.NewRecorder(), r)
	limitBody(c, limit)
	err = ReadBody(c, func(body []byte) error { read = string(body); return nil })
	if errs.Is(err, errs.UnsupportedEncoding) && c.Writer.Header().Get("Accept-Encoding") != codings {
		panic("the supported encodings are missing")
	}
	return read, err
}

func zipped(text string) []byte {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return to.Bytes()
}

func deflated(text string, framed bool) []byte {
	var to bytes.Buffer
	w := io.WriteCloser(zlib.NewWriter(&to))
	if !framed {
		w, _ = flate.NewWriter(&to, flate.BestSpeed)
	}
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return to.Bytes()
}

func wide(order binary.AppendByteOrder, text string) (body []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		body = order.AppendUint16(body, unit)
	}
	return body
}

func TestBodiesOfEveryFormAreRead(t *testing.T) {
	const text = `{"name":"Grüße 😀"}`
	zip := zipped(text)
	for name, tc := range map[string]struct {
		body   []byte
		coding []string
	}{
		"plain":                    {[]byte(text), nil},
		"identity":                 {[]byte(text), []string{"identity"}},
		"empty coding":             {[]byte(text), []string{""}},
		"byte order mark":          {[]byte("\xef\xbb\xbf" + text), nil},
		"NUL at the end":           {[]byte(text + "\x00\x00"), nil},
		"gzip":                     {zip, []string{"gzip"}},
		"gzip, other spelling":     {zip, []string{" X-GZIP "}},
		"gzip, no header":          {zip, nil},
		"gzip, stated as identity": {zip, []string{"identity"}},
		"gzip and identity":        {zip, []string{"gzip, identity"}},
		"in two lines":             {zip, []string{"identity", "gzip"}},
		"gzip twice":               {zipped(string(zip)), []string{"gzip, gzip"}},
		"deflate in gzip":          {zipped(string(deflated(text, true))), []string{"deflate,gzip"}},
		"members":                  {append(zipped(text[:9]), zipped(text[9:])...), []string{"gzip"}},
		"zeros behind":             {append(bytes.Clone(zip), make([]byte, 512)...), []string{"gzip"}},
		"padding behind":           {append(bytes.Clone(zip), "\r\nxyz"...), nil},
		"not closed":               {zip[:len(zip)-8], []string{"gzip"}},
		"cut checksum":             {zip[:len(zip)-3], nil},
		"stated but not gzip":      {[]byte(text), []string{"gzip"}},
		"stated but not deflate":   {[]byte(text), []string{"deflate"}},
		"zlib":                     {deflated(text, true), []string{"deflate"}},
		"raw deflate":              {deflated(text, false), []string{"Deflate"}},
		"mark in gzip":             {zipped("\xef\xbb\xbf" + text), []string{"gzip"}},
		"UTF-16, little":           {wide(binary.LittleEndian, "\uFEFF"+text), nil},
		"UTF-16, big":              {wide(binary.BigEndian, "\uFEFF"+text), nil},
		"UTF-16 without a mark":    {wide(binary.LittleEndian, text), nil},
		"UTF-16, big, no mark":     {wide(binary.BigEndian, text+"\x00"), nil},
	} {
		read, err := send(1000, tc.body, tc.coding...)
		require.NoError(t, err, name)
		require.Equal(t, text, read, name)
	}
	for _, other := range []string{"", " ", "a", "x=1&y=\xff", "\x00", "\xef\xbb\xbf"} {
		_, err := send(100, []byte(other))
		require.NoError(t, err, "%q", other)
	}
}

func TestBodiesThatCannotBeReadAreRejected(t *testing.T) {
	zip := zipped(`{"name":"x"}`)
	broken := bytes.Clone(zip)
	broken[len(broken)-6]++ // the checksum
	for name, tc := range map[string]struct {
		body    []byte
		coding  string
		code    errs.Code
		message string
	}{
		"br":               {[]byte("{}"), "br", errs.UnsupportedEncoding, "gzip, deflate, identity"},
		"one is unknown":   {zip, "zstd, gzip", errs.UnsupportedEncoding, "gzip, deflate, identity"},
		"too many":         {zip, "gzip, gzip, gzip", errs.UnsupportedEncoding, "3 content codings"},
		"checksum":         {broken, "gzip", errs.InvalidRequest, "not valid gzip"},
		"cut":              {zip[:14], "gzip", errs.InvalidRequest, "ends too early"},
		"noise":            {[]byte("\x01\x02\x03\x04 more than a header"), "gzip", errs.InvalidRequest, "not valid gzip"},
		"noise as deflate": {[]byte("\xff\xfe\xfd\xfc"), "deflate", errs.InvalidRequest, "not valid deflate"},
		"UTF-32":           {[]byte("{\x00\x00\x00}\x00\x00\x00"), "", errs.InvalidRequest, "UTF-32"},
		"cut form":         {zipped("a=1&b=22222222222222222222222222")[:30], "gzip", errs.InvalidRequest, "too early"},
		"long":             {zipped(strings.Repeat("a", 101)), "gzip", errs.PayloadTooLarge, "100 bytes"},
		"bomb":             {zipped(string(zipped(strings.Repeat("a", 50<<10)))), "gzip, gzip", errs.PayloadTooLarge, "100"},
		"long in UTF-8":    {wide(binary.LittleEndian, "\uFEFF"+strings.Repeat("語", 40)), "", errs.PayloadTooLarge, "100"},
	} {
		_, err := send(100, tc.body, tc.coding)
		require.True(t, errs.Is(err, tc.code), "%s: %v", name, err)
		require.Contains(t, errs.Of(err).Message, tc.message, name)
	}
}

// A body that grows when it is decompressed costs no more than one of the limit.
func TestBombIsNotExpanded(t *testing.T) {
	bomb := zipped(strings.Repeat("a", 64<<20))
	var room bytes.Buffer
	require.Error(t, decode(&room, bomb, "gzip", 100))
	require.LessOrEqual(t, room.Cap(), 4<<10)
	room = bytes.Buffer{}
	require.Error(t, decode(&room, deflated(strings.Repeat("a", 64<<20), true), "deflate", 100))
	require.LessOrEqual(t, room.Cap(), 4<<10)
}

func TestRawBodyIsTheBodyAsSent(t *testing.T) {
	for _, body := range []string{string(zipped("{}")), "\xef\xbb\xbf{}", "{}\x00"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		require.NoError(t, RawBody(NewContext(httptest.NewRecorder(), r), func(raw []byte) error {
			require.Equal(t, body, string(raw))
			return nil
		}))
	}
}
