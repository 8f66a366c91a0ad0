package markup

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
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
			Headline: "Query Postgres", Body: "In plain English", CTALabel: "Try it",
			MediaURL: "https://cdn.example/v.mp4", Domain: "shop.example", SkipAfter: 3,
		},
		ID: "auction", CampaignID: "campaign", DisclosureLabel: "Sponsored", ReceiptURL: "https://ads.example/r/t",
		ClickURL:      "https://ads.example/s/t?event=click",
		ImpressionURL: "https://ads.example/api/track?event=impression&auction_id=t",
		CompleteURL:   "https://ads.example/complete?a=1&b=2",
		SkipURL:       "https://ads.example/skip", CloseURL: "https://ads.example/close",
		ErrorURL: "https://ads.example/error?reason=",
	}
}

// nasty are hostile texts of advertisers and exchanges.
var nasty = []string{
	`"><img src=x onerror=alert(1)>`, `</script><script>alert(1)</script>`, `]]>`, `<![CDATA[x]]>`, `${AUCTION_PRICE}`,
	`$${AUCTION_PRICE}`, `[ERRORCODE]`,
	`' onmouseover='alert(1)`, "javascript:alert(1)", "a\x00b\x01\x1f", "\xff\xfe", "\u2028\u2029", "\ufffe\uffff", `\`,
	`\u0022`, `&lt;b&gt; &amp;`, `--><!--`, `%24%7B`,
	"{{.}}", "<?xml?>", "&#36;{AUCTION_ID}", strings.Repeat("é", 300),
}

func hostile(s string) *Ad {
	ad := example()
	ad.Headline, ad.Body, ad.CTALabel, ad.Domain, ad.DisclosureLabel, ad.ID, ad.CampaignID = s, s, s, s, s, "i"+s, "c"+s
	ad.ClickURL, ad.ImpressionURL, ad.MediaURL, ad.PosterURL = "https://a.example/"+s, "https://b.example/?x="+s,
		"https://c.example/"+s, s
	ad.ReceiptURL, ad.CompleteURL, ad.ErrorURL = "https://d.example/"+s, s, "https://e.example/?"+s+"="
	return ad
}

// elements returns the tags of an HTML text with their relevant attributes, as parsed by a browser.
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

func banner(ad *Ad, w, h int) string { return string(AppendBanner(nil, ad, w, h)) }

func TestBanner(t *testing.T) {
	ad := example()
	ad.MediaURL = "https://cdn.example/i.png?a=1&b=2"
	require.Equal(
		t, []string{"div", "a", "img", "span", "b", "br", "span", "a", "span", "img"},
		elements(t, banner(ad, 300, 250)),
	)
	require.Equal(
		t, []string{"div", "a", "img", "span", "b", "span", "a", "span", "img"}, elements(t, banner(ad, 728, 90)),
		"a flat one has no body",
	)
	ad.MediaURL = ""
	require.Equal(
		t, []string{"div", "a", "span", "b", "br", "span", "a", "span", "img"}, elements(t, banner(ad, 300, 250)),
	)
	out := banner(ad, 300, 250)
	require.Contains(t, out, "width:300px;height:250px")
	require.Contains(t, out, ">Sponsored<")
	require.Contains(t, out, `src="https://ads.example/api/track?event=impression&amp;auction_id=t"`)
	require.Equal(t, 1, strings.Count(out, "event=impression"))
	for _, s := range nasty {
		want := []string{"div", "a", "img", "span", "b", "br", "span", "a", "span", "img"}
		out := banner(hostile(s), 300, 250)
		require.Equal(t, want, elements(t, out), s)
		require.NotContains(t, out, "${")
		require.True(t, utf8.ValidString(out))
	}
}

func TestNativeForms(t *testing.T) {
	r := NativeRequest{Assets: []NativeAsset{
		{ID: 7, HasID: true, Required: true, Kind: AssetTitle, Len: 14},
		{
			ID: 0, HasID: true, Required: true, Kind: AssetImage, Type: ImageMain, W: 600, H: 300,
			Mimes: []string{"image/jpg", "image/PNG"},
		},
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
		"imptrackers":["https://ads.example/api/track?event=impression&auction_id=t"]}`, string(r.Append(nil, ad)))
	r.PixelTracker, r.Privacy = true, true
	var out nativeresponse.Response
	strict(t, r.Append(nil, ad), &out)
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
	// Icons and logos are the campaign's logo, if it has one.
	icons := NativeRequest{Assets: []NativeAsset{
		{ID: 1, HasID: true, Required: true, Kind: AssetImage, Type: ImageIcon, Mimes: []string{"image/png"}},
		{ID: 2, HasID: true, Kind: AssetImage, Type: ImageLogo},
		{ID: 3, HasID: true, Kind: AssetImage, Type: 500}, {ID: 4, HasID: true, Kind: AssetImage, Type: ImageMain},
	}}
	require.False(t, icons.FitsNative(&ad.Creative))
	ad.LogoURL = "https://cdn.example/logo.png"
	require.True(t, icons.FitsNative(&ad.Creative))
	out = nativeresponse.Response{}
	strict(t, icons.Append(nil, ad), &out)
	require.Len(t, out.Assets, 3)
	require.Equal(t, ad.LogoURL, out.Assets[0].Img.URL)
	require.EqualValues(t, 1, out.Assets[0].Img.Type)
	require.Equal(t, ad.LogoURL, out.Assets[1].Img.URL)
	require.Equal(t, ad.MediaURL, out.Assets[2].Img.URL)
	ad.LogoURL = "https://cdn.example/logo.svg"
	require.False(t, icons.FitsNative(&ad.Creative), "another form than asked for")
	icons.Assets[0].Required = false
	strict(t, icons.Append(nil, ad), &out)
	require.EqualValues(t, 2, *out.Assets[0].ID, "what is optional and does not fit is left out")
	ad.LogoURL = ""
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
		{ID: 1, HasID: true, Kind: AssetTitle}, {ID: 2, HasID: true, Kind: AssetImage},
		{ID: 3, HasID: true, Kind: AssetData, Type: DataDesc},
	}}
	for _, s := range nasty {
		body := r.Append(nil, hostile(s))
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

// grammar holds the relevant part of the schema of one version: the children of elements in order,
// and their attributes, the required ones with a star.
type grammar struct {
	space    string
	children map[string][]string
	required map[string][]string
	attrs    map[string][]string
	events   []string
}

// grammars follow vast_2.0.1.xsd, vast3_draft.xsd, vast4.xsd, vast_4.1.xsd and vast_4.2.xsd of the
// IAB; in VAST 4 inherited elements come first.
func grammars() map[Version]grammar {
	shared := map[string][]string{
		"VAST": {"Ad"}, "Ad": {"InLine"}, "Creatives": {"Creative"}, "TrackingEvents": {"Tracking"},
		"Extensions": {"Extension"},
		"Extension":  {"DisclosureLabel", "ReceiptURL"}, // any
	}
	sharedAttrs := map[string][]string{
		"Ad": {"id"}, "AdSystem": {"version"}, "Impression": {"id"}, "Tracking": {"event*", "offset"},
		"ClickThrough": {"id"},
		"MediaFile":    {"id", "delivery*", "type*", "width*", "height*", "bitrate"}, "Extension": {"type"},
		"Linear": {"skipoffset"},
	}
	of := func(space string, children, attrs map[string][]string, events string, required map[string][]string) grammar {
		g := grammar{
			space: space, children: maps.Clone(shared), attrs: maps.Clone(sharedAttrs), events: strings.Fields(events),
			required: required,
		}
		maps.Copy(g.children, children)
		maps.Copy(g.attrs, attrs)
		return g
	}
	ns := "http://www.iab.com/VAST"
	classic := map[string][]string{
		"InLine": {
			"AdSystem", "AdTitle", "Description", "Survey", "Error", "Impression", "Creatives", "Extensions",
		},
		"Creative":    {"Linear", "CompanionAds", "NonLinearAds"},
		"Linear":      {"Duration", "TrackingEvents", "AdParameters", "VideoClicks", "MediaFiles"},
		"VideoClicks": {"ClickThrough", "ClickTracking", "CustomClick"}, "MediaFiles": {"MediaFile"},
	}
	third := maps.Clone(classic)
	third["InLine"] = []string{
		"AdSystem", "AdTitle", "Description", "Advertiser", "Pricing", "Survey", "Error", "Impression", "Creatives",
		"Extensions",
	}
	third["Linear"] = []string{
		"Icons", "CreativeExtensions", "Duration", "TrackingEvents", "AdParameters", "VideoClicks", "MediaFiles",
	}
	fourth := map[string][]string{
		"InLine": {"AdSystem", "Error", "Extensions", "Impression", "Pricing", "ViewableImpression", "AdTitle",
			"AdVerifications", "Advertiser", "Category",
			"Creatives", "Description", "Survey"},
		"Creative":    {"CompanionAds", "CreativeExtensions", "Linear", "NonLinearAds", "UniversalAdId"},
		"Linear":      {"Icons", "TrackingEvents", "AdParameters", "Duration", "MediaFiles", "VideoClicks"},
		"VideoClicks": {"ClickTracking", "CustomClick", "ClickThrough"},
		"MediaFiles":  {"MediaFile", "Mezzanine", "InteractiveCreativeFile"},
	}
	later := maps.Clone(fourth)
	later["InLine"] = []string{"AdSystem", "Error", "Extensions", "Impression", "Pricing", "ViewableImpression",
		"AdServingId", "AdTitle", "AdVerifications",
		"Advertiser", "Category", "Creatives", "Description", "Expires", "Survey"}
	newest := maps.Clone(later)
	newest["Creative"] = []string{"CreativeExtensions", "CompanionAds", "Linear", "NonLinearAds", "UniversalAdId"}
	newest["MediaFiles"] = []string{"ClosedCaptionFiles", "MediaFile", "Mezzanine", "InteractiveCreativeFile"}
	demands := map[string][]string{
		"InLine": {"AdSystem", "Impression", "AdTitle", "Creatives"}, "Linear": {"Duration", "MediaFiles"},
		"MediaFiles": {"MediaFile"}, "VideoClicks": {"ClickThrough"},
	}
	universal, serving := maps.Clone(demands), maps.Clone(demands)
	universal["Creative"] = []string{"UniversalAdId"}
	maps.Copy(serving, universal)
	serving["InLine"] = append([]string{"AdServingId"}, demands["InLine"]...)
	oldAttrs := map[string][]string{"VAST": {"version*"}, "Creative": {"id", "sequence", "AdID"}}
	second := maps.Clone(oldAttrs)
	second["Linear"], second["Tracking"] = nil, []string{"event*"}
	newAttrs := map[string][]string{
		"VAST": {"version*", "xmlns*"}, "Creative": {"id", "sequence", "adId"}, "UniversalAdId": {"idRegistry*"},
	}
	valued := maps.Clone(newAttrs)
	valued["UniversalAdId"] = []string{"idRegistry*", "idValue*"}
	return map[Version]grammar{
		VAST20: of(
			"", classic, second,
			"creativeView start midpoint firstQuartile thirdQuartile complete mute unmute pause rewind resume "+
				"fullscreen close", demands,
		),
		VAST30: of("", third, oldAttrs, "start complete close skip progress closeLinear", demands),
		VAST40: of(ns, fourth, valued, "start complete skip progress close", universal),
		VAST41: of(ns, later, newAttrs, "start complete skip progress closeLinear close", serving),
		VAST42: of(ns, newest, newAttrs, "complete skip closeLinear", serving),
	}
}

// checkVAST walks a document against the grammar of its version.
func checkVAST(t require.TestingT, version Version, document []byte) {
	g := grammars()[version]
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
			require.Equal(t, g.space, e.Name.Space)
			name := e.Name.Local
			if len(stack) > 0 {
				parent := stack[len(stack)-1]
				at := slices.Index(g.children[parent.name], name)
				require.GreaterOrEqual(t, at, parent.at, "%s in %s is out of order or unknown", name, parent.name)
				parent.at, parent.children = at, append(parent.children, name)
			} else {
				require.Equal(t, "VAST", name)
			}
			var listed []string
			for _, a := range e.Attr {
				listed = append(listed, a.Name.Local)
				require.NotEmpty(t, a.Value)
				switch a.Name.Local {
				case "skipoffset":
					require.Regexp(t, `^\d{2}:[0-5]\d:[0-5]\d$`, a.Value)
				case "event":
					require.Contains(t, g.events, a.Value)
				}
			}
			for _, attr := range g.attrs[name] {
				attr, must := strings.CutSuffix(attr, "*")
				at := slices.Index(listed, attr)
				require.True(t, at >= 0 || !must, "%s of %s", attr, name)
				if at >= 0 {
					listed = slices.Delete(listed, at, at+1)
				}
			}
			require.Empty(t, listed, "attributes of %s that %s does not have", name, version)
			stack = append(stack, &open{name: name})
		case xml.EndElement:
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, want := range g.required[top.name] {
				require.Contains(t, top.children, want)
			}
		}
	}
}

