// Package paypal implements PayPal as a payment provider: its orders through the REST API, and its
// webhook.
//
// Contract: payments are in USD and keyed by their capture. The client's secret never appears in
// errors or logs. Nothing is sent before a method is called, and certificates are fetched from
// PayPal's hosts only.
package paypal

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
	"adnet/internal/process/schedule"
)

// Config holds the settings of PayPal.
type Config struct {
	WebhookID    string        `name:"paypal-webhook-id" env:"ADNET_PAYPAL_WEBHOOK_ID" default:"" help:"Id of the webhook that PayPal delivers to; empty refuses its deliveries."`
	Environment  string        `name:"paypal-environment" env:"ADNET_PAYPAL_ENVIRONMENT" default:"live" enum:"live,sandbox" help:"Whose signatures count: live or sandbox."`
	ClientID     string        `name:"paypal-client-id" env:"ADNET_PAYPAL_CLIENT_ID" default:"" help:"Client id of the PayPal REST app that is paid; empty switches its checkouts off."`
	ClientSecret string        `name:"paypal-client-secret" env:"ADNET_PAYPAL_CLIENT_SECRET" secret:"" default:"" help:"Secret of that app."`
	BaseURL      string        `name:"paypal-base-url" env:"ADNET_PAYPAL_BASE_URL" default:"" help:"Address of PayPal's API (default: by the environment)."`
	Timeout      time.Duration `name:"paypal-timeout" env:"ADNET_PAYPAL_TIMEOUT" default:"10s" help:"How long a request to PayPal may take."`
	Tolerance    time.Duration `name:"paypal-tolerance" env:"ADNET_PAYPAL_TOLERANCE" default:"300s" help:"How old a delivery of PayPal may be."`
}

// CertificateSource returns the PEM certificates at a URL of PayPal's, the signer's first. The
// URL's host was checked before.
type CertificateSource interface {
	Certificates(ctx context.Context, url string) ([]byte, error)
}

// CaptureSource returns a payment from PayPal's API: found is false for an unknown or incomplete
// one. Errors: errs.UpstreamError.
type CaptureSource interface {
	Capture(ctx context.Context, id string) (c Capture, found bool, err error)
	// Refund returns a refund of a payment.
	Refund(ctx context.Context, id string) (r Refund, found bool, err error)
	// Dispute returns a dispute; errs.Forbidden where the app may not read disputes.
	Dispute(ctx context.Context, id string) (d Dispute, found bool, err error)
}

// Dispute is a payer's dispute.
type Dispute struct {
	Amount   string // decimal
	Currency string
	Payments []string // ids of the captures
	Resolved bool
	Outcome  string // code, of a resolved dispute
}

// Refund is a refund.
type Refund struct {
	Amount   string // decimal
	Currency string
	Payment  string // id of the capture
	State    string
}

// Capture is a completed payment.
type Capture struct {
	Amount   string // decimal
	Currency string
	CustomID string // the id that the checkout carried
	Payer    string // id of the payer's PayPal account; empty if PayPal does not state it
}

// WebhookDeps holds the dependencies of a [Webhook]. Certificates is required; a nil Now is the
// clock.
type WebhookDeps struct {
	Certificates CertificateSource
	// Captures returns the paid amounts. Without it no delivery credits anything: payments are
	// parked.
	Captures CaptureSource
	Roots    *x509.CertPool // nil for the system's
	Now      func() time.Time
}

// Webhook verifies PayPal's webhook signatures locally: SDKs that verify through PayPal's API send
// the body decoded and encoded again, and a signature covers the bytes.
type Webhook struct {
	cfg  Config
	deps WebhookDeps
}

var _ payment.Webhook = (*Webhook)(nil)

