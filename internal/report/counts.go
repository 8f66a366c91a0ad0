package report

import (
	"cmp"
	"strings"

	"adnet/schemas/event"
)

// Events counts events by type.
type Events [event.Types]int64

// Impressions returns the count of impressions.
func (e Events) Impressions() int64 { return e[event.Type_IMPRESSION] }

// Clicks returns the count of clicks.
func (e Events) Clicks() int64 { return e[event.Type_CLICK] }

// Conversions returns the count of conversions.
func (e Events) Conversions() int64 { return e[event.Type_CONVERSION] }

// Add adds o.
func (c *Counts) Add(o Counts) {
	for t, n := range o.Events {
		c.Events[t] += n
	}
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

// sub subtracts o, which counts a part of c's events. A saturated value of conversions stays at
// least 0.
func (c *Counts) sub(o *Counts) {
	for t, n := range o.Events {
		c.Events[t] -= n
	}
	c.Spend -= o.Spend
	c.Credits -= o.Credits
	c.Billed -= o.Billed
	c.ConversionUSD = max(c.ConversionUSD-o.ConversionUSD, 0)
	c.Duplicates -= o.Duplicates
	c.Rejected -= o.Rejected
	c.Sandbox -= o.Sandbox
	c.Invalid -= o.Invalid
	c.Unverified -= o.Unverified
}

// BySpend orders Result.Groups: larger spend first, then by the keys.
func BySpend(a, b Group) int {
	return cmp.Or(cmp.Compare(b.Spend, a.Spend), strings.Compare(a.Key, b.Key), strings.Compare(a.Then, b.Then))
}
