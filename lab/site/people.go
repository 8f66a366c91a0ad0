package site

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/google/uuid"

	"adnet/cmd/load/visitor"
	"adnet/ingress/idempotency"
	"adnet/internal/payment/stripe/stripetest"
	"adnet/internal/process/schedule"
)

// People creates what an installation needs before its load, by the public API.
type People struct {
	*visitor.Client
	Admin  string           // token of an administrator, who approves campaigns; "" for none
	Secret string           // of the payment provider's webhooks
	Now    func() time.Time // nil for the machine's clock
}

// Pay delivers the webhook of a payment in USD, as the payment provider would. A second delivery of
// the same payment changes nothing.
func (p *People) Pay(ctx context.Context, payment, advertiser string, usd int64) error {
	body := stripetest.Paid("evt_"+payment, "pi_"+payment, usd*100, advertiser)
	_, err := p.Call(ctx, visitor.Request{
		Method: "POST", Path: "/api/billing?action=webhook", Body: []byte(body), Want: 200,
		Header: stripetest.Sign(body, p.Secret, schedule.Clock(p.Now)()),
	})
	return err
}

// Campaign creates a campaign of an account. An administrator approves it unless it delivers
// everywhere. fields replace the defaults. The call has a key, because a retry after a lost reply would
// create another campaign, which the suite does not know.
func (p *People) Campaign(ctx context.Context, owner visitor.Account, fields visitor.Object) (id string, err error) {
	all := visitor.Object{
		"advertiser_id": owner.ID, "daily_budget": 1_000_000, "total_budget": 10_000_000, "pacing": "asap",
	}
	maps.Copy(all, fields)
	reply, err := p.Call(ctx, visitor.Request{
		Method: "POST", Path: "/api/campaigns", Bearer: owner.Bearer, JSON: all, Want: visitor.Success,
		Header: http.Header{idempotency.Header: {uuid.NewString()}},
	})
	if err != nil {
		return "", fmt.Errorf("create a campaign: %w", err)
	}
	created := reply.Object("campaign")
	if p.Admin == "" || created.Text("status") == "active" && created.Text("delivers") == "everywhere" {
		return created.Text("id"), nil
	}
	_, err = p.Call(ctx, visitor.Request{
		Method: "POST", Path: "/api/campaigns?action=review", Bearer: p.Admin, Want: 200,
		JSON: visitor.Object{"id": created.Text("id"), "decision": "approved"},
	})
	return created.Text("id"), err
}
