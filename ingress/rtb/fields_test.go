package rtb

import (
	stdjson "encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/compliance/consent"
)

// handling is what a bid does about a field that restricts bids.
type handling uint8

// The handlings.
const (
	compared handling = iota // a bid is made only if it meets the field
	refused                  // no bid where the field is set, except to a value without effect
	met                      // every bid meets it, whatever it is
)

// field is a field of a bid request that restricts bids.
type field struct {
	path string // names below the BidRequest, joined by dots
	how  handling
}

// fields lists the fields of OpenRTB 2.6 and of the extensions for DSA and GPC that restrict bids.
// Tests compare it with the official types, with the reader (each field is set to values that are
// met, unmet and unreadable) and with docs/integrating.md.
var fields = [...]field{
	{"at", met}, {"tmax", compared}, {"test", compared}, {"wseat", compared}, {"bseat", compared}, {"cur", compared},
	{"allimps", met}, {"wlang", compared}, {"wlangb", compared}, {"bcat", compared}, {"acat", compared},
	{"cattax", compared}, {"badv", compared}, {"bapp", compared},

	{"regs.coppa", compared}, {"regs.gdpr", compared}, {"regs.us_privacy", compared}, {"regs.gpp", compared},
	{"regs.gpp_sid", compared}, {"regs.ext.gpc", compared}, {"regs.ext.dsa.dsarequired", refused},
	{"user.consent", compared}, {"user.yob", compared}, {"device.lmt", compared}, {"device.dnt", compared},

	{"imp.bidfloor", compared}, {"imp.bidfloorcur", compared}, {"imp.secure", compared}, {"imp.instl", met},
	{"imp.rwdd", met}, {"imp.ssai", met}, {"imp.exp", met}, {"imp.dt", compared}, {"imp.qty.multiplier", refused},
	{"imp.ext.qty.multiplier", refused},
	{"imp.audio", refused}, {"imp.iframebuster", met},

	{"imp.pmp.private_auction", compared}, {"imp.pmp.deals.at", compared}, {"imp.pmp.deals.bidfloor", compared},
	{"imp.pmp.deals.bidfloorcur", compared}, {"imp.pmp.deals.wseat", compared}, {"imp.pmp.deals.wadomain", compared},
	{"imp.pmp.deals.guar", met}, {"imp.pmp.deals.mincpmpersec", compared}, {"imp.pmp.deals.durfloors", compared},
	{"imp.pmp.deals.mtype", compared},

	{"imp.banner.w", compared}, {"imp.banner.h", compared}, {"imp.banner.format", compared},
	{"imp.banner.wmin", compared}, {"imp.banner.wmax", compared}, {"imp.banner.hmin", compared},
	{"imp.banner.hmax", compared}, {"imp.banner.btype", compared}, {"imp.banner.battr", compared},
	{"imp.banner.mimes", compared}, {"imp.banner.expdir", met}, {"imp.banner.api", met},

	{"imp.native.request", compared}, {"imp.native.battr", compared}, {"imp.native.ver", met}, {"imp.native.api", met},

	{"imp.video.w", compared}, {"imp.video.h", compared}, {"imp.video.mimes", compared},
	{"imp.video.minduration", compared}, {"imp.video.maxduration", compared}, {"imp.video.maxextended", met},
	{"imp.video.rqddurs", compared}, {"imp.video.durfloors", compared}, {"imp.video.mincpmpersec", compared},
	{"imp.video.protocols", compared}, {"imp.video.protocol", compared}, {"imp.video.linearity", compared},
	{"imp.video.skip", compared}, {"imp.video.skipmin", compared}, {"imp.video.skipafter", compared},
	{"imp.video.battr", compared}, {"imp.video.delivery", compared}, {"imp.video.minbitrate", compared},
	{"imp.video.maxbitrate", compared}, {"imp.video.boxingallowed", refused}, {"imp.video.poddur", compared},
	{"imp.video.maxseq", compared}, {"imp.video.podid", compared}, {"imp.video.poddedupe", compared},
	{"imp.video.podseq", met}, {"imp.video.slotinpod", met}, {"imp.video.startdelay", met},
	{"imp.video.placement", met}, {"imp.video.plcmt", met}, {"imp.video.playbackmethod", met},
	{"imp.video.playbackend", met}, {"imp.video.api", met}, {"imp.video.companionad", met},
	{"imp.video.companiontype", met},
}

