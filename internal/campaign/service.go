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
	"adnet/internal/schedule"
)

// Deps are the dependencies of a [Service].
type Deps struct {
	Store     Store
	Announcer Announcer
	Now       func() time.Time
	// CreditValue is the total budget that one Credit pays for (ADNET_CREDIT_VALUE_USD), > 0.
	CreditValue money.Micros
	// MaxCampaigns is how many campaigns a new account may have; 0 is any number. See [allowed].
	MaxCampaigns int
	// Judge finds targeting words that are never by a rule; nil finds none.
	Judge Judge
}

// Service runs the life of campaigns. It contains every rule about the actions that are allowed in
// each state, and for which callers.
//
//	            ┌────────── submit ─────────┐
//	(create) ─► draft                       ▼
//	(create) ─────────────────────────► in_review ── approved ─► active ◄─ resume ─ paused
//	(create, first and clean) ─► active     └─ rejected ─► rejected   └── pause ──────►┘
//	active or paused, held by the policy ── approved ─► delivers; ── rejected ─► rejected
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

var errSeatCash = errs.New(
	errs.InvalidRequest,
	"a seat's campaigns are paid with its Credits: set use_ad_credit, or use your own advertiser_id",
).With("field", "advertiser_id")

// Create checks and keeps a new campaign. An advertiser's first campaign with a clean policy check
// is active at once; later ones, and those that Credits fund, wait for review. Errors:
// errs.InvalidRequest, errs.Forbidden, errs.InsufficientCredit, errs.DemoMode. A restricted trade
// is a finding, so a campaign with one waits for a person.
func (s *Service) Create(ctx context.Context, caller account.User, in Create) (Created, error) {
	if !caller.MayActFor(in.AdvertiserID) {
		return Created{}, errs.New(errs.Forbidden, "advertiser_id must be your own user id")
	}
	// A seat is not a further account with a first campaign that goes live by itself.
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
		// Credits cost a thief nothing but patience: a person looks before they pay.
		case first && len(n.Campaign.PolicyViolations) == 0 && !in.UseAdCredit:
			return Active
		}
		return InReview
	}
	if in.UseAdCredit {
		n.Campaign.CreditFunded = true
		n.CreditValue = s.deps.CreditValue
	}
	return s.add(ctx, caller, &n)
}

// add keeps a new campaign.
func (s *Service) add(ctx context.Context, caller account.User, n *NewCampaign) (Created, error) {
	if err := s.room(ctx, caller, &n.Campaign); err != nil {
		return Created{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Created{}, err
	}
	now := s.deps.Now().UTC()
	n.Campaign.ID, n.Campaign.CreatedAt, n.Campaign.UpdatedAt = id, now, now
	n.Campaign.PolicyViolations = s.findings(&n.Campaign, caller)
	kept, err := s.deps.Store.CreateCampaign(ctx, *n)
	if err != nil {
		return Created{}, err
	}
	s.announce(ctx, kept)
	return Created{Campaign: kept, AutoApproved: kept.Status == Active}, nil
}

// Copy makes a draft of one of caller's campaigns, for the same advertiser: everything that its
// owner set, but for dates that have passed. The copy is paid in cash, and no review of the source
// speaks for it. As an ad it is as new as its source is (see auction/train): what says the same
// explores no second time. Errors: those of [Service.Get] and of [Service.Create].
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
	if c.Ended(s.deps.Now()) {
		c.StartAt, c.EndAt = nil, nil
	}
	return s.add(ctx, caller, &NewCampaign{Campaign: c, Admit: func(bool) Status { return Draft }})
}

// copyName is the name of a copy, within the limit.
func copyName(name string) string {
	const mark = " (copy)"
	if long := []rune(name); len(long) > MaxName-len(mark) {
		name = string(long[:MaxName-len(mark)])
	}
	return name + mark
}

// Check gives the campaign that fields would make, with what the policy finds in it. Nothing is
// kept. Errors: those of [Service.Create] about the fields.
func (s *Service) Check(in Fields) (Campaign, error) {
	c := defaults()
	if err := in.apply(&c); err != nil {
		return Campaign{}, err
	}
	c.PolicyViolations = s.findings(&c, account.User{})
	c.normalizeGoal()
	return c, nil
}

