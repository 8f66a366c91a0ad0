package track

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// variables are what templates leave when they do not replace a variable.
var variables = []string{
	"{{adnet_click}}", "{{ click.id }}", "{{{click}}}", "{{click", "${adnet_click}", "$adnet_click", "#{click_id}",
	"@{click}", "{clickid}", "{ click-id }", "{!aff_sub}", "{% click %}", "<%= click_id %>", "<clickid>",
	"[CLICK_ID]", "[[click]]", "%%CLICK_ID%%", "%CLICK%", "__CLICKID__", "*|CLICK|*", "##click##", "#click#", "$click$",
	":click_id",
}

var missing = []string{
	"null", "NULL", "undefined", "None", "nil", "NaN", "(null)", "<nil>", "[object Object]", `"null"`, "(not set)",
}

// unreadableIDs returns click ids that a sender damaged, by what happened to them.
func unreadableIDs(click string) map[string]string {
	return map[string]string{
		"cut": click[:len(click)-7], "lower case": strings.ToLower(click), "upper case": strings.ToUpper(click),
		"beginning lost": click[4:], "a letter changed": click[:20] + "~" + click[21:], "twice": click + click,
		"comma list": click + "," + click, "of another installation": "AQgCbogus", "a number": "17",
		"not UTF-8": "%ff%fe", "a URL": "https://shop.example/?adnet_click=" + click,
	}
}

func (f *fixture) convert(body string, key string) (status int, taken Taken, text string) {
	f.T.Helper()
	w := f.Do(http.MethodPost, "/api/track", body, "Authorization", "Bearer "+key)
	if w.Code == http.StatusOK {
		require.NoError(f.T, json.Unmarshal(w.Body.Bytes(), &taken))
	}
	return w.Code, taken, w.Body.String()
}

// A click id that cannot be read names no campaign: the sender has to know at once.
func TestUnreadableClickIDIsRejected(t *testing.T) {
	f, key := postbacks(t)
	named := func(id string) {
		t.Helper()
		status, _, text := f.convert(conversion(t, id, map[string]any{"campaign_id": nil}), key)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", id, text)
		require.Contains(t, text, `"field":"click_id"`)
		require.Contains(t, text, "adnet_click exactly as the landing page received it", id)
		fields := postbackOf(key, id)
		w := f.postback(http.MethodGet, fields)
		require.Equal(t, http.StatusBadRequest, w.Code, "%s: %s", id, w.Body)
		require.Contains(t, w.Body.String(), `"field":"click_id"`)
	}
	for _, id := range variables {
		named(id)
		_, _, text := f.convert(conversion(t, id, map[string]any{"campaign_id": nil}), key)
		quoted, err := json.Marshal(id)
		require.NoError(t, err)
		inside := strings.Trim(string(quoted), `"`)
		require.Contains(t, text, `the template variable \"`+inside+`\"`, "the error names it")
	}
	for _, id := range missing {
		named(id)
		_, _, text := f.convert(conversion(t, id, map[string]any{"campaign_id": nil}), key)
		require.Contains(t, text, "programs send for a missing value", id)
	}
	for name, id := range unreadableIDs(f.clickID()) {
		t.Run(name, func(*testing.T) { named(id) })
	}
	for _, raw := range []string{"%%CLICK%%", "{clickid}", "%257B%257Badnet_click%257D%257D", "${CLICK}"} {
		w := f.Do(http.MethodGet, "/api/track?event=conversion&key="+key+"&click_id="+raw, "")
		require.Equal(t, http.StatusBadRequest, w.Code, raw)
		require.Contains(t, w.Body.String(), "the template variable", raw)
	}
	body := conversion(t, "null", map[string]any{"campaign_id": nil})
	w := f.Do(
		http.MethodPost, "/api/track?action=batch", `{"events":[`+body+`,`+f.impression()+`]}`, "Authorization",
		"Bearer "+key,
	)
	require.Contains(t, w.Body.String(), `"tracked":1,"rejected":[{"index":0,"code":"invalid_request","error":"click_id is`)
	unknown := conversion(t, "null", map[string]any{"campaign_id": uuid.NewString()})
	status, _, _ := f.convert(unknown, key)
	require.Equal(t, http.StatusBadRequest, status, "a campaign that does not exist shows nobody anything")
	require.Zero(t, f.counted(traffic.ReasonClickID))
	require.Len(t, f.Log.Requests(), 1, "the impression")
}