// informing lists the fields of the official types that restrict nothing, by type.
var informing = map[string]string{
	"": "id imp site app dooh device user source regs", "imp": "id metric banner video native pmp displaymanager " +
		"displaymanagerver tagid clickbrowser qty refresh", "imp.pmp": "deals", "imp.pmp.deals": "id",
	"imp.banner": "pos topframe id vcm", "imp.native": "", "imp.qty": "sourcetype vendor",
	"imp.video": "sequence pos", "regs": "",
	"user": "id buyeruid gender keywords kwarray customdata geo data eids",
	"device": "geo ua sua ip ipv6 devicetype make model os osv hwv h w ppi pxratio js geofetch flashver language " +
		"langb carrier mccmnc connectiontype ifa didsha1 didmd5 dpidsha1 dpidmd5 macsha1 macmd5",
}

func TestEveryFieldOfTheStandardIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, f := range fields {
		require.False(t, listed[f.path], f.path)
		listed[f.path] = true
	}
	for path, of := range map[string]any{
		"": openrtb2.BidRequest{}, "imp": openrtb2.Imp{},
		"imp.banner": openrtb2.Banner{}, "imp.video": openrtb2.Video{},
		"imp.native": openrtb2.Native{}, "imp.pmp": openrtb2.PMP{}, "imp.pmp.deals": openrtb2.Deal{},
		"imp.qty": openrtb2.Qty{}, "regs": openrtb2.Regs{}, "user": openrtb2.User{}, "device": openrtb2.Device{},
	} {
		informs := strings.Fields(informing[path])
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			whole := strings.TrimPrefix(path+"."+name, ".")
			require.True(t, name == "ext" || listed[whole] != contains(informs, name), "%s: once", whole)
		}
	}
}

func contains(list []string, name string) bool {
	for _, item := range list {
		if item == name {
			return true
		}
	}
	return false
}

// docsOf is the passage of docs/integrating.md about the fields.
func docsOf(how handling) string {
	var b strings.Builder
	before := ""
	for _, f := range fields {
		if f.how != how {
			continue
		}
		parent, name := "", f.path
		if i := strings.LastIndexByte(f.path, '.'); i >= 0 {
			parent, name = f.path[:i], f.path[i+1:]
		}
		switch {
		case b.Len() == 0 && parent == "":
			b.WriteString("`" + name + "`")
		case parent == before:
			b.WriteString(", `" + name + "`")
		case b.Len() == 0:
			b.WriteString("of `" + parent + "` `" + name + "`")
		default:
			b.WriteString("; of `" + parent + "` `" + name + "`")
		}
		before = parent
	}
	return b.String()
}

func TestDocumentsListTheRestrictingFields(t *testing.T) {
	raw, err := os.ReadFile("../../docs/integrating.md")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(raw)), " ")
	for _, how := range []handling{compared, refused, met} {
		require.Contains(t, text, docsOf(how))
	}
}

// trial sets a field to values. Of the outcomes of a request the first is that of a met field, the
// second that of an unmet one.
type trial struct {
	met, unmet []string // JSON
	outcomes   [2]string
	lax        bool   // unreadable values are met: the field has a default, or is no restriction then
	with       string // members of the object with the field, "member":value,
	elsewhere  string // the test that tries the field
}

const (
	aBid      = "bid"
	noBid     = "no bid"
	forgotten = "bid without memory"
	skippable = "bid with a skip button"
)

var (
	bidOrNone   = [2]string{aBid, noBid}
	remembering = [2]string{aBid, forgotten}
	skipping    = [2]string{skippable, aBid}
)

