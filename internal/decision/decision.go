// Package decision says which changes are decisions against the owner of an account, what its owner
// reads of each (a statement of reasons, article 17 of the Digital Services Act), and how the owner
// appeals (article 20).
//
// Contract: stores keep the statement in the transaction of the change, beside its row of the audit
// log, by the one rule of [Of]. So there is no decision without a statement, whoever took it.
package decision

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"adnet/internal/auditlog"
	"adnet/internal/campaign"
	"adnet/internal/errs"
)

// Kind is what was decided.
type Kind string

// The kinds of decisions.
const (
	Rejection  Kind = "rejection"  // a campaign, or an account's name, was refused by a reviewer
	Pause      Kind = "pause"      // a campaign was stopped by another than its owner
	Hold       Kind = "hold"       // a publisher's Credits are held by a quarantine case
	Clawback   Kind = "clawback"   // and were taken back
	Suspension Kind = "suspension" // an account was suspended
)

// Kinds are the kinds of decisions.
var Kinds = []string{string(Rejection), string(Pause), string(Hold), string(Clawback), string(Suspension)}

// Statement is a decision as its owner reads it. It never changes; its appeals do.
type Statement struct {
	ID         uuid.UUID `json:"id"`
	At         time.Time `json:"at"`       // UTC
	OwnerID    uuid.UUID `json:"owner_id"` // the account; of a seat the one that it belongs to
	Kind       Kind      `json:"kind"`
	TargetKind string    `json:"target_kind"` // as in the audit log
	TargetID   string    `json:"target_id"`
	Rule       string    `json:"rule"`      // why, for programs
	Reason     string    `json:"reason"`    // why, in words
	Automated  bool      `json:"automated"` // no person took it
	Appeals    []Appeal  `json:"appeals"`   // oldest first
	// Publisher names the owner where the change names no account: its developer id.
	Publisher uuid.UUID `json:"-"`
}

// Outcome is how an appeal ended.
type Outcome string

// The outcomes. Upheld: the decision stands. Reversed: it was taken back.
const (
	Upheld   Outcome = "upheld"
	Reversed Outcome = "reversed"
)

// Appeal is what an owner says against a decision, and what came of it.
type Appeal struct {
	ID         uuid.UUID  `json:"id"`
	DecisionID uuid.UUID  `json:"-"`
	OwnerID    uuid.UUID  `json:"-"`
	Text       string     `json:"text"`
	CreatedAt  time.Time  `json:"created_at"`
	Outcome    Outcome    `json:"outcome,omitempty"` // empty while it is open
	Words      string     `json:"words,omitempty"`   // of the administrator
	DecidedBy  uuid.UUID  `json:"-"`
	DecidedAt  *time.Time `json:"decided_at,omitempty"`
}

// Answer is what an administrator decides about an appeal.
type Answer struct {
	AppealID uuid.UUID
	Outcome  Outcome
	Words    string
	By       uuid.UUID
	At       time.Time
}

// Query selects statements, newest first. Zero values select everything.
type Query struct {
	ID      uuid.UUID
	OwnerID uuid.UUID
	Kind    Kind
	Target  string // of this target_id
	Open    bool   // only those with an appeal that waits
	Limit   int    // 1 to 500
	Offset  int
}

// Store keeps statements and appeals.
type Store interface {
	// Decisions is a page of statements with their appeals, and how many there are. Of two about
	// the same target the one that was taken later comes first, whatever the clocks said.
	Decisions(ctx context.Context, q Query) ([]Statement, int, error)
	// AppealedBy is the decision that an appeal is against. errs.NotFound without such an appeal.
	AppealedBy(ctx context.Context, appeal uuid.UUID) (Statement, error)
	// Appeal keeps an appeal. errs.NotFound if its owner has no such decision, errs.Conflict while
	// one is open, or after MaxAppeals.
	Appeal(ctx context.Context, a Appeal) error
	// Answer ends an appeal. errs.NotFound, errs.InvalidState if it has ended.
	Answer(ctx context.Context, a Answer) error
}

// The limits of appeals.
const (
	MaxAppeals = 3    // of one decision, one after the other
	MaxText    = 2000 // code points of an appeal
	MaxWords   = 2000 // code points of an answer
)

// Errors of appeals.
var (
	ErrOpen   = errs.New(errs.Conflict, "an appeal against this decision is open already; its answer will stand here")
	ErrEnough = errs.New(
		errs.Conflict,
		"this decision was appealed against %d times; what is left is a court or an out-of-court dispute settlement "+
			"body", MaxAppeals,
	)
	ErrEnded    = errs.New(errs.InvalidState, "the appeal was decided already")
	ErrNoAppeal = errs.New(errs.NotFound, "there is no such appeal")
	ErrUnknown  = errs.New(errs.NotFound, "there is no such decision")
)

// Clean checks a text that is kept: field names it. Errors: errs.InvalidRequest.
func Clean(field, text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	control := strings.ContainsFunc(
		text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' },
	)
	if text == "" || control || !utf8.ValidString(text) || utf8.RuneCountInString(text) > most {
		return "", errs.New(
			errs.InvalidRequest, "%s is required: at most %d characters, without control characters", field, most,
		).With("field", field)
	}
	return text, nil
}