// What spaces, quotes and encodings of a URL added is taken off.
func TestClickIDWithAdditionsIsRead(t *testing.T) {
	f, key := postbacks(t)
	for _, around := range []func(string) string{
		func(id string) string { return id + " " }, func(id string) string { return "\n" + id + "\r\n" },
		func(id string) string { return id + "\u00a0" }, func(id string) string { return "\ufeff" + id + "\u200b" },
		func(id string) string { return `"` + id + `"` }, func(id string) string { return id + "%20" },
		func(id string) string { return id + "=" }, func(id string) string { return id + "==\n" },
		func(id string) string { return id + "%3D%3d" }, func(id string) string { return `"` + id + `="` },
		func(id string) string { return id + "%0A" }, func(id string) string { return id + "%250A" },
		func(id string) string { return strings.ReplaceAll(id, "A", "%41") },
		func(id string) string {
			return url.QueryEscape(url.QueryEscape(strings.ReplaceAll(id, "A", "%41")))
		},
	} {
		id := around(f.clickID())
		status, taken, text := f.convert(conversion(t, id, map[string]any{"campaign_id": nil}), key)
		require.Equal(t, http.StatusOK, status, "%q: %s", id, text)
		require.True(t, *taken.Verified, "%q", id)
		require.Equal(t, campaignID[:], f.last().CampaignId)
		require.Equal(t, http.StatusOK, f.postback(http.MethodGet, postbackOf(key, id)).Code)
		require.True(t, f.last().Conversion.Verified)
		// Without the owner's word the event still has a token that settlement can verify.
		f.convert(conversion(t, id, nil), "")
		_, err := f.Ring.VerifyRaw(token.ForConversion, f.last().Token, f.Now)
		require.NoError(t, err)
	}
}

// Where something else names the campaign, the conversion is counted there, with the reason.
func TestUnreadableClickIDOfANamedCampaign(t *testing.T) {
	f, key := postbacks(t)
	only := f.key(account.KindConversion, advertiserID, campaignID)
	counted := 0
	for name, c := range map[string]struct {
		key    string
		change map[string]any
	}{
		"campaign_id":           {key, nil},
		"the key's campaign":    {only, map[string]any{"campaign_id": nil}},
		"a genuine auction_id":  {key, map[string]any{"campaign_id": nil, "auction_id": f.token()}},
		"campaign_id, no login": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range []string{"{{adnet_click}}", "null", f.clickID()[:40]} {
				status, taken, text := f.convert(conversion(t, id, c.change), c.key)
				require.Equal(t, http.StatusOK, status, text)
				require.False(t, *taken.Verified)
				require.Equal(t, "bad_click_id", taken.Reason)
				require.Equal(t, unreadable(id), taken.Message)
				require.Equal(t, campaignID.String(), taken.CampaignID)
				counted++
			}
		})
	}
	require.EqualValues(t, counted, f.counted(traffic.ReasonClickID))
	require.Equal(t, counted, int(testutil.ToFloat64(f.tracker.doubtful["bad_click_id"])))
	require.Empty(t, f.Log.Requests(), "there is no record: anybody can send them")
	require.Empty(t, f.seen.keys)
}

// The reply states no more than settlement will count.
func TestRepliesGiveTheReason(t *testing.T) {
	f, key := postbacks(t)
	other := f.login(uuid.New(), uuid.New())
	click := f.clickID()
	late := f.Ring.Sign(token.PurposeConversion, auction(f.Now.AddDate(0, 0, -31)))
	for reason, c := range map[string]struct {
		key    string
		id     any
		change map[string]any
	}{
		"no_click_id":    {key, nil, map[string]any{"auction_id": f.token()}},
		"expired":        {key, late, nil},
		"not_yours":      {other, click, nil},
		"no_credentials": {"", click, nil},
	} {
		change := map[string]any{"click_id": c.id}
		for name, value := range c.change {
			change[name] = value
		}
		body := conversion(t, "", change)
		status, taken, text := f.convert(body, c.key)
		require.Equal(t, http.StatusOK, status, text)
		require.False(t, *taken.Verified, reason)
		require.EqualValues(t, 1, testutil.ToFloat64(f.tracker.doubtful[reason]))
		w := f.Do(http.MethodPost, "/api/track?action=batch", `{"events":[`+body+`]}`, "Authorization", "Bearer "+c.key)
		require.Equal(t, reason, taken.Reason, text)
		require.NotEmpty(t, taken.Message)
		require.Contains(t, w.Body.String(), `"unverified":[{"index":0,"reason":"`+reason+`"`)
	}
}

