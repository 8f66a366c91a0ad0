// Package lifecycle starts and stops the components of a process in order.
//
// The contract of a component is one method, Run(ctx): it works until ctx ends, finishes its
// remaining work, and returns only when everything it started has ended. The caller of Run owns the
// component; a component is not run twice.
//
// A [Group] holds components in stages. Stages start in the order they were added, each when the
// one before is ready; they stop in reverse order, each when the one after has ended:
//
//	start:  stage 1 ─ready─► stage 2 ─ready─► stage 3 ─ready─► [Group.Ready]
//	stop:   stage 1 ◄─ended─ stage 2 ◄─ended─ stage 3 ◄─ the caller's ctx ends, or a component fails
//
// A stage stops in two steps. The soft stop ends the ctx that Run was given. If a component is
// still running [Config].StopTimeout later, the error names it and the hard stop ends
// [FlushContext], the context for its last writes. After another [Config].HardTimeout the group
// continues without it. All stages together have [Config].StopBudget, from the end of the caller's
// ctx: a supervisor kills a process that takes longer.
//
// So there are three contexts: the caller's, whose end begins the stop; Run's, one per stage, which
// does not end with the caller's; and the flush context, which outlives Run's so that a last flush
// or commit is not cancelled by the very signal that requires it. All carry the values of the
// caller's context.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// Component runs until ctx ends. A nil error, or ctx's own error, is a proper end once ctx has
// ended; before that any return, even of nil, is a failure of the group.
type Component interface {
	Run(ctx context.Context) error
}

// Readier is a [Component] that reports its readiness: the next stage waits until the channel is
// closed. A component that never closes it must fail instead, or the group waits for
// [Config].StartTimeout.
type Readier interface {
	Ready() <-chan struct{}
}

// ErrEnded reports a component that returned without an error before it was stopped.
var ErrEnded = errors.New("ended without being stopped")

// ErrRan reports a second run of a group.
var ErrRan = errors.New("group was run already")

// Config holds the time limits of starting and stopping.
type Config struct {
	StartTimeout time.Duration `name:"start-timeout" env:"ADNET_START_TIMEOUT" default:"2m" help:"How long one stage of components may take to become ready; 0 waits forever."`
	StopTimeout  time.Duration `name:"stop-timeout" env:"ADNET_STOP_TIMEOUT" default:"10s" help:"How long one stage may take to stop before its last writes are cancelled."`
	StopBudget   time.Duration `name:"stop-budget" env:"ADNET_STOP_BUDGET" default:"25s" help:"How long the whole stop may take, with ADNET_HTTP_LAMEDUCK and ADNET_HTTP_DRAIN. A supervisor must wait longer before it kills the process."`
	HardTimeout  time.Duration `name:"hard-timeout" env:"ADNET_HARD_TIMEOUT" default:"1s" help:"How long one stage may take to stop after its last writes were cancelled."`
}

// DefaultConfig returns 2 minutes, 10 seconds, 25 seconds, 1 second.
func DefaultConfig() Config {
	return Config{
		StartTimeout: 2 * time.Minute, StopTimeout: 10 * time.Second, StopBudget: 25 * time.Second,
		HardTimeout: time.Second,
	}
}

// lastWrites is the time that a stage leaves to those that stop after it, while the budget has twice
// as much.
const lastWrites = 3 * time.Second

// limits returns how long a stage may take to stop after the soft and after the hard stop, when
// left is left of the budget. A stage may use all but [lastWrites] of it, or half if that is more,
// and the last one all of it: so a stage that hangs leaves time for the last writes of those that
// stop after it.
func (c Config) limits(left time.Duration, last bool) (soft, hard time.Duration) {
	if c.StopBudget == 0 {
		return c.StopTimeout, c.HardTimeout
	}
	left = max(left, 0)
	if !last {
		left = max(left/2, left-lastWrites)
	}
	hard = min(c.HardTimeout, left/4)
	return min(c.StopTimeout, left-hard), hard
}

// progressEvery is the log interval of a stage that is not ready yet, with the components it waits
// for.
const progressEvery = 5 * time.Second

// Deps holds the dependencies of a [Group]. A nil Logger logs nothing.
type Deps struct {
	Log *slog.Logger
	// Leave is called when the caller's ctx ends while the group is ready, before the first stage
	// stops. It must return when its ctx ends, because a component has failed. It may be nil.
	Leave func(ctx context.Context)
}

