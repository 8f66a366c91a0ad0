package catalog

import (
	"encoding/binary"
	"reflect"
	"slices"
	"time"
	"unsafe"

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

// slot is a stored field, resolved at start: a call and a type switch for each value would slow down
// every ad (benchmark row ad_request_100k).
type slot struct {
	offset uintptr // of the value in its struct
	form   form
	values []string // of a choice
}

// form is the stored form of a value.
type form uint8

const (
	formText form = iota
	formChoice
	formList
	formNumber // int64 and amounts
	formInt
	formFlag
	formDate
	formID
)

// served has the fields that nodes store in the order of their storage: what is read alone comes
// first. creative has those of the approved version.
var (
	served = slotsOf(func() []campaign.Field {
		first := []string{"config_version", "frequency_cap"}
		fields := []campaign.Field{*campaign.FieldNamed(first[0]), *campaign.FieldNamed(first[1])}
		for _, f := range campaign.Table {
			if f.Served && !slices.Contains(first, f.Name) {
				fields = append(fields, f)
			}
		}
		return fields
	}())
	creative = slotsOf(campaign.CreativeTable)
)

func slotsOf[T any](rows []campaign.Row[T]) (slots []slot) {
	of := new(T)
	for i := range rows {
		at := rows[i].At(of)
		offset := uintptr(reflect.ValueOf(at).UnsafePointer()) - uintptr(unsafe.Pointer(of))
		slots = append(slots, slot{offset, formOf(&rows[i].Spec, at), rows[i].Values})
	}
	return slots
}

func formOf(f *campaign.Spec, at any) form {
	switch at.(type) {
	case *string:
		if f.Kind == campaign.Choice {
			return formChoice
		}
		return formText
	case *[]string:
		return formList
	case *int64, *money.Micros:
		return formNumber
	case *int:
		return formInt
	case *bool:
		return formFlag
	case **time.Time:
		return formDate
	case *uuid.UUID:
		return formID
	}
	panic("catalog: the field " + f.Name + " has a type that nodes do not store")
}

// pack appends c without its id, which is the key in the campaign table.
func pack(to []byte, c *campaign.Campaign) []byte {
	to = appendFields(to, served, unsafe.Pointer(c))
	to = appendFlag(to, c.PagesOnly)
	to = binary.AppendVarint(to, int64(len(c.PolicyViolations)))
	for _, v := range c.PolicyViolations {
		to = appendString(appendString(appendString(to, v.Rule), v.Field), v.Message)
		to = appendFlag(to, v.Holds)
	}
	if to = appendFlag(to, c.Approved != nil); c.Approved != nil {
		to = appendFields(to, creative, unsafe.Pointer(c.Approved))
	}
	return to
}

// appendFields appends the fields of the struct at of.
func appendFields(to []byte, slots []slot, of unsafe.Pointer) []byte {
	for i := range slots {
		at := unsafe.Add(of, slots[i].offset)
		switch slots[i].form {
		case formText:
			to = appendString(to, *(*string)(at))
		case formChoice:
			to = appendChoice(to, slots[i].values, *(*string)(at))
		case formList:
			to = appendList(to, *(*[]string)(at))
		case formNumber:
			to = binary.AppendVarint(to, *(*int64)(at))
		case formInt:
			to = binary.AppendVarint(to, int64(*(*int)(at)))
		case formFlag:
			to = appendFlag(to, *(*bool)(at))
		case formDate:
			to = binary.AppendVarint(to, int64(second(*(**time.Time)(at))))
		case formID:
			to = append(to, (*uuid.UUID)(at)[:]...)
		}
	}
	return to
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
	u.fields(served, unsafe.Pointer(c))
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
		u.fields(creative, unsafe.Pointer(c.Approved))
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

// fields reads the fields of [appendFields] into the struct at of.
func (u *unpacker) fields(slots []slot, of unsafe.Pointer) {
	for i := range slots {
		at := unsafe.Add(of, slots[i].offset)
		switch slots[i].form {
		case formText:
			*(*string)(at) = u.string()
		case formChoice:
			*(*string)(at) = u.choice(slots[i].values)
		case formList:
			*(*[]string)(at) = u.list()
		case formNumber:
			*(*int64)(at) = u.number()
		case formInt:
			*(*int)(at) = int(u.number())
		case formFlag:
			*(*bool)(at) = u.flag()
		case formDate:
			*(**time.Time)(at) = u.date()
		case formID:
			copy((*uuid.UUID)(at)[:], u.take(len(uuid.UUID{})))
		}
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
