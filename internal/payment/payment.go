// Package payment receives cash: checkouts at a payment provider, the providers' webhooks, and
// their entries in the ledger.
//
// Contract: only a provider's evidence moves money. An amount from a client only sets the amount of
// the checkout. Evidence is a webhook whose signature was verified over the raw body, or the
// provider's own reply about one of our checkouts. Both become a [ledger.Notice], which the store
// applies once, regardless of order and repetition.
//
// # Not obvious
//
// A refund may arrive before its payment. It waits in the payment's row and is applied when the
// payment is credited. A refund of money that was already spent makes the balance negative; adnet
// verify allows a prepaid balance below zero by the refunded amount and no more.
//
// A dispute's state only moves up (open, lost, won). It counts at most the part of the payment that
// has not been refunded.
package payment

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/process/schedule"
)

// Limits of a checkout: the amounts that the providers accept in one payment.
const (
	MinCheckout = 1 * money.USD
	MaxCheckout = 999_999*money.USD + 990_000
	cent        = money.USD / 100
)

// Store stores deposits and applies notices. Errors carry errs.NotFound, errs.Conflict,
// errs.InvalidRequest.
type Store interface {
	CreateDeposit(ctx context.Context, d ledger.Deposit) error
	Deposit(ctx context.Context, id uuid.UUID) (ledger.Deposit, error)
	// DepositByReference finds a deposit by the provider's payment or checkout id.
	DepositByReference(ctx context.Context, p ledger.Provider, reference string) (ledger.Deposit, error)
	// ApplyNotice applies a notice at most once: see [ledger.DecideNotice].
	ApplyNotice(ctx context.Context, n ledger.Notice) (ledger.NoticeResult, error)
	// MarkPayment stores hashes of the payer id or the card of a payment, which need not be known yet.
	// It may run again.
	MarkPayment(ctx context.Context, p ledger.Provider, id string, hashes [][16]byte) error
	// Park stores a delivery that moved nothing here although money moved at the provider.
	Park(ctx context.Context, p ledger.Parked) error
	// Parked lists parked deliveries, newest first.
	Parked(ctx context.Context, q ledger.ParkedQuery) ([]ledger.Parked, error)
	// DecideParked carries out an operator's decision about a parked delivery, once.
	DecideParked(ctx context.Context, v ledger.ParkedVerdict) (ledger.Parked, error)
}

// Request holds the contents of a checkout.
type Request struct {
	DepositID    uuid.UUID
	AdvertiserID uuid.UUID
	Email        string       // the payer's, to fill in
	Amount       money.Micros // whole cents
	ReturnURL    string       // where the payer goes afterwards, deposit_id included
	CancelURL    string
}

// Session is a hosted checkout.
type Session struct {
	ID  string // the provider's
	URL string
}

// Checkouts is a provider's hosted checkout. Errors carry errs.UpstreamError when the provider
// fails.
type Checkouts interface {
	Provider() ledger.Provider
	Open(ctx context.Context, r Request) (Session, error)
	// Verify queries the provider about a checkout. paid is false while it has no payment.
	Verify(ctx context.Context, checkoutID string) (n ledger.Notice, paid bool, err error)
}

// Delivery is a webhook delivery with a verified signature: a notice, an order to capture, or the
// reason why it moves nothing here.
type Delivery struct {
	Notice    ledger.Notice
	Type      string // the provider's type of the event
	Approved  string // a checkout approved by its payer, with the money still to be captured
	Ignored   string // reason for ignoring it; empty for a notice
	Unknown   string // reason for ignoring an event of an unknown meaning that has no amount
	Parked    string // reason why it cannot be applied; Notice has its event and payment
	WrongMode string // reason for refusing an event of the provider's other mode (test or live)
}

// Webhook verifies a provider's deliveries and decodes them. Errors carry errs.InvalidRequest for a
// delivery without proof of its origin.
type Webhook interface {
	Read(ctx context.Context, header http.Header, body []byte) (Delivery, error)
}

// Config holds the operator's settings.
type Config struct {
	ReturnURL string `name:"payment-return-url" env:"ADNET_PAYMENT_RETURN_URL" default:"" help:"Where payers go after a checkout that names no return_url (default: a page of adnet's)."`
}

// Alarm logs what an operator should look at. It is limited: a provider may send many events.
type Alarm interface {
	Error(ctx context.Context, msg string, args ...any)
}

// Deps are the dependencies of a [Service].
type Deps struct {
	Store     Store
	Checkouts []Checkouts // the first is the default; empty when no provider is configured
	Webhooks  map[ledger.Provider]Webhook
	// Marks hashes the payer or card of a payment: see token.Keyring.Marks. nil stores none.
	Marks   func(kind, text string) [][16]byte
	Alarm   Alarm
	BaseURL func() string // prefix of links to this service
	Now     func() time.Time
}

