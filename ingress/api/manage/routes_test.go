package manage_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/billing"
	"adnet/ingress/api/webhooks"
	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/ingresstest/endpoints"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/money"
	"adnet/internal/payment"
)

// everything also mounts the other endpoints. Only their access checks are tested here: they have
// no producer.
func everything(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	payments, err := payment.New(
		payment.Config{}, payment.Deps{Store: w.Store.Payments, BaseURL: w.HTTP.BaseURL, Now: w.Clock},
	)
	require.NoError(t, err)
	endpoints.Mount(t, w.HTTP, endpoints.Parts{
		Auth: w.Auth, Campaigns: w.campaigns, Management: w.management(), Now: w.Clock,
		Billing: billing.New(billing.Deps{
			Metrics: prometheus.NewRegistry(), Users: w.Store.Accounts, Ledger: w.Store.Ledger,
			Publishers: w.Store.Publishers,
			Payments:   payments, Now: w.Clock,
		}),
		Notices:  w.Store.Notices,
		Webhooks: webhooks.New(webhooks.Deps{Store: w.Store.Webhooks, Check: func(string) error { return errors.New("is refused") }, Now: w.Clock}),
	})
	return w
}

// The error for an unknown action lists the document's actions.
func TestUnknownActionErrorListsTheActions(t *testing.T) {
	w := everything(t)
	for _, op := range w.Contract.Describe() {
		if op.Selector == "" {
			continue
		}
		got := w.nobody().Call(t, op.Method, op.Path+"?"+op.Selector+"=unheard_of", nil).Fails(400, "invalid_request")
		_, names, _ := strings.Cut(got["error"].(string), "one of ")
		require.ElementsMatch(t, strings.Split(names, ", "), op.Values, op.Path)
	}
}

// Query values outside the document's bounds are rejected for every action. An empty value counts
// as absent.
func TestQueriesAreHeldToTheDocument(t *testing.T) {
	w := everything(t)
	admin, tried := w.admin(t), 0
	for _, q := range w.Contract.Questions() {
		// beacons and notices are taken as they come
		if strings.HasPrefix(q.Path, "/api/track") || strings.HasPrefix(q.Path, "/api/rtb") {
			continue
		}
		for _, value := range []string{"", "AAA", "%00", "-1.5"} {
			if (q.Name == "target_id" || q.Name == "q" || q.Name == "problem") && value != "" {
				continue
			}
			tried++
			url := strings.ReplaceAll(q.Path, "{id}", uuid.NewString()) + "?" + q.Name + "=" + value
			if q.Selector != "" && q.Selector != q.Name {
				url += "&" + q.Selector + "=" + q.Values[0]
			}
			got := admin.Call(t, q.Method, url, object{}).Fails(400, "invalid_request")
			require.Equal(t, q.Name, got["field"], "%s %s", q.Method, url)
		}
	}
	require.Greater(t, tried, 150)
}

// call is a request of an operation, complete but for the body.
type call struct {
	apitest.Operation
	url string // ends with ? or &
}

// exactCalls are requests of the operations that refuse what they do not know, one for each action.
func exactCalls(t *testing.T, w *world) (all []call) {
	t.Helper()
	exact := map[string]bool{}
	for _, route := range w.HTTP.Routes() {
		name := route.Method + " " + parameter.ReplaceAllString(route.Path, "{$1}")
		exact[name] = exact[name] || route.Exact
		if route.Param == "action" {
			exact[name+"/"+route.Value] = route.Exact
		}
	}
	for _, op := range w.Contract.Describe() {
		name := op.Method + " " + op.Path
		if !exact[name] {
			require.NotRegexp(t, `^/api/(stats|admin|campaigns|account|auth|keys)`, op.Path)
			require.True(t, !strings.HasPrefix(op.Path, "/api/billing") || op.Path == "/api/billing/webhook", op.Path)
			continue
		}
		path := strings.NewReplacer("{id}", uuid.NewString(), "{auction_id}", uuid.NewString()).Replace(op.Path) + "?"
		if op.Selector == "" {
			op.Values = []string{""}
		}
		for _, value := range op.Values {
			switch {
			case value == "":
				all = append(all, call{op, path})
			case value != "webhook" && value != "payout":
				all = append(all, call{op, path + op.Selector + "=" + value + "&"})
			}
		}
	}
	return all
}

