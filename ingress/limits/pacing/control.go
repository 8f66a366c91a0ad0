package pacing

import (
	"math"
	"time"

	"adnet/internal/campaign"
)

// Settings of the controller, chosen in the simulated days of the tests.
const (
	spendMemory   = 30 * time.Minute // averaging time of the spend per pass
	trafficMemory = 5 * time.Second  // averaging time of offers
	matures       = 15 * time.Second // delay between a pass and its spend, on average at most
	priorPasses   = 20               // weight of the expected spend per pass, in passes
	burstShare    = 0.01             // share of today's remaining budget that may be spent ahead of the plan,
	burstTime     = 15 * time.Minute // or the plan of this time,
	burstMost     = 0.05             // but at most this share of the day's budget
	burstOver     = 2 * time.Second  // time over which a burst is spread
	// maximum multiple of the planned passes in one step after the burst is used up
	surge      = 4
	lastMinute = time.Minute // before midnight the rest is not spread any thinner
	nightShare = 0.05        // minimum planned share of a quarter of an hour, relative to the mean
)

// observed is the input of a controller's step. Amounts are micro-USD.
type observed struct {
	now                   time.Time
	opportunities, passed float64 // since the step before, on this node
	spent                 float64 // today, on all nodes
	budget                float64 // total for today, including spent
	unit                  float64 // expected spend per pass without any data; > 0
	weights               *weights
	ends                  time.Time // of the campaign; zero for none
}

// control is the throttle of one campaign on one node. Its step computes the share of offers that
// may pass, from the current plan, the recent spend and the spend per pass:
//
//	plan:    remaining budget × this quarter hour's share of the traffic that is left today
//	traffic: offers a second here, averaged over 5 s
//	yield:   spend per pass. Spend is the whole network's and passes are this node's. With n nodes
//	         that share the traffic it is n times as high and each node takes 1/n of the plan.
//	burst:   a bucket of a quarter hour's plan, filled by unused plan, for traffic in gusts
//
// The plan always covers the rest of the day. So a campaign that joins at noon, a raised budget, a
// restarted node and every forecast error correct themselves.
type control struct {
	at             time.Time
	started        bool
	day            int64
	spentBefore    float64
	traffic        float64 // offers a second
	spend, matured float64 // decayed sums: the spend, and the passes that caused it
	young          float64 // passes without visible spend so far
	burst          float64 // micro-USD, negative after a surge
}

// step returns the share of offers to let pass until the next step, from 0 to 1, and the maximum
// number of passes until then.
func (c *control) step(o observed) (share float64, most int64) {
	if !c.started {
		*c = control{started: true, at: o.now, day: dayOf(o.now), spentBefore: o.spent}
		c.burst = burstShare * max(0, o.budget-o.spent)
		o.opportunities, o.passed = 0, 0 // from before this controller existed
	}
	dt := min(o.now.Sub(c.at).Seconds(), 3600)
	c.at = o.now
	c.learn(o, dt)
	yield := (c.spend + priorPasses*o.unit) / (c.matured + priorPasses)
	yield = max(yield, o.unit*1e-4)
	if o.budget-o.spent < o.unit {
		return 1, math.MaxInt64 // no budget left to pace: the budget check refuses
	}
	left := max(0, o.budget-o.spent-c.young*yield)
	planned := left * o.weights.rate(o.now, o.ends) // micro-USD a second
	full := max(min(planned*burstTime.Seconds(), burstMost*o.budget), burstShare*left, 5*yield)
	c.burst = max(-full, min(full, c.burst+planned*dt-o.passed*yield))
	wanted := planned + c.burst/burstOver.Seconds()
	share = 1
	if offered := c.traffic * yield; offered > 0 {
		share = max(0, min(1, wanted/offered))
	}
	return share, 1 + int64((max(0, c.burst)+surge*planned)/yield)
}

// learn updates the averages with the events of dt seconds.
func (c *control) learn(o observed, dt float64) {
	more := o.spent - c.spentBefore
	if day := dayOf(o.now); day != c.day {
		c.day, more = day, o.spent
		c.burst = burstShare * o.budget
	}
	c.spentBefore = o.spent
	if dt <= 0 {
		return
	}
	keep := math.Exp(-dt / spendMemory.Seconds())
	old := c.young * (1 - math.Exp(-dt/matures.Seconds()))
	c.young += o.passed - old
	c.spend = c.spend*keep + max(0, more)
	c.matured = c.matured*keep + old
	fade := math.Exp(-dt / trafficMemory.Seconds())
	c.traffic = c.traffic*fade + (1-fade)*o.opportunities/dt
	// Offers of the last step count at once: a rush must not pass just because it is not yet in the
	// average.
	c.traffic = max(c.traffic, min(o.opportunities/dt, 2*c.traffic+10))
}

func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

const quarter = 86400 / campaign.Quarters // seconds

// weights are a curve with the sum of the traffic after each quarter of an hour.
type weights struct {
	share [campaign.Quarters]float64
	after [campaign.Quarters + 1]float64 // sum from the quarter to the end of the day
}

// weigh returns the weights of a curve. The zero curve is a flat day.
func weigh(curve campaign.Curve) *weights {
	w, sum := new(weights), 0.0
	for _, v := range curve {
		sum += float64(v)
	}
	for i, v := range curve {
		w.share[i] = 1
		if sum > 0 {
			// No quarter has an empty plan, since it could not use traffic that arrives there
			// anyway.
			w.share[i] = max(float64(v)*campaign.Quarters/sum, nightShare)
		}
	}
	for i := campaign.Quarters - 1; i >= 0; i-- {
		w.after[i] = w.after[i+1] + w.share[i]
	}
	return w
}

// rate returns the share of today's remaining budget planned for one second at t. ends is the end
// of the campaign, zero for none.
func (w *weights) rate(t, ends time.Time) float64 {
	rest := w.left(t)
	if !ends.IsZero() && dayOf(ends) <= dayOf(t) {
		rest -= w.left(ends)
	}
	share := w.share[quarterOf(t)]
	return share / max(rest*quarter, share*lastMinute.Seconds())
}

// until returns the share of a whole day that is planned before t.
func (w *weights) until(t time.Time) float64 { return 1 - w.left(t)/w.after[0] }

// left returns the traffic from t to the end of its day, in quarter hours of mean traffic.
func (w *weights) left(t time.Time) float64 {
	at := quarterOf(t)
	second := float64(t.Unix()%86400) + float64(t.Nanosecond())/1e9
	return w.after[at+1] + w.share[at]*(float64((at+1)*quarter)-second)/quarter
}

// quarterOf returns the number of t's quarter hour in its day.
func quarterOf(t time.Time) int { return int(t.Unix()%86400) / quarter }
