package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/ingresstest/endpoints"
	"adnet/internal/payment/stripe/stripetest"
)

// auditedElsewhere lists audited routes that write no entry of their own in this mode.
var auditedElsewhere = []string{
	// This route asks the provider. The answer is a notice like a webhook's, and storetest requires
	// its entry of every store.
	"POST /api/billing deposit",
	// It needs e-mails that are confirmed, see TestAConfirmedRegistrationIsAudited.
	"POST /api/auth verify",
	// It needs a record that the API cannot make, see TestALetterIsSentOnce of ingress/api/oversee.
	"POST /api/admin/dead_letters/:id/replay ",
	// It needs an ad that a reader has reported, see TestReportsOfReaders of ingress/api/manage.
	"POST /api/admin/reports/:id ",
	// It needs a link that only a mail has, see TestOneClickEndsOneKindOfOneAccount of
	// ingress/api/notices.
	"POST /unsubscribe/:token ",
}

// auditCall is one call that succeeds and changes something.
type auditCall struct {
	path   string // with query
	token  string
	body   string
	status int
	header http.Header
}

// auditWorld is an installation with an administrator and an owner.
type auditWorld struct {
	client
	server       *program
	admin, owner login
}

// visit is another login of the owner.
func (w *auditWorld) visit() (token, id string) {
	token = w.do(
		"POST", "/api/auth", "", `{"email":"owner@audit.example","password":"correct horse"}`, 200,
	)["token"].(string)
	for _, s := range w.do("GET", "/api/account/sessions", token, "", 200)["sessions"].([]any) {
		if session := s.(map[string]any); session["current"] == true {
			id = session["id"].(string)
		}
	}
	return token, id
}

// person is a new account with a second factor, which is on when confirmed.
func (w *auditWorld) person(confirmed bool) (token, code string) {
	u := w.register(uuid.NewString() + "@audit.example")
	secret := w.do(
		"POST", "/api/account/second_factor", u.token, `{"password":"correct horse"}`, 200,
	)["secret"].(string)
	code, err := totp.GenerateCode(secret, time.Now())
	require.NoError(w.t, err)
	if confirmed {
		codes := w.do(
			"POST", "/api/account/second_factor/confirm", u.token, `{"code":"`+code+`"}`, 200,
		)["recovery_codes"].([]any)
		code = codes[0].(string)
	}
	return u.token, code
}

// mailed is the token of the newest link that the server logged instead of mailing it.
func (p *program) mailed(t testing.TB) (token string) {
	t.Helper()
	link := regexp.MustCompile(`/console/(?:verify|reset)#(?:token=)?([A-Za-z0-9_.-]+)`)
	require.Eventually(t, func() bool {
		all := link.FindAllStringSubmatch(p.err.String(), -1)
		if len(all) > 0 {
			token = all[len(all)-1][1]
		}
		return token != ""
	}, 5*time.Second, 20*time.Millisecond)
	return token
}

// created is the id of a new campaign; more is further fields.
func (w *auditWorld) created(more string) string {
	reply := w.do("POST", "/api/campaigns", w.owner.token,
		`{"advertiser_id":"`+w.owner.id+`","headline":"Chess","cta_url":"https://chess.example.com/",
		"bid_amount":1`+more+`}`, 201)
	id := reply["campaign"].(map[string]any)["id"].(string)
	if reply["auto_approved"] == false && more == "" {
		w.do("POST", "/api/campaigns?action=review", w.admin.token, `{"id":"`+id+`","decision":"approved"}`, 200)
	}
	return id
}

// refused is the id of the newest decision against the owner, whose campaign is rejected first.
func (w *auditWorld) refused() string {
	w.do(
		"POST", "/api/campaigns?action=review", w.admin.token,
		`{"id":"`+w.created(`,"daily_budget":70`)+`","decision":"rejected","notes":"no"}`, 200,
	)
	return w.do("GET", "/api/decisions", w.owner.token, "", 200)["decisions"].([]any)[0].(map[string]any)["id"].(string)
}

func (w *auditWorld) key() string {
	return w.do("POST", "/api/keys", w.owner.token, `{"kind":"publisher","name":"bot"}`, 201)["id"].(string)
}