// Values in other currencies are recorded, and the reply says what becomes of them.
func TestValuesOfOtherCurrencies(t *testing.T) {
	f, key := postbacks(t)
	for _, code := range []string{
		"EUR", "eur", "Jpy", "KWD", "XOF", "CNY", "VES", "SLE", "MRU", "XCG", "ZWG", " gbp ",
	} {
		status, taken, text := f.convert(conversion(t, f.clickID(), map[string]any{"currency": code}), key)
		require.Equal(t, http.StatusOK, status, text)
		upper := strings.ToUpper(strings.TrimSpace(code))
		require.Equal(t, upper, taken.Currency)
		require.Equal(t, upper, f.last().Conversion.Currency)
		require.NotNil(t, taken.ValueReported, code)
		require.False(t, *taken.ValueReported)
		require.Contains(t, taken.Message, "target_roas")
		status, taken, _ = f.convert(conversion(t, f.clickID(), map[string]any{"currency": code, "value": nil}), key)
		require.Equal(t, http.StatusOK, status)
		require.Nil(t, taken.ValueReported, "there is no value")
	}
	for _, code := range []any{"USD", "usd", "Usd", nil, ""} {
		status, taken, _ := f.convert(conversion(t, f.clickID(), map[string]any{"currency": code}), key)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "USD", taken.Currency)
		require.Nil(t, taken.ValueReported)
		require.Empty(t, taken.Message)
	}
	for _, code := range []string{"ZZZ", "zzz", "XXX", "XTS", "ABC", "EURO", "€", "US", "840", "U$D"} {
		status, _, text := f.convert(conversion(t, f.clickID(), map[string]any{"currency": code}), key)
		require.Equal(t, http.StatusBadRequest, status, code)
		require.Contains(t, text, `"field":"currency"`)
	}
	require.Equal(t, event.Type_CONVERSION, f.last().Type)
}