// Service applies the rules about deposits.
type Service struct {
	cfg  Config
	deps Deps
}

// New returns a Service. It fails if the return URL is unusable for payers.
func New(cfg Config, deps Deps) (*Service, error) {
	deps.Now = schedule.Clock(deps.Now)
	if cfg.ReturnURL != "" {
		if err := checkReturnURL(cfg.ReturnURL); err != nil {
			return nil, errs.New(errs.InvalidRequest, "ADNET_PAYMENT_RETURN_URL %s", err)
		}
	}
	return &Service{cfg: cfg, deps: deps}, nil
}

// Opened is the result of opening a checkout.
type Opened struct {
	Deposit ledger.Deposit
	URL     string // send the payer there
}

// CheckoutRequest is a client's request to pay in.
type CheckoutRequest struct {
	Advertiser uuid.UUID
	Amount     money.Micros    // whole cents
	ReturnURL  string          // empty for the operator's
	Provider   ledger.Provider // empty for the default
	Currency   string          // ISO 4217; empty for USD, the only one
}

// Open opens a checkout for the owner of in.Advertiser. Errors: errs.Forbidden,
// errs.InvalidRequest, errs.NotFound (no such advertiser), errs.Unavailable without the provider,
// errs.UpstreamError.
//
// The deposit is stored before the checkout's address is returned, so every payment finds its
// deposit.
func (s *Service) Open(ctx context.Context, caller account.User, in CheckoutRequest) (Opened, error) {
	advertiser, amount, returnURL := in.Advertiser, in.Amount, in.ReturnURL
	if !caller.MayActFor(advertiser) {
		return Opened{}, errs.New(errs.Forbidden, "advertiser_id must be your own user id")
	}
	if in.Currency != "" && in.Currency != string(ledger.USD) {
		return Opened{}, errs.New(
			errs.InvalidRequest, "deposits are in USD, other currencies are not accepted",
		).With("field", "currency")
	}
	if amount < MinCheckout || amount > MaxCheckout || amount%cent != 0 {
		return Opened{}, errs.New(
			errs.InvalidRequest, "amount must be from %s to %s USD in whole cents", MinCheckout, MaxCheckout,
		).With("field", "amount")
	}
	if returnURL == "" {
		returnURL = s.cfg.ReturnURL
	} else if err := checkReturnURL(returnURL); err != nil {
		return Opened{}, errs.New(errs.InvalidRequest, "return_url %s", err).With("field", "return_url")
	}
	checkouts, err := s.checkouts(in.Provider)
	if err != nil {
		return Opened{}, err
	}
	if returnURL == "" {
		returnURL = s.deps.BaseURL() + "/checkout/done"
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Opened{}, err
	}
	request := Request{
		DepositID: id, AdvertiserID: advertiser, Amount: amount,
		ReturnURL: withQuery(returnURL, "deposit_id", id.String()),
		CancelURL: withQuery(returnURL, "deposit_id", id.String(), "cancelled", "true"),
	}
	if caller.ID == advertiser {
		request.Email = caller.Email
	}
	session, err := checkouts.Open(ctx, request)
	if err != nil {
		return Opened{}, err
	}
	d := ledger.Deposit{
		ID: id, AdvertiserID: advertiser, Provider: checkouts.Provider(), CheckoutID: session.ID,
		Requested: amount, ReturnURL: request.ReturnURL, CreatedAt: s.deps.Now().UTC(),
	}
	if err := s.deps.Store.CreateDeposit(ctx, d); err != nil {
		return Opened{}, err
	}
	return Opened{Deposit: d, URL: session.URL}, nil
}

// checkouts returns the requested provider.
func (s *Service) checkouts(p ledger.Provider) (Checkouts, error) {
	switch {
	case p != "" && p != ledger.Stripe && p != ledger.PayPal && p != ledger.Demo:
		return nil, errs.New(errs.InvalidRequest, "provider must be stripe or paypal").With("field", "provider")
	case len(s.deps.Checkouts) == 0:
		return nil, errs.New(errs.Unavailable, "no payment provider is configured here")
	case p == "":
		return s.deps.Checkouts[0], nil
	}
	if known := s.provider(p); known != nil {
		return known, nil
	}
	return nil, errs.New(errs.Unavailable, "%s is not configured here", p)
}

// provider returns the configured provider p, or nil.
func (s *Service) provider(p ledger.Provider) Checkouts {
	for _, c := range s.deps.Checkouts {
		if c.Provider() == p {
			return c
		}
	}
	return nil
}

