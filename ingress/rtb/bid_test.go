package rtb

import (
	"bytes"
	"compress/gzip"
	stdjson "encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	nativerequest "github.com/prebid/openrtb/v20/native1/request"
	nativeresponse "github.com/prebid/openrtb/v20/native1/response"
	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/testenv"
	"adnet/internal/token"
	"adnet/internal/traffic/recent"
	"adnet/schemas/event"
)

const simple = `{"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250}}]}`

func with(member string) string { return strings.Replace(simple, "{", "{"+member+",", 1) }

var impressionToken = regexp.MustCompile(`auction_id=([A-Za-z0-9_-]+)`)

func (f *fixture) adToken(adm string) token.Auction {
	f.T.Helper()
	found := impressionToken.FindStringSubmatch(adm)
	require.NotNil(f.T, found, adm)
	a, err := f.Ring.Verify(token.PurposeImpression.Only(), found[1], f.Now)
	require.NoError(f.T, err)
	_, err = f.Ring.Verify(token.ForNotice, found[1], f.Now)
	require.ErrorIs(f.T, err, token.ErrSignature)
	return a
}

var noticeToken = regexp.MustCompile(`[&?]t=([A-Za-z0-9_-]+)&`)

func (f *fixture) bidToken(link string) token.Auction {
	f.T.Helper()
	found := noticeToken.FindStringSubmatch(link)
	require.NotNil(f.T, found, link)
	a, err := f.Ring.Verify(token.ForNotice, found[1], f.Now)
	require.NoError(f.T, err)
	_, err = f.Ring.Verify(token.PurposeImpression.Only(), found[1], f.Now)
	require.ErrorIs(f.T, err, token.ErrSignature)
	return a
}

func TestBidIsSigned(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("credit")...)
	b := f.bids(
		`{"id":"r","imp":[{"id":"1","tagid":"app","banner":{"w":320,"h":50}}],"device":{"language":"en","geo":{"country":"USA","region":"CA"}}}`,
	)[0]
	want := token.Auction{
		CampaignID: shelfOf("credit")[0].ID, AdvertiserID: advertiserID, DeveloperID: developerID,
		Price: 5 * money.USD / 1000, BillingModel: "cpm",
		Format: "image", IntegrationMethod: "openrtb", Region: "US-CA", Language: "en", HostApp: "app",
		CreditFunded: true,
	}
	ad := f.adToken(b.AdM)
	want.AuctionID = ad.AuctionID
	require.Equal(t, want, ad)
	require.Equal(t, b.ID, ad.AuctionID.String())
	// The notices know the price of 1,000 impressions that was bid.
	for _, link := range []string{b.NURL, b.BURL, b.LURL} {
		auction := f.bidToken(link)
		require.Equal(t, 5*money.USD, auction.Price)
		require.Equal(t, ad.AuctionID, auction.AuctionID)
		require.Equal(t, developerID, auction.DeveloperID)
	}
	require.InDelta(t, 5.0, b.Price, 1e-12)
	require.Equal(t, b.CrID, want.CampaignID.String())
	require.Equal(t, b.CID, advertiserID.String())
	require.Equal(t, int64(3600), b.Exp)

	require.Len(t, f.Log.Auctions, 1)
	logged := f.Log.Auctions[0]
	require.Equal(t, ad.AuctionID[:], logged.AuctionId)
	require.Equal(t, int64(5*money.USD), logged.EcpmMicros)
	require.Equal(t, int64(5000), logged.PriceMicros, "what was bid on the wire")
	require.Equal(t, "openrtb", logged.Placement.IntegrationMethod)
	require.Equal(t, "banner", logged.Placement.Format)
	require.Equal(t, "image", logged.CreativeFormat)
	require.False(t, logged.Sandbox)
	require.Len(t, logged.Candidates, 1)
}

// Never above the stated cpm bid, whatever the signals are.
func TestPriceNeverAboveTheBid(t *testing.T) {
	f := newFixture(t)
	for name, k := range catalogue() {
		if k.BillingModel != campaign.CPM || k.Format != campaign.Image {
			continue
		}
		f.Shelf.Put(k)
		w := f.send([]byte(`{"id":"r","imp":[{"id":"1","banner":{},"tagid":"claude-desktop"}],"device":{"language":"en","geo":{"country":"USA","region":"CA"}},` +
			`"site":{"keywords":"postgres backup restore"}}`))
		if w.Code == http.StatusNoContent { // postgres wants a tool
			require.Equal(t, "postgres", name)
			continue
		}
		price := strict(t, w.Body.Bytes()).SeatBid[0].Bid[0].Price
		require.LessOrEqual(t, money.Micros(price*1e6), k.BidAmount, name)
	}
}

func TestTestRequestsAreSandbox(t *testing.T) {
	f := newFixture(t)
	for _, member := range []string{`"test":1`, `"test":true`, `"test":"1"`} {
		b := f.bids(with(member))[0]
		require.True(t, f.adToken(b.AdM).Sandbox, member)
		require.True(t, f.bidToken(b.NURL).Sandbox, member)
	}
	require.True(t, f.Log.Auctions[0].Sandbox)
	require.False(t, f.adToken(f.bids(with(`"test":0`))[0].AdM).Sandbox)
}

func TestAuthorization(t *testing.T) {
	f := newFixture(t)
	for name, tc := range map[string]struct{ header, code string }{
		"none":      {"", "missing_authorization"},
		"basic":     {"Basic abc", "missing_authorization"},
		"unknown":   {"Bearer seat_live_000000000000000000000000000000abcdef", "invalid_token"},
		"publisher": {"Bearer " + f.Key(account.KindPublisher), "invalid_token"},
		"sandbox":   {"Bearer " + account.PublicSandboxKey, "invalid_token"},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.send([]byte(simple), "Authorization", tc.header)
			require.Equal(t, http.StatusUnauthorized, w.Code)
			var e struct{ Error, Code string }
			known(t, w.Body.Bytes(), &e)
			require.Equal(t, tc.code, e.Code)
		})
	}
}

