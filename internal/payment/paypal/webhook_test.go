package paypal

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

var sentAt = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

const certURL = "https://api.paypal.com/v1/notifications/certs/CERT-1"

// authority signs certificates, as PayPal's does.
type authority struct {
	key   *rsa.PrivateKey
	cert  *x509.Certificate
	roots *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotBefore: sentAt.AddDate(-1, 0, 0),
		NotAfter: sentAt.AddDate(1, 0, 0),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &authority{key, cert, roots}
}

// issue gives a certificate for key's public half, PEM.
func (a *authority) issue(t testing.TB, key crypto.Signer, change func(*x509.Certificate)) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "messageverificationcerts.paypal.com"},
		NotBefore: sentAt.AddDate(0, -1, 0), NotAfter: sentAt.AddDate(0, 1, 0),
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// certificates is a source with one answer; it notes what it was asked for.
type certificates struct {
	text     []byte
	requests []string
}

func (c *certificates) Certificates(_ context.Context, url string) ([]byte, error) {
	c.requests = append(c.requests, url)
	if c.text == nil {
		return nil, errors.New("no answer")
	}
	return c.text, nil
}

// captures is PayPal's API: payments by id.
type captures struct {
	known   map[string]Capture
	refunds map[string]Refund
	dispute Dispute // PP-D-1; unknown without payments
	err     error
}

func (c *captures) Dispute(_ context.Context, id string) (Dispute, bool, error) {
	return c.dispute, id == "PP-D-1" && c.dispute.Payments != nil, c.err
}

func (c *captures) Refund(_ context.Context, id string) (Refund, bool, error) {
	found, ok := c.refunds[id]
	return found, ok, c.err
}

func (c *captures) Capture(_ context.Context, id string) (Capture, bool, error) {
	found, ok := c.known[id]
	return found, ok, c.err
}

type paypalWorld struct {
	api   *captures
	hook  *Webhook
	key   *rsa.PrivateKey
	certs *certificates
	ca    *authority
}

func newPayPalWorld(t testing.TB) *paypalWorld {
	t.Helper()
	w := &paypalWorld{ca: newAuthority(t), certs: &certificates{}, api: &captures{known: map[string]Capture{
		"42311647XV020574X": {"30.01", "USD", "0192f0c1-7a51-7c60-8a51-3f1f7d4c2b11", "PAYER1"},
	}, refunds: map[string]Refund{"1JU08902781691411": {"7.50", "USD", "42311647XV020574X", "COMPLETED"}}}}
	var err error
	w.key, err = rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	w.certs.text = w.ca.issue(t, w.key, nil)
	w.hook, err = NewWebhook(Config{WebhookID: "WH-1", Environment: "live", Tolerance: 300 * time.Second}, WebhookDeps{
		Certificates: w.certs, Captures: w.api, Roots: w.ca.roots, Now: func() time.Time { return sentAt },
	})
	require.NoError(t, err)
	return w
}

func (w *paypalWorld) sign(t testing.TB, body string, at time.Time) http.Header {
	t.Helper()
	h := http.Header{}
	h.Set("Paypal-Transmission-Id", "tx-1")
	h.Set("Paypal-Transmission-Time", at.Format(time.RFC3339))
	h.Set("Paypal-Auth-Algo", "SHA256withRSA")
	h.Set("Paypal-Cert-Url", certURL)
	digest := sha256.Sum256([]byte(fmt.Sprintf(
		"tx-1|%s|WH-1|%d", at.Format(time.RFC3339), crc32.ChecksumIEEE([]byte(body)),
	)))
	signature, err := rsa.SignPKCS1v15(rand.Reader, w.key, crypto.SHA256, digest[:])
	require.NoError(t, err)
	h.Set("Paypal-Transmission-Sig", base64.StdEncoding.EncodeToString(signature))
	return h
}

