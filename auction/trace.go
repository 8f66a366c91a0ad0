package auction

import (
	"adnet/auction/index"
	"adnet/internal/money"
)

// Sizes of a [Trace].
const (
	// MaxTrace is the maximum number of candidates in a trace, best first.
	MaxTrace = 10
	// traceBehind is the number of candidates behind the winner that a trace records. It is small
	// because each costs a step of the search.
	traceBehind = 3
)

// Traced is one candidate of a [Trace].
type Traced struct {
	// Campaign belongs to the snapshot.
	Campaign *Campaign
	// EffectiveCPM in micro-USD is the score.
	EffectiveCPM money.Micros
	// Reason is why it did not win; empty for the winner.
	Reason Reason
}

// Trace holds the best candidates of one auction with the result of each: the candidates checked
// before the decision and the next few behind the winner, at most [MaxTrace]. It is a bounded
// record for later explanation; [Explain] gives the full account. The zero value is ready.
type Trace struct {
	n       int
	more    bool
	entries [MaxTrace]Traced
}

// Candidates returns the recorded candidates, best first, valid until the next auction with the
// same trace.
func (t *Trace) Candidates() []Traced { return t.entries[:t.n] }

// Complete reports whether no other candidate matched.
func (t *Trace) Complete() bool { return !t.more }

// Reset clears the trace for the next auction.
func (t *Trace) Reset() {
	clear(t.entries[:t.n]) // keep no snapshot alive
	t.n, t.more = 0, false
}

// add records one candidate. A winner behind a full list replaces the last entry, so that it is
// always recorded.
func (t *Trace) add(c index.Candidate, reason Reason) {
	entry := Traced{Campaign: c.Campaign, EffectiveCPM: c.EffectiveCPM, Reason: reason}
	switch {
	case t.n < MaxTrace:
		t.entries[t.n] = entry
		t.n++
	case reason == "":
		t.entries[MaxTrace-1] = entry
		t.more = true
	default:
		t.more = true
	}
}

// follow records the candidates after the last one of scratch, without calling a gate.
func (t *Trace) follow(req *Request, scratch *Scratch) {
	for range traceBehind {
		c, ok := scratch.next()
		if !ok {
			return
		}
		if t.n == MaxTrace {
			t.more = true
			return
		}
		t.add(c, passedOver(req, c))
	}
	t.more = true // perhaps: checking would cost another step
}
