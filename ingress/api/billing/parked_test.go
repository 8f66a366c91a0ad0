package billing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/money"
)

// stripeEvent is an event of a type about an object.
func stripeEvent(id, eventType, object string) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":%q,"data":{"object":%s}}`, id, eventType, object)
}

func (w *world) stripe(t testing.TB, body string) object {
	t.Helper()
	return w.deliver(t, stripeSigned(body, w.Now), body).As(200)
}

func (p *person) parked(t testing.TB, query string) (list []object) {
	t.Helper()
	for _, e := range p.Call(t, "GET", "/api/billing?action=parked"+query, nil).As(200)["parked"].([]any) {
		list = append(list, e.(object))
	}
	return list
}

// Every order and repetition of the events of one failed refund ends with the whole payment.
func TestFailedRefundPutsTheMoneyBack(t *testing.T) {
	refund := func(id, eventType, status string) string {
		return stripeEvent(id, eventType,
			`{"id":"re_1","amount":300,"payment_intent":"pi_1","currency":"usd","status":"`+status+`"}`)
	}
	total := func(id, eventType string, cents int) string {
		return stripeEvent(id, eventType,
			fmt.Sprintf(`{"id":"ch_1","payment_intent":"pi_1","amount_refunded":%d,"currency":"usd"}`, cents))
	}
	for name, events := range map[string][]string{
		"refund.failed": {refund("e1", "refund.failed", "failed")},
		"refund.updated": {
			refund("e1", "refund.updated", "canceled"), refund("e2", "refund.created", "pending"),
		},
		"charge.refund.updated": {
			refund("e1", "charge.refund.updated", "failed"), refund("e2", "refund.updated", "failed"),
		},
		"charge.updated": {total("e1", "charge.updated", 0)},
		"all":            {total("e1", "charge.updated", 0), refund("e2", "refund.failed", "failed")},
	} {
		t.Run(name, func(t *testing.T) {
			all := append([]string{total("e0", "charge.refunded", 300)}, events...)
			permutations(len(all)+1, func(order []int) {
				w := newWorld(t, options{})
				p := w.advertiser(t)
				bodies := append([]string{stripePaid("evt_1", "pi_1", 1000, p.ID)}, all...)
				for range 2 {
					for _, i := range order {
						w.stripe(t, bodies[i])
					}
				}
				require.Equal(t, 10*money.USD, p.cash(t), "%v", order)
				w.clean(t)
			})
		})
	}
}

// permutations calls use with every order of the numbers below n.
func permutations(n int, use func([]int)) {
	var next func(order []int)
	next = func(order []int) {
		if len(order) == n {
			use(order)
			return
		}
		for i := range n {
			if !strings.Contains(fmt.Sprint(order), fmt.Sprint(i)) {
				next(append(order[:len(order):len(order)], i))
			}
		}
	}
	next(nil)
}

func TestParkedEventIsDecidedOnce(t *testing.T) {
	w := newWorld(t, options{})
	p, admin := w.advertiser(t), w.person(t, account.RoleAdmin)
	for _, harmless := range []string{
		stripeEvent("e1", "payment_intent.succeeded", `{"id":"pi_1","amount":500,"currency":"usd"}`),
		stripeEvent("e2", "radar.early_fraud_warning.created", `{"id":"x","payment_intent":"pi_1"}`),
	} {
		require.Equal(t, "ignored", w.stripe(t, harmless)["outcome"])
	}
	odd := stripeEvent(
		"e3", "charge.refund.reversed", `{"id":"ch_1","payment_intent":"pi_1","amount":500,"currency":"usd"}`,
	)
	for range 2 {
		require.Equal(t, "parked", w.stripe(t, odd)["outcome"])
	}
	list := admin.parked(t, "")
	require.Len(t, list, 1)
	require.Equal(t, "charge.refund.reversed", list[0]["event_type"])
	require.EqualValues(t, 5, list[0]["amount"])
	require.Equal(t, "pi_1", list[0]["payment_id"])
	decision := object{"id": list[0]["id"], "decision": "credit", "account_id": p.ID, "note": "Stripe gave it back"}
	p.does(t, "parked", decision).Fails(403, "forbidden")
	for range 2 {
		got := admin.does(t, "parked", decision).As(200)["parked"].(object)
		require.Equal(t, "credit", got["state"])
		require.EqualValues(t, 5, got["applied"])
		require.Equal(t, 5*money.USD, p.cash(t))
	}
	for field, change := range map[string]object{
		"decision": {"decision": "no"}, "note": {"note": " "}, "amount": {"amount": 0}, "id": {"id": "x"},
		"account_id": {"account_id": ""},
	} {
		body := object{"id": list[0]["id"], "decision": "credit", "account_id": p.ID, "note": "x"}
		for name, value := range change {
			body[name] = value
		}
		reply := admin.does(t, "parked", body)
		reply.Fails(400, "invalid_request")
		require.Equal(t, field, reply.As(400)["field"])
	}
	admin.does(t, "parked", object{"id": list[0]["id"], "decision": "dismiss", "note": "x"}).Fails(409, "conflict")
	admin.does(t, "parked", object{"id": uuid.New(), "decision": "dismiss", "note": "x"}).Fails(404, "not_found")
	require.Empty(t, admin.parked(t, ""))
	require.Len(t, admin.parked(t, "&state=all"), 1)
	w.clean(t)
}

