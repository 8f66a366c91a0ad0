package serve

import (
	"crypto/sha256"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/ingress/catalog"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/token"
)

func body(t testing.TB, change map[string]any) string {
	t.Helper()
	fields := map[string]any{"context": "how do I deploy a database"}
	for name, value := range change {
		fields[name] = value
		if value == nil {
			delete(fields, name)
		}
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(text)
}

// manyMessages returns count equal messages.
func manyMessages(count int, role, content string) (list []any) {
	for range count {
		list = append(list, map[string]any{"role": role, "content": content})
	}
	return list
}

func TestFields(t *testing.T) {
	f := newFixture(t, 0)
	long := strings.Repeat
	for name, c := range map[string]struct {
		change map[string]any
		field  string // "" for a request that is right
		code   string // default invalid_request
	}{
		"only context":             {nil, "", ""},
		"context absent":           {map[string]any{"context": nil}, "context", "missing_context"},
		"context empty":            {map[string]any{"context": ""}, "context", "missing_context"},
		"context blank":            {map[string]any{"context": " \t\n\u00a0"}, "context", "missing_context"},
		"context 2000 code points": {map[string]any{"context": long("é", 2000)}, "", ""},
		"context 2000 astral":      {map[string]any{"context": long("😀", 2000)}, "", ""},
		"context 2001 code points": {map[string]any{"context": long("é", 2001)}, "context", ""},
		"context 2001 ASCII":       {map[string]any{"context": long("a", 2001)}, "context", ""},
		"context of a number":      {map[string]any{"context": 7}, "", ""},
		"context true":             {map[string]any{"context": true}, "context", ""},
		"context a list":           {map[string]any{"context": []string{"a"}}, "", ""},
		"context of parts": {
			map[string]any{"context": []any{map[string]any{"type": "text", "text": "a"}, "b"}}, "", "",
		},
		"context of a thought": {
			map[string]any{"context": []any{map[string]any{"text": "a", "thought": true}}}, "context",
			"missing_context",
		},
		"context of OpenAI's value": {
			map[string]any{"context": []any{map[string]any{"type": "text", "text": map[string]any{"value": "a"}}}}, "",
			"",
		},
		"context of numbers":    {map[string]any{"context": []any{1, 2}}, "context", ""},
		"context an empty list": {map[string]any{"context": []any{}}, "context", "missing_context"},
		"context of pictures": {
			map[string]any{"context": []any{map[string]any{"type": "image"}}}, "context", "missing_context",
		},
		"context with NUL":   {map[string]any{"context": "a\x00"}, "", ""},
		"context of NUL":     {map[string]any{"context": "\x00\x00"}, "context", "missing_context"},
		"languages":          {map[string]any{"user_language": []string{"de-DE", "en"}}, "", ""},
		"languages of lists": {map[string]any{"user_language": []any{[]any{"de"}}}, "user_language", ""},
		"contents": {
			map[string]any{
				"context": nil, "contents": []any{map[string]any{"parts": []any{map[string]any{"text": "hello"}}}},
			}, "", "",
		},
		"messages alone": {map[string]any{"context": nil, "messages": manyMessages(1, "user", "hello")}, "", ""},
		"messages of every role": {
			map[string]any{"messages": slices.Concat(
				manyMessages(1, "system", "a"), manyMessages(1, "tool", "b"), manyMessages(1, "assistant", "c"),
			)}, "", "",
		},
		"no messages": {
			map[string]any{"context": nil, "messages": []any{}}, "context", "missing_context",
		},
		"32 messages":      {map[string]any{"messages": manyMessages(32, "user", "hello")}, "", ""},
		"33 messages":      {map[string]any{"messages": manyMessages(33, "user", "hello")}, "messages", ""},
		"messages of 8000": {map[string]any{"messages": manyMessages(2, "user", long("é", 4000))}, "", ""},
		"messages of 8001": {
			map[string]any{"messages": append(
				manyMessages(2, "user", long("é", 4000)), manyMessages(1, "tool", "a")...,
			)}, "messages",
			"",
		},
		"a message of a stranger":  {map[string]any{"messages": manyMessages(1, "narrator", "hello")}, "messages", ""},
		"a message with NUL":       {map[string]any{"messages": manyMessages(1, "user", "a\x00")}, "", ""},
		"messages a string":        {map[string]any{"messages": "hello"}, "messages", ""},
		"format unknown":           {map[string]any{"format": "popup"}, "format", ""},
		"format upper case":        {map[string]any{"format": "Card"}, "format", ""},
		"format a bool":            {map[string]any{"format": true}, "format", ""},
		"format empty":             {map[string]any{"format": ""}, "", ""},
		"placement unknown":        {map[string]any{"placement": "footer"}, "placement", ""},
		"placement an object":      {map[string]any{"placement": map[string]any{}}, "placement", ""},
		"platform any string":      {map[string]any{"platform": "my own chat"}, "", ""},
		"platform 128 bytes":       {map[string]any{"platform": long("x", 128)}, "", ""},
		"platform 129 bytes":       {map[string]any{"platform": long("x", 129)}, "platform", ""},
		"platform a number":        {map[string]any{"platform": 1}, "", ""},
		"platform a list":          {map[string]any{"platform": []any{1}}, "platform", ""},
		"host_app 129 bytes":       {map[string]any{"host_app": long("x", 129)}, "host_app", ""},
		"host_app with NUL":        {map[string]any{"host_app": "\x00"}, "host_app", ""},
		"session_id 129 bytes":     {map[string]any{"session_id": long("x", 129)}, "session_id", ""},
		"session_id a number":      {map[string]any{"session_id": 1}, "", ""},
		"active_tools a text":      {map[string]any{"active_tools": "git"}, "", ""},
		"active_tools a number":    {map[string]any{"active_tools": 5}, "active_tools", ""},
		"active_tools of a number": {map[string]any{"active_tools": []any{"git", 1}}, "", ""},
		"active_tools of a list":   {map[string]any{"active_tools": []any{"git", []any{}}}, "active_tools", ""},
		"active_tools 64":          {map[string]any{"active_tools": make([]string, 64)}, "", ""},
		"active_tools 65":          {map[string]any{"active_tools": make([]string, 65)}, "active_tools", ""},
		"active_tools long":        {map[string]any{"active_tools": []string{long("x", 129)}}, "active_tools", ""},
		"seen 64":                  {map[string]any{"seen": slices.Repeat([]string{uuid.NewString()}, 64)}, "", ""},
		"seen 65": {
			map[string]any{"seen": slices.Repeat([]string{uuid.NewString()}, 65)}, "seen", "",
		},
		"seen no id":                {map[string]any{"seen": []string{"{" + uuid.NewString() + "}"}}, "seen", ""},
		"seen an empty id":          {map[string]any{"seen": []string{""}}, "seen", ""},
		"seen a text":               {map[string]any{"seen": uuid.NewString()}, "", ""},
		"seen of a number":          {map[string]any{"seen": []any{1}}, "seen", ""},
		"user_region no ISO":        {map[string]any{"user_region": "Atlantis"}, "user_region", ""},
		"user_region name":          {map[string]any{"user_region": "United States"}, "", ""},
		"user_region unknown":       {map[string]any{"user_region": "XX"}, "", ""},
		"user_region country":       {map[string]any{"user_region": "de"}, "", ""},
		"user_region subdivision":   {map[string]any{"user_region": "US-CA"}, "", ""},
		"user_region a number":      {map[string]any{"user_region": 276}, "", ""},
		"user_language no ISO":      {map[string]any{"user_language": "Elvish"}, "user_language", ""},
		"user_language name":        {map[string]any{"user_language": "Deutsch"}, "", ""},
		"user_language unknown":     {map[string]any{"user_language": "qq"}, "", ""},
		"user_language with region": {map[string]any{"user_language": "pt-BR"}, "", ""},
		"user_language CRLF":        {map[string]any{"user_language": "en\r\nX: y"}, "user_language", ""},
		"unknown fields":            {map[string]any{"model": "x"}, "", ""},
		"a field in another case":   {map[string]any{"Format": "card"}, "format", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.send(body(t, c.change), "Authorization", "Bearer "+f.key)
			if c.field == "" {
				require.Equal(t, http.StatusOK, w.Code, w.Body)
				return
			}
			if c.code == "" {
				c.code = "invalid_request"
			}
			ingresstest.RequireError(t, w, http.StatusBadRequest, c.code, c.field)
		})
	}
	for _, format := range []string{"embed", "card", "text", "native", "banner"} {
		require.NotNil(t, f.ask(f.key, body(t, map[string]any{"format": format})).Ad, format)
	}
	for _, placement := range []string{"card", "welcome", "buttons", "toolrec"} {
		require.NotNil(t, f.ask(f.key, body(t, map[string]any{"placement": placement})).Ad, placement)
	}
	for field, spelling := range map[string]string{"user_language": "en-US,en;q=0.9", "user_region": "Schweiz"} {
		require.NotNil(t, f.ask(f.key, body(t, map[string]any{field: spelling})).Ad, field)
	}
	require.NotNil(
		t, f.ask(f.key, `{"context":"x","format":null,"active_tools":null,"session_id":null}`).Ad, "null is absent",
	)
}

