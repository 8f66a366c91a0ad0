package paypal_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
	"adnet/internal/payment/paypal"
)

// payPalServer speaks the parts of PayPal's protocol that are used (OAuth client credentials,
// Orders v2), and refuses what PayPal would refuse.
type payPalServer struct {
	t *testing.T
	*httptest.Server

	mu       sync.Mutex
	logins   int
	token    string
	orders   map[string]map[string]any // by id
	byCall   map[string]string         // order by PayPal-Request-Id
	captures int
	status   string // of the next capture
	currency string
	broken   int // answer this status to everything but logins
}

func newPayPalServer(t *testing.T) *payPalServer {
	s := &payPalServer{
		t: t, orders: map[string]map[string]any{}, byCall: map[string]string{}, status: "COMPLETED", currency: "USD",
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/oauth2/token", s.login)
	mux.HandleFunc("POST /v2/checkout/orders", s.authorized(s.create))
	mux.HandleFunc("GET /v2/checkout/orders/{id}", s.authorized(s.show))
	mux.HandleFunc("POST /v2/checkout/orders/{id}/capture", s.authorized(s.capture))
	mux.HandleFunc("GET /v1/customer/disputes/{id}", s.authorized(s.dispute))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *payPalServer) client(t *testing.T) *paypal.Client {
	t.Helper()
	c, err := paypal.New(
		paypal.Config{ClientID: "app", ClientSecret: "canary-secret", BaseURL: s.URL + "/", Timeout: 5 * time.Second},
		time.Now,
	)
	require.NoError(t, err)
	return c
}

func (s *payPalServer) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Paypal-Debug-Id", "f00dcafe")
	w.WriteHeader(status)
	b, err := json.Marshal(body)
	if err == nil {
		_, err = w.Write(b)
	}
	if err != nil {
		s.t.Error(err)
	}
}

func (s *payPalServer) refuse(w http.ResponseWriter, status int, name string) {
	s.answer(w, status, map[string]any{"name": name, "message": "words that repeat canary-request", "details": []any{}})
}

func (s *payPalServer) login(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" ||
		r.FormValue("grant_type") != "client_credentials" || user != "app" || password != "canary-secret" {
		s.refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins++
	s.token = fmt.Sprint("token-", s.logins)
	s.answer(w, http.StatusOK, map[string]any{"access_token": s.token, "token_type": "Bearer", "expires_in": 32400})
}

// authorized holds the lock while next answers.
func (s *payPalServer) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+s.token:
			s.refuse(w, http.StatusUnauthorized, "AUTHENTICATION_FAILURE")
		case s.broken != 0:
			s.refuse(w, s.broken, "INTERNAL_SERVER_ERROR")
		default:
			next(w, r)
		}
	}
}

// dispute shows the one that there is.
func (s *payPalServer) dispute(w http.ResponseWriter, r *http.Request) {
	switch id := r.PathValue("id"); id {
	case "PP-D-1":
		s.answer(w, http.StatusOK, map[string]any{
			"dispute_id": id, "status": "RESOLVED", "reason": "UNAUTHORISED",
			"disputed_transactions": []any{map[string]any{"seller_transaction_id": "CAP-1"}},
			"dispute_amount":        map[string]any{"currency_code": "USD", "value": "7.00"},
			"dispute_outcome":       map[string]any{"outcome_code": "RESOLVED_BUYER_FAVOUR"},
		})
	case "PP-D-FORBIDDEN":
		s.refuse(w, http.StatusForbidden, "NOT_AUTHORIZED")
	default:
		s.refuse(w, http.StatusNotFound, "RESOURCE_NOT_FOUND")
	}
}