// May says whether one more appeal may follow those before. Errors: [ErrOpen], [ErrEnough].
func May(before []Appeal) error {
	for _, a := range before {
		if a.Outcome == "" {
			return ErrOpen
		}
	}
	if len(before) >= MaxAppeals {
		return ErrEnough
	}
	return nil
}

// Of says whether e is a decision against the owner of what it changes, and what its statement is.
// Owner and publisher are as the entry has them; the store resolves a seat's. An id and the time
// are the store's.
func Of(e *auditlog.Entry) (Statement, bool) {
	s := Statement{
		OwnerID: e.OwnerID, TargetKind: e.TargetKind, TargetID: e.TargetID, Automated: e.Actor.Via == auditlog.System,
	}
	reason := after(e, auditlog.Reason)
	switch e.TargetKind {
	case auditlog.TargetUser:
		if _, renamed := e.Changes["profile"]; renamed && reason != "" {
			s.Kind, s.Rule, s.Reason = Rejection, RuleName, reason
			return s, true
		}
		s.Kind, s.Rule, s.Reason = Suspension, "terms", reason
		return s, after(e, "disabled") == "true" && reason != ""
	case auditlog.TargetCampaign:
		return ofCampaign(e, s, reason)
	case auditlog.TargetQuarantine:
		s.Publisher, _ = uuid.Parse(after(e, "developer_id"))
		s.Reason = after(e, "note")
		if s.Rule = after(e, "rule"); s.Rule != "" {
			s.Kind, s.Automated = Hold, s.Rule != "manual"
			if s.Reason == "" {
				s.Reason = "The traffic of this publisher is unlike that of people; the rule says in which way. " +
					"Credits are held until a person has looked."
			}
			return s, true
		}
		s.Kind, s.Rule = Clawback, "invalid_traffic"
		return s, after(e, "decision") == "clawback"
	}
	return s, false
}

func ofCampaign(e *auditlog.Entry, s Statement, reason string) (Statement, bool) {
	if _, held := e.Changes["policy_violations"]; held && s.Automated && reason != "" {
		s.Kind, s.Rule, s.Reason = Pause, RuleReports, reason
		return s, true
	}
	if barred(e) { // it was paused already, so its status did not change
		s.Kind, s.Rule, s.Reason = Pause, "ad_policy", cmp.Or(reason, pausedWords)
		return s, true
	}
	status, ok := e.Changes["status"]
	if !ok || status.Before == nil {
		return s, false
	}
	switch text(status.After) {
	case "rejected":
		var review struct {
			Notes string `json:"notes"`
		}
		_ = json.Unmarshal([]byte(raw(e.Changes["review"].After)), &review)
		s.Kind, s.Rule, s.Reason = Rejection, "ad_policy", review.Notes
		if s.Reason == "" {
			s.Reason = "The ad does not keep to the policy of this network."
		}
		return s, true
	case "paused":
		s.Kind, s.Rule, s.Reason = Pause, "ad_policy", reason
		if s.Automated {
			s.Rule = RuleReports
		}
		s.Reason = cmp.Or(s.Reason, pausedWords)
		byOther := e.Actor.Role == "admin" && e.Actor.AccountID != e.OwnerID
		return s, byOther || s.Automated
	}
	return s, false
}

const pausedWords = "An administrator of this network has paused the campaign."

// barred says whether an administrator paused what its owner had paused before.
func barred(e *auditlog.Entry) bool {
	found := e.Changes["policy_violations"]
	return !names(found.Before, campaign.RuleBarred) && names(found.After, campaign.RuleBarred)
}

// names says whether the findings of an entry are of a rule, among others.
func names(findings any, rule string) bool {
	var list []campaign.Violation
	_ = json.Unmarshal([]byte(raw(findings)), &list)
	return slices.ContainsFunc(list, func(v campaign.Violation) bool { return v.Rule == rule })
}

// Supersedes says whether s decided anew about what before, an earlier decision, had decided:
// before is in force no more, and to take it back must not take back s. A campaign's refusals and
// what readers' reports stop are one matter, an administrator's pause of it is another, so is the
// suspension of an account.
func (s *Statement) Supersedes(before *Statement) bool {
	return s.ID != before.ID && s.TargetKind == before.TargetKind && s.TargetID == before.TargetID &&
		s.matter() == before.matter()
}

func (s *Statement) matter() Kind {
	if s.Kind == Pause && s.Rule == RuleReports {
		return Rejection
	}
	return s.Kind
}

// RuleName is the rule of an account's name that an administrator took away. Its owner may say
// another one, or after an appeal the same: nothing keeps it meanwhile.
const RuleName = "sponsor_name"

// RuleReports is the rule of a campaign that readers' reports have stopped.
const RuleReports = "reports"

// after is a field's new value as text; empty where it did not change.
func after(e *auditlog.Entry, field string) string {
	c, ok := e.Changes[field]
	if !ok || c.After == nil {
		return ""
	}
	return text(c.After)
}

// text is a value of an entry as a text: entries hold values of Go or of JSON.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	out := raw(v)
	var s string
	if json.Unmarshal([]byte(out), &s) == nil {
		return s
	}
	return out
}

func raw(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}
