package rtb

import (
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
)

// suitedRequest is what a bid request says, and the subject that it is refused for, empty for a
// bid.
type suitedRequest struct{ name, members, imp, subject string }

func (c *suitedRequest) request() string {
	imp := `"id":"1","banner":{"w":320,"h":50}`
	if c.imp != "" {
		imp += "," + c.imp
	}
	members := c.members
	if members != "" {
		members = "," + members
	}
	return `{"id":"r","test":1,"imp":[{` + imp + `}]` + members + `}`
}

const crisis = `I want to kill myself`

// suited has every text of a bid request that is judged, and everything that it states.
var suited = []suitedRequest{
	{"nothing", "", "", ""},
	{
		"ordinary",
		`"site":{"name":"News","cat":["IAB19"],"content":{"title":"Chess","qagmediarating":1,"contentrating":"PG-13"}},"user":{"yob":1980}`, "", "",
	},
	{"intent", `"ext":{"mcp_context":{"intent":"` + crisis + `"}}`, "", "suicide"},
	{
		"every field of a context", `"ext":{"mcp_context":{"intent":"chess","context_summary":"` + crisis + `"}}`, "",
		"suicide",
	},
	{"context", `"ext":{"mcp_context":{"intent":"chess","context":"` + crisis + `"}}`, "", "suicide"},
	{
		"tokens together", `"ext":{"mcp_context":{"intent":"chess","intent_tokens":["how","kill","myself"]}}`, "",
		"suicide",
	},
	{"the imp's own intent", "", `"ext":{"mcp_context":{"intent":"` + crisis + `"}}`, "suicide"},
	{
		"the request's, though the imp has one", `"ext":{"mcp_context":{"intent":"` + crisis + `"}}`,
		`"ext":{"mcp_context":{"intent":"chess"}}`, "suicide",
	},
	{"name of a site", `"site":{"name":"How to kill myself"}`, "", "suicide"},
	{"name of an app", `"app":{"name":"kill myself"}`, "", "suicide"},
	{"name of a screen", `"dooh":{"name":"kill myself"}`, "", "suicide"},
	{"keywords", `"site":{"keywords":"rope,kill myself"}`, "", "suicide"},
	{"kwarray", `"app":{"kwarray":["kill","myself"]}`, "", "suicide"},
	{"search", `"site":{"search":"` + crisis + `"}`, "", "suicide"},
	{"page", `"site":{"page":"https://a.example/threads/i-want-to-kill-myself/2"}`, "", "suicide"},
	{"page with escapes", `"site":{"page":"https://a.example/?q=kill%20myself"}`, "", "suicide"},
	{"ref", `"site":{"ref":"https://search.example/?q=kill+myself"}`, "", "suicide"},
	{"publisher", `"site":{"publisher":{"name":"kill myself weekly"}}`, "", "suicide"},
	{"title", `"app":{"content":{"title":"` + crisis + `"}}`, "", "suicide"},
	{"series", `"app":{"content":{"series":"` + crisis + `"}}`, "", "suicide"},
	{"season", `"app":{"content":{"season":"` + crisis + `"}}`, "", "suicide"},
	{"episode", `"app":{"content":{"episode":"` + crisis + `"}}`, "", "suicide"},
	{"artist", `"app":{"content":{"artist":"` + crisis + `"}}`, "", "suicide"},
	{"album", `"app":{"content":{"album":"` + crisis + `"}}`, "", "suicide"},
	{"genre", `"app":{"content":{"genre":"` + crisis + `"}}`, "", "suicide"},
	{"keywords of content", `"app":{"content":{"keywords":"` + crisis + `"}}`, "", "suicide"},
	{"kwarray of content", `"app":{"content":{"kwarray":["kill","myself"]}}`, "", "suicide"},
	{"link of content", `"app":{"content":{"url":"https://a.example/kill_myself.html"}}`, "", "suicide"},
	{"producer", `"app":{"content":{"producer":{"name":"kill myself"}}}`, "", "suicide"},
	{"keywords of the user", `"user":{"keywords":"` + crisis + `"}`, "", "suicide"},
	{"kwarray of the user", `"user":{"kwarray":["kill","myself"]}`, "", "suicide"},
	{
		"a segment",
		`"user":{"data":[{"segment":[{"name":"chess"}]},{"segment":[{"name":"a"},{"name":"kill myself"}]}]}`, "",
		"suicide",
	},
	{"a sensitive text", `"site":{"name":"diabetes weekly"}`, "", "health"},

	{"coppa", `"regs":{"coppa":1}`, "", "child"},
	{"coppa, 2.5", `"regs":{"ext":{"coppa":1}}`, "", "child"},
	{"no coppa", `"regs":{"coppa":0}`, "", ""},
	{"a child by year", fmt.Sprintf(`"user":{"yob":%d}`, thisYear-10), "", "child"},
	{"the year of 18", fmt.Sprintf(`"user":{"yob":%d}`, thisYear-18), "", "child"},
	{"older than that", fmt.Sprintf(`"user":{"yob":%d}`, thisYear-19), "", ""},
	{"yob as a text", fmt.Sprintf(`"user":{"yob":"%d"}`, thisYear-30), "", ""},
	{"yob null", `"user":{"yob":null}`, "", ""},
	{"yob is no year", `"user":{"yob":"adult"}`, "", "child"},
	{"yob 0", `"user":{"yob":0}`, "", "child"},
	{"yob of a list", `"user":{"yob":[1980]}`, "", "child"},
	{"yob to come", fmt.Sprintf(`"user":{"yob":%d}`, thisYear+1), "", "child"},
	{"yob of long ago", `"user":{"yob":1800}`, "", "child"},

	{"for mature audiences", `"app":{"content":{"qagmediarating":3}}`, "", "sexual"},
	{"rated NC-17", `"app":{"content":{"contentrating":"NC-17"}}`, "", "sexual"},
	{"rated tv-ma", `"app":{"content":{"contentrating":"tv-ma"}}`, "", "sexual"},
	{"rated PEGI 18", `"app":{"content":{"contentrating":"PEGI 18"}}`, "", "sexual"},
	{"rated by no known scheme", `"app":{"content":{"contentrating":"M"}}`, "", ""},
	{"rated by a long text", `"app":{"content":{"contentrating":"` + strings.Repeat("R", 300) + `"}}`, "", ""},
	{"rated for teens", `"app":{"content":{"contentrating":"PG-13"}}`, "", ""},

	{"cat of 1.0", `"site":{"cat":["IAB19","IAB25-3"]}`, "", "sexual"},
	{"sectioncat", `"site":{"sectioncat":["IAB26"]}`, "", "crime"},
	{"pagecat", `"app":{"pagecat":["IAB25-5"]}`, "", "hate"},
	{"cat of a publisher", `"app":{"publisher":{"cat":["IAB7-28"]}}`, "", "abuse"},
	{"cat of content, 3.1", `"app":{"content":{"cattax":9,"cat":["8FD8nI"]}}`, "", "extremism"},
	{"a number as cat, 2.2", `"app":{"content":{"cattax":6,"cat":[596,301]}}`, "", "mental_health"},
	{"a text as cat", `"site":{"cat":"IAB23-7"}`, "", "religion"},
	{"an id of another taxonomy", `"site":{"cat":["317"]}`, "", ""},

	{"a flag", `"ext":{"suitability":{"flags":["self-harm"]}}`, "", "self_harm"},
	{"a flag of the imp", `"ext":{"suitability":{"age":"adult"}}`, `"ext":{"suitability":{"flags":["hate"]}}`, "hate"},
	{"an unknown flag", `"ext":{"suitability":{"flags":["x"]}}`, "", "distress"},
	{"suitability that is none", `"ext":{"suitability":7}`, "", "distress"},
	{"a child by the exchange's word", `"ext":{"suitability":{"age":"child"}}`, "", "child"},
	{"null", `"ext":{"suitability":null}`, `"ext":{"suitability":null}`, ""},
}