// As PayPal sends them, shortened. The unusual spaces are part of the signed text.
const (
	completed = `{"id":"WH-EVT-1","event_type":"PAYMENT.CAPTURE.COMPLETED",  "resource":{"id":"42311647XV020574X","status":"COMPLETED",
		"amount":{"currency_code":"USD","value":"30.01"},"custom_id":"0192f0c1-7a51-7c60-8a51-3f1f7d4c2b11","final_capture":true}}`
	refundedOnce = `{"id":"WH-EVT-2","event_type":"PAYMENT.CAPTURE.REFUNDED","resource":{"id":"1JU08902781691411","status":"COMPLETED",
		"amount":{"currency_code":"USD","value":"7.50"},"links":[{"rel":"self","href":"https://api.paypal.com/v2/payments/refunds/1JU08902781691411"},
		{"rel":"up","href":"https://api.paypal.com/v2/payments/captures/42311647XV020574X"}]}}`
)

func TestPayPalReads(t *testing.T) {
	w := newPayPalWorld(t)
	d, err := w.hook.Read(t.Context(), w.sign(t, completed, sentAt), []byte(completed))
	require.NoError(t, err)
	require.Equal(t, payment.Delivery{Type: "PAYMENT.CAPTURE.COMPLETED", Notice: ledger.Notice{
		Provider: ledger.PayPal, EventID: "WH-EVT-1", Kind: ledger.NoticePaid, PaymentID: "42311647XV020574X",
		Amount:     30_010_000,
		Names:      []uuid.UUID{uuid.MustParse("0192f0c1-7a51-7c60-8a51-3f1f7d4c2b11")},
		Instrument: "PAYER1",
	}}, d)
	// The refund's own id and amount; the capture is the link up.
	d, err = w.hook.Read(t.Context(), w.sign(t, refundedOnce, sentAt), []byte(refundedOnce))
	require.NoError(t, err)
	require.Equal(t, payment.Delivery{Type: "PAYMENT.CAPTURE.REFUNDED", Notice: ledger.Notice{
		Provider: ledger.PayPal, EventID: "WH-EVT-2", Kind: ledger.NoticeRefunded, PaymentID: "42311647XV020574X",
		RefundID: "1JU08902781691411",
		Amount:   7_500_000,
	}}, d)
	require.Equal(t, []string{certURL, certURL}, w.certs.requests)
}

func TestPayPalIgnoresAndRefusesContent(t *testing.T) {
	w := newPayPalWorld(t)
	read := func(old, with string) (payment.Delivery, error) {
		body := strings.Replace(completed, old, with, 1)
		require.NotEqual(t, completed, body)
		return w.hook.Read(t.Context(), w.sign(t, body, sentAt), []byte(body))
	}
	for reason, change := range map[string][2]string{
		"event_type": {"CAPTURE.COMPLETED", "CAPTURE.DENIED"}, "status": {`"status":"COMPLETED"`, `"status":"PENDING"`},
	} {
		d, err := read(change[0], change[1])
		require.NoError(t, err)
		require.Equal(t, reason, d.Ignored)
		require.Empty(t, d.Notice)
	}
	d, err := read("USD", "EUR")
	require.NoError(t, err)
	require.Equal(t, "the currency is EUR, only USD is credited", d.Parked)
	require.Equal(t, "42311647XV020574X", d.Notice.PaymentID)
	d, err = read("PAYMENT.CAPTURE.COMPLETED", "CHECKOUT.ORDER.APPROVED")
	require.NoError(t, err)
	require.Equal(t, "42311647XV020574X", d.Approved)
	for name, change := range map[string][2]string{
		"amount as number": {`"30.01"`, `30.01`}, "negative": {`30.01`, `-30.01`}, "too fine": {`30.01`, `0.0000001`},
		"nothing":     {`30.01`, `0`},
		"no event id": {`"id":"WH-EVT-1"`, `"id":""`}, "no capture": {`42311647XV020574X`, ``},
		"cut": {`true}}`, `true}`}, "twice": {`"final_capture":true`, `"id":"x"`},
	} {
		_, err := read(change[0], change[1])
		require.True(t, errs.Is(err, errs.InvalidRequest), name)
	}
	body := strings.Replace(refundedOnce, `"rel":"up"`, `"rel":"down"`, 1)
	_, err = w.hook.Read(t.Context(), w.sign(t, body, sentAt), []byte(body))
	require.True(t, errs.Is(err, errs.InvalidRequest), "a refund of no capture")
}