// The newest version that a request lists; wrappers do not count.
func TestBestVersion(t *testing.T) {
	for _, tc := range []struct {
		protocols []int64
		want      Version
	}{
		{nil, VAST42}, {[]int64{2}, VAST20}, {[]int64{2, 3}, VAST30}, {[]int64{3, 2}, VAST30}, {[]int64{7}, VAST40},
		{[]int64{2, 11, 7}, VAST41},
		{[]int64{13}, VAST42}, {[]int64{15}, VAST42}, {[]int64{1}, NoVAST}, {[]int64{4, 5, 6, 8, 12, 14, 16}, NoVAST},
		{[]int64{9, 10}, NoVAST},
		{[]int64{5, 2}, VAST20}, {[]int64{-1, 99}, NoVAST},
	} {
		require.Equal(t, tc.want, BestVersion(tc.protocols), tc.protocols)
	}
}

// Each version has the elements of its schema, in its own order, with all supported data.
func TestVASTVersions(t *testing.T) {
	for version := range grammars() {
		r := VideoRequest{Skippable: true, Seconds: 15, W: 640, H: 480, Version: version}
		out := r.Append(nil, example())
		checkVAST(t, version, out)
		text := string(out)
		require.Contains(t, text, `<VAST version="`+version.String()+`"`)
		for _, want := range []string{
			`<Duration>00:00:15</Duration>`,
			`type="video/mp4" width="640" height="480">https://cdn.example/v.mp4</MediaFile>`, `[ERRORCODE]</Error>`,
			`<Tracking event="complete">`, `<DisclosureLabel>Sponsored</DisclosureLabel>`,
			`<ClickThrough id="1">https://ads.example/s/t?event=click`,
			`<Impression id="adnet">https://ads.example/api/track?event=impression`,
		} {
			require.Contains(t, text, want, version)
		}
		require.Equal(t, version >= VAST30, strings.Contains(text, `skipoffset="00:00:03"`), version)
		require.Equal(t, version >= VAST30, strings.Contains(text, `event="skip"`), version)
		require.Equal(t, version >= VAST41, strings.Contains(text, "<AdServingId>"), version)
		require.Equal(t, version >= VAST40, strings.Contains(text, "<UniversalAdId "), version)
		require.Equal(t, version == VAST40, strings.Contains(text, "idValue="), version)
		require.Equal(t, 1, strings.Count(text, "https://ads.example/close"), version)
	}
}

