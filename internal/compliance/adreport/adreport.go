// Package adreport handles readers' reports against ads ("report this ad" of a receipt; articles 16
// and 26 of the Digital Services Act): it stores and counts them and decides when they stop an ad.
//
// Contract: a report needs the receipt of an ad, and each auction has only one. So strangers cannot
// fill the store without an ad shown to them. A report counts if its auction has a valid, billed
// impression. The impression may be settled after the report, so stores check again on every count.
package adreport

import (
	"context"
	"log/slog"
	"net/mail"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/process/schedule"
	"adnet/internal/report"
)

// Reasons are the reasons that a reader can choose.
var Reasons = []string{
	"illegal", "misleading", "offensive", "scam", "malware", "not_labelled", UnsuitablePlace, "other",
}

// UnsuitablePlace is the reason for an ad in an unsuitable context. It concerns a conversation, so
// such a report has no text, and it concerns the publisher as much as the campaign: a person
// reviews both, and these reports never stop the ad automatically.
const UnsuitablePlace = "unsuitable_place"

// The limits of a report and its retention.
const (
	MaxText   = 1000 // code points
	maxEmail  = 254
	EmailLife = 90 * 24 * time.Hour  // at most, without a decision
	Life      = 400 * 24 * time.Hour // of the report
)

// Report is one reader's report of one ad.
type Report struct {
	AuctionID    uuid.UUID
	AuctionDay   day.Day // day of the auction, which the lookup of its mark needs
	CampaignID   uuid.UUID
	AdvertiserID uuid.UUID
	DeveloperID  uuid.UUID
	Network      [16]byte // token.Keyring.Network of the reader's /24 or /56, for the campaign and day of At
	Headline     string   // shown to the reader
	Reason       string   // of Reasons
	Text         string
	Email        string // receives the decision; empty for none
	At           time.Time
}

// Counts holds the counts of a campaign's undecided reports.
type Counts struct {
	Reports    int            `json:"reports"`    // all
	Counted    int            `json:"counted"`    // reports of valid, billed impressions
	Networks   int            `json:"networks"`   // distinct networks of the counted reports, by UTC day
	Publishers int            `json:"publishers"` // distinct families of the counted reports (internal/account/family)
	Reasons    map[string]int `json:"reasons"`    // of all
	Newest     time.Time      `json:"newest"`
	Texts      []Text         `json:"texts"` // the newest, at most 20
}

// Text is the text of a report.
type Text struct {
	At          time.Time `json:"at"`
	Reason      string    `json:"reason"`
	Headline    string    `json:"headline"`
	Text        string    `json:"text"`
	DeveloperID uuid.UUID `json:"developer_id"` // the publisher that showed the ad
	Counted     bool      `json:"counted"`
}

// Reported is a campaign with undecided reports.
type Reported struct {
	CampaignID uuid.UUID `json:"campaign_id"`
	Counts
}

// The outcomes of reports.
const (
	Dismissed = "kept"    // the ad may continue
	Removed   = "removed" // the campaign was rejected
)

// Decision closes all open reports of a campaign.
type Decision struct {
	CampaignID uuid.UUID
	Outcome    string
	Words      string // mailed to readers with an e-mail
	By         uuid.UUID
	At         time.Time
}

// Store stores reports.
type Store interface {
	// AddReport stores the first report of an auction. added is false for any further one.
	// Retention deletes e-mails and reports when their time is over.
	AddReport(ctx context.Context, r Report) (added bool, err error)
	// CountReports counts the undecided reports of a campaign since a time that can stop its ad:
	// all but those with the reason UnsuitablePlace.
	CountReports(ctx context.Context, campaign uuid.UUID, since time.Time) (Counts, error)
	// Reporters lists the families whose publishers showed the ads of the reports that CountReports
	// counts, and whose publishers had billed traffic on at least the given number of UTC days.
	Reporters(ctx context.Context, campaign uuid.UUID, since time.Time, days int) ([]uuid.UUID, error)
	// ReportedCampaigns lists campaigns with undecided reports, most counted reports first.
	ReportedCampaigns(ctx context.Context, limit, offset int) ([]Reported, int, error)
	// ReportsOf counts the undecided reports of these campaigns and omits campaigns without any.
	ReportsOf(ctx context.Context, campaigns []uuid.UUID) ([]Reported, error)
	// DecideReports closes the reports of a campaign and returns the e-mails of their readers
	// without duplicates. The e-mails are deleted with the decision. It returns errs.InvalidState
	// if no report is open.
	DecideReports(ctx context.Context, d Decision) (emails []string, err error)
}

// Stats counts impressions.
type Stats interface {
	Stats(ctx context.Context, q report.Query) (report.Result, error)
}

