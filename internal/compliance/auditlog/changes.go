package auditlog

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ranking"
)

// unsaid are fields that are not recorded: they change with everything, or belong to the ledger or
// to the state of a goal.
var unsaid = map[string]bool{"config_version": true, "updated_at": true, "goal_status": true, "goal_multiplier": true,
	"goal_price": true, "goal_conversions": true, "spent_today": true, "spent_total": true, "id": true,
	"advertiser_id": true, "advertiser": true, "reviewed": true, "approved": true}

// ofFields compares two JSON objects field by field. An empty one stands for "did not exist".
func ofFields(before, after map[string]jsontext.Value) map[string]Change {
	changes := make(map[string]Change)
	for name, value := range after {
		if !unsaid[name] && !bytes.Equal(before[name], value) {
			changes[name] = Change{Before: known(before, name), After: value}
		}
	}
	for name, value := range before {
		if _, still := after[name]; !still && !unsaid[name] {
			changes[name] = Change{Before: value}
		}
	}
	return changes
}

// known returns the value of a field, or nil, which an entry shows as null.
func known(fields map[string]jsontext.Value, name string) any {
	if value, ok := fields[name]; ok {
		return value
	}
	return nil
}

// fields returns v as a JSON object. v is one of our own types, which always encode.
func fields(v any) map[string]jsontext.Value {
	var out map[string]jsontext.Value
	if text, err := json.Marshal(v, json.Deterministic(true)); err == nil {
		_ = json.Unmarshal(text, &out)
	}
	return out
}

// OfCampaign returns the entry of a campaign's change. before is nil for a creation.
func OfCampaign(before, after *campaign.Campaign) Entry {
	var was map[string]jsontext.Value
	if before != nil {
		was = fields(before)
	}
	return Entry{
		TargetKind: TargetCampaign, TargetID: after.ID.String(), OwnerID: after.AdvertiserID,
		Changes: ofFields(was, fields(after)),
	}
}

// shownUser holds the fields of an account that an entry may contain: never the password or its
// hash.
type shownUser struct {
	Email    string       `json:"email"`
	Role     account.Role `json:"role"`
	Disabled bool         `json:"disabled"`
}

// owner returns the account whose audit log has u's changes: for a seat, its owner.
func owner(u *account.User) uuid.UUID {
	if u.ParentID != uuid.Nil {
		return u.ParentID
	}
	return u.ID
}

// OfUser returns the entry of an account's change. before is nil for a creation. A password change
// is recorded without the password.
func OfUser(before, after *account.User) Entry {
	var was map[string]jsontext.Value
	if before != nil {
		was = fields(shownUser{before.Email, before.Role, before.Disabled})
	}
	e := Entry{
		TargetKind: TargetUser, TargetID: after.ID.String(), OwnerID: owner(after),
		Changes: ofFields(was, fields(shownUser{after.Email, after.Role, after.Disabled})),
	}
	if before != nil && before.PasswordHash != after.PasswordHash {
		e.Changes["password"] = Change{Before: "(secret)", After: "(changed)"}
	}
	// Names are not in the log, so that an erasure need not remove them from it.
	if before != nil && (before.DisplayName != after.DisplayName || before.Company != after.Company) {
		e.Changes["profile"] = Change{Before: "(as it was)", After: "(changed)"}
	}
	if was := before; was != nil && was.Approved != after.Approved {
		e.Changes["name_in_ads"] = Change{Before: approval(was), After: approval(after)}
	}
	return e
}

// approval returns the state of a name's approval for ads, without the name.
func approval(u *account.User) string {
	switch {
	case u.Approved.Verified:
		return "verified"
	case u.Approved.Name != "":
		return "approved"
	}
	return "none"
}

// OfRuling returns the entry of a decision about an account. campaigns is the number of campaigns
// that it paused or resumed.
func OfRuling(before, after *account.User, reason string, campaigns int) Entry {
	e := OfUser(before, after)
	if reason != "" && len(e.Changes) > 0 {
		e.Changes[Reason] = Change{After: reason}
	}
	if campaigns > 0 {
		e.Changes["campaigns"] = Change{After: campaigns}
	}
	return e
}

// OfFamily returns the entry of a decision about the family of an account. It has no owner: it may
// name another owner's account.
func OfFamily(before, after family.Decision) Entry {
	e := Entry{TargetKind: TargetUser, TargetID: after.Account.String(), Changes: map[string]Change{
		"family": {Before: before.Text(), After: after.Text()},
	}}
	if after.Reason != "" {
		e.Changes[Reason] = Change{After: after.Reason}
	}
	return e
}