var trials = map[string]trial{
	"wseat": {
		met:   []string{`["x","adnet"]`, `"adnet"`, `"x, adnet"`, `[5," adnet "]`, `[]`, `null`},
		unmet: []string{`["x"]`, `123`, `[123]`, `{}`, `[""]`},
	},
	"bseat": {met: []string{`["x"]`, `5`, `""`, `[""]`}, unmet: []string{`["x","adnet"]`, `"x,adnet"`, `{}`, `true`}},
	"cur": {
		met:   []string{`["EUR","usd"]`, `"EUR,USD"`, `840`, `["840"]`, `[null,"USD"]`},
		unmet: []string{`["EUR"]`, `978`, `["978"]`, `"EUR"`},
	},
	"wlang": {
		met:   []string{`["en"]`, `"fr,EN"`, `["eng"]`, `["en-US"]`, `[]`},
		unmet: []string{`["fr"]`, `7`, `["none"]`, `[""]`},
	},
	"wlangb": {met: []string{`["en"]`, `["EN"]`, `"fr en"`}, unmet: []string{`["en-GB"]`, `["e"]`}},
	"bcat": {
		met:   []string{`["IAB25"]`, `"IAB1,IAB2"`, `["BSW1"]`, `[""]`, `[]`},
		unmet: []string{`["IAB19"]`, `"IAB1, IAB19"`, `[" iab19 "]`, `[19]`, `["19"]`, `"IAB1;IAB19-1 IAB19"`},
	},
	"acat":   {met: []string{`["IAB19"]`, `"IAB1|IAB19"`, `null`}, unmet: []string{`["IAB1"]`, `[1]`, `[150]`, `"19"`}},
	"cattax": {with: `"bcat":["IAB25"],`, met: []string{`1`, `"1"`, `1.0`, `null`}, unmet: []string{`6`, `"x"`, `1.5`}},
	"badv": {
		met: []string{
			`["other.example"]`, `["notshop.example"]`, `["shop.example.org"]`, `["","n/a"]`, `"shop"`,
		},
		unmet: []string{
			`["shop.example"]`, `"*.shop.example"`, `["a.example, www.shop.example:443"]`,
			`["//SHOP.example./x?y#z"]`, `[".shop.example"]`, `"a.example;shop.example"`, `["*"]`, `["shop.*"]`,
			`[5]`, `true`, `"a.example\nshop.example"`,
		},
	},
	"bapp": {
		met: []string{`["com.other"]`, `"id99"`, `[]`},
		unmet: []string{
			`["com.shop.app"]`, `"COM.SHOP.APP"`, `"com.other,com.shop.app"`,
			`["https://play.google.com/store/apps/details?id=com.shop.app&hl=de"]`,
		},
	},
	"tmax": {elsewhere: "TestTMax", lax: true},
	"test": {
		met:      []string{`0`, `false`, `"0"`, `null`},
		unmet:    []string{`1`, `"true"`, `"yes"`, `2`},
		outcomes: [2]string{aBid, "sandbox"},
	},

	"regs.coppa": {
		met:   []string{`0`, `false`, `null`},
		unmet: []string{`1`, `"1"`, `"true"`, `"yes"`, `[1]`, `2`},
	},
	"regs.gdpr": {
		met:      []string{`0`, `"false"`, `null`, `" 0 "`},
		unmet:    []string{`1`, `"true"`, `[1]`, `0.5`},
		outcomes: remembering,
	},
	"regs.us_privacy": {
		met:      []string{`"1YNN"`, `" 1YNN "`, `null`, `""`},
		unmet:    []string{`"1YYN"`, `1`, `"x"`},
		outcomes: remembering,
	},
	"regs.gpp": {
		met:      []string{`"DBABTA~1YNN"`, `null`},
		unmet:    []string{`"DBABTA~1YYN"`, `1`},
		outcomes: remembering,
	},
	"regs.gpp_sid": {with: `"gpp":"DBABTA~1YYN",`, met: []string{`[2]`, `"2"`, `2`, `["2,7"]`}, unmet: []string{
		`[6]`, `"6"`, `6`, `"2,6"`, `[2,"x"]`, `[]`,
	}, outcomes: remembering},
	"regs.ext.gpc": {met: []string{`0`, `"0"`}, unmet: []string{`1`, `"1"`, `"yes"`, `[1]`}, outcomes: remembering},
	"regs.ext.dsa.dsarequired": {met: []string{`0`, `1`, `"1"`, `null`}, unmet: []string{
		`2`, `3`, `"2"`, `4`, `1.5`, `"yes"`, `-1`,
	}},
	"user.consent": {met: []string{`null`, `""`}, unmet: []string{`"x"`, `7`}, outcomes: remembering},
	"user.yob":     {met: []string{`1990`, `"1990"`, `null`}, unmet: []string{`2020`, `"x"`}},
	"device.lmt": {
		met:      []string{`0`, `false`, `"0"`},
		unmet:    []string{`1`, `"true"`, `"yes"`, `[1]`, `2`},
		outcomes: remembering,
	},
	"device.dnt": {met: []string{`0`, `null`}, unmet: []string{`1`, `"1"`, `-1`}, outcomes: remembering},

	"imp.bidfloor": {met: []string{`5`, `"5"`, `null`, `" 0.5 "`}, unmet: []string{`5.01`, `"6"`, `"x"`, `true`}},
	"imp.bidfloorcur": {
		with:  `"bidfloor":1,`,
		met:   []string{`"USD"`, `" usd "`, `null`, `840`},
		unmet: []string{`"EUR"`, `978`},
	},
	"imp.secure": {
		met:   []string{`0`, `false`, `null`},
		unmet: []string{`1`, `"1"`, `"true"`, `"yes"`, `[1]`, `2`},
	},
	"imp.dt": {met: []string{`1`, `"0"`, `null`}, unmet: []string{`9e15`, `"9000000000000"`, `"soon"`}},
	"imp.qty.multiplier": {
		met:   []string{`1`, `"1.0"`, `1e0`, `null`},
		unmet: []string{`14.2`, `"3"`, `0`, `0.5`, `"many"`, `-1`},
	},
	"imp.ext.qty.multiplier": {met: []string{`1`, `"1"`, `null`}, unmet: []string{`14.2`, `"3"`, `0`, `"many"`}},
	"imp.audio":              {elsewhere: "TestTables", lax: true},

	"imp.pmp.private_auction": {
		met:   []string{`0`, `"false"`, `null`},
		unmet: []string{`1`, `"1"`, `"true"`, `"yes"`, `[1]`, `2`},
	},
	"imp.pmp.deals.at": {
		with:  `"bidfloor":1,`,
		met:   []string{`1`, `2`, `"3"`, `3.0`},
		unmet: []string{`"third"`, `1.5`},
	},
	"imp.pmp.deals.bidfloor":    {met: []string{`4`, `"4"`}, unmet: []string{`4.5`, `"x"`}},
	"imp.pmp.deals.bidfloorcur": {with: `"bidfloor":1,`, met: []string{`"usd"`}, unmet: []string{`"EUR"`, `978`}},
	"imp.pmp.deals.wseat": {
		met:   []string{`["adnet"]`, `"adnet"`, `[77,"adnet"]`, `[]`},
		unmet: []string{`[77]`, `"x"`},
	},
	"imp.pmp.deals.wadomain": {
		met:   []string{`["www.shop.example"]`, `"https://shop.example/x"`, `"a.example, *.shop.example"`},
		unmet: []string{`[5]`, `["hop.example"]`, `["*"]`},
	},
	"imp.pmp.deals.mincpmpersec": {
		with:  `"mtype":[1],`,
		met:   []string{`9`},
		unmet: nil,
		lax:   true,
	}, // of videos: see TestDealsOfVideos
	"imp.pmp.deals.durfloors": {elsewhere: "TestDealsOfVideos", lax: true},
	"imp.pmp.deals.mtype":     {met: []string{`[1,2]`, `1`, `"2,1"`}, unmet: []string{`2`, `[2]`, `"4"`, `["x"]`}},
	"imp.banner.w": {
		with:  `"h":250,`,
		met:   []string{`300`, `"300"`, `411.4`, `20`},
		unmet: []string{`1`, `19`, `7`, `0`, `-300`, `1e9`, `"wide"`},
	},
	"imp.banner.h": {
		with:  `"w":300,`,
		met:   []string{`50`, `"250"`, `20`},
		unmet: []string{`1`, `19.9`, `20000`},
	},
	"imp.banner.format": {
		met: []string{`[{"w":1,"h":1},{"w":300,"h":250}]`, `{"w":728,"h":90}`, `[null,{"w":"120","h":"20"}]`, `[]`},
		unmet: []string{
			`[{"w":1,"h":1}]`, `[{"w":40,"h":40}]`, `[{"w":4000,"h":1}]`, `[{"wratio":2,"hratio":1}]`, `"300x250"`,
			`[{}]`, `[{"w":19,"h":300}]`,
		},
	},
	"imp.banner.wmin": {met: []string{`300`, `null`}, unmet: []string{`301`}},
	"imp.banner.wmax": {met: []string{`300`}, unmet: []string{`299`, `"299"`}},
	"imp.banner.hmin": {met: []string{`250`}, unmet: []string{`251`}},
	"imp.banner.hmax": {met: []string{`250`}, unmet: []string{`249`}},
	"imp.banner.btype": {
		met:   []string{`[1,3,4]`, `"4"`, `3`, `[]`},
		unmet: []string{`[2]`, `2`, `"1,2"`, `["x"]`},
	},
	"imp.banner.battr": {met: []string{`[1,3,16]`, `12`, `"12"`, `[]`}, unmet: []string{`["x"]`, `[{}]`}},
	"imp.banner.mimes": {
		met: []string{
			`["text/html"]`, `"image/png"`, `["image/gif, image/png"]`, `["*/*"]`, `["TEXT/HTML; charset=utf-8"]`,
		},
		unmet: []string{`["application/x-shockwave-flash"]`, `5`, `["video/mp4"]`},
	},
	"imp.native.request": {elsewhere: "TestNativeAgainstTheOfficialTypes", lax: true},
	"imp.native.battr":   {met: []string{`[13]`, `12`}, unmet: []string{`["x"]`}},
	"imp.video.w": {
		with:  `"h":360,`,
		met:   []string{`640`, `"640"`},
		unmet: []string{`1`, `5`, `0`, `"x"`},
	},
	"imp.video.h": {with: `"w":640,`, met: []string{`360`}, unmet: []string{`1`, `2e4`}},
	"imp.video.mimes": {
		met:   []string{`["video/mp4"]`, `"video/webm, video/mp4"`, `["video/mp4;codecs=avc1"]`, `[]`},
		unmet: []string{`["video/webm"]`, `5`, `[7]`, `[""]`},
	},
	"imp.video.minduration": {
		met:   []string{`5`, `"15"`, `0`, `null`},
		unmet: []string{`16`, `"16"`, `15.5`, `"x"`},
	},
	"imp.video.maxduration": {met: []string{`15`, `"30"`, `0`, `null`}, unmet: []string{`14`, `"10"`, `-1`}},
	"imp.video.rqddurs": {
		met:   []string{`[15]`, `15`, `"6, 15"`, `["15"]`, `[]`},
		unmet: []string{`[6,30]`, `30`, `"6,30"`, `["x"]`},
	},
	"imp.video.durfloors": {
		met:   []string{`[{"mindur":16,"bidfloor":900}]`, `[]`, `{"mindur":1,"maxdur":15,"bidfloor":1}`},
		unmet: []string{`[{"bidfloor":900}]`, `{"bidfloor":900}`, `[{"mindur":"x","bidfloor":1}]`, `[7]`, `"x"`},
		lax:   true,
	},
	"imp.video.mincpmpersec": {met: []string{`0.1`, `"0.4"`}, unmet: []string{`0.41`, `"x"`, `9`}},
	"imp.video.protocols": {
		met:   []string{`[3]`, `3`, `"7,14"`, `["7"]`, `[]`},
		unmet: []string{`[1]`, `"9"`, `["x"]`, `[""]`},
	},
	"imp.video.protocol":  {met: []string{`3`, `"3"`}, unmet: []string{`1`}},
	"imp.video.linearity": {met: []string{`1`, `"1"`, `null`}, unmet: []string{`2`, `"2"`, `"x"`}},
	"imp.video.skip": {
		met:      []string{`1`, `"true"`, `null`},
		unmet:    []string{`0`, `"0"`, `"no"`, `2`},
		outcomes: skipping,
	},
	"imp.video.skipmin":       {met: []string{`14`, `0`}, unmet: []string{`15`, `"30"`}, outcomes: skipping},
	"imp.video.skipafter":     {met: []string{`5`, `14`}, unmet: []string{`15`, `"99"`}, outcomes: skipping},
	"imp.video.battr":         {met: []string{`[1,13]`, `[]`}, unmet: []string{`["x"]`}},
	"imp.video.delivery":      {met: []string{`[2]`, `"1,2"`, `3`}, unmet: []string{`[1]`, `1`, `"x"`}},
	"imp.video.minbitrate":    {met: []string{`300`, `"1000"`}, unmet: []string{`1001`, `"x"`}},
	"imp.video.maxbitrate":    {met: []string{`1500`, `1000`}, unmet: []string{`999`, `"500"`}},
	"imp.video.boxingallowed": {met: []string{`1`, `"1"`, `true`, `null`}, unmet: []string{`0`, `"0"`, `2`}},
	"imp.video.poddur":        {met: []string{`15`, `"60"`}, unmet: []string{`10`, `"14"`, `0`}},
	"imp.video.maxseq":        {met: []string{`1`, `"2"`}, unmet: []string{`0`}},
	"imp.video.podid":         {met: []string{`"p"`, `7`}, unmet: []string{`[5]`}},
	"imp.video.poddedupe":     {elsewhere: "TestOneBidOfAPodWithoutRepeats", lax: true},
}

