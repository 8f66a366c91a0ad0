// Package billing serves /api/billing (deposits, balances, history and earnings of an account), the
// webhooks of payment providers, and the checkout page of in-memory mode. The rules live in
// internal/payment and internal/ledger.
package billing

import (
	"context"
	"maps"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/payment"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// maxDelivery is the maximum size of a provider's delivery in bytes. An event holds whole objects: a
// charge with its metadata, or an invoice with its lines.
const maxDelivery = 256 << 10

// Ledger reads balances and movements of money.
type Ledger interface {
	AdvertiserBalance(ctx context.Context, id uuid.UUID) (money.Micros, error)
	CreditBalance(ctx context.Context, developer uuid.UUID) (ledger.CreditBalance, error)
	History(ctx context.Context, q ledger.HistoryQuery) ([]ledger.Line, error)
	Statement(ctx context.Context, q ledger.StatementQuery) (ledger.Statement, error)
	Earnings(ctx context.Context, developer uuid.UUID, first, last day.Day) (ledger.Earnings, error)
	// WaitingDays returns the days of a publisher with Credits that cannot be spent yet.
	WaitingDays(ctx context.Context, developer uuid.UUID) ([]ledger.CreditDay, error)
}

// Deliveries limits the deliveries of an address that carry no valid provider signature.
type Deliveries interface {
	// BadDelivery counts one delivery. Errors: errs.RateLimited above the limit.
	BadDelivery(address string, now time.Time) error
	// Doubts reports whether an address has used up its limit.
	Doubts(address string, now time.Time) bool
}

// Users finds the account that an administrator names. Errors: errs.NotFound.
type Users interface {
	User(ctx context.Context, id uuid.UUID) (account.User, error)
}

// Deps holds the dependencies of the endpoints.
type Deps struct {
	Metrics  prometheus.Registerer
	Users    Users
	Ledger   Ledger
	Payments *payment.Service

	Publishers Publishers // quarantine and mint caps

	Deliveries Deliveries // nil: not limited

	Demo        *payment.Demo // the checkout page; set only in in-memory mode
	Prepaid     bool          // ADNET_PREPAID=required
	CreditValue money.Micros  // total budget in USD that one Credit pays for (ADNET_CREDIT_VALUE_USD)
	Now         func() time.Time
}

// API is the billing endpoints.
type API struct {
	deps    Deps
	notices *prometheus.CounterVec
}

// New returns the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	a := &API{deps: deps, notices: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_payment_webhooks_total", Help: "Webhook deliveries of payment providers, by provider and outcome.",
	}, []string{"provider", "outcome"}))}
	return a
}

// Mount adds the routes to s.
func (a *API) Mount(s *httpapi.Server) {
	reads := httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken}
	// Reads with a body: they change nothing, but accept an Idempotency-Key.
	queries := httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.Yes, Audited: httpapi.No,
		Params: ofParties(nil),
	}
	changes := httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
	ofAdmin := func(p httpapi.Policy) httpapi.Policy { p.Auth = httpapi.AdminToken; return p }
	with := func(p httpapi.Policy, params httpapi.Params) httpapi.Policy { p.Params = params; return p }
	s.HandleActions(http.MethodPost, "/api/billing", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"balance":         {Do: httpapi.Do(a.balance)},
		"history":         {Do: httpapi.Do(a.history), Policy: with(queries, ofHistory)},
		"earnings":        {Do: httpapi.Do(a.earnings), Policy: with(queries, ofEarnings)},
		"statement":       {Do: httpapi.Do(a.statement), Policy: with(queries, ofStatement)},
		"create_checkout": {Do: httpapi.Do(a.createCheckout), Policy: changes},
		"deposit":         {Do: httpapi.Do(a.deposit), Policy: changes},
		"quarantine":      {Do: httpapi.Do(a.decideQuarantine), Policy: ofAdmin(changes)},
		"mint_cap":        {Do: httpapi.Do(a.mintCap), Policy: ofAdmin(changes)},
		"parked":          {Do: httpapi.Do(a.decideParked), Policy: ofAdmin(changes)},
		// No Idempotency-Key: deliveries count once by their event ids. No limit before the
		// signature is checked, so that a stranger cannot lock out the provider.
		"webhook": {Do: httpapi.Plain(a.webhook), Policy: httpapi.Policy{
			Limit: httpapi.LimitNone, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.Yes,
			Body: maxDelivery,
		}},
		"payout": {Do: httpapi.Plain(retired), Policy: httpapi.Policy{
			Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.Yes, Audited: httpapi.No,
		}},
	}}, queries)
	s.HandleActions(http.MethodGet, "/api/billing", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"balance":    {Do: httpapi.Do(a.balance)},
		"history":    {Do: httpapi.Do(a.history), Policy: with(reads, ofHistory)},
		"earnings":   {Do: httpapi.Do(a.earnings), Policy: with(reads, ofEarnings)},
		"statement":  {Do: httpapi.Do(a.statement), Policy: with(reads, ofStatement)},
		"credits":    {Do: httpapi.Do(a.credits)},
		"parked":     {Do: httpapi.Do(a.parked), Policy: with(ofAdmin(reads), ofParked)},
		"quarantine": {Do: httpapi.Do(a.quarantines), Policy: with(ofAdmin(reads), ofCases)},
	}}, with(reads, ofParties(nil)))
	// Registered in every mode, so that the routes do not differ. Without the demo provider no
	// checkout exists.
	s.Handle(
		http.MethodGet, "/checkout/:id", httpapi.Plain(a.checkoutPage),
		httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone},
	)
	// No Idempotency-Key: the id of a checkout makes its payment idempotent.
	s.Handle(http.MethodPost, "/checkout/:id", httpapi.Plain(a.payCheckout), httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.Yes,
	})
}

