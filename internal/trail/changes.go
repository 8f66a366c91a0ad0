package trail

import (
	"bytes"

	"adnet/internal/account"
	"adnet/internal/campaign"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// unsaid are fields that change with everything or belong to the ledger.
var unsaid = map[string]bool{"config_version": true, "updated_at": true, "spent_today": true, "spent_total": true, "id": true, "advertiser_id": true}

// ofFields compares two JSON objects field by field; an empty one stands for "did not exist".
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

// known is a field's value, or nil, which an entry shows as null.
func known(fields map[string]jsontext.Value, name string) any {
	if value, ok := fields[name]; ok {
		return value
	}
	return nil
}

// fields is v as a JSON object. v is one of our own types, which always encode.
func fields(v any) map[string]jsontext.Value {
	var out map[string]jsontext.Value
	if text, err := json.Marshal(v, json.Deterministic(true)); err == nil {
		_ = json.Unmarshal(text, &out)
	}
	return out
}

// OfCampaign is the entry of a campaign's change; before is nil for a creation.
func OfCampaign(before, after *campaign.Campaign) Entry {
	var was map[string]jsontext.Value
	if before != nil {
		was = fields(before)
	}
	return Entry{TargetKind: TargetCampaign, TargetID: after.ID.String(), OwnerID: after.AdvertiserID, Changes: ofFields(was, fields(after))}
}

// shownUser is what an entry may say about an account: never the password or its hash.
type shownUser struct {
	Email    string       `json:"email"`
	Role     account.Role `json:"role"`
	Disabled bool         `json:"disabled"`
}

// OfUser is the entry of an account's change; before is nil for a creation. A new password is said, not shown.
func OfUser(before, after *account.User) Entry {
	var was map[string]jsontext.Value
	if before != nil {
		was = fields(shownUser{before.Email, before.Role, before.Disabled})
	}
	e := Entry{
		TargetKind: TargetUser, TargetID: after.ID.String(), OwnerID: after.ID,
		Changes: ofFields(was, fields(shownUser{after.Email, after.Role, after.Disabled})),
	}
	if before != nil && before.PasswordHash != after.PasswordHash {
		e.Changes["password"] = Change{Before: "(secret)", After: "(changed)"}
	}
	return e
}

// OfKey is the entry of a key that was issued, or revoked. The key and its hash are not in it.
func OfKey(k account.Key, revoked bool) Entry {
	e := Entry{TargetKind: TargetKey, TargetID: k.ID.String(), OwnerID: k.OwnerID, Changes: make(map[string]Change)}
	if revoked {
		e.Changes["revoked"] = Change{Before: false, After: true}
		return e
	}
	e.Changes["kind"], e.Changes["name"], e.Changes["prefix"] = Change{After: k.Kind}, Change{After: k.Name}, Change{After: k.Prefix}
	return e
}
