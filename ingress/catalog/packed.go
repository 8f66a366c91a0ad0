package catalog

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// packed is a campaign encoded in one string. Reading returns parts of that string, so nothing is
// copied, and the garbage collector has no pointers to follow. Campaigns that were loaded together
// share one larger string.
type packed string

// packAll packs campaigns one after the other. Each ends where the next begins.
func packAll(list []campaign.Campaign) (packedBytes packed, ends []int) {
	var all []byte
	ends = make([]int, len(list))
	for i := range list {
		all = pack(all, &list[i])
		ends[i] = len(all)
	}
	return packed(all), ends
}

// pack appends c without its id, which is the key in the campaign table.
func pack(to []byte, c *campaign.Campaign) []byte {
	to = binary.AppendVarint(to, c.ConfigVersion)
	to = binary.AppendVarint(to, int64(c.FrequencyCap))
	to = append(to, c.AdvertiserID[:]...)
	to = appendFlag(to, c.CreditFunded)
	to = appendFlag(to, c.ClickID == campaign.ClickIDOff)
	to = append(to, flagsOf(c))
	to = binary.AppendVarint(to, int64(c.BidAmount))
	to = binary.AppendVarint(to, int64(c.SkippableAfterSec))
	to = binary.AppendVarint(to, int64(second(c.StartAt)))
	to = binary.AppendVarint(to, int64(second(c.EndAt)))
	for _, s := range [...]string{
		string(c.Status), string(c.Format), string(c.BillingModel), string(c.Pacing),
		c.Headline, c.Subtext, c.MediaURL, c.PosterURL, c.LogoURL, c.CTALabel, c.CTAURL,
	} {
		to = appendString(to, s)
	}
	to = appendList(appendList(to, c.Deals), c.Categories)
	to = appendList(appendList(appendList(to, c.ExcludeContexts), c.SensitiveContexts), c.Trades)
	to = binary.AppendVarint(to, int64(len(c.PolicyViolations)))
	for _, v := range c.PolicyViolations {
		to = appendString(appendString(appendString(to, v.Rule), v.Field), v.Message)
		to = appendFlag(to, v.Holds)
	}
	if v := c.Approved; v != nil {
		for _, s := range [...]string{
			string(v.Format), v.Headline, v.Subtext, v.CTALabel, v.CTAURL, v.MediaURL, v.PosterURL, v.LogoURL,
		} {
			to = appendString(to, s)
		}
	}
	return to
}

// The flags of [flagsOf].
const (
	flagOnView = 1 << iota
	flagPagesOnly
	flagApproved // an approved version follows
)

func flagsOf(c *campaign.Campaign) (flags byte) {
	if c.BillingEvent == campaign.OnView {
		flags |= flagOnView
	}
	if c.PagesOnly {
		flags |= flagPagesOnly
	}
	if c.Approved != nil {
		flags |= flagApproved
	}
	return flags
}

func appendFlag(to []byte, flag bool) []byte {
	if flag {
		return append(to, 1)
	}
	return append(to, 0)
}

func appendString(to []byte, s string) []byte {
	return append(binary.AppendVarint(to, int64(len(s))), s...)
}

func appendList(to []byte, list []string) []byte {
	to = binary.AppendVarint(to, int64(len(list)))
	for _, s := range list {
		to = appendString(to, s)
	}
	return to
}

// version returns the config version.
func (p packed) version() int64 {
	u := unpacker(p)
	return u.number()
}

// frequencyCap reads only the cap, since every beacon needs it (benchmark row beacon).
func (p packed) frequencyCap() int {
	u := unpacker(p)
	u.number() // the version
	return int(u.number())
}

