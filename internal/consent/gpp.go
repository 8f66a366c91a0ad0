package consent

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
)

// Sections of GPP that are read. Others that were given out say nothing of what adnet does; what
// was given out later may be a state's, so it counts as a text that cannot be read.
const (
	gppTCF         = 2
	gppUSP         = 6
	gppUSNational  = 7
	gppCalifornia  = 8
	gppUtah        = 11
	gppIowa        = 18
	gppMaryland    = 24
	gppIndiana     = 25
	gppKentucky    = 26
	gppRhodeIsland = 27
	gppLast        = gppRhodeIsland
)

// optOuts are where a section has its answers of two bits, 1 for "opted out" (of sale, of sharing,
// of targeted advertising). All have 6 bits of version before. States that are not named have them
// where most have: after three notices. Two states have a fourth, and the newest say before them
// which contract holds.
var (
	optOutsOf = map[int][]int{
		gppUSNational: {18, 20, 22}, gppCalifornia: {12, 14}, gppUtah: {14, 16}, gppIowa: {14, 16},
		gppMaryland: {16, 18}, gppIndiana: {16, 18}, gppKentucky: {16, 18}, gppRhodeIsland: {16, 18},
	}
	ofStates = []int{12, 14}
)

// platform reads a GPP string: the sections that are in force. Own code, since the library that
// there is can be kept busy for ever by a header of a few bytes (a range of sections that ends with
// 65,535), and knows no section after 12.
func (s *Signals) platform() (f Flags) {
	if len(s.GPP) > maxText {
		return Malformed
	}
	parts := strings.Split(s.GPP, "~")
	ids, ok := sections(parts[0])
	if !ok || len(ids) != len(parts)-1 {
		return Malformed
	}
	for i, id := range ids {
		if id == gppTCF && s.GDPR == No || len(s.Sections) > 0 && !slices.Contains(s.Sections, int64(id)) {
			continue
		}
		f |= section(id, parts[i+1])
	}
	return f
}

func section(id int, text string) Flags {
	switch {
	case id == gppTCF:
		return GDPR | storage(text)
	case id == gppUSP:
		return usPrivacy(text)
	case id >= gppUSNational && id <= gppLast:
		return state(id, text)
	case id > gppLast:
		return Malformed
	}
	return 0
}

// state reads a section of the USA: its core, and after a dot what says whether GPC is on.
func state(id int, text string) Flags {
	core, rest, _ := strings.Cut(text, ".")
	b, ok := readBits(core)
	at := optOutsOf[id]
	if at == nil {
		at = ofStates
	}
	if !ok || b.left() < at[len(at)-1]+2 {
		return Malformed
	}
	for _, from := range at {
		b.at = from
		if b.take(2) == 1 {
			return OptOut
		}
	}
	for segment := range strings.SplitSeq(rest, ".") {
		s, ok := readBits(segment)
		if !ok {
			return Malformed
		}
		if s.left() >= 3 && s.take(2) == 1 && s.take(1) == 1 { // type GPC, switched on
			return OptOut
		}
	}
	return 0
}

// mostSections bounds a header; IAB has given out less than 30 numbers.
const mostSections = 64

// sections reads the header: type 3, version 1, and the ids of the sections as a range of Fibonacci
// codes, each the difference to the one before.
func sections(header string) (ids []int, ok bool) {
	b, ok := readBits(header)
	if !ok || b.left() < 24 || b.take(6) != 3 || b.take(6) != 1 {
		return nil, false
	}
	last := 0
	for range b.take(12) {
		if b.left() < 1 {
			return nil, false
		}
		isRange := b.take(1) == 1
		first, fine := b.fibonacci()
		length := 0
		if fine && isRange {
			length, fine = b.fibonacci()
		}
		if !fine || len(ids)+length+1 > mostSections {
			return nil, false
		}
		for id := last + first; id <= last+first+length; id++ {
			ids = append(ids, id)
		}
		last += first + length
	}
	return ids, true
}

// bits are read from the left.
type bits struct {
	data    []byte
	at, end int
}

// readBits reads base64 of the URL alphabet. In GPP a text ends after any character, and all bits
// of it count: it is filled up with zeros.
func readBits(text string) (bits, bool) {
	text = strings.TrimRight(text, "=")
	data, err := base64.RawURLEncoding.DecodeString(text + "AAA"[:(4-len(text)%4)%4])
	return bits{data: data, end: 6 * len(text)}, err == nil && 8*len(data) >= 6*len(text) // line breaks are passed over
}

func (b *bits) left() int { return b.end - b.at }

// take reads n bits; the caller has asked whether they are there.
func (b *bits) take(n int) (v int) {
	for range n {
		v = v<<1 | int(b.data[b.at/8]>>(7-b.at%8)&1)
		b.at++
	}
	return v
}

// fibonacci reads a number in Fibonacci's code, which ends with two ones; false for one that does
// not end or no list of sections needs.
func (b *bits) fibonacci() (n int, ok bool) {
	before := 0
	for low, high := 1, 2; b.left() > 0 && high < math.MaxInt16; low, high = high, low+high {
		bit := b.take(1)
		if bit == 1 && before == 1 {
			return n, true
		}
		n += bit * low
		before = bit
	}
	return 0, false
}