func disputeEvent(what, outcome, more string) string {
	return `{"id":"WH-9","event_type":"CUSTOMER.DISPUTE.` + what +
		`","resource":{"dispute_id":"PP-D-1","status":"RESOLVED",
			"disputed_transactions":[{"seller_transaction_id":"CAP-1"}` + more + `],"dispute_amount":{"currency_code":"USD","value":"7.00"},
			"dispute_outcome":{"outcome_code":"` + outcome + `"}}}`
}

func TestPayPalReadsDisputes(t *testing.T) {
	event := disputeEvent
	for _, c := range []struct {
		what, outcome string
		kind          ledger.NoticeKind
	}{
		{"CREATED", "", ledger.NoticeDisputed}, {"UPDATED", "", ledger.NoticeDisputed},
		{"RESOLVED", "RESOLVED_BUYER_FAVOUR", ledger.NoticeDisputeLost},
		{"RESOLVED", "ACCEPTED", ledger.NoticeDisputeLost},
		{"RESOLVED", "RESOLVED_SELLER_FAVOUR", ledger.NoticeDisputeWon},
		{"RESOLVED", "CANCELED_BY_BUYER", ledger.NoticeDisputeWon},
		{"RESOLVED", "RESOLVED_WITH_PAYOUT", ledger.NoticeDisputeWon},
	} {
		d, err := readEvent([]byte(event(c.what, c.outcome, "")))
		require.NoError(t, err)
		require.Equal(t, ledger.Notice{
			Provider: ledger.PayPal, EventID: "WH-9", Kind: c.kind, PaymentID: "CAP-1", DisputeID: "PP-D-1",
			Amount: 7_000_000,
		}, d.Notice)
	}
	d, err := readEvent([]byte(event("RESOLVED", "NONE", "")))
	require.NoError(t, err)
	require.Equal(t, unknownOutcome, d.Parked)
	d, err = readEvent([]byte(event("CREATED", "", `,{"seller_transaction_id":"CAP-2"}`)))
	require.NoError(t, err)
	require.Contains(t, d.Parked, "several payments")
	for _, spoil := range []string{`"dispute_id":"PP-D-1"`, `"seller_transaction_id":"CAP-1"`} {
		_, err = readEvent([]byte(strings.Replace(event("CREATED", "", ""), spoil, `"x":"y"`, 1)))
		require.True(t, errs.Is(err, errs.InvalidRequest), spoil)
	}
}

