package stripe

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

const refundObject = `{"id":"evt_4","object":"event","created":1780000000,"type":"refund.updated","data":{"object":{"id":"re_1","object":"refund",
	"amount":3000,"charge":"ch_1","payment_intent":"pi_1","currency":"usd","status":"succeeded"}}}`

// body returns an event of a type about an object.
func body(eventType, object string) []byte {
	return fmt.Appendf(nil, `{"id":"evt_9","object":"event","type":%q,"data":{"object":%s}}`, eventType, object)
}

func TestReadsRefunds(t *testing.T) {
	for _, c := range []struct {
		event, status string
		kind          ledger.NoticeKind
	}{
		{"refund.created", "pending", ledger.NoticeRefunded}, {"refund.created", "succeeded", ledger.NoticeRefunded},
		{"refund.updated", "requires_action", ledger.NoticeRefunded},
		{"refund.updated", "failed", ledger.NoticeRefundFailed},
		{"refund.updated", "canceled", ledger.NoticeRefundFailed},
		{"charge.refund.updated", "failed", ledger.NoticeRefundFailed},
		{"charge.refund.updated", "canceled", ledger.NoticeRefundFailed},
		{"refund.failed", "failed", ledger.NoticeRefundFailed}, {"refund.failed", "", ledger.NoticeRefundFailed},
	} {
		d, err := read([]byte(strings.NewReplacer("refund.updated", c.event, "succeeded", c.status).Replace(refundObject)))
		require.NoError(t, err)
		require.Equal(t, ledger.Notice{
			Provider: ledger.Stripe, EventID: "evt_4", Kind: c.kind, PaymentID: "pi_1", RefundID: "re_1",
			Amount: 30 * money.USD, SentAt: time.Unix(1780000000, 0).UTC(),
		}, d.Notice, "%s %s", c.event, c.status)
		require.Equal(t, c.event, d.Type)
	}
	for previous, kind := range map[string]ledger.NoticeKind{
		`"previous_attributes":{"amount_refunded":3000},`: ledger.NoticeRefundTotal,
		`"previous_attributes":{"amount_refunded":0},`:    ledger.NoticeRefundedTo,
		``: ledger.NoticeRefundTotal,
	} {
		text := strings.Replace(refunded, `charge.refunded","data":{`, `charge.updated","data":{`+previous, 1)
		d, err := read([]byte(text))
		require.NoError(t, err)
		require.Equal(t, kind, d.Notice.Kind, previous)
		require.Equal(t, 10*money.USD, d.Notice.Amount)
	}
}

