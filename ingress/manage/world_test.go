package manage_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/ingress/manage"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/memory"
	"adnet/internal/money"
	"adnet/internal/obs"
	"adnet/internal/token"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// world is the management API over the stores of in-memory mode. Every reply is checked against
// openapi.json.
type world struct {
	http      *httpapi.Server
	store     *memory.Store
	reports   *memory.Reports
	accounts  *account.Service
	campaigns *campaign.Service
	sessions  *token.Sessions
	nodes     *nodes
	contract  *apitest.Contract
	now       time.Time
	unfunded  func(campaign.Campaign) (bool, error) // nil for never
}

// nodes are the serving nodes that changes are announced to.
type nodes struct {
	told  []campaign.Campaign
	apart bool  // a node does not confirm
	err   error // nobody can be told
}

func (n *nodes) Announce(_ context.Context, c campaign.Campaign) (bool, error) {
	n.told = append(n.told, c)
	return !n.apart, n.err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.management(httpapi.NewAuth(httpapi.AuthDeps{Users: w.store, Keys: w.store, Sessions: w.sessions, Now: w.clock})).Mount(w.http)
	return w
}

// emptyWorld is a world without routes.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	w := &world{nodes: &nodes{}, contract: apitest.Load(t), now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}
	clock := w.clock
	w.store, w.reports = memory.New(clock), memory.NewReports()
	var err error
	w.http, err = httpapi.New(httpapi.Config{}, httpapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	key, err := token.NewKey("k1")
	require.NoError(t, err)
	w.sessions, err = token.NewSessions([]token.Key{key})
	require.NoError(t, err)
	w.accounts = account.NewService(account.Deps{Users: w.store, Keys: w.store, Now: clock})
	w.campaigns = campaign.NewService(campaign.Deps{Store: w.store, Announcer: w.nodes, Now: clock, CreditValue: money.USD})
	return w
}

func (w *world) management(auth *httpapi.Auth) *manage.API {
	return manage.New(manage.Deps{
		Auth: auth, Sessions: w.sessions, Accounts: w.accounts, Campaigns: w.campaigns, Stats: w.reports, Rollup: w.reports, Audit: w.store, Now: w.clock,
		Unfunded: func(_ context.Context, c campaign.Campaign) (bool, error) {
			if w.unfunded == nil {
				return false, nil
			}
			return w.unfunded(c)
		},
	})
}

func (w *world) clock() time.Time { return w.now }

// person is somebody who is logged in.
type person struct {
	account.User
	w     *world
	token string
}

func (w *world) advertiser(t *testing.T) *person { return w.person(t, account.RoleAdvertiser) }
func (w *world) admin(t *testing.T) *person      { return w.person(t, account.RoleAdmin) }
func (w *world) nobody() *person                 { return &person{w: w} }

// person makes an account without the cost of a password.
func (w *world) person(t *testing.T, role account.Role) *person {
	t.Helper()
	u := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Role: role, TokenVersion: 1, CreatedAt: w.now}
	u.Email = u.ID.String() + "@example.com"
	require.NoError(t, w.store.CreateUser(t.Context(), u))
	text, _, err := w.sessions.Issue(token.Claims{UserID: u.ID, Role: string(role), Email: u.Email, Version: 1}, w.now)
	require.NoError(t, err)
	return &person{User: u, w: w, token: text}
}

// object is a JSON object.
type object = map[string]any

// reply is an answer with its body read.
type reply struct {
	t      *testing.T
	code   int
	header http.Header
	text   string
}

// call sends a request; body is an object, a text that is sent as it is, or nil.
func (p *person) call(t *testing.T, method, path string, body any) reply {
	t.Helper()
	text, raw := body.(string)
	if !raw && body != nil {
		b, err := json.Marshal(body)
		require.NoError(t, err)
		text = string(b)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(text))
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	recorder := httptest.NewRecorder()
	p.w.http.ServeHTTP(recorder, r)
	p.w.contract.Check(t, r, recorder)
	if recorder.Code < 300 {
		p.w.contract.Accepts(t, r, text)
	}
	return reply{t, recorder.Code, recorder.Header(), recorder.Body.String()}
}

func (p *person) get(t *testing.T, path string) reply { t.Helper(); return p.call(t, "GET", path, nil) }
func (p *person) post(t *testing.T, path string, body any) reply {
	t.Helper()
	return p.call(t, "POST", path, body)
}

// as expects a status and decodes the object.
func (r reply) as(status int) object {
	r.t.Helper()
	require.Equal(r.t, status, r.code, r.text)
	var body object
	require.NoError(r.t, json.Unmarshal([]byte(r.text), &body), r.text)
	return body
}

// fails expects an error.
func (r reply) fails(status int, code string) object {
	r.t.Helper()
	body := r.as(status)
	require.Equal(r.t, code, body["code"], r.text)
	require.NotEmpty(r.t, body["error"])
	return body
}

// at walks into nested objects and arrays: at(body, "campaign", "id").
func at(body any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, ok := body.(object)
			if !ok {
				return fmt.Errorf("%v is no object", body)
			}
			body = o[s]
		case int:
			body = body.([]any)[s]
		}
	}
	return body
}

// draft is the least that creates a campaign of p's.
func (p *person) draft(more ...any) object {
	body := object{"advertiser_id": p.ID.String(), "headline": "Query Postgres in plain English", "cta_url": "https://example.com/try"}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// creates makes a campaign and gives its id.
func (p *person) creates(t *testing.T, more ...any) string {
	t.Helper()
	return at(p.post(t, "/api/campaigns", p.draft(more...)).as(201), "campaign", "id").(string)
}

func (p *person) status(t *testing.T, id string) any {
	t.Helper()
	return at(p.get(t, "/api/campaigns/"+id).as(200), "campaign", "status")
}
