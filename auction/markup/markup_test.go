package markup

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	nativeresponse "github.com/prebid/openrtb/v20/native1/response"
	"github.com/stretchr/testify/require"
	htmlparser "golang.org/x/net/html"
	"pgregory.net/rapid"
)

func example() *Ad {
	return &Ad{
		Creative: Creative{
			Headline: "Query Postgres", Body: "In plain English", CTALabel: "Try it", MediaURL: "https://cdn.example/v.mp4", Domain: "shop.example", SkipAfter: 3,
		},
		ID: "auction", CampaignID: "campaign", DisclosureLabel: "Sponsored", ReceiptURL: "https://ads.example/r/t", ClickURL: "https://ads.example/s/t?event=click",
		ImpressionURL: "https://ads.example/api/track?event=impression&auction_id=t", CompleteURL: "https://ads.example/complete?a=1&b=2",
		SkipURL: "https://ads.example/skip", CloseURL: "https://ads.example/close", ErrorURL: "https://ads.example/error?reason=",
	}
}

// nasty is what advertisers and exchanges may put into a text.
var nasty = []string{
	`"><img src=x onerror=alert(1)>`, `</script><script>alert(1)</script>`, `]]>`, `<![CDATA[x]]>`, `${AUCTION_PRICE}`, `$${AUCTION_PRICE}`, `[ERRORCODE]`,
	`' onmouseover='alert(1)`, "javascript:alert(1)", "a\x00b\x01\x1f", "\xff\xfe", "\u2028\u2029", "\ufffe\uffff", `\`, `\u0022`, `&lt;b&gt; &amp;`, `--><!--`, `%24%7B`,
	"{{.}}", "<?xml?>", "&#36;{AUCTION_ID}", strings.Repeat("é", 300),
}

func hostile(s string) *Ad {
	ad := example()
	ad.Headline, ad.Body, ad.CTALabel, ad.Domain, ad.DisclosureLabel, ad.ID, ad.CampaignID = s, s, s, s, s, s, s
	ad.ClickURL, ad.ImpressionURL, ad.MediaURL, ad.PosterURL = "https://a.example/"+s, "https://b.example/?x="+s, "https://c.example/"+s, s
	ad.ReceiptURL, ad.CompleteURL, ad.ErrorURL = "https://d.example/"+s, s, "https://e.example/?"+s+"="
	return ad
}

// elements are the tags of an HTML text with the attributes that matter, as a browser's parser sees them.
func elements(t require.TestingT, text string) (tags []string) {
	for z := htmlparser.NewTokenizer(strings.NewReader(text)); ; {
		switch z.Next() {
		case htmlparser.ErrorToken:
			require.ErrorIs(t, z.Err(), io.EOF)
			return tags
		case htmlparser.StartTagToken, htmlparser.SelfClosingTagToken:
			token := z.Token()
			for _, a := range token.Attr {
				require.Contains(t, []string{"href", "src", "style", "target", "rel", "alt", "width", "height"}, a.Key)
				if a.Key == "href" || a.Key == "src" {
					require.Regexp(t, `^https?://[a-z.]`, a.Val)
				}
			}
			tags = append(tags, token.Data)
		case htmlparser.CommentToken, htmlparser.DoctypeToken:
			require.Fail(t, "a comment or a doctype", text)
		}
	}
}

func TestBanner(t *testing.T) {
	ad := example()
	ad.MediaURL = "https://cdn.example/i.png?a=1&b=2"
	require.Equal(t, []string{"div", "a", "img", "span", "b", "br", "span", "a", "span", "img"}, elements(t, Banner(ad, 300, 250)))
	require.Equal(t, []string{"div", "a", "img", "span", "b", "span", "a", "span", "img"}, elements(t, Banner(ad, 728, 90)), "a flat one has no body")
	ad.MediaURL = ""
	require.Equal(t, []string{"div", "a", "span", "b", "br", "span", "a", "span", "img"}, elements(t, Banner(ad, 300, 250)))
	out := Banner(ad, 300, 250)
	require.Contains(t, out, "width:300px;height:250px")
	require.Contains(t, out, ">Sponsored<")
	require.Contains(t, out, `src="https://ads.example/api/track?event=impression&amp;auction_id=t"`)
	require.Equal(t, 1, strings.Count(out, "event=impression"))
	for _, s := range nasty {
		want := []string{"div", "a", "img", "span", "b", "br", "span", "a", "span", "img"}
		out := Banner(hostile(s), 300, 250)
		require.Equal(t, want, elements(t, out), s)
		require.NotContains(t, out, "${")
		require.True(t, utf8.ValidString(out))
	}
}

