package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/outbound"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/store/memory"
)

// receiver is the network: it answers each request.
type receiver struct {
	mu     sync.Mutex
	got    []outbound.Request
	answer func(r outbound.Request) (outbound.Response, error)
}

func (r *receiver) Do(_ context.Context, in outbound.Request) (outbound.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, in)
	return r.answer(in)
}

func status(code int) func(outbound.Request) (outbound.Response, error) {
	return func(outbound.Request) (outbound.Response, error) { return outbound.Response{Status: code}, nil }
}

// world is a sender over the stores of in-memory mode, with one account and its endpoint.
type world struct {
	*receiver
	sender  *Sender
	stores  *memory.Stores
	now     time.Time
	owner   account.User
	to      webhook.Endpoint
	metrics *prometheus.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		receiver: &receiver{answer: status(204)}, now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC),
		metrics: prometheus.NewRegistry(),
	}
	clock := func() time.Time { return w.now }
	w.stores = memory.New(clock)
	w.owner = account.User{ID: uuid.New(), DeveloperID: uuid.New(), Email: "a@example.com"}
	require.NoError(t, w.stores.Accounts.CreateUser(t.Context(), w.owner))
	w.to = w.endpoint(t, "https://hooks.example/a")
	w.sender = New(Deps{
		Outbox: w.stores.Outbox, Endpoints: w.stores.Webhooks, Client: w, Log: slog.New(slog.DiscardHandler),
		Metrics: w.metrics, Now: clock,
	})
	return w
}

func (w *world) endpoint(t *testing.T, url string) webhook.Endpoint {
	t.Helper()
	e := webhook.Endpoint{
		ID: uuid.New(), AccountID: w.owner.ID, URL: url, Enabled: true, CreatedAt: w.now, Secret: webhook.NewSecret(),
	}
	require.NoError(t, w.stores.Webhooks.CreateEndpoint(t.Context(), e))
	return e
}

// happens makes an event about a campaign.
func (w *world) happens(t *testing.T, campaign, status string) {
	t.Helper()
	require.NoError(t, w.stores.Audit.RecordAudit(t.Context(), auditlog.Entry{
		TargetKind: auditlog.TargetCampaign, TargetID: campaign, OwnerID: w.owner.ID,
		Changes: map[string]auditlog.Change{"status": {Before: "active", After: status}},
	}))
}

func (w *world) turn(t *testing.T) {
	t.Helper()
	require.NoError(t, w.sender.Turn(t.Context()))
}

func (w *world) log(t *testing.T) []outbox.Message {
	t.Helper()
	list, err := w.stores.Webhooks.Deliveries(t.Context(), w.owner.ID, w.to.ID, webhook.Page{Limit: 100})
	require.NoError(t, err)
	return list
}

func TestMessagesAreSignedAndDelivered(t *testing.T) {
	w := newWorld(t)
	w.happens(t, "c1", "rejected")
	w.turn(t)
	require.Len(t, w.got, 1)
	sent := w.got[0]
	require.Equal(t, http.MethodPost, sent.Method)
	require.Equal(t, w.to.URL, sent.URL)
	m := w.log(t)[0]
	require.Equal(t, outbox.Delivered, m.State)
	require.Equal(t, 204, m.Status)
	want, err := webhook.Sign(&m, w.now, []webhook.Secret{w.to.Secret})
	require.NoError(t, err)
	require.Equal(t, want, sent.Header)
	require.Equal(t, m.Payload, sent.Body)
	w.turn(t)
	require.Len(t, w.got, 1, "once")
	require.NoError(t, testutil.GatherAndCompare(w.metrics, strings.NewReader(`
# HELP adnet_webhook_attempts_total Attempts to deliver a message to a webhook, by the state of the message afterwards.
# TYPE adnet_webhook_attempts_total counter
adnet_webhook_attempts_total{state="delivered"} 1
`), "adnet_webhook_attempts_total"))
}

// A receiver that fails for hours gets every message of a subject once it works, in order.
func TestFailedMessagesAreRetriedInOrder(t *testing.T) {
	w := newWorld(t)
	w.answer = status(503)
	w.happens(t, "c1", "rejected")
	w.happens(t, "c1", "archived")
	for range 4 {
		w.turn(t)
		w.now = w.now.Add(time.Hour)
	}
	require.Len(t, w.got, 4)
	require.Equal(t, "the endpoint answered 503", w.log(t)[1].Problem)
	w.answer = status(200)
	for range 3 {
		w.turn(t)
		w.now = w.now.Add(8 * time.Hour)
	}
	require.Len(t, w.got, 6)
	require.Contains(t, string(w.got[4].Body), "campaign.rejected")
	require.Contains(t, string(w.got[5].Body), "campaign.ended")
	require.Equal(t, w.got[0].Header.Get("webhook-id"), w.got[4].Header.Get("webhook-id"))
	for _, m := range w.log(t) {
		require.Equal(t, outbox.Delivered, m.State)
	}
}