func TestTMax(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("image", "rival")...) // one for each imp
	took := time.Duration(0)
	f.Shelf.Check = func(*auction.Campaign) auction.Reason {
		f.Now = f.Now.Add(took)
		return ""
	}
	two := `{"id":"r","tmax":%s,"imp":[{"id":"1","banner":{}},{"id":"2","banner":{}}],"ext":{"debug":1}}`
	for _, tc := range []struct {
		tmax  string
		took  time.Duration
		bids  int
		reply int64
	}{
		{"100", 40 * time.Millisecond, 2, 100}, {"100", 50 * time.Millisecond, 0, 100}, {"100", time.Second, 0, 100},
		{"0", 90 * time.Millisecond, 2, 200}, {"-5", 100 * time.Millisecond, 0, 200}, {`"x"`, 0, 2, 200},
		{"200.5", 0, 2, 200},
		{"1e300", time.Second, 2, 60_000}, {"null", 0, 2, 200},
	} {
		took = tc.took
		w := f.send(fmt.Appendf(nil, two, tc.tmax))
		require.Equal(t, http.StatusOK, w.Code)
		r := strict(t, w.Body.Bytes())
		bids := 0
		for _, seat := range r.SeatBid {
			bids += len(seat.Bid)
		}
		require.Equal(t, tc.bids, bids, tc)
		if bids == 0 {
			require.Equal(t, int64(15), int64(r.NBR.Val()))
		}
		var ext struct {
			TMax       int64
			Processing float64 `json:"processing_ms"`
		}
		require.NoError(t, stdjson.Unmarshal(r.Ext, &ext))
		require.Equal(t, tc.reply, ext.TMax)
		require.Positive(t, 1+ext.Processing)
	}
	took = time.Second
	require.Equal(t, http.StatusNoContent, f.send([]byte(simple)).Code)
}

func TestNoBidReasons(t *testing.T) {
	f := newFixture(t)
	require.Equal(t, "private_auction", f.none(`{"id":"r","imp":[{"id":"1","banner":{},"pmp":{"private_auction":1}}]}`))
	require.Equal(t, "below_floor", f.none(`{"id":"r","imp":[{"id":"1","banner":{},"bidfloor":1e400}]}`))
	require.Equal(t, "currency", f.none(with(`"cur":["EUR","GBP"]`)))
	require.Equal(t, "currency", f.none(`{"id":"r","imp":[{"id":"1","banner":{},"bidfloor":1,"bidfloorcur":"JPY"}]}`))
	require.Equal(t, "unsupported_format", f.none(`{"id":"r","imp":[{"id":"1","audio":{}}]}`))
	require.Equal(t, "unsupported_format", f.none(`{"id":"r","imp":[{"id":"1","banner":{"btype":[1,2]}}]}`))
	require.Equal(
		t, "creative_mismatch",
		f.none(
			`{"id":"r","imp":[{"id":"1","native":{"request":"{\"assets\":[{\"id\":1,\"required\":1,\"title\":{\"len\":3}}]}"}}]}`,
		),
	)
	require.Equal(t, "seat_blocked", f.none(with(`"wseat":["x"]`)))
	require.Equal(t, "category", f.none(with(`"acat":["IAB1"]`)))
	require.Equal(t, "blocked", f.none(with(`"badv":["shop.example"]`)))
	f.Shelf.Check = func(*auction.Campaign) auction.Reason { return auction.Budget }
	require.Equal(t, "budget", f.none(simple))
	f.Shelf.Check = nil
	f.Shelf.Put()
	require.Equal(t, "no_campaigns", f.none(simple))
	f.Shelf.Put(shelfOf("image")...)
	f.Shelf.Campaigns = nil
	require.Equal(t, "no_match", f.none(simple), "the campaign is gone since the snapshot was taken")
	f.Shelf.Put(shelfOf("image")...)
	f.Recording = false
	require.Equal(t, "stale", f.none(simple), "what cannot be recorded is not created")
	f.Recording, f.Shelf.Stale = true, true
	require.Equal(t, "stale", f.none(simple))
}

// The best candidate that fits wins, even if a better one does not fit.
func TestNextBestWins(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("video", "image", "text", "tiny")...)
	request := func(assets string) string {
		text, err := stdjson.Marshal(`{"assets":[` + assets + `]}`)
		require.NoError(t, err)
		return `{"id":"r","imp":[{"id":"1","native":{"request":` + string(text) + `}}]}`
	}
	require.Equal(t, shelfOf("image")[0].ID.String(), f.bids(request(`{"id":1,"required":1,"title":{}}`))[0].CrID)
	f.Shelf.Check = func(c *auction.Campaign) auction.Reason {
		if uuid.UUID(c.ID) == shelfOf("image")[0].ID {
			return auction.Paced
		}
		return ""
	}
	require.Equal(t, shelfOf("text")[0].ID.String(), f.bids(request(`{"id":1,"required":1,"title":{}}`))[0].CrID)
	require.Equal(t, shelfOf("tiny")[0].ID.String(), f.bids(request(`{"id":1,"required":1,"img":{"type":3}}`))[0].CrID)
}

func TestManyImps(t *testing.T) {
	f := newFixture(t)
	var imps []string
	for i := range maxImps + 5 {
		imps = append(imps, fmt.Sprintf(`{"id":"%d","banner":{}}`, i))
	}
	var many []campaign.Campaign // one for each imp
	for i := range 2 * maxImps {
		k := catalogue()["image"]
		k.ID[14], k.BidAmount = byte(i+1), k.BidAmount-money.Micros(i)*1000
		many = append(many, k)
	}
	f.Shelf.Put(many...)
	w := f.send([]byte(`{"id":"r","ext":{"debug":1},"imp":[` + strings.Join(imps, ",") + `]}`))
	r := strict(t, w.Body.Bytes())
	require.Len(t, r.SeatBid, 1, "exactly one seatbid")
	require.Len(t, r.SeatBid[0].Bid, maxImps)
	require.Equal(t, 5, strings.Count(w.Body.String(), `"too_many_imps"`))
	ids := map[string]bool{}
	for i, b := range r.SeatBid[0].Bid {
		ids[b.ID] = true
		require.Equal(t, many[0].ID.String(), b.CrID, "the best takes every imp: %d", i)
	}
	require.Len(t, ids, maxImps, "every bid has an id of its own")
	require.Len(t, f.Log.Auctions, maxImps)
}