func TestNativeForms(t *testing.T) {
	r := NativeRequest{Assets: []NativeAsset{
		{ID: 7, HasID: true, Required: true, Kind: AssetTitle, Len: 14},
		{ID: 0, HasID: true, Required: true, Kind: AssetImage, Type: ImageMain, W: 600, H: 300, Mimes: []string{"image/jpg", "image/PNG"}},
		{ID: 9, HasID: true, Kind: AssetData, Type: DataDesc, Len: 3},
		{ID: 10, HasID: true, Kind: AssetData, Type: 3},
		{ID: 11, HasID: true, Kind: AssetUnknown},
		{ID: 12, HasID: true, Kind: AssetData, Type: DataSponsored},
	}}
	ad := example()
	ad.MediaURL = "https://cdn.example/i.png"
	require.True(t, r.FitsNative(&ad.Creative))
	require.JSONEq(t, `{"ver":"1.2","assets":[{"id":7,"title":{"text":"Query Postgres"}},{"id":0,"img":{"type":3,"url":"https://cdn.example/i.png","w":600,"h":300}},
		{"id":12,"data":{"type":1,"value":"shop.example"}}],"link":{"url":"https://ads.example/s/t?event=click"},
		"imptrackers":["https://ads.example/api/track?event=impression&auction_id=t"]}`, string(r.Native(ad)))
	r.PixelTracker, r.Privacy = true, true
	var out nativeresponse.Response
	strict(t, r.Native(ad), &out)
	require.Empty(t, out.ImpTrackers)
	require.Len(t, out.EventTrackers, 1)
	require.EqualValues(t, 1, out.EventTrackers[0].Event)
	require.EqualValues(t, 1, out.EventTrackers[0].Method)
	require.Equal(t, ad.ReceiptURL, out.Privacy)

	// A required asset that the ad does not have in this form.
	for name, change := range map[string]func(r *NativeRequest, c *Creative){
		"title too long":   func(r *NativeRequest, c *Creative) { c.Headline = "Query Postgres!" },
		"no title":         func(r *NativeRequest, c *Creative) { c.Headline = "" },
		"title of nothing": func(r *NativeRequest, c *Creative) { c.Headline = "\x00" },
		"no image":         func(r *NativeRequest, c *Creative) { c.MediaURL = "" },
		"a video":          func(r *NativeRequest, c *Creative) { c.MediaURL = "https://cdn.example/v.mp4" },
		"other mime":       func(r *NativeRequest, c *Creative) { c.MediaURL = "https://cdn.example/i.gif" },
		"no link":          func(r *NativeRequest, c *Creative) { c.MediaURL = "javascript:alert(1)//.png" },
		"icon":             func(r *NativeRequest, c *Creative) { r.Assets[1].Type = 1 },
		"without an id":    func(r *NativeRequest, c *Creative) { r.Assets[0].HasID = false },
		"data too long":    func(r *NativeRequest, c *Creative) { r.Assets[2].Required = true },
		"rating":           func(r *NativeRequest, c *Creative) { r.Assets[3].Required = true },
		"video asset":      func(r *NativeRequest, c *Creative) { r.Assets[4].Required = true },
		"no assets":        func(r *NativeRequest, c *Creative) { r.Assets = nil },
	} {
		changed, creative := NativeRequest{Assets: slices.Clone(r.Assets)}, ad.Creative
		change(&changed, &creative)
		require.False(t, changed.FitsNative(&creative), name)
	}
	// Characters count, not bytes.
	c := ad.Creative
	c.Headline = strings.Repeat("é", 14)
	require.True(t, r.FitsNative(&c))
}

func strict(t require.TestingT, body []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(into), "%s", body)
}