func TestBodies(t *testing.T) {
	f := newFixture(t, 0)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"empty":            {"", 400, "invalid_request"},
		"null":             {"null", 400, "invalid_request"},
		"array":            {`["context"]`, 400, "invalid_request"},
		"cut":              {`{"context":"a`, 400, "invalid_request"},
		"two objects":      {`{"context":"a"}{"context":"b"}`, 400, "invalid_request"},
		"duplicate key":    {`{"context":"a","context":"b"}`, 400, "invalid_request"},
		"duplicate nested": {`{"context":"a","x":{"y":1,"y":2}}`, 400, "invalid_request"},
		"bad UTF-8":        {"{\"context\":\"\xc3(\"}", 200, ""},
		"lone surrogate":   {`{"context":"\ud800"}`, 200, ""},
		"cut escape":       {`{"context":"chess \"}`, 200, ""},
		"byte order mark":  {"\xef\xbb\xbf" + `{"context":"a"}`, 200, ""},
		"in a text":        {`"{\"context\":\"a\"}"`, 200, ""},
		"raw NUL":          {"{\"context\":\"a\x00\"}", 400, "invalid_request"},
		"NaN":              {`{"context":NaN}`, 400, "invalid_request"},
		"10,001 levels": {
			`{"context":"a","x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + "}", 400,
			"invalid_request",
		},
		"form":           {"context=a", 400, "invalid_request"},
		"exactly 32 KiB": {`{"context":"a"` + strings.Repeat(" ", 32<<10-15) + "}", 200, ""},
		"over 32 KiB":    {`{"context":"a"` + strings.Repeat(" ", 32<<10-14) + "}", 413, "payload_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.send(c.body, "Authorization", "Bearer "+f.key)
			require.Equal(t, c.status, w.Code, w.Body)
			if c.code != "" {
				ingresstest.RequireError(t, w, c.status, c.code, "")
			}
		})
	}
}

func TestAuthorization(t *testing.T) {
	f := newFixture(t, 0)
	revoked, material, err := account.GenerateKey(account.KindPublisher)
	require.NoError(t, err)
	require.NoError(
		t,
		f.Store.Accounts.RevokeKey(
			t.Context(), ingresstest.OwnerID, f.Keep(account.KindPublisher, material), ingresstest.Start,
		),
	)
	unknown, _, err := account.GenerateKey(account.KindPublisher)
	require.NoError(t, err)
	for name, c := range map[string]struct{ header, code string }{
		"missing":       {"", "missing_authorization"},
		"no scheme":     {f.key, "missing_authorization"},
		"basic":         {"Basic " + f.key, "missing_authorization"},
		"empty":         {"Bearer ", "missing_authorization"},
		"two words":     {"Bearer " + f.key + " x", "missing_authorization"},
		"unknown":       {"Bearer " + unknown, "invalid_token"},
		"bad checksum":  {"Bearer " + f.key[:len(f.key)-1] + "!", "invalid_token"},
		"garbage":       {"Bearer x", "invalid_token"},
		"a seat's":      {"Bearer " + f.Key(account.KindSeat), "invalid_token"},
		"revoked":       {"Bearer " + revoked, "invalid_token"},
		"a JWT":         {"Bearer eyJhbGciOiJub25lIn0.e30.", "invalid_token"},
		"a whole JSON":  {`Bearer {"access_token":"x"}`, "invalid_token"},
		"1 MiB of dots": {"Bearer " + strings.Repeat(".", 1<<20), "invalid_token"},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.send(body(t, nil), "Authorization", c.header)
			ingresstest.RequireError(t, w, http.StatusUnauthorized, c.code, "")
			require.NotEmpty(t, w.Header().Get("WWW-Authenticate"))
		})
	}
	require.NotNil(t, f.ask(f.key, body(t, nil)).Ad)
	require.Equal(
		t, 200, f.send(body(t, nil), "Authorization", "bearer "+f.key).Code,
		"the scheme has no case (RFC 9110, section 11.1)",
	)
}

func TestOnlyPOST(t *testing.T) {
	f := newFixture(t, 0)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		f.HTTP.ServeHTTP(w, httptest.NewRequest(method, "/v1/ad-request", nil))
		ingresstest.RequireError(t, w, http.StatusMethodNotAllowed, "method_not_allowed", "")
		require.Contains(t, w.Body.String(), "use POST")
		require.Equal(t, "POST, OPTIONS", w.Header().Get("Allow"))
	}
}

func TestRateLimit(t *testing.T) {
	f := newFixture(t, 1000)
	f.Shelf.Daily = 1000 * money.USD // the ads are not shown
	second := f.Key(account.KindPublisher)
	for i := range 1000 {
		key := f.key
		if i%2 == 1 {
			key = second
		}
		require.Equal(t, 200, f.send(body(t, nil), "Authorization", "Bearer "+key).Code, i)
	}
	w := f.send(body(t, nil), "Authorization", "Bearer "+second, "X-Forwarded-For", "198.51.100.7")
	ingresstest.RequireError(t, w, http.StatusTooManyRequests, "rate_limited", "")
	seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
	require.NoError(t, err, "the limit is the publisher's, not the key's or the address's")
	require.GreaterOrEqual(t, seconds, 1)
	require.Equal(
		t, 200, f.send(body(t, nil), "Authorization", "Bearer "+account.PublicSandboxKey).Code, "others go on",
	)
	f.Now = f.Now.Add(time.Duration(seconds) * time.Second)
	require.Equal(t, 200, f.send(body(t, nil), "Authorization", "Bearer "+f.key).Code)
}

// linkToken is the token in the path of a link.
func linkToken(link string) string {
	path, _, _ := strings.Cut(link, "?")
	return path[strings.LastIndexByte(path, '/')+1:]
}

func TestTheAd(t *testing.T) {
	f := newFixture(t, 0)
	r := f.ask(f.key, body(t, map[string]any{
		"host_app": "Editor", "platform": "discord", "placement": "toolrec", "user_region": "US-CA",
		"user_language": "en", "session_id": "s 1&event=click#",
	}))
	ad, k := r.Ad, generic()
	require.NotNil(t, ad)
	require.Empty(t, r.Reason)
	require.Equal(t, []string{k.ID.String(), "native", k.Headline, k.Subtext, k.MediaURL, k.CTALabel, "Sponsored"},
		[]string{ad.AdID, ad.Type, ad.Headline, ad.Body, ad.ImageURL, ad.CTALabel, ad.DisclosureLabel})
	require.False(t, ad.Sandbox)

	signed, err := f.Ring.Verify(token.PurposeReport.Only(), ad.AuctionID, ingresstest.Start)
	require.NoError(t, err)
	id := signed.AuctionID
	require.EqualValues(t, 7, id.Version())
	require.Equal(t, token.Auction{
		AuctionID: id, CampaignID: k.ID, AdvertiserID: ingresstest.AdvertiserID, DeveloperID: ingresstest.DeveloperID,
		Price: money.Micros(f.Log.Auctions[0].EcpmMicros) / 1000, BillingModel: "cpm",
		Format: "native", IntegrationMethod: "rest", Surface: "tool_result", Region: "US-CA", Language: "en",
		HostApp: "Editor", CreditFunded: true,
	}, signed)

	link, err := url.Parse(ad.ImpressionURL)
	require.NoError(t, err)
	require.Equal(t, "https://ads.example/api/track", link.Scheme+"://"+link.Host+link.Path)
	// Each link has a token of its own, for one purpose and with the same facts.
	pixel, click, receipt := link.Query().Get("auction_id"), linkToken(ad.ClickURL), linkToken(ad.ReceiptURL)
	for purpose, text := range map[token.Purpose]string{
		token.PurposeImpression: pixel, token.PurposeClick: click, token.PurposeReceipt: receipt,
	} {
		of, err := f.Ring.Verify(purpose.Only(), text, ingresstest.Start)
		require.NoError(t, err)
		want := signed
		if purpose == token.PurposeClick {
			want.Landing = k.CTAURL // the page that was approved when the ad was shown
		}
		if purpose == token.PurposeReceipt {
			want.Headline, want.Landing = k.Headline, strings.TrimSuffix(k.CTAURL, "/")
		}
		require.Equal(t, want, of)
		_, err = f.Ring.Verify(^purpose.Only(), text, ingresstest.Start)
		require.ErrorIs(t, err, token.ErrSignature)
	}
	require.Equal(t, url.Values{
		"event": {"impression"}, "campaign_id": {k.ID.String()}, "auction_id": {pixel},
		"session": {link.Query().Get("session")},
		"dev":     {ingresstest.DeveloperID.String()}, "format": {"native"},
	}, link.Query())
	session := f.Ring.Session(ingresstest.DeveloperID, day.Of(ingresstest.Start), "s 1&event=click#")
	require.Equal(
		t, session, f.Ring.SessionSaid(ingresstest.DeveloperID, day.Of(ingresstest.Start), link.Query().Get("session")),
	)
	require.NotContains(t, ad.ImpressionURL, "click", "the session's id is the publisher's")
	require.Equal(t, "https://ads.example/s/"+click+"?event=click", ad.ClickURL)
	require.Equal(t, "https://ads.example/r/"+receipt, ad.ReceiptURL)

	logged := f.Log.Auctions[0]
	require.Equal(t, id[:], logged.AuctionId)
	require.Equal(t, k.ID[:], logged.CampaignId)
	require.Equal(t, ingresstest.DeveloperID[:], logged.DeveloperId)
	require.Equal(t, ingresstest.Start.UnixMicro(), logged.AtUs)
	require.EqualValues(t, 77, logged.SnapshotVersion)
	require.Equal(t, logged.EcpmMicros/1000, logged.PriceMicros, "first price: the bid that won")
	require.Less(t, logged.EcpmMicros, int64(k.BidAmount), "which relevance shades")
	require.Equal(t, []string{"embed", "rest", "tool_result", "US-CA", "en", "Editor"}, []string{
		logged.Placement.Format, logged.Placement.IntegrationMethod, logged.Placement.Surface,
		logged.Placement.Region, logged.Placement.Language, logged.Placement.HostApp,
	})
	require.Equal(t, "native", logged.CreativeFormat)
	f.Log.Err = ingresstest.ErrDown
	require.NotNil(t, f.ask(f.key, body(t, nil)).Ad, "the log of auctions is best effort")
}

// The fields of the request reach the targeting.
func TestTargeting(t *testing.T) {
	f := newFixture(t, 0)
	k := generic()
	k.Targeting = campaign.Targeting{
		IntentTokens: []string{"database"}, ActiveTools: []string{"git"}, HostApps: []string{"discord"},
		Surfaces:           []string{"chat"},
		IntegrationMethods: []string{"rest"}, Regions: []string{"DE"}, Languages: []string{"de"},
	}
	f.Shelf.Put(k)
	right := map[string]any{
		"active_tools": []string{"fetch", "git"}, "platform": "discord", "user_region": "de", "user_language": "de",
	}
	ad := f.ask(f.key, body(t, right)).Ad
	require.NotNil(t, ad)
	require.Equal(t, "Anzeige, Warum diese Anzeige?", ad.DisclosureLabel+", "+ad.WhyLabel)
	for field, value := range map[string]any{
		"context": "something else", "active_tools": nil, "platform": "slack", "host_app": "slack",
		"placement": "welcome", "user_region": "FR", "user_language": nil,
	} {
		wrong := map[string]any{field: value}
		for name, v := range right {
			if name != field {
				wrong[name] = v
			}
		}
		require.Nil(t, f.ask(f.key, body(t, wrong)).Ad, field)
	}
}

func TestNoFill(t *testing.T) {
	off := ingresstest.Recording(false)
	picky := generic()
	picky.Languages = []string{"fi"}
	for name, c := range map[string]struct {
		change func(f *fixture)
		reason auction.Reason
		retry  int
	}{
		"nothing to serve":     {func(f *fixture) { f.Shelf.Put() }, "no_campaigns", 0},
		"nothing that matches": {func(f *fixture) { f.Shelf.Put(picky) }, "no_match", 0},
		"budget used up":       {func(f *fixture) { f.Shelf.Refuse = auction.Budget }, "budget", 0},
		"paced":                {func(f *fixture) { f.Shelf.Refuse = auction.Paced }, "paced", 60},
		"catalog not fresh":    {func(f *fixture) { f.Shelf.Stale = true }, "stale", 2},
		"nothing is recorded":  {func(f *fixture) { f.Recording = off }, "stale", 2},
		"the creative is gone": {func(f *fixture) { f.Shelf.Campaigns = nil }, "no_match", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, 0)
			c.change(f)
			w := f.send(body(t, nil), "Authorization", "Bearer "+f.key)
			require.Equal(t, 200, w.Code)
			require.Contains(t, w.Body.String(), `"ad":null`)
			r := f.ask(f.key, body(t, nil))
			require.Equal(t, string(c.reason), r.Reason)
			require.Equal(t, c.retry, r.RetryAfter)
			logged := f.Log.Auctions[1]
			require.Equal(t, uuid.UUID(logged.AuctionId).String(), r.AuctionID, "what explains it")
			require.Equal(t, string(c.reason), logged.Reason, "the log says what the caller was told")
			require.Empty(t, logged.CampaignId)
			require.Empty(t, logged.CreativeFormat)
			sandbox := f.ask(account.PublicSandboxKey, body(t, nil))
			require.NotNil(t, sandbox.Ad, "the sandbox depends on nothing")
		})
	}
}

func TestSandboxKeys(t *testing.T) {
	f := newFixture(t, 0)
	const issued = "pub_test_YXtiwHsy1PJG1zRthC7O8ta71dRosY4VIrig" // with a valid checksum
	f.Keep(account.KindPublisher, account.KeyMaterial{Hash: sha256.Sum256([]byte(issued)), Prefix: issued[:13]})
	for key, developer := range map[string]uuid.UUID{
		account.PublicSandboxKey: uuid.Nil, "sk_test_anything": uuid.Nil, "pub_test_x": uuid.Nil, "sk_test_": uuid.Nil,
		issued: ingresstest.DeveloperID,
	} {
		t.Run(key, func(t *testing.T) {
			displayed := map[string]bool{}
			for range catalog.Sandbox() {
				ad := f.ask(key, body(t, map[string]any{"host_app": "Editor"})).Ad
				require.NotNil(t, ad)
				require.True(t, ad.Sandbox)
				displayed[ad.AdID] = true
				signed, err := f.Ring.Verify(token.PurposeReport.Only(), ad.AuctionID, ingresstest.Start)
				require.NoError(t, err)
				require.True(t, signed.Sandbox)
				require.Zero(t, signed.Price)
				require.Equal(t, uuid.Nil, signed.AdvertiserID)
				require.Equal(t, developer, signed.DeveloperID)
				require.Equal(t, ad.AdID, signed.CampaignID.String())
				require.Contains(
					t, ad.ImpressionURL,
					"https://ads.example/api/track?event=impression&campaign_id="+ad.AdID+"&auction_id=",
				)
			}
			require.Len(t, displayed, len(catalog.Sandbox()), "the pool rotates")
			ingresstest.RequireError(
				t, f.send(`{}`, "Authorization", "Bearer "+key), http.StatusBadRequest, "missing_context", "context",
			)
		})
	}
	require.Empty(t, f.Log.Auctions, "no auction took place")
}

// Nothing about a reader without consent is stored, and the log has the reason. The token carries
// the refusal to the events.
func TestConsent(t *testing.T) {
	f := newFixture(t, 0)
	for name, c := range map[string]struct {
		change  map[string]any
		header  []string
		refused bool
		flags   uint32
	}{
		"nothing":       {nil, nil, false, 0},
		"Sec-GPC":       {nil, []string{"Sec-GPC", "1"}, true, 0b10001},
		"Sec-GPC off":   {nil, []string{"Sec-GPC", "0"}, false, 0},
		"not opted out": {map[string]any{"consent": map[string]any{"us_privacy": "1YNN", "gpc": false}}, nil, false, 1},
		"opted out":     {map[string]any{"consent": map[string]any{"us_privacy": "1YYN"}}, nil, true, 0b10001},
		"null":          {map[string]any{"consent": nil}, nil, false, 0},
		"malformed":     {map[string]any{"consent": map[string]any{"tcf": "no TC string"}}, nil, true, 0b100011},
	} {
		t.Run(name, func(t *testing.T) {
			f.Log.Auctions = nil
			change := map[string]any{"session_id": "person-1", "user_region": "US-CA"}
			maps.Copy(change, c.change)
			w := f.send(body(t, change), append([]string{"Authorization", "Bearer " + f.key}, c.header...)...)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			var got reply
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.Equal(t, c.refused, strings.Contains(got.Ad.ImpressionURL, "&session=&"), got.Ad.ImpressionURL)
			for _, text := range []string{got.Ad.AuctionID, linkToken(got.Ad.ClickURL)} {
				signed, err := f.Ring.Verify(
					token.PurposeReport.Only()|token.PurposeClick.Only(), text, ingresstest.Start,
				)
				require.NoError(t, err)
				require.Equal(t, c.refused, signed.NoConsent)
				require.Equal(t, "US-CA", signed.Region)
			}
			require.Equal(t, c.flags, f.Log.Auctions[0].Consent)
		})
	}
	ingresstest.RequireError(
		t, f.send(body(t, map[string]any{"consent": "yes"}), "Authorization", "Bearer "+f.key), http.StatusBadRequest,
		"invalid_request", "consent",
	)
}

// A request reuses the memory of an earlier one, whose data must not leak.
func TestRequestsAreIndependent(t *testing.T) {
	f := newFixture(t, 0)
	for range 20 { // the pool may give another request's memory, or none
		f.Log.Auctions = nil
		full := f.ask(
			f.key,
			`{"context":"zebra okapi","platform":"secret-host","user_region":"US","session_id":"secret-session","turn":3,"active_tools":["secret-tool"],"format":"card"}`,
		)
		require.Contains(t, full.Ad.ImpressionURL, "&session=s.", "which stands for secret-session")
		for _, none := range []string{`{}`, `{"context":""}`, `{"extra":1}`} {
			ingresstest.RequireError(
				t, f.send(none, "Authorization", "Bearer "+f.key), http.StatusBadRequest, "missing_context", "context",
			)
		}
		for _, bare := range []string{`{"context":"chess"}`, `{"context":"chess","extra":1}`} {
			ad := f.ask(f.key, bare).Ad
			require.NotContains(t, ad.ImpressionURL, "secret")
			require.Contains(t, ad.ImpressionURL, "&session=&")
			_, err := f.Ring.Verify(token.PurposeReport.Only(), ad.AuctionID, ingresstest.Start)
			require.NoError(t, err)
		}
		require.Len(t, f.Log.Auctions, 3)
		for _, a := range f.Log.Auctions[1:] {
			require.Equal(t, "embed", a.Placement.Format)
			require.Empty(t, a.Placement.HostApp)
			require.Empty(t, a.Placement.Region)
			require.Zero(t, a.Tools)
			require.EqualValues(t, 1, a.Tokens)
		}
	}
}