// What adnet cannot apply is parked if it has an amount, and otherwise counted.
func TestParksEventsThatItCannotApply(t *testing.T) {
	for _, c := range []struct {
		event, object, why, payment string
		amount                      money.Micros
	}{
		{"charge.refund.reversed", `{"id":"ch_1","payment_intent":"pi_7","amount":1250,"currency":"usd"}`,
			payment.UnknownType, "pi_7", 12_500_000},
		{"credit_note.created", `{"id":"cn_1","total":-990,"currency":"usd"}`, payment.UnknownType, "cn_1", 9_900_000},
		{"customer_cash_balance_transaction.created", `{"id":"ccsbtxn_1","net_amount":-500,"currency":"usd"}`,
			payment.UnknownType, "ccsbtxn_1", 5_000_000},
		{"invoice.paid", `{"id":"in_1","amount_paid":700,"currency":"eur"}`,
			payment.UnknownType + ", the currency is EUR", "in_1", 0},
		{"checkout.session.completed", `{"id":"cs_1","payment_status":"paid","amount_total":900,"currency":"usd"}`,
			noPayment, "cs_1", 9_000_000},
		{"charge.refunded", `{"id":"ch_1","amount_refunded":900,"currency":"usd","payment_intent":null}`, noPayment,
			"ch_1", 9_000_000},
		{"refund.failed", `{"id":"re_1","amount":900,"currency":"usd","charge":"ch_1","status":"failed"}`, noPayment,
			"ch_1", 9_000_000},
		{"refund.updated", `{"id":"re_1","amount":900,"currency":"usd","payment_intent":"pi_1","status":"reversed"}`,
			"the status of the refund is not known", "pi_1", 9_000_000},
		{"charge.dispute.created", `{"id":"dp_1","amount":900,"currency":"usd","charge":"ch_1","status":"lost"}`,
			noPayment, "ch_1", 9_000_000},
		{"charge.dispute.closed", `{"id":"dp_1","amount":900,"currency":"usd","payment_intent":"pi_1","status":"prevented"}`,
			"the status of the dispute is not known", "pi_1", 9_000_000},
	} {
		d, err := read(body(c.event, c.object))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Type: c.event, Parked: c.why, Notice: ledger.Notice{
			Provider: ledger.Stripe, EventID: "evt_9", PaymentID: c.payment, Amount: c.amount,
		}}, d, c.event)
	}
	for event, object := range map[string]string{
		"radar.early_fraud_warning.created": `{"id":"issfr_1","charge":"ch_1","payment_intent":"pi_1","actionable":true}`,
		"account.updated":                   `{"id":"acct_1"}`, "charge.new": `{"id":"ch_1","amount":0}`, "x": `null`, "y": `[]`,
	} {
		d, err := read(body(event, object))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Unknown: payment.UnknownType}, d, event)
	}
	_, err := read([]byte(strings.Replace(string(body("x", `{"amount":1,"currency":"usd"}`)), "evt_9", "", 1)))
	require.True(t, errs.Is(err, errs.InvalidRequest))
}

func TestHarmlessTypesAreIgnored(t *testing.T) {
	for event := range harmless {
		d, err := read(body(event, `{"id":"x","amount":100,"amount_total":100,"total":100,"currency":"usd"}`))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Ignored: "type"}, d)
		require.NotContains(t, handled, event)
	}
}

// The money of a connected account is not the operator's.
func TestEventsOfConnectedAccountsAreParked(t *testing.T) {
	d, err := read([]byte(strings.Replace(paid, `"object":"event"`, `"object":"event","account":"acct_1"`, 1)))
	require.NoError(t, err)
	require.Contains(t, d.Parked, "connected account")
	require.Equal(t, "pi_1", d.Notice.PaymentID)
	require.Empty(t, d.Notice.Kind)
}

func TestEventsOfTheOtherModeAreRefused(t *testing.T) {
	event := func(livemode string) string {
		return strings.Replace(paid, `"object":"event"`, `"object":"event"`+livemode, 1)
	}
	const isLive, isTest = `,"livemode":true`, `,"livemode":false`
	for _, c := range []struct {
		key, livemode string
		refused       bool
	}{
		{"sk_live_1", isLive, false}, {"sk_live_1", isTest, true}, {"sk_live_1", "", true},
		{"rk_live_1", isTest, true}, {"rk_live_1", isLive, false},
		{"sk_test_1", isLive, true}, {"sk_test_1", isTest, false}, {"rk_test_1", isLive, true},
		{"", isLive, false}, {"", isTest, false}, {"other", isTest, false},
	} {
		w, err := NewWebhook(Config{Key: c.key, WebhookSecret: secret})
		require.NoError(t, err)
		text, now := event(c.livemode), time.Now()
		d, err := w.Read(t.Context(), header(fmt.Sprintf("t=%d,v1=%s", now.Unix(), sign(text, now, secret))), []byte(text))
		require.NoError(t, err)
		require.Equal(t, c.refused, d.WrongMode != "", "%s %s", c.key, c.livemode)
		require.Equal(t, c.refused, d.Notice.Kind == "")
	}
}

func TestDocumentsListHandledTypes(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operate/money.md")
	require.NoError(t, err)
	for event := range handled {
		require.Contains(t, string(text), "`"+event+"`")
	}
}

