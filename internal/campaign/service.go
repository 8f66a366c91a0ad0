package campaign

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/process/schedule"
)

// Deps are the dependencies of a [Service].
type Deps struct {
	Store     Store
	Announcer Announcer
	Now       func() time.Time
	// CreditValue is the total budget that one Credit pays for (ADNET_CREDIT_VALUE_USD), > 0.
	CreditValue money.Micros
	// MaxCampaigns is the number of campaigns allowed for a new account; 0 is unlimited. See
	// [allowed].
	MaxCampaigns int
	// Unreviewed is where creatives deliver before a reviewer has approved them.
	Unreviewed Reach
	// Prepaid is the rule that cash campaigns spend deposited balance only (ADNET_PREPAID).
	Prepaid bool
	// Judge finds targeting words of subjects that never get ads; nil finds none.
	Judge Judge
}

// Service runs the life cycle of campaigns. It contains every rule about the actions that each
// state and caller allow.
//
//	            ┌────────── submit ─────────┐
//	(create) ─► draft                       ▼
//	(create) ─────────────────────────► in_review ── approved ─► active ◄─ resume ─ paused
//	(create, first and clean) ─► active     └─ rejected ─► rejected   └── pause ──────►┘
//	active or paused, held by the policy ── approved ─► delivers; ── rejected ─► rejected
//	any but archived ── archive ─► archived (final); rejected ── submit ─► in_review
type Service struct {
	deps Deps
	only []Versions // see [Service.If]
}

// NewService creates a Service.
func NewService(deps Deps) *Service {
	deps.Now = schedule.Clock(deps.Now)
	return &Service{deps: deps}
}

// Create is the request to create a campaign.
type Create struct {
	Fields
	AdvertiserID uuid.UUID
	Draft        bool // create it as a draft instead of submitting it
	UseAdCredit  bool // fund total_budget from the advertiser's Credits
}

// Created is the result of a creation.
type Created struct {
	Campaign     Campaign
	AutoApproved bool
	// WaitsFor is why the account's first campaign waits for a review without a finding; empty for
	// any other one.
	WaitsFor string
	// Unfunded reports whether it lacks a deposit, whatever its status.
	Unfunded bool
}

// Changed is the result of a change. Propagated is false if a serving node did not confirm the
// change within 1 s. The change is committed even then.
type Changed struct {
	Campaign   Campaign
	Propagated bool
}

var errSeatCash = errs.New(
	errs.InvalidRequest,
	"a seat's campaigns are paid with its Credits: set use_ad_credit, or use your own advertiser_id",
).With("field", "advertiser_id")

// Create validates and stores a new campaign. The first campaign of a family (internal/account/family) with
// a clean policy check is active at once. Later ones, and those funded by Credits, wait for review.
// A restricted trade is a finding, so such a campaign waits for review as well. Errors:
// errs.InvalidRequest, errs.Forbidden, errs.InsufficientCredit, errs.DemoMode.
func (s *Service) Create(ctx context.Context, caller account.User, in Create) (Created, error) {
	if !caller.MayActFor(in.AdvertiserID) {
		return Created{}, errs.New(errs.Forbidden, "advertiser_id must be your own user id")
	}
	// A seat is not a further account whose first campaign goes live automatically.
	if caller.ID != in.AdvertiserID && !caller.IsAdmin() && !in.UseAdCredit {
		return Created{}, errSeatCash
	}
	c := defaults()
	if err := in.apply(&c); err != nil {
		return Created{}, err
	}
	c.AdvertiserID = in.AdvertiserID
	n := NewCampaign{Campaign: c}
	n.Admit = func(first bool) Status {
		switch {
		case in.Draft:
			return Draft
		// Stolen Credits cost a thief nothing: a person reviews the campaign first.
		case first && len(n.Campaign.PolicyViolations) == 0 && !in.UseAdCredit:
			return Active
		}
		return InReview
	}
	if in.UseAdCredit {
		n.Campaign.CreditFunded = true
		n.CreditValue = s.deps.CreditValue
	}
	created, err := s.add(ctx, caller, &n)
	if err == nil && !in.UseAdCredit && !in.Draft {
		created.WaitsFor = s.waitsFor(ctx, &created.Campaign)
	}
	return created, err
}

