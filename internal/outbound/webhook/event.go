// Package webhook defines the events that adnet reports to endpoints of accounts, the endpoints, and
// how messages are signed, by the convention of Standard Webhooks.
//
// Contract: stores write the messages of a change in the transaction of the change, beside its row of
// the audit log, by the single rule of [Of]. So no event is reported without its change, and no
// change without its event. Only endpoints of the account that owns the target get one.
package webhook

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/ledger"
)

// Event is the type of a message.
type Event string

// The events.
const (
	CampaignApproved Event = "campaign.approved" // by a reviewer, or by the policy at its creation
	CampaignRejected Event = "campaign.rejected"
	CampaignEnded    Event = "campaign.ended" // archived: final
	DepositCredited  Event = "deposit.credited"
	QuarantineEnded  Event = "quarantine.ended" // a case against a publisher was decided

	// These are no changes: a timer finds them, and the store reports each once.
	CampaignBudgetSpent Event = "campaign.budget_spent" // nothing of the total budget is left for an ad
	CampaignFirstAd     Event = "campaign.first_ad"     // the first charge
	BalanceLow          Event = "balance.low"           // for less than three days, at most once a week
	KeyUnused           Event = "key.unused"            // no key of the account showed an ad for 14 days
	CreditsReleased     Event = "credits.released"      // on a UTC day
)

// Events lists the events.
var Events = []string{
	string(CampaignApproved), string(CampaignRejected), string(CampaignEnded), string(DepositCredited),
	string(QuarantineEnded), string(CampaignBudgetSpent), string(CampaignFirstAd), string(BalanceLow),
	string(KeyUnused), string(CreditsReleased),
}

// Fact is an event about an object of an account.
type Fact struct {
	Event     Event
	OwnerID   uuid.UUID // account or seat that owns the object; nil UUID if Publisher names it
	Publisher uuid.UUID // developer id
	About     string    // the object: events about one object keep their order
	Data      map[string]any
}

// Of reports whether e is an event, and returns it. The store resolves the account and the endpoints.
func Of(e *auditlog.Entry) (f Fact, is bool) {
	f = Fact{OwnerID: e.OwnerID, About: e.TargetKind + " " + e.TargetID}
	switch e.TargetKind {
	case auditlog.TargetCampaign:
		f.Event = ofCampaign(e)
		f.Data = map[string]any{"campaign_id": e.TargetID, "advertiser_id": e.OwnerID}
		if notes := reviewOf(e).Notes; notes != "" {
			f.Data["notes"] = notes
		}
	case auditlog.TargetDeposit:
		if after(e, "outcome") == string(ledger.NoticeCredited) {
			f.Event = DepositCredited
		}
		f.Data = map[string]any{
			"deposit_id": e.TargetID, "advertiser_id": e.OwnerID, "amount": e.Changes["amount"].After,
		}
	case auditlog.TargetQuarantine:
		f.Publisher, _ = uuid.Parse(after(e, "developer_id"))
		if after(e, "decision") != "" && f.Publisher != uuid.Nil {
			f.Event = QuarantineEnded
		}
		f.Data = map[string]any{
			"case_id": e.TargetID, "developer_id": f.Publisher, "decision": after(e, "decision"),
		}
	}
	return f, f.Event != ""
}

func ofCampaign(e *auditlog.Entry) Event {
	_, created := e.Changes["created_at"]
	status := after(e, "status")
	switch {
	case status == string(campaign.Archived):
		return CampaignEnded
	case status == string(campaign.Rejected):
		return CampaignRejected
	case reviewOf(e).Decision == "approved", created && status == string(campaign.Active):
		return CampaignApproved
	}
	return ""
}

// reviewOf returns the review that e stores; zero without one.
func reviewOf(e *auditlog.Entry) (review struct {
	Decision string `json:"decision"`
	Notes    string `json:"notes"`
}) {
	if change, is := e.Changes["review"]; is && change.After != nil {
		if text, err := json.Marshal(change.After); err == nil {
			_ = json.Unmarshal(text, &review)
		}
	}
	return review
}

// after returns a field's new value as text, empty if it did not change. Entries hold Go or JSON
// values.
func after(e *auditlog.Entry, field string) (value string) {
	change, is := e.Changes[field]
	if !is || change.After == nil {
		return ""
	}
	text, err := json.Marshal(change.After)
	if err != nil || json.Unmarshal(text, &value) != nil {
		return ""
	}
	return value
}

// Payload returns the body of the messages about f.
func (f *Fact) Payload(at time.Time) ([]byte, error) {
	return json.Marshal(struct {
		Type      Event          `json:"type"`
		Timestamp time.Time      `json:"timestamp"`
		Data      map[string]any `json:"data"`
	}{f.Event, at.UTC().Truncate(time.Millisecond), f.Data}, json.Deterministic(true))
}