var thisYear = ingresstest.Start.UTC().Year()

// With test 1 the answer is 200 and names what was found; without it is 204 and silent.
func TestWhatABidRequestIsJudgedBy(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("image")...)
	for i := range suited {
		c := &suited[i]
		w := f.send([]byte(c.request()))
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", c.name, w.Body)
		r := strict(t, w.Body.Bytes())
		var ext struct {
			Suitability *struct{ Tier, Subject string }
		}
		require.NoError(t, stdjson.Unmarshal(r.Ext, &ext))
		if c.subject == "" {
			require.Len(t, r.SeatBid, 1, "%s: %s", c.name, w.Body)
			require.Nil(t, ext.Suitability)
			continue
		}
		require.Empty(t, r.SeatBid, c.name)
		require.EqualValues(t, nbrUnsuited, *r.NBR, "%s: %s", c.name, w.Body)
		require.NotNil(t, ext.Suitability, c.name)
		require.Equal(t, c.subject, ext.Suitability.Subject, c.name)
		real := strings.Replace(c.request(), `"test":1,`, "", 1)
		w = f.send([]byte(real))
		require.Equal(t, http.StatusNoContent, w.Code, "%s: %s", c.name, w.Body)
		if !strings.Contains(real, `"ext"`) { // debug tells an exchange the reason and no subject
			w = f.send([]byte(strings.Replace(real, "{", `{"ext":{"debug":1},`, 1)))
			require.NotContains(t, w.Body.String(), `"suitability"`, c.name)
			require.Contains(t, w.Body.String(), `"nbr":501`, c.name)
		}
	}
}

// An imp's own context refuses that imp alone; the request's refuses all.
func TestAnImpIsJudgedByItsOwnContext(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("image", "postgres")...)
	request := func(outer, first, second string) string {
		return fmt.Sprintf(`{"id":"r","ext":{"mcp_context":{"intent":%q}},"imp":[{"id":"1","banner":{"w":320,"h":50},"ext":{"mcp_context":{"intent":%q}}},`+
			`{"id":"2","banner":{"w":320,"h":50},"ext":{"mcp_context":{"intent":%q}}}]}`, outer, first, second)
	}
	bids := f.bids(request("chess", crisis, "chess"))
	require.Len(t, bids, 1)
	require.Equal(t, "2", bids[0].ImpID)
	require.Equal(t, http.StatusNoContent, f.send([]byte(request(crisis, "chess", "chess"))).Code)
	require.Equal(t, http.StatusNoContent, f.send([]byte(request("chess", crisis, crisis))).Code)
}

// A request of another does not inherit a verdict: sessions are pooled.
func TestVerdictsAreNotStored(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("image")...)
	for range 20 {
		require.Equal(
			t, "unsuitable",
			f.none(`{"id":"r","imp":[{"id":"1","banner":{"w":320,"h":50}}],"site":{"name":"kill myself"}}`),
		)
		require.Len(t, f.bids(`{"id":"r","imp":[{"id":"1","banner":{"w":320,"h":50}}],"site":{"name":"News"}}`), 1)
	}
}
