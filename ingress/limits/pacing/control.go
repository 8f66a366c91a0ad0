package pacing

import (
	"math"
	"time"

	"adnet/internal/campaign"
)

// Settings of the controller. They were chosen by the simulated days of the tests.
const (
	spendMemory   = 30 * time.Minute // how far back the spend of a pass is averaged
	trafficMemory = 5 * time.Second  // how far back offers are averaged
	matures       = 15 * time.Second // how long after its pass an ad's spend is seen, on average at most
	priorPasses   = 20               // how many passes the expected spend of a pass counts for
	burstShare    = 0.01             // of today's remaining budget may be spent ahead of the plan,
	burstTime     = 15 * time.Minute // or the plan of so long,
	burstMost     = 0.05             // but no more of the day's budget
	burstOver     = 2 * time.Second  // in which a burst is spread
	// at most this multiple of the planned passes gets through in one step once the burst is used
	// up
	surge      = 4
	lastMinute = time.Minute // before midnight in which the rest is not spread any thinner
	nightShare = 0.05        // of the mean is what the quietest quarter of the day is planned with
)

// observed is what a step of the controller is told. Amounts are micro-USD.
type observed struct {
	now                   time.Time
	opportunities, passed float64 // since the step before, on this node
	spent                 float64 // today, on all nodes
	budget                float64 // that may be spent today altogether
	unit                  float64 // what a pass is expected to spend while nothing is known; > 0
	weights               *weights
	ends                  time.Time // of the campaign; zero for none
}

// control is the throttle of one campaign on one node. Its step turns the plan for this moment, the
// recent spend and what one pass spends into the share of offers that may pass:
//
//	plan: remaining budget × this quarter hour's share of the traffic that is left today
//	traffic: offers a second here, averaged over 5 s
//	yield:   spend per pass. Spend is the whole network's and passes are this node's, so with n nodes that share the
//	         traffic it is n times as high and each node takes an n-th of the plan; the nodes need not be counted.
//	burst:   a bucket of a quarter of an hour's plan that unused plan fills, for traffic that comes in gusts
//
// Because the plan is always that of the rest of the day, a campaign that joins at noon, a budget
// that is raised, a node that restarts and every error of the forecast correct themselves.
type control struct {
	at             time.Time
	started        bool
	day            int64
	spentBefore    float64
	traffic        float64 // offers a second
	spend, matured float64 // decayed sums: what was spent, and the passes that it came from
	young          float64 // passes whose spend is not seen yet
	burst          float64 // micro-USD, negative after a surge
}

// step gives the share of offers to let pass until the next step, from 0 to 1, and the most passes
// until then.
func (c *control) step(o observed) (share float64, most int64) {
	if !c.started {
		*c = control{started: true, at: o.now, day: dayOf(o.now), spentBefore: o.spent}
		c.burst = burstShare * max(0, o.budget-o.spent)
		o.opportunities, o.passed = 0, 0 // from before there was a controller
	}
	dt := min(o.now.Sub(c.at).Seconds(), 3600)
	c.at = o.now
	c.learn(o, dt)
	yield := (c.spend + priorPasses*o.unit) / (c.matured + priorPasses)
	yield = max(yield, o.unit*1e-4)
	if o.budget-o.spent < o.unit {
		return 1, math.MaxInt64 // nothing is left to pace: the budget itself refuses
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

// learn takes in what happened in dt seconds.
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
	// What came in the last step counts at once: a rush must not pass because the average does not
	// know it yet.
	c.traffic = max(c.traffic, min(o.opportunities/dt, 2*c.traffic+10))
}

func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

const quarter = 86400 / campaign.Quarters // seconds

// weights are a curve with the sum of the traffic after each quarter.
type weights struct {
	share [campaign.Quarters]float64
	after [campaign.Quarters + 1]float64 // sum from the quarter to the end of the day
}

// weigh makes the weights of a curve; the zero curve is an even day.
func weigh(curve campaign.Curve) *weights {
	w, sum := new(weights), 0.0
	for _, v := range curve {
		sum += float64(v)
	}
	for i, v := range curve {
		w.share[i] = 1
		if sum > 0 {
			// No quarter is planned with nothing: then traffic that comes there after all could not
			// be used.
			w.share[i] = max(float64(v)*campaign.Quarters/sum, nightShare)
		}
	}
	for i := campaign.Quarters - 1; i >= 0; i-- {
		w.after[i] = w.after[i+1] + w.share[i]
	}
	return w
}

// rate is the share of today's remaining budget that is planned for one second at t, of a campaign
// that ends with the day or before it at ends; a zero time does not end.
func (w *weights) rate(t, ends time.Time) float64 {
	rest := w.left(t)
	if !ends.IsZero() && dayOf(ends) <= dayOf(t) {
		rest -= w.left(ends)
	}
	share := w.share[quarterOf(t)]
	return share / max(rest*quarter, share*lastMinute.Seconds())
}

// until is the share of a whole day that is planned before t.
func (w *weights) until(t time.Time) float64 { return 1 - w.left(t)/w.after[0] }

// left is the traffic from t to the end of its day; a quarter hour of mean traffic is 1.
func (w *weights) left(t time.Time) float64 {
	at := quarterOf(t)
	second := float64(t.Unix()%86400) + float64(t.Nanosecond())/1e9
	return w.after[at+1] + w.share[at]*(float64((at+1)*quarter)-second)/quarter
}

// quarterOf is the number of t's quarter hour in its day.
func quarterOf(t time.Time) int { return int(t.Unix()%86400) / quarter }