// ofParties are the query parameters of an action that reads for parties; more are added.
func ofParties(more httpapi.Params) httpapi.Params {
	params := httpapi.Params{"advertiser_id": httpapi.IDForm, "developer_id": httpapi.IDForm}
	maps.Copy(params, more)
	return params
}

// The query parameters of the actions.
var (
	ofHistory = ofParties(httpapi.Params{
		"asset": httpapi.WordForm(string(ledger.USD), string(ledger.Credit)),
		"limit": httpapi.NumberForm(1, maxLines), "before": httpapi.NumberForm(1, math.MaxInt64),
		"since": httpapi.DayForm, "until": httpapi.DayForm,
	})
	ofEarnings = ofParties(httpapi.Params{
		"since": httpapi.DayForm, "until": httpapi.DayForm, "format": httpapi.WordForm("json", "csv"),
		"bom": httpapi.SwitchForm,
	})
	ofStatement = ofParties(httpapi.Params{
		"month": httpapi.MonthForm, "format": httpapi.WordForm("csv"), "bom": httpapi.SwitchForm,
	})
	ofParked = httpapi.Params{
		"state": httpapi.WordForm("open", "all"), "limit": httpapi.NumberForm(1, maxLines),
		"offset": httpapi.NumberForm(0, httpapi.MaxOffset),
	}
	ofCases = httpapi.Params{
		"state": httpapi.WordForm("open", "all"), "limit": httpapi.NumberForm(1, maxCases),
		"developer_id": httpapi.IDForm,
	}
)

// retired rejects the actions of the removed cash-payout feature, whatever they send.
func retired(*gin.Context) error {
	return errs.New(errs.Retired, "there are no cash payouts; Credits promote your own product in the network")
}

// accountFields are the optional fields of every action's body that name an account.
type accountFields struct {
	AdvertiserID *string `json:"advertiser_id"`
	DeveloperID  *string `json:"developer_id"`
}

// readFields are the optional fields of a read's body.
type readFields struct {
	accountFields
	Amount jsontext.Value `json:"amount"` // not used: the specification permits it in every action
}

// accountQuery is the input of a read: its accounts, from an optional body or the query.
type accountQuery struct{ accountFields }

// Read implements [httpapi.Input].
func (q *accountQuery) Read(c *gin.Context) error {
	if c.Request.Method != http.MethodPost {
		return nil
	}
	body := readFields{}
	err := httpapi.DecodeOptional(c, &body)
	q.accountFields = body.accountFields
	return err
}

// named returns the account id in field, from the body or else from the query, or nil if neither
// has it.
func named(c *gin.Context, field string, body *string) (*uuid.UUID, error) {
	if body == nil {
		text := c.Query(field)
		if text == "" {
			return nil, nil
		}
		body = &text
	}
	id, err := httpapi.ParseID(field, *body)
	return &id, err
}

// parties are the accounts that a request reads or pays for.
type parties struct {
	caller     account.User
	advertiser uuid.UUID // zero if an administrator named only a developer
	developer  uuid.UUID
}

// parties checks the accounts in the request: the caller's own, or any account for
// an administrator.
func (a *API) parties(c *gin.Context, caller account.User, in accountFields) (p parties, err error) {
	p.caller = caller
	advertiser, err := named(c, "advertiser_id", in.AdvertiserID)
	if err != nil {
		return p, err
	}
	developer, err := named(c, "developer_id", in.DeveloperID)
	if err != nil {
		return p, err
	}
	p.advertiser, p.developer = p.caller.ID, p.caller.DeveloperID
	if developer != nil {
		if p.developer = *developer; p.developer != p.caller.DeveloperID {
			p.advertiser = uuid.Nil
		}
	}
	if advertiser != nil {
		p.advertiser = *advertiser
	}
	if p.advertiser == p.caller.ID && p.developer == p.caller.DeveloperID {
		return p, nil
	}
	own := p.caller.Publishes(p.developer) && (p.advertiser == uuid.Nil || p.caller.MayActFor(p.advertiser))
	if !own && !p.caller.IsAdmin() {
		return p, errs.New(
			errs.Forbidden, "advertiser_id and developer_id must be your own or belong to one of your seats",
		)
	}
	if p.advertiser != uuid.Nil && p.advertiser != p.caller.ID {
		owner, err := a.deps.Users.User(c.Request.Context(), p.advertiser)
		if errs.Is(err, errs.NotFound) {
			return p, errs.New(errs.NotFound, "there is no such advertiser")
		}
		if err != nil {
			return p, err
		}
		if developer == nil {
			p.developer = owner.DeveloperID
		}
	}
	return p, nil
}

// fundingMode returns the name of the way cash campaigns pay.
func (a *API) fundingMode() string {
	if a.deps.Prepaid {
		return "prepaid"
	}
	return "postpaid"
}
