package train

import (
	"math"
	"slices"

	"adnet/auction/ranker"
	"adnet/auction/target"
)

// LeastConversions is the minimum number of conversions needed to learn rates.
const LeastConversions = 30

// priorConversions is the weight, in predicted conversions, of the initial rate of a campaign: its
// advertiser's rate, which in turn starts at the network's.
const priorConversions = 10

// mostStep is the maximum factor by which a version changes a rate: goals controlled by predictions
// (consumers/goal) must be able to follow.
const mostStep = 1.5

// Conversions is the basis of the conversion rates. Kept is the reason for keeping the current
// rates, or empty if new ones are used.
type Conversions struct {
	Clicks      int     `json:"clicks"`
	Conversions int     `json:"conversions"`
	LogLoss     float64 `json:"log_loss"`
	Incumbent   float64 `json:"log_loss_incumbent"`
	Kept        string  `json:"kept,omitempty"`
}

// follow is a click that counts for a campaign's conversion rate.
type follow struct {
	*Sample
	family    target.ID // of the advertiser
	unpaid    bool      // the family has no vote: nothing was charged to it
	weight    float64
	predicted float64 // probability of a conversion by the first-day table
}

// convert learns how often clicks lead to conversions. The newest days judge: rates that predict
// them worse than the current rates are rejected.
//
// A guarantee: only conversions that settlement accepted as valid raise a rate; for cpa these were
// paid for. An advertiser that reports none gets a lower rate for all of its campaigns, running or
// removed, and its new campaigns start with it.
func convert(
	p *prior, n Network, learnt *ranker.Learnt, clicks []Sample, was *ranker.Rates,
) (ranker.Rates, *Conversions) {
	list := p.follows(n, learnt, clicks)
	r := &Conversions{Clicks: len(list)}
	for i := range list {
		if list[i].Converted {
			r.Conversions++
		}
	}
	if r.Conversions < LeastConversions {
		r.Kept = "too few conversions"
		return *was, r
	}
	early, late := split(list)
	tried := learnRates(early, was)
	if r.compare(late, &tried, was) {
		r.Kept = "the rates predict the newest days worse"
		return *was, r
	}
	return learnRates(list, was), r
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

// judging is the maximum number of days that judge: the current rates have not been trained on
// them, as they needed as long to be promoted.
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

// compare sets the log losses of the new and the current rates. It reports whether the new ones are
// worse by more than two standard errors: the current ones may have been trained on the days that
// judge.
func (r *Conversions) compare(late []follow, tried, was *ranker.Rates) (worse bool) {
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

// lost returns the log loss of rates on one click.
func (f *follow) lost(rates *ranker.Rates) float64 {
	p := f.predicted * part(rates.Network) * part(rates.Of(f.Campaign, f.Advertiser))
	return missed(min(p, 1), f.Converted)
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

func (t *followed) add(f *follow, weight, rate float64) {
	t.predicted += float64(weight * f.predicted * rate)
	if f.Converted {
		t.observed += weight
	}
}

// rate returns the rate under a Gamma prior around its initial value.
func (t *followed) rate(begins float64) float64 {
	return (t.observed + priorConversions) / (t.predicted + priorConversions/begins)
}

// learnRates returns the rates of a list, each at most one step from its current value.
func learnRates(list []follow, was *ranker.Rates) ranker.Rates {
	learnt := ranker.Rates{
		Network: stepped(networkRate(list), part(was.Network)), Campaigns: map[[16]byte]ranker.PPM{},
		Advertisers: map[[16]byte]ranker.PPM{},
	}
	network := part(learnt.Network)
	advertisers, campaigns, owners := map[target.ID]*followed{}, map[target.ID]*followed{}, map[target.ID]target.ID{}
	for i := range list {
		f := &list[i]
		owners[f.Campaign] = f.Advertiser
		if advertisers[f.Advertiser] == nil {
			advertisers[f.Advertiser] = &followed{}
		}
		if campaigns[f.Campaign] == nil {
			campaigns[f.Campaign] = &followed{}
		}
		advertisers[f.Advertiser].add(f, f.weight, network)
		campaigns[f.Campaign].add(f, f.weight, network)
	}
	for id, t := range advertisers {
		learnt.Advertisers[id] = stepped(t.rate(1), part(was.Of([16]byte{}, id)))
	}
	for id, t := range campaigns {
		begins := part(learnt.Advertisers[owners[id]])
		learnt.Campaigns[id] = stepped(t.rate(begins), part(was.Of(id, owners[id])))
	}
	return learnt
}

// networkRate returns the rate of all families of advertisers that were charged. A family counts at
// most with its share of the clicks, and with at most [ranker.MostRate] times its predicted
// conversions: one that reports a conversion for every click changes the network's rate by 15 %
// among 20.
func networkRate(list []follow) float64 {
	counts, own := map[target.ID]float64{}, map[target.ID]*followed{}
	var order []target.ID
	for i := range list {
		f := &list[i]
		if f.unpaid {
			continue
		}
		if own[f.family] == nil {
			own[f.family], order = &followed{}, append(order, f.family)
		}
		own[f.family].add(f, f.weight, 1)
		counts[f.family]++
	}
	shares := limited(counts)
	var all followed
	for _, id := range order {
		of, share := own[id], shares[id]
		all.predicted += float64(share * of.predicted)
		all.observed += float64(share * min(of.observed, part(ranker.MostRate)*of.predicted))
	}
	return all.rate(1)
}

// stepped returns a rate within its bounds and within one step of its current value.
func stepped(rate, was float64) ranker.PPM {
	rate = max(was/mostStep, min(was*mostStep, rate))
	return max(ranker.LeastRate, min(ranker.MostRate, ranker.PPM(math.Round(rate*float64(ranker.Certain)))))
}
