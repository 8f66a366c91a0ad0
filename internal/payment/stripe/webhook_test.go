package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

const (
	secret = "whsec_test"
	paid   = `{"id":"evt_1","object":"event","api_version":"2019-05-16","type":"checkout.session.completed",  "data":{"object":{
		"id":"cs_1","object":"checkout.session","payment_status":"paid","payment_intent":"pi_1","amount_total":2550,"currency":"usd",
		"client_reference_id":"0192f0c5-3b1e-7d20-9c4a-7a1b2c3d4e5f","metadata":{"advertiser_id":"0192f0c1-7a51-7c60-8a51-3f1f7d4c2b11","x":"y"}}}}`
	refunded = `{"id":"evt_2","object":"event","type":"charge.refunded","data":{"object":{"id":"ch_1","object":"charge","amount":2550,
		"amount_refunded":1000,"currency":"usd","payment_intent":"pi_1","refunded":false,"metadata":{}}}}`
)

// sign spells out Stripe's scheme, so that the library is compared with it and not with itself.
func sign(body string, at time.Time, key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return hex.EncodeToString(mac.Sum(nil))
}

func header(value string) http.Header { return http.Header{"Stripe-Signature": {value}} }

// read decodes a body as a webhook does for which no key is configured.
func read(body []byte) (payment.Delivery, error) { return (&Webhook{}).read(body) }

func hook(t testing.TB) *Webhook {
	t.Helper()
	w, err := NewWebhook(Config{WebhookSecret: secret})
	require.NoError(t, err)
	return w
}

func TestWebhookNeedsASecret(t *testing.T) {
	_, err := NewWebhook(Config{})
	require.Error(t, err)
}

func TestSignatures(t *testing.T) {
	now := time.Now()
	good := sign(paid, now, secret)
	stamp := fmt.Sprintf("t=%d,", now.Unix())
	read := func(value, body string) error {
		_, err := hook(t).Read(t.Context(), header(value), []byte(body))
		return err
	}
	for name, value := range map[string]string{
		"one":               stamp + "v1=" + good,
		"any of several v1": stamp + "v1=" + strings.Repeat("00", 32) + ",v1=" + good + ",v0=" + good,
	} {
		require.NoError(t, read(value, paid), name)
	}
	for name, value := range map[string]string{
		"empty": "", "no time": "v1=" + good, "no signature": stamp, "v0 only": stamp + "v0=" + good,
		"another secret": stamp + "v1=" + sign(paid, now, "whsec_other"),
		"empty secret":   stamp + "v1=" + sign(paid, now, ""),
		"another time":   fmt.Sprintf("t=%d,v1=%s", now.Unix()-1, good), "garbage": "=,=;", "not hex": stamp + "v1=zz",
		"ahead":   fmt.Sprintf("t=%d,v1=%s", now.Unix()+310, sign(paid, now.Add(310*time.Second), secret)),
		"too old": fmt.Sprintf("t=%d,v1=%s", now.Unix()-302, sign(paid, now.Add(-302*time.Second), secret)),
	} {
		require.True(t, errs.Is(read(value, paid), errs.InvalidRequest), name)
	}
	for i := range len(paid) { // any changed byte
		changed := []byte(paid)
		changed[i] ^= 1
		require.Error(t, read(stamp+"v1="+good, string(changed)))
	}
}

func TestReads(t *testing.T) {
	d, err := read([]byte(paid))
	require.NoError(t, err)
	n := ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_1", Kind: ledger.NoticePaid, PaymentID: "pi_1", Amount: 25_500_000,
		Names: []uuid.UUID{
			uuid.MustParse("0192f0c5-3b1e-7d20-9c4a-7a1b2c3d4e5f"),
			uuid.MustParse("0192f0c1-7a51-7c60-8a51-3f1f7d4c2b11"),
		},
	}
	require.Equal(t, payment.Delivery{Notice: n, Type: "checkout.session.completed"}, d)
	d, err = read([]byte(strings.Replace(paid, "session.completed", "session.async_payment_succeeded", 1)))
	require.NoError(t, err)
	require.Equal(t, n, d.Notice)
	d, err = read([]byte(strings.Replace(paid, `"pi_1"`, `{"id":"pi_1","object":"payment_intent"}`, 1))) // expanded
	require.NoError(t, err)
	require.Equal(t, "pi_1", d.Notice.PaymentID)
	d, err = read([]byte(refunded))
	require.NoError(t, err)
	require.Equal(t, ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_2", Kind: ledger.NoticeRefundedTo, PaymentID: "pi_1",
		Amount: 10 * money.USD,
	}, d.Notice)
}