// A campaign takes as many imps as its budget allows: each has an auction, a reservation and a
// token of its own.
func TestACampaignTakesSeveralImps(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("image", "rival")...)
	three := `{"id":"r","imp":[{"id":"1","banner":{}},{"id":"2","banner":{}},{"id":"3","banner":{}}]}`
	for range 2 {
		bids := strict(t, f.send([]byte(three)).Body.Bytes()).SeatBid[0].Bid
		require.Len(t, bids, 3)
		tokens := map[string]bool{}
		for i := range bids {
			require.Equal(t, shelfOf("image")[0].ID.String(), bids[i].CrID)
			tokens[bids[i].ID] = true
		}
		require.Len(t, tokens, 3)
	}
}

// The lengths and floors of video pods (OpenRTB 2.6, 3.2.7): our videos have 15 s.
func TestVideoPods(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("video")...)
	price := f.bids(`{"id":"r","imp":[{"id":"1","video":{}}]}`)[0].Price
	for video, bids := range map[string]bool{
		`"rqddurs":[15]`: true, `"rqddurs":[6,15,30]`: true, `"rqddurs":[6,30]`: false,
		`"rqddurs":[15],"minduration":20`: true, `"minduration":20`: false,
		`"durfloors":[{"mindur":1,"maxdur":14,"bidfloor":900},{"mindur":15,"maxdur":15,"bidfloor":0.1}]`: true,
		`"durfloors":[{"mindur":10,"maxdur":20,"bidfloor":900}]`:                                         false,
		`"durfloors":[{"mindur":16,"bidfloor":900}]`:                                                     true,
		fmt.Sprintf(`"mincpmpersec":%g`, price/15):                                                       true,
		fmt.Sprintf(`"mincpmpersec":%g`, price/15+0.01):                                                  false,
		`"protocols":[1]`: false, `"protocols":[4,99]`: false, `"protocols":[99,3]`: true,
	} {
		w := f.send([]byte(`{"id":"r","imp":[{"id":"1","video":{` + video + `}}]}`))
		require.Equal(t, map[bool]int{true: 200, false: 204}[bids], w.Code, video)
	}
	// The range of the length has its own floor, not that of the imp, which stays that of a banner.
	require.Equal(
		t, 200,
		f.send([]byte(
			`{"id":"r","imp":[{"id":"1","bidfloor":900,"video":{"durfloors":[{"mindur":15,"bidfloor":0.1}]}}]}`,
		)).Code,
	)
	f.Shelf.Put(shelfOf("image")...)
	require.Equal(
		t, 204,
		f.send([]byte(
			`{"id":"r","imp":[{"id":"1","bidfloor":900,"banner":{},"video":{"durfloors":[{"mindur":15,"bidfloor":0.1}]}}]}`,
		)).Code,
	)
}

// A video with a skip button says so, since exchanges must tell.
func TestSkippableVideosHaveTheAttribute(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("video")...)
	body := func(video string) string {
		return f.send([]byte(`{"id":"r","imp":[{"id":"1","video":{` + video + `}}]}`)).Body.String()
	}
	require.Contains(t, body(``), `"attr":[16]`)
	require.NotContains(t, body(`"skip":0`), `"attr"`)
	require.NotContains(t, body(`"protocols":[2]`), `"attr"`, "VAST 2 has nothing that can be skipped")
}

// A first trial over http gets the reason for its no-bids.
func TestInsecureTrialGetsTheReason(t *testing.T) {
	f := newFixtureOf(t, defaults(), "http://127.0.0.1:8080")
	f.Shelf.Put(shelfOf("image")...)
	w := f.send([]byte(`{"id":"r","imp":[{"id":"1","secure":1,"banner":{}}]}`))
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), `"reason":"insecure"`)
	require.Contains(t, w.Body.String(), "set ADNET_BASE_URL to its https address")
	require.Contains(t, w.Body.String(), `"nbr":`)
	require.Equal(t, 200, f.send([]byte(simple)).Code, "without secure it bids")
}

func squeeze(t testing.TB, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err := zip.Write(body)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	return out.Bytes()
}

func TestGzip(t *testing.T) {
	f := newFixture(t)
	for range 3 { // pooled readers are used again, also after what was no gzip
		require.Equal(t, 200, f.send(squeeze(t, []byte(simple)), "Content-Encoding", "gzip").Code)
		require.Equal(t, 200, f.send(squeeze(t, []byte(simple))).Code)
		require.Equal(t, 200, f.send(append(squeeze(t, []byte(simple)), 0, 0), "Content-Encoding", "gzip, identity").Code)
		require.Equal(t, 200, f.send([]byte(simple), "Content-Encoding", "gzip").Code)
		requireMalformed(t, f.send([]byte("\x1f\x8b\x07"), "Content-Encoding", "gzip"))
		require.Equal(t, 400, f.send(squeeze(t, []byte(simple))[:20], "Content-Encoding", "gzip").Code)
	}
	require.Equal(t, 200, f.send(squeeze(t, []byte(simple)), "Content-Encoding", " X-GZIP").Code)
	require.Equal(t, 200, f.send([]byte(simple), "Content-Encoding", "identity").Code)
	other := f.send([]byte(simple), "Content-Encoding", "br")
	require.Equal(t, 415, other.Code)
	require.Equal(t, "gzip, deflate, identity", other.Header().Get("Accept-Encoding"))
	require.Contains(t, other.Body.String(), `"nbr":2`)

	// 100 MiB in 100 KB, and just a byte too many.
	require.Equal(t, 413, f.send(squeeze(t, make([]byte, 100<<20)), "Content-Encoding", "gzip").Code)
	full := func(n int) []byte {
		return []byte(with(`"x":"` + strings.Repeat("y", n-len(with(`"x":""`))) + `"`))
	}
	for _, encoded := range []bool{false, true} {
		for n, code := range map[int]int{MaxBody: 200, MaxBody + 1: 413} {
			body, header := full(n), []string(nil)
			require.Len(t, body, n)
			if encoded {
				body, header = squeeze(t, body), []string{"Content-Encoding", "gzip"}
			}
			require.Equal(t, code, f.send(body, header...).Code)
		}
	}

	plain := f.send([]byte(simple))
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	require.Equal(t, "Accept-Encoding", plain.Header().Get("Vary"))
	for header, want := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "*": true, "gzip;q=0": false, "deflate": false, "GZIP ": true,
		"gzip; q=0.0": false, "xgzip": false,
	} {
		w := f.send([]byte(simple), "Accept-Encoding", header)
		require.Equal(t, 200, w.Code)
		require.Equal(t, want, w.Header().Get("Content-Encoding") == "gzip", header)
		body := io.Reader(w.Body)
		if want {
			zip, err := gzip.NewReader(w.Body)
			require.NoError(t, err)
			body = zip
		}
		text, err := io.ReadAll(body)
		require.NoError(t, err)
		strict(t, text)
	}
}