// DepositReference names a deposit, by its id or by the provider's checkout or payment.
type DepositReference struct {
	DepositID uuid.UUID
	Provider  ledger.Provider
	Reference string
}

// Confirm returns one of caller's deposits, after querying the provider about an open one. deduped
// reports that it had been credited before. An open deposit without a payment at the provider stays
// open, without an error. Errors: errs.NotFound, errs.Forbidden, errs.UpstreamError.
func (s *Service) Confirm(
	ctx context.Context, caller account.User, reference DepositReference,
) (d ledger.Deposit, deduped bool, err error) {
	if reference.DepositID != uuid.Nil {
		d, err = s.deps.Store.Deposit(ctx, reference.DepositID)
	} else {
		d, err = s.deps.Store.DepositByReference(ctx, reference.Provider, reference.Reference)
	}
	if errs.Is(err, errs.NotFound) {
		return d, false, errs.New(errs.NotFound, "there is no such deposit, or the provider has not reported it yet")
	}
	if err != nil {
		return d, false, err
	}
	if !caller.MayActFor(d.AdvertiserID) {
		return ledger.Deposit{}, false, errs.New(errs.Forbidden, "the deposit belongs to another account")
	}
	if d.Status() != ledger.DepositOpen {
		return d, true, nil
	}
	result, paid, err := s.ask(ctx, d)
	if err != nil || !paid {
		return d, false, err
	}
	return result.Deposit, result.Outcome != ledger.NoticeCredited || result.Repeated, nil
}

// ask queries the provider about an open deposit, and credits it if paid.
func (s *Service) ask(ctx context.Context, d ledger.Deposit) (result ledger.NoticeResult, paid bool, err error) {
	checkouts := s.provider(d.Provider)
	if checkouts == nil || d.CheckoutID == "" {
		return result, false, nil
	}
	n, paid, err := checkouts.Verify(ctx, d.CheckoutID)
	if err != nil || !paid {
		return result, false, err
	}
	// The checkout is ours, so its payment is for this deposit, whatever ids the provider repeats.
	n.Names, n.At = []uuid.UUID{d.ID}, s.deps.Now().UTC()
	result, err = s.apply(ctx, n)
	return result, err == nil, err
}

type doubt struct{}

// Doubted returns ctx for a delivery from an address with many unsigned deliveries: the provider is
// not queried for it before its signature is verified.
func Doubted(ctx context.Context) context.Context { return context.WithValue(ctx, doubt{}, true) }

// IsDoubted reports whether ctx is from [Doubted].
func IsDoubted(ctx context.Context) bool { return ctx.Value(doubt{}) != nil }

// Receipt is the result of a webhook delivery.
type Receipt struct {
	Outcome   ledger.NoticeOutcome // empty when ignored
	Ignored   string               // reason for ignoring it
	Unknown   bool                 // ignored because of its unknown meaning, without an amount
	WrongMode bool                 // refused: the event is of the provider's other mode
	Reason    string               // reason for a manual review
	Deduped   bool                 // the event, or its content, was known
	DepositID uuid.UUID            // zero without a deposit (yet)
}

// Receive verifies a delivery over its raw body and applies it. Errors: errs.InvalidRequest without
// proof of its origin, or without a configured provider; errs.Unavailable if it should be sent
// again.
func (s *Service) Receive(ctx context.Context, p ledger.Provider, header http.Header, body []byte) (Receipt, error) {
	hook := s.deps.Webhooks[p]
	if hook == nil {
		return Receipt{}, errs.New(errs.InvalidRequest, "webhooks of %s are not configured here", p)
	}
	delivery, err := hook.Read(ctx, header, body)
	if err != nil {
		return Receipt{}, err
	}
	delivery.Notice.At = s.deps.Now().UTC()
	if err := s.mark(ctx, &delivery); err != nil {
		return Receipt{}, err
	}
	switch {
	case delivery.WrongMode != "":
		s.deps.Alarm.Error(ctx, "payment event of another mode", "provider", string(p), "reason", delivery.WrongMode)
		return Receipt{WrongMode: true}, errs.New(
			errs.InvalidRequest, "%s", delivery.WrongMode,
		).With("field", "livemode")
	case delivery.Ignored != "":
		return Receipt{Ignored: delivery.Ignored}, nil
	case delivery.Unknown != "":
		return Receipt{Ignored: delivery.Unknown, Unknown: true}, nil
	case delivery.Approved != "":
		return s.approved(ctx, p, delivery.Approved)
	case delivery.Parked != "":
		return Receipt{Outcome: ledger.NoticeParked, Reason: delivery.Parked}, s.park(ctx, delivery, delivery.Parked)
	}
	result, err := s.applyDelivery(ctx, delivery)
	if err != nil {
		return Receipt{}, err
	}
	return receipt(result), nil
}

