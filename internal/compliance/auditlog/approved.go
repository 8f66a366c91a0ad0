package auditlog

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/campaign"
)

// The approvers of a campaign version.
const (
	ByReviewer = "reviewer" // a person approved it
	ByPolicy   = "policy"   // an account's first campaign, without findings of the policy
)

// Approved is a campaign as of its last approval, limited to the fields that its owner sets.
type Approved struct {
	At     time.Time                 `json:"at"`
	By     string                    `json:"by"` // [ByReviewer] or [ByPolicy]
	Fields map[string]jsontext.Value `json:"fields"`
}

// Past goes back through the changes of a campaign to the last approved version.
type Past struct {
	now, fields map[string]jsontext.Value
	found       *Approved
	whole       bool // the campaign's creation was reached, or found is set
}

// decided are fields of a campaign that its owner does not set.
var decided = []string{"status", "policy_violations", "review", "created_at", "credit_funded", "reviewed", "approved"}

// PastOf starts with the current state of a campaign.
func PastOf(c *campaign.Campaign) *Past {
	now := fields(c)
	return &Past{now: now, fields: maps.Clone(now)}
}

// Undo reverts the next older entry of the campaign and reports whether no older one is needed.
func (p *Past) Undo(e *Entry) (done bool) {
	if p.whole {
		return true
	}
	created := isCreation(e)
	switch {
	case word(e.Changes["review"].After, "decision") == "approved":
		p.find(e.At, ByReviewer)
	case created && e.Changes["status"].After == string(campaign.Active):
		p.find(e.At, ByPolicy)
	}
	p.whole = p.found != nil || created
	for name, change := range e.Changes {
		if text, err := json.Marshal(change.Before, json.Deterministic(true)); err == nil {
			p.fields[name] = text
		}
	}
	return p.whole
}

func (p *Past) find(at time.Time, by string) {
	p.found = &Approved{At: at, By: by, Fields: ofOwner(p.fields)}
}

// Found returns the last approved version, nil if there is none, and the sorted fields that have
// changed since. whole is false while older entries may still contain an approval.
func (p *Past) Found() (approved *Approved, differs []string, whole bool) {
	differs = []string{}
	if p.found == nil {
		return nil, differs, p.whole
	}
	for name, value := range ofOwner(p.now) {
		if !sameValue(value, p.found.Fields[name]) {
			differs = append(differs, name)
		}
	}
	slices.Sort(differs)
	return p.found, differs, true
}

// ofOwner returns the fields of a campaign that its owner sets.
func ofOwner(all map[string]jsontext.Value) map[string]jsontext.Value {
	own := maps.Clone(all)
	maps.DeleteFunc(
		own, func(name string, _ jsontext.Value) bool { return unsaid[name] || slices.Contains(decided, name) },
	)
	return own
}

// isCreation reports whether e created its campaign.
func isCreation(e *Entry) bool {
	created := e.Changes["created_at"]
	return created.Before == nil && created.After != nil
}

// word returns a text from an object of an entry.
func word(value any, name string) string {
	object, _ := value.(map[string]any)
	text, _ := object[name].(string)
	return text
}

// sameValue compares values regardless of the order of names and the form of numbers.
func sameValue(a, b jsontext.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
