package auction

import (
	"adnet/auction/target"
	"adnet/internal/money"
)

// How much a [Trace] holds.
const (
	// MaxTrace is the most candidates that a trace keeps, best first.
	MaxTrace = 10
	// traceBehind is how many candidates behind the winner are looked at for a trace. Each costs a
	// step of the search, so it is few.
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

// Trace is the best candidates of one auction with what became of each: those the auction was
// decided on and the next few behind the winner, at most [MaxTrace]. It is a bounded record for
// later explanation, not a full account: see [Explain] for that. The zero value is ready.
type Trace struct {
	n       int
	more    bool
	entries [MaxTrace]Traced
}

// Candidates are what was recorded, best first, valid until the next auction with the same trace.
func (t *Trace) Candidates() []Traced { return t.entries[:t.n] }

// Complete says that no other candidate matched.
func (t *Trace) Complete() bool { return !t.more }

// Reset forgets the last auction.
func (t *Trace) Reset() {
	clear(t.entries[:t.n]) // keeps no snapshot alive
	t.n, t.more = 0, false
}

// add records one candidate. A winner behind a full list takes the last place, so that it is never
// missing.
func (t *Trace) add(c target.Candidate, reason Reason) {
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

// follow records what comes after the last candidate of scratch, without asking any gate.
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
	t.more = true // perhaps: looking would cost a step more
}
