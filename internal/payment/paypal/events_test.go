package paypal

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

func eventOf(eventType, resource string) []byte {
	return fmt.Appendf(nil, `{"id":"WH-7","event_type":%q,"resource":%s}`, eventType, resource)
}

// A refund that failed is what PayPal's API says about it, whatever the event's type.
func TestPayPalReadsFailedRefunds(t *testing.T) {
	w := newPayPalWorld(t)
	for _, c := range []struct {
		event, status, state string
		kind                 ledger.NoticeKind
	}{
		{"PAYMENT.CAPTURE.REFUNDED", "COMPLETED", "COMPLETED", ledger.NoticeRefunded},
		{"PAYMENT.CAPTURE.REVERSED", "COMPLETED", "COMPLETED", ledger.NoticeRefunded},
		{"PAYMENT.CAPTURE.REFUNDED", "FAILED", "FAILED", ledger.NoticeRefundFailed},
		{"PAYMENT.CAPTURE.REFUNDED", "COMPLETED", "CANCELLED", ledger.NoticeRefundFailed},
		{"PAYMENT.REFUND.FAILED", "FAILED", "FAILED", ledger.NoticeRefundFailed},
		{"PAYMENT.REFUND.CANCELLED", "CANCELLED", "CANCELLED", ledger.NoticeRefundFailed},
		{"PAYMENT.REFUND.DENIED", "", "DENIED", ledger.NoticeRefundFailed},
		{"PAYMENT.REFUND.FAILED", "FAILED", "COMPLETED", ledger.NoticeRefunded},
	} {
		w.api.refunds["1JU08902781691411"] = Refund{"7.50", "USD", "42311647XV020574X", c.state}
		body := strings.NewReplacer("PAYMENT.CAPTURE.REFUNDED", c.event, "COMPLETED", c.status).Replace(refundedOnce)
		d, err := w.hook.Read(t.Context(), w.sign(t, body, sentAt), []byte(body))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Type: c.event, Notice: ledger.Notice{
			Provider: ledger.PayPal, EventID: "WH-EVT-2", Kind: c.kind, PaymentID: "42311647XV020574X",
			RefundID: "1JU08902781691411", Amount: 7_500_000,
		}}, d, "%+v", c)
	}
	w.api.refunds["1JU08902781691411"] = Refund{"7.50", "USD", "42311647XV020574X", "PENDING"}
	d, err := w.hook.Read(t.Context(), w.sign(t, refundedOnce, sentAt), []byte(refundedOnce))
	require.NoError(t, err)
	require.Equal(t, "refund", d.Ignored)
	w.api.refunds["1JU08902781691411"] = Refund{"7.50", "USD", "42311647XV020574X", "SOMETHING"}
	d, err = w.hook.Read(t.Context(), w.sign(t, refundedOnce, sentAt), []byte(refundedOnce))
	require.NoError(t, err)
	require.Equal(t, unconfirmed, d.Parked)
}

func TestPayPalParksEventsThatItCannotApply(t *testing.T) {
	for _, c := range []struct {
		event, resource, why, payment string
		amount                        money.Micros
	}{
		{"PAYMENT.SALE.REVERSED", `{"id":"R-1","sale_id":"S-1","amount":{"total":"-3.50","currency":"USD"}}`,
			payment.UnknownType, "S-1", 3_500_000},
		{"INVOICING.INVOICE.REFUNDED", `{"id":"INV-1","amount":{"value":"5.00","currency_code":"EUR"}}`,
			payment.UnknownType + ", the currency is EUR", "INV-1", 0},
		{"RISK.DISPUTE.CREATED", `{"dispute_id":"PP-1","dispute_amount":{"value":"5.00","currency_code":"USD"}}`,
			payment.UnknownType, "PP-1", 5_000_000},
		{"PAYMENT.CAPTURE.REFUNDED", `{"id":"R-2","status":"ODD","amount":{"value":"5.00","currency_code":"USD"}}`,
			"the status of the refund is not known", "R-2", 5_000_000},
	} {
		d, err := readEvent(eventOf(c.event, c.resource))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Type: c.event, Parked: c.why, Notice: ledger.Notice{
			Provider: ledger.PayPal, EventID: "WH-7", PaymentID: c.payment, Amount: c.amount,
		}}, d, c.event)
	}
	for event, resource := range map[string]string{
		"CUSTOMER.MERCHANT-INTEGRATION.REVOKED": `{"id":"M-1"}`, "X": `null`, "Y": `{"amount":{"value":"0","currency_code":"USD"}}`,
	} {
		d, err := readEvent(eventOf(event, resource))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Unknown: payment.UnknownType}, d, event)
	}
	for event := range harmless {
		d, err := readEvent(eventOf(event, `{"id":"x","amount":{"value":"5.00","currency_code":"USD"}}`))
		require.NoError(t, err)
		require.Equal(t, payment.Delivery{Ignored: "event_type"}, d)
		require.NotContains(t, handled, event)
	}
}

func TestPayPalParksUnknownStates(t *testing.T) {
	const resource = `{"id":"P-1","status":%q,"amount":{"value":"5.00","currency_code":"USD"}}`
	for event, why := range map[string]string{
		"PAYMENT.CAPTURE.COMPLETED": "the status of the capture is not known",
		"CHECKOUT.ORDER.APPROVED":   "the status of the order is not known",
		"PAYMENT.CAPTURE.REFUNDED":  "the status of the refund is not known",
	} {
		for _, state := range []string{"PARTIALLY_PAID", "completed", "ON_HOLD", " "} {
			d, err := readEvent(eventOf(event, fmt.Sprintf(resource, state)))
			require.NoError(t, err)
			require.Equal(t, payment.Delivery{Type: event, Parked: why, Notice: ledger.Notice{
				Provider: ledger.PayPal, EventID: "WH-7", PaymentID: "P-1", Amount: 5 * money.USD,
			}}, d, state)
		}
	}
	for _, state := range []string{"PENDING", "DECLINED", "FAILED"} {
		d, err := readEvent(eventOf("PAYMENT.CAPTURE.COMPLETED", fmt.Sprintf(resource, state)))
		require.NoError(t, err)
		require.Equal(t, "status", d.Ignored)
	}
}

func TestPayPalParksIllegibleAmounts(t *testing.T) {
	for _, resource := range []string{
		`{"amount":"45.00"}`, `{"amount":12.5}`, `{"amount":{"value":12.5,"currency_code":"USD"}}`,
		`{"amount":{"value":"1e30","currency_code":"USD"}}`, `{"amount":{"value":"5,00","currency_code":"USD"}}`,
		`{"total":{"value":"5.00","currency_code":"USD"}}`, `{"transactions":[{"amount":{"total":"5.00"}}]}`,
		`{"purchase_units":[{"amount":{"value":"0"}},{"amount":{"value":"5.00"}}]}`, `{"amount":{"minor_units":500}}`,
	} {
		d, err := readEvent(eventOf("PAYMENT.NEW", resource))
		require.NoError(t, err)
		require.Equal(t, payment.UnknownType+", its amount cannot be read", d.Parked, resource)
		require.Zero(t, d.Notice.Amount)
	}
	d, err := readEvent(eventOf("PAYMENT.NEW", `{"amount":{"value":"5.00"}}`))
	require.NoError(t, err)
	require.Equal(t, payment.UnknownType+", the currency is not named", d.Parked)
}

func TestDocumentsListHandledTypes(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operate/money.md")
	require.NoError(t, err)
	for event := range handled {
		require.Contains(t, string(text), "`"+event+"`")
	}
}
