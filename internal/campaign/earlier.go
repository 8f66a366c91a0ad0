package campaign

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account"
)

// Earlier has the campaigns of earlier builds, which no rule about trades has judged.
type Earlier interface {
	// Unjudged returns up to limit of them in order of config version, limit ≥ 1. What is changed
	// after the upgrade is not among them: its change was judged.
	Unjudged(ctx context.Context, limit int) ([]Campaign, error)
	// Judged takes those up to a config version off.
	Judged(ctx context.Context, version int64) error
}

// HoldEarlier goes once through the campaigns of earlier builds and has those wait for a reviewer
// in which an undeclared trade is found; everything else of theirs runs on as it was until it is
// edited. Stopped in between it goes on where it was.
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

// missing are the findings about undeclared trades that c has not yet.
func missing(c *Campaign) []Violation {
	return slices.DeleteFunc(ofTrades(c, nil), func(v Violation) bool {
		return v.Rule != ruleUndeclared || slices.Contains(c.PolicyViolations, v)
	})
}
