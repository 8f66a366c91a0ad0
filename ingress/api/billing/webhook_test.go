package billing_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/money"
	"adnet/internal/payment"
)

// providers are the two ways of signing, with a payment and a refund of 4 of 10 USD each.
var providers = map[string]struct {
	sign           func(body string, at time.Time) http.Header
	paid, refunded func(to uuid.UUID) string
	// The life of one dispute of that payment; the amount as text and in cents.
	disputed, won, lost func(value string, cents int) string
}{
	"stripe": {
		stripeSigned, func(to uuid.UUID) string { return stripePaid("evt_1", "pi_1", 1000, to) },
		func(uuid.UUID) string { return stripeRefunded("evt_2", "pi_1", 400) },
		func(_ string, cents int) string { return stripeDispute("evt_3", "created", "needs_response", cents) },
		func(_ string, cents int) string { return stripeDispute("evt_4", "closed", "won", cents) },
		func(_ string, cents int) string { return stripeDispute("evt_5", "closed", "lost", cents) },
	},
	"paypal": {
		paypalSigned, func(to uuid.UUID) string { return paypalPaid("WH-1", "CAP-1", "10.00", to) },
		func(uuid.UUID) string { return paypalRefunded("WH-2", "REF-1", "CAP-1", "4.00") },
		func(value string, _ int) string { return paypalDispute("WH-3", "CREATED", "", value) },
		func(value string, _ int) string {
			return paypalDispute("WH-4", "RESOLVED", "RESOLVED_SELLER_FAVOUR", value)
		},
		func(value string, _ int) string {
			return paypalDispute("WH-5", "RESOLVED", "RESOLVED_BUYER_FAVOUR", value)
		},
	},
}

func TestWebhookCreditsAndReverses(t *testing.T) {
	for name, x := range providers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.advertiser(t)
			paid, refunded := x.paid(p.ID), x.refunded(p.ID)
			got := w.deliver(t, x.sign(paid, w.Now), paid).As(200)
			require.Equal(t, "credited", got["outcome"])
			require.Equal(t, false, got["deduped"])
			require.NotEmpty(t, got["deposit_id"])
			require.Equal(t, 10*money.USD, p.cash(t))
			require.Equal(t, "reversed", w.deliver(t, x.sign(refunded, w.Now), refunded).As(200)["outcome"])
			require.Equal(t, 6*money.USD, p.cash(t))
			for _, again := range []string{paid, refunded, paid} { // sent again, signed anew
				require.Equal(t, true, w.deliver(t, x.sign(again, w.Now), again).As(200)["deduped"])
			}
			require.Equal(t, 6*money.USD, p.cash(t))
			w.clean(t)
		})
	}
}

// SECURITY 28: refused, without a single row.
func TestWebhookRefuses(t *testing.T) {
	for name, x := range providers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.advertiser(t)
			body := x.paid(p.ID)
			good := x.sign(body, w.Now)
			for i := range len(body) {
				changed := []byte(body)
				changed[i] ^= 0x01
				if w.deliverRaw(good, string(changed)) != 400 {
					t.Fatalf("byte %d may be changed", i)
				}
			}
			for header := range good {
				without := good.Clone()
				without.Del(header)
				w.deliver(t, without, body).Fails(400, "invalid_request")
			}
			old := x.sign(body, w.Now.Add(-302*time.Second))
			w.deliver(t, old, body).Fails(400, "invalid_request")
			w.deliver(t, good, body+" ").Fails(400, "invalid_request")
			w.deliver(t, good, "").Fails(400, "invalid_request")
			w.deliver(t, good, body+strings.Repeat(" ", 257<<10)).Fails(413, "payload_too_large")
			w.deliver(t, nil, body).Fails(400, "invalid_request")
			require.Zero(t, p.cash(t))
			require.Empty(t, p.does(t, "history", nil).As(200)["entries"])
			// None of them was marked as seen.
			require.Equal(t, false, w.deliver(t, good, body).As(200)["deduped"])
			require.Equal(t, 10*money.USD, p.cash(t))
			require.NotContains(t, w.log.String(), stripeSecret)

			off := newWorld(t, options{noWebhooks: true})
			off.deliver(t, good, body).Fails(400, "invalid_request")
		})
	}
}

