// Package decision determines which changes are decisions against the owner of an account, and
// defines the statement that the owner gets (a statement of reasons, article 17 of the Digital
// Services Act) and how the owner appeals (article 20).
//
// Contract: stores write the statement in the transaction of the change, beside its row of the
// audit log, by the single rule of [Of]. So every decision has a statement, whatever its author.
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

	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/errs"
)

// Kind is the kind of a decision.
type Kind string

// The kinds of decisions.
const (
	Rejection  Kind = "rejection"  // a campaign, or an account's name, was rejected by a reviewer
	Pause      Kind = "pause"      // a campaign was stopped by someone other than its owner
	Hold       Kind = "hold"       // a publisher's Credits are held by a quarantine case
	Clawback   Kind = "clawback"   // a publisher's Credits were taken back
	Suspension Kind = "suspension" // an account was suspended
)

// Kinds lists the kinds of decisions.
var Kinds = []string{string(Rejection), string(Pause), string(Hold), string(Clawback), string(Suspension)}

// Statement is a decision in the form that its owner reads. It never changes, but its appeals do.
type Statement struct {
	ID         uuid.UUID `json:"id"`
	At         time.Time `json:"at"`       // UTC
	OwnerID    uuid.UUID `json:"owner_id"` // the account; for a seat, its owner
	Kind       Kind      `json:"kind"`
	TargetKind string    `json:"target_kind"` // as in the audit log
	TargetID   string    `json:"target_id"`
	Rule       string    `json:"rule"`      // the reason, for programs
	Reason     string    `json:"reason"`    // the reason, in words
	Automated  bool      `json:"automated"` // made without a person
	Appeals    []Appeal  `json:"appeals"`   // oldest first
	// Publisher identifies the owner if the change has no account: its developer id.
	Publisher uuid.UUID `json:"-"`
}

// Outcome is the outcome of an appeal.
type Outcome string

// The outcomes. Upheld: the decision stands. Reversed: it was reversed.
const (
	Upheld   Outcome = "upheld"
	Reversed Outcome = "reversed"
)

// Appeal is an owner's appeal against a decision, with its outcome.
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

// Answer is an administrator's answer to an appeal.
type Answer struct {
	AppealID uuid.UUID
	Outcome  Outcome
	Words    string
	By       uuid.UUID
	At       time.Time
}

// Query selects statements, newest first. The zero value selects everything.
type Query struct {
	ID      uuid.UUID
	OwnerID uuid.UUID
	Kind    Kind
	Target  string // only this target_id
	Open    bool   // only statements with an open appeal
	Limit   int    // 1 to 500
	Offset  int
}

// Store stores statements and appeals.
type Store interface {
	// Decisions returns a page of statements with their appeals, and the total number. Of two about
	// the same target the later one comes first, whatever the clocks showed.
	Decisions(ctx context.Context, q Query) ([]Statement, int, error)
	// AppealedBy returns the decision that an appeal is against. It returns errs.NotFound if there
	// is no such appeal.
	AppealedBy(ctx context.Context, appeal uuid.UUID) (Statement, error)
	// Appeal stores an appeal. It returns errs.NotFound if its owner has no such decision, and
	// errs.Conflict while another appeal is open, or after MaxAppeals.
	Appeal(ctx context.Context, a Appeal) error
	// Answer closes an appeal. It returns errs.NotFound, or errs.InvalidState if the appeal is
	// already closed.
	Answer(ctx context.Context, a Answer) error
}

// The limits of appeals.
const (
	MaxAppeals = 3    // of one decision, one after another
	MaxText    = 2000 // code points of an appeal
	MaxWords   = 2000 // code points of an answer
)

// AppealTime is the time after a decision for which the erasure of its owner's account waits, so
// that an appeal finds the account and its evidence. Appeals themselves have no deadline. A month is
// the time in which a request for erasure has to be answered (article 12 of the GDPR).
const AppealTime = 30 * 24 * time.Hour

// HoldsErasure reports whether the erasure of its owner's account waits for s. until is zero while
// an appeal has no answer. A hold ends with its quarantine case, for which an erasure waits by
// itself.
func (s *Statement) HoldsErasure(now time.Time) (until time.Time, waits bool) {
	for _, a := range s.Appeals {
		switch a.Outcome {
		case "":
			return time.Time{}, true
		case Reversed:
			return time.Time{}, false
		}
	}
	until = s.At.Add(AppealTime)
	return until, s.Kind != Hold && now.Before(until)
}

// Errors of appeals.
var (
	ErrOpen   = errs.New(errs.Conflict, "an appeal against this decision is already open; its answer will appear here")
	ErrEnough = errs.New(
		errs.Conflict,
		"this decision was appealed %d times; the remaining options are a court or an out-of-court dispute settlement "+
			"body", MaxAppeals,
	)
	ErrEnded    = errs.New(errs.InvalidState, "the appeal was already decided")
	ErrNoAppeal = errs.New(errs.NotFound, "there is no such appeal")
	ErrUnknown  = errs.New(errs.NotFound, "there is no such decision")
)

// Clean checks a text before it is stored. field is its name. Errors: errs.InvalidRequest.
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

// May reports whether one more appeal may follow those in before. Errors: [ErrOpen], [ErrEnough].
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

// Of reports whether e is a decision against the owner of its target, and returns the statement.
// Owner and publisher are those of the entry; the store resolves a seat's owner and sets id and
// time.
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
			if s.Rule == "many_acts" { // the note has the rates of others
				s.Reason = "Far more clicks or conversions of one campaign came from this publisher than from " +
					"others. They wait uncharged until a person has reviewed the case."
			}
			if s.Reason == "" {
				s.Reason = "The traffic of this publisher does not look human; the rule states the reason. " +
					"Credits are held until a person has reviewed it."
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
	if barred(e) { // it was already paused, so its status did not change
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
			s.Reason = "The ad violates the policy of this network."
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

// barred reports whether an administrator paused a campaign that its owner had already paused.
func barred(e *auditlog.Entry) bool {
	found := e.Changes["policy_violations"]
	return !names(found.Before, campaign.RuleBarred) && names(found.After, campaign.RuleBarred)
}

// names reports whether the findings of an entry include one of a rule.
func names(findings any, rule string) bool {
	var list []campaign.Violation
	_ = json.Unmarshal([]byte(raw(findings)), &list)
	return slices.ContainsFunc(list, func(v campaign.Violation) bool { return v.Rule == rule })
}

// Supersedes reports whether s is a new decision on the matter of before, an earlier decision. Then
// before is no longer in force, and reversing it must not reverse s. A campaign's rejections and
// stops due to readers' reports are one matter. An administrator's pause of it is another, and so
// is the suspension of an account.
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

// RuleName is the rule of an account's name that an administrator removed. Its owner may choose
// another name, or after an appeal the same one. Nothing stores the name in between.
const RuleName = "sponsor_name"

// RuleReports is the rule of a campaign that was stopped by readers' reports.
const RuleReports = "reports"

// after returns a field's new value as text, empty if it did not change.
func after(e *auditlog.Entry, field string) string {
	c, ok := e.Changes[field]
	if !ok || c.After == nil {
		return ""
	}
	return text(c.After)
}

// text returns a value of an entry as text. Entries hold Go or JSON values.
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
