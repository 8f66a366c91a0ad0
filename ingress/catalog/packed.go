package catalog

import (
	"encoding/binary"
	"slices"
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

// served has the fields that nodes store in the order of their storage: what is read alone comes
// first.
var served = func() []campaign.Field {
	first := []string{"config_version", "frequency_cap"}
	var fields []campaign.Field
	for _, name := range first {
		fields = append(fields, *campaign.FieldNamed(name))
	}
	for _, f := range campaign.Table {
		if f.Served && !slices.Contains(first, f.Name) {
			fields = append(fields, f)
		}
	}
	return fields
}()

// pack appends c without its id, which is the key in the campaign table.
func pack(to []byte, c *campaign.Campaign) []byte {
	for i := range served {
		to = appendValue(to, &served[i].Spec, served[i].At(c))
	}
	to = appendFlag(to, c.PagesOnly)
	to = binary.AppendVarint(to, int64(len(c.PolicyViolations)))
	for _, v := range c.PolicyViolations {
		to = appendString(appendString(appendString(to, v.Rule), v.Field), v.Message)
		to = appendFlag(to, v.Holds)
	}
	if to = appendFlag(to, c.Approved != nil); c.Approved != nil {
		for i := range campaign.CreativeTable {
			f := &campaign.CreativeTable[i]
			to = appendValue(to, &f.Spec, f.At(c.Approved))
		}
	}
	return to
}

// appendValue appends the value at at, the result of [campaign.Row.At].
func appendValue(to []byte, f *campaign.Spec, at any) []byte {
	switch at := at.(type) {
	case *string:
		if f.Kind == campaign.Choice {
			return appendChoice(to, f.Values, *at)
		}
		return appendString(to, *at)
	case *[]string:
		return appendList(to, *at)
	case *int64:
		return binary.AppendVarint(to, *at)
	case *int:
		return binary.AppendVarint(to, int64(*at))
	case *money.Micros:
		return binary.AppendVarint(to, int64(*at))
	case *bool:
		return appendFlag(to, *at)
	case **time.Time:
		return binary.AppendVarint(to, int64(second(*at)))
	case *uuid.UUID:
		return append(to, at[:]...)
	}
	panic("catalog: field " + f.Name + " has a type that is not stored")
}

// appendChoice appends the place of value among values in one byte, or 0 and a value of a newer
// build.
func appendChoice(to []byte, values []string, value string) []byte {
	i := slices.Index(values, value) + 1
	if to = append(to, byte(i)); i == 0 {
		return appendString(to, value)
	}
	return to
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
	c := &campaign.Campaign{ID: id}
	for i := range served {
		u.value(&served[i].Spec, served[i].At(c))
	}
	c.PagesOnly = u.flag()
	if n := u.number(); n > 0 {
		c.PolicyViolations = make([]campaign.Violation, n)
		for i := range c.PolicyViolations {
			c.PolicyViolations[i] = campaign.Violation{
				Rule: u.string(), Field: u.string(), Message: u.string(), Holds: u.flag(),
			}
		}
	}
	if u.flag() {
		c.Approved = new(campaign.Creative)
		for i := range campaign.CreativeTable {
			f := &campaign.CreativeTable[i]
			u.value(&f.Spec, f.At(c.Approved))
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

// value reads a value of [appendValue] into at.
func (u *unpacker) value(f *campaign.Spec, at any) {
	switch at := at.(type) {
	case *string:
		if f.Kind == campaign.Choice {
			*at = u.choice(f.Values)
		} else {
			*at = u.string()
		}
	case *[]string:
		*at = u.list()
	case *int64:
		*at = u.number()
	case *int:
		*at = int(u.number())
	case *money.Micros:
		*at = money.Micros(u.number())
	case *bool:
		*at = u.flag()
	case **time.Time:
		*at = u.date()
	case *uuid.UUID:
		copy(at[:], u.take(len(at)))
	}
}

// choice reads a value of [appendChoice].
func (u *unpacker) choice(values []string) string {
	if i := u.take(1)[0]; i > 0 {
		return values[i-1]
	}
	return u.string()
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
