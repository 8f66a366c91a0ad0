package billing_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/api/billing"
	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/internal/account"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
	"adnet/internal/payment/paypal"
	"adnet/internal/payment/stripe"
	"adnet/internal/payment/stripe/stripetest"
	"adnet/internal/process/obs"
)

const stripeSecret = "whsec_canary"

type (
	object = ingresstest.Object
	reply  = ingresstest.Reply
)

// world is the billing API over the stores of in-memory mode, with both webhooks and the demo
// provider.
type world struct {
	*ingresstest.World
	log strings.Builder
}

// options configure a world.
type options struct {
	prepaid, noDemo, noWebhooks bool
	checkouts                   payment.Checkouts // instead of the demo provider
	badDeliveries               int               // a minute and address, 0 for any number
}

func newWorld(t testing.TB, o options) *world {
	t.Helper()
	w := &world{}
	// Signatures are checked against the wall clock by Stripe's library, so the world's clock is
	// that one.
	w.World = ingresstest.New(t, ingresstest.Options{Now: time.Now().UTC().Truncate(time.Second), Log: &w.log})
	deps := payment.Deps{
		Store: w.Store.Payments, Alarm: obs.Limited(w.Logger, 0), BaseURL: w.HTTP.BaseURL, Now: w.Clock,
	}
	if o.checkouts != nil {
		deps.Checkouts = []payment.Checkouts{o.checkouts}
	}
	var demo *payment.Demo
	if !o.noDemo && o.checkouts == nil {
		demo = payment.NewDemo(w.Store.Payments, w.HTTP.BaseURL, w.Clock)
		deps.Checkouts = []payment.Checkouts{demo}
	}
	if !o.noWebhooks {
		hook, err := stripe.NewWebhook(stripe.Config{WebhookSecret: stripeSecret})
		require.NoError(t, err)
		wallet, err := paypal.NewWebhook(paypal.Config{
			WebhookID: "WH-1", Environment: "sandbox", Tolerance: 300 * time.Second,
		}, paypal.WebhookDeps{
			Certificates: payPalWallet(), Captures: payPalAPI{}, Roots: payPalWallet().roots, Now: w.Clock,
		})
		require.NoError(t, err)
		deps.Webhooks = map[ledger.Provider]payment.Webhook{ledger.Stripe: hook, ledger.PayPal: wallet}
	}
	payments, err := payment.New(payment.Config{}, deps)
	require.NoError(t, err)
	deliveries, err := limits.New(limits.Config{Webhooks: o.badDeliveries}, limits.Deps{Now: w.Clock})
	require.NoError(t, err)
	billing.New(billing.Deps{
		Deliveries: deliveries,
		Metrics:    prometheus.NewRegistry(), Users: w.Store.Accounts, Ledger: w.Store.Ledger,
		Publishers: w.Store.Publishers, Payments: payments,
		Demo: demo, Prepaid: o.prepaid, CreditValue: money.USD / 200, Now: w.Clock,
	}).Mount(w.HTTP)
	return w
}

// person is a caller: a logged-in account, or only a text to send as the token.
type person struct{ *ingresstest.Person }

func (w *world) person(t testing.TB, role account.Role) *person {
	t.Helper()
	return &person{w.Login(t, account.User{Role: role})}
}

func (w *world) advertiser(t testing.TB) *person { return w.person(t, account.RoleAdvertiser) }
func (w *world) nobody() *person                 { return w.caller("") }

// caller sends token unchecked.
func (w *world) caller(token string) *person { return &person{w.Caller(token)} }

// send sends a request and reads the answer.
func (w *world) send(t testing.TB, r *http.Request) reply {
	t.Helper()
	return ingresstest.Answer(t, w.Send(t, r))
}

// does posts an action.
func (p *person) does(t testing.TB, action string, body any) reply {
	t.Helper()
	return p.Post(t, "/api/billing?action="+action, body)
}