// The reply to a conversion with an auction_id only has a reason, with any credentials.
func TestConversionWithoutClickIDHasAReason(t *testing.T) {
	f := newFixture(t)
	contract := apitest.Load(t)
	own := f.login(advertiserID, uuid.New())
	for name, who := range map[string]string{
		"conversion key": f.key(account.KindConversion, advertiserID, uuid.Nil), "owner": own,
		"another": f.login(uuid.New(), uuid.New()), "nobody": "",
	} {
		for _, id := range []any{nil, "", " ", jsontext.Value("null")} {
			body := conversion(t, "", map[string]any{"click_id": id, "auction_id": f.token()})
			r := ingresstest.Request(http.MethodPost, "/api/track", body)
			r.Header.Set("Authorization", "Bearer "+who)
			w := f.Send(t, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			contract.Check(t, r, w)
			require.Contains(t, w.Body.String(), `"verified":false,"reason":"no_click_id","message":"`, name)
		}
	}
}

// Unverified conversions of an ad repeat each other as verified ones do: by type and external id.
func TestUnverifiedGoalsAreDistinct(t *testing.T) {
	for name, by := range map[string]func(f *fixture) (field, token, key string){
		"key without click id": func(f *fixture) (string, string, string) {
			return "auction_id", f.token(), f.key(account.KindConversion, advertiserID, uuid.Nil)
		},
		"nobody without click id": func(f *fixture) (string, string, string) { return "auction_id", f.token(), "" },
		"nobody with click id":    func(f *fixture) (string, string, string) { return "click_id", f.clickID(), "" },
	} {
		t.Run(name, func(t *testing.T) {
			f, key := postbacks(t)
			field, id, who := by(f)
			repeated := func(kind, order any) bool {
				change := map[string]any{"click_id": nil, "conversion_type": kind, "external_id": order}
				change[field] = id
				status, taken, text := f.convert(conversion(t, "", change), who)
				require.Equal(t, http.StatusOK, status, text)
				require.False(t, *taken.Verified)
				return taken.Deduped
			}
			for i, goal := range [][2]any{
				{"sale", "o1"}, {"lead", "o2"}, {"lead", nil}, {nil, "o1"}, {nil, nil},
			} {
				require.False(t, repeated(goal[0], goal[1]), i)
				require.True(t, repeated(goal[0], goal[1]), i)
			}
			further := 0 // orders of one type share 16 keys, by chance
			for i := range 8 {
				if !repeated("sale", fmt.Sprint("further", i)) {
					further++
				}
			}
			require.Positive(t, further)
			change := map[string]any{"conversion_type": "sale", "external_id": "o1"}
			_, taken, _ := f.convert(conversion(t, f.clickID(), change), key)
			require.True(t, *taken.Verified)
			require.False(t, taken.Deduped, "the verified one is no repeat")
		})
	}
}

// A missing click id is as one that cannot be read: it is counted where something else names the
// campaign, also if events without a token are billed.
func TestMissingClickID(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Unsigned = UnsignedBill })
	f.login(advertiserID, uuid.New())
	key := f.key(account.KindConversion, advertiserID, uuid.Nil)
	only := f.key(account.KindConversion, advertiserID, campaignID)
	counted := 0
	for _, id := range []any{nil, jsontext.Value("null"), "", "  ", "\u00a0\n", `""`, "%20", "="} {
		for _, c := range []struct {
			who, campaign any
			status        int
		}{
			{key, campaignID.String(), 200}, {"", campaignID.String(), 200}, {only, nil, 200},
			{key, nil, 400}, {key, uuid.NewString(), 400}, {key, "c1", 400}, {"", nil, 400},
		} {
			body := conversion(t, "", map[string]any{"click_id": id, "campaign_id": c.campaign})
			status, taken, text := f.convert(body, c.who.(string))
			require.Equal(t, c.status, status, "%v %v: %s", id, c, text)
			if status == http.StatusBadRequest {
				require.Contains(t, text, "click_id is required")
				require.Contains(t, text, `"field":"click_id"`)
				continue
			}
			counted++
			require.False(t, *taken.Verified)
			require.Equal(t, reasonNoClick, taken.Reason)
			require.NotEmpty(t, taken.Message)
			require.Equal(t, campaignID.String(), taken.CampaignID)
		}
	}
	for _, id := range []string{"", " "} {
		fields := postbackOf(key, id)
		require.Equal(t, http.StatusBadRequest, f.postback(http.MethodGet, fields).Code)
		fields.Set("campaign_id", campaignID.String())
		w := f.postback(http.MethodGet, fields)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.Contains(t, w.Body.String(), `"verified":false,"reason":"no_click_id"`)
		counted++
	}
	require.EqualValues(t, counted, f.counted(traffic.ReasonClickID), "its owner sees it")
	require.Empty(t, f.Log.Requests(), "nothing is billed")
	require.Empty(t, f.seen.keys)
}

// The forms of one type are one conversion, recorded and answered in the normal form.
func TestConversionTypeIsRecordedInItsNormalForm(t *testing.T) {
	f, key := postbacks(t)
	click := f.clickID()
	for _, who := range []string{key, ""} {
		for i, kind := range []string{
			"purchase", "Purchase", "purchase ", "ｐｕｒｃｈａｓｅ", "\u200bPURCHASE" + strings.Repeat(" ", 64),
		} {
			status, taken, text := f.convert(conversion(t, click, map[string]any{"conversion_type": kind}), who)
			require.Equal(t, http.StatusOK, status, text)
			require.Equal(t, i > 0, taken.Deduped, kind)
			require.Equal(t, "purchase", taken.ConversionType)
			require.Equal(t, "purchase", f.last().Conversion.Type)
		}
	}
	status, _, text := f.convert(conversion(t, click, map[string]any{"conversion_type": strings.Repeat("ﷺ", 4)}), key)
	require.Equal(t, http.StatusBadRequest, status, "the normal form has a length")
	require.Contains(t, text, `"field":"conversion_type"`)
}
