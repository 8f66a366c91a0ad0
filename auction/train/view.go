package train

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"adnet/auction/index"
	"adnet/auction/ranker"
)

// LeastViews is the minimum number of views needed to learn p(view).
const LeastViews = 1000

// priorView is the number of impressions assumed for p(view) beforehand, at [ranker.FirstView].
const priorView = 1000

// Seen counts a publisher's impressions of a day and their views: valid, accepted for billing, on
// placements where a view can be reported.
type Seen struct {
	Publisher          index.ID
	Day                int32 // UTC, counted from an arbitrary day
	Impressions, Views int64
}

// Views is the basis of p(view). Kept is the reason for keeping the current value, or empty if a
// new one is used.
type Views struct {
	Impressions int64   `json:"impressions"`
	Views       int64   `json:"views"`
	PView       float64 `json:"p_view"`
	LogLoss     float64 `json:"log_loss"`
	Incumbent   float64 `json:"log_loss_incumbent"`
	Reason      string  `json:"kept,omitempty"`
}

// view learns how often an impression becomes a view. The newest day judges: a value that predicts
// it worse than the current one is rejected.
//
// A guarantee: there is one rate for the whole network. A publisher's reported views change the
// bids for its own placements only by its share in the total, see [limited].
func view(list []Seen, was ranker.PPM) (ranker.PPM, *Views) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Seen) int {
		return cmp.Or(
			cmp.Compare(a.Day, b.Day), bytes.Compare(a.Publisher[:], b.Publisher[:]),
			cmp.Compare(a.Impressions, b.Impressions), cmp.Compare(a.Views, b.Views),
		)
	})
	r := &Views{}
	newest := 0 // start of the newest day
	for i, s := range list {
		r.Impressions += s.Impressions
		r.Views += s.Views
		if s.Day != list[newest].Day {
			newest = i
		}
	}
	rate := was
	switch {
	case r.Views < LeastViews:
		r.Reason = "too few views"
	case newest == 0:
		r.Reason = "views of one day only"
	case r.compare(list[newest:], learnView(list[:newest], was), orFirst(was)):
		r.Reason = "it predicts the newest day worse"
	default:
		rate = learnView(list, was)
	}
	r.PView = part(orFirst(rate))
	return rate, r
}

// orFirst returns a p(view), or the first-day value if none is learnt.
func orFirst(view ranker.PPM) ranker.PPM { return cmp.Or(view, ranker.FirstView) }

// learnView returns p(view) of a list, at most one step from its current value.
func learnView(list []Seen, was ranker.PPM) ranker.PPM {
	weights := weighSeen(list)
	impressions, seen := float64(priorView), float64(priorView)*part(ranker.FirstView)
	for _, s := range list {
		impressions += float64(weights[s.Publisher] * float64(s.Impressions))
		seen += float64(weights[s.Publisher] * float64(s.Views))
	}
	rate, before := seen/impressions, part(orFirst(was))
	rate = max(before/mostStep, min(before*mostStep, rate))
	return max(ranker.LeastView, min(ranker.Certain, ranker.PPM(math.Round(rate*float64(ranker.Certain)))))
}

// weighSeen returns the weight of an impression of each publisher, as [Weigh] does.
func weighSeen(list []Seen) map[index.ID]float64 {
	counts := map[index.ID]float64{}
	for _, s := range list {
		counts[s.Publisher] += float64(s.Impressions)
	}
	return limited(counts)
}

// compare sets the log losses of the new and the current rate. It reports whether the new one is
// worse by more than two standard errors.
func (r *Views) compare(day []Seen, tried, was ranker.PPM) (worse bool) {
	weights := weighSeen(day)
	var impressions, more, spread float64
	for _, s := range day {
		w := weights[s.Publisher]
		for _, of := range []struct {
			n    int64
			came bool
		}{{s.Views, true}, {s.Impressions - s.Views, false}} {
			n, before, now := float64(of.n), missed(part(was), of.came), missed(part(tried), of.came)
			impressions += float64(w * n)
			r.Incumbent += float64(w * n * before)
			r.LogLoss += float64(w * n * now)
			more += float64(w * n * (now - before))
			spread += float64(w * w * n * (now - before) * (now - before))
		}
	}
	impressions = max(impressions, 1)
	r.LogLoss, r.Incumbent = r.LogLoss/impressions, r.Incumbent/impressions
	return more > 2*math.Sqrt(spread)
}