func TestNativeIsInert(t *testing.T) {
	r := NativeRequest{Privacy: true, Assets: []NativeAsset{
		{ID: 1, HasID: true, Kind: AssetTitle}, {ID: 2, HasID: true, Kind: AssetImage}, {ID: 3, HasID: true, Kind: AssetData, Type: DataDesc},
	}}
	for _, s := range nasty {
		body := r.Native(hostile(s))
		var out nativeresponse.Response
		strict(t, body, &out)
		for _, bad := range []string{"<", ">", "&", "${", "\u2028", "\u2029"} {
			require.NotContains(t, string(body), bad, s)
		}
		if want := printable(s); want != "" {
			require.Equal(t, want, out.Assets[0].Title.Text, "the text itself is unchanged")
		}
	}
}

// What the elements of VAST 4.2 may hold, in this order (vast_4.2.xsd: what a type inherits comes first).
var schemaOrder = map[string][]string{
	"VAST": {"Ad"},
	"Ad":   {"InLine"},
	"InLine": {
		"AdSystem", "Error", "Extensions", "Impression", "Pricing", "ViewableImpression", "AdServingId", "AdTitle", "AdVerifications", "Advertiser", "Category",
		"Creatives", "Description", "Expires", "Survey",
	},
	"Creatives":      {"Creative"},
	"Creative":       {"CreativeExtensions", "CompanionAds", "Linear", "NonLinearAds", "UniversalAdId"},
	"Linear":         {"Icons", "TrackingEvents", "AdParameters", "Duration", "MediaFiles", "VideoClicks"},
	"TrackingEvents": {"Tracking"},
	"MediaFiles":     {"ClosedCaptionFiles", "MediaFile", "Mezzanine", "InteractiveCreativeFile"},
	"VideoClicks":    {"ClickTracking", "CustomClick", "ClickThrough"},
	"Extensions":     {"Extension"},
	"Extension":      {"DisclosureLabel", "ReceiptURL"}, // any
}

var required = map[string][]string{
	"InLine": {"AdSystem", "Impression", "AdServingId", "AdTitle", "Creatives"}, "Creative": {"UniversalAdId"}, "Linear": {"Duration", "MediaFiles"},
	"MediaFiles": {"MediaFile"}, "VideoClicks": {"ClickThrough"},
}

var attributes = map[string][]string{
	"VAST": {"version", "xmlns"}, "MediaFile": {"delivery", "type", "width", "height"}, "UniversalAdId": {"idRegistry"}, "Tracking": {"event"},
}

// checkVAST walks a document against schemaOrder, required and attributes.
func checkVAST(t require.TestingT, document []byte) {
	type open struct {
		name     string
		at       int
		children []string
	}
	var stack []*open
	decoder := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			require.Equal(t, "http://www.iab.com/VAST", e.Name.Space)
			name := e.Name.Local
			if len(stack) > 0 {
				parent := stack[len(stack)-1]
				at := slices.Index(schemaOrder[parent.name], name)
				require.GreaterOrEqual(t, at, parent.at, "%s in %s is out of order or unknown", name, parent.name)
				parent.at, parent.children = at, append(parent.children, name)
			}
			for _, want := range attributes[name] {
				require.True(t, slices.ContainsFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == want && a.Value != "" }), "%s of %s", want, name)
			}
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "skipoffset":
					require.Regexp(t, `^\d{2}:[0-5]\d:[0-5]\d$`, a.Value)
				case "event":
					require.Contains(t, []string{"complete", "skip", "closeLinear"}, a.Value)
				}
			}
			stack = append(stack, &open{name: name})
		case xml.EndElement:
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, want := range required[top.name] {
				require.Contains(t, top.children, want)
			}
		}
	}
}