func TestPayPalRefusesSignatures(t *testing.T) {
	for name, spoil := range map[string]func(w *paypalWorld, h http.Header, body *string){
		"changed byte": func(_ *paypalWorld, _ http.Header, body *string) {
			*body = strings.Replace(*body, "30.01", "30.02", 1)
		},
		"space removed": func(_ *paypalWorld, _ http.Header, body *string) {
			*body = strings.Replace(*body, "  ", " ", 1)
		},
		"no signature":       func(_ *paypalWorld, h http.Header, _ *string) { h.Del("Paypal-Transmission-Sig") },
		"no time":            func(_ *paypalWorld, h http.Header, _ *string) { h.Del("Paypal-Transmission-Time") },
		"no transmission id": func(_ *paypalWorld, h http.Header, _ *string) { h.Del("Paypal-Transmission-Id") },
		"another id": func(_ *paypalWorld, h http.Header, _ *string) {
			h.Set("Paypal-Transmission-Id", "tx-2")
		},
		"another time": func(_ *paypalWorld, h http.Header, _ *string) {
			h.Set("Paypal-Transmission-Time", sentAt.Add(time.Second).Format(time.RFC3339))
		},
		"another algorithm": func(_ *paypalWorld, h http.Header, _ *string) { h.Set("Paypal-Auth-Algo", "none") },
		"too old": func(w *paypalWorld, h http.Header, body *string) {
			resign(t, w, h, *body, sentAt.Add(-301*time.Second))
		},
		"from the future": func(w *paypalWorld, h http.Header, body *string) {
			resign(t, w, h, *body, sentAt.Add(301*time.Second))
		},
		"not base64": func(_ *paypalWorld, h http.Header, _ *string) { h.Set("Paypal-Transmission-Sig", "!") },
		"another root": func(w *paypalWorld, _ http.Header, _ *string) {
			w.certs.text = newAuthority(t).issue(t, w.key, nil)
		},
		"expired certificate": func(w *paypalWorld, _ http.Header, _ *string) {
			w.certs.text = w.ca.issue(t, w.key, func(c *x509.Certificate) { c.NotAfter = sentAt.Add(-time.Minute) })
		},
		"somebody else's certificate": func(w *paypalWorld, _ http.Header, _ *string) {
			w.certs.text = w.ca.issue(
				t, w.key, func(c *x509.Certificate) { c.Subject.CommonName = "paypal.com.evil.example" },
			)
		},
		"another key": func(w *paypalWorld, _ http.Header, _ *string) {
			other, err := rsa.GenerateKey(rand.Reader, 2048)
			require.NoError(t, err)
			w.certs.text = w.ca.issue(t, other, nil)
		},
		"a key that is not RSA": func(w *paypalWorld, _ http.Header, _ *string) {
			other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			require.NoError(t, err)
			w.certs.text = w.ca.issue(t, other, nil)
		},
		"no certificate": func(w *paypalWorld, _ http.Header, _ *string) { w.certs.text = []byte("hello") },
		"garbage certificate": func(w *paypalWorld, _ http.Header, _ *string) {
			w.certs.text = []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
		},
		"source down": func(w *paypalWorld, _ http.Header, _ *string) { w.certs.text = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newPayPalWorld(t)
			body := completed
			header := w.sign(t, body, sentAt)
			_, err := w.hook.Read(t.Context(), header, []byte(body))
			require.NoError(t, err)
			spoil(w, header, &body)
			_, err = w.hook.Read(t.Context(), header, []byte(body))
			require.True(t, errs.Is(err, errs.InvalidRequest), "%v", err)
		})
	}
}

func resign(t *testing.T, w *paypalWorld, h http.Header, body string, at time.Time) {
	for name, value := range w.sign(t, body, at) {
		h[name] = value
	}
}

// The certificate's address is checked before anything is fetched.
func TestPayPalFetchesFromPayPalOnly(t *testing.T) {
	for _, address := range []string{
		"", "http://api.paypal.com/v1/notifications/certs/CERT-1", "https://evil.example/v1/notifications/certs/CERT-1",
		"https://api.paypal.com.evil.example/c",
		"https://api.paypal.com@evil.example/c", "https://user:pass@api.paypal.com/c", "https://api.paypal.com:8443/c",
		"https://evilapi.paypal.com/c",
		"https://169.254.169.254/c", "//api.paypal.com/c", "https:api.paypal.com", "https://api.sandbox.paypal.com/c",
		"https://api.paypal.com\\@evil.example/c",
		"file:///etc/passwd", "https://API.paypal.com.:443/c",
		"https://api.paypal.com/", "https://api.paypal.com/v1/notifications/certs/",
		"https://api.paypal.com/v1/notifications/certs/a/b",
		"https://api.paypal.com/v1/notifications/certs/../../x", "https://api.paypal.com/v1/notifications/certs/a%2Fb",
		"https://api.paypal.com/v1/notifications/certs/a?x=1",
		"https://api.paypal.com/v1/notifications/certs/a#x", "https://api.paypal.com/v1/notifications/certs/a.pem",
		"https://api.paypal.com/v2/notifications/certs/a",
	} {
		w := newPayPalWorld(t)
		header := w.sign(t, completed, sentAt)
		header.Set("Paypal-Cert-Url", address)
		_, err := w.hook.Read(t.Context(), header, []byte(completed))
		require.True(t, errs.Is(err, errs.InvalidRequest), address)
		require.Empty(t, w.certs.requests, address)
	}
}