// Reason is the name of the change that holds the reason for a decision.
const Reason = "reason"

// OfSession returns the entry of a session ended by its owner.
func OfSession(user, session uuid.UUID) Entry {
	return Entry{TargetKind: TargetUser, TargetID: user.String(), OwnerID: user, Changes: map[string]Change{
		"session": {Before: session, After: nil},
	}}
}

// OfSessions returns the entry of ending all other sessions of an account. ended is their number.
func OfSessions(user uuid.UUID, ended int) Entry {
	return Entry{TargetKind: TargetUser, TargetID: user.String(), OwnerID: user, Changes: map[string]Change{
		"other_sessions": {Before: ended, After: 0},
	}}
}

// OfFactor returns the entry of a change to an account's second factor, without secret and codes. A
// wrong code changes nothing.
func OfFactor(user uuid.UUID, before, after *account.Factor) Entry {
	e := Entry{TargetKind: TargetUser, TargetID: user.String(), OwnerID: user, Changes: make(map[string]Change)}
	if before.On() != after.On() {
		e.Changes["second_factor"] = Change{Before: before.On(), After: after.On()}
	}
	if !slices.Equal(before.Recovery, after.Recovery) {
		e.Changes["recovery_codes"] = Change{Before: len(before.Recovery), After: len(after.Recovery)}
	}
	return e
}

// OfBlocks returns the entry of a change to a publisher's block lists.
func OfBlocks(user uuid.UUID, before, after *account.Blocks) Entry {
	changes := make(map[string]Change)
	for field, change := range ofFields(fields(before), fields(after)) {
		changes["blocked_"+field] = change
	}
	return Entry{TargetKind: TargetUser, TargetID: user.String(), OwnerID: user, Changes: changes}
}

// OfPublishing returns the entry of a change to a publisher's requirements for ads.
func OfPublishing(user uuid.UUID, before, after *account.Publishing) Entry {
	changes := make(map[string]Change)
	for field, change := range ofFields(fields(before), fields(after)) {
		changes["publishing_"+field] = change
	}
	return Entry{TargetKind: TargetUser, TargetID: user.String(), OwnerID: user, Changes: changes}
}

// OfKey returns the entry of an issued or revoked key, without the key and its hash.
func OfKey(k account.Key, of account.User, revoked bool) Entry {
	e := Entry{TargetKind: TargetKey, TargetID: k.ID.String(), OwnerID: owner(&of), Changes: make(map[string]Change)}
	if revoked {
		e.Changes["revoked"] = Change{Before: false, After: true}
		return e
	}
	e.Changes["kind"], e.Changes["name"], e.Changes["prefix"] = Change{After: k.Kind}, Change{After: k.Name},
		Change{After: k.Prefix}
	if k.CampaignID != uuid.Nil {
		e.Changes["campaign_id"] = Change{After: k.CampaignID}
	}
	if k.Unlearned {
		e.Changes["learning"] = Change{After: false}
	}
	if k.Kind.OfSeat() {
		e.Changes["seat_id"] = Change{After: k.OwnerID}
	}
	if len(k.Origins) > 0 {
		e.Changes["origins"] = Change{After: k.Origins}
	}
	if k.ReadByModels {
		e.Changes["read_by_models"] = Change{After: true}
	}
	if len(k.Addresses) > 0 {
		e.Changes["addresses"] = Change{After: k.Addresses}
	}
	return e
}

// OfRotation returns the entry of a key that next replaces, with the time until which it works.
func OfRotation(id uuid.UUID, of account.User, ends time.Time, next account.Key) Entry {
	return Entry{TargetKind: TargetKey, TargetID: id.String(), OwnerID: owner(&of), Changes: map[string]Change{
		"ends_at": {After: ends}, "next": {After: next.ID},
	}}
}

// OfMintCap returns the entry of a publisher's own mint cap. nil is the installation's cap, before
// and after.
func OfMintCap(before *int64, c ledger.MintCap) Entry {
	return Entry{TargetKind: TargetPublisher, TargetID: c.DeveloperID.String(), Changes: map[string]Change{
		"mint_cap": {Before: before, After: (*int64)(c.Cap)}, "note": {After: c.Note},
	}}
}

// CreditsTakenBack is the name of the change that holds the number of a publisher's Credits that
// were taken back.
const CreditsTakenBack = "credits_taken_back"

