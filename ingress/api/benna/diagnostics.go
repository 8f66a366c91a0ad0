package benna

import (
	"sync"
	"time"

	"adnet/auction"
)

// window is the number of minutes in a report.
const window = 60

// Diagnostics counts the auctions and scores of this process in the last hour. It counts in memory:
// every node has its own counts, and a restart clears them. The zero value is ready to use.
type Diagnostics struct {
	mu      sync.Mutex
	minutes [window]minute
}

type minute struct {
	at      int64 // minutes since 1970
	filled  int64
	reasons map[auction.Reason]int64
	took    time.Duration
	scores  int64
	scoring time.Duration
}

// at returns the slot of a minute, cleared if it holds an older minute. The lock is held.
func (d *Diagnostics) at(now time.Time) *minute {
	number := now.Unix() / 60
	m := &d.minutes[((number%window)+window)%window]
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

// Observe counts one auction. reason is empty for a filled one, took is the time of the decision.
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

// Report covers the last hour of this node.
type Report struct {
	Scope    string           `json:"scope"` // always "node"
	Window   int              `json:"window_seconds"`
	Requests int64            `json:"requests"`
	Filled   int64            `json:"filled"`
	FillRate float64          `json:"fill_rate"` // 0 to 1; 0 without requests
	Latency  float64          `json:"mean_latency_ms"`
	Reasons  map[string]int64 `json:"reasons"` // of the requests without an ad
	Scores   scoresReport     `json:"scores"`
}

type scoresReport struct {
	Requests int64   `json:"requests"`
	Latency  float64 `json:"mean_latency_ms"`
}

// Report sums the 60 minutes up to and including the minute of now.
func (d *Diagnostics) Report(now time.Time) Report {
	r := Report{Scope: "node", Window: window * 60, Reasons: make(map[string]int64)}
	newest := now.Unix() / 60
	var took, scoring time.Duration
	d.mu.Lock()
	for i := range d.minutes {
		m := &d.minutes[i]
		if m.at <= newest-window || m.at > newest {
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
