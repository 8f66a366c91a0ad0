package ledger

import (
	"fmt"

	"adnet/internal/stream"
)

// Claims holds the ranges that a transaction has claimed: true once their outcomes are applied.
type Claims map[stream.Range]bool

// Claim returns the claims of ranges. Error: an empty range, or one below offset 0.
func Claim(ranges []stream.Range) (Claims, error) {
	c := make(Claims, len(ranges))
	for _, r := range ranges {
		if r.First < 0 || r.Next <= r.First {
			return nil, fmt.Errorf("claim %s: not a range", r)
		}
		c[r] = false
	}
	return c, nil
}

// Apply marks the claimed ranges as applied. Error: applied does not cover each of them exactly
// once, with an outcome for each record.
func (c Claims) Apply(applied []AppliedRange) error {
	if len(applied) != len(c) {
		return fmt.Errorf("%d ranges were claimed, %d applied", len(c), len(applied))
	}
	for i := range applied {
		a := &applied[i]
		if done, claimed := c[a.Range]; !claimed || done {
			return fmt.Errorf("applied range %s was not claimed, or is applied twice", a.Range)
		}
		c[a.Range] = true
		if int64(len(a.Outcomes)) != a.Next-a.First {
			return fmt.Errorf("applied range %s has %d outcomes", a.Range, len(a.Outcomes))
		}
	}
	return nil
}
