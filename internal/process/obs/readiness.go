package obs

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Need is the work for which a check must pass.
type Need uint8

// The needs. A check of one is also a check of those after it.
const (
	Traffic Need = iota // requests of any kind: beacons, clicks, the API, the console
	Ads                 // requests for ads
	Upkeep              // work behind the requests
)

// NeedParam is the query parameter of a probe that names what the process is needed for. Without it
// a probe asks for [Traffic].
const NeedParam = "for"

// needs holds the values of [NeedParam].
var needs = map[string]Need{"ads": Ads}

// NeedNames lists the values of [NeedParam].
func NeedNames() []string { return slices.Sorted(maps.Keys(needs)) }

// NeedNamed returns the need of a name, and reports whether there is one. The empty name is
// [Traffic].
func NeedNamed(name string) (need Need, known bool) {
	if name == "" {
		return Traffic, true
	}
	need, known = needs[name]
	return need, known
}

// Readiness decides whether this process may get traffic, by named checks. A process is ready for a
// need while it is not draining and every check of that need passes. Checks of other needs that
// fail make it degraded: a balancer that takes a node away for them loses the beacons that the node
// could record. Safe for concurrent use.
type Readiness struct {
	now      func() time.Time
	mu       sync.Mutex // guards the rest
	checks   []namedCheck
	states   map[string]state // by name
	draining bool
}

type namedCheck struct {
	name  string
	need  Need
	check func() error
}

// state is the result that a check has had since a time.
type state struct {
	ok    bool
	since time.Time
}

// Check is the result of one check.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Err is the reason for a failure. It may name hosts and stores, so it is for logs and the
	// admin listener and is not part of the JSON.
	Err error `json:"-"`
	// Since is the time when the check was first seen to have this result. It reveals when servers
	// restart, so it is for the admin listener.
	Since time.Time `json:"-"`
}

// Report holds the results of all checks. Its JSON may be public.
type Report struct {
	Ready    bool     `json:"ready"`
	Draining bool     `json:"draining"`
	Degraded []string `json:"degraded"` // failing checks that [Traffic] does not need
	Checks   []Check  `json:"checks"`   // in the order of Add
}

// Status returns the status with which a listener answers a probe.
func (r *Report) Status() int {
	if r.Ready {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

// NewReadiness returns a readiness without checks: it is ready.
func NewReadiness() *Readiness { return &Readiness{now: time.Now, states: map[string]state{}} }

// Add registers a check that must pass for a need. Every query calls it, several callers
// concurrently, so it must reply from memory: a component that watches a server stores the last
// result. A check with the same name replaces the earlier one.
func (r *Readiness) Add(name string, need Need, check func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := namedCheck{name: name, need: need, check: check}
	for i := range r.checks {
		if r.checks[i].name == name {
			// A copy: Check may be walking through the old slice.
			r.checks = slices.Clone(r.checks)
			r.checks[i] = added
			return
		}
	}
	r.checks = append(r.checks, added)
}

// SetDraining makes the process not ready for good. It is the first step of stopping: load
// balancers send traffic elsewhere before connections are closed.
func (r *Readiness) SetDraining() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// Check runs every check and reports whether the process is ready for a need. A panicking check has
// failed.
func (r *Readiness) Check(need Need) Report {
	r.mu.Lock()
	checks, draining := r.checks, r.draining
	r.mu.Unlock()
	report := Report{
		Ready: !draining, Draining: draining, Degraded: []string{}, Checks: make([]Check, 0, len(checks)),
	}
	for _, c := range checks {
		err := ask(c.check)
		report.Checks = append(report.Checks, Check{Name: c.name, OK: err == nil, Err: err})
		if err == nil {
			continue
		}
		if c.need <= need {
			report.Ready = false
		}
		if c.need > Traffic {
			report.Degraded = append(report.Degraded, c.name)
		}
	}
	r.date(report.Checks)
	return report
}

// date sets the time since which each check has had its result.
func (r *Readiness) date(checks []Check) {
	now := r.now().UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range checks {
		c := &checks[i]
		last, known := r.states[c.Name]
		if !known || last.ok != c.OK {
			last = state{c.OK, now}
			r.states[c.Name] = last
		}
		c.Since = last.since
	}
}

func ask(check func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("check panicked: %v", p)
		}
	}()
	return check()
}