// fits is a valid value of each parameter whose values are restricted.
var fits = map[string]string{
	"since": "2026-03-01", "until": "2026-03-02", "date": "2026-03-01", "month": "2026-02", "limit": "5",
	"offset": "0", "format": "csv", "bom": "1", "breakdown": "day", "asset": "USD", "before": "7", "keep": "current",
	"shape": "array", "kind": "pause", "appeal": "open", "target_kind": "campaign", "role": "admin",
	"language": "en", "reason": "pending",
}

// An operation of the management API refuses a query parameter that it does not know, one that occurs
// twice, and an unknown field of the body, each by its name: an ignored condition would answer
// another question.
func TestOperationsRefuseWhatTheyDoNotKnow(t *testing.T) {
	w := everything(t)
	admin, params, bodies := w.admin(t), 0, 0
	refuses := func(c call, query string, body any, field string) {
		t.Helper()
		got := admin.Call(t, c.Method, c.url+query, body).Fails(400, "invalid_request")
		require.Equal(t, field, got["field"], "%s %s%s", c.Method, c.url, query)
	}
	for _, c := range exactCalls(t, w) {
		for _, unknown := range []string{"bananas", "Since", "advertiser_name"} {
			refuses(c, unknown+"=5", nil, unknown)
		}
		for _, name := range c.Query {
			if name == c.Selector {
				if strings.HasSuffix(c.url, "&") {
					refuses(c, c.url[strings.IndexByte(c.url, '?')+1:], nil, name)
				}
				continue
			}
			value := fits[name]
			if value == "" {
				value = uuid.NewString()
			}
			refuses(c, name+"="+value+"&"+name+"="+value, nil, name)
			params++
		}
		if c.Method != "GET" {
			refuses(c, "", object{"bananas": 5}, "bananas")
			bodies++
		}
	}
	require.Greater(t, params, 150)
	require.Greater(t, bodies, 70)
}

// What a type of stats does not use would select nothing, and the reply would be of something else.
func TestStatsOfAnotherThingAreRefused(t *testing.T) {
	w := everything(t)
	for query, field := range map[string]string{
		"advertiser_id=" + uuid.NewString():              "advertiser_id",
		"type=overview&campaign_id=" + uuid.NewString():  "campaign_id",
		"campaign_id=" + uuid.NewString():                "campaign_id",
		"type=developer&campaign_id=" + uuid.NewString(): "campaign_id",
		"type=campaign&developer_id=" + uuid.NewString(): "developer_id",
		"breakdown=day&breakdown=campaign":               "breakdown",
		strings.Repeat("x", 200) + "=1":                  strings.Repeat("x", 100),
	} {
		got := w.admin(t).Get(t, "/api/stats?"+query).Fails(400, "invalid_request")
		require.Equal(t, field, got["field"], query)
	}
	for _, query := range []string{"campaign_id=%zz", "a;b=1"} {
		w.admin(t).Get(t, "/api/stats?"+query).Fails(400, "invalid_request")
	}
}

// Checks of a draft take what its creation takes, and a campaign as it was read.
func TestDraftsAreSentAsRead(t *testing.T) {
	w := everything(t)
	me := w.advertiser(t)
	read := at(me.Get(t, "/api/campaigns/"+me.creates(t)).As(200), "campaign").(object)
	for _, path := range []string{"check", "forecast", "preview"} {
		me.Post(t, "/api/campaigns/"+path, me.draft("use_ad_credit", true, "status", "draft")).As(200)
		me.Post(t, "/api/campaigns/"+path, read).As(200)
	}
}

