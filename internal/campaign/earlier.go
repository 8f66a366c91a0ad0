package campaign

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account"
)

// Earlier gives access to campaigns of earlier builds, which the trade rules have not checked.
type Earlier interface {
	// Unjudged returns up to limit of them in order of config version, limit ≥ 1. Campaigns changed
	// after the upgrade are excluded: the change was checked.
	Unjudged(ctx context.Context, limit int) ([]Campaign, error)
	// Judged marks campaigns up to a config version as checked.
	Judged(ctx context.Context, version int64) error
}

// HoldEarlier checks the campaigns of earlier builds once. Campaigns with an undeclared trade wait
// for a reviewer. Other findings have no effect until a campaign is edited. If interrupted, it
// continues where it stopped.
func (s *Service) HoldEarlier(ctx context.Context, of Earlier) error {
	for {
		page, err := of.Unjudged(ctx, MaxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := s.holdUndeclared(ctx, &page[i]); err != nil {
				return err
			}
		}
		if err := of.Judged(ctx, page[len(page)-1].ConfigVersion); err != nil {
			return err
		}
	}
}

func (s *Service) holdUndeclared(ctx context.Context, c *Campaign) error {
	if c.Status == Archived || len(missing(c)) == 0 {
		return nil
	}
	_, err := s.change(ctx, account.User{ID: uuid.Nil, Role: account.RoleAdmin}, c.ID, func(c *Campaign) error {
		c.PolicyViolations = append(slices.Clone(c.PolicyViolations), missing(c)...)
		return nil
	})
	return err
}

// missing returns the findings about undeclared trades that c does not have yet.
func missing(c *Campaign) []Violation {
	return slices.DeleteFunc(ofTrades(c, nil), func(v Violation) bool {
		return v.Rule != ruleUndeclared || slices.Contains(c.PolicyViolations, v)
	})
}