// tried returns a request with a field set to a value, and the campaigns that may fill it.
func (tr trial) tried(path, value string) (body string, shelf []campaign.Campaign) {
	return tr.broken(path, value, "", "%s")
}

// broken is tried with the object at a path written in another form.
func (tr trial) broken(path, value, broken, form string) (body string, shelf []campaign.Campaign) {
	written := func(at, object string) string {
		if at == broken {
			return formed(form, object)
		}
		return object
	}
	names := strings.Split(path, ".")
	inner := tr.with + `"` + names[len(names)-1] + `":` + value
	for i := len(names) - 2; i >= 0; i-- {
		switch outer := strings.Join(names[:i+1], "."); outer {
		case "imp.pmp.deals":
			inner = `"private_auction":1,"deals":[` + written(outer, `{"id":"fixed",`+inner+`}`) + `]`
		case "imp":
			inner = `"imp":[{"id":"1","banner":{},` + inner + `}]`
			if kind := names[1]; kind == "video" || kind == "native" || kind == "banner" {
				inner = strings.Replace(inner, `"banner":{},`, "", 1)
			}
		case "imp.native":
			inner = `"native":` +
				written(outer, `{"request":{"assets":[{"id":1,"required":1,"title":{"len":90}}]},`+inner+`}`)
		default:
			inner = `"` + names[i] + `":` + written(outer, `{`+inner+`}`)
		}
	}
	if names[0] != "imp" {
		inner = `"imp":[{"id":"1","banner":{}}],` + inner
	}
	list := shelfOf("image", "native", "video")
	switch {
	case strings.HasPrefix(path, "imp.video"):
		list = list[2:]
	case strings.HasPrefix(path, "imp.native"):
		list = list[1:2]
	case strings.HasPrefix(path, "imp.pmp.deals"):
		list = shelfOf("deal")
	}
	for i := range list {
		switch path {
		case "bcat", "acat", "cattax":
			list[i].Categories = []string{"IAB19"}
		case "bapp":
			list[i].CTAURL = "https://play.google.com/store/apps/details?id=com.shop.app"
		case "wlang", "wlangb":
			list[i].Languages = []string{"en"}
		}
	}
	if path == "wlang" || path == "wlangb" {
		inner += `,"device":{"language":"en"}`
	}
	return `{"id":"r",` + inner + `}`, list
}

