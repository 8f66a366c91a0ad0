package billing_test

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"adnet/ingress/billing"
	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/internal/account"
	"adnet/internal/ledger"
	"adnet/internal/memory"
	"adnet/internal/money"
	"adnet/internal/obs"
	"adnet/internal/payment"
	"adnet/internal/paypal"
	"adnet/internal/stripe"
	"adnet/internal/token"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

const stripeSecret = "whsec_canary"

// world is the billing API over the stores of in-memory mode, with both webhooks and the demo provider. Every reply
// is checked against openapi.json.
type world struct {
	http     *httpapi.Server
	store    *memory.Store
	sessions *token.Sessions
	contract *apitest.Contract
	now      time.Time
	log      *strings.Builder
}

// options are what worlds differ in.
type options struct {
	prepaid, noDemo, noWebhooks bool
	checkouts                   payment.Checkouts // instead of the demo provider
}

func newWorld(t testing.TB, o options) *world {
	t.Helper()
	// Signatures are checked against the wall clock by Stripe's library, so the world's clock is that one.
	w := &world{contract: apitest.Load(t), now: time.Now().UTC().Truncate(time.Second), log: &strings.Builder{}}
	clock := func() time.Time { return w.now }
	w.store = memory.New(clock)
	var err error
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.http, err = httpapi.New(httpapi.Config{BaseURL: "https://ads.example"}, httpapi.Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
	})
	require.NoError(t, err)
	key, err := token.NewKey("k1")
	require.NoError(t, err)
	w.sessions, err = token.NewSessions([]token.Key{key})
	require.NoError(t, err)
	deps := payment.Deps{Store: w.store, Log: log, BaseURL: w.http.BaseURL, Now: clock}
	if o.checkouts != nil {
		deps.Checkouts = []payment.Checkouts{o.checkouts}
	}
	var demo *payment.Demo
	if !o.noDemo && o.checkouts == nil {
		demo = payment.NewDemo(w.store, w.http.BaseURL, clock)
		deps.Checkouts = []payment.Checkouts{demo}
	}
	if !o.noWebhooks {
		hook, err := stripe.NewWebhook(stripe.Config{WebhookSecret: stripeSecret})
		require.NoError(t, err)
		wallet, err := paypal.NewWebhook(paypal.Config{WebhookID: "WH-1", Environment: "sandbox", Tolerance: 300 * time.Second}, paypal.WebhookDeps{
			Certificates: payPalWallet(), Roots: payPalWallet().roots, Now: clock,
		})
		require.NoError(t, err)
		deps.Webhooks = map[ledger.Provider]payment.Webhook{ledger.Stripe: hook, ledger.PayPal: wallet}
	}
	payments, err := payment.New(payment.Config{}, deps)
	require.NoError(t, err)
	billing.New(billing.Deps{
		Metrics: prometheus.NewRegistry(), Users: w.store, Ledger: w.store, Publishers: w.store, Payments: payments, Demo: demo, Prepaid: o.prepaid, Now: clock,
		Auth: httpapi.NewAuth(httpapi.AuthDeps{Users: w.store, Keys: w.store, Sessions: w.sessions, Now: clock}),
	}).Mount(w.http)
	return w
}

// person is somebody who is logged in; nobody has no token.
type person struct {
	account.User
	w     *world
	token string
}

func (w *world) person(t testing.TB, role account.Role) *person {
	t.Helper()
	u := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Role: role, TokenVersion: 1, CreatedAt: w.now}
	u.Email = u.ID.String() + "@example.com"
	require.NoError(t, w.store.CreateUser(t.Context(), u))
	text, _, err := w.sessions.Issue(token.Claims{UserID: u.ID, Role: string(role), Email: u.Email, Version: 1}, w.now)
	require.NoError(t, err)
	return &person{User: u, w: w, token: text}
}

func (w *world) advertiser(t testing.TB) *person { return w.person(t, account.RoleAdvertiser) }
func (w *world) nobody() *person                 { return &person{w: w} }

type object = map[string]any

// reply is an answer with its body read.
type reply struct {
	t      testing.TB
	code   int
	header http.Header
	text   string
}

// send sends a request and checks the answer against the document.
func (w *world) send(t testing.TB, r *http.Request) reply {
	t.Helper()
	recorder := httptest.NewRecorder()
	w.http.ServeHTTP(recorder, r)
	if recorder.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		w.contract.Check(t, r, recorder)
	}
	return reply{t, recorder.Code, recorder.Header(), recorder.Body.String()}
}

// call sends a request as p; body is an object, a text that is sent as it is, or nil.
func (p *person) call(t testing.TB, method, path string, body any) reply {
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
	return p.w.send(t, r)
}

// does posts an action.
func (p *person) does(t testing.TB, action string, body any) reply {
	t.Helper()
	return p.call(t, "POST", "/api/billing?action="+action, body)
}