// A player that accepts only streams gets no file, and vice versa.
func TestDelivery(t *testing.T) {
	file, stream := &Creative{MediaURL: "https://c.example/v.mp4"}, &Creative{MediaURL: "https://c.example/v.m3u8"}
	for _, tc := range []struct {
		delivery     []int64
		file, stream bool
	}{
		{nil, true, true}, {[]int64{2}, true, false}, {[]int64{3}, true, false}, {[]int64{1}, false, true},
		{[]int64{1, 2}, true, true}, {[]int64{9}, false, false},
	} {
		r := VideoRequest{Delivery: tc.delivery, Seconds: 15}
		require.Equal(t, tc.file, r.FitsVideo(file), tc)
		require.Equal(t, tc.stream, r.FitsVideo(stream), tc)
	}
	ad := example()
	ad.MediaURL = stream.MediaURL
	out := (&VideoRequest{Seconds: 15}).Append(nil, ad)
	require.Contains(t, string(out), `delivery="streaming" type="application/x-mpegURL"`)
}

func TestVAST(t *testing.T) {
	r := VideoRequest{Skippable: true, Seconds: 15, W: 640, H: 480, Mimes: []string{"video/mp4"}}
	ad := example()
	require.True(t, r.FitsVideo(&ad.Creative))
	out := r.Append(nil, ad)
	checkVAST(t, VAST42, out)
	text := string(out)
	for _, want := range []string{
		`<VAST version="4.2" xmlns="http://www.iab.com/VAST">`, `skipoffset="00:00:03"`,
		`<Duration>00:00:15</Duration>`,
		`<MediaFile delivery="progressive" type="video/mp4" width="640" height="480">https://cdn.example/v.mp4</MediaFile>`,
		`<Error>https://ads.example/error?reason=[ERRORCODE]</Error>`,
		`<Tracking event="complete">https://ads.example/complete?a=1&amp;b=2</Tracking>`,
		`<DisclosureLabel>Sponsored</DisclosureLabel>`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "ClickTracking", "the click-through counts itself")
	require.NotContains(t, text, `event="impression"`)

	r.Skippable = false
	out = r.Append(nil, ad)
	require.NotContains(t, string(out), "skipoffset")
	r.Skippable, r.Seconds = true, 3
	out = r.Append(nil, ad)
	require.NotContains(t, string(out), "skipoffset", "not after its end")

	for url, want := range map[string]bool{
		"https://c.example/v.mp4": true, "https://c.example/v.MP4?x=.webm": true, "https://c.example/v": true,
		"https://c.example/v.webm": false,
		"https://c.example/i.png":  false, "": false, "javascript:x.mp4": false,
	} {
		require.Equal(t, want, r.FitsVideo(&Creative{MediaURL: url}), url)
	}
	r.Mimes = []string{"video/*"}
	require.True(t, r.FitsVideo(&Creative{MediaURL: "https://c.example/v.webm"}))
	require.Equal(t, "01:02:03", string(new(vast).clock(3723).text))
	require.Equal(t, "00:00:00", string(new(vast).clock(-1).text))
}