// A session in an unknown state is parked as its payment: the event of the whole payment does not
// credit it again.
func TestSessionInUnknownStateIsCreditedOnce(t *testing.T) {
	w := newWorld(t, options{})
	p, admin := w.advertiser(t), w.person(t, account.RoleAdmin)
	paid := stripePaid("evt_1", "pi_1", 5000, p.ID)
	require.Equal(t, "parked", w.stripe(t, strings.Replace(paid, `"paid"`, `"partially_paid"`, 1))["outcome"])
	require.Zero(t, p.cash(t))
	list := admin.parked(t, "")
	require.Len(t, list, 1)
	require.EqualValues(t, 50, list[0]["amount"])
	admin.does(
		t, "parked", object{"id": list[0]["id"], "decision": "credit", "account_id": p.ID, "note": "x"},
	).As(200)
	require.Equal(t, "unchanged", w.stripe(t, strings.Replace(paid, "evt_1", "evt_2", 1))["outcome"])
	require.Equal(t, 50*money.USD, p.cash(t))
	w.clean(t)
}

func TestParkedEventsArePaged(t *testing.T) {
	w := newWorld(t, options{})
	admin := w.person(t, account.RoleAdmin)
	for i := range 7 {
		w.stripe(t, stripeEvent(
			fmt.Sprint("e", i), fmt.Sprint("treasury.new", i), `{"id":"x","amount":500,"currency":"usd"}`,
		))
	}
	ids := map[any]bool{}
	for offset, want := range map[int]struct {
		rows int
		more bool
	}{0: {3, true}, 3: {3, true}, 6: {1, false}, 4: {3, false}, 7: {0, false}, 1000: {0, false}} {
		path := fmt.Sprintf("/api/billing?action=parked&limit=3&offset=%d", offset)
		page := admin.Call(t, "GET", path, nil).As(200)
		require.Equal(t, want.more, page["more"], offset)
		require.EqualValues(t, offset, page["offset"])
		require.Len(t, page["parked"], want.rows)
		for _, e := range page["parked"].([]any) {
			ids[e.(object)["id"]] = true
		}
	}
	require.Len(t, ids, 7)
	for _, offset := range []string{"-1", "x", "1000001"} {
		admin.Call(t, "GET", "/api/billing?action=parked&offset="+offset, nil).Fails(400, "invalid_request")
	}
}

func TestPaymentForClosedAccountIsParked(t *testing.T) {
	w := newWorld(t, options{})
	p, admin := w.advertiser(t), w.person(t, account.RoleAdmin)
	_, err := w.Store.Accounts.UpdateUser(t.Context(), p.ID, func(u *account.User) error { return u.Erase() })
	require.NoError(t, err)
	require.Equal(t, "closed", w.stripe(t, stripePaid("evt_1", "pi_1", 1000, p.ID))["outcome"])
	list := admin.parked(t, "")
	require.Len(t, list, 1)
	require.Equal(t, "pi_1", list[0]["payment_id"])
	require.Contains(t, list[0]["reason"], "closed account")
	require.Zero(t, p.cash(t))
}

// An event with a hundred lines is larger than other bodies.
func TestLargeDeliveryIsRead(t *testing.T) {
	w := newWorld(t, options{})
	p := w.advertiser(t)
	body := strings.Replace(
		stripePaid("evt_1", "pi_1", 1000, p.ID), `"object":"event"`,
		`"object":"event","lines":"`+strings.Repeat("x", 200_000)+`"`, 1,
	)
	require.Equal(t, "credited", w.stripe(t, body)["outcome"])
}