func (r reply) as(status int) object {
	r.t.Helper()
	require.Equal(r.t, status, r.code, r.text)
	var body object
	require.NoError(r.t, json.Unmarshal([]byte(r.text), &body), r.text)
	return body
}

func (r reply) fails(status int, code string) object {
	r.t.Helper()
	body := r.as(status)
	require.Equal(r.t, code, body["code"], r.text)
	return body
}

func (p *person) cash(t testing.TB) money.Micros {
	t.Helper()
	cash, err := p.w.store.AdvertiserBalance(t.Context(), p.ID)
	require.NoError(t, err)
	return cash
}

func (w *world) clean(t testing.TB) {
	t.Helper()
	checks, err := w.store.Verify(t.Context(), ledger.VerifyOptions{Prepaid: true})
	require.NoError(t, err)
	for _, c := range checks {
		require.True(t, c.OK(), "%s: want %d, got %d: %s", c.Name, c.Want, c.Got, c.Detail)
	}
}

// stripeSigned is a delivery as Stripe signs it.
func stripeSigned(body string, at time.Time) http.Header {
	mac := hmac.New(sha256.New, []byte(stripeSecret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))}}
}

// wallet is PayPal's key and certificate.
type wallet struct {
	key   *rsa.PrivateKey
	cert  []byte
	roots *x509.CertPool
}

// payPalWallet makes the wallet once: keys are slow.
var payPalWallet = sync.OnceValue(func() *wallet {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "messageverificationcerts.sandbox.paypal.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &wallet{key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), roots}
})

// Certificates implements paypal.CertificateSource.
func (w *wallet) Certificates(context.Context, string) ([]byte, error) { return w.cert, nil }

// paypalSigned is a delivery as PayPal signs it.
func paypalSigned(body string, at time.Time) http.Header {
	stamp := at.UTC().Format(time.RFC3339)
	digest := sha256.Sum256([]byte(fmt.Sprintf("tx-1|%s|WH-1|%d", stamp, crc32.ChecksumIEEE([]byte(body)))))
	signature, err := rsa.SignPKCS1v15(rand.Reader, payPalWallet().key, crypto.SHA256, digest[:])
	if err != nil {
		panic(err)
	}
	return http.Header{
		"Paypal-Transmission-Id": {"tx-1"}, "Paypal-Transmission-Time": {stamp}, "Paypal-Auth-Algo": {"SHA256withRSA"},
		"Paypal-Cert-Url":         {"https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1"},
		"Paypal-Transmission-Sig": {base64.StdEncoding.EncodeToString(signature)},
	}
}

// deliver posts a webhook delivery.
func (w *world) deliver(t testing.TB, header http.Header, body string) reply {
	t.Helper()
	r := httptest.NewRequest("POST", "/api/billing?action=webhook", strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	return w.send(t, r)
}

func stripePaid(event, intent string, cents int, to uuid.UUID) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":"checkout.session.completed","data":{"object":{"id":"cs_%s","payment_status":"paid",
		"payment_intent":%q,"amount_total":%d,"currency":"usd","client_reference_id":%q,"metadata":{}}}}`, event, intent, intent, cents, to)
}

func stripeRefunded(event, intent string, cents int) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":"charge.refunded","data":{"object":{"id":"ch_1","payment_intent":%q,"amount_refunded":%d,"currency":"usd"}}}`,
		event, intent, cents)
}

func paypalPaid(event, capture, value string, to uuid.UUID) string {
	return fmt.Sprintf(`{"id":%q,"event_type":"PAYMENT.CAPTURE.COMPLETED","resource":{"id":%q,"status":"COMPLETED","custom_id":%q,
		"amount":{"currency_code":"USD","value":%q}}}`, event, capture, to, value)
}

func paypalRefunded(event, refund, capture, value string) string {
	return fmt.Sprintf(`{"id":%q,"event_type":"PAYMENT.CAPTURE.REFUNDED","resource":{"id":%q,"status":"COMPLETED","amount":{"currency_code":"USD","value":%q},
		"links":[{"rel":"up","href":"https://api.paypal.com/v2/payments/captures/%s"}]}}`, event, refund, value, capture)
}

func stripeDispute(event, what, status string, cents int) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":"charge.dispute.%s","data":{"object":{"id":"dp_1","object":"dispute","charge":"ch_1","payment_intent":"pi_1",
		"amount":%d,"currency":"usd","status":%q}}}`, event, what, cents, status)
}

func paypalDispute(event, what, outcome, value string) string {
	return fmt.Sprintf(`{"id":%q,"event_type":"CUSTOMER.DISPUTE.%s","resource_type":"dispute","resource":{"dispute_id":"PP-D-1","status":"OPEN","reason":"UNAUTHORISED",
		"disputed_transactions":[{"seller_transaction_id":"CAP-1","buyer_transaction_id":"B-1"}],"dispute_amount":{"currency_code":"USD","value":%q},
		"dispute_outcome":{"outcome_code":%q}}}`, event, what, value, outcome)
}
