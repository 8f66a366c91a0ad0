package consent

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
)

// The supported GPP sections. Other sections known today are irrelevant to adnet. A later section
// may belong to a US state, so it counts as an unreadable text.
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

// optOuts are the positions of a section's two-bit answers, in which 1 means "opted out" (of sale,
// of sharing, of targeted advertising). In all sections a version of 6 bits comes first. States not
// listed here have the answers at the usual position: after three notices. Two states have a fourth
// notice, and in the newest sections the applicable contract comes first.
var (
	optOutsOf = map[int][]int{
		gppUSNational: {18, 20, 22}, gppCalifornia: {12, 14}, gppUtah: {14, 16}, gppIowa: {14, 16},
		gppMaryland: {16, 18}, gppIndiana: {16, 18}, gppKentucky: {16, 18}, gppRhodeIsland: {16, 18},
	}
	ofStates = []int{12, 14}
)

// platform parses a GPP string and evaluates the sections in force. The code is our own, because a
// header of a few bytes (a range of sections that ends with 65,535) can keep the available library
// busy forever, and because that library knows no section after 12.
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

// state parses a section of the USA: its core and, after a dot, the GPC subsection.
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
		if s.left() >= 3 && s.take(2) == 1 && s.take(1) == 1 { // type GPC, enabled
			return OptOut
		}
	}
	return 0
}

// mostSections bounds a header. The IAB has assigned fewer than 30 numbers.
const mostSections = 64

// sections parses the header: type 3, version 1, and the section ids as a range of Fibonacci codes,
// each the difference to the previous id.
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

// bits is a bit reader, starting at the left.
type bits struct {
	data    []byte
	at, end int
}

// readBits decodes base64 of the URL alphabet. In GPP a text may end after any character, and all
// its bits count: it is padded with zeros.
func readBits(text string) (bits, bool) {
	text = strings.TrimRight(text, "=")
	data, err := base64.RawURLEncoding.DecodeString(text + "AAA"[:(4-len(text)%4)%4])
	return bits{data: data, end: 6 * len(text)}, err == nil && 8*len(data) >= 6*len(text) // line breaks are skipped
}

func (b *bits) left() int { return b.end - b.at }

// take reads n bits. The caller has checked that they exist.
func (b *bits) take(n int) (v int) {
	for range n {
		v = v<<1 | int(b.data[b.at/8]>>(7-b.at%8)&1)
		b.at++
	}
	return v
}

// fibonacci reads a number in Fibonacci code, which ends with two ones. It returns false for a
// number without an end, or larger than a list of sections can need.
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
