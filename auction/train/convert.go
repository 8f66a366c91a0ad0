package train

import (
	"math"
	"slices"

	"adnet/auction/index"
	"adnet/auction/ranker"
)

// LeastConversions is the minimum number of conversions needed to learn the rate.
const LeastConversions = 30

// priorConversions is the weight of the first-day table, in predicted conversions.
const priorConversions = 10

// mostStep is the maximum factor by which a version changes the rate: goals controlled by
// predictions (consumers/goal) must be able to follow.
const mostStep = 1.5

// Conversions is the basis of the conversion rate. Kept is the reason for keeping the current rate,
// or empty if a new one is used.
type Conversions struct {
	Clicks      int     `json:"clicks"`
	Conversions int     `json:"conversions"`
	LogLoss     float64 `json:"log_loss"`
	Incumbent   float64 `json:"log_loss_incumbent"`
	Reason      string  `json:"kept,omitempty"`
}

// follow is a click that counts for the conversion rate.
type follow struct {
	*Sample
	family    index.ID // of the advertiser
	unpaid    bool     // the family has no vote: nothing was charged to it
	weight    float64
	predicted float64 // probability of a conversion by the first-day table
}

// convert learns how often the network's clicks lead to conversions. The newest days judge: a rate
// that predicts them worse than the current one is rejected. The rates of single campaigns are not
// learnt here: they follow from settled counters every minute, see internal/ledger/owed.
//
// A guarantee: only conversions that settlement accepted as valid raise the rate; for cpa these
// were paid for.
func convert(
	p *prior, n Network, learnt *ranker.Learnt, clicks []Sample, was ranker.PPM,
) (ranker.PPM, *Conversions) {
	list := p.follows(n, learnt, clicks)
	r := &Conversions{Clicks: len(list)}
	for i := range list {
		if list[i].Converted {
			r.Conversions++
		}
	}
	if r.Conversions < LeastConversions {
		r.Reason = "too few conversions"
		return was, r
	}
	early, late := split(list)
	if r.compare(late, stepped(networkRate(early), part(was)), was) {
		r.Reason = "the rate predicts the newest days worse"
		return was, r
	}
	return stepped(networkRate(list), part(was)), r
}

// follows returns the clicks that count: on campaigns whose bids depend on conversions, so that
// their owners report them. The text of a removed campaign is unknown: it counts as a usual one.
func (p *prior) follows(n Network, learnt *ranker.Learnt, clicks []Sample) (list []follow) {
	clicks = Counted(clicks)
	families := n.families()
	for i := range clicks {
		s := &clicks[i]
		c, family := n.Index.Get(s.Campaign), families.of(s.Advertiser)
		switch {
		case c == nil && s.PerConversion:
			list = append(list, follow{Sample: s, family: family, predicted: p.converts(p.table.Usual)})
		case c != nil && (c.Aim > 0 || s.PerConversion && c.Billing == ranker.CPA):
			list = append(list, follow{
				Sample: s, family: family, unpaid: c.Vote == 0, predicted: p.converts(p.relevance(learnt, s)),
			})
		}
	}
	samples := make([]Sample, len(list))
	for i := range list {
		samples[i] = *list[i].Sample
	}
	weights := Weigh(samples)
	for i := range list {
		list[i].weight = weights[list[i].Publisher]
	}
	return list
}

func (p *prior) converts(r ranker.PPM) float64 {
	return float64(p.table.PConvert(r)) / float64(ranker.Certain)
}

// judging is the maximum number of days that judge: the current rate has not been trained on them,
// as it needed as long to be promoted.
const judging = 3

// split separates the newest days, which hold the last quarter of the clicks.
func split(list []follow) (early, late []follow) {
	days := make([]int32, len(list))
	for i := range list {
		days[i] = list[i].Day
	}
	slices.Sort(days)
	from := max(days[len(days)*3/4], days[len(days)-1]-judging+1)
	for _, f := range list {
		if f.Day >= from {
			late = append(late, f)
		} else {
			early = append(early, f)
		}
	}
	return early, late
}

// compare sets the log losses of the new and the current rate. It reports whether the new one is
// worse by more than two standard errors: the current one may have been trained on the days that
// judge.
func (r *Conversions) compare(late []follow, tried, was ranker.PPM) (worse bool) {
	var weights, more, spread float64
	for i := range late {
		f := &late[i]
		before, now := f.lost(was), f.lost(tried)
		weights += f.weight
		r.Incumbent += float64(f.weight * before)
		r.LogLoss += float64(f.weight * now)
		more += float64(f.weight * (now - before))
		spread += float64(f.weight * f.weight * (now - before) * (now - before))
	}
	r.LogLoss, r.Incumbent = r.LogLoss/weights, r.Incumbent/weights
	return more > 2*math.Sqrt(spread)
}

// lost returns the log loss of a rate on one click.
func (f *follow) lost(rate ranker.PPM) float64 {
	return missed(min(float64(f.predicted*part(rate)), 1), f.Converted)
}

// part returns a rate as a factor, 1 for none.
func part(rate ranker.PPM) float64 {
	if rate == 0 {
		return 1
	}
	return float64(rate) / float64(ranker.Certain)
}

// followed sums up predicted and observed conversions.
type followed struct{ predicted, observed float64 }

func (t *followed) add(f *follow) {
	t.predicted += float64(f.weight * f.predicted)
	if f.Converted {
		t.observed += f.weight
	}
}

// rate returns the rate under a Gamma prior around 1.
func (t *followed) rate() float64 {
	return (t.observed + priorConversions) / (t.predicted + priorConversions)
}

// networkRate returns the rate of all families of advertisers that were charged. A family counts at
// most with its share of the clicks, and with at most [ranker.MostRate] times its predicted
// conversions: one that reports a conversion for every click changes the network's rate by 15 %
// among 20.
func networkRate(list []follow) float64 {
	counts, own := map[index.ID]float64{}, map[index.ID]*followed{}
	var order []index.ID
	for i := range list {
		f := &list[i]
		if f.unpaid {
			continue
		}
		if own[f.family] == nil {
			own[f.family], order = &followed{}, append(order, f.family)
		}
		own[f.family].add(f)
		counts[f.family]++
	}
	shares := limited(counts)
	var all followed
	for _, id := range order {
		of, share := own[id], shares[id]
		all.predicted += float64(share * of.predicted)
		all.observed += float64(share * min(of.observed, part(ranker.MostRate)*of.predicted))
	}
	return all.rate()
}

// stepped returns a rate within its bounds and within one step of its current value.
func stepped(rate, was float64) ranker.PPM {
	rate = max(was/mostStep, min(was*mostStep, rate))
	return max(ranker.LeastRate, min(ranker.MostRate, ranker.PPM(math.Round(rate*float64(ranker.Certain)))))
}
