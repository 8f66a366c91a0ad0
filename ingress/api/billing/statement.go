package billing

import (
	"math"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// Page sizes of the history, and the longest range of an earnings report.
const (
	defaultLines = 50
	maxLines     = 500
	defaultDays  = 30
	maxDays      = 366
)

// balance serves action=balance.
func (a *API) balance(c *gin.Context, caller account.User, in accountQuery) (httpapi.Object, error) {
	p, err := a.parties(c, caller, in.accountFields)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	credits, err := a.deps.Ledger.CreditBalance(ctx, p.developer)
	if err != nil {
		return nil, err
	}
	reply := httpapi.Object{"developer_id": p.developer, "currency": ledger.USD, "funding": a.fundingMode()}
	answerCredits(reply, credits)
	if p.advertiser != uuid.Nil {
		cash, err := a.deps.Ledger.AdvertiserBalance(ctx, p.advertiser)
		if err != nil {
			return nil, err
		}
		reply["advertiser_id"] = p.advertiser
		reply["balance"], reply["available"], reply["owed"] = cash, max(0, cash), max(0, -cash)
	}
	return reply, nil
}

// answerCredits adds a publisher's Credit balances to the reply. Credits of an open quarantine case
// are part of the held ones and are also listed separately. Neither can be spent.
func answerCredits(reply map[string]any, b ledger.CreditBalance) {
	reply["credits"], reply["credits_pending"], reply["credits_held"] = b.Spendable, b.Pending, b.Held+b.Quarantined
	reply["credits_quarantined"] = b.Quarantined
}

// lineReply is a row of the history. Amount and balance are USD or whole Credits, depending on
// asset.
type lineReply struct {
	ID         uuid.UUID    `json:"id"` // of the ledger transaction
	At         time.Time    `json:"at"`
	Kind       ledger.Kind  `json:"kind"`
	Asset      ledger.Asset `json:"asset"`
	Credits    string       `json:"credits,omitempty"` // kind of Credits: spendable, pending or held
	Amount     any          `json:"amount"`
	Balance    any          `json:"balance"` // after this row
	CampaignID *uuid.UUID   `json:"campaign_id,omitempty"`
	Reference  string       `json:"reference,omitempty"` // the provider's payment
	Reverses   *uuid.UUID   `json:"reverses,omitempty"`  // the row that a refund reverses
}

func answerLine(l ledger.Line, developer uuid.UUID) lineReply {
	r := lineReply{
		ID: l.Transaction, At: l.At.UTC(), Kind: l.Kind, Asset: l.Asset, Amount: l.Amount, Balance: l.Balance,
	}
	if l.Asset == ledger.USD {
		r.Amount, r.Balance = money.Micros(l.Amount), money.Micros(l.Balance)
	}
	switch l.Account {
	case ledger.DeveloperCredits(developer):
		r.Credits = "spendable"
	case ledger.PendingCredits(developer):
		r.Credits = "pending"
	case ledger.WaitingCredits(developer):
		r.Credits = "held"
	}
	switch l.Kind {
	case ledger.KindCharge, ledger.KindCreditFund, ledger.KindTrafficRefund:
		r.CampaignID = &l.Subject
	case ledger.KindDeposit, ledger.KindRefund, ledger.KindRefundFailed, ledger.KindDispute, ledger.KindDisputeWon:
		r.Reference = l.Ref
	}
	if l.Reverses != uuid.Nil {
		r.Reverses = &l.Reverses
	}
	return r
}

// history serves action=history: one page, newest first, with the cursor of the next page.
func (a *API) history(c *gin.Context, caller account.User, in accountQuery) (httpapi.Object, error) {
	p, err := a.parties(c, caller, in.accountFields)
	if err != nil {
		return nil, err
	}
	q := ledger.HistoryQuery{Advertiser: p.advertiser, Developer: p.developer, Asset: ledger.Asset(c.Query("asset"))}
	if q.Limit, err = httpapi.QueryInt(c, "limit", defaultLines, 1, maxLines); err != nil {
		return nil, err
	}
	if text := c.Query("before"); text != "" {
		q.Before, err = strconv.ParseInt(text, 10, 64)
		if err != nil || q.Before < 1 {
			return nil, errs.New(
				errs.InvalidRequest, "before must be the value next from another page",
			).With("field", "before")
		}
	}
	if q.From, q.To, err = queryDates(c); err != nil {
		return nil, err
	}
	page := q
	page.Limit++ // one extra row shows whether there is a next page
	lines, err := a.deps.Ledger.History(c.Request.Context(), page)
	if err != nil {
		return nil, err
	}
	reply := httpapi.Object{"limit": q.Limit, "next": nil}
	if len(lines) > q.Limit {
		lines = lines[:q.Limit]
		reply["next"] = strconv.FormatInt(lines[len(lines)-1].Seq, 10)
	}
	entries := make([]lineReply, len(lines))
	for i, line := range lines {
		entries[i] = answerLine(line, p.developer)
	}
	reply["entries"] = entries
	return reply, nil
}

// queryDates reads the optional bounds since and until, both inclusive.
func queryDates(c *gin.Context) (from, to time.Time, err error) {
	if c.Query("since") != "" {
		date, err := queryDay(c, "since", 0)
		if err != nil {
			return from, to, err
		}
		from = date.Time()
	}
	if c.Query("until") != "" {
		date, err := queryDay(c, "until", 0)
		if err != nil {
			return from, to, err
		}
		to = (date + 1).Time()
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return from, to, errs.New(errs.InvalidRequest, "since must not be after until").With("field", "since")
	}
	return from, to, nil
}

// statement serves action=statement: one month of the account as CSV. The text of a past month
// never changes.
func (a *API) statement(c *gin.Context, caller account.User, in accountQuery) (reply httpapi.Reply, err error) {
	p, err := a.parties(c, caller, in.accountFields)
	if err != nil {
		return reply, err
	}
	month, err := day.ParseMonth(c.Query("month"))
	if err != nil {
		return reply, err
	}
	statement, err := a.deps.Ledger.Statement(c.Request.Context(), ledger.StatementQuery{
		Advertiser: p.advertiser, Developer: p.developer, Month: month, Now: a.deps.Now().UTC(),
	})
	if err != nil {
		return reply, err
	}
	text, err := statement.CSV()
	if err != nil {
		return reply, err
	}
	return httpapi.Attachment("adnet-"+month.String(), text), nil
}

type dayReply struct {
	Date    string        `json:"date"`
	Credits money.Credits `json:"credits"`
}

// earnings serves action=earnings: Credits per UTC day, including days without any.
func (a *API) earnings(c *gin.Context, caller account.User, in accountQuery) (answer httpapi.Reply, err error) {
	p, err := a.parties(c, caller, in.accountFields)
	if err != nil {
		return answer, err
	}
	today := day.Of(a.deps.Now())
	last, err := queryDay(c, "until", today)
	if err != nil {
		return answer, err
	}
	first, err := queryDay(c, "since", last-defaultDays+1)
	if err != nil {
		return answer, err
	}
	if first > last || last-first >= maxDays {
		return answer, errs.New(
			errs.InvalidRequest, "since must not be after until, nor more than %d days before", maxDays-1,
		).With("field", "since")
	}
	e, err := a.deps.Ledger.Earnings(c.Request.Context(), p.developer, first, last)
	if err != nil {
		return answer, err
	}
	credits, err := a.deps.Ledger.CreditBalance(c.Request.Context(), p.developer)
	if err != nil {
		return answer, err
	}
	minted := make(map[day.Day]money.Credits, len(e.Days))
	for _, date := range e.Days {
		minted[date.Day] = date.Credits
	}
	daily := make([]dayReply, 0, last-first+1)
	for date := first; date <= last; date++ {
		daily = append(daily, dayReply{date.String(), minted[date]})
	}
	reply := httpapi.Object{
		"developer_id": p.developer, "since": first.String(), "until": last.String(), "timezone": "UTC",
		"credit_value_usd": a.deps.CreditValue,
		"daily":            daily, "total": e.Total, "available": credits.Spendable, "held": credits.Held + credits.Quarantined,
	}
	answerCredits(reply, credits)
	return httpapi.Table("adnet-earnings-"+first.String()+"-"+last.String(), reply, func() [][]string {
		table := [][]string{{"day", "credits"}}
		for _, date := range daily {
			table = append(table, []string{date.Date, strconv.FormatInt(int64(date.Credits), 10)})
		}
		return table
	}), nil
}

// queryDay reads a date from the query.
func queryDay(c *gin.Context, name string, fallback day.Day) (day.Day, error) {
	text := c.Query(name)
	if text == "" {
		return fallback, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil || at.Unix()/86400 > math.MaxInt32/2 || at.Year() < 1970 {
		return 0, errs.New(errs.InvalidRequest, "%s must be a date like 2026-01-31", name).With("field", name)
	}
	return day.Of(at), nil
}