// Holder stops a campaign until a person has reviewed it. It leaves a version alone that a person
// approved.
type Holder interface {
	HoldReported(ctx context.Context, id uuid.UUID) error
}

// Rivals compares the campaigns of a family with one of another advertiser.
type Rivals interface {
	// Compete reports whether a campaign of the family seeks the same words as the campaign.
	Compete(ctx context.Context, family, campaign uuid.UUID) (bool, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Rivals Rivals
	Store  Store
	Stats  Stats
	Hold   Holder
	Pause  bool // ADNET_REPORTS_PAUSE
	Log    *slog.Logger
	Now    func() time.Time
}

// Service accepts reports.
type Service struct{ deps Deps }

// New creates a Service.
func New(deps Deps) *Service {
	deps.Now = schedule.Clock(deps.Now)
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{deps: deps}
}

// Check cleans and validates a report. Errors: errs.InvalidRequest.
func (r *Report) Check() error {
	switch {
	case !slices.Contains(Reasons, r.Reason):
		return errs.New(errs.InvalidRequest, "choose a reason").With("field", "reason")
	case !clean(r.Text, MaxText):
		return errs.New(
			errs.InvalidRequest, "text may have at most %d characters, without control characters", MaxText,
		).With("field", "text")
	case r.Email == "":
		return nil
	}
	a, err := mail.ParseAddress(r.Email)
	if err != nil || a.Address != r.Email || len(r.Email) > maxEmail || !clean(r.Email, maxEmail) {
		return errs.New(errs.InvalidRequest, "email is invalid; leave it empty for no answer").With("field", "email")
	}
	return nil
}

// File stores a report and stops the ad once enough independent readers have reported it. After the
// report is stored there is no error: later failures are logged, and the next report repeats the
// check. Errors: errs.InvalidRequest, errs.Unavailable.
func (s *Service) File(ctx context.Context, r Report) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.Reason == UnsuitablePlace {
		r.Text = "" // the text would be about the reader's conversation
	}
	added, err := s.deps.Store.AddReport(ctx, r)
	if err != nil || !added || !s.deps.Pause || r.Reason == UnsuitablePlace {
		return err
	}
	if err := s.judge(ctx, r); err != nil {
		s.deps.Log.Error("a report of an ad was stored but not evaluated", "campaign", r.CampaignID, "error", err)
	}
	return nil
}

// judge stops the ad of a new report if there are enough reports.
func (s *Service) judge(ctx context.Context, r Report) error {
	today := day.Of(s.deps.Now())
	counts, err := s.deps.Store.CountReports(ctx, r.CampaignID, today.Time())
	if err != nil || !Pauses(counts, 0) { // check networks and publishers first: counting impressions needs a query
		return err
	}
	seen, err := s.deps.Stats.Stats(ctx, report.Query{CampaignID: r.CampaignID, Since: today, Until: today})
	if err != nil || !Pauses(counts, seen.Impressions()) {
		return err
	}
	independent, err := s.independent(ctx, r.CampaignID, today.Time())
	if err != nil || !independent {
		return err
	}
	ctx = auditlog.With(ctx, auditlog.Actor{Via: auditlog.System, Action: "reports of readers"})
	auditlog.Because(
		ctx,
		"Readers of several networks and publishers have reported this ad. It is shown again when a person has "+
			"looked at it and found nothing.",
	)
	return s.deps.Hold.HoldReported(ctx, r.CampaignID)
}

// independent reports whether enough families with billed traffic, none of them a rival, have shown
// the reported ad: accounts cost nothing, so publishers without billed traffic stop no ad.
func (s *Service) independent(ctx context.Context, campaign uuid.UUID, since time.Time) (bool, error) {
	families, err := s.deps.Store.Reporters(ctx, campaign, since, leastDays)
	if err != nil {
		return false, err
	}
	count := 0
	for _, f := range families {
		rival, err := s.deps.Rivals.Compete(ctx, f, campaign)
		if err != nil {
			return false, err
		}
		if !rival {
			count++
		}
	}
	return count >= leastPublishers, nil
}

const (
	leastNetworks   = 3
	leastPublishers = 3
	leastDays       = 30 // UTC days with billed traffic of a publisher's family
	perMille        = 1  // of the day's impressions
)

// Pauses reports whether the reports of a day may stop an ad with so many impressions. They must
// come from three networks and publishers, so that no single person or publisher can stop an ad,
// and from 0.1 % of the impressions.
func Pauses(c Counts, impressions int64) bool {
	return c.Networks >= leastNetworks && c.Publishers >= leastPublishers &&
		int64(c.Counted)*1000 >= impressions*perMille
}