// NewWebhook returns the verification. It fails without a webhook id, since a delivery for any
// webhook would then be accepted.
func NewWebhook(cfg Config, deps WebhookDeps) (*Webhook, error) {
	if cfg.WebhookID == "" || strings.ContainsRune(cfg.WebhookID, '|') {
		return nil, errors.New("ADNET_PAYPAL_WEBHOOK_ID is not a webhook id")
	}
	if cfg.Tolerance <= 0 {
		return nil, errors.New("ADNET_PAYPAL_TOLERANCE must be above 0")
	}
	deps.Now = schedule.Clock(deps.Now)
	return &Webhook{cfg: cfg, deps: deps}, nil
}

// Read implements [payment.Webhook].
func (p *Webhook) Read(ctx context.Context, header http.Header, body []byte) (payment.Delivery, error) {
	if err := p.verify(ctx, header, body); err != nil {
		return payment.Delivery{}, errs.Wrap(
			err, errs.InvalidRequest, "the delivery is not signed by PayPal for this webhook",
		)
	}
	d, err := readEvent(body)
	if err != nil || d.Parked != "" {
		return d, err
	}
	eventType := d.Type
	switch {
	case d.Notice.Kind == ledger.NoticePaid:
		d, err = p.captured(ctx, d.Notice)
	case d.Notice.IsRefund():
		d, err = p.refunded(ctx, d.Notice)
	default:
		d, err = p.disputed(ctx, d)
	}
	d.Type = eventType
	return d, err
}

// unconfirmed is the reason for parking an event about an object that PayPal's API does not have in
// the reported state. The event may be forged: see [Webhook.captured].
const unconfirmed = "PayPal's API does not confirm it: compare with the PayPal account"

// askAPI is the reason for parking a delivery without access to PayPal's API.
const askAPI = "set ADNET_PAYPAL_CLIENT_ID and ADNET_PAYPAL_CLIENT_SECRET: only PayPal's API has the paid amount"

// askDisputes is the reason for parking a dispute that PayPal does not disclose.
const askDisputes = "give the app of ADNET_PAYPAL_CLIENT_ID the right to read disputes: only PayPal's API says what " +
	"is disputed"

// refunded is captured for a refund: PayPal's API decides payer and amount.
func (p *Webhook) refunded(ctx context.Context, n ledger.Notice) (payment.Delivery, error) {
	if p.deps.Captures == nil {
		return payment.Delivery{Notice: n, Parked: askAPI}, nil
	}
	r, found, err := p.deps.Captures.Refund(ctx, n.RefundID)
	if err != nil {
		return payment.Delivery{}, err
	}
	if !found {
		return unproven(n), nil
	}
	if r.State == refundPending { // another event reports the end
		return payment.Delivery{Ignored: "refund"}, nil
	}
	if n.Kind = refundKind(r.State); n.Kind == "" {
		return unproven(n), nil
	}
	n.PaymentID = r.Payment
	if r.Currency != string(ledger.USD) {
		return payment.ForeignCurrency(n, r.Currency)
	}
	return withAmount(n, r.Amount)
}

// disputed is captured for a dispute. A hold of money may come late or twice; PayPal's API decides
// whether and for whom a dispute ended.
func (p *Webhook) disputed(ctx context.Context, d payment.Delivery) (payment.Delivery, error) {
	n := d.Notice
	if !n.IsDispute() {
		return d, nil
	}
	if p.deps.Captures == nil {
		return payment.Delivery{Notice: n, Parked: askAPI}, nil
	}
	dispute, found, err := p.deps.Captures.Dispute(ctx, n.DisputeID)
	switch {
	case errs.Is(err, errs.Forbidden):
		return payment.Delivery{Notice: n, Parked: askDisputes}, nil
	case err != nil:
		return payment.Delivery{}, err
	case !found || n.Kind != ledger.NoticeDisputed && !dispute.Resolved:
		return unproven(n), nil
	case n.Kind != ledger.NoticeDisputed:
		if n.Kind = outcomeKind(dispute.Outcome); n.Kind == "" {
			return payment.Delivery{Notice: n, Parked: unknownOutcome}, nil
		}
	}
	if len(dispute.Payments) != 1 { // PayPal does not split the amount
		return payment.Delivery{Notice: n, Parked: severalPayments}, nil
	}
	n.PaymentID = dispute.Payments[0]
	if dispute.Currency != string(ledger.USD) {
		return payment.ForeignCurrency(n, dispute.Currency)
	}
	return withAmount(n, dispute.Amount)
}

