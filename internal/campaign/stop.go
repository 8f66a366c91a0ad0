package campaign

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/errs"
)

// The findings on a campaign that an administrator has paused. They hold: no approval and no edit
// clears them, and its owner cannot resume it.
const (
	RuleStopped = "paused_by_administrator" // it was active
	RuleBarred  = "held_by_administrator"   // its owner had paused it
)

// ErrStopped refuses an owner who resumes what an administrator has paused.
var ErrStopped = errs.New(
	errs.Forbidden,
	"an administrator of this network has paused the campaign: its owner reads why under Decisions, and can appeal "+
		"there",
)

// stops says whether v is the finding of an administrator's pause.
func (v Violation) stops() bool { return v.Rule == RuleStopped || v.Rule == RuleBarred }

// stopped are the findings of an administrator's pause, nil without one.
func (c *Campaign) stopped() []Violation {
	return slices.DeleteFunc(slices.Clone(c.PolicyViolations), func(v Violation) bool { return !v.stops() })
}

// Stopped says whether an administrator's pause of c is in force.
func (c *Campaign) Stopped() bool { return len(c.stopped()) > 0 }

// letGo takes the findings of an administrator's pause away.
func (c *Campaign) letGo() {
	c.PolicyViolations = slices.DeleteFunc(slices.Clone(c.PolicyViolations), Violation.stops)
}

// ruledBy says whether what caller does to c is decided for its owner: by an administrator, and not
// about a campaign of its own.
func (c *Campaign) ruledBy(caller account.User) bool {
	return caller.IsAdmin() && caller.ID != c.AdvertiserID
}

// pause is what [Service.Pause] does. An administrator may stop what its owner has paused, too:
// else a pause a moment earlier would keep the owner's right to resume.
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

// Pause stops delivery and charging. errs.InvalidState unless the campaign is active. What an
// administrator pauses of another account, active or paused, only an administrator resumes.
func (s *Service) Pause(ctx context.Context, caller account.User, id uuid.UUID) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error { return c.pause(caller) })
}

// Resume starts a paused campaign again. errs.InvalidState unless it is paused, [ErrStopped] for
// its owner where an administrator has paused it.
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

// Release takes an administrator's pause back: what was active before is active again, what its
// owner had paused is the owner's to resume. errs.InvalidState where none is in force,
// errs.Forbidden if caller is not another administrator, errs.Conflict if the campaign changed
// since the config version seen; 0 takes whatever pause is there.
func (s *Service) Release(ctx context.Context, caller account.User, id uuid.UUID, seen int64) (Changed, error) {
	return s.change(ctx, caller, id, func(c *Campaign) error {
		if err := c.seen(seen); err != nil {
			return err
		}
		if !c.ruledBy(caller) {
			return errs.New(errs.Forbidden, "another administrator decides about this campaign")
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
