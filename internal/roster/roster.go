// Package roster is what the processes of an installation say of themselves to administrators: that
// they run, what they serve by, and how their recurring jobs went. Nothing is decided by it.
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

	"adnet/internal/schedule"
)

// Process is what one says of itself every [SayEvery].
type Process struct {
	Name      string               `json:"name"` // unique: host, process id, random
	Role      string               `json:"role"` // of [Ingress], [Consumers], [Standalone]
	Version   string               `json:"version"`
	StartedAt time.Time            `json:"started_at"`
	SaidAt    time.Time            `json:"said_at"`           // by its own clock
	Serving   *Serving             `json:"serving,omitempty"` // nil for one that serves no ads
	Plans     map[string]time.Time `json:"plans,omitempty"`   // job → when it runs next
}

// The roles.
const (
	Ingress    = "ingress"
	Consumers  = "consumers"
	Standalone = "standalone"
)

// Serving is what a node that serves ads has.
type Serving struct {
	SpoolBytes  int64  `json:"spool_bytes"`  // on disk, waiting for the log
	SpoolEvents int64  `json:"spool_events"` // the same as a number of events
	Campaigns   int    `json:"campaigns"`    // that it follows, in any state
	Deliverable int    `json:"deliverable"`  // of them, those that auctions may choose
	Model       string `json:"model"`        // weights that decide: versions of table, words and lesson
	Trial       int64  `json:"trial"`        // version on trial, 0 without one
	Stage       string `json:"stage"`        // of the trial; empty without one
}

// Run is the last run of a recurring job, as the process says that ran it.
type Run struct {
	Job     string    `json:"job"`
	Process string    `json:"process"`
	EndedAt time.Time `json:"ended_at"`
	Failed  bool      `json:"failed"`
	Why     string    `json:"why,omitempty"` // it failed: one line of at most [MaxWhy] code points, without secrets
}

// The jobs.
const (
	Train     = "train"
	Retention = "retention"
	Goals     = "goals"
	Rollup    = "rollup"
	Verify    = "verify"
)

// SayEvery is how often a process says that it runs; who is silent for [Memory] is forgotten.
const (
	SayEvery = 10 * time.Second
	Memory   = time.Minute
)

// MaxProcesses is how many a store answers.
const MaxProcesses = 500

// Store keeps what is said.
type Store interface {
	Say(ctx context.Context, p Process) error
	Leave(ctx context.Context, process string) error
	Ended(ctx context.Context, r Run) error
	// Processes and Runs are sorted by name.
	Processes(ctx context.Context) ([]Process, error)
	Runs(ctx context.Context) ([]Run, error)
}

// Deps are what a clerk works with.
type Deps struct {
	Store Store
	Log   *slog.Logger
	Self  Process // name, role and version; the rest is filled in
	// Mask takes secrets out of the text of an error; nil leaves them in.
	Mask func(string) string
	Now  func() time.Time
}

// MaxWhy is how many code points of an error are told.
const MaxWhy = 300

// brief is the text of an error on one line, short and without secrets.
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

// Clerk says for its process what there is to say. What cannot be said is in the log and changes
// nothing else.
type Clerk struct {
	deps   Deps
	serves func() *Serving

	mu    sync.Mutex // guards plans
	plans map[string]time.Time
	wake  chan struct{} // there is news
}

// NewClerk makes a clerk. It does no I/O.
func NewClerk(deps Deps) *Clerk {
	deps.Now = schedule.Clock(deps.Now)
	deps.Self.StartedAt = deps.Now().UTC()
	return &Clerk{deps: deps, plans: map[string]time.Time{}, wake: make(chan struct{}, 1)}
}

// Serves lets the clerk ask how the process serves, each time; call it before Run.
func (c *Clerk) Serves(serves func() *Serving) { c.serves = serves }

// Run says it every [SayEvery], and when a job is planned anew, until ctx ends, and then that the
// process leaves.
func (c *Clerk) Run(ctx context.Context) error {
	again := time.NewTicker(SayEvery)
	defer again.Stop()
	for ctx.Err() == nil {
		if err := c.Say(ctx); err != nil && ctx.Err() == nil {
			c.deps.Log.Debug("the roster was not told that this process runs", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-c.wake:
		}
	}
	leave, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = c.deps.Store.Leave(leave, c.deps.Self.Name) // it is forgotten within a minute anyway
	return nil
}

// Say says it once. Errors: those of the store.
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

// Told is how a recurring job tells of its runs; nil does not tell.
type Told func(ctx context.Context, ended *Run, next time.Time)

// Of is the [Told] of a job.
func (c *Clerk) Of(job string) Told {
	return func(ctx context.Context, ended *Run, next time.Time) {
		if !next.IsZero() {
			c.mu.Lock()
			c.plans[job] = next.UTC()
			c.mu.Unlock()
			select {
			case c.wake <- struct{}{}:
			default: // it will be said together
			}
		}
		if ended == nil {
			return
		}
		ended.Job, ended.Process, ended.Why = job, c.deps.Self.Name, c.deps.brief(ended.Why)
		if err := c.deps.Store.Ended(ctx, *ended); err != nil && ctx.Err() == nil {
			c.deps.Log.Debug("the roster was not told of a job's run", "job", job, "error", err)
		}
	}
}

// Plans tells when the job runs next.
func (t Told) Plans(next time.Time) {
	if t != nil {
		t(context.Background(), nil, next)
	}
}

// Ended tells that a run ended at now, well or not, and when the next begins (zero: it is not
// known). A run that the end of its process broke off is not told.
func (t Told) Ended(ctx context.Context, failed error, now, next time.Time) {
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
	EndedAt *time.Time `json:"ended_at"` // of the last run; null: none was told
	Failed  bool       `json:"failed"`
	Why     string     `json:"why,omitempty"`     // it failed
	Process string     `json:"process,omitempty"` // that ran it
	Next    *time.Time `json:"next"`              // null: no process that runs has it
}

// Jobs joins the last runs with what the processes plan: a job runs next where it is planned first.
// They are sorted by name.
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
