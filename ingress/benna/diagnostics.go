package benna

import (
	"sync"
	"time"

	"adnet/auction"
)

// kept is how many minutes are reported.
const kept = 60

// Diagnostics counts the auctions and scores of this process in the last hour, in memory: another
// node has counts of its own, and a restart forgets them. The zero value is ready.
type Diagnostics struct {
	mu      sync.Mutex
	minutes [kept]minute
}

type minute struct {
	at      int64 // minutes since 1970
	filled  int64
	reasons map[auction.Reason]int64
	took    time.Duration
	scores  int64
	scoring time.Duration
}

// at is the place of a minute, emptied when it holds an older one. The lock is held.
func (d *Diagnostics) at(now time.Time) *minute {
	number := now.Unix() / 60
	m := &d.minutes[((number%kept)+kept)%kept]
	if m.at != number {
		reasons := m.reasons
		if reasons == nil {
			reasons = make(map[auction.Reason]int64)
		}
		clear(reasons)
		*m = minute{at: number, reasons: reasons}
	}
	return m
}

// Observe counts one auction: reason is empty when it was filled, took is the time of the decision.
func (d *Diagnostics) Observe(reason auction.Reason, took time.Duration, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.at(now)
	if reason == "" {
		m.filled++
	} else {
		m.reasons[reason]++
	}
	m.took += took
}

// scored counts one call of op=score.
func (d *Diagnostics) scored(took time.Duration, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.at(now)
	m.scores++
	m.scoring += took
}

// Report is the last hour of this node.
type Report struct {
	Scope    string           `json:"scope"` // always "node"
	Window   int              `json:"window_seconds"`
	Requests int64            `json:"requests"`
	Filled   int64            `json:"filled"`
	FillRate float64          `json:"fill_rate"` // 0 to 1; 0 without requests
	Latency  float64          `json:"mean_latency_ms"`
	Reasons  map[string]int64 `json:"reasons"` // why the others were not filled
	Scores   scoresReport     `json:"scores"`
}

type scoresReport struct {
	Requests int64   `json:"requests"`
	Latency  float64 `json:"mean_latency_ms"`
}

// Report sums the 60 minutes that end with the one of now.
func (d *Diagnostics) Report(now time.Time) Report {
	r := Report{Scope: "node", Window: kept * 60, Reasons: make(map[string]int64)}
	newest := now.Unix() / 60
	var took, scoring time.Duration
	d.mu.Lock()
	for i := range d.minutes {
		m := &d.minutes[i]
		if m.at <= newest-kept || m.at > newest {
			continue
		}
		r.Filled += m.filled
		r.Requests += m.filled
		for reason, n := range m.reasons {
			r.Reasons[string(reason)] += n
			r.Requests += n
		}
		took += m.took
		r.Scores.Requests += m.scores
		scoring += m.scoring
	}
	d.mu.Unlock()
	if r.Requests > 0 {
		r.FillRate = float64(r.Filled) / float64(r.Requests)
		r.Latency = milliseconds(took / time.Duration(r.Requests))
	}
	if r.Scores.Requests > 0 {
		r.Scores.Latency = milliseconds(scoring / time.Duration(r.Scores.Requests))
	}
	return r
}
