package owed

import "time"

// ages are the times after a click at which a [Curve] has its values.
var ages = [...]time.Duration{
	time.Hour, 6 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour,
	14 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// Curve is the part of a click's conversions that are reported within 1 and 6 hours and 1, 2, 3, 7,
// 14 and 30 days of the click, in parts per million. It never decreases and ends at [Same].
type Curve [len(ages)]PPM

// FirstCurve is the curve of a network without history.
var FirstCurve = Curve{450_000, 600_000, 750_000, 850_000, 900_000, 960_000, 990_000, Same}

// curveWeight is the weight of [FirstCurve] against reported conversions, in conversions.
const curveWeight = 30

// Bucket returns the place in the delays of [LearnCurve] of a conversion reported so long after its
// click, and false if no curve reaches that far.
func Bucket(delay time.Duration) (at int, ok bool) {
	for at, end := range ages {
		if delay <= end {
			return at, true
		}
	}
	return 0, false
}

// LearnCurve returns the curve of a network from the number of conversions by [Bucket] of their
// delay. Clicks that conversions may still follow should be left out, as only their fast ones are
// known.
func LearnCurve(delays [len(ages)]int64) (c Curve) {
	all, sum := int64(curveWeight), int64(0)
	for _, n := range delays {
		all += max(0, n)
	}
	for i, n := range delays {
		sum += max(0, n)
		c[i] = mulDiv(sum*Same+curveWeight*FirstCurve[i], 1, all)
	}
	return c
}

// Due returns the part of the conversions that are reported within an age.
func (c Curve) Due(age time.Duration) PPM {
	from, value := time.Duration(0), PPM(0)
	for i, end := range ages {
		if age < end {
			return value + mulDiv(c[i]-value, int64(max(0, age-from)/time.Second), int64((end-from)/time.Second))
		}
		from, value = end, c[i]
	}
	return Same
}

// due returns the impressions and clicks of a campaign, each counted with the part of its
// conversions that are due.
func (c Curve) due(k *Campaign) (impressions, clicks int64) {
	impressions, clicks = k.Impressions, k.Clicks
	for _, r := range k.Recent {
		open := Same - c.Due(r.Age)
		impressions -= mulDiv(r.Impressions, open, Same)
		clicks -= mulDiv(r.Clicks, open, Same)
	}
	return max(0, impressions), max(0, clicks)
}
