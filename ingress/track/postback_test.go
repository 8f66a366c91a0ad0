package track

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/schemas/event"
)

// key creates a key of an account.
func (f *fixture) key(kind account.KeyKind, owner, campaign uuid.UUID) string {
	f.T.Helper()
	plain, material, err := account.GenerateKey(kind)
	require.NoError(f.T, err)
	require.NoError(f.T, f.Store.Accounts.CreateKey(f.T.Context(), account.Key{
		ID: uuid.New(), OwnerID: owner, DeveloperID: uuid.New(), Kind: kind, CampaignID: campaign,
		Prefix: material.Prefix, Hash: material.Hash,
	}))
	return plain
}

// postbacks returns a fixture with an advertiser's conversion key.
func postbacks(t *testing.T) (f *fixture, key string) {
	f = newFixture(t)
	f.login(advertiserID, uuid.New())
	return f, f.key(account.KindConversion, advertiserID, uuid.Nil)
}

func (f *fixture) postback(method string, fields url.Values, header ...string) *httptest.ResponseRecorder {
	return f.Do(method, "/api/track?"+fields.Encode(), "", header...)
}

func postbackOf(key, click string) url.Values {
	return url.Values{
		"event": {"conversion"}, "key": {key}, "click_id": {click}, "conversion_type": {"sale"}, "value": {"12.50"},
		"currency": {"usd"}, "external_id": {"order-17"}, "sub_id": {"of the affiliate system"},
	}
}

// A postback by GET, a form and JSON are one conversion with one reply.
func TestPostbackByGet(t *testing.T) {
	f, key := postbacks(t)
	click := f.clickID()
	want := `{"tracked":true,"event":"conversion","campaign_id":"` + campaignID.String() +
		`","conversion_type":"sale","value":12.5,"currency":"USD","external_id":"order-17","verified":true,"pending":true}`
	w := f.postback(http.MethodGet, postbackOf(key, click))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.JSONEq(t, want, w.Body.String())
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
	first := f.last()
	require.True(t, first.Conversion.Verified)
	require.EqualValues(t, 12_500_000, first.Conversion.ValueMicros)

	post := func(body, kind string, header ...string) string {
		w := f.Do(http.MethodPost, "/api/track", body, append(header, "Content-Type", kind)...)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.Equal(t, first.Conversion.String(), f.last().Conversion.String())
		require.Equal(t, first.AuctionId, f.last().AuctionId)
		return w.Body.String()
	}
	again := strings.Replace(strings.Replace(want, "{", `{"deduped":true,`, 1), `,"pending":true`, "", 1)
	require.JSONEq(t, again, post(postbackOf(key, click).Encode(), "application/x-www-form-urlencoded"))
	withHeader := postbackOf("", click)
	withHeader.Del("key")
	require.JSONEq(
		t, again, post(withHeader.Encode(), "application/x-www-form-urlencoded", "Authorization", "Bearer "+key),
	)
	require.JSONEq(t, again, post(`{"event":"conversion","click_id":"`+click+
		`","conversion_type":"sale","value":12.50,"currency":"USD","external_id":"order-17"}`, "application/json",
		"Authorization", "Bearer "+key))
	bare := url.Values{"event": {"conversion"}, "key": {key}, "click_id": {f.clickID()}, "value": {""}}
	require.Contains(t, f.postback(http.MethodGet, bare).Body.String(), `"verified":true`, "click_id alone suffices")
	require.Zero(t, f.last().Conversion.ValueMicros)
}

func TestPostbackNeedsAConversionKey(t *testing.T) {
	f, key := postbacks(t)
	unknown, _, err := account.GenerateKey(account.KindConversion)
	require.NoError(t, err)
	other := uuid.New()
	login := f.login(other, uuid.New())
	for name, c := range map[string]struct {
		key, code string
		status    int
		header    []string
	}{
		"none":                {"", "missing_authorization", 401, nil},
		"unknown":             {unknown, "invalid_token", 401, nil},
		"misspelt":            {key + "x", "invalid_token", 401, nil},
		"a publisher's":       {f.key(account.KindPublisher, advertiserID, uuid.Nil), "invalid_token", 401, nil},
		"a page's":            {f.key(account.KindBrowser, advertiserID, uuid.Nil), "invalid_token", 401, nil},
		"another account's":   {f.key(account.KindConversion, other, uuid.Nil), "forbidden", 403, nil},
		"another campaign's":  {f.key(account.KindConversion, advertiserID, uuid.New()), "forbidden", 403, nil},
		"a login":             {login, "invalid_token", 401, nil},
		"a header's":          {"", "missing_authorization", 401, []string{"Authorization", "Bearer " + key}},
		"bad beside a header": {unknown, "invalid_token", 401, []string{"Authorization", "Bearer " + key}},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.postback(http.MethodGet, postbackOf(c.key, f.clickID()), c.header...)
			require.Equal(t, c.status, w.Code, w.Body)
			require.Contains(t, w.Body.String(), `"code":"`+c.code+`"`)
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			if c.key != "" {
				require.NotContains(t, w.Body.String(), c.key)
			}
			if len(c.header) == 0 {
				form := postbackOf(c.key, f.clickID())
				w = f.Do(http.MethodPost, "/api/track", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
				if c.key != "" {
					require.Equal(t, c.status, w.Code, "a form: %s", w.Body)
				}
			}
		})
	}
	for _, e := range f.Log.Requests() {
		require.False(t, e.Conversion.Verified, "only the form without a key is recorded")
	}
}

