package paypal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
)

// apis maps an environment to the address of PayPal's API.
var apis = map[string]string{"live": "https://api-m.paypal.com", "sandbox": "https://api-m.sandbox.paypal.com"}

const (
	maxReply   = 1 << 20 // bytes
	tokenSlack = time.Minute
	cent       = money.USD / 100
)

// Client opens and captures PayPal's orders (Orders API v2), with a token from the app's
// credentials. It is safe for concurrent use; nothing is sent before a method is called. The secret
// appears in no error.
type Client struct {
	cfg    Config
	base   string
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	token string    // guarded by mu
	until time.Time // guarded by mu
}

var (
	_ payment.Checkouts = (*Client)(nil)
	_ CaptureSource     = (*Client)(nil)
)

// New returns the client. Errors: no credentials, or an invalid base URL.
func New(cfg Config, now func() time.Time) (*Client, error) {
	if cfg.ClientID == "" || cfg.ClientSecret == "" {
		return nil, errors.New("set ADNET_PAYPAL_CLIENT_ID and ADNET_PAYPAL_CLIENT_SECRET together")
	}
	base := cfg.BaseURL
	if base == "" {
		base = apis[cfg.Environment]
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" || u.User != nil ||
		u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("ADNET_PAYPAL_BASE_URL must be an http or https address")
	}
	return &Client{cfg: cfg, base: strings.TrimRight(base, "/"), now: now, client: &http.Client{
		Timeout:       cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Provider implements [payment.Checkouts].
func (p *Client) Provider() ledger.Provider { return ledger.PayPal }

type wireUnit struct {
	ReferenceID string     `json:"reference_id,omitzero"`
	CustomID    string     `json:"custom_id,omitzero"`
	Description string     `json:"description,omitzero"`
	Amount      wireAmount `json:"amount,omitzero"`
	Payments    struct {
		Captures []wireResource `json:"captures,omitempty"`
	} `json:"payments,omitzero"`
}

// wireOrder is an order in PayPal's format.
type wireOrder struct {
	ID     string     `json:"id"`
	Status string     `json:"status"`
	Units  []wireUnit `json:"purchase_units"`
	Links  []wireLink `json:"links"`
	Payer  wirePayer  `json:"payer"`
}

// wirePayer is the payer of an order or a capture.
type wirePayer struct {
	ID string `json:"payer_id"` // of the payer's PayPal account
}

// Open implements [payment.Checkouts]. Repeating it for one deposit opens one order.
func (p *Client) Open(ctx context.Context, r payment.Request) (payment.Session, error) {
	type experience struct {
		ReturnURL string `json:"return_url"`
		CancelURL string `json:"cancel_url"`
		Action    string `json:"user_action"`
		Shipping  string `json:"shipping_preference"`
	}
	order := struct {
		Intent  string     `json:"intent"`
		Units   []wireUnit `json:"purchase_units"`
		Context experience `json:"application_context"`
	}{
		Intent: "CAPTURE",
		Units: []wireUnit{{
			ReferenceID: r.DepositID.String(), CustomID: r.DepositID.String(), Description: "Advertising balance",
			Amount: wireAmount{Value: cents(r.Amount), Currency: string(ledger.USD)},
		}},
		Context: experience{ReturnURL: r.ReturnURL, CancelURL: r.CancelURL, Action: "PAY_NOW", Shipping: "NO_SHIPPING"},
	}
	body, err := json.Marshal(order)
	if err != nil {
		return payment.Session{}, err
	}
	var created wireOrder
	err = p.call(
		ctx,
		request{
			method: http.MethodPost, path: "/v2/checkout/orders", id: "adnet-deposit-" + r.DepositID.String(),
			body: body,
		}, &created,
	)
	if err != nil {
		return payment.Session{}, failure("open a checkout", err)
	}
	for _, link := range created.Links {
		if link.Rel == "approve" || link.Rel == "payer-action" {
			if u, err := url.Parse(link.Href); created.ID != "" && err == nil && u.Host != "" &&
				(u.Scheme == "https" || strings.HasPrefix(link.Href, p.base)) {
				return payment.Session{ID: created.ID, URL: link.Href}, nil
			}
		}
	}
	return payment.Session{}, errs.New(errs.UpstreamError, "PayPal returned no checkout")
}

// Verify implements [payment.Checkouts]: an order approved by its payer is captured, once
// regardless of repetition; only a completed capture in USD is a payment.
func (p *Client) Verify(ctx context.Context, orderID string) (ledger.Notice, bool, error) {
	order, err := p.order(ctx, orderID)
	if err == nil && order.Status == "APPROVED" {
		order, err = p.capture(ctx, orderID)
	}
	if err != nil {
		return ledger.Notice{}, false, failure("read a checkout", err)
	}
	switch order.Status {
	case "COMPLETED":
	case "CREATED", "SAVED", "APPROVED", "VOIDED", "PAYER_ACTION_REQUIRED":
		return ledger.Notice{}, false, nil
	default:
		// Its money may have moved. The error leaves the deposit open and lets PayPal deliver again.
		return ledger.Notice{}, false, errs.New(
			errs.UpstreamError, "PayPal returned an order in a state that adnet does not know: look it up there",
		)
	}
	for _, unit := range order.Units {
		for _, c := range unit.Payments.Captures {
			if !c.completed() || c.Amount.Currency != string(ledger.USD) {
				continue
			}
			amount, err := money.Parse(c.Amount.Value)
			if err != nil {
				return ledger.Notice{}, false, errs.Wrap(
					err, errs.UpstreamError, "PayPal returned an unreadable amount",
				)
			}
			n := ledger.Notice{
				Provider: ledger.PayPal, EventID: "verified_" + c.ID, Kind: ledger.NoticePaid, PaymentID: c.ID,
				Amount: amount, Instrument: order.Payer.ID,
			}
			if id, err := uuid.Parse(c.CustomID); err == nil {
				n.Names = []uuid.UUID{id}
			}
			return n, true, nil
		}
	}
	return ledger.Notice{}, false, nil
}

// Capture implements [CaptureSource].
func (p *Client) Capture(ctx context.Context, id string) (c Capture, found bool, err error) {
	reply, found, err := p.resource(ctx, "/v2/payments/captures/", id)
	if !found || !reply.completed() {
		return c, false, err
	}
	return Capture{
		Amount: reply.Amount.Value, Currency: reply.Amount.Currency, CustomID: reply.CustomID, Payer: reply.Payer.ID,
	}, true, nil
}

// Refund implements [CaptureSource].
func (p *Client) Refund(ctx context.Context, id string) (r Refund, found bool, err error) {
	reply, found, err := p.resource(ctx, "/v2/payments/refunds/", id)
	if !found {
		return r, false, err
	}
	return Refund{
		Amount: reply.Amount.Value, Currency: reply.Amount.Currency, Payment: captureOf(reply.Links), State: reply.Status,
	}, true, nil
}

// Dispute implements [CaptureSource].
func (p *Client) Dispute(ctx context.Context, id string) (d Dispute, found bool, err error) {
	reply, found, err := p.resource(ctx, "/v1/customer/disputes/", id)
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusForbidden {
		return d, false, errs.Wrap(err, errs.Forbidden, "the payment provider does not show disputes to this app")
	}
	if !found {
		return d, false, err
	}
	d = Dispute{
		Amount: reply.Disputed.Value, Currency: reply.Disputed.Currency, Resolved: reply.Status == "RESOLVED",
		Outcome: reply.Outcome.Code,
	}
	for _, t := range reply.Transactions {
		d.Payments = append(d.Payments, t.Seller)
	}
	return d, true, nil
}

// resource reads PayPal's object under a path and an id; found is false when PayPal has no such id.
func (p *Client) resource(ctx context.Context, path, id string) (reply wireResource, found bool, err error) {
	err = p.call(ctx, request{method: http.MethodGet, path: path + url.PathEscape(id)}, &reply)
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return reply, false, nil
	}
	if err != nil {
		return reply, false, failure("read a payment", err)
	}
	return reply, cmp.Or(reply.ID, reply.DisputeID) == id, nil
}

// completed reports whether a capture's money was paid, including later refunds.
func (r *wireResource) completed() bool {
	return r.Status == "COMPLETED" || r.Status == "PARTIALLY_REFUNDED" || r.Status == "REFUNDED"
}

func (p *Client) order(ctx context.Context, id string) (order wireOrder, err error) {
	err = p.call(ctx, request{method: http.MethodGet, path: "/v2/checkout/orders/" + url.PathEscape(id)}, &order)
	return order, err
}

// capture captures the money. Another call, or another node, may have captured it first: then the
// order shows it.
func (p *Client) capture(ctx context.Context, id string) (order wireOrder, err error) {
	err = p.call(ctx, request{
		method: http.MethodPost, path: "/v2/checkout/orders/" + url.PathEscape(id) + "/capture",
		id: "adnet-capture-" + id, body: []byte("{}"),
	}, &order)
	var refused *refusal
	if errors.As(err, &refused) && refused.status == http.StatusUnprocessableEntity {
		return p.order(ctx, id)
	}
	return order, err
}

// request is one request. id makes repetitions idempotent.
type request struct {
	method, path, id string
	body             []byte
}

// refusal is a refusal without PayPal's text, which may repeat the request.
type refusal struct {
	status int
	name   string
	debug  string
}

// Error implements error.
func (e *refusal) Error() string {
	return fmt.Sprintf("status %d, name %s, debug id %s", e.status, e.name, e.debug)
}

// call sends a request with a token, and once more with a new token when PayPal rejects the first.
func (p *Client) call(ctx context.Context, c request, into any) error {
	for again := false; ; again = true {
		token, err := p.bearer(ctx)
		if err != nil {
			return err
		}
		err = p.send(ctx, c, "Bearer "+token, into)
		var refused *refusal
		if again || !errors.As(err, &refused) || refused.status != http.StatusUnauthorized {
			return err
		}
		p.forget(token)
	}
}

func (p *Client) forget(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token == token {
		p.token = ""
	}
}

// bearer returns a token that is valid for a while. Concurrent callers share one request for a new
// token.
func (p *Client) bearer(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token != "" && p.now().Before(p.until) {
		return p.token, nil
	}
	var granted struct {
		Token string `json:"access_token"`
		Life  int64  `json:"expires_in"` // seconds
	}
	login := base64.StdEncoding.EncodeToString([]byte(p.cfg.ClientID + ":" + p.cfg.ClientSecret))
	err := p.send(
		ctx, request{method: http.MethodPost, path: "/v1/oauth2/token", body: []byte("grant_type=client_credentials")},
		"Basic "+login, &granted,
	)
	if err == nil && granted.Token == "" {
		err = errors.New("no token in the reply")
	}
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	p.token, p.until = granted.Token, p.now().Add(time.Duration(granted.Life)*time.Second-tokenSlack)
	return p.token, nil
}

func (p *Client) send(ctx context.Context, c request, authorization string, into any) error {
	request, err := http.NewRequestWithContext(ctx, c.method, p.base+c.path, bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", authorization)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Prefer", "return=representation")
	switch {
	case strings.HasPrefix(authorization, "Basic "):
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case c.body != nil:
		request.Header.Set("Content-Type", "application/json")
	}
	if c.id != "" {
		request.Header.Set("PayPal-Request-Id", c.id)
	}
	reply, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	if err != nil {
		return err
	}
	if len(body) > maxReply {
		return errors.New("the reply is too large")
	}
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusCreated {
		refused := &refusal{status: reply.StatusCode, debug: plainID(reply.Header.Get("Paypal-Debug-Id"))}
		var reply struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(body, &reply) == nil {
			refused.name = plainID(reply.Name)
		}
		return refused
	}
	return json.Unmarshal(body, into)
}

// plainID returns the loggable part of an external identifier.
func plainID(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, text)
	return text[:min(64, len(text))]
}

func failure(what string, err error) error {
	return errs.Wrap(fmt.Errorf("%s: %w", what, err), errs.UpstreamError, "the payment provider could not %s", what)
}

// cents formats an amount for PayPal: dollars with two decimals.
func cents(m money.Micros) string {
	whole := int64(m / cent)
	return fmt.Sprintf("%d.%02d", whole/100, whole%100)
}