// Plan gives the campaign that fields would make, as far as they are said: its creative may be
// missing still. Nothing is kept. Errors: those of [Service.Create] about the fields.
func (s *Service) Plan(in Fields) (Campaign, error) {
	c := defaults()
	if err := in.plan(&c); err != nil {
		return Campaign{}, err
	}
	c.normalizeGoal()
	return c, nil
}

// room says whether an advertiser may have one more campaign: each costs every node memory, so a
// new account has few, and more with its history. Archived ones count: their rows stay. Errors:
// errs.Conflict.
func (s *Service) room(ctx context.Context, caller account.User, c *Campaign) error {
	if !s.limits(caller) {
		return nil
	}
	newest, total, err := s.deps.Store.Campaigns(ctx, Filter{AdvertiserID: c.AdvertiserID, Limit: 1})
	if err != nil || len(newest) == 0 {
		return err
	}
	record, err := s.deps.Store.Record(ctx, newest[0].ID)
	if err != nil {
		return err
	}
	if limit := allowed(s.deps.MaxCampaigns, record, s.deps.Now()); total >= limit {
		return errs.New(
			errs.Conflict,
			"the account has %d campaigns, which is as many as it may have now; change one that exists, or ask the "+
				"operator", total,
		).
			With("limit", limit)
	}
	return s.targetingRoom(record, c.TargetingSize())
}

// limits says whether what caller keeps is limited.
func (s *Service) limits(caller account.User) bool {
	return s.deps.MaxCampaigns > 0 && !caller.IsAdmin()
}

// targetingPerCampaign is the size of targeting that an account may have for each campaign that it
// may have: any one may take more of it.
const targetingPerCampaign = 10 << 10

// targetingRoom says whether the campaigns of an account may have more bytes of targeting, which
// every node holds in memory. Errors: errs.Conflict.
func (s *Service) targetingRoom(r Record, more int) error {
	limit := allowed(s.deps.MaxCampaigns, r, s.deps.Now()) * targetingPerCampaign
	if more <= 0 || r.Targeting+more <= limit {
		return nil
	}
	return errs.New(
		errs.Conflict,
		"the targeting of the account's campaigns would have %d bytes, and may have %d now; shorten its lists, or "+
			"ask the operator", r.Targeting+more, limit,
	).
		With("limit", limit)
}

// mostCampaigns is how many campaigns an account may have whatever its history.
const mostCampaigns = 10_000

// allowed is how many campaigns an account may have: most at first, as many again for every 30 days
// since its first one, and 50 for each that a reviewer approved.
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
// A changed creative is checked against the policy again, as are changed trades and targeting
// words, and violations stop delivery until they are fixed or a reviewer approves them. Where the
// account has no history, a live campaign whose texts or hosts changed delivers nothing until a
// reviewer saw them, else what was approved could be exchanged for anything a second later. An
// archived campaign cannot change any more. The funding of a credit-funded campaign is fixed: its
// total budget cannot grow.
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
			if err := s.targetingRoom(record, c.TargetingSize()-size); err != nil {
				return err
			}
		}
		if c.CreditFunded && c.TotalBudget > budget {
			return invalid("total_budget", "of a credit-funded campaign cannot be raised; create another campaign")
		}
		if creativeOf(c) != creativeOf(&before) || !statedOf(c).equal(statedOf(&before)) {
			s.rejudge(c, &before, caller, trusted)
		}
		return nil
	})
}

// rejudge checks the changed creative, trades and words of c, which was before. A change that waits
// for a reviewer goes on waiting when more changes.
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
	was, is := creativeOf(before), creativeOf(c)
	switch {
	case s.approved(c) || c.Status != Active && c.Status != Paused:
	case was == is && len(waiting) > 0:
		c.PolicyViolations = append(c.PolicyViolations, waiting...)
	case len(waiting) > 0 || !trusted && !was.sameFace(is):
		c.PolicyViolations = append(c.PolicyViolations, Violation{
			Rule: ruleChanged, Field: "creative",
			Message: "texts or hosts changed after they were approved; a reviewer sees them before they deliver",
		})
	case !slices.Equal(before.Trades, c.Trades):
		c.PolicyViolations = append(c.PolicyViolations, Violation{
			Rule: ruleChanged, Field: "trades",
			Message: "the restricted trades changed; a reviewer sees the campaign before it delivers",
		})
	}
}