func TestPayPalNeedsItsSettings(t *testing.T) {
	for _, cfg := range []Config{
		{Tolerance: time.Second}, {WebhookID: "a|b", Tolerance: time.Second}, {WebhookID: "a"},
	} {
		_, err := NewWebhook(cfg, WebhookDeps{})
		require.Error(t, err)
	}
}

// trip is a transport with one answer.
type trip struct {
	status int
	body   string
	header http.Header
	calls  int
}

func (r *trip) RoundTrip(request *http.Request) (*http.Response, error) {
	r.calls++
	return &http.Response{
		StatusCode: r.status, Header: r.header, Body: io.NopCloser(strings.NewReader(r.body)), Request: request,
	}, nil
}

func TestFetcher(t *testing.T) {
	now := sentAt
	good := &trip{status: 200, body: "pem"}
	f := NewFetcher(good, func() time.Time { return now })
	for range 3 {
		text, err := f.Certificates(t.Context(), certURL)
		require.NoError(t, err)
		require.Equal(t, "pem", string(text))
	}
	require.Equal(t, 1, good.calls)
	now = now.Add(keepFor)
	_, err := f.Certificates(t.Context(), certURL)
	require.NoError(t, err)
	require.Equal(t, 2, good.calls)
	for i := range 50 { // whoever makes up addresses does not fill the memory
		now = now.Add(fetchEvery)
		_, err := f.Certificates(t.Context(), fmt.Sprint(certURL, i))
		require.NoError(t, err)
		require.LessOrEqual(t, len(f.cached), keepAtMost)
	}
	for name, bad := range map[string]*trip{
		"missing": {status: 404}, "too large": {status: 200, body: strings.Repeat("x", maxCertificates+1)},
		"moved": {status: 302, header: http.Header{"Location": {"https://169.254.169.254/"}}},
	} {
		_, err := NewFetcher(bad, func() time.Time { return now }).Certificates(t.Context(), certURL)
		require.Error(t, err, name)
		require.Equal(t, 1, bad.calls, name)
	}
}

// A delivery is a reason to ask: what is credited, and to whom, is PayPal's answer.
func TestPayPalCreditsWhatItsAPISays(t *testing.T) {
	w := newPayPalWorld(t)
	body := strings.Replace(completed, "30.01", "1000.00", 1)
	read := func() (payment.Delivery, error) {
		return w.hook.Read(t.Context(), w.sign(t, body, sentAt), []byte(body))
	}
	other := uuid.New()
	w.api.known["42311647XV020574X"] = Capture{"10.00", "USD", other.String(), "P1"}
	d, err := read()
	require.NoError(t, err)
	require.Equal(t, 10*money.USD, d.Notice.Amount)
	require.Equal(t, []uuid.UUID{other}, d.Notice.Names)
	w.api.known["42311647XV020574X"] = Capture{"10.00", "EUR", other.String(), ""}
	d, err = read()
	require.NoError(t, err)
	require.Contains(t, d.Parked, "EUR")
	clear(w.api.known)
	d, err = read()
	require.NoError(t, err)
	require.Equal(t, unconfirmed, d.Parked, "PayPal does not know it")
	require.Zero(t, d.Notice.Amount)
	w.silent(t, read)
}

// silent checks what becomes of a delivery while PayPal's API does not answer, and without one.
func (w *paypalWorld) silent(t *testing.T, read func() (payment.Delivery, error)) {
	t.Helper()
	w.api.err = errs.New(errs.UpstreamError, "away")
	_, err := read()
	require.True(t, errs.Is(err, errs.UpstreamError), "it is delivered again")
	w.hook.deps.Captures = nil
	d, err := read()
	require.NoError(t, err)
	require.Contains(t, d.Parked, "ADNET_PAYPAL_CLIENT_ID")
}

