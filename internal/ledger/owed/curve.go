package owed

import "time"

// ages are the times after an auction at which a [Curve] has its values. A click follows its auction
// within minutes.
var ages = [...]time.Duration{
	time.Hour, 6 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour,
	14 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// Curve is the part of a click's conversions that are reported within 1 and 6 hours and 1, 2, 3, 7,
// 14 and 30 days of the auction, in parts per million. It never decreases and ends at [Same].
type Curve [len(ages)]PPM

// FirstCurve is the curve of a network without history.
var FirstCurve = Curve{450_000, 600_000, 750_000, 850_000, 900_000, 960_000, 990_000, Same}

// curveWeight is the weight of [FirstCurve] against reported conversions, in conversions.
const curveWeight = 30

// mostDelays is the most conversions of one delay that count, so that the sums do not overflow.
const mostDelays = 1e11

// Bucket returns the place in the delays of [LearnCurve] of a conversion reported so long after its
// auction, and false if no curve reaches that far.
func Bucket(delay time.Duration) (at int, ok bool) {
	for at, end := range ages {
		if delay <= end {
			return at, true
		}
	}
	return 0, false
}

// Delays are the conversions of a family by [Bucket] of their delay.
type Delays struct {
	Weight      PPM // from 0 to [Same]
	Conversions [len(ages)]int64
}

// NetworkCurve returns the curve of a network from the delays of its families. Each counts by its
// weight, and for at most a fifth of all or as [FirstCurve], so that none sets the delay for the
// others.
func NetworkCurve(families []Delays) Curve {
	weighed := func(d *Delays) (sum int64) {
		for _, n := range d.Conversions {
			sum = min(limit, sum+mulDiv(n, d.Weight, 1))
		}
		return sum
	}
	var total int64
	for i := range families {
		total = min(limit, total+weighed(&families[i]))
	}
	var sums [len(ages)]int64
	for i := range families {
		d := &families[i]
		all := weighed(d)
		most := max((total-all)/(rateShare-1), curveWeight*Same)
		for at, n := range d.Conversions {
			part := mulDiv(n, d.Weight, 1)
			if all > most {
				part = mulDiv(part, most, all)
			}
			sums[at] = min(limit, sums[at]+part)
		}
	}
	for at := range sums {
		sums[at] /= Same
	}
	return LearnCurve(sums)
}

// LearnCurve returns the curve of a network from the number of conversions by [Bucket] of their
// delay. Clicks that conversions may still follow should be left out, as only their fast ones are
// known.
func LearnCurve(delays [len(ages)]int64) (c Curve) {
	all, sum := int64(curveWeight), int64(0)
	for _, n := range delays {
		all += min(mostDelays, max(0, n))
	}
	for i, n := range delays {
		sum += min(mostDelays, max(0, n))
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