func TestContentTypesAndVersions(t *testing.T) {
	f := newFixture(t)
	for _, kind := range []string{
		"", "application/json", "application/json;charset=utf-8", "text/plain", "application/x-www-form-urlencoded",
	} {
		for _, version := range []string{"", "2.5", "2.6", "3.0", "x"} {
			w := f.send([]byte("\n "+simple), "Content-Type", kind, "x-openrtb-version", version)
			require.Equal(t, 200, w.Code)
			require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
			require.Equal(t, "2.6", w.Header().Get("X-Openrtb-Version"))
		}
	}
}

func requireMalformed(t testing.TB, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, http.StatusBadRequest, w.Code, w.Body)
	var e struct {
		NBR         int
		Error, Code string
	}
	known(t, w.Body.Bytes(), &e)
	require.Equal(t, 2, e.NBR)
	require.NotEmpty(t, e.Error)
}

func TestMalformed(t *testing.T) {
	f := newFixture(t)
	for _, body := range []string{
		"", " ", "null", "{}", "[]", "1", `"x"`, "{", simple + "x", simple[:30], `{"id":NaN}`,
		`{"id":null,"imp":[{"id":"1","banner":{}}]}`, `{"id":true,"imp":[{"id":"1","banner":{}}]}`,
		`{"id":"","imp":[{"id":"1","banner":{}}]}`,
		`{"id":"r"}`, `{"id":"r","imp":null}`, `{"id":"r","imp":[]}`, `{"id":"r","imp":{}}`, `{"id":"r","imp":[null]}`,
		`{"id":"r","imp":[1]}`,
		`{"id":"r","imp":[{"banner":{}}]}`, `{"id":"r","imp":[{"id":"1","banner":{},"banner":5}]}`,
		`{"id":"r","id":[],"imp":[{"id":"1","banner":{}}]}`, `{"id":"r","imp":[{"id":"","banner":{}}]}`,
		`{"id":"r","imp":[{"id":"1"}]}`,
		`{"id":"r","imp":[{"id":"1","banner":null}]}`, `{"id":"r","imp":[{"id":"1","banner":{}},{"id":"2"}]}`,
		`{"id":"r","imp":[{"id":"1","banner":{}}],"site":{},"app":{}}`,
		with(`"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)),
	} {
		requireMalformed(t, f.send([]byte(body)))
	}
	require.Empty(t, f.Log.Auctions)
}

// Odd but not malformed requests.
func TestTolerated(t *testing.T) {
	f := newFixture(t)
	for _, body := range []string{
		with(`"tmax":200.5`), with(`"tmax":{}`), with(`"at":"2"`), with(`"at":3`), with(`"cur":"USD"`),
		with(`"cur":[]`), with(`"cur":[null,"usd"]`), with(`"cur":[840]`), with(`"cur":" EUR, usd "`),
		with(`"badv":"x"`), with(`"badv":["","not a host","ü̈..x"]`), with(`"site":[]`), with(`"user":[]`),
		with(`"app":null`),
		with(`"site":{"keywords":["a"],"content":[]}`), with(`"device":{"geo":[],"language":5}`), with(`"device":7`),
		with(`"ext":[]`),
		with(`"ext":{"mcp_context":"x"}`), with(`"ext":{"mcp_context":{"intent":5,"active_tools":"t","mcp_tool":[]}}`),
		with(`"regs":[]`), with(`"regs":{"ext":[ ]}`), with(`"regs":null`), with(`"user":{"geo":7}`),
		with(`"source":"x"`), with(`"id":"q"`), with(`"unknown":1e400`), with(`"x":"\u0000"`), with(`"test":null`),
		with(`"site":{"name":"cut \ud83d"}`), with(`"test":1,"test":{}`), "\xef\xbb\xbf" + simple, simple + "\x00",
		with(`"site":{"name":"cut \u00e"}`), with(`"site":{"name":"cut \"}`), with("\"site\":{\"name\":\"cut \xf0\x9f\"}"),
		with("\"site\":{\"name\":\"two\nlines\"}"), with(`"site":{"name":"it\'s"},"user":{"keywords":"cut\","id":"x"}`),
		`{"id":"r","imp":[{"id":"1","banner":{"w":"300","h":"250.4","format":[{"w":-1},7]}}]}`,
		`{"id":"r","imp":[{"id":"1","banner":{},"secure":true,"instl":"x","bidfloor":null,"bidfloorcur":[],"pmp":[],"native":7,"video":[]}]}`,
		`{"id":7,"imp":[{"id":1.5,"banner":{}},null]}`, `{"id":"r","imp":{"id":"1","banner":{}}}`,
		`{"id":"r","imp":[{"id":"1","banner":[]}],"site":[],"app":{}}`,
		`{"id":"r","imp":[{"id":"1","banner":{},"banner":{"w":300,"h":50}}],"id":"s","site":{},"site":{}}`,
		`{"id":"r","imp":[{"id":"1","banner":{},"bidfloor":"0.5"}]}`,
		`{"id":"r","imp":[{"id":"1","banner":{},"bidfloor":-3}]}`,
		`{"id":"r","imp":[{"id":"1","banner":{},"bidfloor":0.30000000000000004}]}`,
		`{"id":"r","imp":[{"id":"1","banner":{},"bidfloor":""}]}`,
	} {
		require.Equal(t, http.StatusOK, f.send([]byte(body)).Code, body)
	}
	require.Equal(
		t, "s", strict(t, f.send([]byte(`{"id":"r","imp":[{"id":"1","banner":{}}],"id":"s"}`)).Body.Bytes()).ID,
	)
	// NUL and control characters never reach a token, whose texts end up in databases.
	b := f.bids(
		`{"id":"r","imp":[{"id":"1","banner":{},"tagid":"a\u0000b\u001f` + strings.Repeat("é",
			200) + `"}],"device":{"language":"e\u0000n"}}`,
	)[0]
	ad := f.adToken(b.AdM)
	require.True(t, strings.HasPrefix(ad.HostApp, "abé"), ad.HostApp)
	require.Empty(t, ad.Language)
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]amount{
		"0.5": {micros: 500_000}, "0.30000000000000004": {micros: 300_000}, "0.0000001": {micros: 1},
		"1e400": {micros: money.Max}, "-1": {}, "": {},
		"1e-400": {}, "abc": {bad: true}, "NaN": {bad: true}, "Inf": {micros: money.Max}, "-1e400": {bad: true},
		"2.0000001": {micros: 2_000_001},
	} {
		require.Equal(t, want, parseAmount(text), text)
	}
}