// A forged body takes back no more than PayPal's API says, and of no other payment.
func TestPayPalRefundsWhatItsAPISays(t *testing.T) {
	w := newPayPalWorld(t)
	body := strings.NewReplacer("7.50", "1000.00", "42311647XV020574X", "VICTIM").Replace(refundedOnce)
	read := func() (payment.Delivery, error) {
		return w.hook.Read(t.Context(), w.sign(t, body, sentAt), []byte(body))
	}
	d, err := read()
	require.NoError(t, err)
	require.EqualValues(t, 7_500_000, d.Notice.Amount)
	require.Equal(t, "42311647XV020574X", d.Notice.PaymentID)
	w.api.refunds["1JU08902781691411"] = Refund{"7.50", "EUR", "42311647XV020574X", "COMPLETED"}
	d, err = read()
	require.NoError(t, err)
	require.Contains(t, d.Parked, "EUR")
	w.api.refunds["1JU08902781691411"] = Refund{"7.50", "USD", "", "COMPLETED"}
	_, err = read()
	require.Error(t, err, "a refund of no capture")
	clear(w.api.refunds)
	d, err = read()
	require.NoError(t, err)
	require.Equal(t, unconfirmed, d.Parked)
	require.Zero(t, d.Notice.Amount)
	w.silent(t, read)
}

// A forged body ends no dispute, holds no more than is disputed, and of no other payment.
func TestPayPalDisputesAreWhatItsAPISays(t *testing.T) {
	w := newPayPalWorld(t)
	w.api.dispute = Dispute{Amount: "5.00", Currency: "USD", Payments: []string{"CAP-9"}}
	read := func(what, outcome string) payment.Delivery {
		body := disputeEvent(what, outcome, "")
		d, err := w.hook.Read(t.Context(), w.sign(t, body, sentAt), []byte(body))
		require.NoError(t, err)
		return d
	}
	held := ledger.Notice{
		Provider: ledger.PayPal, EventID: "WH-9", Kind: ledger.NoticeDisputed, PaymentID: "CAP-9", DisputeID: "PP-D-1",
		Amount: 5_000_000,
	}
	require.Equal(t, held, read("CREATED", "").Notice)
	require.Equal(t, unconfirmed, read("RESOLVED", "RESOLVED_SELLER_FAVOUR").Parked, "it has not ended")
	w.api.dispute.Resolved, w.api.dispute.Outcome = true, "RESOLVED_BUYER_FAVOUR"
	lost := held
	lost.Kind = ledger.NoticeDisputeLost
	require.Equal(t, lost, read("RESOLVED", "RESOLVED_SELLER_FAVOUR").Notice, "the buyer won it")
	require.Equal(t, held, read("UPDATED", "").Notice, "late: the ledger knows the order")
	w.api.dispute.Outcome = "NONE"
	require.Equal(t, unknownOutcome, read("RESOLVED", "ACCEPTED").Parked)
	w.api.dispute.Currency = "EUR"
	require.Contains(t, read("CREATED", "").Parked, "EUR")
	w.api.dispute.Payments = append(w.api.dispute.Payments, "CAP-8")
	require.Contains(t, read("CREATED", "").Parked, "several payments")
	w.api.dispute.Payments = nil
	require.Equal(t, unconfirmed, read("CREATED", "").Parked, "PayPal does not know it")
	w.api.err = errs.New(errs.Forbidden, "no")
	require.Contains(t, read("CREATED", "").Parked, "right to read disputes")
	w.silent(t, func() (payment.Delivery, error) {
		body := disputeEvent("CREATED", "", "")
		return w.hook.Read(t.Context(), w.sign(t, body, sentAt), []byte(body))
	})
}

