// Package notice defines the mails that tell accounts what happened: their kinds, what an account
// chooses, their texts and the links that end them.
//
// Contract: mails come from the facts of package webhook. The store writes a mail's row in the
// transaction of the change. An account has at most one mail of a kind and UTC day: the row is unique
// by account, kind and day, collects what happens until its first attempt, and is attempted again only
// if the mail server certainly did not take it. What happens after that waits for the mail of the next
// day. Mails go only to an address that a mailed link confirmed.
package notice

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/outbound/webhook"
)

// The kinds of mails that are not events of webhooks.
const (
	ReviewWaits  webhook.Event = "review.waiting"  // to administrators: for more than a day
	ReportsWait  webhook.Event = "reports.waiting" // the same
	AppealsWait  webhook.Event = "appeals.waiting" // the same
	WeeklyReport webhook.Event = "report.weekly"   // only where the account asks for it
)

// Kinds lists the kinds of mails.
var Kinds = []string{
	string(webhook.CampaignApproved), string(webhook.CampaignRejected), string(webhook.CampaignEnded),
	string(webhook.CampaignFirstAd), string(webhook.CampaignBudgetSpent), string(webhook.BalanceLow),
	string(webhook.KeyUnused), string(webhook.CreditsReleased), string(webhook.QuarantineEnded),
	string(WeeklyReport), string(ReviewWaits), string(ReportsWait), string(AppealsWait),
}

// ofAdmins are the kinds that only administrators have.
var ofAdmins = []string{string(ReviewWaits), string(ReportsWait), string(AppealsWait)}

// KindsOf lists the kinds that an account can have.
func KindsOf(admin bool) []string {
	if admin {
		return Kinds
	}
	return slices.DeleteFunc(slices.Clone(Kinds), func(k string) bool { return slices.Contains(ofAdmins, k) })
}

// Mailed reports whether an event has mails.
func Mailed(e webhook.Event) bool { return slices.Contains(Kinds, string(e)) }

// The languages of mails.
const (
	English = "en"
	German  = "de"
)

// Languages lists the languages of mails.
var Languages = []string{English, German}

// Settings is an account's choice of mails.
type Settings struct {
	AccountID uuid.UUID
	Confirmed string   // the address that a mailed link confirmed; empty for none
	Language  string   // one of [Languages]
	Off       []string // kinds that are not sent, in order
}

// Unset returns the settings of an account that has stored none.
func Unset(account uuid.UUID) Settings {
	return Settings{AccountID: account, Language: English, Off: []string{string(WeeklyReport)}}
}

// Confirm returns the edit of [Store.Confirm].
func Confirm(address, language string) func(*Settings) error {
	return func(s *Settings) error {
		if s.Confirmed == "" && slices.Contains(Languages, language) {
			s.Language = language
		}
		s.Confirmed = address
		return nil
	}
}

// Wants reports whether an account gets mails of a kind at an address.
func (s *Settings) Wants(kind, address string) bool {
	return s.Confirmed != "" && strings.EqualFold(s.Confirmed, address) && !slices.Contains(s.Off, kind)
}

// Normalize checks and orders what an owner sets. Errors: errs.InvalidRequest.
func (s *Settings) Normalize() error {
	if !slices.Contains(Languages, s.Language) {
		return errs.New(
			errs.InvalidRequest, "language must be one of %s", strings.Join(Languages, ", "),
		).With("field", "language")
	}
	for i, kind := range s.Off {
		if !slices.Contains(Kinds, kind) {
			return errs.New(
				errs.InvalidRequest, "off[%d] must be one of %s", i, strings.Join(Kinds, ", "),
			).At("off", i)
		}
	}
	slices.Sort(s.Off)
	s.Off = slices.Compact(s.Off)
	return nil
}

// Entry returns the entry of a change in the audit log.
func Entry(before, after *Settings) auditlog.Entry {
	changes := map[string]auditlog.Change{}
	if before.Language != after.Language {
		changes["mail_language"] = auditlog.Change{Before: before.Language, After: after.Language}
	}
	if !slices.Equal(before.Off, after.Off) {
		changes["mails_off"] = auditlog.Change{Before: before.Off, After: after.Off}
	}
	return auditlog.Entry{
		TargetKind: auditlog.TargetUser, TargetID: after.AccountID.String(), OwnerID: after.AccountID, Changes: changes,
	}
}

// Gather is the time for which a mail collects further facts before its first attempt.
const Gather = 5 * time.Minute

// MostPayload bounds the collected facts of a mail, in bytes. What exceeds it goes into the mail of
// the next day, and beyond that into none: the console lists everything.
const MostPayload = 16 << 10

// Days returns the days whose mail may collect a fact, and when the first attempt of each is due: the
// mail of today, or the one of tomorrow if that was attempted.
func Days(now time.Time) [2]Day {
	today := day.Of(now)
	return [2]Day{{today, now.Add(Gather)}, {today + 1, (today + 1).Time().Add(Gather)}}
}

// Day is a day of mails and the time of their first attempts.
type Day struct {
	Day day.Day
	Due time.Time
}

// Store stores the choices of accounts and reports what timers found.
type Store interface {
	// Settings returns an account's choice, [Unset] without one.
	Settings(ctx context.Context, account uuid.UUID) (Settings, error)
	// UpdateSettings runs edit on a copy and stores the result. Errors: errs.NotFound.
	UpdateSettings(ctx context.Context, account uuid.UUID, edit func(*Settings) error) (Settings, error)
	// Confirm stores that a mailed link confirmed an account's address, and the language of its mails
	// unless the account has a choice.
	Confirm(ctx context.Context, account uuid.UUID, address, language string) error
	// Observe returns what may be worth a report now. It may repeat what was reported.
	Observe(ctx context.Context, at Times) (Observed, error)
	// Report writes the messages about a found fact, unless it was reported before; it returns whether
	// it wrote.
	Report(ctx context.Context, f Found) (bool, error)
	// Waiting counts what has waited for administrators since before a time.
	Waiting(ctx context.Context, before time.Time) (Waiting, error)
}