func TestSettings(t *testing.T) {
	deps := Deps{}
	for _, cfg := range []Config{
		{}, {Seat: "s"}, {VideoSec: 1}, {Seat: "s", VideoSec: 1, Rates: map[string]string{"EUR": "x"}},
		{Seat: "s", VideoSec: 1, Rates: map[string]string{"EUR": "0"}},
		{Seat: "s", VideoSec: 1, Rates: map[string]string{"EUR": "-1"}},
	} {
		_, err := New(cfg, deps)
		require.Error(t, err, cfg)
	}
}

func TestRateOfASeat(t *testing.T) {
	f := newLimitedFixture(t, 5)
	for range 5 {
		require.Equal(t, 200, f.send([]byte(simple)).Code)
	}
	w := f.send([]byte(simple))
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, 200, f.get("op=win&imp=1").Code, "notices are never refused")
	mine := f.key
	f.key = f.Key(account.KindSeat)
	require.Equal(t, http.StatusTooManyRequests, f.send([]byte(simple)).Code, "another key of the seat")
	f.key = f.seat(account.KeyRequest{Kind: account.KindSeat})[0].Plain
	require.Equal(t, 200, f.send([]byte(simple)).Code, "another seat")
	f.key, f.Now = mine, f.Now.Add(time.Second)
	require.Equal(t, 200, f.send([]byte(simple)).Code)
}

func TestSignals(t *testing.T) {
	for _, tc := range []struct{ country, part, want string }{
		{"USA", "CA", "US-CA"}, {"US", "ca", "US-CA"}, {"deu", "", "DE"}, {"GBR", "GB-LND", "GB-LND"},
		{"USA", "California", "US"}, {"", "CA", ""},
		{"ZZ", "", ""}, {"ZZZ", "", ""}, {"x", "", ""}, {"1234", "", ""}, {"001", "", ""}, {"U\x00", "", ""},
		{"USA", "C\x00", "US"}, {"USA", "-", "US"},
	} {
		require.Equal(t, tc.want, region(tc.country, tc.part), tc)
	}
	var in bidRequest
	require.NoError(t, newReader().parse([]byte(`{"id":"r","imp":[{"id":"1","banner":{},"tagid":"slot"}],"app":{"name":"Weather Pro","keywords":"storm,rain",`+
		`"kwarray":["hail"],"content":{"title":"Tornado season","kwarray":["wind"]}},"device":{"langb":"pt-BR"},"user":{"keywords":"secret","geo":{"country":"BRA"}}}`), &in))
	var s signals
	s.begin(&in)
	got := s.of(&in.Imp.list[0])
	require.Equal(
		t,
		place{about: "Tornado season storm,rain Weather Pro wind hail ", host: "slot", region: "BR", language: "pt-BR"},
		got,
	)

	in = bidRequest{}
	require.NoError(t, newReader().parse([]byte(`{"id":"r","imp":[{"id":"1","banner":{},"tagid":"slot","ext":{"mcp_context":{"mcp_tool":"t1","active_tools":["t2"],"surface":"chat",`+
		`"user_region":"us_ca","user_language":"de"}}}],"site":{"keywords":"none"},"ext":{"mcp_context":{"intent":"Sail boats","intent_tokens":["regatta"],"host_app":"h",`+
		`"mcp_tool":"outer","surface":"outer"}}}`), &in))
	s.begin(&in)
	require.Equal(t, place{
		context: "Sail boats", tokens: []string{"regatta"}, tools: []string{"t1", "t2"}, host: "h", surface: "chat",
		region: "US-CA", language: "de",
	}, s.of(&in.Imp.list[0]))
}

func TestStatus(t *testing.T) {
	f := newFixture(t)
	var got map[string]any
	require.NoError(t, stdjson.Unmarshal(f.get("op=status").Body.Bytes(), &got))
	require.Equal(t, map[string]any{
		"status": "ok", "adapter": "adnet", "seat": "adnet", "openrtb_version": "2.6", "native_version": "1.2",
		"vast_version": "4.2", "vast_versions": []any{"2.0", "3.0", "4.0", "4.1", "4.2"}, "currencies": []any{"USD"},
		"auction_type": 1.0, "tmax_recommended": 200.0, "supported_formats": []any{"native", "banner", "video"},
		"benna_version": f.Shelf.Snapshot().Model(),
	}, got)
	f.Shelf.Stale = true
	require.Contains(t, f.get("op=status").Body.String(), "degraded")
	require.Equal(t, 400, f.get("op=other").Code)
	require.Equal(t, 400, f.get("").Code)
}

// answer is what a bid request of testdata/openrtb gets: a kind of markup, or a reason for none.
type answer struct {
	mtype  openrtb2.MarkupType
	imp    string
	more   []string // imps of further bids
	price  float64
	deal   string
	adm    []string // parts of the markup
	reason string
}