// 700 deliveries in a second, each with a certificate's address of its own: one fetch.
func TestFetchesOnceASecond(t *testing.T) {
	now := sentAt
	api := &trip{status: 404}
	f := NewFetcher(api, func() time.Time { return now })
	for i := range 700 {
		now = now.Add(time.Second / 701)
		_, err := f.Certificates(t.Context(), fmt.Sprint(certURL, i))
		require.Error(t, err)
	}
	require.Equal(t, 1, api.calls)
	for range 60 { // what failed is not asked again at once
		now = now.Add(2 * time.Second)
		_, err := f.Certificates(t.Context(), certURL+"0")
		require.ErrorIs(t, err, errFailed)
	}
	require.Equal(t, 1, api.calls)
	for i := range 3 * failedAtMost {
		now = now.Add(fetchEvery)
		_, err := f.Certificates(t.Context(), fmt.Sprint(certURL, "x", i))
		require.Error(t, err)
		require.LessOrEqual(t, len(f.failed), failedAtMost)
	}
	// A certificate that PayPal uses stays usable while strangers take every fetch.
	api.status, api.body, now = 200, "pem", now.Add(fetchEvery)
	_, err := f.Certificates(t.Context(), certURL)
	require.NoError(t, err)
	now = now.Add(keepFor)
	_, err = f.Certificates(t.Context(), certURL+"-other")
	require.NoError(t, err)
	text, err := f.Certificates(t.Context(), certURL)
	require.NoError(t, err)
	require.Equal(t, "pem", string(text))
}

// An address that sends unsigned deliveries takes no turn of PayPal's: what is known counts for it,
// too.
func TestDoubtedDeliveriesFetchNothing(t *testing.T) {
	now, api := sentAt, &trip{status: 200, body: "pem"}
	f := NewFetcher(api, func() time.Time { return now })
	doubted := payment.Doubted(t.Context())
	for i := range 60 {
		now = now.Add(fetchEvery)
		_, err := f.Certificates(doubted, fmt.Sprint(certURL, i))
		require.ErrorIs(t, err, errDoubted)
	}
	require.Zero(t, api.calls)
	_, err := f.Certificates(t.Context(), certURL)
	require.NoError(t, err)
	now = now.Add(keepFor)
	text, err := f.Certificates(doubted, certURL)
	require.NoError(t, err)
	require.Equal(t, "pem", string(text))
	require.Equal(t, 1, api.calls)
}

// slowTrip answers for PayPal's own address at once, for others when the test says so.
type slowTrip struct {
	requests chan struct{}
	answer   chan struct{}
}

func (s slowTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.String() != certURL {
		close(s.requests)
		<-s.answer
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("pem"))}, nil
}

// What PayPal signs with waits for no address that a stranger made up, however slowly it answers.
func TestKnownCertificatesWaitForNoFetch(t *testing.T) {
	now, slow := sentAt, slowTrip{make(chan struct{}), make(chan struct{})}
	f := NewFetcher(slow, func() time.Time { return now })
	_, err := f.Certificates(t.Context(), certURL)
	require.NoError(t, err)
	now = now.Add(fetchEvery)
	stranger := make(chan error, 1)
	go func() {
		_, err := f.Certificates(context.Background(), certURL+"-other")
		stranger <- err
	}()
	<-slow.requests
	known := make(chan []byte, 1)
	go func() {
		text, _ := f.Certificates(context.Background(), certURL)
		known <- text
	}()
	select {
	case text := <-known:
		require.Equal(t, "pem", string(text))
	case <-time.After(3 * time.Second):
		t.Error("it waits")
	}
	close(slow.answer)
	require.NoError(t, <-stranger)
}

func FuzzReadEvent(f *testing.F) {
	f.Add([]byte(completed))
	f.Add([]byte(refundedOnce))
	f.Add([]byte(
		`{"id":"x","event_type":"PAYMENT.CAPTURE.REFUNDED","resource":{"links":[{"rel":"up","href":""}],"amount":{"value":"1e30"}}}`,
	))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := readEvent(body)
		if err != nil {
			require.True(t, errs.Is(err, errs.InvalidRequest))
			return
		}
		require.LessOrEqual(t, d.Notice.Amount, money.Max)
		if d.Parked != "" {
			require.True(t, ledger.IsReference(d.Notice.EventID))
		} else if d.Ignored+d.Unknown+d.Approved == "" {
			require.NoError(t, d.Notice.Valid())
		}
	})
}