func (p *person) cash(t testing.TB) money.Micros {
	t.Helper()
	cash, err := p.World.Store.Ledger.AdvertiserBalance(t.Context(), p.ID)
	require.NoError(t, err)
	return cash
}

func (w *world) clean(t testing.TB) {
	t.Helper()
	checks, err := w.Store.Ledger.Verify(t.Context(), ledger.VerifyOptions{Prepaid: true})
	require.NoError(t, err)
	for _, c := range checks {
		require.True(t, c.OK(), "%s: want %d, got %d: %s", c.Name, c.Want, c.Got, c.Detail)
	}
}

// stripeSigned is a delivery as Stripe signs it.
func stripeSigned(body string, at time.Time) http.Header {
	return stripetest.Sign(body, stripeSecret, at)
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
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
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
	captured(body)
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
	return stripetest.Paid(event, intent, int64(cents), to.String())
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

// payPalAPI stands in for PayPal's API. It has the captures whose deliveries the tests signed.
type payPalAPI struct{}

var payPalCaptures sync.Map // by id

func (payPalAPI) Capture(_ context.Context, id string) (paypal.Capture, bool, error) {
	reply, known := payPalCaptures.Load(id)
	if !known {
		return paypal.Capture{}, false, nil
	}
	return reply.(paypal.Capture), true, nil
}

func (payPalAPI) Refund(_ context.Context, id string) (paypal.Refund, bool, error) {
	reply, known := payPalCaptures.Load("refund " + id)
	if !known {
		return paypal.Refund{}, false, nil
	}
	return reply.(paypal.Refund), true, nil
}

func (payPalAPI) Dispute(_ context.Context, id string) (paypal.Dispute, bool, error) {
	reply, known := payPalCaptures.Load("dispute " + id)
	if !known {
		return paypal.Dispute{}, false, nil
	}
	return reply.(paypal.Dispute), true, nil
}

// captured makes PayPal's API return the data of a delivery.
func captured(body string) {
	var e struct {
		Type     string `json:"event_type"`
		Resource struct {
			ID     string `json:"id"`
			Status string `json:"status"`
			Custom string `json:"custom_id"`
			Amount struct {
				Value    string `json:"value"`
				Currency string `json:"currency_code"`
			} `json:"amount"`
			Links []struct {
				Href string `json:"href"`
			} `json:"links"`
			Dispute  string `json:"dispute_id"`
			Disputed struct {
				Value    string `json:"value"`
				Currency string `json:"currency_code"`
			} `json:"dispute_amount"`
			Transactions []struct {
				Seller string `json:"seller_transaction_id"`
			} `json:"disputed_transactions"`
			Outcome struct {
				Code string `json:"outcome_code"`
			} `json:"dispute_outcome"`
		} `json:"resource"`
	}
	if json.Unmarshal([]byte(body), &e) != nil {
		return
	}
	switch r := &e.Resource; {
	case e.Type == "PAYMENT.CAPTURE.COMPLETED":
		payPalCaptures.Store(
			r.ID, paypal.Capture{Amount: r.Amount.Value, Currency: r.Amount.Currency, CustomID: r.Custom},
		)
	case r.Dispute != "":
		d := paypal.Dispute{
			Amount: r.Disputed.Value, Currency: r.Disputed.Currency, Resolved: e.Type == "CUSTOMER.DISPUTE.RESOLVED",
			Outcome: r.Outcome.Code,
		}
		for _, t := range r.Transactions {
			d.Payments = append(d.Payments, t.Seller)
		}
		payPalCaptures.Store("dispute "+r.Dispute, d)
	case len(r.Links) > 0:
		href := r.Links[len(r.Links)-1].Href
		payPalCaptures.Store(
			"refund "+r.ID,
			paypal.Refund{
				Amount: r.Amount.Value, Currency: r.Amount.Currency, Payment: href[strings.LastIndexByte(href, '/')+1:],
				State: r.Status,
			},
		)
	}
}
