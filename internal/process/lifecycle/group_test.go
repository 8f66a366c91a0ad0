package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal collects what happened in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, " ")
}

// part is a component with a script. Under synctest its delays cost no time.
type part struct {
	name     string
	journal  *journal
	warm     time.Duration // until ready
	cool     time.Duration // from the soft stop to the end
	fail     error         // returned after life instead of waiting for the stop
	life     time.Duration
	stopFail error
	deaf     bool // does not hear the hard stop either
	ready    chan struct{}
}

func (p *part) Ready() <-chan struct{} { return p.ready }

func (p *part) Run(ctx context.Context) error {
	p.journal.add("+" + p.name)
	if !sleep(ctx, p.warm) {
		return ctx.Err()
	}
	close(p.ready)
	p.journal.add(p.name)
	if p.fail != nil {
		if sleep(ctx, p.life) {
			return p.fail
		}
	}
	<-ctx.Done()
	flush := FlushContext(ctx)
	if p.deaf {
		flush = context.WithoutCancel(flush)
	}
	defer p.journal.add("-" + p.name)
	if !sleep(flush, p.cool) {
		p.journal.add("!" + p.name)
		return flush.Err()
	}
	return p.stopFail
}

// sleep says whether d passed before ctx ended; a d of 0 has passed.
func sleep(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (j *journal) part(name string) *part {
	return &part{name: name, journal: j, ready: make(chan struct{})}
}

func (p *part) member() Member { return Named(p.name, p) }

func group(t testing.TB) *Group {
	t.Helper()
	g, err := New(DefaultConfig(), Deps{})
	require.NoError(t, err)
	return g
}

// runUntilReady runs g, stops it when it is ready, and gives what Run returned.
func runUntilReady(t *testing.T, g *Group) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- g.Run(ctx) }()
	select {
	case <-g.Ready():
	case err := <-result:
		return err
	}
	cancel()
	return <-result
}

func TestStagesStartInOrderAndStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		store, slow, quick, http := j.part("store"), j.part("slow"), j.part("quick"), j.part("http")
		store.warm, store.cool = time.Second, time.Second
		slow.warm, slow.cool = 3*time.Second, 3*time.Second
		quick.warm, quick.cool = 2*time.Second, 2*time.Second
		g := group(t)
		g.Add(store.member())
		g.Add(slow.member(), quick.member())
		g.Add(http.member())
		require.NoError(t, runUntilReady(t, g))
		got := strings.ReplaceAll(j.String(), "+quick +slow", "+slow +quick") // one stage starts in any order
		require.Equal(t, "+store store +slow +quick quick slow +http http -http -quick -slow -store", got)
	})
}

func TestTaskHoldsTheNextStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		g := group(t)
		g.Add(Task("migrate", func(ctx context.Context) error {
			sleep(ctx, time.Minute)
			j.add("migrated")
			return nil
		}))
		g.Add(j.part("store").member())
		require.NoError(t, runUntilReady(t, g))
		require.Equal(t, "migrated +store store -store", j.String())
	})
}

var errBroken = errors.New("broken")

func TestFailureStopsAllAndIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		store, broken, other := j.part("store"), j.part("broken"), j.part("other")
		broken.fail, broken.life = errBroken, time.Hour
		other.stopFail = errors.New("lost a record")
		g := group(t)
		g.Add(store.member())
		g.Add(broken.member())
		g.Add(other.member())
		err := g.Run(t.Context())
		require.ErrorIs(t, err, errBroken)
		require.EqualError(t, err, "broken: broken\nother: lost a record", "first failure first, each once")
		require.Equal(t, "+store store +broken broken +other other -other -store", j.String())
	})
}

func TestFailureWhileStartingStopsWhatStarted(t *testing.T) {
	failing := Func(func(context.Context) error { return errBroken })
	for name, second := range map[string]Member{
		"component": Named("second", failing), "task": Task("second", failing),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				slow := j.part("slow")
				slow.warm = time.Hour
				g := group(t)
				g.Add(j.part("first").member())
				g.Add(second, slow.member())
				g.Add(j.part("third").member())
				err := g.Run(t.Context())
				require.EqualError(t, err, "second: broken")
				require.Equal(t, "+first first +slow -first", j.String())
				select {
				case <-g.Ready():
					t.Fatal("ready although it failed")
				default:
				}
			})
		})
	}
}