// waitsFor returns the reason for the review of an account's first campaign. The campaign exists
// already, so an unreadable list is no reason.
func (s *Service) waitsFor(ctx context.Context, c *Campaign) string {
	if c.Status != InReview || len(c.PolicyViolations) > 0 {
		return ""
	}
	_, total, err := s.deps.Store.Campaigns(ctx, Filter{AdvertiserID: c.AdvertiserID, Limit: 1})
	if err != nil || total != 1 {
		return ""
	}
	return "one first campaign goes live at once for all accounts that belong together: an older account has the " +
		"same mailbox, payer or network, or an ad with the same domain or text; a reviewer decides about this one"
}

// add stores a new campaign.
func (s *Service) add(ctx context.Context, caller account.User, n *NewCampaign) (Created, error) {
	room, err := s.room(ctx, caller, n.Campaign.AdvertiserID)
	if err != nil {
		return Created{}, err
	}
	n.Room = room
	id, err := uuid.NewV7()
	if err != nil {
		return Created{}, err
	}
	now := s.deps.Now().UTC()
	n.Campaign.ID, n.Campaign.CreatedAt, n.Campaign.UpdatedAt = id, now, now
	n.Campaign.PolicyViolations = s.findings(&n.Campaign, caller)
	stored, err := s.deps.Store.CreateCampaign(ctx, *n)
	if err != nil {
		return Created{}, err
	}
	s.announce(ctx, stored)
	return Created{
		Campaign: s.reaching(stored), AutoApproved: stored.Status == Active,
		Unfunded: stored.Unfunded(s.deps.Prepaid),
	}, nil
}

// Copy creates a draft from one of caller's campaigns, for the same advertiser, with everything
// that its owner set except past dates. The copy is paid in cash, and reviews of the source do not
// apply to it. For exploration it is the same ad as its source (see auction/train), so a copy of
// the same texts is not explored again. Errors: those of [Service.Get] and of [Service.Create].
func (s *Service) Copy(ctx context.Context, caller account.User, id uuid.UUID) (Created, error) {
	from, err := s.Get(ctx, caller, id)
	if err != nil {
		return Created{}, err
	}
	if caller.ID != from.AdvertiserID && !caller.IsAdmin() {
		return Created{}, errSeatCash // a copy is paid in cash
	}
	c := from.Clone()
	c.Name = copyName(c.Name)
	c.CreditFunded, c.Review, c.ConfigVersion = false, nil, 0
	c.Reviewed, c.Approved, c.Reach, c.Delivery, c.DeliveryBound, c.Queued = false, nil, "", "", nil, ""
	if c.Ended(s.deps.Now()) {
		c.StartAt, c.EndAt = nil, nil
	}
	return s.add(ctx, caller, &NewCampaign{Campaign: c, Admit: func(bool) Status { return Draft }})
}

// copyName returns the name of a copy, within the limit.
func copyName(name string) string {
	const mark = " (copy)"
	if long := []rune(name); len(long) > MaxName-len(mark) {
		name = string(long[:MaxName-len(mark)])
	}
	return name + mark
}

// Check returns the campaign that fields would create, with the policy's findings. Nothing is
// stored. Errors: those of [Service.Create] about the fields.
func (s *Service) Check(in Fields) (Campaign, error) {
	c := defaults()
	if err := in.apply(&c); err != nil {
		return Campaign{}, err
	}
	c.PolicyViolations = s.findings(&c, account.User{})
	c.normalizeGoal()
	return c, nil
}