func receipt(r ledger.NoticeResult) Receipt {
	return Receipt{
		Outcome: r.Outcome, Deduped: r.Repeated || r.Outcome == ledger.NoticeNothing, DepositID: r.Deposit.ID,
	}
}

// approved captures the money of our checkout, whose payer may never return to us.
func (s *Service) approved(ctx context.Context, p ledger.Provider, checkout string) (Receipt, error) {
	d, err := s.deps.Store.DepositByReference(ctx, p, checkout)
	if errs.Is(err, errs.NotFound) {
		return Receipt{Ignored: "checkout"}, nil
	}
	if err != nil {
		return Receipt{}, err
	}
	if d.Status() != ledger.DepositOpen {
		return Receipt{Outcome: ledger.NoticeNothing, Deduped: true, DepositID: d.ID}, nil
	}
	result, paid, err := s.ask(ctx, d)
	switch {
	case err != nil:
		return Receipt{}, err
	case !paid:
		return Receipt{Ignored: "status"}, nil
	}
	return receipt(result), nil
}

// park stores and logs a delivery for manual review. Sending it again would not help.
func (s *Service) park(ctx context.Context, d Delivery, reason string) error {
	n := &d.Notice
	s.deps.Alarm.Error(
		ctx, "payment needs manual review", "provider", string(n.Provider), "payment", n.PaymentID, "event", n.EventID,
		"type", typeOf(d.Type), "reason", reason,
	)
	return s.deps.Store.Park(ctx, ledger.Parked{
		Provider: n.Provider, EventID: n.EventID, PaymentID: n.PaymentID, Type: typeOf(d.Type), Kind: n.Kind,
		Amount: n.Amount, Reason: reason, At: n.At,
	})
}

// Parked lists deliveries for manual review, newest first.
func (s *Service) Parked(ctx context.Context, q ledger.ParkedQuery) ([]ledger.Parked, error) {
	return s.deps.Store.Parked(ctx, q)
}

// DecideParked credits or debits an account because of a parked delivery, or dismisses it. A repeat
// changes nothing. Errors: those of [Store.DecideParked].
func (s *Service) DecideParked(ctx context.Context, v ledger.ParkedVerdict) (ledger.Parked, error) {
	v.At = s.deps.Now().UTC()
	return s.deps.Store.DecideParked(ctx, v)
}

func (s *Service) apply(ctx context.Context, n ledger.Notice) (ledger.NoticeResult, error) {
	d := Delivery{Notice: n, Type: "confirmed"}
	if err := s.mark(ctx, &d); err != nil {
		return ledger.NoticeResult{}, err
	}
	return s.applyDelivery(ctx, d)
}

// mark stores hashes of the payer or card of a delivery, also of one that moves no money. Accounts
// that pay with it belong to one family.
func (s *Service) mark(ctx context.Context, d *Delivery) error {
	n := &d.Notice
	if s.deps.Marks == nil || d.WrongMode != "" || d.Parked != "" || !ledger.IsReference(n.Instrument) ||
		!ledger.IsReference(n.PaymentID) {
		return nil
	}
	hashes := s.deps.Marks(string(family.MarkInstrument), string(n.Provider)+":"+n.Instrument)
	return s.deps.Store.MarkPayment(ctx, n.Provider, n.PaymentID, hashes)
}

// applyDelivery applies a notice. A payment that credits no account is parked: the provider has the
// money.
func (s *Service) applyDelivery(ctx context.Context, d Delivery) (ledger.NoticeResult, error) {
	result, err := s.deps.Store.ApplyNotice(ctx, d.Notice)
	if err != nil {
		return result, err
	}
	switch amount := d.Notice.Amount.String(); result.Outcome {
	case ledger.NoticeUnattributed:
		err = s.park(ctx, d, "payment of "+amount+" USD for an unknown account")
	case ledger.NoticeClosed:
		err = s.park(ctx, d, "payment of "+amount+" USD for a closed account")
	}
	return result, err
}

// checkReturnURL requires an absolute https address, or http on this machine, without anything that
// could be mistaken for another host.
func checkReturnURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, len(text) > 2048, u.Host == "", u.Opaque != "", u.User != nil,
		strings.ContainsAny(u.Host, ";,'()*$!&=+%"),
		strings.ContainsFunc(
			text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == '"' || r == '<' || r == '>' },
		):
		return errReturnURL
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"):
		return nil
	}
	return errReturnURL
}

var errReturnURL = errs.New(errs.InvalidRequest, "must be an absolute https URL (http only on localhost)")

// withQuery adds query parameters to a checked URL.
func withQuery(text string, pairs ...string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	q := u.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}
