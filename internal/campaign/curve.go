package campaign

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Quarters is the number of parts of a UTC day in a [Curve], 15 minutes each.
const Quarters = 96

// Curve is the usual spread of a campaign's opportunities over the UTC day: the share of each
// quarter of an hour, relative to the largest, which is 65,535. The zero value means unknown.
type Curve [Quarters]uint16

// minOpportunities is the minimum number of opportunities for a curve: fewer reflect chance more
// than the day.
const minOpportunities = 500

// CurveOf computes the curve of counts per quarter of an hour, of one or several days. ok is false
// if there are too few.
func CurveOf(counts *[Quarters]int64) (c Curve, ok bool) {
	var sum, top int64
	var smooth [Quarters]int64
	for i, n := range counts {
		// Smooth over three quarters: a single busy quarter of a past day should not shape the
		// plan.
		smooth[i] = counts[(i+Quarters-1)%Quarters] + 2*n + counts[(i+1)%Quarters]
		sum += n
		top = max(top, smooth[i])
	}
	if sum < minOpportunities {
		return c, false
	}
	for i, n := range smooth {
		c[i] = uint16(n * 65535 / top)
	}
	return c, true
}

var errCurve = errors.New("not a curve of traffic")

// MarshalText returns the curve as base64 of its big-endian values, 256 bytes.
func (c Curve) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 2*Quarters)
	for _, v := range c {
		raw = binary.BigEndian.AppendUint16(raw, v)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText parses the output of MarshalText.
func (c *Curve) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw) != 2*Quarters {
		return errCurve
	}
	for i := range c {
		c[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	return nil
}
