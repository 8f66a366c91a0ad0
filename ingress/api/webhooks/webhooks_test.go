package webhooks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/webhooks"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
)

type object = ingresstest.Object

func newWorld(t *testing.T) *ingresstest.World {
	t.Helper()
	w := ingresstest.New(t, ingresstest.Options{})
	webhooks.New(webhooks.Deps{
		Store: w.Store.Webhooks, Now: w.Clock, Check: func(url string) error {
			if !strings.HasPrefix(url, "https://") {
				return errs.New(errs.InvalidRequest, "must begin with https://")
			}
			return nil
		},
	}).Mount(w.HTTP)
	return w
}

// rejected makes an event about a campaign of an account.
func rejected(t *testing.T, w *ingresstest.World, owner uuid.UUID) {
	t.Helper()
	require.NoError(t, w.Store.Audit.RecordAudit(t.Context(), auditlog.Entry{
		TargetKind: auditlog.TargetCampaign, TargetID: uuid.NewString(), OwnerID: owner,
		Changes: map[string]auditlog.Change{"status": {Before: "active", After: "rejected"}},
	}))
}

func TestWebhooksAreManaged(t *testing.T) {
	w := newWorld(t)
	p := w.Login(t, account.User{})
	made := p.Post(t, "/api/webhooks", object{
		"url": "https://example.com/h", "description": " Ops ",
		"events": []string{"campaign.rejected", "campaign.ended", "campaign.ended"},
	}).As(201)
	secret, path := made["secret"].(string), "/api/webhooks/"+made["id"].(string)
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	require.Equal(t, "Ops", made["description"])
	require.Equal(t, []any{"campaign.ended", "campaign.rejected"}, made["events"])
	require.Equal(t, true, made["enabled"])
	listed := p.Get(t, "/api/webhooks")
	require.NotContains(t, listed.Text, "whsec_", "secrets are shown once")
	require.Len(t, listed.As(200)["webhooks"], 1)
	w.Now = w.Now.Add(time.Minute)
	changed := p.Call(t, "PATCH", path, object{"enabled": false, "events": []string{}}).As(200)
	require.Equal(t, false, changed["enabled"])
	require.Equal(t, []any{}, changed["events"])
	require.Equal(t, "https://example.com/h", changed["url"])
	require.NotContains(t, changed, "secret")
	next := p.Post(t, path+"/rotate", nil).As(200)
	require.NotEqual(t, secret, next["secret"])
	require.Equal(t, w.Now.Add(webhook.Overlap).Format(time.RFC3339), next["former_secret_until"])
	w.Now = w.Now.Add(webhook.Overlap)
	require.NotContains(t, p.Get(t, "/api/webhooks").Text, "former_secret_until")
	p.Call(t, "DELETE", path, nil).As(200)
	p.Call(t, "DELETE", path, nil).Fails(404, "not_found")
	require.Empty(t, p.Get(t, "/api/webhooks").As(200)["webhooks"])
}

func TestWrongWebhooksAreRefused(t *testing.T) {
	w := newWorld(t)
	p := w.Login(t, account.User{})
	for field, body := range map[string]object{
		"url":         {"description": "x"},
		"description": {"url": "https://a.example", "description": strings.Repeat("x", 201)},
		"events":      {"url": "https://a.example", "events": []string{"campaign.born"}},
		"enabled":     {"url": "https://a.example", "enabled": "yes"},
	} {
		require.Equal(t, field, p.Post(t, "/api/webhooks", body).Fails(400, "invalid_request")["field"], field)
	}
	plain := p.Post(t, "/api/webhooks", object{"url": "http://a.example"}).Fails(400, "invalid_request")
	require.Equal(t, "url", plain["field"])
	for range webhook.MaxEndpoints {
		p.Post(t, "/api/webhooks", object{"url": "https://a.example"}).As(201)
	}
	p.Post(t, "/api/webhooks", object{"url": "https://a.example"}).Fails(409, "conflict")
	p.Get(t, "/api/webhooks/x/deliveries").Fails(400, "invalid_request")
	w.Caller("").Get(t, "/api/webhooks").Fails(401, "invalid_token")
}

func TestDeliveriesAreListedAndReplayed(t *testing.T) {
	w := newWorld(t)
	p := w.Login(t, account.User{})
	path := "/api/webhooks/" + p.Post(t, "/api/webhooks", object{"url": "https://a.example"}).As(201)["id"].(string)
	rejected(t, w, p.ID)
	rejected(t, w, p.ID)
	claimed, err := w.Store.Outbox.ClaimMessages(t.Context(), outbox.Claim{
		Topic: outbox.Webhooks, Now: w.Now, Lease: time.Minute, Most: 1, PerTarget: 1,
	})
	require.NoError(t, err)
	id := claimed[0].ID.String()
	p.Post(t, path+"/replay", object{"delivery_id": id}).Fails(400, "invalid_state")
	failed := outbox.Ended{Message: claimed[0], At: w.Now, State: outbox.Failed, Status: 500, Problem: "answered 500"}
	require.NoError(t, w.Store.Outbox.EndAttempt(t.Context(), failed))
	all := p.Get(t, path+"/deliveries?limit=1").As(200)
	require.Equal(t, true, all["more"])
	first := all["deliveries"].([]any)[0].(object)
	require.Equal(t, "waiting", first["state"])
	require.Contains(t, first["payload"], `"type":"campaign.rejected"`)
	require.Contains(t, first, "next_attempt_at")
	one := p.Get(t, path+"/deliveries?state=failed").As(200)["deliveries"].([]any)
	require.Len(t, one, 1)
	require.Equal(t, id, one[0].(object)["id"])
	require.EqualValues(t, 500, one[0].(object)["status"])
	p.Get(t, path+"/deliveries?state=lost").Fails(400, "invalid_request")
	p.Get(t, path+"/deliveries?limit=101").Fails(400, "invalid_request")
	p.Post(t, path+"/replay", object{"delivery_id": "x"}).Fails(400, "invalid_request")
	p.Post(t, path+"/replay", object{"delivery_id": uuid.NewString()}).Fails(404, "not_found")
	p.Post(t, path+"/replay", object{"delivery_id": id}).As(200)
	require.Empty(t, p.Get(t, path+"/deliveries?state=failed").As(200)["deliveries"])
}

// A webhook of another account does not exist, whatever the call; administrators are no exception.
func TestForeignWebhooksDoNotExist(t *testing.T) {
	w := newWorld(t)
	victim := w.Login(t, account.User{})
	made := victim.Post(t, "/api/webhooks", object{"url": "https://a.example/secret"}).As(201)
	path := "/api/webhooks/" + made["id"].(string)
	rejected(t, w, victim.ID)
	sent := victim.Get(t, path+"/deliveries").As(200)["deliveries"].([]any)[0].(object)
	for _, other := range []*ingresstest.Person{
		w.Login(t, account.User{}), w.Login(t, account.User{Role: account.RoleAdmin}),
	} {
		require.NotContains(t, other.Get(t, "/api/webhooks").Text, "secret")
		other.Call(t, "PATCH", path, object{"url": "https://b.example"}).Fails(404, "not_found")
		other.Call(t, "DELETE", path, nil).Fails(404, "not_found")
		other.Post(t, path+"/rotate", nil).Fails(404, "not_found")
		other.Get(t, path+"/deliveries").Fails(404, "not_found")
		other.Post(t, path+"/replay", object{"delivery_id": sent["id"]}).Fails(404, "not_found")
	}
	require.Len(t, victim.Get(t, "/api/webhooks").As(200)["webhooks"], 1)
}
