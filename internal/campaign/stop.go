package campaign

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/errs"
)

// The findings on a campaign paused by an administrator. They hold: no approval or edit clears
// them, and the owner cannot resume the campaign.
const (
	RuleStopped = "paused_by_administrator" // it was active
	RuleBarred  = "held_by_administrator"   // its owner had paused it
)

// ErrStopped rejects an owner's attempt to resume a campaign paused by an administrator.
var ErrStopped = errs.New(
	errs.Forbidden,
	"an administrator of this network has paused the campaign: its owner reads why under Decisions, and can appeal "+
		"there",
)

// stops reports whether v is the finding of an administrator's pause.
func (v Violation) stops() bool { return v.Rule == RuleStopped || v.Rule == RuleBarred }

// stopped returns the findings of an administrator's pause, nil without one.
func (c *Campaign) stopped() []Violation {
	return slices.DeleteFunc(slices.Clone(c.PolicyViolations), func(v Violation) bool { return !v.stops() })
}

// Stopped reports whether an administrator's pause of c is in force.
func (c *Campaign) Stopped() bool { return len(c.stopped()) > 0 }

// letGo removes the findings of an administrator's pause.
func (c *Campaign) letGo() {
	c.PolicyViolations = slices.DeleteFunc(slices.Clone(c.PolicyViolations), Violation.stops)
}

// ruledBy reports whether caller acts on c as an administrator and not as its owner.
func (c *Campaign) ruledBy(caller account.User) bool {
	return caller.IsAdmin() && caller.ID != c.AdvertiserID
}

// pause implements [Service.Pause]. An administrator may also stop a campaign that its owner has
// paused: otherwise a pause a moment earlier would preserve the owner's right to resume.
func (c *Campaign) pause(caller account.User) error {
	ruled := c.ruledBy(caller)
	if c.Status != Active && (!ruled || c.Status != Paused || c.Stopped()) {
		return wrongState(c.Status, Active)
	}
	if ruled {
		rule := RuleStopped
		if c.Status == Paused {
			rule = RuleBarred
		}
		c.PolicyViolations = append(slices.Clone(c.PolicyViolations), Violation{
			Rule: rule, Field: "status",
			Message: "an administrator has paused the campaign; its owner reads why under Decisions", Holds: true,
		})
	}
	c.Status = Paused
	return nil
}

// Pause stops delivery and charging. It returns errs.InvalidState unless the campaign is active. If
// an administrator pauses a campaign of another account, active or paused, only an administrator
// can resume it.
func (s *Service) Pause(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error { return c.pause(caller) })
}

// Resume resumes a paused campaign. It returns errs.InvalidState unless the campaign is paused, and
// [ErrStopped] for its owner if an administrator has paused it.
func (s *Service) Resume(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if c.Status != Paused {
			return wrongState(c.Status, Paused)
		}
		if c.Stopped() && !c.ruledBy(caller) {
			return ErrStopped
		}
		c.letGo()
		c.Status = Active
		return nil
	})
}

// Release ends an administrator's pause. A campaign that was active is active again; one that its
// owner had paused stays paused, and the owner may resume it. It returns errs.InvalidState if no
// pause is in force, errs.Forbidden if caller is not another administrator, and errs.Conflict if
// the campaign changed since the config version seen; 0 accepts any version.
func (s *Service) Release(ctx context.Context, caller account.User, id uuid.UUID, seen int64) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if err := c.seen(seen); err != nil {
			return err
		}
		if !c.ruledBy(caller) {
			return errs.New(errs.Forbidden, "another administrator must decide on this campaign")
		}
		found := c.stopped()
		if c.Status != Paused || len(found) == 0 {
			return wrongState(c.Status, Paused)
		}
		c.letGo()
		if found[0].Rule == RuleStopped {
			c.Status = Active
		}
		return nil
	})
}