// outcome is what became of a request.
func (f *fixture) outcome(body string) string {
	f.T.Helper()
	f.Log.Auctions = nil
	w := f.send([]byte(body))
	if w.Code == 204 || w.Code == 400 && strings.Contains(w.Body.String(), "an imp must offer") {
		return noBid
	}
	require.Equal(f.T, 200, w.Code, "%s\n%s", body, w.Body)
	reply := strict(f.T, w.Body.Bytes())
	if len(reply.SeatBid) == 0 {
		return noBid
	}
	sold := f.Log.Auctions[len(f.Log.Auctions)-1]
	switch b := reply.SeatBid[0].Bid[0]; {
	case sold.Sandbox:
		return "sandbox"
	case consent.Flags(sold.Consent).Refused():
		return forgotten
	case strings.Contains(b.AdM, "skipoffset"):
		return skippable
	}
	return aBid
}

// Each restricting field is met, unmet or unreadable in every form of a value. An unreadable one
// counts as not met.
func TestRestrictingFieldsAreObeyed(t *testing.T) {
	for _, restricting := range fields {
		tr := trials[restricting.path]
		if restricting.how == met {
			tr = trial{met: []string{`1`, `[1]`, `"x"`, `{}`, `null`}, lax: true}
		} else {
			require.True(t, tr.elsewhere != "" || len(tr.met) > 0 && (tr.lax || len(tr.unmet) > 0), restricting.path)
		}
		if tr.outcomes == [2]string{} {
			tr.outcomes = bidOrNone
		}
		unmet := tr.unmet
		if !tr.lax {
			unmet = append([]string{`{"x":1}`, `[{}]`, `[["x"]]`}, unmet...)
		}
		t.Run(restricting.path, func(t *testing.T) {
			base := "https://ads.example"
			if restricting.path == "imp.secure" {
				base = "http://127.0.0.1:8080"
			}
			f := newFixtureOf(t, defaults(), base)
			for i, values := range [2][]string{tr.met, unmet} {
				for _, value := range values {
					require.True(t, stdjson.Valid([]byte(value)), value)
					body, shelf := tr.tried(restricting.path, value)
					f.Shelf.Put(shelf...)
					want := tr.outcomes[i]
					if strings.HasPrefix(restricting.path, "imp.video") && want == aBid && i == 0 {
						want = skippable
					}
					require.Equal(t, want, f.outcome(body), body)
				}
			}
		})
	}
}