// deliverRaw is deliver without the checks, for speed.
func (w *world) deliverRaw(header http.Header, body string) int {
	r := httptest.NewRequest("POST", "/api/billing?action=webhook", strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	w.HTTP.ServeHTTP(recorder, r)
	return recorder.Code
}

func TestSameEventTenTimesAtOnce(t *testing.T) {
	for name, x := range providers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.advertiser(t)
			body := x.paid(p.ID)
			header := x.sign(body, w.Now)
			var first, deduped atomic.Int32
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					r := httptest.NewRequest("POST", "/api/billing?action=webhook", strings.NewReader(body))
					r.Header = header.Clone()
					recorder := httptest.NewRecorder()
					w.HTTP.ServeHTTP(recorder, r)
					var got object
					if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || recorder.Code != 200 {
						t.Errorf("%d %s", recorder.Code, recorder.Body)
					}
					if got["deduped"] == true {
						deduped.Add(1)
					} else {
						first.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, first.Load())
			require.EqualValues(t, 9, deduped.Load())
			require.Equal(t, 10*money.USD, p.cash(t))
			w.clean(t)
		})
	}
}

func TestRefundBeforePayment(t *testing.T) {
	for name, x := range providers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.advertiser(t)
			paid, refunded := x.paid(p.ID), x.refunded(p.ID)
			for i := range 2 {
				got := w.deliver(t, x.sign(refunded, w.Now), refunded).As(200)
				require.Equal(t, "parked", got["outcome"])
				require.Equal(t, i == 1, got["deduped"])
				require.Zero(t, p.cash(t))
			}
			require.Equal(t, "credited", w.deliver(t, x.sign(paid, w.Now), paid).As(200)["outcome"])
			require.Equal(t, 6*money.USD, p.cash(t))
			w.clean(t)
		})
	}
}

func TestUnpaidAndForeignEvents(t *testing.T) {
	w := newWorld(t, options{})
	p := w.advertiser(t)
	paid := stripePaid("evt_1", "pi_1", 1000, p.ID)
	for _, body := range []string{
		strings.Replace(paid, `"payment_status":"paid"`, `"payment_status":"unpaid"`, 1),
		strings.Replace(paid, "checkout.session.completed", "customer.created", 1),
	} {
		require.Equal(t, "ignored", w.deliver(t, stripeSigned(body, w.Now), body).As(200)["outcome"])
	}
	require.Zero(t, p.cash(t))
	// The bank has agreed later.
	body := strings.Replace(paid, "session.completed", "session.async_payment_succeeded", 1)
	require.Equal(t, "credited", w.deliver(t, stripeSigned(body, w.Now), body).As(200)["outcome"])
	body = strings.Replace(paid, `"evt_1"`, `"evt_9"`, 1) // the other event of the same payment
	got := w.deliver(t, stripeSigned(body, w.Now), body).As(200)
	require.Equal(t, "unchanged", got["outcome"])
	require.Equal(t, true, got["deduped"])
	require.Equal(t, 10*money.USD, p.cash(t))

	body = stripePaid("evt_2", "pi_2", 1000, uuid.New())
	require.Equal(t, "unattributed", w.deliver(t, stripeSigned(body, w.Now), body).As(200)["outcome"])
	w.clean(t)
}

