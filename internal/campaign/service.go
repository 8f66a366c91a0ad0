package campaign

import (
	"context"
	"slices"
	"strings"
	"time"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/schedule"

	"github.com/google/uuid"
)

// Deps are the dependencies of a [Service].
type Deps struct {
	Store     Store
	Announcer Announcer
	Now       func() time.Time
	// CreditValue is the total budget that one Credit pays for (ADNET_CREDIT_VALUE_USD), > 0.
	CreditValue money.Micros
}

// Service runs the life of campaigns. It contains every rule about the actions that are allowed in
// each state, and for which callers.
//
//	            ┌────────── submit ─────────┐
//	(create) ─► draft                       ▼
//	(create) ─────────────────────────► in_review ── approved ─► active ◄─ resume ─ paused
//	(create, first and clean) ─► active     └─ rejected ─► rejected   └── pause ──────►┘
//	any but archived ── archive ─► archived (final); rejected ── submit ─► in_review
type Service struct{ deps Deps }

// NewService makes a Service.
func NewService(deps Deps) *Service {
	deps.Now = schedule.Clock(deps.Now)
	return &Service{deps: deps}
}

// Create is the request to create a campaign.
type Create struct {
	Fields
	AdvertiserID uuid.UUID
	Draft        bool // keep it as a draft instead of submitting it
	UseAdCredit  bool // fund total_budget from the advertiser's Credits
}

// Created is the result of a creation.
type Created struct {
	Campaign     Campaign
	AutoApproved bool
}

// Changed is the result of a change. Propagated is false if a serving node did not confirm the
// change within 1 s; the change is committed all the same.
type Changed struct {
	Campaign   Campaign
	Propagated bool
}

// Create checks and keeps a new campaign. An advertiser's first campaign with a clean policy check
// is active at once; later ones wait for review. Errors: errs.InvalidRequest, errs.Forbidden,
// errs.InsufficientCredit, errs.DemoMode.
func (s *Service) Create(ctx context.Context, caller account.User, in Create) (Created, error) {
	if !caller.MayActFor(in.AdvertiserID) {
		return Created{}, errs.New(errs.Forbidden, "advertiser_id must be your own user id")
	}
	c := defaults()
	if err := in.apply(&c); err != nil {
		return Created{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Created{}, err
	}
	now := s.deps.Now().UTC()
	c.ID, c.AdvertiserID, c.CreatedAt, c.UpdatedAt = id, in.AdvertiserID, now, now
	c.PolicyViolations = Policy(&c)
	n := NewCampaign{Campaign: c, Admit: func(first bool) Status {
		switch {
		case in.Draft:
			return Draft
		case first && len(c.PolicyViolations) == 0:
			return Active
		}
		return InReview
	}}
	if in.UseAdCredit {
		n.Campaign.CreditFunded = true
		n.CreditCost = creditsFor(c.TotalBudget, s.deps.CreditValue)
	}
	kept, err := s.deps.Store.CreateCampaign(ctx, n)
	if err != nil {
		return Created{}, err
	}
	s.announce(ctx, kept)
	return Created{Campaign: kept, AutoApproved: kept.Status == Active}, nil
}

// creditsFor rounds up: the Credits never cover less than the whole budget.
func creditsFor(budget, perCredit money.Micros) money.Credits {
	return money.Credits((budget + perCredit - 1) / perCredit)
}

// Get returns one of caller's campaigns. Errors: errs.NotFound, errs.Forbidden.
func (s *Service) Get(ctx context.Context, caller account.User, id uuid.UUID) (Campaign, error) {
	c, err := s.deps.Store.Campaign(ctx, id)
	if err != nil {
		return Campaign{}, err
	}
	if !caller.MayActFor(c.AdvertiserID) {
		return Campaign{}, errForbidden
	}
	return c, nil
}

// List returns caller's campaigns; an administrator may name another advertiser, or none for all.
func (s *Service) List(ctx context.Context, caller account.User, f Filter) ([]Campaign, int, error) {
	if !caller.IsAdmin() {
		if f.AdvertiserID != uuid.Nil && f.AdvertiserID != caller.ID {
			return nil, 0, errForbidden
		}
		f.AdvertiserID = caller.ID
	}
	return s.deps.Store.Campaigns(ctx, f)
}

var errForbidden = errs.New(errs.Forbidden, "the campaign belongs to another account")

// Edit is a change that an owner makes to a campaign.
type Edit struct {
	Fields
	Pause bool // also pause it, under the conditions of [Service.Pause]
}

// Update applies all changes of in, or none and an error. The status stays, unless in.Pause is set.
// A changed creative is checked against the policy again, and violations stop delivery until they
// are fixed or a reviewer approves them. An archived campaign cannot change any more. The funding
// of a credit-funded campaign is fixed: its total budget cannot grow.
func (s *Service) Update(ctx context.Context, caller account.User, id uuid.UUID, in Edit) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if c.Status == Archived {
			return errs.New(errs.InvalidState, "the campaign is archived").With("status", string(c.Status))
		}
		if in.Pause {
			if c.Status != Active {
				return wrongState(c.Status, Active)
			}
			c.Status = Paused
		}
		budget, shown := c.TotalBudget, creativeOf(c)
		if err := in.apply(c); err != nil {
			return err
		}
		if c.CreditFunded && c.TotalBudget > budget {
			return invalid("total_budget", "of a credit-funded campaign cannot be raised; create another campaign")
		}
		if creativeOf(c) != shown {
			c.PolicyViolations = Policy(c)
		}
		return nil
	})
}