// parked returns the id of the newest payment event that waits for a decision.
func (w *auditWorld) parked() string {
	list := w.do("GET", "/api/billing?action=parked&limit=1", w.admin.token, "", 200)["parked"].([]any)
	return list[0].(map[string]any)["id"].(string)
}

func (w *auditWorld) checkout() string {
	return w.do(
		"POST", "/api/billing?action=create_checkout", w.owner.token, `{"advertiser_id":"`+w.owner.id+`","amount":5}`,
		200,
	)["deposit_id"].(string)
}

const auditSecret = "whsec_audit"

// delivery is a signed delivery of the payment provider.
func delivery(body string) http.Header {
	return stripetest.Sign(body, auditSecret, time.Now())
}

// calls says how to make each mutating route change something.
func auditCalls() map[string]func(w *auditWorld) auditCall {
	moves := func(action, from string) func(*auditWorld) auditCall {
		return func(w *auditWorld) auditCall {
			id := w.created(from)
			if action == "resume" {
				w.do("POST", "/api/campaigns?action=pause", w.owner.token, `{"id":"`+id+`"}`, 200)
			}
			return auditCall{"/api/campaigns?action=" + action, w.owner.token, `{"id":"` + id + `"}`, 200, nil}
		}
	}
	developer := uuid.NewString()
	return map[string]func(w *auditWorld) auditCall{
		"POST /api/auth register": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/auth?action=register", "",
				`{"email":"` + uuid.NewString() + `@audit.example","password":"correct horse"}`, 201, nil,
			}
		},
		"POST /api/auth logout": func(w *auditWorld) auditCall {
			token, _ := w.visit()
			return auditCall{"/api/auth?action=logout", token, ``, 200, nil}
		},
		"POST /api/auth reset": func(w *auditWorld) auditCall {
			email := uuid.NewString() + "@audit.example"
			w.register(email)
			w.do("POST", "/api/auth?action=forgot", "", `{"email":"`+email+`"}`, 202)
			return auditCall{
				"/api/auth?action=reset", "",
				`{"token":"` + w.server.mailed(w.t) + `","password":"correct horse again"}`, 200, nil,
			}
		},
		"DELETE /api/account/sessions ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			return auditCall{"/api/account/sessions", u.token, ``, 200, nil}
		},
		"DELETE /api/account/sessions/:id ": func(w *auditWorld) auditCall {
			_, id := w.visit()
			return auditCall{"/api/account/sessions/" + id, w.owner.token, ``, 200, nil}
		},
		"POST /api/account/password ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			return auditCall{
				"/api/account/password", u.token,
				`{"current_password":"correct horse","new_password":"correct horse again"}`, 200, nil,
			}
		},
		"PUT /api/account/publishing ": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/account/publishing", w.owner.token, fmt.Sprintf(`{"min_relevance":0.%06d}`, rand.IntN(1_000_000)),
				200, nil,
			}
		},
		"PATCH /api/account/profile ": func(w *auditWorld) auditCall {
			return auditCall{"/api/account/profile", w.owner.token, `{"company":"` + uuid.NewString() + `"}`, 200, nil}
		},
		"PATCH /api/account/notices ": func(w *auditWorld) auditCall {
			return auditCall{"/api/account/notices", w.owner.token, `{"language":"de"}`, 200, nil}
		},
		"POST /api/account/delete ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			return auditCall{"/api/account/delete", u.token, `{"password":"correct horse"}`, 200, nil}
		},
		"PUT /api/account/blocks ": func(w *auditWorld) auditCall {
			return auditCall{"/api/account/blocks", w.owner.token, `{"words":["` + uuid.NewString() + `"]}`, 200, nil}
		},
		"POST /api/account/second_factor/confirm ": func(w *auditWorld) auditCall {
			token, code := w.person(false)
			return auditCall{"/api/account/second_factor/confirm", token, `{"code":"` + code + `"}`, 200, nil}
		},
		"POST /api/account/second_factor/recovery_codes ": func(w *auditWorld) auditCall {
			token, code := w.person(true)
			return auditCall{
				"/api/account/second_factor/recovery_codes", token,
				`{"password":"correct horse","code":"` + code + `"}`, 200, nil,
			}
		},
		"POST /api/account/second_factor/remove ": func(w *auditWorld) auditCall {
			token, code := w.person(true)
			return auditCall{
				"/api/account/second_factor/remove", token, `{"password":"correct horse","code":"` + code + `"}`, 200,
				nil,
			}
		},
		"POST /api/keys ": func(w *auditWorld) auditCall {
			return auditCall{"/api/keys", w.owner.token, `{"kind":"publisher","name":"bot"}`, 201, nil}
		},
		"DELETE /api/keys ": func(w *auditWorld) auditCall {
			return auditCall{"/api/keys?id=" + w.key(), w.owner.token, ``, 200, nil}
		},
		"POST /api/keys/:id/rotate ": func(w *auditWorld) auditCall {
			return auditCall{"/api/keys/" + w.key() + "/rotate", w.owner.token, ``, 201, nil}
		},
		"DELETE /api/keys/:id ": func(w *auditWorld) auditCall {
			return auditCall{"/api/keys/" + w.key(), w.owner.token, ``, 200, nil}
		},
		"POST /api/webhooks ": func(w *auditWorld) auditCall {
			return auditCall{"/api/webhooks", w.owner.token, `{"url":"https://hooks.invalid/"}`, 201, nil}
		},
		"PATCH /api/webhooks/:id ": func(w *auditWorld) auditCall {
			return auditCall{"/api/webhooks/" + w.webhook(), w.owner.token, `{"enabled":false}`, 200, nil}
		},
		"DELETE /api/webhooks/:id ": func(w *auditWorld) auditCall {
			return auditCall{"/api/webhooks/" + w.webhook(), w.owner.token, ``, 200, nil}
		},
		"POST /api/webhooks/:id/rotate ": func(w *auditWorld) auditCall {
			return auditCall{"/api/webhooks/" + w.webhook() + "/rotate", w.owner.token, ``, 200, nil}
		},
		"POST /api/webhooks/:id/replay ": func(w *auditWorld) auditCall {
			path := "/api/webhooks/" + w.webhook()
			return auditCall{path + "/replay", w.owner.token, `{"delivery_id":"` + w.dropped(path) + `"}`, 200, nil}
		},
		"POST /api/campaigns ": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/campaigns", w.owner.token,
				`{"advertiser_id":"` + w.owner.id +
					`","headline":"Shogi","cta_url":"https://shogi.example.com/","bid_amount":1}`, 201, nil,
			}
		},
		"POST /api/campaigns create": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/campaigns?action=create", w.owner.token,
				`{"advertiser_id":"` + w.owner.id +
					`","headline":"Go","cta_url":"https://go.example.com/","bid_amount":1}`, 201, nil,
			}
		},
		"POST /api/campaigns update": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/campaigns?action=update", w.owner.token, `{"id":"` + w.created("") + `","daily_budget":71}`, 200,
				nil,
			}
		},
		"PATCH /api/campaigns ": func(w *auditWorld) auditCall {
			return auditCall{"/api/campaigns", w.owner.token, `{"id":"` + w.created("") + `","daily_budget":72}`, 200, nil}
		},
		"PATCH /api/campaigns/:id ": func(w *auditWorld) auditCall {
			return auditCall{"/api/campaigns/" + w.created(""), w.owner.token, `{"daily_budget":73}`, 200, nil}
		},
		"POST /api/campaigns copy": func(w *auditWorld) auditCall {
			return auditCall{"/api/campaigns?action=copy", w.owner.token, `{"id":"` + w.created("") + `"}`, 201, nil}
		},
		"POST /api/campaigns pause": moves("pause", ""), "POST /api/campaigns resume": moves("resume", ""),
		"POST /api/campaigns submit":  moves("submit", `,"status":"draft"`),
		"POST /api/campaigns archive": moves("archive", ""),
		"POST /api/campaigns review": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/campaigns?action=review", w.admin.token,
				`{"id":"` + w.created(`,"daily_budget":70`) + `","decision":"rejected","notes":"no"}`, 200, nil,
			}
		},
		"POST /api/decisions/:id/appeal ": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/decisions/" + w.refused() + "/appeal", w.owner.token, `{"text":"It is fine."}`, 201, nil,
			}
		},
		"POST /api/admin/appeals/:id ": func(w *auditWorld) auditCall {
			created := w.do("POST", "/api/decisions/"+w.refused()+"/appeal", w.owner.token, `{"text":"It is fine."}`, 201)
			return auditCall{
				"/api/admin/appeals/" + created["appeal"].(map[string]any)["id"].(string), w.admin.token,
				`{"outcome":"upheld","words":"It is not."}`, 200, nil,
			}
		},
		"POST /api/admin/users/:id/suspend ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			return auditCall{"/api/admin/users/" + u.id + "/suspend", w.admin.token, `{"reason":"odd"}`, 200, nil}
		},
		"POST /api/admin/users/:id/restore ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			w.do("POST", "/api/admin/users/"+u.id+"/suspend", w.admin.token, `{"reason":"odd"}`, 200)
			return auditCall{"/api/admin/users/" + u.id + "/restore", w.admin.token, `{"reason":"a mistake"}`, 200, nil}
		},
		"POST /api/admin/users/:id/role ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			return auditCall{
				"/api/admin/users/" + u.id + "/role", w.admin.token, `{"reason":"a colleague","role":"admin"}`, 200,
				nil,
			}
		},
		"POST /api/admin/users/:id/name ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			w.do("PATCH", "/api/account/profile", u.token, `{"company":"Example Ltd"}`, 200)
			return auditCall{
				"/api/admin/users/" + u.id + "/name", w.admin.token, `{"name":"Example Ltd","decision":"approved"}`,
				200, nil,
			}
		},
		"POST /api/admin/users/:id/family ": func(w *auditWorld) auditCall {
			u := w.register(uuid.NewString() + "@audit.example")
			return auditCall{
				"/api/admin/users/" + u.id + "/family", w.admin.token, `{"decision":"split","reason":"another owner"}`,
				200, nil,
			}
		},
		"POST /api/admin/verify ": func(w *auditWorld) auditCall {
			return auditCall{"/api/admin/verify", w.admin.token, ``, 202, nil}
		},
		"POST /api/billing create_checkout": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/billing?action=create_checkout", w.owner.token,
				`{"advertiser_id":"` + w.owner.id + `","amount":5}`, 200, nil,
			}
		},
		"POST /checkout/:id ": func(w *auditWorld) auditCall {
			return auditCall{"/checkout/" + w.checkout(), "", ``, 303, nil}
		},
		"POST /api/billing webhook": func(w *auditWorld) auditCall {
			body := stripetest.Paid("evt_"+uuid.NewString(), "pi_"+uuid.NewString(), 500, w.owner.id)
			return auditCall{"/api/billing?action=webhook", "", body, 200, delivery(body)}
		},
		"POST /api/billing quarantine": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/billing?action=quarantine", w.admin.token,
				`{"developer_id":"` + developer + `","decision":"hold","note":"odd"}`, 200, nil,
			}
		},
		"POST /api/billing parked": func(w *auditWorld) auditCall {
			event := `{"id":"evt_` + uuid.NewString() +
				`","type":"charge.odd","data":{"object":{"id":"ch_1","amount":500,"currency":"usd"}}}`
			w.send("POST", auditCall{"/api/billing?action=webhook", "", event, 200, delivery(event)})
			return auditCall{
				"/api/billing?action=parked", w.admin.token, `{"id":"` + w.parked() + `","decision":"dismiss","note":"odd"}`,
				200, nil,
			}
		},
		"POST /api/billing mint_cap": func(w *auditWorld) auditCall {
			return auditCall{
				"/api/billing?action=mint_cap", w.admin.token,
				`{"developer_id":"` + developer + `","cap":7,"note":"new"}`, 200, nil,
			}
		},
		"POST /api/stats aggregate": func(w *auditWorld) auditCall {
			return auditCall{"/api/stats?type=aggregate", w.admin.token, ``, 200, nil}
		},
	}
}