// OfTakenBack returns the entry that informs a publisher of Credits that were taken back. owner is
// its account.
func OfTakenBack(owner uuid.UUID, t ledger.TakenBack) Entry {
	return Entry{
		TargetKind: TargetPublisher, TargetID: t.DeveloperID.String(), OwnerID: owner, Changes: map[string]Change{
			CreditsTakenBack: {After: t.Credits}, "earned_from": {After: t.First.String()},
			"earned_until": {After: t.Last.String()},
			Reason: {After: "A payment for the ads that earned these Credits was reversed. They are pending " +
				"again, and are released if the ads are paid for in time. The monthly statement lists all movements."},
		},
	}
}

// OfCase returns the entry of a new quarantine case.
func OfCase(c ledger.Quarantine) Entry {
	return Entry{TargetKind: TargetQuarantine, TargetID: c.ID.String(), Changes: map[string]Change{
		"developer_id": {After: c.DeveloperID}, "rule": {After: string(c.Evidence.Rule)},
		"note": {After: c.Evidence.Note},
	}}
}

// OfVerdict returns the entry of a decided case.
func OfVerdict(c ledger.Quarantine, v ledger.QuarantineVerdict) Entry {
	return Entry{TargetKind: TargetQuarantine, TargetID: v.Case.String(), Changes: map[string]Change{
		"developer_id": {Before: c.DeveloperID, After: c.DeveloperID}, "decision": {After: string(v.Decision)},
		"note": {After: v.Note},
	}}
}

// OfAppeal returns the entry of an appeal or its answer, without the owner's text.
func OfAppeal(id, owner uuid.UUID, after map[string]any) Entry {
	e := Entry{
		TargetKind: TargetAppeal, TargetID: id.String(), OwnerID: owner, Changes: make(map[string]Change, len(after)),
	}
	for name, value := range after {
		e.Changes[name] = Change{After: value}
	}
	return e
}

// OfReports returns the entry of a decision about readers' reports.
func OfReports(campaign uuid.UUID, outcome, words string, reports int) Entry {
	return Entry{TargetKind: TargetReport, TargetID: campaign.String(), Changes: map[string]Change{
		"outcome": {After: outcome}, "words": {After: words}, "reports": {Before: reports, After: 0},
	}}
}

// OfNotice returns the entry of an applied notice of a payment provider. Its target is the deposit,
// or the payment if the deposit is not known yet.
func OfNotice(n ledger.Notice, e ledger.NoticeEffects) Entry {
	entry := Entry{TargetKind: TargetDeposit, TargetID: e.Book.DepositID.String(), OwnerID: e.Book.AdvertiserID,
		Changes: map[string]Change{
			"notice": {After: string(n.Kind)}, "event": {After: n.EventID},
			"payment": {After: string(n.Provider) + ":" + n.PaymentID},
			"amount":  {After: n.Amount}, "outcome": {After: string(e.Outcome)},
		}}
	if e.Book.DepositID == uuid.Nil {
		entry.TargetID = string(n.Provider) + ":" + n.PaymentID
	}
	return entry
}

// OfParked returns the entry of an operator's decision about a parked event.
func OfParked(p ledger.Parked, v ledger.ParkedVerdict) Entry {
	e := Entry{TargetKind: TargetParked, TargetID: p.ID.String(), OwnerID: v.AccountID, Changes: map[string]Change{
		"decision": {After: string(v.Decision)}, "event": {After: string(p.Provider) + ":" + p.EventID},
		Reason: {After: v.Note},
	}}
	if v.AccountID != uuid.Nil {
		e.Changes["amount"] = Change{After: v.Amount}
	}
	return e
}

// OfRollup returns the entry of a requested rollup of a day.
func OfRollup(date day.Day, rows int) Entry {
	return Entry{
		TargetKind: TargetStore, TargetID: "rollup",
		Changes: map[string]Change{"date": {After: date.String()}, "rows": {After: rows}},
	}
}

// OfWeights returns the entry of learned weights that change their stages.
func OfWeights(moves []ranking.Move) Entry {
	e := Entry{TargetKind: TargetStore, TargetID: "ranking_weights", Changes: make(map[string]Change)}
	for _, m := range moves {
		e.Changes[strconv.FormatInt(m.Number, 10)] = Change{After: m.To}
	}
	return e
}

// OfVerification returns the entry of a requested verification.
func OfVerification(v ledger.Verification) Entry {
	return Entry{TargetKind: TargetStore, TargetID: "verify", Changes: map[string]Change{"run": {After: v.ID}}}
}