// Plan returns the campaign that fields would create. Its creative may still be incomplete. Nothing
// is stored. Errors: those of [Service.Create] about the fields.
func (s *Service) Plan(in Fields) (Campaign, error) {
	c := defaults()
	if err := in.plan(&c); err != nil {
		return Campaign{}, err
	}
	c.normalizeGoal()
	return c, nil
}

// room returns the room of an advertiser's campaigns. Each costs memory on every node, so a new
// account may have few, and more as its history grows.
func (s *Service) room(ctx context.Context, caller account.User, advertiser uuid.UUID) (Room, error) {
	if !s.limits(caller) {
		return Room{}, nil
	}
	var record Record
	newest, _, err := s.deps.Store.Campaigns(ctx, Filter{AdvertiserID: advertiser, Limit: 1})
	if err == nil && len(newest) > 0 {
		record, err = s.deps.Store.Record(ctx, newest[0].ID)
	}
	return s.roomOf(record), err
}

// limits reports whether caller's campaigns are limited.
func (s *Service) limits(caller account.User) bool {
	return s.deps.MaxCampaigns > 0 && !caller.IsAdmin()
}

// targetingPerCampaign is the targeting size that an account gets for each campaign it may have. A
// single campaign may use more.
const targetingPerCampaign = 10 << 10

// roomOf returns the room of an account with the record.
func (s *Service) roomOf(r Record) Room {
	most := allowed(s.deps.MaxCampaigns, r, s.deps.Now())
	return Room{Campaigns: most, Targeting: most * targetingPerCampaign}
}

// mostCampaigns is the maximum number of campaigns of an account, whatever its history.
const mostCampaigns = 10_000

// allowed returns the number of campaigns that an account may have: most at first, as many again
// for every 30 days since its first one, and 50 for each campaign approved by a reviewer.
func allowed(most int, r Record, now time.Time) int {
	months := 0
	if !r.Since.IsZero() {
		months = int(now.Sub(r.Since) / (30 * 24 * time.Hour))
	}
	return max(most, min(most*(1+months)+50*r.Approved, mostCampaigns))
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
	return s.reaching(c), nil
}

// reaching returns c with its reach, its delivery, its bound and its place in the review queue. The version
// approved last is left out where the current one delivers everywhere.
func (s *Service) reaching(c Campaign) Campaign {
	c.Delivery, c.DeliveryBound = s.delivery(&c, s.deps.Now()), c.Standing.Bound.Displayed()
	if c.Queued == "" {
		c.Queued = c.QueuedFor()
	}
	if s.deps.Unreviewed == "" {
		return c
	}
	c.Reach = s.deps.Unreviewed.Of(&c)
	if !s.deps.Unreviewed.restricts() {
		c.Approved = nil
	}
	return c
}

// List returns caller's campaigns. An administrator may select another advertiser, or none for all.
func (s *Service) List(ctx context.Context, caller account.User, f Filter) ([]Campaign, int, error) {
	if !caller.IsAdmin() {
		if f.AdvertiserID != uuid.Nil && f.AdvertiserID != caller.ID {
			return nil, 0, errForbidden
		}
		f.AdvertiserID = caller.ID
	}
	page, total, err := s.deps.Store.Campaigns(ctx, f)
	for i := range page {
		page[i] = s.reaching(page[i])
	}
	return page, total, err
}

var errForbidden = errs.New(errs.Forbidden, "the campaign belongs to another account")

// Edit is an owner's change to a campaign.
type Edit struct {
	Fields
	Pause bool // also pauses it, under the conditions of [Service.Pause]
}

