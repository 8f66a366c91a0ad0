package report

import (
	"cmp"
	"strings"
)

// Add adds o.
func (c *Counts) Add(o Counts) {
	c.Impressions += o.Impressions
	c.Clicks += o.Clicks
	c.Closes += o.Closes
	c.Skips += o.Skips
	c.VideoCompletes += o.VideoCompletes
	c.Viewable += o.Viewable
	c.Conversions += o.Conversions
	c.Spend += o.Spend
	c.Credits += o.Credits
	c.Billed += o.Billed
	c.ConversionUSD = c.ConversionUSD.AddSaturated(o.ConversionUSD)
	c.Duplicates += o.Duplicates
	c.Rejected += o.Rejected
	c.Sandbox += o.Sandbox
	c.Invalid += o.Invalid
	c.Unverified += o.Unverified
}

// BySpend orders Result.Groups: larger spend first, then by key.
func BySpend(a, b Group) int {
	return cmp.Or(cmp.Compare(b.Spend, a.Spend), strings.Compare(a.Key, b.Key))
}
