// Package roster lists the processes of an installation for administrators: that they run, the data
// that they serve with, and the results of their recurring jobs. Nothing is decided by it.
package roster

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"adnet/internal/process/schedule"
)

// Process is the report that a process sends every [SayEvery].
type Process struct {
	Name      string               `json:"name"` // unique: host, process id, random
	Role      string               `json:"role"` // of [Ingress], [Consumers], [Standalone]
	Version   string               `json:"version"`
	StartedAt time.Time            `json:"started_at"`
	Conns     int32                `json:"postgres_conns"`    // that it may open to PostgreSQL
	SaidAt    time.Time            `json:"said_at"`           // by its own clock
	Serving   *Serving             `json:"serving,omitempty"` // nil if it serves no ads
	Plans     map[string]time.Time `json:"plans,omitempty"`   // job → time of its next run
}

// The roles.
const (
	Ingress    = "ingress"
	Consumers  = "consumers"
	Standalone = "standalone"
)

// Serving is the state of a node that serves ads.
type Serving struct {
	SpoolBytes  int64  `json:"spool_bytes"`  // on disk, waiting for the log
	SpoolEvents int64  `json:"spool_events"` // the same as a number of events
	Campaigns   int    `json:"campaigns"`    // that it follows, in any state
	Deliverable int    `json:"deliverable"`  // the part of them that auctions may choose
	Model       string `json:"model"`        // deciding weights: versions of table, words and lesson
	Trial       int64  `json:"trial"`        // version on trial, 0 without one
	Stage       string `json:"stage"`        // of the trial; empty without one

	Addresses Addresses `json:"addresses"`
}

// Run is the last run of a recurring job, as reported by its process.
type Run struct {
	Job     string    `json:"job"`
	Process string    `json:"process"`
	EndedAt time.Time `json:"ended_at"`
	Failed  bool      `json:"failed"`
	Why     string    `json:"why,omitempty"` // error: one line, at most [MaxWhy] code points, no secrets
}

// The jobs.
const (
	Train     = "train"
	Retention = "retention"
	Goals     = "goals"
	Standing  = "standing"
	Rollup    = "rollup"
	Verify    = "verify"
)

// SayEvery is the interval of reports; a process silent for [Memory] is removed.
const (
	SayEvery = 10 * time.Second
	Memory   = time.Minute
)

// MaxProcesses is the maximum number of processes that a store returns.
const MaxProcesses = 500

// Store stores the reports.
type Store interface {
	Say(ctx context.Context, p Process) error
	Leave(ctx context.Context, process string) error
	Ended(ctx context.Context, r Run) error
	// Processes and Runs are sorted by name.
	Processes(ctx context.Context) ([]Process, error)
	Runs(ctx context.Context) ([]Run, error)
}

// Deps holds the dependencies of a clerk.
type Deps struct {
	Store Store
	Log   *slog.Logger
	Self  Process // name, role and version; the rest is filled in
	// Mask removes secrets from the text of an error; nil leaves them in.
	Mask func(string) string
	Now  func() time.Time
}

// MaxWhy is the maximum number of code points of an error.
const MaxWhy = 300

// brief returns the text of an error on one line, short and without secrets.
func (d *Deps) brief(text string) string {
	if d.Mask != nil {
		text = d.Mask(text)
	}
	text = strings.Join(
		strings.FieldsFunc(
			strings.ToValidUTF8(text, "?"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) },
		), " ",
	)
	if short := []rune(text); len(short) > MaxWhy {
		return string(short[:MaxWhy-1]) + "…"
	}
	return text
}

// Clerk reports for its process. A report that cannot be sent is logged and changes nothing else.
type Clerk struct {
	deps   Deps
	serves func() *Serving

	mu    sync.Mutex // guards plans
	plans map[string]time.Time
	wake  chan struct{} // there is news
}

// NewClerk returns a clerk. It does no I/O.
func NewClerk(deps Deps) *Clerk {
	deps.Now = schedule.Clock(deps.Now)
	deps.Self.StartedAt = deps.Now().UTC()
	return &Clerk{deps: deps, plans: map[string]time.Time{}, wake: make(chan struct{}, 1)}
}