func (s *payPalServer) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Intent string `json:"intent"`
		Units  []struct {
			ReferenceID string `json:"reference_id"`
			CustomID    string `json:"custom_id"`
			Description string `json:"description"`
			Amount      struct {
				Value    string `json:"value"`
				Currency string `json:"currency_code"`
			} `json:"amount"`
		} `json:"purchase_units"`
		Context struct {
			ReturnURL string `json:"return_url"`
			CancelURL string `json:"cancel_url"`
			Action    string `json:"user_action"`
			Shipping  string `json:"shipping_preference"`
		} `json:"application_context"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &in, json.RejectUnknownMembers(true))
	}
	if err != nil || r.Header.Get("Content-Type") != "application/json" || in.Intent != "CAPTURE" ||
		len(in.Units) != 1 ||
		in.Units[0].Amount.Currency != "USD" || in.Units[0].CustomID == "" || len(in.Units[0].CustomID) > 127 ||
		!strings.HasPrefix(in.Context.ReturnURL, "https://") || in.Context.CancelURL == "" ||
		in.Context.Action != "PAY_NOW" || in.Context.Shipping != "NO_SHIPPING" {
		s.t.Errorf("order %s: %v", body, err)
		s.refuse(w, http.StatusBadRequest, "INVALID_REQUEST")
		return
	}
	call := r.Header.Get("PayPal-Request-Id")
	if call == "" || len(call) > 108 {
		s.t.Error("the order can be made twice")
	}
	id, known := s.byCall[call]
	if !known {
		id = fmt.Sprintf("5O190127TN36471%02d", len(s.orders))
		s.byCall[call] = id
		s.orders[id] = map[string]any{
			"id": id, "status": "CREATED", "custom": in.Units[0].CustomID, "value": in.Units[0].Amount.Value,
		}
	}
	status := http.StatusCreated
	if known {
		status = http.StatusOK
	}
	s.answer(w, status, map[string]any{"id": id, "status": "CREATED", "links": []any{
		map[string]any{"rel": "self", "href": s.URL + "/v2/checkout/orders/" + id, "method": "GET"},
		map[string]any{
			"rel": "approve", "href": "https://www.sandbox.paypal.com/checkoutnow?token=" + id, "method": "GET",
		},
	}})
}

func (s *payPalServer) displayed(id string) map[string]any {
	o := s.orders[id]
	unit := map[string]any{
		"reference_id": o["custom"], "custom_id": o["custom"],
		"amount": map[string]any{"currency_code": s.currency, "value": o["value"]},
	}
	if o["capture"] != nil {
		unit["payments"] = map[string]any{"captures": []any{map[string]any{
			"id": o["capture"], "status": o["capture_status"], "custom_id": o["custom"],
			"amount": map[string]any{"currency_code": s.currency, "value": o["value"]}, "final_capture": true,
		}}}
	}
	return map[string]any{"id": id, "intent": "CAPTURE", "status": o["status"], "purchase_units": []any{unit}}
}

func (s *payPalServer) show(w http.ResponseWriter, r *http.Request) {
	if s.orders[r.PathValue("id")] == nil {
		s.refuse(w, http.StatusNotFound, "RESOURCE_NOT_FOUND")
		return
	}
	s.answer(w, http.StatusOK, s.displayed(r.PathValue("id")))
}

func (s *payPalServer) capture(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Type") != "application/json" || string(body) != "{}" ||
		r.Header.Get("PayPal-Request-Id") == "" {
		s.t.Errorf("capture with %q", body)
	}
	o := s.orders[id]
	if o == nil || o["status"] != "APPROVED" { // not approved, or captured before
		s.refuse(w, http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY")
		return
	}
	s.captures++
	o["status"], o["capture"], o["capture_status"] = "COMPLETED", "CAP"+id, s.status
	s.answer(w, http.StatusCreated, s.displayed(id))
}

// approve is what the payer does at PayPal.
func (s *payPalServer) approve(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[id]["status"] = "APPROVED"
}

// opened returns an account with an order of 5 USD.
func (w *world) opened(t *testing.T) (account.User, payment.Opened) {
	t.Helper()
	u := w.user(t, account.RoleAdvertiser)
	o, err := w.service.Open(
		t.Context(), u, payment.CheckoutRequest{Advertiser: u.ID, Amount: 5 * money.USD, Provider: ledger.PayPal},
	)
	require.NoError(t, err)
	return u, o
}

func TestPayPalFromOrderToCredit(t *testing.T) {
	w, server := bothWorld(t)
	u := w.user(t, account.RoleAdvertiser)
	opened, err := w.service.Open(
		t.Context(), u,
		payment.CheckoutRequest{Advertiser: u.ID, Amount: 12*money.USD + 500_000, Provider: ledger.PayPal},
	)
	require.NoError(t, err)
	order := opened.Deposit.CheckoutID
	require.Equal(t, ledger.PayPal, opened.Deposit.Provider)
	require.Equal(t, "https://www.sandbox.paypal.com/checkoutnow?token="+order, opened.URL)
	require.Equal(t, opened.Deposit.ID.String(), server.orders[order]["custom"])
	require.Equal(t, "12.50", server.orders[order]["value"])
	require.Empty(t, w.provider.opened, "the other provider is not asked")

	claim := payment.DepositReference{Provider: ledger.PayPal, Reference: order}
	for range 2 { // not approved yet
		d, deduped, err := w.service.Confirm(t.Context(), u, claim)
		require.NoError(t, err)
		require.False(t, deduped)
		require.Equal(t, ledger.DepositOpen, d.Status())
	}
	require.Zero(t, server.captures)
	server.approve(order)
	_, _, err = w.service.Confirm(t.Context(), w.user(t, account.RoleAdvertiser), claim)
	require.True(t, errs.Is(err, errs.Forbidden))
	require.Zero(t, server.captures, "a stranger captures nothing")
	d, deduped, err := w.service.Confirm(t.Context(), u, claim)
	require.NoError(t, err)
	require.False(t, deduped)
	require.Equal(t, ledger.DepositPaid, d.Status())
	require.Equal(t, "CAP"+order, d.PaymentID)
	for _, again := range []payment.DepositReference{
		claim, {DepositID: d.ID}, {Provider: ledger.PayPal, Reference: "CAP" + order},
	} {
		_, deduped, err = w.service.Confirm(t.Context(), u, again)
		require.NoError(t, err)
		require.True(t, deduped)
	}
	// The webhook tells the same once more.
	w.hook.Delivery = payment.Delivery{Notice: ledger.Notice{
		Provider: ledger.PayPal, EventID: "WH-1", Kind: ledger.NoticePaid, PaymentID: "CAP" + order,
		Amount: 12*money.USD + 500_000, Names: []uuid.UUID{d.ID},
	}}
	got, err := w.service.Receive(t.Context(), ledger.PayPal, nil, nil)
	require.NoError(t, err)
	require.True(t, got.Deduped)
	require.Equal(t, 12*money.USD+500_000, w.cash(t, u))
	require.Equal(t, 1, server.captures)
	require.Equal(t, 1, server.logins, "the token is kept")
}

// The payer approves and closes the page: the webhook captures.
func TestPayPalApprovedOrderIsCapturedByTheWebhook(t *testing.T) {
	w, server := bothWorld(t)
	u, opened := w.opened(t)
	server.approve(opened.Deposit.CheckoutID)
	w.hook.Delivery = payment.Delivery{Approved: opened.Deposit.CheckoutID}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, err := w.service.Receive(t.Context(), ledger.PayPal, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 5*money.USD, w.cash(t, u))
	require.Equal(t, 1, server.captures)
	w.hook.Delivery = payment.Delivery{Approved: "somebody's"}
	got, err := w.service.Receive(t.Context(), ledger.PayPal, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "checkout", got.Ignored)
}

// Money may have moved in a state that was added to the API since: the answer is an error that lets
// PayPal deliver again, never "not paid".
func TestPayPalOrderInAnUnknownStateIsAnError(t *testing.T) {
	w, server := bothWorld(t)
	u, opened := w.opened(t)
	order, claim := opened.Deposit.CheckoutID, payment.DepositReference{DepositID: opened.Deposit.ID}
	set := func(status string) {
		server.mu.Lock()
		defer server.mu.Unlock()
		server.orders[order]["status"] = status
	}
	for _, status := range []string{"CREATED", "SAVED", "VOIDED", "PAYER_ACTION_REQUIRED"} {
		set(status)
		d, _, err := w.service.Confirm(t.Context(), u, claim)
		require.NoError(t, err, status)
		require.Equal(t, ledger.DepositOpen, d.Status())
	}
	for _, status := range []string{"SETTLED_LATER", "completed", ""} {
		set(status)
		_, _, err := w.service.Confirm(t.Context(), u, claim)
		require.True(t, errs.Is(err, errs.UpstreamError), status)
	}
	set("APPROVED")
	d, _, err := w.service.Confirm(t.Context(), u, claim)
	require.NoError(t, err)
	require.Equal(t, ledger.DepositPaid, d.Status())
}

func TestPayPalOnlyCompletedDollarsCount(t *testing.T) {
	for _, spoil := range []func(*payPalServer){
		func(s *payPalServer) { s.status = "PENDING" }, func(s *payPalServer) { s.status = "DECLINED" },
		func(s *payPalServer) { s.currency = "EUR" },
	} {
		w, server := bothWorld(t)
		u, opened := w.opened(t)
		spoil(server)
		server.approve(opened.Deposit.CheckoutID)
		for range 2 {
			d, _, err := w.service.Confirm(t.Context(), u, payment.DepositReference{DepositID: opened.Deposit.ID})
			require.NoError(t, err)
			require.Equal(t, ledger.DepositOpen, d.Status())
		}
		require.Zero(t, w.cash(t, u))
	}
}

func TestPayPalFailures(t *testing.T) {
	w, server := bothWorld(t)
	u := w.user(t, account.RoleAdvertiser)
	wish := payment.CheckoutRequest{Advertiser: u.ID, Amount: 5 * money.USD, Provider: ledger.PayPal}
	opened, err := w.service.Open(t.Context(), u, wish)
	require.NoError(t, err)
	server.mu.Lock()
	server.token = "ended at PayPal" // the kept one is refused: a new login, unnoticed by callers
	server.mu.Unlock()
	_, _, err = w.service.Confirm(t.Context(), u, payment.DepositReference{DepositID: opened.Deposit.ID})
	require.NoError(t, err)
	require.Equal(t, 2, server.logins)
	for _, status := range []int{400, 404, 422, 429, 500, 503, 301, 202} {
		server.mu.Lock()
		server.broken = status
		server.mu.Unlock()
		_, err := w.service.Open(t.Context(), u, wish)
		require.True(t, errs.Is(err, errs.UpstreamError), "%d: %v", status, err)
		_, _, err = w.service.Confirm(t.Context(), u, payment.DepositReference{DepositID: opened.Deposit.ID})
		require.True(t, errs.Is(err, errs.UpstreamError), "%d: %v", status, err)
		for _, secret := range []string{"canary", "token-"} {
			require.NotContains(t, err.Error(), secret)
		}
	}
	server.Close()
	_, err = w.service.Open(t.Context(), u, wish)
	require.True(t, errs.Is(err, errs.UpstreamError))
	require.NotContains(t, err.Error(), "canary")
	require.Zero(t, w.cash(t, u))

	wrong, err := paypal.New(
		paypal.Config{ClientID: "app", ClientSecret: "no", BaseURL: newPayPalServer(t).URL, Timeout: time.Second},
		time.Now,
	)
	require.NoError(t, err)
	_, err = wrong.Open(t.Context(), payment.Request{DepositID: uuid.New(), Amount: money.USD})
	require.True(t, errs.Is(err, errs.UpstreamError))
	for _, cfg := range []paypal.Config{
		{}, {ClientID: "a"}, {ClientSecret: "b"}, {ClientID: "a", ClientSecret: "b"},
		{ClientID: "a", ClientSecret: "b", BaseURL: "ftp://x"},
		{ClientID: "a", ClientSecret: "b", BaseURL: "https://u:p@x"},
	} {
		_, err := paypal.New(cfg, time.Now)
		require.Error(t, err)
	}
	for _, environment := range []string{"live", "sandbox"} {
		_, err := paypal.New(paypal.Config{ClientID: "a", ClientSecret: "b", Environment: environment}, time.Now)
		require.NoError(t, err)
	}
}

// What the API answers about a dispute is read from its own form.
func TestPayPalShowsDisputes(t *testing.T) {
	client := newPayPalServer(t).client(t)
	d, found, err := client.Dispute(t.Context(), "PP-D-1")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(
		t,
		paypal.Dispute{
			Amount: "7.00", Currency: "USD", Payments: []string{"CAP-1"}, Resolved: true,
			Outcome: "RESOLVED_BUYER_FAVOUR",
		}, d,
	)
	_, found, err = client.Dispute(t.Context(), "PP-D-2")
	require.NoError(t, err)
	require.False(t, found)
	_, _, err = client.Dispute(t.Context(), "PP-D-FORBIDDEN")
	require.True(t, errs.Is(err, errs.Forbidden), err)
}