func TestVASTIsInert(t *testing.T) {
	for version := range grammars() {
		r := VideoRequest{Skippable: true, Seconds: 15, Version: version}
		for _, s := range nasty {
			out := r.Append(nil, hostile(s))
			checkVAST(t, version, out)
			require.NotContains(t, string(out), "${")
			var document struct {
				AdTitle   string     `xml:"Ad>InLine>AdTitle"`
				Error     string     `xml:"Ad>InLine>Error"`
				Creatives []struct{} `xml:"Ad>InLine>Creatives>Creative"`
			}
			require.NoError(t, xml.Unmarshal(out, &document))
			// XML parsers turn a carriage return into a line feed unless it is written as a
			// reference, as it is here.
			require.Equal(t, printable(s), document.AdTitle)
			require.Equal(t, 1, strings.Count(document.Error, "[ERRORCODE]"))
			require.Len(t, document.Creatives, 1)
		}
	}
}

// Any text at all, in every markup.
func TestAnyTextIsInert(t *testing.T) {
	video := VideoRequest{Seconds: 15}
	nativeAd := NativeRequest{Assets: []NativeAsset{{ID: 1, HasID: true, Kind: AssetTitle}}}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
		).Draw(t, "text")
		s = rapid.SampledFrom(nasty).Draw(t, "nasty") + s
		ad := hostile(s)
		video.Version = rapid.SampledFrom([]Version{VAST20, VAST30, VAST40, VAST41, VAST42}).Draw(t, "version")
		out := video.Append(nil, ad)
		checkVAST(t, video.Version, out)
		want := []string{"div", "a", "img", "span", "b", "br", "span", "a", "span", "img"}
		got := elements(t, banner(ad, 300, 250))
		require.Subset(t, want, got)
		require.LessOrEqual(t, len(got), len(want))
		var answer nativeresponse.Response
		strict(t, nativeAd.Append(nil, ad), &answer)
	})
}