// Update applies all changes of in, or none if it fails. The status stays, unless in.Pause is set.
// A change of the creative, trades or targeting words repeats the policy check, and violations stop
// delivery until they are fixed or a reviewer approves them. In an account without history, a live
// campaign with changed texts or hosts stops until a reviewer has seen it. Otherwise the approved
// ad could be replaced by anything a second later. An archived campaign cannot change. The funding
// of a credit-funded campaign is fixed: its total budget cannot grow.
func (s *Service) Update(ctx context.Context, caller account.User, id uuid.UUID, in Edit) (Changed, error) {
	trusted := caller.IsAdmin()
	var record Record
	if !trusted && (in.showsCreative() || in.targets()) {
		var err error
		if record, err = s.deps.Store.Record(ctx, id); err != nil {
			return Changed{}, err
		}
		trusted = record.trusted(s.deps.Now())
	}
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if c.Status == Archived {
			return errs.New(errs.InvalidState, "the campaign is archived").With("status", string(c.Status))
		}
		if in.Pause {
			if err := c.pause(caller); err != nil {
				return err
			}
		}
		budget, before, size := c.TotalBudget, c.Clone(), c.TargetingSize()
		if err := in.apply(c); err != nil {
			return err
		}
		if s.limits(caller) {
			if err := s.roomOf(record).checkTargeting(record.Targeting, c.TargetingSize()-size); err != nil {
				return err
			}
		}
		if c.CreditFunded && c.TotalBudget > budget {
			return invalid("total_budget", "of a credit-funded campaign cannot be raised; create another campaign")
		}
		if !c.sameParts(before.Creative) || !statedOf(c).equal(statedOf(&before)) {
			s.rejudge(c, &before, caller, trusted)
		}
		return nil
	})
}

// rejudge repeats the policy check of c, which was before, if its creative, trades or words
// changed. A change that waits for a reviewer keeps waiting after further changes.
func (s *Service) rejudge(c, before *Campaign, caller account.User, trusted bool) {
	waiting := slices.DeleteFunc(
		slices.Clone(c.PolicyViolations),
		func(v Violation) bool { return v.Rule != ruleChanged && v.Rule != RuleReported },
	)
	suspended, stopped := c.suspended(), c.stopped()
	c.PolicyViolations = append(s.examine(c, caller), stopped...)
	if suspended {
		c.Suspend(true)
	}
	was, is := before.Creative, c.Creative
	switch {
	case s.approved(c) || c.Status != Active && c.Status != Paused:
	case was == is && len(waiting) > 0:
		c.PolicyViolations = append(c.PolicyViolations, waiting...)
	case len(waiting) > 0 || !trusted && !was.sameFace(is):
		c.PolicyViolations = append(c.PolicyViolations, Violation{
			Rule: ruleChanged, Field: "creative",
			Message: "texts or hosts changed after their approval; they wait for a reviewer",
		})
	case !slices.Equal(before.Trades, c.Trades):
		c.PolicyViolations = append(c.PolicyViolations, Violation{
			Rule: ruleChanged, Field: "trades",
			Message: "the restricted trades changed; the campaign waits for a reviewer",
		})
	}
}

// HoldReported makes a live campaign wait for a reviewer because readers have reported it. A
// version approved by a reviewer continues. The actor is that of the context.
func (s *Service) HoldReported(ctx context.Context, id uuid.UUID) error {
	_, err := s.change(ctx, account.User{Role: account.RoleAdmin}, id, func(c *Campaign) error {
		held := slices.ContainsFunc(c.PolicyViolations, func(v Violation) bool { return v.Rule == RuleReported })
		if held || s.approved(c) || c.Status != Active && c.Status != Paused {
			return nil
		}
		c.PolicyViolations = append(slices.Clone(c.PolicyViolations), Violation{
			Rule: RuleReported, Field: "creative",
			Message: "readers have reported this ad; it waits for a reviewer",
		})
		return nil
	})
	return err
}

// HoldBeside makes campaigns of an advertiser wait for a reviewer if their texts instruct a model
// when read after name, which ads are about to show. An earlier approval does not count: it covered
// the texts without the name.
func (s *Service) HoldBeside(ctx context.Context, advertiser uuid.UUID, name string) error {
	f := Filter{AdvertiserID: advertiser, Limit: MaxPage}
	for {
		page, _, err := s.deps.Store.Campaigns(ctx, f)
		if err != nil {
			return err
		}
		for i := range page {
			if err := s.holdBeside(ctx, &page[i], name); err != nil {
				return err
			}
		}
		if f.Offset += len(page); len(page) < f.Limit {
			return nil
		}
	}
}