// campaign decodes the packed campaign.
func (p packed) campaign(id uuid.UUID) *campaign.Campaign {
	u := unpacker(p)
	c := &campaign.Campaign{ID: id, ConfigVersion: u.number(), FrequencyCap: int(u.number())}
	copy(c.AdvertiserID[:], u.take(len(c.AdvertiserID)))
	c.CreditFunded = u.flag()
	if c.ClickID = campaign.ClickIDOn; u.flag() {
		c.ClickID = campaign.ClickIDOff
	}
	flags := u.take(1)[0]
	if c.BillingEvent = campaign.OnImpression; flags&flagOnView != 0 {
		c.BillingEvent = campaign.OnView
	}
	c.PagesOnly = flags&flagPagesOnly != 0
	c.BidAmount, c.SkippableAfterSec = money.Micros(u.number()), int(u.number())
	c.StartAt, c.EndAt = u.date(), u.date()
	c.Status, c.Format = campaign.Status(u.string()), campaign.Format(u.string())
	c.BillingModel, c.Pacing = campaign.BillingModel(u.string()), campaign.Pacing(u.string())
	for _, s := range [...]*string{
		&c.Headline, &c.Subtext, &c.MediaURL, &c.PosterURL, &c.LogoURL, &c.CTALabel, &c.CTAURL,
	} {
		*s = u.string()
	}
	c.Deals, c.Categories = u.list(), u.list()
	c.ExcludeContexts, c.SensitiveContexts, c.Trades = u.list(), u.list(), u.list()
	if n := u.number(); n > 0 {
		c.PolicyViolations = make([]campaign.Violation, n)
		for i := range c.PolicyViolations {
			c.PolicyViolations[i] = campaign.Violation{
				Rule: u.string(), Field: u.string(), Message: u.string(), Holds: u.flag(),
			}
		}
	}
	if flags&flagApproved != 0 {
		c.Approved = &campaign.Creative{
			Format: campaign.Format(u.string()), Headline: u.string(), Subtext: u.string(), CTALabel: u.string(),
			CTAURL: u.string(), MediaURL: u.string(), PosterURL: u.string(), LogoURL: u.string(),
		}
	}
	return c
}

// unpacker holds the unread rest of a packed campaign.
type unpacker string

func (u *unpacker) take(n int) string {
	s := (*u)[:n]
	*u = (*u)[n:]
	return string(s)
}

// number reads a varint.
func (u *unpacker) number() int64 {
	var n uint64
	for i := 0; ; i++ {
		b := (*u)[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			*u = (*u)[i+1:]
			return int64(n>>1) ^ -int64(n&1)
		}
	}
}

// date reads a date written by [pack], nil for none.
func (u *unpacker) date() *time.Time {
	seconds := u.number()
	if seconds == 0 {
		return nil
	}
	at := time.Unix(seconds, 0).UTC()
	return &at
}

func (u *unpacker) flag() bool { return u.take(1) == "\x01" }

func (u *unpacker) string() string { return u.take(int(u.number())) }

// list returns nil if the list is empty.
func (u *unpacker) list() []string {
	n := u.number()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = u.string()
	}
	return list
}

// targetings lets campaigns that are read together share equal targetings, since most are equal.
type targetings struct {
	known map[string]*auction.Targeting
	key   []byte
}

func newTargetings() *targetings { return &targetings{known: map[string]*auction.Targeting{}} }

// of returns the targeting of k. It does not retain memory of k.
func (t *targetings) of(k *campaign.Campaign) *auction.Targeting {
	t.key = t.key[:0]
	exact := k.Mode != campaign.Broad
	if exact {
		t.key = append(t.key, 1)
	} else {
		t.key = append(t.key, 0)
	}
	for _, list := range [...][]string{
		k.IntentTokens, k.Keywords, k.ActiveTools, k.HostApps, k.Surfaces, k.IntegrationMethods, k.Regions, k.Languages,
		k.Deals,
	} {
		t.key = appendList(t.key, list)
	}
	shared, ok := t.known[string(t.key)]
	if !ok {
		text := string(t.key)
		u := unpacker(text[1:])
		shared = &auction.Targeting{
			Exact: exact, IntentTokens: u.list(), Keywords: u.list(), ActiveTools: u.list(), HostApps: u.list(),
			Surfaces:           u.list(),
			IntegrationMethods: u.list(), Regions: u.list(), Languages: u.list(), Deals: u.list(),
		}
		t.known[text] = shared
	}
	return shared
}
