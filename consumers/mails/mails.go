// Package mails finds what is worth a mail or a webhook and is no change of its own, and sends the
// mails of the outbox.
//
// Contract: a mail is handed to the mail server at most once. Its row exists once for an account, kind
// and UTC day. An attempt whose result is not stored, because the process died or the server broke off
// after the text, may have been received and is not repeated; a refused one is, for three days. Mails go
// only to the confirmed address of an account that is neither suspended nor erased and wants the kind
// at that moment. No change and no settlement waits for a mail.
package mails

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/outbound/notice"
	"adnet/internal/outbound/outbox"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

const (
	look     = 10 * time.Second // between two looks at the outbox
	observe  = 10 * time.Minute // between two observations
	atOnce   = 16               // mails of a turn
	lease    = 10 * time.Minute
	patience = 30 * time.Second // of one mail; all of a turn end within the lease
)

// Accounts reads the recipients of mails.
type Accounts interface {
	User(ctx context.Context, id uuid.UUID) (account.User, error)
}

// Campaigns reads the campaigns that mails name.
type Campaigns interface {
	Campaign(ctx context.Context, id uuid.UUID) (campaign.Campaign, error)
}

// Post hands a letter to the mail server. After an error, again reports whether the server certainly
// did not take it and may take it later.
type Post interface {
	Deliver(ctx context.Context, l account.Letter) (again bool, err error)
}

// Deps holds the dependencies of a Sender.
type Deps struct {
	Outbox    outbox.Store
	Notices   notice.Store
	Accounts  Accounts
	Campaigns Campaigns
	Post      Post          // nil: this installation sends no mail, and mails are dropped
	BaseURL   func() string // address of the installation
	Marks     notice.Marks
	Prepaid   bool // balances matter
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Now       func() time.Time
}

// Sender finds facts and sends mails.
type Sender struct {
	deps  Deps
	often *obs.LimitedLogger
	ended *prometheus.CounterVec
	last  day.Day // of the last daily observation
}

// New returns a sender. It starts nothing.
func New(deps Deps) *Sender {
	deps.Now = schedule.Clock(deps.Now)
	return &Sender{
		deps: deps, often: obs.Limited(deps.Log, 10*time.Minute),
		ended: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_notice_attempts_total",
			Help: "Attempts to send a mail about an account's events, by the state of the mail afterwards.",
		}, []string{"state"})),
	}
}

// Run finds and sends until ctx ends, and then returns nil.
func (s *Sender) Run(ctx context.Context) error {
	var observed time.Time
	schedule.Loop(ctx, look, func(ctx context.Context) time.Duration {
		if now := s.deps.Now(); now.Sub(observed) >= observe {
			observed = now
			if err := s.Find(ctx); err != nil && ctx.Err() == nil {
				s.often.Warn(ctx, "facts for mails could not be found, retrying", "error", err)
			}
		}
		if err := s.Turn(ctx); err != nil && ctx.Err() == nil {
			s.often.Warn(ctx, "mails could not be read, retrying", "error", err)
		}
		return look
	})
	return nil
}

// Find reports what holds now and was not reported.
func (s *Sender) Find(ctx context.Context) error {
	at := notice.Times{Now: s.deps.Now()}
	at.Daily = s.last != at.Today()
	seen, err := s.deps.Notices.Observe(ctx, at)
	if err != nil {
		return err
	}
	if !s.deps.Prepaid {
		seen.Balances = nil
	}
	for _, f := range seen.Find(at) {
		if _, err := s.deps.Notices.Report(ctx, f); err != nil {
			return err
		}
	}
	s.last = at.Today()
	return nil
}

// Turn sends what is due once.
func (s *Sender) Turn(ctx context.Context) error {
	list, err := s.deps.Outbox.ClaimMessages(ctx, outbox.Claim{
		Topic: outbox.Mails, Now: s.deps.Now(), Lease: lease, Most: atOnce, PerTarget: atOnce,
	})
	if err != nil {
		return err
	}
	for _, m := range list {
		end := s.attempt(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err() // the result is unknown: the mail is not repeated
		}
		if err := s.deps.Outbox.EndAttempt(ctx, end); err != nil {
			return err
		}
		s.ended.WithLabelValues(string(end.State)).Inc()
	}
	return nil
}