func (s *Service) holdBeside(ctx context.Context, c *Campaign, name string) error {
	if c.Status == Archived || c.Status == Rejected || !c.instructsBeside(name) && !c.instructedBefore(name) {
		return nil
	}
	_, err := s.change(ctx, account.User{Role: account.RoleAdmin}, c.ID, func(c *Campaign) error {
		if c.instructedBefore(name) {
			c.Approved = nil
		}
		held := slices.ContainsFunc(c.PolicyViolations, func(v Violation) bool { return v.Rule == ruleInstruction })
		if !held && c.instructsBeside(name) {
			c.PolicyViolations = append(slices.Clone(c.PolicyViolations), Violation{
				Rule: ruleInstruction, Field: "creative",
				Message: "the texts together with the name of the advertiser must speak to people, not instruct a model",
			})
		}
		return nil
	})
	return err
}

// instructedBefore reports whether the version of c that goes on instructs a model beside name.
func (c *Campaign) instructedBefore(name string) bool {
	return c.Approved != nil && c.With(*c.Approved).instructsBeside(name)
}

// Remove rejects a live or waiting campaign because of readers' reports. It returns
// errs.InvalidState for any other campaign and errs.Forbidden if caller is not an administrator.
func (s *Service) Remove(ctx context.Context, caller account.User, id uuid.UUID, notes string) (Changed, error) {
	if !caller.IsAdmin() {
		return Changed{}, errs.New(errs.Forbidden, "only an administrator removes campaigns")
	}
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if c.Status != Active && c.Status != Paused && c.Status != InReview {
			return wrongState(c.Status, Active, Paused, InReview)
		}
		s.judge(c, caller, Decision{Decision: decisionRejected, Notes: notes})
		return nil
	})
}

// reject overrides a pause: if the campaign is later submitted and approved, it delivers.
func (c *Campaign) reject() {
	c.letGo()
	c.Status = Rejected
}

// Reinstate reverses a decision against exactly this version: a rejected campaign is active again,
// a stopped one delivers. It returns errs.InvalidState if there is no such decision, errs.Conflict
// if the owner has changed the reviewed content since or the campaign changed since version d.Seen,
// and errs.Forbidden if caller is not an administrator.
func (s *Service) Reinstate(ctx context.Context, caller account.User, id uuid.UUID, d Decision) (Changed, error) {
	if !caller.IsAdmin() {
		return Changed{}, errs.New(errs.Forbidden, "only an administrator reinstates campaigns")
	}
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if err := c.seen(d.Seen); err != nil {
			return err
		}
		if c.Status != Rejected && c.QueuedFor() == "" {
			return wrongState(c.Status, Rejected, InReview)
		}
		if c.Review == nil && c.Status != Rejected || c.Review != nil && c.Review.Creative != s.judged(c) {
			return errs.New(
				errs.Conflict,
				"the current ad was not reviewed: decide on it in the review queue, then answer the appeal",
			)
		}
		s.judge(c, caller, Decision{Decision: decisionApproved, Notes: d.Notes})
		return nil
	})
}

// Submit sends a draft or a rejected campaign to review.
func (s *Service) Submit(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.move(ctx, caller, id, InReview, Draft, Rejected)
}

// Archive ends a campaign permanently.
func (s *Service) Archive(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.move(ctx, caller, id, Archived, Draft, InReview, Active, Paused, Rejected)
}

// Decision is an administrator's decision on a campaign that waits for review.
type Decision struct {
	Decision string // approved or rejected
	Notes    string
	// Seen is the config version that the administrator reviewed, 0 for the current one.
	Seen int64
	// Reported applies the decision to a live campaign because readers have reported it.
	Reported bool
}

