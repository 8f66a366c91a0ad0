package stripe

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

// mockModule is Stripe's own stand-in for its API. It holds requests against Stripe's published
// description and refuses parameters that the API does not know.
const mockModule = "github.com/stripe/stripe-mock@v0.203.0"

// startMock installs (the first time from the module proxy) and starts the stand-in, and gives its
// address.
func startMock(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	install := exec.CommandContext(t.Context(), "go", "install", mockModule)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("go install %s: %v\n%s", mockModule, err, out)
		}
		t.Skipf("go install %s needs the module proxy: %v\n%s", mockModule, err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	require.NoError(t, listener.Close())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	mock := exec.CommandContext(ctx, filepath.Join(bin, "stripe-mock"), "-http-addr", addr)
	require.NoError(t, mock.Start())
	t.Cleanup(func() { cancel(); _ = mock.Wait() })
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	return "http://" + addr
}

func request() payment.Request {
	return payment.Request{
		DepositID:    uuid.MustParse("0192f0c5-3b1e-7d20-9c4a-7a1b2c3d4e5f"),
		AdvertiserID: uuid.MustParse("0192f0c1-7a51-7c60-8a51-3f1f7d4c2b11"),
		Email:        "me@shop.example", Amount: 25_500_000, ReturnURL: "https://shop.example/back?deposit_id=1",
		CancelURL: "https://shop.example/back?cancelled=true",
	}
}

func TestAgainstStripeMock(t *testing.T) {
	base := startMock(t)
	client, err := New(Config{Key: "sk_test_123", BaseURL: base, Timeout: 30 * time.Second})
	require.NoError(t, err)
	session, err := client.Open(t.Context(), request())
	require.NoError(t, err)
	require.NotEmpty(t, session.ID)
	require.Contains(t, session.URL, "http")
	// Its sessions are fixtures that are not paid.
	_, paid, err := client.Verify(t.Context(), session.ID)
	require.NoError(t, err)
	require.False(t, paid)

	// The stand-in checks the form of the key, so a wrong one is refused: as an upstream error
	// without the key.
	client, err = New(Config{Key: "canary", BaseURL: base, Timeout: 30 * time.Second})
	require.NoError(t, err)
	_, err = client.Open(t.Context(), request())
	require.True(t, errs.Is(err, errs.UpstreamError), "%v", err)
	require.NotContains(t, err.Error(), "canary")
}

// api answers as Stripe does and keeps what it was sent.
func api(t *testing.T, status int, body string) (*Client, *[]*http.Request) {
	t.Helper()
	var got []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.NoError(t, r.ParseForm())
		got = append(got, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	client, err := New(Config{Key: "sk_test_canary", BaseURL: server.URL + "/", Timeout: 10 * time.Second})
	require.NoError(t, err)
	return client, &got
}

func TestOpenSends(t *testing.T) {
	client, got := api(t, 200, `{"id":"cs_1","object":"checkout.session","url":"https://checkout.stripe.com/c/1"}`)
	session, err := client.Open(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, payment.Session{ID: "cs_1", URL: "https://checkout.stripe.com/c/1"}, session)
	require.Len(t, *got, 1)
	sent := (*got)[0]
	require.Equal(t, "/v1/checkout/sessions", sent.URL.Path)
	require.Equal(t, "Bearer sk_test_canary", sent.Header.Get("Authorization"))
	require.Equal(t, "adnet-deposit-0192f0c5-3b1e-7d20-9c4a-7a1b2c3d4e5f", sent.Header.Get("Idempotency-Key"))
	require.Equal(t, url.Values{
		"mode": {"payment"}, "success_url": {request().ReturnURL}, "cancel_url": {request().CancelURL},
		"customer_email":      {"me@shop.example"},
		"client_reference_id": {request().DepositID.String()}, "adaptive_pricing[enabled]": {"false"},
		"metadata[deposit_id]":                         {request().DepositID.String()},
		"metadata[advertiser_id]":                      {request().AdvertiserID.String()},
		"payment_intent_data[metadata][deposit_id]":    {request().DepositID.String()},
		"payment_intent_data[metadata][advertiser_id]": {request().AdvertiserID.String()},
		"line_items[0][quantity]":                      {"1"}, "line_items[0][price_data][currency]": {"usd"},
		"line_items[0][price_data][unit_amount]":        {"2550"},
		"line_items[0][price_data][product_data][name]": {"Advertising balance"},
	}, sent.PostForm)
}

func TestFailuresSayNothing(t *testing.T) {
	for status, body := range map[int]string{
		402: `{"error":{"type":"card_error","code":"x","message":"canary-message"}}`, 500: `oops canary-message`,
		200: `{"object":"checkout.session"}`,
	} {
		client, _ := api(t, status, body)
		_, err := client.Open(t.Context(), request())
		require.True(t, errs.Is(err, errs.UpstreamError), "%d: %v", status, err)
		require.NotContains(t, errs.Of(err).Message, "canary")
		require.NotContains(t, err.Error(), "sk_test_canary")
	}
	for _, cfg := range []Config{
		{}, {Key: "k"}, {Key: "k", BaseURL: "api.stripe.com"}, {Key: "k", BaseURL: "ftp://x"},
	} {
		_, err := New(cfg)
		require.Error(t, err)
	}
}

func TestVerify(t *testing.T) {
	const reply = `{"id":"cs_1","object":"checkout.session","payment_status":"%s","payment_intent":%s,"amount_total":%s,"currency":"%s",
		"client_reference_id":"0192f0c5-3b1e-7d20-9c4a-7a1b2c3d4e5f","metadata":{"advertiser_id":"0192f0c1-7a51-7c60-8a51-3f1f7d4c2b11"}}`
	client, got := api(t, 200, fmt.Sprintf(reply, "paid", `"pi_1"`, "2550", "usd"))
	n, paid, err := client.Verify(t.Context(), "cs_1")
	require.NoError(t, err)
	require.True(t, paid)
	require.Equal(t, ledger.Notice{
		Provider: ledger.Stripe, EventID: "verified_cs_1", Kind: ledger.NoticePaid, PaymentID: "pi_1",
		Amount: 25*money.USD + 500_000,
		Names:  []uuid.UUID{request().DepositID, request().AdvertiserID},
	}, n)
	require.Equal(t, "/v1/checkout/sessions/cs_1", (*got)[0].URL.Path)
	for name, fields := range map[string][4]any{
		"unpaid": {"unpaid", `"pi_1"`, "2550", "usd"}, "nothing to pay": {"no_payment_required", `"pi_1"`, "0", "usd"},
		"no intent": {"paid", "null", "2550", "usd"}, "euro": {"paid", `"pi_1"`, "2550", "eur"},
	} {
		client, _ := api(t, 200, fmt.Sprintf(reply, fields[:]...))
		_, paid, err := client.Verify(t.Context(), "cs_1")
		require.NoError(t, err, name)
		require.False(t, paid, name)
	}
	client, _ = api(t, 404, `{"error":{"type":"invalid_request_error"}}`)
	_, _, err = client.Verify(t.Context(), "cs_1")
	require.True(t, errs.Is(err, errs.UpstreamError))
}