// Money in another currency is never credited but parked for a person. The provider need not send
// it again.
func TestForeignCurrencyIsParked(t *testing.T) {
	for name, x := range providers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p, admin := w.advertiser(t), w.person(t, account.RoleAdmin)
			foreign := strings.NewReplacer(`"usd"`, `"eur"`, `"USD"`, `"EUR"`)
			for _, body := range []string{
				foreign.Replace(x.paid(p.ID)), foreign.Replace(x.refunded(p.ID)),
				foreign.Replace(x.disputed("7.00", 700)), foreign.Replace(x.paid(p.ID)),
			} {
				got := w.deliver(t, x.sign(body, w.Now), body).As(200)
				require.Equal(t, "parked", got["outcome"])
				require.Contains(t, got["reason"], "EUR")
			}
			require.Zero(t, p.cash(t))
			require.Empty(t, p.does(t, "history", nil).As(200)["entries"])
			list := admin.Call(t, "GET", "/api/billing?action=parked", nil).As(200)["parked"].([]any)
			require.Len(t, list, 3)
			for _, entry := range list {
				require.Contains(t, entry.(object)["reason"], "EUR")
				require.Equal(t, name, entry.(object)["provider"])
			}
			p.Call(t, "GET", "/api/billing?action=parked", nil).Fails(403, "forbidden")
			w.nobody().Call(t, "GET", "/api/billing?action=parked", nil).Fails(401, "invalid_token")
			for _, nothing := range []string{
				`{"id":"e","type":"charge.refunded","data":{"object":{"payment_intent":"p","currency":"eur\u0000' OR 1"}}}`,
			} {
				code := w.deliverRaw(x.sign(nothing, w.Now), nothing)
				require.Contains(t, []int{200, 400}, code)
			}
			w.clean(t)
		})
	}
}

// A chargeback takes the deposit back while it is open, and returns it when it is won.
func TestDisputes(t *testing.T) {
	for name, x := range providers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.advertiser(t)
			paid, opened, won := x.paid(p.ID), x.disputed("7.00", 700), x.won("7.00", 700)
			id := w.deliver(t, x.sign(paid, w.Now), paid).As(200)["deposit_id"]
			got := w.deliver(t, x.sign(opened, w.Now), opened).As(200)
			require.Equal(t, "held", got["outcome"])
			require.Equal(t, id, got["deposit_id"])
			require.Equal(t, 3*money.USD, p.cash(t))
			d := p.does(t, "deposit", object{"deposit_id": id}).As(200)
			require.Equal(t, "disputed", d["status"])
			require.EqualValues(t, 7, d["held"])
			require.EqualValues(t, 0, d["refunded"])
			require.Equal(t, true, w.deliver(t, x.sign(opened, w.Now), opened).As(200)["deduped"])
			require.Equal(t, "released", w.deliver(t, x.sign(won, w.Now), won).As(200)["outcome"])
			require.Equal(t, 10*money.USD, p.cash(t))
			require.Equal(t, "paid", p.does(t, "deposit", object{"deposit_id": id}).As(200)["status"])
			entries := p.does(t, "history", nil).As(200)["entries"].([]any)
			require.Len(t, entries, 3)
			require.Equal(t, "dispute_won", entries[0].(object)["kind"])
			require.Equal(t, entries[1].(object)["id"], entries[0].(object)["reverses"])
			require.Equal(t, entries[2].(object)["id"], entries[1].(object)["reverses"])
			w.clean(t)

			// In reverse order, and lost: the result is the same as in order.
			w = newWorld(t, options{})
			p = w.advertiser(t)
			lost := x.lost("7.00", 700)
			for _, body := range []string{lost, opened} {
				require.Equal(t, "parked", w.deliver(t, x.sign(body, w.Now), body).As(200)["outcome"])
			}
			paid = x.paid(p.ID)
			w.deliver(t, x.sign(paid, w.Now), paid).As(200)
			require.Equal(t, 3*money.USD, p.cash(t))
			w.clean(t)
		})
	}
}