// Pause stops delivery and charging. errs.InvalidState unless the campaign is active.
func (s *Service) Pause(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.move(ctx, caller, id, Paused, Active)
}

// Resume starts a paused campaign again. errs.InvalidState unless it is paused.
func (s *Service) Resume(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.move(ctx, caller, id, Active, Paused)
}

// Submit sends a draft or a rejected campaign to review.
func (s *Service) Submit(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.move(ctx, caller, id, InReview, Draft, Rejected)
}

// Archive ends a campaign for ever.
func (s *Service) Archive(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.move(ctx, caller, id, Archived, Draft, InReview, Active, Paused, Rejected)
}

// Decide records an administrator's review: approved makes the campaign active and lets its
// creative deliver despite any policy findings, until it changes; rejected stops it.
// errs.InvalidState unless it is in review, errs.Forbidden if caller is not an administrator.
func (s *Service) Decide(ctx context.Context, caller account.User, id uuid.UUID, decision, notes string) (Changed, error) {
	if !caller.IsAdmin() {
		return Changed{}, errs.New(errs.Forbidden, "only an administrator reviews campaigns")
	}
	to := map[string]Status{"approved": Active, "rejected": Rejected}[decision]
	if to == "" {
		return Changed{}, invalid("decision", "must be approved or rejected")
	}
	if len(notes) > maxNotes || hasControl(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(notes)) {
		return Changed{}, invalid("notes", "must be at most %d bytes without control characters", maxNotes)
	}
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if c.Status != InReview {
			return wrongState(c.Status, InReview)
		}
		c.Status = to
		if to == Active {
			c.PolicyViolations = nil // a person has judged the suspicions of the machine
		}
		c.Review = &Review{Decision: decision, Notes: notes, ReviewerID: caller.ID, At: s.deps.Now().UTC()}
		return nil
	})
}

func (s *Service) move(ctx context.Context, caller account.User, id uuid.UUID, to Status, from ...Status) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if !slices.Contains(from, c.Status) {
			return wrongState(c.Status, from...)
		}
		c.Status = to
		return nil
	})
}

func wrongState(is Status, need ...Status) error {
	return errs.New(errs.InvalidState, "the campaign is %s, this needs one of %v", is, need).With("status", string(is))
}

// change runs edit on the locked campaign after the owner check, so that the campaign that was
// checked is the one that changes.
func (s *Service) change(ctx context.Context, caller account.User, id uuid.UUID, edit func(*Campaign) error) (Changed, error) {
	kept, err := s.deps.Store.UpdateCampaign(ctx, id, func(c *Campaign) error {
		if !caller.MayActFor(c.AdvertiserID) {
			return errForbidden
		}
		if err := edit(c); err != nil {
			return err
		}
		c.UpdatedAt = s.deps.Now().UTC()
		return nil
	})
	if err != nil {
		return Changed{}, err
	}
	return Changed{Campaign: kept, Propagated: s.announce(ctx, kept)}, nil
}

// announce reports whether every live node has the change. A failure does not fail the change: the
// projection repeats it from the store, and settlement already obeys it.
func (s *Service) announce(ctx context.Context, c Campaign) bool {
	all, err := s.deps.Announcer.Announce(ctx, c)
	return err == nil && all
}
