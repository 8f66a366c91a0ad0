package track

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"adnet/ingress/ingresstest"
	"adnet/internal/traffic"
	"adnet/schemas/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// conversion is a body with changed or added fields; a nil value takes a field away.
func conversion(t *testing.T, token string, change map[string]any) string {
	t.Helper()
	body := map[string]any{
		"event": "conversion", "campaign_id": campaignID.String(), "auction_id": token, "conversion_type": "purchase",
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

func TestConversions(t *testing.T) {
	f := newFixture(t)
	signed := f.token()
	body := conversion(t, signed, nil)
	w := f.Do(http.MethodPost, "/api/track", body, "X-Adnet-Source", "rest-api")
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, fmt.Sprintf(`{"tracked":true,"event":"conversion","campaign_id":"%s","auction_id":"%s","conversion_type":"purchase","value":12.5,"currency":"EUR","external_id":"order-1"}`,
		campaignID, signed), w.Body.String())
	e := f.last()
	require.Equal(t, event.Type_CONVERSION, e.Type)
	require.Equal(t, event.Proof_SIGNED, e.Proof)
	want := &event.Conversion{Type: "purchase", ValueMicros: 12_500_000, Currency: "EUR", ExternalId: "order-1"}
	require.Equal(t, want.String(), e.Conversion.String())

	// One conversion an auction, whatever else the retry says.
	for _, again := range []string{body, conversion(t, signed, map[string]any{"external_id": "order-2", "value": nil})} {
		w = f.Do(http.MethodPost, "/api/track", again)
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), `"deduped":true`)
	}
	require.NotContains(t, w.Body.String(), `"value"`)
	require.Len(t, f.Log.Asked(), 3, "what is counted is decided by settlement")
	for _, life := range f.seen.keys {
		require.Equal(t, 30*24*time.Hour, life)
	}
	w = f.Do(http.MethodPost, "/api/track", conversion(t, f.token(), map[string]any{"currency": nil, "value": nil, "external_id": nil, "conversion_type": nil}))
	require.NotContains(t, w.Body.String(), "deduped", "another auction")
	require.Contains(t, w.Body.String(), `"currency":"USD"`)
}