func TestIgnoresAndRefuses(t *testing.T) {
	for _, c := range []struct{ body, old, with, ignored string }{
		{paid, `"payment_status":"paid"`, `"payment_status":"unpaid"`, "payment_status"},
		{paid, `"payment_status":"paid"`, `"payment_status":"no_payment_required"`, "payment_status"},
		{paid, `checkout.session.completed`, `checkout.session.expired`, "type"},
		{refunded, `charge.refunded`, `charge.succeeded`, "type"},
		{refunded, `charge.refunded","data":{`, `charge.updated","data":{"previous_attributes":{"metadata":{}},`,
			"amount_refunded"},
		{refundObject, `3000`, `0`, "amount"},
	} {
		d, err := read([]byte(strings.Replace(c.body, c.old, c.with, 1)))
		require.NoError(t, err)
		require.Equal(t, c.ignored, d.Ignored)
		require.Empty(t, d.Notice.Kind)
	}
	for _, body := range []string{paid, refunded, dispute1} {
		d, err := read([]byte(strings.Replace(body, `"usd"`, `"eur"`, 1)))
		require.NoError(t, err)
		require.Equal(t, "the currency is EUR, only USD is credited", d.Parked)
		require.Equal(t, "pi_1", d.Notice.PaymentID)
	}
	for _, c := range [][3]string{
		{paid, `2550`, `-1`}, {paid, `2550`, `25.5`}, {paid, `2550`, `"2550"`}, {paid, `2550`, `9223372036854775807`},
		{paid, `2550`, `0`},
		{paid, `"evt_1"`, `""`}, {paid, `"evt_1"`, `1`}, {paid, `"pi_1"`, `[]`},
		{paid, `"usd"`, `"usd","currency":"eur"`}, {paid, `}}}`, `}}`},
		{refunded, `1000`, `-1`}, {refunded, `"evt_2"`, `"a b"`},
	} {
		body := strings.Replace(c[0], c[1], c[2], 1)
		require.NotEqual(t, c[0], body)
		_, err := read([]byte(body))
		require.True(t, errs.Is(err, errs.InvalidRequest), body)
	}
}

const dispute1 = `{"id":"evt_3","object":"event","type":"charge.dispute.created","data":{"object":{"id":"dp_1","object":"dispute","charge":"ch_1",
	"payment_intent":"pi_1","amount":700,"currency":"usd","status":"needs_response"}}}`

func TestReadsDisputes(t *testing.T) {
	for _, c := range []struct {
		event, status string
		kind          ledger.NoticeKind // empty for nothing
	}{
		{"created", "needs_response", ledger.NoticeDisputed}, {"created", "under_review", ledger.NoticeDisputed},
		{"created", "warning_needs_response", ""},
		{"funds_withdrawn", "needs_response", ledger.NoticeDisputed},
		{"funds_reinstated", "won", ledger.NoticeDisputeWon},
		{"closed", "won", ledger.NoticeDisputeWon}, {"closed", "lost", ledger.NoticeDisputeLost},
		{"closed", "warning_closed", ""},
		{"updated", "lost", ""},
	} {
		body := strings.NewReplacer("dispute.created", "dispute."+c.event, "needs_response", c.status).Replace(dispute1)
		d, err := read([]byte(body))
		require.NoError(t, err)
		if c.kind == "" {
			require.NotEmpty(t, d.Ignored, body)
			continue
		}
		require.Equal(t, ledger.Notice{
			Provider: ledger.Stripe, EventID: "evt_3", Kind: c.kind, PaymentID: "pi_1", DisputeID: "dp_1",
			Amount: 7 * money.USD,
		}, d.Notice)
	}
	for _, spoil := range [][2]string{{`"dp_1"`, `""`}, {`700`, `-7`}, {`700`, `0`}} {
		_, err := read([]byte(strings.Replace(dispute1, spoil[0], spoil[1], 1)))
		require.True(t, errs.Is(err, errs.InvalidRequest), spoil)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(paid))
	f.Add([]byte(refunded))
	f.Add([]byte(dispute1))
	f.Add(body("x", `{"amount":[{"a":{"b":{"c":{"d":[1]}}}}],"lines":{"data":[{"total":"1"}]}}`))
	f.Add([]byte(`{"id":"e","type":"charge.refunded","data":{"object":null}}`))
	f.Add([]byte(
		`{"type":"checkout.session.completed","data":{"object":{"payment_status":"paid","currency":"usd","payment_intent":{"id":{}}}}}`,
	))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := read(body)
		if err != nil {
			require.True(t, errs.Is(err, errs.InvalidRequest))
		} else if d.Ignored+d.Unknown+d.Parked == "" {
			require.NoError(t, d.Notice.Valid())
		} else if d.Parked != "" {
			require.True(t, ledger.IsReference(d.Notice.EventID))
		}
	})
}