func TestBidRequestsAreAnswered(t *testing.T) {
	cfg := defaults()
	cfg.Categories = []string{"IAB19"}
	for name, want := range map[string]answer{
		"article-banner": {
			mtype: openrtb2.MarkupBanner, imp: "side", price: 3.673985, adm: []string{"width:300px;height:250px"},
		},
		"assistant-native": {mtype: openrtb2.MarkupNative, imp: "answer", price: 5},
		"clip-skippable": {
			mtype: openrtb2.MarkupVideo, imp: "clip", price: 3,
			adm: []string{`<VAST version="4.2"`, `width="640" height="360"`, `skipoffset="00:00:05"`},
		},
		"preroll-old-player": {
			mtype: openrtb2.MarkupVideo, imp: "pre", price: 3,
			adm: []string{`<VAST version="3.0"`, `width="854" height="480"`},
		},
		"private-deal": {
			mtype: openrtb2.MarkupBanner, imp: "1", price: 1.35, deal: "quay-7",
			adm: []string{"width:728px;height:90px"},
		},
		"open-deals": {
			mtype: openrtb2.MarkupBanner, imp: "1", price: 2.5, adm: []string{"width:320px;height:50px"},
		},
		"many-imps": {
			mtype: openrtb2.MarkupBanner, imp: "top", more: []string{"clip", "inline"}, price: 2.5,
			adm: []string{"width:970px;height:250px"},
		},
		"floor-eur":       {reason: "currency"},
		"blocked":         {reason: "blocked"},
		"consent":         {reason: "unsuitable"}, // regs.coppa: the reader is a child
		"radio-audio":     {reason: "unsupported_format"},
		"platform-screen": {reason: "quantity"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			raw, err := os.ReadFile("testdata/openrtb/" + name + ".json")
			require.NoError(t, err)
			var official openrtb2.BidRequest
			require.NoError(t, stdjson.Unmarshal(raw, &official), "the official types read it")
			f := newFixtureOf(t, cfg, "")
			f.Shelf.Put(shelfOf("image", "native", "video", "deal")...)
			if want.reason != "" {
				require.Equal(t, want.reason, f.none(string(raw)))
				if want.reason == "currency" {
					cfg.Rates = map[string]string{"EUR": "1.10"}
					f = newFixtureOf(t, cfg, "")
					require.Equal(t, openrtb2.MarkupBanner, f.bids(string(raw))[0].MType, "with a rate")
				}
				return
			}
			bids := f.bids(string(raw))
			b, more := bids[0], []string(nil)
			for i := range bids[1:] {
				more = append(more, bids[i+1].ImpID)
			}
			require.Equal(t, want.more, more)
			require.Equal(t, want.mtype, b.MType)
			require.Equal(t, want.imp, b.ImpID)
			require.Equal(t, want.deal, b.DealID)
			require.InDelta(t, want.price, b.Price, 1e-9)
			for _, part := range want.adm {
				require.Contains(t, b.AdM, part)
			}
		})
	}
}

// The examples of the standard (OpenRTB 2.6, 6.2) are answered, each by a campaign that can fill
// it.
func TestExamplesOfTheStandardAreAnswered(t *testing.T) {
	folder := testenv.Shared(t, "data/openrtb")
	cfg := defaults()
	for name, want := range map[string]openrtb2.MarkupType{
		"simple-banner": openrtb2.MarkupBanner, "expandable": openrtb2.MarkupBanner, "mobile": openrtb2.MarkupBanner,
		"video": openrtb2.MarkupVideo, "pmp-deal": openrtb2.MarkupBanner,
	} {
		raw, err := os.ReadFile(filepath.Join(folder, name+".json"))
		require.NoError(t, err)
		f := newFixtureOf(t, cfg, "")
		private := catalogue()["deal"]
		private.BidAmount, private.Deals = 10*money.USD, []string{"AB-Agency1-0001"}
		f.Shelf.Put(append(shelfOf("video"), private)...)
		if name == "pmp-deal" {
			require.Equal(t, "private_auction", f.none(string(raw)), "the deals are for other seats")
			f = newFixtureOf(t, Config{Seat: "Agency1", CatTax: 1, VideoSec: 15, VideoKbps: 1000}, "https://ads.example")
			f.Shelf.Put(private)
		}
		b := f.bids(string(raw))[0]
		require.Equal(t, want, b.MType, name)
		switch name {
		case "video":
			require.Contains(t, b.AdM, `<VAST version="3.0"><Ad`, "its protocols are VAST 2 and 3")
			require.Contains(t, b.AdM, `width="640" height="480"`)
		case "pmp-deal":
			require.Equal(t, "AB-Agency1-0001", b.DealID)
			require.InDelta(t, 10.0, b.Price, 1e-9)
		}
	}
}

// The bid requests, and what breaks of them: each value removed, of other kinds, huge, and twice.
// Never a 500, and a 400 only where the standard calls it malformed. Each file tries a third of the
// values.
func TestBidRequestsAndTheirMutations(t *testing.T) {
	f := newFixture(t)
	files, err := filepath.Glob("testdata/openrtb/*.json")
	require.NoError(t, err)
	require.Len(t, files, 12)
	huge := `"` + strings.Repeat("x", 20_000) + `"`
	values := []string{
		"null", "true", "false", "0", "-1", "1", "200.5", "1e400", "99999999999999999999", `""`, `"x"`, `"\u0000"`,
		"[]", "{}", "[[]]", `[{}]`, `[null]`, `["x",1]`,
		`{"a":{}}`, huge, "[" + strings.Repeat("7,", 5_000) + "7]", "[" + strings.Repeat("{},", 2_000) + "{}]",
	}
	tried, refused := 0, 0
	for i, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotEqual(t, 400, f.send(raw).Code, file)
		var some []string
		for k := i % 3; k < len(values); k += 3 {
			some = append(some, values[k])
		}
		for _, m := range mutations(t, raw, some) {
			w, _ := f.try(m.body)
			tried++
			switch w.Code {
			case 200, 204:
				require.False(t, m.malformed(), "%s %s must be malformed", file, m)
			case 400:
				refused++
				requireMalformed(t, w)
				require.True(t, m.malformed(), "%s %s must not be malformed", file, m)
			default:
				t.Fatalf("%s %s: %d %s", file, m, w.Code, w.Body)
			}
		}
	}
	require.Greater(t, tried, 3_000)
	require.Greater(t, refused, 100)
}

// mutation is a request that was changed in one place.
type mutation struct {
	path, what string
	body       []byte
}

func (m mutation) String() string { return m.path + " " + m.what }