// What a browser fetches in advance, and what looks at a link, reports no conversion.
func TestPostbackOfNobody(t *testing.T) {
	f, key := postbacks(t)
	for _, header := range [][]string{
		{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"},
		{"X-Moz", "prefetch"}, {"X-Purpose", "preview"},
	} {
		w := f.postback(http.MethodGet, postbackOf(key, f.clickID()), header...)
		ingresstest.RequireError(t, w, http.StatusForbidden, "forbidden", "")
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	}
	for key, status := range map[string]int{key: http.StatusOK, "x": http.StatusUnauthorized} {
		w := httptest.NewRecorder()
		f.HTTP.ServeHTTP(w, ingresstest.Request(
			http.MethodHead, "/api/track?"+postbackOf(key, f.clickID()).Encode(), "",
		))
		require.Equal(t, status, w.Code)
	}
	require.Empty(t, f.Log.Requests())
	require.Empty(t, f.seen.keys)
}

func TestPostbackFields(t *testing.T) {
	f, key := postbacks(t)
	for name, c := range map[string]struct{ field, value, want string }{
		"no click":             {"click_id", "", "click_id"},
		"blank click":          {"click_id", " \n", "click_id"},
		"decimal comma":        {"value", "12,50", "value"},
		"value in words":       {"value", "ten", "value"},
		"negative":             {"value", "-1", "value"},
		"too much":             {"value", "1000000.01", "value"},
		"beyond any number":    {"value", "1e400", "value"},
		"hexadecimal":          {"value", "0x10", "value"},
		"variable for a value": {"value", "{payout}", "value"},
		"no currency":          {"currency", "ZZZ", "currency"},
		"variable":             {"currency", "[CURRENCY]", "currency"},
		"variable for a type":  {"conversion_type", "{goal_name}", "conversion_type"},
		"variable for an id":   {"external_id", "${ORDER}", "external_id"},
		"missing id as text":   {"external_id", "undefined", "external_id"},
		"long id":              {"external_id", strings.Repeat("x", 129), "external_id"},
	} {
		t.Run(name, func(t *testing.T) {
			fields := postbackOf(key, f.clickID())
			fields.Set(c.field, c.value)
			w := f.postback(http.MethodGet, fields)
			ingresstest.RequireError(t, w, http.StatusBadRequest, "invalid_request", c.want)
			if strings.Contains(c.value, "{") || strings.Contains(c.value, "[") {
				require.Contains(t, w.Body.String(), strings.Trim(c.value, "\n"), "the error names the variable")
			}
		})
	}
	twice := postbackOf(key, f.clickID())
	twice.Add("click_id", f.clickID())
	ingresstest.RequireError(t, f.postback(http.MethodGet, twice), 400, "invalid_request", "click_id")
	require.Empty(t, f.Log.Requests())

	// Names in braces that are ids, words of other fields and percent signs are no variables.
	for _, id := range []string{
		"{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "null-17", "[17]", "order #17", "100%", "A_B", "<17>", "",
	} {
		fields := postbackOf(key, f.clickID())
		fields.Set("external_id", id)
		require.Equal(t, 200, f.postback(http.MethodGet, fields).Code, id)
	}
	raw := "/api/track?event=conversion&key=" + key + "&click_id=" + f.clickID() + "&external_id=50%off&;x=%zz&&"
	require.Equal(t, 200, f.Do(http.MethodGet, raw, "").Code, "a percent sign of a careless sender")
}

// limited is a limit of unknown keys that is used up.
type limited struct{ requests int }

func (l *limited) Unproven(string, time.Time) error {
	l.requests++
	return errs.New(errs.RateLimited, "wait").With("retry_after", 60)
}

// Invented keys of one address do not reach the store without limit; a known key passes.
func TestInventedKeysAreLimited(t *testing.T) {
	f, key := postbacks(t)
	require.Equal(t, 200, f.postback(http.MethodGet, postbackOf(key, f.clickID())).Code)
	limit := &limited{}
	f.tracker.deps.Strangers = limit
	unknown, _, err := account.GenerateKey(account.KindConversion)
	require.NoError(t, err)
	require.Equal(t, 429, f.postback(http.MethodGet, postbackOf(unknown, f.clickID())).Code)
	form := postbackOf(unknown, f.clickID()).Encode()
	require.Equal(
		t, 429, f.Do(http.MethodPost, "/api/track", form, "Content-Type", "application/x-www-form-urlencoded").Code,
	)
	require.Equal(t, 2, limit.requests)
	require.Equal(t, 200, f.postback(http.MethodGet, postbackOf(key, f.clickID())).Code, "the advertiser's own")
}

// The key is in no metric and no event; cmd's test of secrets reads logs and stores.
func TestPostbackKeepsItsKeySecret(t *testing.T) {
	f, key := postbacks(t)
	for _, click := range []string{f.clickID(), "null", key} {
		w := f.postback(http.MethodGet, postbackOf(key, click))
		require.NotContains(t, w.Body.String(), key)
		for _, values := range w.Header() {
			require.NotContains(t, strings.Join(values, " "), key)
		}
	}
	families, err := f.Metrics.Gather()
	require.NoError(t, err)
	for _, family := range families {
		require.NotContains(t, family.String(), key)
	}
	for _, e := range f.Log.Requests() {
		require.NotContains(t, e.String(), key)
	}
}

// A conversion that cannot be recorded now is no success.
func TestPostbackIsDurable(t *testing.T) {
	f, key := postbacks(t)
	f.spool.Err = errors.New("full")
	f.Log.Err = ingresstest.ErrDown
	require.Equal(t, http.StatusServiceUnavailable, f.postback(http.MethodGet, postbackOf(key, f.clickID())).Code)
	f.Log.Err = nil
	require.Equal(t, http.StatusOK, f.postback(http.MethodGet, postbackOf(key, f.clickID())).Code)
	require.Equal(t, event.Proof_SIGNED, f.last().Proof)
}
