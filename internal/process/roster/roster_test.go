package roster

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// paper is a store that keeps what was said last.
type paper struct {
	mu    sync.Mutex // guards the rest
	reply []Process
	left  string
	ran   []Run
	away  bool
}

func (p *paper) Say(_ context.Context, of Process) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return errors.New("away")
	}
	p.reply = append(p.reply, of)
	return nil
}

func (p *paper) Leave(_ context.Context, name string) error { p.left = name; return nil }

func (p *paper) Ended(_ context.Context, r Run) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ran = append(p.ran, r)
	return nil
}

func (p *paper) Processes(context.Context) ([]Process, error) { return p.reply, nil }
func (p *paper) Runs(context.Context) ([]Run, error)          { return p.ran, nil }

// A clerk says every ten seconds, and when there is news, what holds then, goes on when it was not
// heard, and leaves.
func TestAClerkSaysWhatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, start, campaigns := &paper{}, time.Now().UTC(), 0
		c := NewClerk(Deps{
			Store: store, Log: slog.New(slog.DiscardHandler), Self: Process{Name: "a", Role: Ingress, Version: "v1"},
		})
		c.Serves(func() *Serving { campaigns++; return &Serving{Campaigns: campaigns} })
		ctx, stop := context.WithCancel(t.Context())
		go func() { require.NoError(t, c.Run(ctx)) }()
		time.Sleep(time.Second)
		c.Of(Verify).Plans(start.Add(time.Hour))
		synctest.Wait()
		store.mu.Lock()
		store.away = true
		store.mu.Unlock()
		time.Sleep(SayEvery)
		store.mu.Lock()
		store.away = false
		store.mu.Unlock()
		time.Sleep(SayEvery)
		stop()
		synctest.Wait()
		require.Equal(t, []Process{
			{
				Name: "a", Role: Ingress, Version: "v1", StartedAt: start, SaidAt: start,
				Serving: &Serving{Campaigns: 1}, Plans: map[string]time.Time{},
			},
			{
				Name: "a", Role: Ingress, Version: "v1", StartedAt: start, SaidAt: start.Add(time.Second),
				Serving: &Serving{Campaigns: 2}, Plans: map[string]time.Time{Verify: start.Add(time.Hour)},
			},
			{
				Name: "a", Role: Ingress, Version: "v1", StartedAt: start, SaidAt: start.Add(2 * SayEvery),
				Serving: &Serving{Campaigns: 4}, Plans: map[string]time.Time{Verify: start.Add(time.Hour)},
			},
		}, store.reply)
		require.Equal(t, "a", store.left)
	})
}

// A run is told with its process; one that the end of the process broke off is not, nor one whose
// job tells nobody.
func TestRunsAreTold(t *testing.T) {
	store, now := &paper{}, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	c := NewClerk(Deps{Store: store, Log: slog.New(slog.DiscardHandler), Self: Process{Name: "a"}, Mask: mask})
	c.Of(Train).Ended(t.Context(), nil, now, now.Add(time.Hour))
	c.Of(Goals).Ended(t.Context(), errors.New("read:\n\x1b[31mpassword hunter2\xff is wrong"), now, time.Time{})
	c.Of(Verify).Ended(t.Context(), errors.New(strings.Repeat("ä", 2*MaxWhy)), now, time.Time{})
	ended, stop := context.WithCancel(t.Context())
	stop()
	c.Of(Rollup).Ended(ended, ended.Err(), now, now)
	Report(nil).Ended(t.Context(), nil, now, now)
	Report(nil).Plans(now)
	require.Equal(t, []Run{{Job: Train, Process: "a", EndedAt: now}, {
		Job: Goals, Process: "a", EndedAt: now, Failed: true, Why: "read: [31mpassword ***? is wrong",
	},
		{Job: Verify, Process: "a", EndedAt: now, Failed: true, Why: strings.Repeat("ä", MaxWhy-1) + "…"}}, store.ran)
	require.NoError(t, c.Say(t.Context()))
	require.Equal(t, map[string]time.Time{Train: now.Add(time.Hour)}, store.reply[0].Plans)
}

func TestJobsOfSeveralProcesses(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	next := now.Add(time.Minute)
	require.Equal(t, []Job{
		{Name: Goals, EndedAt: &now, Failed: true, Why: "no disk", Process: "gone"},
		{Name: Train, Next: &next},
		{Name: Verify, EndedAt: &now, Process: "a", Next: &next},
	}, Jobs([]Process{
		{Name: "a", Plans: map[string]time.Time{Verify: now.Add(time.Hour), Train: next}},
		{Name: "b", Plans: map[string]time.Time{Verify: next}},
	},
		[]Run{
			{Job: Verify, Process: "a", EndedAt: now},
			{Job: Goals, Process: "gone", EndedAt: now, Failed: true, Why: "no disk"},
		}))
	require.Equal(t, []Job{}, Jobs(nil, nil))
}