// Ids in bodies are ids, or absent.
func TestEmptyIDsInBodies(t *testing.T) {
	w := everything(t)
	p := w.advertiser(t)
	id := p.creates(t)
	for _, c := range []struct {
		method, path, field string
		body                object
	}{
		{"POST", "/api/keys", "campaign_id", object{"kind": "conversion", "campaign_id": ""}},
		{"POST", "/api/billing/balance", "developer_id", object{"developer_id": ""}},
		{"POST", "/api/billing/balance", "advertiser_id", object{"advertiser_id": ""}},
		{"POST", "/api/billing/create_checkout", "advertiser_id", object{"advertiser_id": "", "amount": 5}},
		{"POST", "/api/billing/create_checkout", "amount", object{"amount": 5.001}},
		{"POST", "/api/billing/deposit", "deposit_id", object{"deposit_id": ""}},
		{"POST", "/api/billing/deposit", "order_id", object{"order_id": ""}},
		{"PATCH", "/api/campaigns", "id", object{"headline": "x"}},
		{"PATCH", "/api/campaigns", "id", object{"headline": "x", "id": ""}},
		{"PATCH", "/api/campaigns/" + id, "id", object{"headline": "x", "id": ""}},
		{"PATCH", "/api/campaigns/" + id, "id", object{"headline": "x", "id": uuid.NewString()}},
		{"PATCH", "/api/campaigns/" + id, "status", object{"headline": "x", "status": ""}},
		{
			"POST", "/api/auth/login", "invite",
			object{"email": p.Email, "password": "x", "invite": strings.Repeat("x", 4097)},
		},
	} {
		got := p.Call(t, c.method, c.path, c.body).Fails(400, "invalid_request")
		require.Equal(t, c.field, got["field"], "%s %s %v", c.method, c.path, c.body)
	}
	p.Call(t, "PATCH", "/api/campaigns/"+id, object{"headline": "x", "id": id}).As(200)
}

// The document states the limits that the code has.
func TestDocumentedLimits(t *testing.T) {
	c := apitest.Load(t)
	for field, want := range map[string][2]money.Micros{
		"bid_amount": {campaign.MinBid, campaign.MaxBid}, "daily_budget": {campaign.MinBudget, campaign.MaxDailyBudget},
		"total_budget": {campaign.MinBudget, campaign.MaxTotalBudget},
	} {
		low, high := c.Bounds(t, "CampaignFields", field)
		require.Equal(
			t, want, [2]money.Micros{money.Micros(low * float64(money.USD)), money.Micros(high * float64(money.USD))},
			field,
		)
	}
	for field, want := range map[string]int{
		"headline": campaign.MaxHeadline, "subtext": campaign.MaxSubtext, "name": campaign.MaxName,
		"cta_label": campaign.MaxCTALabel, "cta_url": campaign.MaxURL,
	} {
		_, high := c.Bounds(t, "CampaignFields", field)
		require.EqualValues(t, want, high, field)
	}
}

// endpoint is one logical endpoint.
type endpoint struct {
	apitest.Operation
	value string // of the selector
	auth  httpapi.Access
}

func (e endpoint) String() string {
	if e.value == "" {
		return e.Method + " " + e.Path
	}
	return e.Method + " " + e.Path + " " + e.value
}

func (e endpoint) url(id string) string {
	path := strings.ReplaceAll(e.Path, "{id}", id)
	if e.value == "" {
		return path + "?"
	}
	return path + "?" + e.Selector + "=" + e.value + "&"
}

// authenticated are the endpoints that need a caller, from the table of routes; what of their
// requests may hold an id is in the document.
func authenticated(t *testing.T, w *world) (all []endpoint) {
	t.Helper()
	documented := map[string]apitest.Operation{}
	for _, op := range w.Contract.Describe() {
		documented[op.Method+" "+op.Path] = op
	}
	for _, route := range w.HTTP.Routes() {
		if route.Policy.Auth&httpapi.Anyone != 0 {
			continue
		}
		op, known := documented[route.Method+" "+parameter.ReplaceAllString(route.Path, "{$1}")]
		require.True(t, known, "%s %s is not in openapi.json", route.Method, route.Path)
		if route.Param != "" {
			op.Selector, op.Values = route.Param, []string{route.Value}
		}
		if len(op.Values) == 0 {
			op.Values = []string{""}
		}
		for _, value := range op.Values {
			all = append(all, endpoint{op, value, route.Policy.Auth})
		}
	}
	return all
}

var parameter = regexp.MustCompile(`:(\w+)`)

func TestNothingWithoutToken(t *testing.T) {
	w := everything(t)
	all := authenticated(t, w)
	require.Greater(t, len(all), 20)
	id := uuid.NewString()
	for _, e := range all {
		t.Run(e.String(), func(t *testing.T) {
			got := w.nobody().Call(t, e.Method, e.url(id), object{"id": id, "context": "x"}).As(401)
			require.Contains(t, []any{"invalid_token", "missing_authorization"}, codeOf(got))
			got = w.caller("pub_live_x").Call(t, e.Method, e.url(id), object{"id": id, "context": "x"}).As(401)
			require.Equal(t, "invalid_token", codeOf(got))
		})
	}
}