// Decide records an administrator's review. An approval makes a campaign in review active and lets
// exactly this version deliver despite any findings except those about unsafe links. A rejection
// stops it. A live campaign stopped by the policy is reviewed like one in review and keeps its
// status when approved. So is a live version that no reviewer approved. It returns
// errs.InvalidState for others, errs.Conflict if it changed since the version that the
// administrator saw, and errs.Forbidden if caller is not an administrator.
func (s *Service) Decide(ctx context.Context, caller account.User, id uuid.UUID, in Decision) (Changed, error) {
	if !caller.IsAdmin() {
		return Changed{}, errs.New(errs.Forbidden, "only an administrator reviews campaigns")
	}
	if in.Decision != decisionApproved && in.Decision != decisionRejected {
		return Changed{}, invalid("decision", "must be approved or rejected")
	}
	if len(in.Notes) > maxNotes || hasControl(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(in.Notes)) {
		return Changed{}, invalid("notes", "must be at most %d bytes without control characters", maxNotes)
	}
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if err := c.seen(in.Seen); err != nil {
			return err
		}
		live := c.Status == Active || c.Status == Paused
		if c.QueuedFor() == "" && !(live && in.Reported) {
			return wrongState(c.Status, InReview)
		}
		s.judge(c, caller, in)
		return nil
	})
}

// seen returns errs.Conflict if c changed since version, which the caller saw; 0 accepts any
// version.
func (c *Campaign) seen(version int64) error {
	if version != 0 && !c.At(version) {
		return errs.New(errs.Conflict, "the campaign changed since you saw it; reload it")
	}
	return nil
}

// judge records caller's decision on exactly the current creative, trades and words of c. A live
// campaign that was stopped keeps its status when approved.
func (s *Service) judge(c *Campaign, caller account.User, d Decision) {
	c.Review = &Review{
		Decision: d.Decision, Notes: d.Notes, ReviewerID: caller.ID, At: s.deps.Now().UTC(), Creative: s.judged(c),
	}
	if d.Decision == decisionRejected {
		c.reject()
		return
	}
	if c.Status == Rejected || c.Status == InReview {
		c.Status = Active
	}
	c.PolicyViolations = held(c.PolicyViolations)
}

func (s *Service) move(
	ctx context.Context, caller account.User, id uuid.UUID, to Status, from ...Status,
) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if !slices.Contains(from, c.Status) {
			return wrongState(c.Status, from...)
		}
		c.Status = to
		return nil
	})
}

func wrongState(is Status, need ...Status) error {
	return errs.New(errs.InvalidState, "the campaign is %s, but must be one of %v", is, need).With("status", string(is))
}

// change runs edit on the locked campaign after the owner check, so that the checked campaign is
// the changed one.
func (s *Service) change(
	ctx context.Context, caller account.User, id uuid.UUID, edit func(*Campaign) error,
) (Changed, error) {
	stored, err := s.deps.Store.UpdateCampaign(ctx, id, func(c *Campaign) error {
		if !caller.MayActFor(c.AdvertiserID) {
			return errForbidden
		}
		if err := s.current(c); err != nil {
			return err
		}
		before := c.Clone()
		if err := edit(c); err != nil {
			return err
		}
		s.settle(c, &before)
		c.UpdatedAt = s.deps.Now().UTC()
		return nil
	})
	if err != nil {
		return Changed{}, err
	}
	return Changed{Campaign: s.reaching(stored), Propagated: s.announce(ctx, stored)}, nil
}

// announce reports whether every live node has confirmed the change. A failure does not fail the
// change: the projection repeats it from the store, and settlement already enforces it.
func (s *Service) announce(ctx context.Context, c Campaign) bool {
	all, err := s.deps.Announcer.Announce(ctx, c)
	return err == nil && all
}