// Group runs components in stages. It is itself a [Component] and a [Readier].
type Group struct {
	config Config
	log    *slog.Logger
	leave  func(ctx context.Context)
	stages []*stage
	ready  chan struct{}
	whole  bool // every stage is ready
	ran    atomic.Bool
}

// New returns an empty group. Negative times, or a StopTimeout of 0, are an error. A StopBudget of 0
// is no limit.
func New(config Config, deps Deps) (*Group, error) {
	if config.StartTimeout < 0 || config.StopTimeout <= 0 || config.HardTimeout < 0 || config.StopBudget < 0 {
		return nil, errors.New(
			"start, stop and hard timeout and stop budget must not be negative, and stop timeout not 0",
		)
	}
	log := deps.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Group{config: config, log: log, leave: deps.Leave, ready: make(chan struct{})}, nil
}

// Member is a component with its name in logs and errors. [Named] and [Task] create one.
type Member struct {
	name      string
	component Component
	task      bool
}

// Named returns a member that runs until it is stopped.
func Named(name string, c Component) Member { return Member{name: name, component: c} }

// Task returns work that ends by itself, such as a migration or the loading of a demo: its Run may
// return nil before it is stopped, and the next stage waits until it does.
func Task(name string, run func(ctx context.Context) error) Member {
	return Member{name: name, component: Func(run), task: true}
}

// Func is a function as a [Component].
type Func func(ctx context.Context) error

// Run calls f.
func (f Func) Run(ctx context.Context) error { return f(ctx) }

// Add appends a stage. Its members start together and stop together. It must not be called after
// Run.
func (g *Group) Add(members ...Member) {
	g.stages = append(g.stages, &stage{members: members})
}

// Ready is closed when every stage is ready. It stays open when the group fails or stops before.
func (g *Group) Ready() <-chan struct{} { return g.ready }