// TestEveryMutatingRouteIsAudited walks the route table: a route whose policy says that it is
// audited must leave an entry in the audit log that names its caller. A mutating route whose policy
// does not say whether it is audited cannot be mounted.
func TestEveryMutatingRouteIsAudited(t *testing.T) {
	server, base, _ := standalone(
		t, "--demo=off", "--admin-email", "boss@audit.example", "--admin-password", "long enough!",
		"--stripe-webhook-secret", auditSecret, "--log-level", "info",
	)
	w := &auditWorld{client: client{t, base}, server: server}
	w.owner = w.register("owner@audit.example")
	session := w.do(
		"POST", "/api/auth?action=login", "", `{"email":"boss@audit.example","password":"long enough!"}`, 200,
	)
	w.admin = login{token: session["token"].(string), id: session["user"].(map[string]any)["id"].(string)}
	w.created("") // an owner's first creative is approved at once, later ones wait for review
	newest := func() map[string]any {
		return w.do("GET", "/api/audit?limit=1", w.admin.token, "", 200)["entries"].([]any)[0].(map[string]any)
	}
	calls := auditCalls()
	for _, route := range endpoints.Routes(t) {
		name := route.Method + " " + route.Path + " " + route.Value
		if route.Policy.Audited != httpapi.Yes || slices.Contains(auditedElsewhere, name) {
			require.NotContains(t, calls, name)
			continue
		}
		call, known := calls[name]
		require.True(t, known, "%s: say how it changes something, or why it is not audited", name)
		delete(calls, name)
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			c := call(&w)
			before := newest()["seq"].(float64)
			w.send(route.Method, c)
			entry := newest()
			require.Greater(t, entry["seq"].(float64), before, "the change left no entry")
			actor := entry["actor"].(map[string]any)
			require.True(t, strings.HasPrefix(actor["action"].(string), route.Method+" "+route.Path), actor["action"])
			require.Contains(t, actor["action"], route.Value)
			switch c.token {
			case w.owner.token:
				require.Equal(t, w.owner.id, actor["account_id"])
			case w.admin.token:
				require.Equal(t, w.admin.id, actor["account_id"])
				require.Equal(t, "admin", actor["role"])
			}
			require.NotEmpty(t, entry["changes"])
		})
	}
	require.Empty(t, calls, "there are no such routes")
}