// HoldReported has a live campaign wait for a reviewer because readers have reported it. A version
// that a person approved goes on. Its actor is the context's.
func (s *Service) HoldReported(ctx context.Context, id uuid.UUID) error {
	_, err := s.change(ctx, account.User{Role: account.RoleAdmin}, id, func(c *Campaign) error {
		held := slices.ContainsFunc(c.PolicyViolations, func(v Violation) bool { return v.Rule == RuleReported })
		if held || s.approved(c) || c.Status != Active && c.Status != Paused {
			return nil
		}
		c.PolicyViolations = append(slices.Clone(c.PolicyViolations), Violation{
			Rule: RuleReported, Field: "creative",
			Message: "readers have reported this ad; a reviewer looks at it before it delivers again",
		})
		return nil
	})
	return err
}

// HoldBeside has those campaigns of an advertiser wait for a reviewer that instruct a model once
// their texts are read after name, which ads are about to say. No approval speaks for them: it was
// of the texts without the name.
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
	if c.Status == Archived || c.Status == Rejected || !c.instructsBeside(name) {
		return nil
	}
	_, err := s.change(ctx, account.User{Role: account.RoleAdmin}, c.ID, func(c *Campaign) error {
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

// Remove rejects a campaign that was live or waited, for what readers said. errs.InvalidState for
// others, errs.Forbidden if caller is not an administrator.
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

// reject is a decision above a pause: what is submitted and approved afterwards delivers.
func (c *Campaign) reject() {
	c.letGo()
	c.Status = Rejected
}

// Reinstate takes back what was decided against exactly this creative: a rejected campaign is
// active again, a held one delivers. What its owner changed since was not judged: errs.Conflict.
// errs.InvalidState where nothing is held against it, errs.Conflict if it changed since the version
// of d.Seen, errs.Forbidden if caller is not an administrator.
func (s *Service) Reinstate(ctx context.Context, caller account.User, id uuid.UUID, d Decision) (Changed, error) {
	if !caller.IsAdmin() {
		return Changed{}, errs.New(errs.Forbidden, "only an administrator reinstates campaigns")
	}
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if err := c.seen(d.Seen); err != nil {
			return err
		}
		if c.Status != Rejected && !c.Waits() {
			return wrongState(c.Status, Rejected, InReview)
		}
		if c.Review == nil && c.Status != Rejected || c.Review != nil && c.Review.Creative != s.judged(c) {
			return errs.New(
				errs.Conflict,
				"nobody judged the ad as it is now: decide it in the review queue, then answer the appeal",
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

// Archive ends a campaign for ever.
func (s *Service) Archive(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.move(ctx, caller, id, Archived, Draft, InReview, Active, Paused, Rejected)
}

// Decision is an administrator's answer to a campaign that waits for review.
type Decision struct {
	Decision string // approved or rejected
	Notes    string
	// Seen is the config version that the administrator looked at, 0 to judge whatever is there
	// now.
	Seen int64
	// Reported says that readers have reported the campaign: then a live one is decided, too.
	Reported bool
}

// Decide records an administrator's review. Approved makes a campaign in review active, and lets
// exactly this creative deliver despite any findings but those about the safety of its links;
// rejected stops it. A live campaign that the policy holds is reviewed like one in review, and
// keeps its status when it is approved. errs.InvalidState unless it waits for review,
// errs.Conflict if it changed since the version that the administrator saw, errs.Forbidden if
// caller is not an administrator.
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
		if live := c.Status == Active || c.Status == Paused; !c.Waits() && !(live && in.Reported) {
			return wrongState(c.Status, InReview)
		}
		s.judge(c, caller, in)
		return nil
	})
}

// seen is errs.Conflict if c changed since version, which the caller looked at; 0 is whatever is
// there.
func (c *Campaign) seen(version int64) error {
	if version != 0 && version != c.ConfigVersion {
		return errs.New(errs.Conflict, "the campaign changed since you saw it; look at it again")
	}
	return nil
}

// judge writes down what caller decided about exactly the creative, trades and words that c has
// now. A live campaign that was held keeps its status when it is approved.
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
	return errs.New(errs.InvalidState, "the campaign is %s, this needs one of %v", is, need).With("status", string(is))
}

// change runs edit on the locked campaign after the owner check, so that the campaign that was
// checked is the one that changes.
func (s *Service) change(
	ctx context.Context, caller account.User, id uuid.UUID, edit func(*Campaign) error,
) (Changed, error) {
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