// unknownOutcome is the reason for parking a dispute that ended in a way without a known effect.
const unknownOutcome = "the outcome of the dispute is not known"

// unproven parks a notice that PayPal's API does not confirm, without the amount of the event.
func unproven(n ledger.Notice) payment.Delivery {
	n.Amount, n.Names = 0, nil
	return payment.Delivery{Notice: n, Parked: unconfirmed}
}

// withAmount returns the delivery of a notice with the amount of PayPal's reply.
func withAmount(n ledger.Notice, amount string) (payment.Delivery, error) {
	var err error
	if n.Amount, err = money.Parse(amount); err != nil {
		return payment.Delivery{}, errs.Wrap(err, errs.UpstreamError, "PayPal returned an unreadable amount")
	}
	if err := n.Valid(); err != nil {
		return payment.Delivery{}, err
	}
	return payment.Delivery{Notice: n}, nil
}

// captured replaces the payment data of the body with those of PayPal's API. The signature covers
// only a CRC-32 of the body, and any observer of a delivery can forge a body with the same sum. A
// delivery is therefore a reason to query the API, and no evidence of an amount or a payer.
func (p *Webhook) captured(ctx context.Context, n ledger.Notice) (payment.Delivery, error) {
	if p.deps.Captures == nil {
		return payment.Delivery{Notice: n, Parked: askAPI}, nil
	}
	c, found, err := p.deps.Captures.Capture(ctx, n.PaymentID)
	if err != nil {
		return payment.Delivery{}, err
	}
	if !found {
		return unproven(n), nil
	}
	if c.Currency != string(ledger.USD) {
		return payment.ForeignCurrency(n, c.Currency)
	}
	n.Names, n.Instrument = nil, c.Payer
	if id, err := uuid.Parse(c.CustomID); err == nil {
		n.Names = []uuid.UUID{id}
	}
	return withAmount(n, c.Amount)
}

// verify checks the RSA-SHA256 signature over transmission id | time | webhook id | CRC-32 of the
// raw body as an unsigned decimal.
func (p *Webhook) verify(ctx context.Context, header http.Header, body []byte) error {
	id, sent := header.Get("Paypal-Transmission-Id"), header.Get("Paypal-Transmission-Time")
	// A separator inside a part would let one signature stand for another message.
	if id == "" || strings.ContainsRune(id+sent, '|') {
		return errors.New("no usable transmission id")
	}
	at, err := time.Parse(time.RFC3339, sent)
	if err != nil {
		return err
	}
	if age := p.deps.Now().Sub(at).Abs(); age > p.cfg.Tolerance {
		return fmt.Errorf("sent %s away from now", age)
	}
	if algorithm := header.Get("Paypal-Auth-Algo"); algorithm != "SHA256withRSA" {
		return fmt.Errorf("algorithm %q", algorithm)
	}
	signature, err := base64.StdEncoding.DecodeString(header.Get("Paypal-Transmission-Sig"))
	if err != nil {
		return err
	}
	key, err := p.signer(ctx, header.Get("Paypal-Cert-Url"))
	if err != nil {
		return err
	}
	message := fmt.Sprintf("%s|%s|%s|%d", id, sent, p.cfg.WebhookID, crc32.ChecksumIEEE(body))
	digest := sha256.Sum256([]byte(message))
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature)
}

// hosts are the only hosts for fetching certificates: the sender of a header must not choose the
// server's connections, nor the trusted certificate.
var hosts = map[string][]string{
	"live":    {"api.paypal.com", "api-m.paypal.com"},
	"sandbox": {"api.sandbox.paypal.com", "api-m.sandbox.paypal.com"},
}

// certificatePath is the path of PayPal's certificates.
var certificatePath = regexp.MustCompile(`^/v1/notifications/certs/[A-Za-z0-9_-]+$`)