// webhook creates a webhook of the owner and returns its id.
func (w *auditWorld) webhook() string {
	w.t.Helper()
	made := w.do("POST", "/api/webhooks", w.owner.token, `{"url":"https://hooks.invalid/"}`, 201)
	return made["id"].(string)
}

// dropped makes an event, turns a webhook off and on, and returns the delivery that ended thereby.
func (w *auditWorld) dropped(path string) string {
	w.t.Helper()
	w.do("POST", "/api/campaigns?action=archive", w.owner.token, `{"id":"`+w.created("")+`"}`, 200)
	w.do("PATCH", path, w.owner.token, `{"enabled":false}`, 200)
	w.do("PATCH", path, w.owner.token, `{"enabled":true}`, 200)
	list := w.do("GET", path+"/deliveries", w.owner.token, "", 200)["deliveries"].([]any)
	return list[0].(map[string]any)["id"].(string)
}

func (w *auditWorld) send(method string, c auditCall) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.base+c.path, strings.NewReader(c.body))
	require.NoError(w.t, err)
	r.Header = c.header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	reply, err := (&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).Do(r)
	require.NoError(w.t, err)
	defer reply.Body.Close()
	require.Equal(w.t, c.status, reply.StatusCode, "%s %s", method, c.path)
}

// TestAConfirmedRegistrationIsAudited: where e-mails are confirmed an account begins with its link.
func TestAConfirmedRegistrationIsAudited(t *testing.T) {
	server, base, _ := standalone(
		t, "--demo=off", "--verify-email", "required", "--log-level", "info", "--admin-email", "boss@audit.example",
		"--admin-password", "long enough!",
	)
	api := client{t, base}
	api.do("POST", "/api/auth?action=register", "", `{"email":"new@audit.example","password":"correct horse"}`, 202)
	created := api.do(
		"POST", "/api/auth?action=verify", "", `{"token":"`+server.mailed(t)+`","password":"correct horse"}`, 201,
	)
	entry := api.do("GET", "/api/audit?limit=1", created["token"].(string), "", 200)["entries"].([]any)[0].(map[string]any)
	require.Equal(t, "POST /api/auth?action=verify", entry["actor"].(map[string]any)["action"])
	require.NotEmpty(t, entry["changes"])
}