// formed writes an object in a form: its text for %s, or its text in a string for %q.
func formed(form, object string) string {
	quoted, _ := stdjson.Marshal(object)
	return strings.NewReplacer("%s", object, "%q", string(quoted)).Replace(form)
}

// unreadableForms are values in place of an object.
var unreadableForms = []string{`[%s]`, `[[%s]]`, `%q`, `"x"`, `5`, `0`, `true`, `false`, `[null]`}

// A restriction in an object of another kind is unknown, so it counts as not met, even if a reader
// could guess that it is met.
func TestRestrictionsInUnreadableObjectsAreNotMet(t *testing.T) {
	tried := 0
	for _, restricting := range fields {
		tr := trials[restricting.path]
		if restricting.how == met || len(tr.met) == 0 {
			continue
		}
		names := strings.Split(restricting.path, ".")
		for i := 1; i < len(names); i++ {
			at := strings.Join(names[:i], ".")
			if at == "imp" { // without an imp the request is malformed
				continue
			}
			want := noBid
			if at == "device" { // its restrictions forbid memory only
				want = forgotten
			}
			t.Run(restricting.path+" in "+at, func(t *testing.T) {
				f := newFixture(t)
				for _, form := range unreadableForms {
					if at == "imp.pmp.deals" && form == `[%s]` {
						continue
					}
					body, shelf := tr.broken(restricting.path, tr.met[0], at, form)
					require.True(t, stdjson.Valid([]byte(body)), body)
					f.Shelf.Put(shelf...)
					require.Equal(t, want, f.outcome(body), body)
					tried++
				}
			})
		}
	}
	require.Greater(t, tried, 300)
}

