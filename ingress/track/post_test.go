package track

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// conversion is a body with changed or added fields; a nil value takes a field away.
func conversion(t *testing.T, token string, change map[string]any) string {
	t.Helper()
	body := map[string]any{
		"event": "conversion", "campaign_id": campaignID.String(), "click_id": token, "conversion_type": "purchase",
		"value": 12.5, "currency": "EUR", "external_id": "order-1",
	}
	for name, value := range change {
		body[name] = value
		if value == nil {
			delete(body, name)
		}
	}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return string(text)
}

// clickID is what a landing page gets: an auction's now, clicked after some seconds.
func (f *fixture) clickID() string {
	a := auction(f.Now)
	a.ClickAfter = 5 * time.Second
	return f.Ring.Sign(token.PurposeConversion, a)
}

func TestConversions(t *testing.T) {
	f := newFixture(t)
	signed, owner := f.clickID(), "Bearer "+f.login(advertiserID, uuid.New())
	body := conversion(t, signed, map[string]any{"campaign_id": nil})
	w := f.Do(http.MethodPost, "/api/track", body, "X-Adnet-Source", "rest-api", "Authorization", owner)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.JSONEq(t, fmt.Sprintf(`{"tracked":true,"event":"conversion","campaign_id":"%s","conversion_type":"purchase","value":12.5,"currency":"EUR","external_id":"order-1","verified":true,"pending":true,"value_reported":false,"message":"the value in EUR is recorded, but reports and target_roas include values in USD only"}`,
		campaignID), w.Body.String())
	e := f.last()
	require.Equal(t, event.Type_CONVERSION, e.Type)
	require.Equal(t, event.Proof_SIGNED, e.Proof)
	want := &event.Conversion{
		Type: "purchase", ValueMicros: 12_500_000, Currency: "EUR",
		ExternalHash: hashOf(f.Ring.Lasting(advertiserID, day.Of(start), "order-1")), Verified: true,
	}
	require.Equal(t, want.String(), e.Conversion.String())

	// One conversion per type and external id, whatever else the retry contains.
	for _, again := range []string{body, conversion(t, signed, map[string]any{"value": nil})} {
		w = f.Do(http.MethodPost, "/api/track", again, "Authorization", owner)
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), `"deduped":true`)
		require.NotContains(t, w.Body.String(), `"pending"`)
	}
	require.NotContains(t, w.Body.String(), `"value"`)
	require.Len(t, f.Log.Requests(), 3, "what is counted is decided by settlement")
	for _, other := range []string{"external_id", "conversion_type"} {
		w = f.Do(
			http.MethodPost, "/api/track", conversion(t, signed, map[string]any{other: "other"}), "Authorization",
			owner,
		)
		require.NotContains(t, w.Body.String(), `"deduped"`)
		require.Contains(t, w.Body.String(), `"pending":true`)
	}
	for _, life := range f.seen.keys {
		require.Equal(t, 30*24*time.Hour, life)
	}
	w = f.Do(
		http.MethodPost, "/api/track",
		conversion(
			t, f.clickID(), map[string]any{"currency": nil, "value": nil, "external_id": nil, "conversion_type": nil},
		),
	)
	require.NotContains(t, w.Body.String(), "deduped", "another auction")
	require.Contains(t, w.Body.String(), `"currency":"USD"`)
}

