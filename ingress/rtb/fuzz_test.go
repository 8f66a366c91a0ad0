package rtb

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	nativeresponse "github.com/prebid/openrtb/v20/native1/response"
	"github.com/stretchr/testify/require"

	"adnet/auction/markup"
	"adnet/internal/campaign"
	"adnet/internal/jsonscan"
	"adnet/internal/money"
)

// seeds are the bid requests of testdata/openrtb and of the table tests.
func seeds(f *testing.F) {
	f.Helper()
	for _, pattern := range []string{"testdata/openrtb/*.json", "../testdata/*/rtb-*.json"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(f, err)
			var c struct{ Request stdjson.RawMessage }
			if stdjson.Unmarshal(raw, &c) == nil && c.Request != nil {
				raw = c.Request
			}
			f.Add([]byte(raw))
		}
	}
	for _, c := range suited {
		f.Add([]byte(c.request()))
	}
}

// FuzzBidRequest reads any body and everything that is read from it; only malformed bodies are
// refused.
func FuzzBidRequest(f *testing.F) {
	seeds(f)
	x := newFixture(f)
	deps := x.deps(0)
	var shows []campaign.Campaign
	for _, k := range catalogue() {
		shows = append(shows, k)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, json := new(bidRequest), newReader()
		err := json.parse(body, in)
		plain := body // as the other decoder reads it
		if !stdjson.Valid(body) {
			plain, _ = jsonscan.Mend(body)
		}
		if err != nil {
			if utf8.Valid(body) && stdjson.Valid(plain) && len(body) < 9_000 { // no deeper than is read
				require.True(t, mutation{body: plain}.malformed(), "%s", body)
			}
			return
		}
		require.False(t, mutation{body: plain}.malformed(), "%s", body)
		turn := &bidSession{
			Server:         &Server{cfg: x.cfg, deps: deps, rates: map[string]money.Micros{"USD": money.USD}},
			sessionRequest: sessionRequest{in: *in, secure: true}, sessionMemory: sessionMemory{json: json},
		}
		turn.signals.begin(in)
		turn.readTexts()
		_ = turn.stated()
		turn.blocked, turn.apps = domains(&in.BAdv), apps(&in.BApp)
		turn.readLanguages()
		turn.categoryBlocked()
		turn.readCategories()
		for i := range in.Imp.list {
			p := &in.Imp.list[i]
			place := turn.signals.of(p)
			for _, text := range append(
				append([]string{place.host, place.surface, place.region, place.language}, place.tokens...),
				place.tools...,
			) {
				require.True(t, utf8.ValidString(text))
				require.LessOrEqual(t, len(text), len(body))
				require.NotContains(t, text, "\x00")
			}
			floor, reason := turn.floor(p)
			if reason == "" {
				require.Positive(t, floor)
			}
			for id, d := range turn.deals(p, floor, reason) {
				require.NotEmpty(t, id)
				require.Positive(t, d.floors[asBanner])
				require.Positive(t, d.floors[asVideo])
			}
			var o markupSlot
			reason = turn.slot(p, &o)
			require.Equal(t, reason == "", len(o.formats()) > 0)
			for k := range shows {
				if kind, fits := o.choose(&shows[k], anyKind); fits {
					require.True(t, o.has[kind])
				}
			}
		}
	})
}

// FuzzBidEndpoint sends any body: it is answered, and every bid fits the official types. Run it
// with -fuzzminimizetime=100x: ids are random, so that the engine would minimise for ever.
func FuzzBidEndpoint(f *testing.F) {
	seeds(f)
	x := newFixture(f)
	x.Contract = nil // some hundred times slower than the rest
	f.Fuzz(func(t *testing.T, body []byte) {
		x.T, x.Log.Auctions = t, nil
		w := x.send(body)
		switch w.Code {
		case 200:
			strict(t, w.Body.Bytes())
		case 204:
			require.Empty(t, w.Body.String())
		case 400:
			requireMalformed(t, w)
		case 413:
			require.Greater(t, len(body), MaxBody)
		default:
			t.Fatal(w.Code)
		}
	})
}

// FuzzNativeRequest reads any native request string; what it becomes is a reply of the official
// type.
func FuzzNativeRequest(f *testing.F) {
	for _, seed := range []string{
		`{"ver":"1.2","assets":[{"id":1,"required":1,"title":{"len":60}},{"id":2,"img":{"type":3,"mimes":["image/jpg"]}},{"id":3,"data":{"type":1,"len":5}}],"eventtrackers":[{"event":1,"methods":[1]}],"privacy":1}`,
		`{"native":{"assets":[{"id":1,"title":{}}]}}`, `{"assets":[]}`,
		`{"assets":[{"id":"7","required":true,"title":{"len":"90"}}]}`, `null`, `[`, `{"assets":[{}]}`,
		`{"assets":[{"id":1,"video":{"mimes":["video/mp4"]},"required":1}]}`,
		`{"assets":[{"id":1e400,"img":{"w":-1,"h":1e9}}]}`,
	} {
		f.Add(seed)
	}
	campaign := catalogue()["hostile"]
	show := creative(&campaign)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // a part of a body, which is valid
		}
		n := native{Request: embedded{text: text, isText: true}}
		r, ok := n.request(newReader())
		if !ok || !r.FitsNative(&show) {
			return
		}
		var out nativeresponse.Response
		reply := r.Append(
			nil,
			&markup.Ad{
				Creative: show, ClickURL: "https://a.example/s/x", ImpressionURL: "https://a.example/i",
				ReceiptURL: "https://a.example/r",
			},
		)
		known(t, unwrapped10(reply), &out)
		require.LessOrEqual(t, len(out.Assets), len(r.Assets))
		for _, bad := range []string{"<", "${", "&"} {
			require.NotContains(t, string(reply), bad)
		}
	})
}