// ofPayPal reports whether a certificate's address is PayPal's.
func (p *Webhook) ofPayPal(u *url.URL) bool {
	return u.Scheme == "https" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		u.RawPath == "" &&
		slices.Contains(hosts[p.cfg.Environment], u.Host) && certificatePath.MatchString(u.Path)
}

// signer fetches the certificates and returns the signer's key if its chain leads to a root, it is
// valid now and it is PayPal's.
func (p *Webhook) signer(ctx context.Context, address string) (*rsa.PublicKey, error) {
	u, err := url.Parse(address)
	if err != nil || !p.ofPayPal(u) {
		return nil, errors.New("the certificate's address is not PayPal's")
	}
	text, err := p.deps.Certificates.Certificates(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("fetch the certificate: %w", err)
	}
	var leaf *x509.Certificate
	options := x509.VerifyOptions{
		Roots: p.deps.Roots, Intermediates: x509.NewCertPool(), CurrentTime: p.deps.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if leaf == nil {
			leaf = certificate
		} else {
			options.Intermediates.AddCert(certificate)
		}
	}
	if leaf == nil {
		return nil, errors.New("no certificate")
	}
	if _, err := leaf.Verify(options); err != nil {
		return nil, err
	}
	names := append([]string{leaf.Subject.CommonName}, leaf.DNSNames...)
	if !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".paypal.com") }) {
		return nil, fmt.Errorf("the certificate is for %v", names)
	}
	key, ok := leaf.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the certificate's key is not RSA")
	}
	return key, nil
}

// wireAmount is an amount in PayPal's format.
type wireAmount struct {
	Value    string `json:"value"`
	Currency string `json:"currency_code"`
}

// wireEvent holds the used fields of an event.
type wireEvent struct {
	ID       string         `json:"id"`
	Type     string         `json:"event_type"`
	Raw      jsontext.Value `json:"resource"`
	Resource wireResource   `json:"-"` // of a handled type
}

type wireResource struct {
	ID       string     `json:"id"` // of the capture, the refund or the order
	Status   string     `json:"status"`
	Amount   wireAmount `json:"amount"`
	CustomID string     `json:"custom_id"`
	Links    []wireLink `json:"links"`
	Payer    wirePayer  `json:"payer"`

	DisputeID    string     `json:"dispute_id"`
	Disputed     wireAmount `json:"dispute_amount"`
	Transactions []struct {
		Seller string `json:"seller_transaction_id"` // the capture
	} `json:"disputed_transactions"`
	Outcome struct {
		Code string `json:"outcome_code"`
	} `json:"dispute_outcome"`
}

type wireLink struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// readEvent decodes a verified body.
func readEvent(body []byte) (d payment.Delivery, err error) {
	var e wireEvent
	if err := json.Unmarshal(body, &e); err != nil {
		return d, unreadable(err)
	}
	reads, known := handled[e.Type]
	switch {
	case harmless[e.Type]:
		return payment.Delivery{Ignored: "event_type"}, nil
	case !known:
		return unhandled(&e, payment.UnknownType)
	}
	if err := json.Unmarshal(e.Raw, &e.Resource); err != nil {
		return d, unreadable(err)
	}
	d, err = reads(&e)
	d.Type = e.Type
	return d, err
}

func unreadable(err error) error {
	return errs.Wrap(err, errs.InvalidRequest, "the event cannot be read")
}

func readOrder(e *wireEvent) (payment.Delivery, error) {
	if e.Resource.ID == "" {
		return payment.Delivery{}, errs.New(errs.InvalidRequest, "the event names no order")
	}
	switch e.Resource.Status {
	case "", "APPROVED", "COMPLETED", "CREATED", "PAYER_ACTION_REQUIRED", "SAVED", "VOIDED": // see Client.Verify
	default:
		return unhandled(e, "the status of the order is not known")
	}
	return payment.Delivery{Approved: e.Resource.ID}, nil
}

