package billing

import (
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// parkedReply is a provider's event that an operator must decide.
type parkedReply struct {
	ID         uuid.UUID       `json:"id"`
	Provider   ledger.Provider `json:"provider"`
	EventID    string          `json:"event_id"` // of a shared row: the newest
	EventType  string          `json:"event_type"`
	PaymentID  string          `json:"payment_id"`
	Amount     *money.Micros   `json:"amount"` // USD; null if unknown or in another currency
	Reason     string          `json:"reason"`
	ReceivedAt time.Time       `json:"received_at"`
	Count      int64           `json:"count"` // above 1: events of one type that share the row
	State      string          `json:"state"` // open, or the decision
	AccountID  *uuid.UUID      `json:"account_id,omitempty"`
	Applied    *money.Micros   `json:"applied,omitempty"`
	DecidedAt  *time.Time      `json:"decided_at,omitempty"`
	DecidedBy  *uuid.UUID      `json:"decided_by,omitempty"`
	Note       string          `json:"note,omitempty"`
}

func answerParked(p ledger.Parked) parkedReply {
	r := parkedReply{
		ID: p.ID, Provider: p.Provider, EventID: p.EventID, EventType: p.Type, PaymentID: p.PaymentID,
		Reason: p.Reason, ReceivedAt: p.At.UTC(), Count: p.Count, State: "open", Note: p.Note,
	}
	if p.Amount > 0 {
		r.Amount = &p.Amount
	}
	if p.Decision != "" {
		at := p.DecidedAt.UTC()
		r.State, r.DecidedAt = string(p.Decision), &at
	}
	if p.DecidedBy != uuid.Nil {
		r.DecidedBy = &p.DecidedBy
	}
	if p.AccountID != uuid.Nil {
		r.AccountID, r.Applied = &p.AccountID, &p.Applied
	}
	return r
}

// parked serves GET action=parked: the providers' events that could not be applied, newest first,
// without state=all only those that wait. Administrators only.
func (a *API) parked(c *gin.Context, _ account.User, page httpapi.Page) (httpapi.Object, error) {
	// one more, to see whether there is a next page
	q := ledger.ParkedQuery{Open: c.Query("state") != "all", Limit: page.Limit + 1, Offset: page.Offset}
	list, err := a.deps.Payments.Parked(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	list, reply := httpapi.Paged(list, page)
	parked := make([]parkedReply, len(list))
	for i, p := range list {
		parked[i] = answerParked(p)
	}
	reply["parked"] = parked
	return reply, nil
}

// parkedDecision is an administrator's decision about a parked event.
type parkedDecision struct {
	ID        string        `json:"id"`
	Decision  string        `json:"decision"` // credit, debit or dismiss
	AccountID string        `json:"account_id"`
	Amount    *money.Micros `json:"amount"` // USD; absent for the event's
	Note      string        `json:"note"`
}

// decideParked serves POST action=parked: it credits or debits an account because of a parked event,
// or dismisses the event. A repeated request changes nothing and returns the same. Administrators
// only.
func (a *API) decideParked(c *gin.Context, admin account.User, in parkedDecision) (httpapi.Object, error) {
	v := ledger.ParkedVerdict{Decision: ledger.ParkedDecision(in.Decision), By: admin.ID}
	var err error
	if v.Note, err = noteOf(in.Note); err != nil {
		return nil, err
	}
	if v.ID, err = httpapi.ParseID("id", in.ID); err != nil {
		return nil, err
	}
	if in.AccountID != "" {
		if v.AccountID, err = httpapi.ParseID("account_id", in.AccountID); err != nil {
			return nil, err
		}
	}
	if in.Amount != nil {
		if v.Amount = *in.Amount; v.Amount <= 0 {
			return nil, errs.New(errs.InvalidRequest, "amount must be above 0").With("field", "amount")
		}
	}
	decided, err := a.deps.Payments.DecideParked(c.Request.Context(), v)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"parked": answerParked(decided)}, nil
}
