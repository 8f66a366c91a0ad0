// Package adreport is what readers say against ads ("report this ad" of a receipt; articles 16 and
// 26 of the Digital Services Act), how it is counted, and when it stops an ad.
//
// Contract: a report needs the receipt of an ad, and there is one of each auction, so strangers
// keep no rows without an ad of theirs. It counts where the auction has a valid, billed impression,
// which may be settled after the report: stores look again whenever they count.
package adreport

import (
	"context"
	"log/slog"
	"net/mail"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/auditlog"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/report"
	"adnet/internal/schedule"
)

// Reasons are what a reader may choose.
var Reasons = []string{
	"illegal", "misleading", "offensive", "scam", "malware", "not_labelled", UnsuitablePlace, "other",
}

// UnsuitablePlace is the reason that the ad should not have been where it was. It is about a
// conversation, so that such a report has no text, and about the publisher as much as the campaign:
// a person looks at both, and no number of them stops the ad.
const UnsuitablePlace = "unsuitable_place"

// The limits of a report, and how long it is kept.
const (
	MaxText   = 1000 // code points
	maxEmail  = 254
	EmailLife = 90 * 24 * time.Hour  // at most, without a decision
	Life      = 400 * 24 * time.Hour // of the report
)

// Report is what one reader says of one ad.
type Report struct {
	AuctionID    uuid.UUID
	AuctionDay   day.Day // of the auction, by which its mark is found
	CampaignID   uuid.UUID
	AdvertiserID uuid.UUID
	DeveloperID  uuid.UUID
	Network      [16]byte // keyed by the campaign: a hash of the reader's /24 or /56
	Headline     string   // that the reader saw
	Reason       string   // of Reasons
	Text         string
	Email        string // for the decision; empty for none
	At           time.Time
}

// Counts are the undecided reports of a campaign.
type Counts struct {
	Reports    int            `json:"reports"`    // all
	Counted    int            `json:"counted"`    // of valid, billed impressions
	Networks   int            `json:"networks"`   // distinct ones of the counted
	Publishers int            `json:"publishers"` // distinct owners of the counted; a seat's is its owner
	Reasons    map[string]int `json:"reasons"`    // of all
	Newest     time.Time      `json:"newest"`
	Texts      []Text         `json:"texts"` // the newest, at most 20
}

// Text is what a reader wrote.
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
	Kept    = "kept"    // the ad may go on
	Removed = "removed" // the campaign was rejected
)

// Decision ends all reports of a campaign that wait.
type Decision struct {
	CampaignID uuid.UUID
	Outcome    string
	Words      string // mailed to who left an e-mail
	By         uuid.UUID
	At         time.Time
}

// Store keeps reports.
type Store interface {
	// AddReport keeps the first report of an auction; added is false for a further one. Retention
	// forgets e-mails and reports that had their time.
	AddReport(ctx context.Context, r Report) (added bool, err error)
	// CountReports counts the undecided reports of a campaign since a time that may stop its ad:
	// those of any reason but UnsuitablePlace.
	CountReports(ctx context.Context, campaign uuid.UUID, since time.Time) (Counts, error)
	// ReportedCampaigns lists campaigns with undecided reports, those with most counted ones first.
	ReportedCampaigns(ctx context.Context, limit, offset int) ([]Reported, int, error)
	// ReportsOf counts the undecided reports of these campaigns, as far as they have any.
	ReportsOf(ctx context.Context, campaigns []uuid.UUID) ([]Reported, error)
	// DecideReports ends them, and answers the e-mails that were left, each once; they are
	// forgotten with it. errs.InvalidState where none waits.
	DecideReports(ctx context.Context, d Decision) (emails []string, err error)
}

// Stats counts impressions.
type Stats interface {
	Stats(ctx context.Context, q report.Query) (report.Result, error)
}

// Holder stops a campaign until a person looked at it; a version that a person approved it leaves.
type Holder interface {
	HoldReported(ctx context.Context, id uuid.UUID) error
}

// Deps are what a Service works with.
type Deps struct {
	Store Store
	Stats Stats
	Hold  Holder
	Pause bool // ADNET_REPORTS_PAUSE
	Log   *slog.Logger
	Now   func() time.Time
}

// Service takes reports.
type Service struct{ deps Deps }

// New makes a Service.
func New(deps Deps) *Service {
	deps.Now = schedule.Clock(deps.Now)
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{deps: deps}
}

// Check cleans what a reader says. Errors: errs.InvalidRequest.
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
		return errs.New(errs.InvalidRequest, "email is not one; leave it empty to hear no more").With("field", "email")
	}
	return nil
}

// File keeps a report, and stops the ad where enough strangers to each other have reported it. Once
// it is kept there is no error: what fails then is logged, and done with the next report. Errors:
// errs.InvalidRequest, errs.Unavailable.
func (s *Service) File(ctx context.Context, r Report) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.Reason == UnsuitablePlace {
		r.Text = "" // it would be about what the reader asked
	}
	added, err := s.deps.Store.AddReport(ctx, r)
	if err != nil || !added || !s.deps.Pause || r.Reason == UnsuitablePlace {
		return err
	}
	if err := s.judge(ctx, r); err != nil {
		s.deps.Log.Error("a report of an ad is kept, but was not weighed", "campaign", r.CampaignID, "error", err)
	}
	return nil
}

// judge stops the ad of a new report where there are enough of them.
func (s *Service) judge(ctx context.Context, r Report) error {
	today := day.Of(s.deps.Now())
	counts, err := s.deps.Store.CountReports(ctx, r.CampaignID, today.Time())
	if err != nil || !Pauses(counts, 0) { // what was seen costs a question to the stats
		return err
	}
	seen, err := s.deps.Stats.Stats(ctx, report.Query{CampaignID: r.CampaignID, Since: today, Until: today})
	if err != nil || !Pauses(counts, seen.Impressions) {
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

const (
	leastNetworks   = 3
	leastPublishers = 3
	perMille        = 1 // of the day's impressions
)

// Pauses says whether the reports of a day stop an ad that was shown so often: three networks and
// publishers, so that no person and no publisher does it alone, and 0.1 % of the impressions.
func Pauses(c Counts, impressions int64) bool {
	return c.Networks >= leastNetworks && c.Publishers >= leastPublishers &&
		int64(c.Counted)*1000 >= impressions*perMille
}
