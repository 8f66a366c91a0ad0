package billing

import (
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/ledger"
)

// waitReply is the amount of Credits that wait for the same reason since the same UTC day.
type waitReply struct {
	Reason  ledger.WaitReason `json:"reason"`
	Credits int64             `json:"credits"`
	Since   string            `json:"since"`            // UTC day
	Until   *time.Time        `json:"until"`            // nil: until an administrator decides
	Expires bool              `json:"expires,omitzero"` // at until they expire instead of becoming spendable
}

// credits serves action=credits: the balances of a publisher's Credits, and the reason for each
// amount that cannot be spent yet.
func (a *API) credits(c *gin.Context, caller account.User, in accountQuery) (httpapi.Object, error) {
	p, err := a.parties(c, caller, in.accountFields)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	balance, err := a.deps.Ledger.CreditBalance(ctx, p.developer)
	if err != nil {
		return nil, err
	}
	days, err := a.deps.Ledger.WaitingDays(ctx, p.developer)
	if err != nil {
		return nil, err
	}
	waits, frozen := []waitReply{}, false
	for _, d := range days {
		frozen = frozen || d.Frozen
	}
	for _, w := range ledger.Waits(days) {
		row := waitReply{
			Reason: w.Reason, Credits: w.Credits, Since: w.Since.String(), Expires: w.Reason == ledger.WaitUnbacked,
		}
		if !w.Until.IsZero() {
			row.Until = &w.Until
		}
		waits = append(waits, row)
	}
	reply := httpapi.Object{
		"developer_id": p.developer, "waits": waits, "frozen": frozen, "credit_value_usd": a.deps.CreditValue,
	}
	answerCredits(reply, balance)
	return reply, nil
}