// The objects below have no field in the table, but may have a category, a rating, a flag or a
// consent that restricts bids.
func TestStatementsInUnreadableObjectsRefuse(t *testing.T) {
	f := newFixture(t)
	for path, want := range map[string]string{
		"site": noBid, "app": noBid, "dooh": noBid, "site.content": noBid, "app.content": noBid,
		"dooh.content": noBid, "site.publisher": noBid, "site.content.producer": noBid, "ext": noBid,
		"ext.suitability": noBid, "imp.ext": noBid, "imp.ext.qty": noBid, "imp.qty": noBid,
		"imp.ext.suitability": noBid,
		"imp.pmp":             noBid, "user.ext": forgotten, "regs.dsa": noBid,
	} {
		body := func(value string) string {
			names := strings.Split(path, ".")
			for i := len(names) - 1; i >= 0; i-- {
				if names[i] == "imp" {
					return `{"id":"r","imp":[{"id":"1","banner":{},` + value[1:] + `]}`
				}
				value = `{"` + names[i] + `":` + value + `}`
			}
			return `{"id":"r","imp":[{"id":"1","banner":{}}],` + value[1:]
		}
		for _, value := range []string{`null`, `[]`, `[ ]`, `{}`} {
			require.Equal(t, aBid, f.outcome(body(value)), body(value))
		}
		for _, form := range unreadableForms {
			if form = formed(form, `0`); path == "ext.suitability" || path == "imp.ext.suitability" {
				form = strings.ReplaceAll(form, `"0"`, `"{"`)
			}
			require.Equal(t, want, f.outcome(body(form)), body(form))
		}
	}
	for _, members := range []string{
		`"site":{"cat":{"0":"IAB25"}}`, `"site":{"cat":[["IAB25"]]}`, `"app":{"pagecat":[true]}`,
		`"site":{"cattax":"x","cat":["5"]}`, `"site":{"content":{"qagmediarating":"mature"}}`,
		`"site":{"content":{"contentrating":["R"]}}`, `"dooh":{"content":{"producer":{"cat":[{}]}}}`,
	} {
		require.Equal(t, noBid, f.outcome(`{"id":"r","imp":[{"id":"1","banner":{}}],`+members+`}`), members)
	}
	for _, members := range []string{
		`"site":{"cat":["IAB1",7,null],"cattax":"1"}`, `"site":{"content":{"contentrating":12,"qagmediarating":"1"}}`,
		`"app":{"cat":"IAB1, IAB2","content":{"contentrating":[],"producer":{}}}`,
	} {
		require.Equal(t, aBid, f.outcome(`{"id":"r","imp":[{"id":"1","banner":{}}],`+members+`}`), members)
	}
}

