// Command bench measures adnet against physical limits on the current machine: make bench.
//
// Each row runs adnet and a baseline in turns (A B A B …), after one warm-up of each, and reports
// the medians. The two sides of a ratio receive and send the same bytes. It prints one JSON object
// per line on standard output, then a table. Progress goes to standard error. Rows without a
// baseline report only adnet.
//
// The ADNET_TEST_… variables name the real stack (make bench starts one). The servers, their stores
// and the load generator share the machine's cores, so figures are comparable within one run but
// not between machines.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type cli struct {
	Run      runCmd      `cmd:"" default:"withargs" help:"Run the rows."`
	Units    unitsCmd    `cmd:"" help:"Measure what one request, beacon and event cost, in CPU time and bytes, as JSON; scale.md is based on them."`
	Baseline baselineCmd `cmd:"" hidden:"" help:"Serve a recorded reply from a bare gin handler."`
}

// runCmd holds the settings of a run.
type runCmd struct {
	Only    []string      `name:"only" sep:"," help:"Rows to run; all when empty."`
	Smoke   bool          `name:"smoke" help:"Seconds instead of minutes, small catalogs, no thresholds: checks that every row runs."`
	Samples int           `name:"samples" default:"5" help:"Number of measurements of each side; the median counts."`
	Sample  time.Duration `name:"sample" default:"4s" help:"Length of one measurement over HTTP."`
	Results string        `name:"results" help:"Folder for the results file of a full run; none when empty."`
	Readme  string        `name:"readme" help:"File whose table between the bench markers is replaced."`
	Profile string        `name:"profile" help:"File for a CPU profile of the last started node during the last row over HTTP."`
	List    bool          `name:"list" help:"List the rows and exit."`
}

func main() {
	var c cli
	parsed := kong.Parse(&c, kong.Name("bench"), kong.Description("Speed as ratios, measured in one run."))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// Run implements kong's command.
func (c *runCmd) Run(ctx context.Context) (err error) {
	chosen := rows()
	if c.List {
		for _, r := range chosen {
			against := ""
			if r.baseline != "" {
				against = "; baseline: " + r.baseline
			}
			fmt.Printf("%-18s %s%s\n", r.name, r.ours, against)
		}
		return nil
	}
	chosen, err = pick(chosen, c.Only)
	if err != nil {
		return err
	}
	s, err := newSession(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return s.measure(ctx, chosen)
}

// measure runs the rows and prints each result.
func (s *session) measure(ctx context.Context, chosen []row) error {
	machine := describeMachine()
	s.say("machine: %s; servers, stores and the load generator share its cores", machine)
	var done []result
	var failed error
	for i, r := range chosen {
		started := time.Now()
		s.row = r
		s.say("row %d of %d: %s against %s", i+1, len(chosen), r.ours, r.baseline)
		got, err := r.run(ctx, s)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.name, err))
			s.say("failed: %v", err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		got.row = r
		s.say("done in %s", time.Since(started).Round(time.Second))
		fmt.Println(got.json())
		done = append(done, got)
	}
	fmt.Print("\n", table(done, machine, s.cfg.Smoke))
	if failed != nil || s.cfg.Smoke {
		return failed
	}
	return publish(s.cfg, machine, done)
}

// pick returns the rows, or families of rows, with the given names, or all rows without names.
func pick(all []row, names []string) (chosen []row, err error) {
	if len(names) == 0 {
		return all, nil
	}
	known := map[string]bool{}
	for _, r := range all {
		known[r.name], known[r.family] = true, true
		if slices.Contains(names, r.name) || r.family != "" && slices.Contains(names, r.family) {
			chosen = append(chosen, r)
		}
	}
	for _, name := range names {
		if !known[name] || name == "" {
			return nil, fmt.Errorf("--only: there is no row %q; --list names them", name)
		}
	}
	return chosen, nil
}