func TestAdministratorsRoutesAreClosedToOthers(t *testing.T) {
	w := everything(t)
	advertiser, id, tried := w.advertiser(t), uuid.NewString(), 0
	for _, e := range authenticated(t, w) {
		if e.auth != httpapi.AdminToken {
			continue
		}
		tried++
		t.Run(e.String(), func(t *testing.T) {
			got := advertiser.Call(t, e.Method, e.url(id), object{"id": id, "developer_id": id, "decision": "approved"})
			require.Contains(t, []int{401, 403}, got.Code, got.Text)
		})
	}
	require.Greater(t, tried, 5)
}

// codeOf is an error's code on the REST wire, and on the JSON-RPC one.
func codeOf(body object) any {
	if code, rest := body["code"]; rest {
		return code
	}
	return at(body, "error", "data", "code")
}

// takesNoID are the endpoints and places that ignore ids. They may reply, but only about the
// caller.
var takesNoID = []string{
	"POST /v1/ad-request, body", "POST /api/keys, body", "POST /api/stats aggregate, body",
	"POST /api/account/password, body", "PUT /api/account/blocks, body", "PATCH /api/account/profile, body",
	"POST /api/account/delete, body", "PUT /api/account/publishing, body",
	"POST /api/webhooks, body", "PATCH /api/account/notices, body", "POST /api/account/second_factor, body", "POST /api/account/second_factor/confirm, body",
	"POST /api/account/second_factor/recovery_codes, body", "POST /api/account/second_factor/remove, body",
	"POST /api/campaigns check, body", "POST /api/campaigns forecast, body", "POST /api/campaigns/preview, body",
	"POST /api/track check, body",
	// With the id in the path, one in the body may only repeat it.
	"PATCH /api/campaigns/{id}, body",
}

// Every route and every kind of foreign id: the request is refused, the reply contains nothing of
// the victim's, and nothing of the victim's changes.
func TestForeignIDs(t *testing.T) {
	w := everything(t)
	victim, attacker := w.advertiser(t), w.advertiser(t)
	secret := "victims headline"
	foreignCampaign, own := victim.creates(t, "headline", secret), attacker.creates(t)
	key, err := w.accounts.CreateKey(
		t.Context(), victim.User, account.KeyRequest{Kind: account.KindPublisher, Name: "victims key"},
	)
	require.NoError(t, err)
	w.busy(t, victim, victim, foreignCampaign)
	before := w.heldBy(t, victim)
	kinds := map[string]string{
		"campaign": foreignCampaign, "key": key.ID.String(), "user": victim.ID.String(),
		"developer": victim.DeveloperID.String(),
	}
	tried := 0
	for _, e := range authenticated(t, w) {
		// At each place, an id of each kind.
		places := append(slices.Clone(e.IDs), "body")
		if strings.Contains(e.Path, "{id}") {
			places = append(places, "path")
		}
		for _, place := range places {
			for kind, id := range kinds {
				name := e.String() + ", " + place
				if place == "body" && !e.Body {
					continue
				}
				t.Run(name+" = "+kind, func(t *testing.T) {
					tried++
					var got reply
					switch place {
					case "path":
						got = knownOnly(t, attacker, e.Method, e.url(id), object{"headline": "stolen", "text": "stolen"})
					case "body":
						got = knownOnly(t, attacker, e.Method, e.url(own), object{
							"id": id, "advertiser_id": id, "developer_id": id, "campaign_id": id, "headline": "stolen",
							"text": "stolen", "decision": "approved",
							"cta_url": "https://example.com", "kind": "publisher",
						})
					default:
						got = attacker.Call(t, e.Method, e.url(own)+place+"="+id, nil)
					}
					for _, text := range []string{secret, "victims key", victim.Email} {
						require.NotContains(t, got.Text, text)
					}
					if slices.Contains(takesNoID, name) {
						return
					}
					if unknownName.MatchString(got.Text) { // of another action of the path
						require.Equal(t, 400, got.Code, got.Text)
						return
					}
					want := []int{403, 404}
					if strings.Contains(name, "review") || strings.Contains(name, "ad-request") ||
						strings.Contains(name, "/api/mcp") || strings.Contains(name, "/api/rtb") {
						want = []int{401} // the attacker is not an administrator and has no key
					}
					if kind != "campaign" && isMove(e.value) {
						want = append(want, 400) // unknown campaign (specification)
					}
					require.Contains(t, want, got.Code, got.Text)
				})
			}
		}
	}
	require.Greater(t, tried, 60)
	require.Equal(t, before, w.heldBy(t, victim))
}