func TestConversionFields(t *testing.T) {
	f := newFixture(t)
	signed := f.clickID()
	for name, c := range map[string]struct {
		change map[string]any
		field  string
	}{
		"no event":            {map[string]any{"event": nil}, "event_type"},
		"unknown event":       {map[string]any{"event": "sale"}, "event_type"},
		"event_type wins":     {map[string]any{"event_type": "sale"}, "event_type"},
		"event of wrong kind": {map[string]any{"event": true}, "event"},
		"no campaign":         {map[string]any{"campaign_id": nil, "click_id": nil, "auction_id": "x"}, "campaign_id"},
		"bad campaign": {
			map[string]any{"campaign_id": "c1", "click_id": nil, "auction_id": "x"}, "campaign_id",
		},
		"no click":              {map[string]any{"click_id": nil, "campaign_id": nil}, "click_id"},
		"no click, campaign c1": {map[string]any{"click_id": nil, "campaign_id": "c1"}, "click_id"},
		"click of a list":       {map[string]any{"click_id": []int{7}}, "click_id"},
		"bad developer":         {map[string]any{"developer_id": "d1"}, "developer_id"},
		"bad dev":               {map[string]any{"dev": "d1"}, "dev"},
		"negative value":        {map[string]any{"value": -1}, "value"},
		"value as text":         {map[string]any{"value": "12"}, "value"},
		"currency not ISO":      {map[string]any{"currency": "euro"}, "currency"},
		"currency of no money":  {map[string]any{"currency": "XXX"}, "currency"},
		"currency of tests":     {map[string]any{"currency": "xts"}, "currency"},
		"currency of no state":  {map[string]any{"currency": "ZZZ"}, "currency"},
		"value too large":       {map[string]any{"value": 1000000.01}, "value"},
		"long conversion_type":  {map[string]any{"conversion_type": strings.Repeat("x", 65)}, "conversion_type"},
		"long external_id":      {map[string]any{"external_id": strings.Repeat("x", 129)}, "external_id"},
	} {
		t.Run(name, func(t *testing.T) {
			ingresstest.RequireError(
				t, f.Do(http.MethodPost, "/api/track", conversion(t, signed, c.change)), http.StatusBadRequest,
				"invalid_request", c.field,
			)
		})
	}
	for name, body := range map[string]string{
		"empty": "", "array": "[]", "null": "null", "cut": `{"event":`,
		"duplicate": `{"event":"click","event":"click"}`,
		"not UTF-8": "{\"event\":\"\xff\"}", "two": `{}{}`, "1e400": `{"event":"conversion","value":1e400}`,
		"NaN":  `{"value":NaN}`,
		"deep": strings.Repeat("[", 10_001),
	} {
		t.Run(name, func(t *testing.T) {
			w := f.Do(http.MethodPost, "/api/track", body)
			require.Equal(t, http.StatusBadRequest, w.Code, w.Body)
			require.Contains(t, w.Body.String(), `"code":"invalid_request"`)
		})
	}
	w := f.Do(http.MethodPost, "/api/track", `{"event":"`+strings.Repeat("x", 64<<10)+`"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Empty(t, f.Log.Requests())
	require.Equal(t, http.StatusOK, f.Do(
		http.MethodPost, "/api/track",
		conversion(t, signed, map[string]any{"value": jsontext.Value("null"), "more": "x"}),
	).Code,
		"null is absent, unknown fields are ignored")
	ingresstest.RequireError(
		t, f.Do(http.MethodPut, "/api/track", ""), http.StatusMethodNotAllowed, "method_not_allowed", "",
	)
}

func TestForgedConversions(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		w := f.Do(http.MethodPost, "/api/track", conversion(t, "forged", nil))
		require.Equal(t, http.StatusOK, w.Code)
		require.NotContains(t, w.Body.String(), "deduped")
	}
	require.EqualValues(t, 2, f.counted(traffic.ReasonClickID))
	require.Empty(t, f.Log.Requests())
	require.Empty(t, f.seen.keys, "a forger must not make others' events look repeated")
	// The window begins with the click.
	late := f.clickID()
	for after, proof := range map[time.Duration]event.Proof{0: event.Proof_SIGNED, 1: event.Proof_EXPIRED} {
		f.Now = start.Add(5*time.Second + 30*24*time.Hour + after)
		require.Equal(t, http.StatusOK, f.Do(http.MethodPost, "/api/track", conversion(t, late, nil)).Code)
		require.Equal(t, proof, f.last().Proof)
	}
	// A click that is too late for its ad cannot convert.
	f.Now = start
	a := auction(f.Now)
	a.ClickAfter = 24*time.Hour + time.Millisecond
	f.Now = start.Add(a.ClickAfter)
	require.Equal(
		t, http.StatusOK,
		f.Do(http.MethodPost, "/api/track", conversion(t, f.Ring.Sign(token.PurposeConversion, a), nil)).Code,
	)
	require.Equal(t, event.Proof_EXPIRED, f.last().Proof)
}

// Only the campaign's owner makes a conversion count, and only with a click id.
func TestWhoseWordConversionsNeed(t *testing.T) {
	f := newFixture(t)
	own, stranger := f.login(advertiserID, uuid.New()), f.login(uuid.New(), developerID)
	key := func(owner, campaign uuid.UUID) string {
		plain, material, err := account.GenerateKey(account.KindConversion)
		require.NoError(t, err)
		require.NoError(t, f.Store.Accounts.CreateKey(t.Context(), account.Key{
			ID: uuid.New(), OwnerID: owner, DeveloperID: uuid.New(), Kind: account.KindConversion, CampaignID: campaign,
			Prefix: material.Prefix, Hash: material.Hash,
		}))
		return plain
	}
	another := uuid.New()
	f.login(another, uuid.New())
	wrong, _, err := account.GenerateKey(account.KindConversion)
	require.NoError(t, err)
	report := map[string]any{"click_id": nil, "auction_id": f.token()}
	for name, c := range map[string]struct {
		header   string
		change   map[string]any
		status   int
		verified bool
	}{
		"the owner's session":            {"Bearer " + own, nil, 200, true},
		"another's session":              {"Bearer " + stranger, nil, 200, false},
		"a key of the owner":             {"Bearer " + key(advertiserID, uuid.Nil), nil, 200, true},
		"a key of the campaign":          {"Bearer " + key(advertiserID, campaignID), nil, 200, true},
		"a key of another campaign":      {"Bearer " + key(advertiserID, uuid.New()), nil, 403, false},
		"a key of another account":       {"Bearer " + key(another, uuid.Nil), nil, 403, false},
		"an unknown key":                 {"Bearer " + wrong, nil, 401, false},
		"a mistyped key":                 {"Bearer conv_live_x", nil, 401, false},
		"an unknown key without a click": {"Bearer " + wrong, report, 401, false},
		"nothing":                        {"", nil, 200, false}, "garbage": {"Bearer x", nil, 200, false},
		"another kind of key":       {"Bearer pub_test_sandbox", nil, 200, false},
		"another scheme":            {"Basic x", nil, 200, false},
		"the owner without a click": {"Bearer " + own, report, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(f.Log.Requests())
			body := conversion(t, f.clickID(), c.change)
			w := f.Do(http.MethodPost, "/api/track", body, "Authorization", c.header)
			require.Equal(t, c.status, w.Code, w.Body)
			if c.status != http.StatusOK {
				require.Len(t, f.Log.Requests(), before, "nothing is recorded")
			} else {
				require.Equal(t, c.verified, f.last().Conversion.Verified)
				require.Contains(t, w.Body.String(), fmt.Sprintf(`"verified":%t`, c.verified))
			}
			w = f.Do(http.MethodPost, "/api/track?action=batch", `{"events":[`+body+`]}`, "Authorization", c.header)
			switch c.status {
			case http.StatusOK:
				require.Equal(t, c.verified, f.last().Conversion.Verified)
			case http.StatusForbidden:
				require.Contains(t, w.Body.String(), `"rejected":[{"index":0,"code":"forbidden"`)
			default:
				require.Equal(t, c.status, w.Code, w.Body)
			}
		})
	}
	// A bad key does not stop other events: they need none.
	require.Equal(
		t, 200,
		f.Do(
			http.MethodPost, "/api/track", `{"event":"impression","campaign_id":"`+campaignID.String()+`"}`,
			"Authorization", "Bearer "+wrong,
		).Code,
	)

	f = newFixture(t, func(c *Config) { c.Unsigned = UnsignedBill })
	stranger = f.login(uuid.New(), developerID)
	unsigned := `{"event_type":"impression","campaign_id":"` + campaignID.String() + `"}`
	f.Do(http.MethodPost, "/api/track", unsigned, "Authorization", "Bearer "+stranger)
	require.Equal(t, developerID[:], f.last().DeveloperId, "the login names the publisher")
	f.Do(
		http.MethodPost, "/api/track", strings.Replace(unsigned, "{", `{"dev":"`+advertiserID.String()+`",`, 1),
		"Authorization", "Bearer "+stranger,
	)
	require.Equal(t, advertiserID[:], f.last().DeveloperId, "unless the body does")
}

// away is a store of accounts that does not answer.
type away struct{ account.UserStore }

func (away) User(context.Context, uuid.UUID) (account.User, error) {
	return account.User{}, errs.New(errs.Unavailable, "the database does not answer")
}

// While the store cannot check a login, its conversions are refused for a retry, alone and in a
// batch. Other events are accepted.
func TestConversionsWaitForTheStore(t *testing.T) {
	f := newFixture(t)
	own := "Bearer " + f.login(advertiserID, uuid.New())
	known := f.tracker.deps.Auth
	f.tracker.deps.Auth = httpapi.NewAuth(httpapi.AuthDeps{
		Users: away{f.Store.Accounts}, Keys: f.Store.Accounts, Sessions: f.Sessions, Logins: f.Store.Logins,
		Now: f.Clock,
	})
	body := conversion(t, f.clickID(), nil)
	for path, body := range map[string]string{
		"/api/track": body, "/api/track?action=batch": `{"events":[` + body + `]}`,
	} {
		require.Equal(
			t, http.StatusServiceUnavailable, f.Do(http.MethodPost, path, body, "Authorization", own).Code, path,
		)
	}
	require.Empty(t, f.Log.Requests())
	impression := `{"event":"impression","campaign_id":"` + campaignID.String() + `","auction_id":"` + f.token() + `"}`
	require.Equal(t, 200, f.Do(http.MethodPost, "/api/track", impression, "Authorization", own).Code)
	f.tracker.deps.Auth = known
	require.Equal(t, 200, f.Do(http.MethodPost, "/api/track", body, "Authorization", own).Code)
	require.True(t, f.last().Conversion.Verified)
}

func TestPostedBeaconsReportRepeats(t *testing.T) {
	f := newFixture(t)
	body := `{"event_type":"impression","campaign_id":"` + campaignID.String() + `","auction_id":"` + f.token() + `"}`
	plain := `{"tracked":true,"event":"impression","campaign_id":"` + campaignID.String() + `"}`
	require.JSONEq(t, plain, f.Do(http.MethodPost, "/api/track", body).Body.String())
	require.Contains(t, f.Do(http.MethodPost, "/api/track", body).Body.String(), `"deduped":true`)
	require.NotContains(
		t, f.Do(http.MethodPost, "/api/track", strings.Replace(body, "impression", "click", 1)).Body.String(),
		"deduped",
	)
	f.seen.err = ingresstest.ErrDown
	body = strings.Replace(body, "impression", "skip", 1)
	require.JSONEq(
		t, strings.Replace(plain, "impression", "skip", 1), f.Do(http.MethodPost, "/api/track", body).Body.String(),
		"without Redis the event counts all the same",
	)
	require.Contains(
		t, f.Do(http.MethodPost, "/api/track", body).Body.String(), `"deduped":true`, "and this node remembers it",
	)
}

// A repeat is detected whatever form the event had first, and whatever form it has now.
func TestRepeatsAreDetectedInEveryForm(t *testing.T) {
	first := map[string]func(f *fixture, token string){
		"pixel": func(f *fixture, token string) {
			f.Do(http.MethodGet, "/api/track?event=impression&auction_id="+token, "")
		},
		"post": func(f *fixture, token string) {
			f.Do(
				http.MethodPost, "/api/track",
				`{"event":"impression","campaign_id":"`+campaignID.String()+`","auction_id":"`+token+`"}`,
			)
		},
		"batch": func(f *fixture, token string) {
			f.Do(
				http.MethodPost, "/api/track?action=batch",
				`{"events":[{"event":"impression","campaign_id":"`+campaignID.String()+`","auction_id":"`+token+`"}]}`,
			)
		},
	}
	for name, send := range first {
		t.Run(name, func(t *testing.T) {
			f, again := newFixture(t), ""
			token := f.token()
			event := func(kind string) string {
				return `{"event":"` + kind + `","campaign_id":"` + campaignID.String() + `","auction_id":"` + token +
					`"}`
			}
			send(f, token)
			again = f.Do(http.MethodPost, "/api/track", event("impression")).Body.String()
			require.Contains(t, again, `"deduped":true`)
			require.NotContains(t, f.Do(http.MethodPost, "/api/track", event("close")).Body.String(), "deduped")
			batch := f.Do(
				http.MethodPost, "/api/track?action=batch",
				`{"events":[`+event("skip")+`,`+event("impression")+`,`+event("skip")+`]}`,
			).Body.String()
			require.JSONEq(t, `{"tracked":3,"deduped":true,"repeats":[1,2]}`, batch)
		})
	}
}

// A HEAD only looks at a link: the reply is that of GET, and nothing is recorded.
func TestHeadRecordsNothing(t *testing.T) {
	f := newFixture(t)
	w := f.Do(http.MethodHead, "/api/track?event=impression&auction_id="+f.token(), "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "image/gif", w.Header().Get("Content-Type"))
	require.Empty(t, f.Log.Requests())
}