// A bid in a limited language states it.
func TestLimitedLanguageIsStated(t *testing.T) {
	f := newFixture(t)
	k := shelfOf("image")[0]
	k.Languages = []string{"pt-BR", "pt"}
	f.Shelf.Put(k)
	const speaks = `"device":{"language":"pt"},"imp":[{"id":"1","banner":{}}]`
	require.Equal(t, "pt", f.bids(`{"id":"r","wlang":["por"],` + speaks + `}`)[0].Language)
	b := f.bids(`{"id":"r","wlangb":["pt"],` + speaks + `}`)[0]
	require.Equal(t, "pt", b.LangB)
	require.Empty(t, b.Language)
	require.Equal(t, "language", f.none(`{"id":"r","wlangb":["pt-BR"],`+speaks+`}`), "one of both may be shown")
	k.Languages = []string{"pt", "es"}
	f.Shelf.Put(k)
	require.Equal(t, "language", f.none(`{"id":"r","wlang":["pt","es"],`+speaks+`}`), "its language is unknown")
	k.Languages = nil
	f.Shelf.Put(k)
	require.Equal(t, "language", f.none(`{"id":"r","wlang":["pt"],`+speaks+`}`), "its language is unknown")
	require.Empty(t, f.bids(`{"id":"r",` + speaks + `}`)[0].Language)
}

// Some encoders begin a text with a byte order mark.
func TestNativeRequestMayBeginWithAByteOrderMark(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("native")...)
	const assets = `{\"assets\":[{\"id\":1,\"required\":1,\"title\":{\"len\":90}}]}`
	for begin, want := range map[string]string{
		"": aBid, "\uFEFF": aBid, `\ufeff`: aBid, `\uFEFF\n `: aBid, "x": noBid, "\uFEFF\uFEFF": noBid,
	} {
		body := `{"id":"r","imp":[{"id":"1","native":{"request":"` + begin + assets + `"}}]}`
		require.Equal(t, want, f.outcome(body), body)
	}
}

func TestOneBidOfAPodWithoutRepeats(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("video")...)
	imp := func(id, members string) string { return `{"id":"` + id + `","video":{` + members + `}}` }
	for imps, bids := range map[string]int{
		imp("1", `"podid":"p","poddedupe":[3]`) + "," + imp("2", `"podid":"p","poddedupe":[3]`):               1,
		imp("1", `"podid":"p"`) + "," + imp("2", `"podid":"p","poddedupe":"3"`):                               1,
		imp("1", `"podid":7,"poddedupe":{}`) + "," + imp("2", `"podid":"7"`):                                  1,
		imp("1", `"podid":"p","poddedupe":[3]`) + "," + imp("2", `"podid":"q","poddedupe":[3]`):               2,
		imp("1", `"podid":"p"`) + "," + imp("2", `"podid":"p"`):                                               2,
		imp("1", `"poddedupe":[3]`) + "," + imp("2", `"poddedupe":[3]`):                                       2,
		imp("1", `"podid":"p","poddedupe":[]`) + "," + imp("2", `"podid":"p","poddedupe":null`):               2,
		imp("1", `"podid":"p","poddedupe":[1],"linearity":2`) + "," + imp("2", `"podid":"p","poddedupe":[1]`): 1,
	} {
		require.Len(t, f.bids(`{"id":"r","imp":[`+imps+`]}`), bids, imps)
	}
}

// The floors of a deal for videos: our videos have 15 s.
func TestDealsOfVideos(t *testing.T) {
	f := newFixture(t)
	k := shelfOf("dealvideo")[0] // 10 USD
	f.Shelf.Put(k)
	for terms, bids := range map[string]bool{
		`"bidfloor":1`:                                           true,
		`"bidfloor":1,"mincpmpersec":0.5`:                        true,
		`"bidfloor":1,"mincpmpersec":"0.7"`:                      false,
		`"bidfloor":1,"mincpmpersec":"x"`:                        false,
		`"bidfloor":1,"durfloors":[{"mindur":10,"bidfloor":11}]`: false,
		`"bidfloor":11,"durfloors":{"mindur":10,"bidfloor":9}`:   true,
		`"bidfloor":1,"durfloors":[{"mindur":16,"bidfloor":11}]`: true,
		`"bidfloor":1,"durfloors":"x"`:                           false,
		`"bidfloor":1,"durfloors":[5]`:                           false,
	} {
		require.Equal(t, map[bool]string{true: skippable, false: noBid}[bids], f.outcome(
			`{"id":"r","imp":[{"id":"1","video":{},"pmp":{"private_auction":1,"deals":[{"id":"video",`+terms+`}]}}]}`,
		), terms)
	}
}