// A task that fails has also ended, and the next stage waits for the end: the failure must always
// win.
func TestFailedTaskNeverStartsTheNextStage(t *testing.T) {
	for range 500 {
		g := group(t)
		g.Add(Task("migrate", func(context.Context) error { return errBroken }))
		g.Add(Named("store", Func(func(context.Context) error {
			t.Error("started after a failed task")
			return nil
		})))
		require.EqualError(t, g.Run(t.Context()), "migrate: broken")
	}
}

func TestEarlyEndIsAFailure(t *testing.T) {
	g := group(t)
	g.Add(Named("quitter", Func(func(context.Context) error { return nil })))
	require.ErrorIs(t, g.Run(t.Context()), ErrEnded)
}

func TestCancelledByItselfIsAFailure(t *testing.T) {
	g := group(t)
	g.Add(Named("confused", Func(func(context.Context) error { return context.Canceled })))
	require.EqualError(t, g.Run(t.Context()), "confused: context canceled")
}

func TestAllFailuresAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group(t)
		for _, name := range []string{"a", "b", "c"} {
			g.Add(Named(name, Func(func(ctx context.Context) error {
				sleep(ctx, time.Second)
				return errors.New("failed")
			})))
		}
		err := g.Run(t.Context())
		for _, name := range []string{"a", "b", "c"} {
			require.Equal(t, 1, strings.Count(err.Error(), name+": failed"), err)
		}
	})
}

// The signal and a failure at once: whichever is seen first, the failure is not lost.
func TestFailureBesideTheSignalIsNotLost(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			g := group(t)
			g.Add(Named("broken", Func(func(context.Context) error {
				time.Sleep(time.Second)
				return errBroken
			})))
			require.EqualError(t, g.Run(ctx), "broken: broken")
		})
	}
}

func TestSignalWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		slow := j.part("slow")
		slow.warm = time.Hour
		g, err := New(Config{StopTimeout: time.Second}, Deps{}) // no limit on starting
		require.NoError(t, err)
		g.Add(j.part("first").member())
		g.Add(slow.member())
		g.Add(j.part("third").member())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		require.NoError(t, g.Run(ctx))
		require.Equal(t, "+first first +slow -first", j.String())
	})
}

func TestNotReadyInTimeIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		slow := j.part("slow")
		slow.warm = time.Hour
		var log bytes.Buffer
		g, err := New(DefaultConfig(), Deps{Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		g.Add(j.part("quick").member(), slow.member())
		require.EqualError(t, g.Run(t.Context()), "not ready after 2m0s: slow")
		require.Contains(t, log.String(), `msg="waiting until ready" components=slow`)
	})
}

func TestOverrunIsNamedAndStoppedHard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		store, slow, fine := j.part("store"), j.part("slow"), j.part("fine")
		slow.cool = time.Hour
		fine.cool = 9 * time.Second
		g := group(t)
		g.Add(store.member())
		g.Add(slow.member(), fine.member())
		begin := time.Now()
		err := runUntilReady(t, g)
		require.EqualError(t, err, "did not stop within 10s: slow")
		require.Equal(t, 10*time.Second, time.Since(begin), "virtual time")
		require.True(t, strings.HasSuffix(j.String(), "-fine !slow -slow -store"), j)
	})
}

func TestDeafComponentIsLeftBehindByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		store, deaf := j.part("store"), j.part("deaf")
		deaf.cool, deaf.deaf = time.Hour, true
		g := group(t)
		g.Add(store.member())
		g.Add(deaf.member())
		begin := time.Now()
		err := runUntilReady(t, g)
		require.EqualError(t, err, "did not stop within 10s: deaf\nstill running 1s after the hard stop: deaf")
		require.Equal(t, 11*time.Second, time.Since(begin), "virtual time")
		require.True(t, strings.HasSuffix(j.String(), "deaf -store"), j)
		time.Sleep(time.Hour) // until the component left behind has ended: the test owns it
	})
}