// The problems of mails that are not sent.
const (
	unsure  = "an earlier attempt has no result: the mail may have been received"
	unsent  = "this installation sends no mail"
	unwant  = "the account gets no such mail"
	nothing = "nothing is left to report"
	stale   = "the mail is too old"
)

// attempt sends a mail, or ends it.
func (s *Sender) attempt(ctx context.Context, m outbox.Message) outbox.Ended {
	now := s.deps.Now()
	end := outbox.Ended{Message: m, At: now, State: outbox.Dropped}
	switch {
	case m.Attempts-1 > m.Results: // at most once, in every process
		end.State, end.Problem = outbox.Failed, unsure
		return end
	case s.deps.Post == nil:
		end.Problem = unsent
		return end
	case now.Sub(m.BegunAt) > notice.Stale:
		end.Problem = stale
		return end
	}
	letter, problem, err := s.letter(ctx, m)
	switch {
	case err != nil: // the store did not answer: nothing was sent
		return outbox.After(m, now, 0, "the account could not be read")
	case problem != "":
		end.Problem = problem
		return end
	}
	limited, stop := context.WithTimeout(ctx, patience)
	defer stop()
	again, err := s.deps.Post.Deliver(limited, letter)
	switch {
	case err == nil:
		end.State = outbox.Delivered
	case again:
		s.often.Warn(ctx, "a mail could not be sent, retrying", "error", err)
		return outbox.After(m, s.deps.Now(), 0, "the mail server did not take it")
	default:
		s.often.Warn(ctx, "a mail could not be sent", "error", err)
		end.State, end.Problem = outbox.Failed, "the mail server refused it"
	}
	return end
}

// letter composes the letter of a mail, or states why there is none.
func (s *Sender) letter(ctx context.Context, m outbox.Message) (l account.Letter, problem string, err error) {
	u, err := s.deps.Accounts.User(ctx, m.Owner)
	if errs.Is(err, errs.NotFound) {
		return l, unwant, nil
	}
	if err != nil {
		return l, "", err
	}
	of, err := s.deps.Notices.Settings(ctx, u.ID)
	if err != nil {
		return l, "", err
	}
	if u.Disabled || u.Role == account.RoleSeat || !of.Wants(m.Kind, u.Email) ||
		!slices.Contains(notice.KindsOf(u.IsAdmin()), m.Kind) {
		return l, unwant, nil
	}
	facts, err := s.facts(ctx, u, m.Payload)
	if err != nil || len(facts) == 0 {
		return l, nothing, err
	}
	l, err = notice.Compose(notice.Mail{
		Account: u.ID, To: u.Email, Kind: m.Kind, Language: of.Language, Base: s.deps.BaseURL(),
		Token: s.deps.Marks.Token(u.ID, m.Kind), Facts: facts,
	})
	return l, "", err
}

// facts returns the facts of a mail with the names of their campaigns. A campaign of another account is
// left out: a mail never names one.
func (s *Sender) facts(ctx context.Context, u account.User, payload []byte) (list []notice.Fact, err error) {
	for _, line := range notice.Lines(payload) {
		f := notice.Fact{Line: line}
		if line.CampaignID != uuid.Nil {
			c, err := s.deps.Campaigns.Campaign(ctx, line.CampaignID)
			if errs.Is(err, errs.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if !owns(u, c.AdvertiserID) {
				continue
			}
			f.Name = c.Name
		}
		list = append(list, f)
	}
	return list, nil
}

// owns reports whether an advertiser is u or one of its seats. Administrators own no others here.
func owns(u account.User, advertiser uuid.UUID) bool {
	return u.ID == advertiser ||
		slices.ContainsFunc(u.Seats, func(seat account.Seat) bool { return seat.ID == advertiser })
}