// Serves sets the function that returns the serving state of the process; call it before Run.
func (c *Clerk) Serves(serves func() *Serving) { c.serves = serves }

// Run reports every [SayEvery], and whenever a job is scheduled, until ctx ends. Then it reports
// that the process leaves.
func (c *Clerk) Run(ctx context.Context) error {
	again := time.NewTicker(SayEvery)
	defer again.Stop()
	for ctx.Err() == nil {
		if err := c.Say(ctx); err != nil && ctx.Err() == nil {
			c.deps.Log.Debug("the process could not be reported to the roster", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-c.wake:
		}
	}
	leave, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = c.deps.Store.Leave(leave, c.deps.Self.Name) // it is removed within a minute anyway
	return nil
}

// Say reports once. Errors: those of the store.
func (c *Clerk) Say(ctx context.Context) error {
	self := c.deps.Self
	self.SaidAt = c.deps.Now().UTC()
	if c.serves != nil {
		self.Serving = c.serves()
	}
	c.mu.Lock()
	self.Plans = maps.Clone(c.plans)
	c.mu.Unlock()
	return c.deps.Store.Say(ctx, self)
}

// Report reports the runs of a recurring job; nil reports nothing.
type Report func(ctx context.Context, ended *Run, next time.Time)

// Of returns the [Report] of a job.
func (c *Clerk) Of(job string) Report {
	return func(ctx context.Context, ended *Run, next time.Time) {
		if !next.IsZero() {
			c.mu.Lock()
			c.plans[job] = next.UTC()
			c.mu.Unlock()
			select {
			case c.wake <- struct{}{}:
			default: // a report is already pending
			}
		}
		if ended == nil {
			return
		}
		ended.Job, ended.Process, ended.Why = job, c.deps.Self.Name, c.deps.brief(ended.Why)
		if err := c.deps.Store.Ended(ctx, *ended); err != nil && ctx.Err() == nil {
			c.deps.Log.Debug("a job's run could not be reported to the roster", "job", job, "error", err)
		}
	}
}

// Plans reports the time of the job's next run.
func (t Report) Plans(next time.Time) {
	if t != nil {
		t(context.Background(), nil, next)
	}
}

// Ended reports that a run ended at now, successfully or not, and the time of the next (zero:
// unknown). A run interrupted by the end of its process is not reported.
func (t Report) Ended(ctx context.Context, failed error, now, next time.Time) {
	if t != nil && ctx.Err() == nil {
		ended := &Run{EndedAt: now.UTC()}
		if failed != nil {
			ended.Failed, ended.Why = true, failed.Error()
		}
		t(ctx, ended, next)
	}
}

// Job is a recurring job as administrators see it.
type Job struct {
	Name    string     `json:"name"`
	EndedAt *time.Time `json:"ended_at"` // of the last run; null: none was reported
	Failed  bool       `json:"failed"`
	Why     string     `json:"why,omitempty"`     // error of the last run
	Process string     `json:"process,omitempty"` // that ran it
	Next    *time.Time `json:"next"`              // null: no running process has it
}

// Jobs joins the last runs with the schedules of the processes. The next run of a job is the
// earliest scheduled one. Jobs are sorted by name.
func Jobs(processes []Process, runs []Run) []Job {
	jobs := map[string]*Job{}
	of := func(name string) *Job {
		if jobs[name] == nil {
			jobs[name] = &Job{Name: name}
		}
		return jobs[name]
	}
	for i := range runs {
		r := &runs[i]
		j := of(r.Job)
		j.EndedAt, j.Failed, j.Why, j.Process = &r.EndedAt, r.Failed, r.Why, r.Process
	}
	for i := range processes {
		for name, next := range processes[i].Plans {
			if j := of(name); j.Next == nil || next.Before(*j.Next) {
				j.Next = &next
			}
		}
	}
	list := []Job{}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		list = append(list, *jobs[name])
	}
	return list
}