func TestMessagesFailAfterThreeDays(t *testing.T) {
	w := newWorld(t)
	w.answer = status(500)
	w.happens(t, "c1", "rejected")
	for range 24 * 4 {
		w.turn(t)
		w.now = w.now.Add(time.Hour)
	}
	m := w.log(t)[0]
	require.Equal(t, outbox.Failed, m.State)
	require.LessOrEqual(t, m.EndedAt.Sub(m.CreatedAt), outbox.Patience)
	w.now = w.now.Add(outbox.Life)
	require.NoError(t, w.sender.Tidy(t.Context()))
	require.Empty(t, w.log(t))
}

// The owner of an endpoint is a stranger: nothing in the log names an address behind a name.
func TestProblemsNameNoAddress(t *testing.T) {
	w := newWorld(t)
	refused := &net.OpError{Op: "dial", Err: &outbound.RefusedError{Address: "10.9.8.7:443"}}
	for want, err := range map[string][]error{
		"the name of the endpoint has no public address": {refused, &net.DNSError{Err: "no such host", Name: "db.internal"}},
		"the endpoint did not answer within 10 s":        {context.DeadlineExceeded},
		"the certificate of the endpoint is not valid":   {&tls.CertificateVerificationError{Err: errors.New("10.9.8.7")}},
		"the endpoint could not be reached":              {&net.OpError{Op: "dial", Err: errors.New("10.9.8.7:443: refused")}},
	} {
		for _, failure := range err {
			w.answer = func(outbound.Request) (outbound.Response, error) { return outbound.Response{}, failure }
			w.happens(t, uuid.NewString(), "rejected")
			w.turn(t)
			require.Equal(t, want, w.log(t)[0].Problem)
		}
	}
}

func TestEndpointsThatAreGoneGetNothing(t *testing.T) {
	w := newWorld(t)
	m := outbox.Message{ID: uuid.New(), Target: uuid.New(), Owner: w.owner.ID, State: outbox.Waiting}
	w.sender.attempt(t.Context(), m, webhook.Endpoint{}, false)
	off := w.to
	off.Enabled = false
	w.sender.attempt(t.Context(), m, off, true)
	require.Empty(t, w.got)
}

// An endpoint that does not answer holds two places of 64: others are served beside it.
func TestSlowEndpointsDelayNoOther(t *testing.T) {
	w := newWorld(t)
	slow := w.endpoint(t, "https://slow.example/")
	for _, c := range []string{"a", "b", "c", "d"} {
		w.happens(t, c, "rejected")
	}
	release := make(chan struct{})
	client := &slowly{world: w, url: slow.URL, release: release, held: make(chan struct{}, 8)}
	w.sender.deps.Client = client
	require.NoError(t, w.sender.turn(t.Context()))
	<-client.held
	<-client.held
	for w.delivered(t) < 4 {
		require.NoError(t, w.sender.turn(t.Context()))
		time.Sleep(time.Millisecond)
	}
	require.Empty(t, client.held, "no third attempt while two run")
	close(release)
	w.sender.wg.Wait()
}

// delivered counts the messages that the usual endpoint has.
func (w *world) delivered(t *testing.T) (n int) {
	for _, m := range w.log(t) {
		if m.State == outbox.Delivered {
			n++
		}
	}
	return n
}

// slowly holds requests to one URL until release is closed.
type slowly struct {
	*world
	url           string
	held, release chan struct{}
}

func (s *slowly) Do(ctx context.Context, r outbound.Request) (outbound.Response, error) {
	if r.URL == s.url {
		s.held <- struct{}{}
		<-s.release
	}
	return outbound.Response{Status: 200}, nil
}

// A process that stops stores no result: another one repeats the attempt after the lease.
func TestAStoppedAttemptIsRepeated(t *testing.T) {
	w := newWorld(t)
	w.happens(t, "c1", "rejected")
	ctx, stop := context.WithCancel(t.Context())
	w.answer = func(outbound.Request) (outbound.Response, error) {
		stop()
		return outbound.Response{}, context.Canceled
	}
	require.NoError(t, w.sender.Turn(ctx))
	require.Equal(t, outbox.Waiting, w.log(t)[0].State)
	w.answer = status(200)
	w.turn(t)
	require.Len(t, w.got, 1, "within the lease")
	w.now = w.now.Add(lease)
	w.turn(t)
	require.Equal(t, outbox.Delivered, w.log(t)[0].State)
}
