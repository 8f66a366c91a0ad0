// Package webhooks checks messages to webhooks by the public library of Standard Webhooks.
package webhooks

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	sender "adnet/consumers/webhooks"
	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/outbound"
	"adnet/internal/outbound/webhook"
	"adnet/internal/store/memory"
)

// received is a request as the receiver got it.
type received struct {
	header http.Header
	body   []byte
}

// A receiver that uses the public library accepts the messages, also with the secret before a
// rotation, and refuses changed ones.
func TestThePublicLibraryAcceptsMessages(t *testing.T) {
	got := make(chan received, 4)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{r.Header, body}
	}))
	defer server.Close()
	stores := memory.New(time.Now)
	u := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Email: "a@example.com"}
	require.NoError(t, stores.Accounts.CreateUser(t.Context(), u))
	former, next := webhook.NewSecret(), webhook.NewSecret()
	e := webhook.Endpoint{ID: uuid.New(), AccountID: u.ID, URL: server.URL + "/hook", Enabled: true, Secret: former}
	e.Rotate(next, time.Now())
	require.NoError(t, stores.Webhooks.CreateEndpoint(t.Context(), e))
	client, err := outbound.New(outbound.Config{Networks: []string{"127.0.0.0/8", "::1"}})
	require.NoError(t, err)
	defer client.Close()
	s := sender.New(sender.Deps{
		Outbox: stores.Outbox, Endpoints: stores.Webhooks, Client: client, Log: slog.New(slog.DiscardHandler),
		Metrics: prometheus.NewRegistry(),
	})
	require.NoError(t, stores.Audit.RecordAudit(t.Context(), auditlog.Entry{
		TargetKind: auditlog.TargetCampaign, TargetID: uuid.NewString(), OwnerID: u.ID,
		Changes: map[string]auditlog.Change{"status": {Before: "active", After: "archived"}},
	}))
	require.NoError(t, s.Turn(t.Context()))
	message := <-got
	require.Contains(t, string(message.body), `"type":"campaign.ended"`)
	for secret, valid := range map[webhook.Secret]bool{former: true, next: true, webhook.NewSecret(): false} {
		by, err := standard.NewWebhook(string(secret))
		require.NoError(t, err)
		require.Equal(t, valid, by.Verify(message.body, message.header) == nil)
		require.Error(t, by.Verify(append(message.body, ' '), message.header))
	}
}