// Run starts the stages and blocks until ctx ends or a component fails; then it stops them. It
// returns the failure of the first component, the failures during the stop, and the names of
// components that overran. It returns nil when ctx ended and everything stopped in time. Everything
// has ended when Run returns, except the components that the error lists as still running.
func (g *Group) Run(ctx context.Context) error {
	if g.ran.Swap(true) {
		return ErrRan
	}
	failed := make(chan error, 1)
	err := g.start(ctx, failed)
	if err == nil {
		close(g.ready)
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	ends := time.Now().Add(g.config.StopBudget)
	g.log.Debug("stopping", "cause", cause(ctx, err))
	if err == nil && g.leave != nil && g.whole {
		err = g.depart(ctx, failed)
	}
	errs := []error{err}
	for _, late := range g.stop(ends) {
		if late != err { // the failure that began the stop is also its component's
			errs = append(errs, late)
		}
	}
	return errors.Join(errs...)
}

func cause(ctx context.Context, err error) string {
	if err != nil {
		return err.Error()
	}
	return context.Cause(ctx).Error()
}

// depart runs Leave until it returns or a component fails.
func (g *Group) depart(ctx context.Context, failed <-chan error) error {
	leaving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	left := make(chan struct{})
	go func() {
		defer close(left)
		g.leave(leaving)
	}()
	select {
	case <-left:
		return nil
	case err := <-failed:
		cancel()
		<-left
		return err
	}
}

// start also returns nil if ctx ended on the way: the caller then stops the started components.
func (g *Group) start(ctx context.Context, failed chan error) error {
	for _, s := range g.stages {
		if ctx.Err() != nil {
			return nil
		}
		s.start(ctx, g.log, failed)
		if err := g.await(ctx, s, failed); err != nil {
			return err
		}
	}
	g.whole = ctx.Err() == nil
	return nil
}

// await blocks until every member of s is ready, ctx ends, any component fails, or the time is up.
func (g *Group) await(ctx context.Context, s *stage, failed chan error) error {
	var timeout <-chan time.Time
	if g.config.StartTimeout > 0 {
		timer := time.NewTimer(g.config.StartTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	for _, r := range s.running {
		for waiting := true; waiting; {
			select {
			case <-r.ready:
				waiting = false
				g.log.Debug("ready", "component", r.name)
			case <-ctx.Done():
				return nil
			case err := <-failed:
				return err
			case <-progress.C:
				g.log.Info("waiting until ready", "components", s.unready())
			case <-timeout:
				return fmt.Errorf("not ready after %s: %s", g.config.StartTimeout, s.unready())
			}
		}
	}
	select {
	case err := <-failed: // a failed task has also ended, and the loop may have seen only that
		return err
	default:
		return nil
	}
}

// stop stops all stages until a time. It returns every failure of every component, in the order of
// stopping.
func (g *Group) stop(ends time.Time) []error {
	var errs []error
	for i := len(g.stages) - 1; i >= 0; i-- {
		soft, hard := g.config.limits(time.Until(ends), i == 0)
		errs = append(errs, g.stages[i].stop(soft, hard, g.log)...)
	}
	return errs
}

// stage is the running state of the members that start and stop together.
type stage struct {
	members []Member
	running []*running // nil until the stage was started

	soft context.CancelFunc // ends what Run was given
	hard context.CancelFunc // ends FlushContext
}

// running is one member between the call of Run and its return.
type running struct {
	Member
	ready <-chan struct{}
	ended chan struct{} // closed when Run returned; err may be read then
	err   error         // why Run failed
}

func (s *stage) start(ctx context.Context, log *slog.Logger, failed chan error) {
	// Inside another group the outer hard stop ends all at once
	flush, hard := context.WithCancel(FlushContext(ctx))
	run, soft := context.WithCancel(context.WithValue(flush, flushKey{}, flush))
	s.soft, s.hard = soft, hard
	s.running = make([]*running, 0, len(s.members))
	for _, m := range s.members {
		r := &running{Member: m, ended: make(chan struct{})}
		r.ready = r.readiness()
		s.running = append(s.running, r)
	}
	for _, r := range s.running {
		log.Debug("starting", "component", r.name)
		go r.run(run, failed)
	}
}

// readiness returns a closed channel for a component without one.
func (r *running) readiness() <-chan struct{} {
	if r.task {
		return r.ended
	}
	if c, ok := r.component.(Readier); ok {
		return c.Ready()
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// run handles the result of Run. A failure is sent before ended is closed, so that an observer that
// sees a failed task end can find its failure.
func (r *running) run(ctx context.Context, failed chan<- error) {
	defer close(r.ended)
	err := r.component.Run(ctx)
	stopped := ctx.Err() != nil
	switch {
	case stopped && (err == nil || errors.Is(err, context.Canceled)):
		return
	case err == nil && r.task:
		return
	case err == nil:
		err = ErrEnded
	}
	r.err = fmt.Errorf("%s: %w", r.name, err)
	select {
	case failed <- r.err:
	default: // another component failed first and began the stop, which collects r.err
	}
}

// stop ends the stage, softly and then hard, and returns the failures of its components. A stage
// that was never started has none.
func (s *stage) stop(soft, hard time.Duration, log *slog.Logger) []error {
	if s.running == nil {
		return nil
	}
	defer s.hard()
	s.soft()
	var errs []error
	if !s.wait(soft) {
		errs = append(errs, fmt.Errorf("did not stop within %s: %s", soft, s.unended()))
		log.Warn("cancelling last writes", "components", s.unended())
		s.hard()
		if !s.wait(hard) {
			errs = append(errs, fmt.Errorf("still running %s after the hard stop: %s", hard, s.unended()))
		}
	}
	for _, r := range s.running {
		select {
		case <-r.ended:
			log.Debug("stopped", "component", r.name)
			if r.err != nil {
				errs = append(errs, r.err)
			}
		default:
		}
	}
	return errs
}

// wait reports whether every member ended in time.
func (s *stage) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, r := range s.running {
		select {
		case <-r.ended:
		case <-timer.C:
			return s.unended() == ""
		}
	}
	return true
}

func (s *stage) unended() string {
	return s.names(func(r *running) <-chan struct{} { return r.ended })
}

func (s *stage) unready() string {
	return s.names(func(r *running) <-chan struct{} { return r.ready })
}

// names lists the members whose channel is open.
func (s *stage) names(of func(*running) <-chan struct{}) string {
	var open []string
	for _, r := range s.running {
		select {
		case <-of(r):
		default:
			open = append(open, r.name)
		}
	}
	return strings.Join(open, ", ")
}

type flushKey struct{}

// FlushContext is the context for a component's work after the ctx of its Run has ended: the last
// flush, commit or goodbye. It ends with the hard stop of the component's stage, so a component
// needs its own timer only for a shorter limit. Its values are those of the group's context.
// Outside a [Group] it is ctx without its end: the caller then limits it.
func FlushContext(ctx context.Context) context.Context {
	if flush, ok := ctx.Value(flushKey{}).(context.Context); ok {
		return flush
	}
	return context.WithoutCancel(ctx)
}