// unknownName is the error for a parameter or a field that an endpoint does not have.
var unknownName = regexp.MustCompile(`this call has no (?:field|parameter) \\"(\w+)\\"`)

// knownOnly calls an endpoint with the fields of a body that it has.
func knownOnly(t *testing.T, p *person, method, url string, body object) reply {
	t.Helper()
	for {
		got := p.Call(t, method, url, body)
		unknown := unknownName.FindStringSubmatch(got.Text)
		if unknown == nil || body[unknown[1]] == nil {
			return got
		}
		delete(body, unknown[1])
	}
}

func isMove(action string) bool {
	return slices.Contains([]string{"pause", "resume", "submit", "archive"}, action)
}

// held is everything that has an owner.
type held struct {
	user      account.User
	keys      []account.Key
	campaigns []campaign.Campaign
}

func (w *world) heldBy(t *testing.T, p *person) (h held) {
	t.Helper()
	var err error
	h.user, err = w.Store.Accounts.User(t.Context(), p.ID)
	require.NoError(t, err)
	h.keys, err = w.Store.Accounts.Keys(t.Context(), p.ID)
	require.NoError(t, err)
	h.campaigns, _, err = w.Store.Campaigns.Campaigns(t.Context(), campaign.Filter{AdvertiserID: p.ID})
	require.NoError(t, err)
	return h
}

// An owner reads the stats, Credits and history of its own seats, and of no other's.
func TestSeatsOfAnOwner(t *testing.T) {
	w := everything(t)
	owner, stranger := w.advertiser(t), w.advertiser(t)
	seat := account.User{
		ID: uuid.New(), DeveloperID: uuid.New(), Email: "x@seats.invalid", Role: account.RoleSeat, ParentID: owner.ID,
	}
	require.NoError(
		t,
		w.Store.Accounts.CreateSeat(
			t.Context(), seat,
			account.Key{
				ID: uuid.New(), OwnerID: seat.ID, DeveloperID: seat.DeveloperID, Kind: account.KindSeatPath,
				Hash: [32]byte{1},
			},
		),
	)
	for _, path := range []string{
		"/api/stats?type=developer&developer_id=" + seat.DeveloperID.String(),
		"/api/billing/balance?developer_id=" + seat.DeveloperID.String(),
		"/api/billing/balance?advertiser_id=" + seat.ID.String(),
		"/api/billing/earnings?developer_id=" + seat.DeveloperID.String(),
		"/api/billing/history?advertiser_id=" + seat.ID.String() + "&developer_id=" + seat.DeveloperID.String(),
	} {
		w.caller(owner.Token).Get(t, path).As(200)
		stranger.Get(t, path).Fails(403, "forbidden")
	}
	both := "/api/billing/balance?advertiser_id=" + stranger.ID.String() + "&developer_id=" + seat.DeveloperID.String()
	owner.Get(t, both).Fails(403, "forbidden")
	keys := owner.Get(t, "/api/keys").As(200)["keys"].([]any)
	require.Len(t, keys, 1)
	require.Equal(t, seat.ID.String(), keys[0].(object)["seat_id"])
	body := object{"advertiser_id": seat.ID.String(), "headline": "Chess", "cta_url": "https://chess.example.com/"}
	stranger.Post(t, "/api/campaigns", body).Fails(403, "forbidden")
	owner.Post(t, "/api/campaigns", body).Fails(400, "invalid_request")
	body["use_ad_credit"] = true
	owner.Post(t, "/api/campaigns", body).Fails(503, "demo_mode") // of in-memory mode: it was let through to the store
	owner.Post(t, "/api/keys", object{"kind": "seatpath", "seat_id": seat.ID.String()}).Fails(403, "forbidden")
	created := w.admin(t).Post(
		t, "/api/keys",
		object{"kind": "seatpath", "seat_id": seat.ID.String(), "addresses": []string{"192.0.2.7", "2001:db8::/32"}},
	).As(201)
	require.Equal(t, seat.DeveloperID.String(), created["developer_id"])
	require.Equal(t, []any{"192.0.2.7/32", "2001:db8::/32"}, created["addresses"])
	w.admin(t).Post(
		t, "/api/keys", object{"kind": "seatpath", "addresses": []string{"x"}},
	).Fails(400, "invalid_request")
	owner.Call(t, "DELETE", "/api/keys/"+created["id"].(string), nil).As(200)
}