func TestConversionFields(t *testing.T) {
	f := newFixture(t)
	signed := f.token()
	for name, c := range map[string]struct {
		change map[string]any
		field  string
	}{
		"no event":             {map[string]any{"event": nil}, "event_type"},
		"unknown event":        {map[string]any{"event": "sale"}, "event_type"},
		"event_type wins":      {map[string]any{"event_type": "sale"}, "event_type"},
		"event of wrong kind":  {map[string]any{"event": 1}, "event"},
		"no campaign":          {map[string]any{"campaign_id": nil}, "campaign_id"},
		"bad campaign":         {map[string]any{"campaign_id": "c1"}, "campaign_id"},
		"no auction":           {map[string]any{"auction_id": nil}, "auction_id"},
		"auction of a number":  {map[string]any{"auction_id": 7}, "auction_id"},
		"bad developer":        {map[string]any{"developer_id": "d1"}, "developer_id"},
		"bad dev":              {map[string]any{"dev": "d1"}, "dev"},
		"negative value":       {map[string]any{"value": -1}, "value"},
		"value as text":        {map[string]any{"value": "12"}, "value"},
		"value too fine":       {map[string]any{"value": 0.0000001}, "value"},
		"currency not ISO":     {map[string]any{"currency": "euro"}, "currency"},
		"currency lower case":  {map[string]any{"currency": "eur"}, "currency"},
		"value too large":      {map[string]any{"value": 1000000.01}, "value"},
		"long conversion_type": {map[string]any{"conversion_type": strings.Repeat("x", 65)}, "conversion_type"},
		"long external_id":     {map[string]any{"external_id": strings.Repeat("x", 129)}, "external_id"},
	} {
		t.Run(name, func(t *testing.T) {
			ingresstest.RequireError(t, f.Do(http.MethodPost, "/api/track", conversion(t, signed, c.change)), http.StatusBadRequest, "invalid_request", c.field)
		})
	}
	for name, body := range map[string]string{
		"empty": "", "array": "[]", "null": "null", "cut": `{"event":`, "duplicate": `{"event":"click","event":"click"}`,
		"not UTF-8": "{\"event\":\"\xff\"}", "two": `{}{}`, "1e400": `{"event":"conversion","value":1e400}`, "NaN": `{"value":NaN}`,
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
	require.Empty(t, f.Log.Asked())
	require.Equal(t, http.StatusOK, f.Do(http.MethodPost, "/api/track", conversion(t, signed, map[string]any{"value": jsontext.Value("null"), "more": "x"})).Code,
		"null is absent, unknown fields are ignored")
	ingresstest.RequireError(t, f.Do(http.MethodPut, "/api/track", ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
}

func TestForgedConversions(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		w := f.Do(http.MethodPost, "/api/track", conversion(t, "forged", nil))
		require.Equal(t, http.StatusOK, w.Code)
		require.NotContains(t, w.Body.String(), "deduped")
	}
	require.EqualValues(t, 2, f.counted(traffic.ReasonForged))
	require.Empty(t, f.Log.Asked())
	require.Empty(t, f.seen.keys, "a forger must not make others' events look repeated")
	late := f.token()
	f.Now = start.Add(30*24*time.Hour + time.Second)
	require.Equal(t, http.StatusOK, f.Do(http.MethodPost, "/api/track", conversion(t, late, nil)).Code)
	require.Equal(t, event.Proof_EXPIRED, f.last().Proof)
}

func TestOwnCredentials(t *testing.T) {
	f := newFixture(t)
	own, stranger := f.login(advertiserID, uuid.New()), f.login(uuid.New(), developerID)
	for name, c := range map[string]struct {
		header string
		own    bool
	}{
		"the advertiser": {"Bearer " + own, true}, "another account": {"Bearer " + stranger, false}, "nobody": {"", false},
		"garbage": {"Bearer x", false}, "a key": {"Bearer pub_test_sandbox", false}, "another scheme": {"Basic x", false},
	} {
		w := f.Do(http.MethodPost, "/api/track", conversion(t, f.token(), nil), "Authorization", c.header)
		require.Equal(t, http.StatusOK, w.Code, name)
		require.Equal(t, c.own, f.last().Conversion.OwnCredentials, name)
	}
	forged := f.Do(http.MethodPost, "/api/track", conversion(t, "forged", nil), "Authorization", "Bearer "+own)
	require.Equal(t, http.StatusOK, forged.Code)
	require.EqualValues(t, 1, f.counted(traffic.ReasonForged))

	f = newFixture(t, func(c *Config) { c.Unsigned = UnsignedBill })
	stranger = f.login(uuid.New(), developerID)
	unsigned := `{"event_type":"impression","campaign_id":"` + campaignID.String() + `"}`
	f.Do(http.MethodPost, "/api/track", unsigned, "Authorization", "Bearer "+stranger)
	require.Equal(t, developerID[:], f.last().DeveloperId, "the login names the publisher")
	f.Do(http.MethodPost, "/api/track", strings.Replace(unsigned, "{", `{"dev":"`+advertiserID.String()+`",`, 1), "Authorization", "Bearer "+stranger)
	require.Equal(t, advertiserID[:], f.last().DeveloperId, "unless the body does")
}

func TestPostedBeaconsSayWhatIsRepeated(t *testing.T) {
	f := newFixture(t)
	body := `{"event_type":"impression","campaign_id":"` + campaignID.String() + `","auction_id":"` + f.token() + `"}`
	plain := `{"tracked":true,"event":"impression","campaign_id":"` + campaignID.String() + `"}`
	require.JSONEq(t, plain, f.Do(http.MethodPost, "/api/track", body).Body.String())
	require.Contains(t, f.Do(http.MethodPost, "/api/track", body).Body.String(), `"deduped":true`)
	require.NotContains(t, f.Do(http.MethodPost, "/api/track", strings.Replace(body, "impression", "click", 1)).Body.String(), "deduped")
	f.seen.err = ingresstest.ErrDown
	require.JSONEq(t, plain, f.Do(http.MethodPost, "/api/track", body).Body.String(), "without Redis the event counts all the same")
}