// A session's money is a payment in the state paid, and none in two others.
func TestSessionInUnknownStateIsParked(t *testing.T) {
	for _, event := range []string{"checkout.session.completed", "checkout.session.async_payment_succeeded"} {
		for _, state := range []string{
			`"partially_paid"`, `"requires_capture"`, `"PAID"`, `"paid "`, `"Unpaid"`, `""`, `null`, "",
		} {
			status := `"payment_status":` + state + `,`
			if state == "" {
				status = ""
			}
			d, err := read(body(event, `{"id":"cs_1",`+status+
				`"payment_intent":"pi_1","amount_total":5000,"currency":"usd"}`))
			require.NoError(t, err)
			require.Equal(t, payment.Delivery{
				Type: event, Parked: "the payment_status of the session is not known", Notice: ledger.Notice{
					Provider: ledger.Stripe, EventID: "evt_9", PaymentID: "pi_1", Kind: ledger.NoticePaid,
					Amount: 50 * money.USD,
				},
			}, d, state)
		}
	}
	d, err := read(body("checkout.session.completed",
		`{"id":"cs_1","payment_status":"x","amount_total":5000,"currency":"usd"}`))
	require.NoError(t, err)
	require.Equal(t, "cs_1", d.Notice.PaymentID)
	require.Empty(t, d.Notice.Kind, "no payment that a credit could name")
}

// An amount in a form that adnet does not read is an amount.
func TestEventWithIllegibleAmountIsParked(t *testing.T) {
	for _, object := range []string{
		`{"id":"x","amount":"45.00","currency":"usd"}`, `{"id":"x","amount":12.5,"currency":"usd"}`,
		`{"id":"x","amount":1000000000000000000000000000000,"currency":"usd"}`,
		`{"id":"x","amount":9223372036854775807,"currency":"usd"}`, `{"id":"x","amount":"many"}`,
		`{"id":"x","total":{"value":500,"currency":"usd"}}`, `{"id":"x","amount":{"monetary":{"value":500}}}`,
		`{"id":"x","lines":{"data":[{"amount":0},{"amount":500}]}}`, `{"id":"x","lines":[{"amount":"5"}]}`,
		`{"id":"x","amount":null,"balance":{"net_amount":-1}}`, `{"id":"x","refunded_amount":5,"currency":"usd"}`,
		`{"id":"x","amount":[5]}`, `{"id":"x","amount":"1e2","amount_paid":700,"currency":"usd"}`,
		`{"id":"x","totalAmount":7e0}`, `[{"amount":5}]`,
	} {
		d, err := read(body("treasury.new", object))
		require.NoError(t, err)
		require.Equal(t, payment.UnknownType+", its amount cannot be read", d.Parked, object)
		require.Zero(t, d.Notice.Amount)
	}
	for _, object := range []string{
		`{"amount":null}`, `{"amount":0,"total":"0.00","net":-0.0e5,"amount_due":{"value":"0","currency":"usd"}}`,
		`{"amount":"","amounts":[],"total":{},"amount_off":false}`, `{"lines":{"data":[{"amount":0}]}}`,
		`{"metadata":{"amount":"5"},"plan":{"amount":900},"billing_thresholds":{"amount_gte":5}}`, `7`, `"amount"`,
	} {
		d, err := read(body("treasury.new", object))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Unknown: payment.UnknownType}, d, object)
	}
}

func TestEmptyListOfMetadataIsEmpty(t *testing.T) {
	const object = `{"payment_status":"paid","payment_intent":"pi_1","amount_total":100,"currency":"usd","metadata":%s}`
	for text, readable := range map[string]bool{
		`[]`: true, `[ ]`: true, `{}`: true, `null`: true, `[1]`: false, `"x"`: false, `{"a":1}`: false,
	} {
		d, err := read(body("checkout.session.completed", fmt.Sprintf(object, text)))
		require.Equal(t, readable, err == nil, text)
		require.Equal(t, readable, d.Notice.Amount == money.USD)
	}
}