func readCapture(e *wireEvent) (payment.Delivery, error) {
	r := &e.Resource
	switch {
	case r.Status == "" || r.completed(): // PayPal's API decides
	case r.Status == "PENDING" || r.Status == "DECLINED" || r.Status == "FAILED":
		return payment.Delivery{Ignored: "status"}, nil
	default:
		return unhandled(e, "the status of the capture is not known")
	}
	n := ledger.Notice{Provider: ledger.PayPal, EventID: e.ID, Kind: ledger.NoticePaid, PaymentID: r.ID}
	if id, err := uuid.Parse(r.CustomID); err == nil {
		n.Names = []uuid.UUID{id}
	}
	return deliver(n, r.Amount)
}

func readRefund(e *wireEvent) (payment.Delivery, error) {
	r := &e.Resource
	n := ledger.Notice{
		Provider: ledger.PayPal, EventID: e.ID, Kind: ledger.NoticeRefunded, RefundID: r.ID,
		PaymentID: captureOf(r.Links),
	}
	switch kind := refundKind(r.Status); {
	case strings.HasPrefix(e.Type, "PAYMENT.REFUND.") && e.Type != "PAYMENT.REFUND.COMPLETED":
		n.Kind = ledger.NoticeRefundFailed
	case r.Status == refundPending:
		return payment.Delivery{Ignored: "status"}, nil
	case kind != "":
		n.Kind = kind
	case r.Status != "":
		return unhandled(e, "the status of the refund is not known")
	}
	return deliver(n, r.Amount)
}

func readDispute(e *wireEvent) (payment.Delivery, error) {
	r := &e.Resource
	n := ledger.Notice{Provider: ledger.PayPal, EventID: e.ID, DisputeID: r.DisputeID}
	if n.Kind = disputeKind(e.Type, r.Outcome.Code); n.Kind == "" {
		return unhandled(e, unknownOutcome)
	}
	if len(r.Transactions) > 0 {
		n.PaymentID = r.Transactions[0].Seller
	}
	d, err := deliver(n, r.Disputed)
	if err == nil && d.Parked == "" && len(r.Transactions) > 1 { // PayPal does not split the amount
		d.Parked = severalPayments
	}
	return d, err
}

// severalPayments is the reason for parking a dispute that names more than one payment.
const severalPayments = "the dispute is about several payments"

// deliver completes a notice, or parks it if it is in another currency.
func deliver(n ledger.Notice, amount wireAmount) (payment.Delivery, error) {
	if amount.Currency != string(ledger.USD) {
		return payment.ForeignCurrency(n, amount.Currency)
	}
	var err error
	if n.Amount, err = money.Parse(amount.Value); err != nil {
		return payment.Delivery{}, errs.Wrap(err, errs.InvalidRequest, "the event's amount cannot be read")
	}
	return payment.Delivery{Notice: n}, n.Valid()
}

// captureOf finds the capture of a refund: https://…/v2/payments/captures/<id>.
func captureOf(links []wireLink) (id string) {
	for _, link := range links {
		if link.Rel == "up" {
			id = link.Href[strings.LastIndexByte(link.Href, '/')+1:]
		}
	}
	return id
}

// disputeKind returns the effect of a dispute's event; empty for an end without a known effect.
// PayPal holds the money from the beginning, and returns it unless the end favours the buyer.
func disputeKind(event, outcome string) ledger.NoticeKind {
	if event != "CUSTOMER.DISPUTE.RESOLVED" {
		return ledger.NoticeDisputed
	}
	return outcomeKind(outcome)
}

// outcomeKind returns the effect of a dispute's end; empty for one without a known effect.
func outcomeKind(outcome string) ledger.NoticeKind {
	switch outcome {
	case "RESOLVED_BUYER_FAVOUR", "ACCEPTED":
		return ledger.NoticeDisputeLost
	case "RESOLVED_SELLER_FAVOUR", "RESOLVED_WITH_PAYOUT", "CANCELED_BY_BUYER", "DENIED":
		return ledger.NoticeDisputeWon
	}
	return ""
}