// malformed is the standard's own rule, computed from the result with another decoder than the
// endpoint's.
func (m mutation) malformed() bool {
	var r map[string]any
	decoder := stdjson.NewDecoder(bytes.NewReader(m.body))
	decoder.UseNumber()
	if decoder.Decode(&r) != nil {
		return true
	}
	filled := func(v any) bool {
		if _, is := v.(stdjson.Number); is {
			return true
		}
		s, is := v.(string)
		return is && s != ""
	}
	object := func(v any) bool { _, is := v.(map[string]any); return is }
	hollow := func(v any) bool { list, is := v.([]any); return is && len(list) == 0 }
	imps, _ := r["imp"].([]any)
	if object(r["imp"]) {
		imps = []any{r["imp"]}
	}
	imps = slices.DeleteFunc(imps, func(v any) bool { return v == nil || hollow(v) })
	bad := !filled(r["id"]) || len(imps) == 0 || object(r["site"]) && object(r["app"])
	for _, v := range imps {
		i, is := v.(map[string]any)
		offered := slices.ContainsFunc([]string{"banner", "video", "native", "audio"}, func(name string) bool {
			return object(i[name]) || hollow(i[name])
		})
		bad = bad || !is || !filled(i["id"]) || !offered
	}
	return bad
}

// mutations changes every member at every depth: removed, replaced by each value, and written
// twice.
func mutations(t testing.TB, raw []byte, values []string) (all []mutation) {
	t.Helper()
	var root any
	require.NoError(t, stdjson.Unmarshal(raw, &root))
	const marker = "\x01here\x01"
	encode := func() string {
		text, err := stdjson.Marshal(root)
		require.NoError(t, err)
		return string(text)
	}
	quoted, err := stdjson.Marshal(marker)
	require.NoError(t, err)
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				old := v[name]
				delete(v, name)
				all = append(all, mutation{path + "." + name, "removed", []byte(encode())})
				v[name] = marker
				hole := encode()
				v[name] = old
				text, err := stdjson.Marshal(old)
				require.NoError(t, err)
				member := `"` + name + `":`
				for _, value := range values {
					all = append(all,
						mutation{
							path + "." + name, "= " + value[:min(len(value), 20)],
							[]byte(strings.Replace(hole, string(quoted), value, 1)),
						})
				}
				twice := strings.Replace(hole, member+string(quoted), member+string(text)+","+member+string(text), 1)
				require.NotEqual(t, hole, twice)
				all = append(all, mutation{path + "." + name, "twice", []byte(twice)})
				walk(old, path+"."+name)
			}
		case []any:
			for i := range v {
				walk(v[i], fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	walk(root, "")
	return all
}

// Random native requests of the official type: the answer has the ids that were asked for, all that
// are required, and nothing longer than allowed.
func TestNativeAgainstTheOfficialTypes(t *testing.T) {
	f := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	answered := 0
	for range 400 {
		var in nativerequest.Request
		for i := range 1 + random.IntN(4) {
			a := nativerequest.Asset{ID: int64(10 + i), Required: int8(random.IntN(2))}
			switch random.IntN(3) {
			case 0:
				a.Title = &nativerequest.Title{Len: int64(random.IntN(60))}
			case 1:
				a.Img = &nativerequest.Image{Type: 3, WMin: 10, HMin: 20}
				if random.IntN(4) == 0 {
					a.Img.Type, a.Img.MIMEs = 1, []string{"image/webp"}
				}
			default:
				a.Data = &nativerequest.Data{Len: int64(random.IntN(60))}
				require.NoError(t, stdjson.Unmarshal(fmt.Appendf(nil, "%d", 1+random.IntN(12)), &a.Data.Type))
			}
			in.Assets = append(in.Assets, a)
		}
		text, err := stdjson.Marshal(in)
		require.NoError(t, err)
		inner, err := stdjson.Marshal(string(text))
		require.NoError(t, err)
		w := f.send([]byte(`{"id":"r","imp":[{"id":"1","native":{"request":` + string(inner) + `}}]}`))
		if w.Code == http.StatusNoContent {
			continue
		}
		require.Equal(t, http.StatusOK, w.Code)
		answered++
		var out nativeresponse.Response
		known(t, []byte(strict(t, w.Body.Bytes()).SeatBid[0].Bid[0].AdM), &out)
		got := map[int64]nativeresponse.Asset{}
		for _, a := range out.Assets {
			got[*a.ID] = a
		}
		require.Len(t, got, len(out.Assets))
		for _, want := range in.Assets {
			a, there := got[want.ID]
			require.True(t, there || want.Required == 0, "%s %s", text, w.Body)
			delete(got, want.ID)
			if !there {
				continue
			}
			require.Equal(t, want.Title != nil, a.Title != nil)
			require.Equal(t, want.Img != nil, a.Img != nil)
			require.Equal(t, want.Data != nil, a.Data != nil)
			if want.Title != nil && want.Title.Len > 0 {
				require.LessOrEqual(t, int64(len([]rune(a.Title.Text))), want.Title.Len)
			}
			if want.Data != nil && want.Data.Len > 0 {
				require.LessOrEqual(t, int64(len([]rune(a.Data.Value))), want.Data.Len)
			}
		}
		require.Empty(t, got, "nothing that was not asked for")
		require.NotEmpty(t, out.Link.URL)
		require.Len(t, out.ImpTrackers, 1)
	}
	require.Greater(t, answered, 50)
}

func TestNotices(t *testing.T) {
	f := newFixture(t)
	b := f.bids(simple)[0]
	id := uuid.MustParse(b.ID)
	last := func() *event.Notice { return f.Log.Notices[len(f.Log.Notices)-1] }
	gif := "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
	require.Len(t, gif, 43)
	fire := func(link string) *event.Notice {
		t.Helper()
		f.server.recent = recent.New() // each is the first of its kind
		w := f.get(link[strings.Index(link, "?")+1:])
		require.Equal(t, 200, w.Code)
		require.Equal(t, gif, w.Body.String())
		require.Equal(t, "image/gif", w.Header().Get("Content-Type"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "cross-origin", w.Header().Get("Cross-Origin-Resource-Policy"))
		return last()
	}
	// What the price becomes in the record; the bid is 5 USD.
	for price, want := range map[string]int64{
		"1.25": 1_250_000, "2": 2_000_000, "5.01": 5_000_000, "99999": 5_000_000, "1e400": 5_000_000, "0": 0, "-1": 0,
		"-1e400": 0, "NaN": 0, "": 0, "AUDIT": 0,
		"${AUCTION_PRICE}": 0, "%24%7BAUCTION_PRICE%7D": 0, "0x10": 0, "Inf": 5_000_000, "%0d%0aSet-Cookie:x": 0,
		"%ff": 0,
	} {
		for _, link := range []string{b.NURL, b.BURL} {
			n := fire(strings.Replace(link, "${AUCTION_PRICE}", price, 1))
			if price == "0x10" {
				want = n.PriceMicros // hexadecimal floats need an exponent: whatever it is, it is at most the bid
				require.LessOrEqual(t, want, int64(5_000_000))
			}
			require.Equal(t, want, n.PriceMicros, price)
			require.Equal(t, event.Proof_SIGNED, n.Proof)
			require.Equal(t, id[:], n.AuctionId)
			require.Equal(t, developerID[:], n.DeveloperId)
			require.Equal(t, b.CrID, uuid.UUID(n.CampaignId).String())
			require.Equal(t, "1", n.ImpressionId)
			require.Nil(t, n.Reason)
		}
	}
	require.Equal(t, event.Notice_BILL, fire(b.BURL).Kind)
	require.Equal(t, event.Notice_WIN, fire(b.NURL).Kind)
	for reason, want := range map[string]any{
		"0": int32(0), "102": int32(102), "": nil, "x": nil, "-1": nil, "${AUCTION_LOSS}": nil, "99999999999": nil,
	} {
		n := fire(strings.Replace(b.LURL, "${AUCTION_LOSS}", reason, 1))
		require.Equal(t, event.Notice_LOSS, n.Kind)
		if want == nil {
			require.Nil(t, n.Reason, reason)
		} else {
			require.Equal(t, want, *n.Reason)
		}
	}
	n := fire(strings.ReplaceAll(b.NURL, "&", "&amp;"))
	require.Equal(t, event.Proof_SIGNED, n.Proof, "a link that was not decoded from HTML")

	// A log that takes nothing changes nothing for the caller.
	f.Log.Err = io.ErrClosedPipe
	fire(b.NURL)
}

// Strangers can call the links of notices: only the first of each kind about a bid of ours is
// recorded, within a day. All are answered with the pixel and counted.
func TestNoticesThatProveNothingAreForgotten(t *testing.T) {
	f := newFixture(t)
	b := f.bids(simple)[0]
	fire := func(link string) {
		t.Helper()
		w := f.get(link[strings.Index(link, "?")+1:])
		require.Equal(t, 200, w.Code)
		require.Equal(t, "image/gif", w.Header().Get("Content-Type"))
	}
	// A token of another purpose, a changed one, none.
	adToken := impressionToken.FindStringSubmatch(b.AdM)[1]
	for _, link := range []string{
		"?op=win&imp=1&bid=" + b.ID + "&price=1&t=" + adToken, strings.Replace(b.NURL, "&t=A", "&t=B", 1),
		"?op=win&imp=1&bid=" + b.ID + "&price=1", "?op=win&imp=" + strings.Repeat("ä", 100) + "&price=5000&bid=abc",
		"?op=loss", "?op=bill&bid=" + uuid.NewString(), "?op=error", "?op=win&imp=%ff%00&bid=%ff&t=%ff&price=%ff",
	} {
		fire(link)
		require.Empty(t, f.Log.Notices, link)
	}
	for range 3 {
		for _, link := range []string{b.NURL, b.BURL, b.LURL} {
			fire(link)
			fire(strings.Replace(link, "imp=1", "imp=2", 1))
		}
	}
	require.Len(t, f.Log.Notices, 3, "one of each kind")
	late := f.bids(simple)[0]
	issued, _ := day.TimeOfUUID(uuid.MustParse(late.ID))
	f.Now = issued.Add(noticeLife + time.Second)
	fire(late.NURL)
	require.Len(t, f.Log.Notices, 3)
	for result, want := range map[string]float64{
		noticeSignedBid: 3, noticeUnsigned: 5, noticeForged: 3, noticeRepeated: 15, noticeLate: 1,
	} {
		sum := 0.0
		for _, kind := range kindNames {
			sum += testutil.ToFloat64(f.server.metrics.notices.WithLabelValues(kind, result))
		}
		require.Equal(t, want, sum, result)
	}
}

// The server reads what it hands out: links do not grow with an imp's id.
func TestLinksAreBounded(t *testing.T) {
	f := newFixture(t)
	for _, id := range []string{strings.Repeat("i", 50_000), strings.Repeat("ä", 20_000)} {
		b := f.bids(`{"id":"r","imp":[{"id":"` + id + `","video":{}}]}`)[0]
		require.Equal(t, id, b.ImpID)
		for _, link := range []string{b.NURL, b.BURL, b.LURL} {
			require.Less(t, len(link), 2_000)
			require.Equal(t, 200, f.get(link[strings.Index(link, "?")+1:]).Code)
			n := f.Log.Notices[len(f.Log.Notices)-1]
			require.Equal(t, event.Proof_SIGNED, n.Proof)
			require.Equal(t, cut(id, maxImpID), n.ImpressionId)
		}
		require.Less(t, len(b.AdM), 10_000)
	}
}

// The error link of a VAST takes the code that a player puts in.
func TestVideoErrorNotice(t *testing.T) {
	f := newFixture(t)
	b := f.bids(`{"id":"r","imp":[{"id":"1","video":{"mimes":["video/mp4"]}}]}`)[0]
	link := regexp.MustCompile(`<Error>([^<]*)\[ERRORCODE\]</Error>`).FindStringSubmatch(b.AdM)
	require.NotNil(t, link, b.AdM)
	f.get(strings.ReplaceAll(link[1][strings.Index(link[1], "?")+1:], "&amp;", "&") + "405")
	n := f.Log.Notices[0]
	require.Equal(t, event.Notice_ERROR, n.Kind)
	require.Equal(t, event.Proof_SIGNED, n.Proof)
	require.Equal(t, int32(405), *n.Reason)
}