func TestLinks(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.example/x?y=1&z=2": "https://a.example/x?y=1&z=2", " http://a.example ": "http://a.example",
		"javascript:alert(1)": "", "//a.example": "",
		"https://": "", "https:///x": "", "data:x": "", "https://a/${M}": "https://a/%24%7BM}",
		`https://a/"'<>[]`: "https://a/%22%27%3C%3E%5B%5D", "": "",
		"https://a/\r\nx": "https://a/x", "HTTPS://a": "",
	} {
		require.Equal(t, want, link(in), in)
	}
}

func BenchmarkMarkup(b *testing.B) {
	ad, video := example(), VideoRequest{Seconds: 15, Skippable: true}
	nativeAd := NativeRequest{Assets: []NativeAsset{
		{ID: 1, HasID: true, Kind: AssetTitle}, {ID: 2, HasID: true, Kind: AssetData, Type: DataDesc},
	}}
	for name, write := range map[string]func([]byte) []byte{
		"banner": func(b []byte) []byte { return AppendBanner(b, ad, 300, 250) },
		"native": func(b []byte) []byte { return nativeAd.Append(b, ad) },
		"vast":   func(b []byte) []byte { return video.Append(b, ad) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var memory []byte
			for b.Loop() {
				memory = write(memory[:0])
			}
		})
	}
}