// A payment finds the deposit of its checkout: one record from the first click to the refund.
func TestCheckoutToRefund(t *testing.T) {
	w := newWorld(t, options{checkouts: &stripeLike{}})
	p := w.advertiser(t)
	opened := p.does(t, "create_checkout", object{"amount": 10}).As(200)
	id := uuid.MustParse(opened["deposit_id"].(string))
	body := stripePaid("evt_1", "pi_1", 1000, id)
	require.Equal(t, id.String(), w.deliver(t, stripeSigned(body, w.Now), body).As(200)["deposit_id"])
	for _, claim := range []object{{"deposit_id": id}, {"payment_intent": "pi_1"}, {"session_id": "cs_1"}} {
		got := p.does(t, "deposit", claim).As(200)
		require.Equal(t, "paid", got["status"])
		require.Equal(t, true, got["deduped"])
		require.Equal(t, id.String(), got["deposit_id"])
	}
	for cents, status := range map[int]string{400: "partially_refunded"} {
		body = stripeRefunded("evt_2", "pi_1", cents)
		w.deliver(t, stripeSigned(body, w.Now), body).As(200)
		require.Equal(t, status, p.does(t, "deposit", object{"deposit_id": id}).As(200)["status"])
	}
	body = stripeRefunded("evt_3", "pi_1", 1000)
	w.deliver(t, stripeSigned(body, w.Now), body).As(200)
	got := p.does(t, "deposit", object{"deposit_id": id}).As(200)
	require.Equal(t, "refunded", got["status"])
	require.EqualValues(t, 10, got["refunded"])
	require.Zero(t, p.cash(t))
	w.clean(t)
}

func FuzzWebhook(f *testing.F) {
	w := newWorld(f, options{})
	p := w.advertiser(f)
	for _, x := range providers {
		f.Add([]byte(x.paid(p.ID)), true)
		f.Add([]byte(x.refunded(p.ID)), false)
	}
	f.Add(
		[]byte(
			`{"id":"e","type":"checkout.session.completed","data":{"object":{"payment_status":"paid","currency":"usd","payment_intent":"p","amount_total":1e18}}}`,
		), true,
	)
	f.Add([]byte(strings.Repeat(`{"a":`, 10_001)), true)
	f.Add([]byte("{\"id\":\"\x00\"}"), false)
	f.Fuzz(func(t *testing.T, body []byte, card bool) {
		sign := paypalSigned
		if card {
			sign = stripeSigned
		}
		// A signed body gets only the envelope's own replies, an unsigned body only 400 or 413.
		if code := w.deliverRaw(sign(string(body), time.Now()), string(body)); code != 200 && code != 400 &&
			code != 413 {
			t.Fatalf("answered %d", code)
		}
		unsigned := sign(string(body)+"x", time.Now())
		if code := w.deliverRaw(unsigned, string(body)); code != 400 && code != 413 {
			t.Fatalf("a signature of something else was answered %d", code)
		}
	})
}

// stripeLike opens one checkout, cs_pi_1's session.
type stripeLike struct{ failing }

func (stripeLike) Open(_ context.Context, r payment.Request) (payment.Session, error) {
	return payment.Session{ID: "cs_1", URL: "https://pay.example/" + r.DepositID.String()}, nil
}

// Unsigned deliveries are limited by address. Signed ones are accepted even from that address, so
// the provider is not locked out.
func TestUnsignedDeliveriesAreLimited(t *testing.T) {
	for name, x := range providers {
		t.Run(name, func(t *testing.T) {
			const badDeliveries = 20
			w := newWorld(t, options{badDeliveries: badDeliveries})
			p := w.advertiser(t)
			forged := x.sign(x.paid(p.ID), w.Now)
			for range badDeliveries {
				w.deliver(t, forged, "{}").Fails(400, "invalid_request")
			}
			w.deliver(t, forged, "{}").Fails(429, "rate_limited")
			w.deliver(t, nil, "{}").Fails(429, "rate_limited")
			require.Equal(t, "credited", w.deliver(t, forged, x.paid(p.ID)).As(200)["outcome"])
			w.deliver(t, forged, "{}").Fails(429, "rate_limited")
			w.Now = w.Now.Add(time.Minute + time.Second)
			w.deliver(t, forged, "{}").Fails(400, "invalid_request")
		})
	}
}