func TestVAST(t *testing.T) {
	r := VideoRequest{Skippable: true, Seconds: 15, W: 640, H: 480, Mimes: []string{"video/mp4"}}
	ad := example()
	require.True(t, r.FitsVideo(&ad.Creative))
	out, err := r.VAST(ad)
	require.NoError(t, err)
	checkVAST(t, out)
	text := string(out)
	for _, want := range []string{
		`<VAST version="4.2" xmlns="http://www.iab.com/VAST">`, `skipoffset="00:00:03"`, `<Duration>00:00:15</Duration>`,
		`<MediaFile delivery="progressive" type="video/mp4" width="640" height="480">https://cdn.example/v.mp4</MediaFile>`,
		`<Error>https://ads.example/error?reason=[ERRORCODE]</Error>`, `<Tracking event="complete">https://ads.example/complete?a=1&amp;b=2</Tracking>`,
		`<DisclosureLabel>Sponsored</DisclosureLabel>`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "ClickTracking", "the click-through counts itself")
	require.NotContains(t, text, `event="impression"`)

	r.Skippable = false
	out, err = r.VAST(ad)
	require.NoError(t, err)
	require.NotContains(t, string(out), "skipoffset")
	r.Skippable, r.Seconds = true, 3
	out, err = r.VAST(ad)
	require.NoError(t, err)
	require.NotContains(t, string(out), "skipoffset", "not after its end")

	for url, want := range map[string]bool{
		"https://c.example/v.mp4": true, "https://c.example/v.MP4?x=.webm": true, "https://c.example/v": true, "https://c.example/v.webm": false,
		"https://c.example/i.png": false, "": false, "javascript:x.mp4": false,
	} {
		require.Equal(t, want, r.FitsVideo(&Creative{MediaURL: url}), url)
	}
	r.Mimes = []string{"video/*"}
	require.True(t, r.FitsVideo(&Creative{MediaURL: "https://c.example/v.webm"}))
	require.Equal(t, "01:02:03", clock(3723))
	require.Equal(t, "00:00:00", clock(-1))
}

func TestVASTIsInert(t *testing.T) {
	r := VideoRequest{Skippable: true, Seconds: 15}
	for _, s := range nasty {
		out, err := r.VAST(hostile(s))
		require.NoError(t, err)
		checkVAST(t, out)
		require.NotContains(t, string(out), "${")
		var document vast
		require.NoError(t, xml.Unmarshal(out, &document))
		in := document.Ad.InLine
		// XML readers turn a carriage return into a line feed unless it is written as a reference, as it is.
		require.Equal(t, printable(s), in.AdTitle)
		require.Equal(t, 1, strings.Count(in.Error, "[ERRORCODE]"))
		require.Len(t, in.Creatives, 1)
	}
}

// Any text at all, in every markup.
func TestAnyTextIsInert(t *testing.T) {
	video := VideoRequest{Seconds: 15}
	nativeAd := NativeRequest{Assets: []NativeAsset{{ID: 1, HasID: true, Kind: AssetTitle}}}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })).Draw(t, "text")
		s = rapid.SampledFrom(nasty).Draw(t, "nasty") + s
		ad := hostile(s)
		out, err := video.VAST(ad)
		require.NoError(t, err)
		checkVAST(t, out)
		want := []string{"div", "a", "img", "span", "b", "br", "span", "a", "span", "img"}
		got := elements(t, Banner(ad, 300, 250))
		require.Subset(t, want, got)
		require.LessOrEqual(t, len(got), len(want))
		var answer nativeresponse.Response
		strict(t, nativeAd.Native(ad), &answer)
	})
}

func TestLinks(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.example/x?y=1&z=2": "https://a.example/x?y=1&z=2", " http://a.example ": "http://a.example", "javascript:alert(1)": "", "//a.example": "",
		"https://": "", "https:///x": "", "data:x": "", "https://a/${M}": "https://a/%24%7BM}", `https://a/"'<>[]`: "https://a/%22%27%3C%3E%5B%5D", "": "",
		"https://a/\r\nx": "https://a/x", "HTTPS://a": "",
	} {
		require.Equal(t, want, link(in), in)
	}
}

func BenchmarkMarkup(b *testing.B) {
	ad, video := example(), VideoRequest{Seconds: 15, Skippable: true}
	nativeAd := NativeRequest{Assets: []NativeAsset{{ID: 1, HasID: true, Kind: AssetTitle}, {ID: 2, HasID: true, Kind: AssetData, Type: DataDesc}}}
	for name, write := range map[string]func(){
		"banner": func() { Banner(ad, 300, 250) },
		"native": func() { nativeAd.Native(ad) },
		"vast": func() {
			if _, err := video.VAST(ad); err != nil {
				panic(fmt.Sprint(err))
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				write()
			}
		})
	}
}
