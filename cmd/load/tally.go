package load

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxNotes bounds the report when every line of a file is rejected for a different reason.
const maxNotes = 10

// tally counts a run. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex // guards everything below
	counts  Report
	waiting int64                   // conversions that the service answered as pending
	ads     *hdrhistogram.Histogram // µs
	beacons *hdrhistogram.Histogram // µs
}

func newTally() *tally {
	// From a microsecond to ten minutes with three digits: some 200 KB each, whatever is recorded.
	histogram := func() *hdrhistogram.Histogram {
		return hdrhistogram.New(1, int64(10*time.Minute/time.Microsecond), 3)
	}
	return &tally{
		ads: histogram(), beacons: histogram(),
		counts: Report{NoFillReasons: map[string]int64{}, Errors: map[string]int64{}},
	}
}

func (t *tally) adLatency(took time.Duration)     { t.record(t.ads, took) }
func (t *tally) beaconLatency(took time.Duration) { t.record(t.beacons, took) }

func (t *tally) record(h *hdrhistogram.Histogram, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Clamped, so it cannot be out of range.
	_ = h.RecordValue(min(max(took.Microseconds(), 1), h.HighestTrackableValue()))
}

// requested counts an ad request that was answered or failed for good.
func (t *tally) requested(reply adReply, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Requests++
	switch {
	case err != nil:
		t.counts.Failed++
	case reply.Ad != nil:
		t.counts.Filled++
	default:
		t.counts.NoFill++
		t.counts.NoFillReasons[reply.Reason]++
	}
}

// fired counts a beacon that was answered or failed for good.
func (t *tally) fired(kind int, repeat bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var refused *statusError
	switch {
	case errors.As(err, &refused):
		t.counts.BeaconsRefused++
	case err != nil:
		t.counts.BeaconsUnanswered++
	default:
		sent := [kinds]*Sent{&t.counts.Impressions, &t.counts.Clicks, &t.counts.Conversions}[kind]
		t.counts.BeaconsAnswered++
		if repeat {
			sent.Repeated++
			t.counts.DuplicatesSent++
		} else {
			sent.Fired++
		}
	}
}

// pending counts a conversion that may wait for a valid click of its ad.
func (t *tally) pending() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting++
}

// failed counts an error reply, including one that is retried.
func (t *tally) failed(err error) {
	what := "network"
	var refused *statusError
	switch {
	case errors.As(err, &refused) && refused.status >= 400:
		what = strconv.Itoa(refused.status)
	case refused != nil:
		what = "bad_reply"
	case errors.Is(err, context.DeadlineExceeded):
		what = "timeout"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Errors[what]++
}

func (t *tally) backedOff() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.BackedOff++
}

func (t *tally) campaigns(c CampaignReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := &t.counts.Campaigns
	sum.Imported += c.Imported
	sum.Existing += c.Existing
	sum.Refused += c.Refused
	sum.Active += c.Active
	sum.InReview += c.InReview
}

// note adds a remark to the report, once, up to maxNotes.
func (t *tally) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.counts.Notes) < maxNotes && !slices.Contains(t.counts.Notes, text) {
		t.counts.Notes = append(t.counts.Notes, text)
	}
}

func (t *tally) setInterrupted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Interrupted = true
}

// acked returns the number of beacons that the service has answered.
func (t *tally) acked() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.counts.BeaconsAnswered)
}

// counted stores the service's counts of the run and reports whether they cover every answered
// beacon. They may be higher: an unanswered beacon can have been recorded. calm
// means that they have not changed for a while: then they need not cover pending conversions, one of
// which waits for 15 minutes if its click does not count.
func (t *tally) counted(s Stats, calm bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Stats = &s
	missing := t.counts.BeaconsAnswered - s.Accounted()
	if calm {
		missing -= t.waiting
	}
	t.counts.Missing = max(0, missing)
	t.counts.Settled = t.counts.Missing == 0
	return t.counts.Settled
}

// report returns a copy of the counts with the figures derived from them.
func (t *tally) report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.counts
	r.NoFillReasons, r.Errors, r.Notes = maps.Clone(r.NoFillReasons), maps.Clone(r.Errors), slices.Clone(r.Notes)
	if r.Requests > 0 {
		r.FillRate = float64(r.Filled) / float64(r.Requests)
	}
	r.AdLatency, r.BeaconLatency = latencyOf(t.ads), latencyOf(t.beacons)
	return r
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Latency{
		Count: h.TotalCount(), P50: ms(h.ValueAtQuantile(50)), P99: ms(h.ValueAtQuantile(99)), Max: ms(h.Max()),
	}
}
