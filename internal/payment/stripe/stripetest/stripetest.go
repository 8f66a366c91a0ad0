// Package stripetest makes and signs webhook deliveries in tests as Stripe does, without its library.
package stripetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"
)

// Sign returns the header of a delivery of body at a time, signed with an endpoint's secret.
func Sign(body, secret string, at time.Time) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), body) // never fails
	return http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%x", at.Unix(), mac.Sum(nil))}}
}

// Paid returns the event of a checkout session that was paid with a payment intent, in cents of USD,
// for an account.
func Paid(event, intent string, cents int64, account string) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":"checkout.session.completed","data":{"object":{"id":"cs_%s",
		"payment_status":"paid","payment_intent":%q,"amount_total":%d,"currency":"usd","client_reference_id":%q,
		"metadata":{}}}}`, event, intent, intent, cents, account)
}