// Stages that hang share the budget, and the last to stop still get their part of it.
func TestStopBudgetIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		g := group(t)
		store := j.part("store")
		store.cool = 500 * time.Millisecond
		g.Add(store.member())
		for _, name := range []string{"a", "b", "c", "d"} {
			hangs := j.part(name)
			hangs.cool, hangs.deaf = time.Hour, true
			g.Add(hangs.member())
		}
		begin := time.Now()
		require.ErrorContains(t, runUntilReady(t, g), "still running")
		require.LessOrEqual(t, time.Since(begin), DefaultConfig().StopBudget, "virtual time")
		require.True(t, strings.HasSuffix(j.String(), "-store"), "the last stage had no time: %s", j)
		require.NotContains(t, j.String(), "!store")
		time.Sleep(time.Hour) // until the components left behind have ended: the test owns them
	})
}

// A listener may use what the start has checked: the budget without 5 seconds.
func TestStopBudgetLeavesTheListenerItsDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		config := DefaultConfig()
		config.StopTimeout = time.Minute
		g, err := New(config, Deps{})
		require.NoError(t, err)
		http := j.part("http")
		http.cool = config.StopBudget - 5*time.Second
		g.Add(j.part("store").member())
		g.Add(http.member())
		require.NoError(t, runUntilReady(t, g))
	})
}

// leaving returns a group with a part and a Leave that takes 20 seconds.
func leaving(t *testing.T, j *journal, p *part) (g *Group, run func(ctx context.Context) error) {
	t.Helper()
	g, err := New(DefaultConfig(), Deps{Leave: func(ctx context.Context) {
		j.add("leave")
		if sleep(ctx, 20*time.Second) {
			j.add("left")
		}
	}})
	require.NoError(t, err)
	g.Add(j.part("store").member())
	g.Add(p.member())
	return g, g.Run
}

func TestLeaveComesBeforeTheFirstStageStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		g, _ := leaving(t, j, j.part("http"))
		require.NoError(t, runUntilReady(t, g))
		require.Equal(t, "+store store +http http leave left -http -store", j.String())
	})
}

// The time of Leave is part of the budget: what hangs afterwards has less.
func TestLeaveIsPartOfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		hangs := j.part("http")
		hangs.cool, hangs.deaf = time.Hour, true
		g, _ := leaving(t, j, hangs)
		begin := time.Now()
		require.ErrorContains(t, runUntilReady(t, g), "did not stop within 1.875s: http")
		require.LessOrEqual(t, time.Since(begin), DefaultConfig().StopBudget, "virtual time")
		time.Sleep(time.Hour)
	})
}

func TestAFailureNeedsNoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		broken := j.part("http")
		broken.fail, broken.life = errBroken, time.Hour
		_, run := leaving(t, j, broken)
		require.ErrorIs(t, run(t.Context()), errBroken)
		require.NotContains(t, j.String(), "leave")
	})
}

func TestAFailureEndsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		broken := j.part("http")
		broken.fail, broken.life = errBroken, 5*time.Second
		_, run := leaving(t, j, broken)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, run(ctx), errBroken)
		require.Equal(t, "+store store +http http leave -store", j.String())
	})
}

// A process that is stopped while it starts has no balancer to wait for.
func TestNoLeaveWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		slow := j.part("http")
		slow.warm = time.Hour
		_, run := leaving(t, j, slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, run(ctx))
		require.NotContains(t, j.String(), "leave")
	})
}

type valueKey struct{}

func TestContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "kept"))
		upper := make(chan struct{})
		g := group(t)
		g.Add(Named("lower", Func(func(ctx context.Context) error {
			<-upper
			synctest.Wait()
			assert.NoError(t, ctx.Err(), "the lower stage was stopped before the upper one ended")
			<-ctx.Done()
			return ctx.Err()
		})))
		g.Add(Named("upper", Func(func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			close(upper)
			time.Sleep(5 * time.Second)
			flush := FlushContext(ctx)
			assert.NoError(t, flush.Err())
			assert.Equal(t, "kept", flush.Value(valueKey{}))
			assert.Equal(t, "kept", ctx.Value(valueKey{}))
			return nil
		})))
		require.NoError(t, g.Run(ctx))
	})
}

func TestFlushContextOutsideOfAGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "kept"))
	cancel()
	require.NoError(t, FlushContext(ctx).Err())
	require.Equal(t, "kept", FlushContext(ctx).Value(valueKey{}))
}

func TestGroupInsideAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		slow := j.part("slow")
		slow.warm, slow.cool = time.Second, time.Hour
		inner, err := New(Config{StopTimeout: time.Hour * 24, HardTimeout: time.Hour}, Deps{})
		require.NoError(t, err)
		inner.Add(j.part("deep").member())
		inner.Add(slow.member())
		outer := group(t)
		outer.Add(Named("inner", inner))
		outer.Add(j.part("last").member())
		err = runUntilReady(t, outer)
		require.EqualError(t, err, "did not stop within 10s: inner", "the outer hard stop reaches the inner flush")
		// it reaches all inner stages at once
		got := strings.ReplaceAll(j.String(), "-deep !slow -slow", "!slow -slow -deep")
		require.Equal(t, "+deep deep +slow slow +last last -last !slow -slow -deep", got)
	})
}

func TestRunsOnce(t *testing.T) {
	g := group(t)
	require.NoError(t, runUntilReady(t, g))
	require.ErrorIs(t, g.Run(t.Context()), ErrRan)
}

func TestEndedContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := group(t)
	g.Add(Named("store", Func(func(context.Context) error {
		t.Error("started")
		return nil
	})))
	require.NoError(t, g.Run(ctx))
}

func TestConfig(t *testing.T) {
	for _, bad := range []Config{
		{}, {StopTimeout: -1}, {StopTimeout: 1, StartTimeout: -1}, {StopTimeout: 1, HardTimeout: -1},
		{StopTimeout: 1, StopBudget: -1},
	} {
		_, err := New(bad, Deps{})
		require.Error(t, err, bad)
	}
	value := reflect.ValueOf(DefaultConfig())
	for i := range value.NumField() {
		tag, err := time.ParseDuration(value.Type().Field(i).Tag.Get("default"))
		require.NoError(t, err)
		require.Equal(t, tag, time.Duration(value.Field(i).Int()), "the tag and the value of the default differ")
	}
}

// Many groups are started, stopped and broken at random moments. In every case Run returns, every
// component that ran has ended, and no goroutine is left (TestMain).
func TestStress(t *testing.T) {
	const groups = 400
	var all sync.WaitGroup
	for seed := range uint64(groups) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			var alive atomic.Int64
			g := group(t)
			for range 1 + random.IntN(4) {
				var members []Member
				for range 1 + random.IntN(3) {
					members = append(members, randomMember(random, &alive))
				}
				g.Add(members...)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(4000))*time.Microsecond)
			defer cancel()
			err := g.Run(ctx)
			if alive.Load() != 0 {
				t.Errorf("seed %d: %d components outlive Run", seed, alive.Load())
			}
			if err != nil && !errors.Is(err, errBroken) {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
	all.Wait()
}

func randomMember(random *rand.Rand, alive *atomic.Int64) Member {
	delay := time.Duration(random.IntN(1000)) * time.Microsecond
	switch random.IntN(8) {
	case 0:
		return Named("broken", Func(func(ctx context.Context) error {
			alive.Add(1)
			defer alive.Add(-1)
			sleep(ctx, delay*4)
			return errBroken
		}))
	case 1:
		return Task("task", func(ctx context.Context) error {
			alive.Add(1)
			defer alive.Add(-1)
			sleep(ctx, delay)
			return nil
		})
	default:
		c := &counted{alive: alive, delay: delay, ready: make(chan struct{})}
		return Named("good", c)
	}
}

type counted struct {
	alive *atomic.Int64
	delay time.Duration
	ready chan struct{}
}

func (c *counted) Ready() <-chan struct{} { return c.ready }

func (c *counted) Run(ctx context.Context) error {
	c.alive.Add(1)
	defer c.alive.Add(-1)
	sleep(ctx, c.delay)
	close(c.ready)
	<-ctx.Done()
	sleep(FlushContext(ctx), c.delay)
	return ctx.Err()
}
