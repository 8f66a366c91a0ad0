package cmd_test

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/stretchr/testify/require"

	"adnet/cmd/load/visitor"
)

// exchange is an exchange with a seat key of the administrator's account.
type exchange struct {
	t          *testing.T
	base, auth string
	publisher  string // developer id of its seat
}

func newExchange(t *testing.T, base, email, password string) *exchange {
	t.Helper()
	x := &exchange{t: t, base: base}
	var login struct{ Token string }
	x.post("/api/auth", `{"email":"`+email+`","password":"`+password+`"}`, &login)
	x.auth = "Bearer " + login.Token
	var key struct {
		Key         string
		DeveloperID string `json:"developer_id"`
	}
	x.post("/api/keys", `{"kind":"seat"}`, &key)
	x.publisher = key.DeveloperID
	require.True(t, strings.HasPrefix(key.Key, "seat_live_"))
	x.auth = "Bearer " + key.Key
	return x
}

func (x *exchange) post(path, body string, into any) {
	x.t.Helper()
	reply := client{x.t, x.base}.send(visitor.Request{
		Method: "POST", Path: path, Bearer: strings.TrimPrefix(x.auth, "Bearer "), Body: []byte(body),
	})
	require.Less(x.t, reply.Status, 300, "%s", reply.Body)
	require.NotEmpty(x.t, reply.Body, "no bid")
	require.NoError(x.t, json.NewDecoder(bytes.NewReader(reply.Body)).Decode(into), "%s", reply.Body)
}

// bid is the only bid for a banner in a conversation about music lessons; the demo world has such a
// campaign.
func (x *exchange) bid(member string) openrtb2.Bid {
	x.t.Helper()
	var r openrtb2.BidResponse
	x.post(
		"/api/rtb",
		`{"id":"r",`+member+
			`"imp":[{"id":"1","banner":{"w":300,"h":250},"ext":{"mcp_context":{"intent":"learn to play the guitar"}}}]}`, &r,
	)
	require.Len(x.t, r.SeatBid, 1)
	require.Len(x.t, r.SeatBid[0].Bid, 1)
	return r.SeatBid[0].Bid[0]
}

func (x *exchange) fire(link string) {
	x.t.Helper()
	request, err := http.NewRequest(http.MethodGet, link, nil)
	require.NoError(x.t, err)
	// a pixel of an exchange is the reader's
	request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
	reply, err := http.DefaultClient.Do(request)
	require.NoError(x.t, err)
	defer reply.Body.Close()
	pixel, err := io.ReadAll(reply.Body)
	require.NoError(x.t, err)
	require.Equal(x.t, http.StatusOK, reply.StatusCode)
	require.Len(x.t, pixel, 43)
}

var pixelLink = regexp.MustCompile(`<img src="([^"]*event=impression[^"]*)"`)

func impressionOf(t *testing.T, adm string) string {
	t.Helper()
	found := pixelLink.FindStringSubmatch(adm)
	require.NotNil(t, found, adm)
	return html.UnescapeString(found[1])
}

// An exchange buys: only the impression bills, each of its notices is kept once, and a test request costs
// nothing.
func TestExchange(t *testing.T) {
	p, base, admin := standalone(t, "--admin-email", "boss@example.com", "--admin-password", "long enough!")
	x := newExchange(t, base, "boss@example.com", "long enough!")
	sold := x.bid("")
	for range 2 {
		x.fire(strings.Replace(sold.NURL, "${AUCTION_PRICE}", "0.5", 1))
		x.fire(strings.Replace(sold.BURL, "${AUCTION_PRICE}", "AUDIT", 1))
		x.fire(strings.Replace(sold.LURL, "${AUCTION_LOSS}", "0", 1))
		x.fire(impressionOf(t, sold.AdM))
	}
	tested := x.bid(`"test":1,`)
	x.fire(impressionOf(t, tested.AdM))

	var stats struct {
		Impressions, Billed, Duplicates, Sandbox, Credits int
		Spend                                             float64 `json:"spend_usd"`
	}
	require.Eventually(t, func() bool {
		stats.Impressions = 0
		return text(t, admin+"/metrics", `adnet_archive_notices_total 3`) && developerStats(t, x, base, &stats) &&
			stats.Sandbox == 1 && stats.Duplicates == 1
	}, 20*time.Second, 100*time.Millisecond, "%+v", &stats)
	require.Equal(t, 1, stats.Impressions)
	require.Equal(t, 1, stats.Credits)
	require.LessOrEqual(t, stats.Billed, 1, "a cpc or cpa campaign bills later")
	requireVerified(t, admin)
	p.stop()
	require.Zero(t, p.ends(t, 5*time.Second), p.err)
}

func text(t *testing.T, link, want string) bool {
	t.Helper()
	reply, err := http.Get(link)
	require.NoError(t, err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return strings.Contains(string(body), want)
}

// developerStats reads the stats of the exchange's seat, with the login that made the key.
func developerStats(t *testing.T, x *exchange, base string, into any) bool {
	t.Helper()
	login := &exchange{t: t, base: base}
	var session struct{ Token string }
	login.post("/api/auth", `{"email":"boss@example.com","password":"long enough!"}`, &session)
	r, err := http.NewRequest(http.MethodGet, base+"/api/stats?type=developer&developer_id="+x.publisher, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+session.Token)
	reply, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close()
	return json.NewDecoder(reply.Body).Decode(into) == nil
}
