package obs

import (
	"fmt"
	"slices"
	"sync"
)

// Readiness decides whether this process may get traffic, by named checks. A process is ready while
// it is not draining and every check passes. Safe for concurrent use.
type Readiness struct {
	mu       sync.Mutex // guards the rest
	checks   []namedCheck
	draining bool
}

type namedCheck struct {
	name  string
	check func() error
}

// Check is the result of one check.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Err is the reason for a failure. It may name hosts and stores, so it is for logs and the
	// admin listener and is not part of the JSON.
	Err error `json:"-"`
}

// Report holds the results of all checks. Its JSON may be public.
type Report struct {
	Ready    bool    `json:"ready"`
	Draining bool    `json:"draining"`
	Checks   []Check `json:"checks"` // in the order of Add
}

// NewReadiness returns a readiness without checks: it is ready.
func NewReadiness() *Readiness { return &Readiness{} }

// Add registers a check. Every query calls it, several callers concurrently, so it must reply from
// memory: a component that watches a server stores the last result. A check with the same name
// replaces the earlier one.
func (r *Readiness) Add(name string, check func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.checks {
		if r.checks[i].name == name {
			// A copy: Check may be walking through the old slice.
			r.checks = slices.Clone(r.checks)
			r.checks[i].check = check
			return
		}
	}
	r.checks = append(r.checks, namedCheck{name: name, check: check})
}

// SetDraining makes the process not ready for good. It is the first step of stopping: load
// balancers send traffic elsewhere before connections are closed.
func (r *Readiness) SetDraining() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// Check runs every check. A panicking check has failed.
func (r *Readiness) Check() Report {
	r.mu.Lock()
	checks, draining := r.checks, r.draining
	r.mu.Unlock()
	report := Report{Ready: !draining, Draining: draining, Checks: make([]Check, 0, len(checks))}
	for _, c := range checks {
		err := ask(c.check)
		report.Checks = append(report.Checks, Check{Name: c.name, OK: err == nil, Err: err})
		report.Ready = report.Ready && err == nil
	}
	return report
}

func ask(check func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("check panicked: %v", p)
		}
	}()
	return check()
}
