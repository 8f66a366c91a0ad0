// Command fault injects faults into adnet and checks that its money invariants hold.
//
//	go run ./lab/fault            at most 15 minutes on 2 cores; FAULT_SEED=n repeats a selection
//	go run ./lab/fault --short    at most 3 minutes
//
// It starts its own stack (PostgreSQL, Redis, ClickHouse, three Kafka brokers) and two ingress and
// two consumers processes of the real binary. It fires beacons through both ingress nodes and
// records every acknowledgement. Meanwhile it kills processes and servers, cuts connections, fills
// disks and lets a day end. After all faults are healed it compares the acknowledged beacons with
// the contents of PostgreSQL and ClickHouse.
//
// Contract: progress goes to standard error; the last line of standard output is one JSON object
// ([report]); the exit code is 1 on any breach. Nothing keeps running afterwards, even after an
// interrupt. A failed run keeps its logs and prints their location.
//
// # Notes
//
// adnet has no clock setting, yet a day ends during the run. The binary is built with a shifted
// time.Now (go build -overlay of the standard library), the schema public shadows the database's
// now(), and Redis has a shifted wall clock (lab/stack/clock/clock.c, preloaded). All are set
// back together so that midnight comes in the middle.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"adnet/internal/process/schedule"
	"adnet/lab/product"
)

// settings defines the command line.
type settings struct {
	Seed  uint64        `name:"seed" env:"FAULT_SEED" help:"Seed for the selection of faults, victims and moments; 0 takes one from the clock."`
	Short bool          `name:"short" help:"Run for at most 3 minutes, with each quick fault once."`
	Dir   string        `name:"dir" env:"FAULT_DIR" default:".adnet/fault" help:"Folder of the run; emptied at the start."`
	Rate  float64       `name:"rate" help:"Visits (an ad request and its beacons) per second (default 80, short 40)."`
	Limit time.Duration `name:"limit" help:"Latest start of a repeated fault after the first beacon (default 8m30s); every kind occurs once, even later."`
	Only  []string      `name:"only" help:"Only faults of these kinds, each once."`
	Break string        `name:"break" help:"Build adnet without a protection (spool: beacons are acknowledged before they are stored; double: repeats count again); the run must fail. --cures lists them."`
	Cures bool          `name:"cures" help:"List the protections that a build can omit."`
}

// enough is the least number of acknowledged beacons in a full run.
const enough = 50_000

func main() {
	var cfg settings
	kong.Parse(&cfg, kong.Name("fault"), kong.Description("Injects faults into adnet and counts losses."))
	if cfg.Cures {
		breaks.Print()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	result, err := run(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
	}
	if result != nil {
		if line, err := json.Marshal(result); err == nil {
			fmt.Println(string(line))
		}
	}
	if err != nil || result == nil || len(result.Breaches) > 0 {
		os.Exit(1)
	}
}

// suite is one run.
type suite struct {
	cfg     settings
	began   time.Time
	rng     *rand.Rand // for the plan only; the timing of the load is not repeatable
	stack   *stack
	nodes   nodes
	proxy   proxies
	site    *site
	load    *load
	shifted bool          // a day ends in the middle of the run
	clock   time.Duration // offset to the machine's clock everywhere, so that a day ends in the middle
	report  report
	faulty  windows // when Redis was not healthy

	early map[uuid.UUID]int // events of an auction that wait without a verdict

	paySecret string           // of the payment provider's webhook
	spent     map[string]int64 // charges in ClickHouse, micro-USD by advertiser
}

// report is the last line of the output.
type report struct {
	Seed         uint64 `json:"seed"`
	Acknowledged int64  `json:"acknowledged"` // beacons answered 200
	Lost         int64  `json:"lost"`         // acknowledged, but without a final verdict
	Doubled      int64  `json:"doubled"`      // events that took effect twice
	Overspend    int64  `json:"overspend_micros"`
	// FreeDelivery is the largest sum of prices of one campaign's valid unique impressions that
	// were shown but not charged because its budget was exhausted, for auctions while Redis was
	// healthy. FreeDeliveryFaulty is the same for the other auctions. FreeBound is the limit of the
	// first.
	FreeDelivery       int64             `json:"free_delivery_micros"`
	FreeBound          int64             `json:"free_delivery_bound_micros"`
	FreeDeliveryFaulty int64             `json:"free_delivery_while_redis_faulty_micros"`
	AfterPause         int64             `json:"charged_after_pause"` // events
	Faults             map[string]int    `json:"faults"`
	Skipped            map[string]string `json:"skipped,omitempty"`
	// longest time by kind, from healing until all is settled and archived
	Recovery  map[string]float64 `json:"recovery_seconds"`
	FinalLag  float64            `json:"final_lag_seconds"`
	Verdicts  map[string]int64   `json:"verdicts"`
	Charged   int64              `json:"charged_micros"`
	Exhausted map[string]int     `json:"exhausted"` // campaigns no longer served because this limit was reached
	Broken    string             `json:"built_without,omitempty"`
	Noticed   bool               `json:"noticed,omitempty"` // the breach of the missing cure is among Breaches
	Breaches  []string           `json:"breaches"`
	Seconds   float64            `json:"seconds"`
}

// breach records a violated invariant.
func (s *suite) breach(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.say("BREACH: %s", text)
	s.report.Breaches = append(s.report.Breaches, text)
}

func (s *suite) say(format string, args ...any) {
	counts := ""
	if s.load != nil {
		counts = fmt.Sprintf("  [%d acknowledged, %d refused]", s.load.acknowledged.Load(), s.load.refused.Load())
	}
	fmt.Fprintf(os.Stderr, "%7.1fs  %s%s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...), counts)
}

// run executes one run and stops all processes. The result is nil if the run did not finish.
func run(ctx context.Context, cfg settings) (result *report, err error) {
	if cfg.Seed == 0 {
		cfg.Seed = uint64(time.Now().UnixNano() % 1_000_000_000)
	}
	if cfg.Limit == 0 {
		cfg.Limit = 8*time.Minute + 30*time.Second
	}
	if cfg.Rate <= 0 {
		cfg.Rate = 80
		if cfg.Short { // CI runs it, where the 30 s from healing to no lag must hold on a busy machine
			cfg.Rate = 40
		}
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	s := &suite{cfg: cfg, began: time.Now(), rng: rand.New(rand.NewPCG(cfg.Seed, 1)), paySecret: "whsec_" + product.Key()}
	s.report = report{
		Seed: cfg.Seed, Faults: map[string]int{}, Skipped: map[string]string{}, Recovery: map[string]float64{},
		Breaches: []string{},
	}
	s.say("FAULT_SEED=%d", cfg.Seed)
	if s.report.Broken = cfg.Break; cfg.Break != "" {
		s.say("adnet is built without a protection (%s): this run must fail", cfg.Break)
	}
	defer func() { err = errors.Join(err, s.tidy(result != nil && len(result.Breaches) == 0)) }()
	for _, step := range []func(context.Context) error{s.prepare, s.breakThings, s.settleAccounts} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.report.Noticed = breaks.Noticed(cfg.Break, s.report.Breaches)
	s.report.Seconds = time.Since(s.began).Round(100 * time.Millisecond).Seconds()
	return &s.report, nil
}

// prepare starts the stack and creates accounts and campaigns.
func (s *suite) prepare(ctx context.Context) error {
	s.shifted = !s.cfg.Short && (len(s.cfg.Only) == 0 || slices.Contains(s.cfg.Only, dayBoundary))
	var err error
	if s.stack, err = startStack(ctx, s); err != nil {
		return err
	}
	if err := s.startProxies(); err != nil {
		return err
	}
	if err := s.startNodes(ctx); err != nil {
		return err
	}
	if s.site, err = openSite(ctx, s); err != nil {
		return err
	}
	s.load = newLoad(s)
	return nil
}

// setClock sets the clocks of adnet, its database and Redis so that a day ends in the middle of the
// faults. It only sets them back, because Kafka rejects records from the future.
func (s *suite) setClock() {
	if !s.shifted {
		return
	}
	now := time.Now().UTC()
	in := startTime + s.cfg.Limit/2
	s.clock = now.Truncate(24 * time.Hour).Add(-in).Sub(now).Truncate(time.Second)
	s.say(
		"the clocks of adnet, PostgreSQL and Redis are set back by %s: midnight comes in %s", -s.clock,
		in.Round(time.Second),
	)
}

// startTime is the time for the preparations after setting the clock.
const startTime = 15 * time.Second

// breakThings runs the load and the plan of faults, then stops the load.
func (s *suite) breakThings(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.load.run(running)
	}()
	patience := time.Now().Add(s.cfg.Limit + 2*time.Minute)
	err := s.faults(ctx)
	if err == nil && !s.cfg.Short && len(s.cfg.Only) == 0 && s.load.acknowledged.Load() < enough {
		s.say("all faults are over, waiting for %d beacons", enough)
		for s.load.acknowledged.Load() < enough && time.Now().Before(patience) && ctx.Err() == nil {
			_ = schedule.Pause(ctx, time.Second)
		}
	}
	stop()
	<-ended
	return errors.Join(err, ctx.Err())
}

// tidy ends all started processes. The logs of a failed run stay.
func (s *suite) tidy(ok bool) error {
	s.nodes.kill()
	s.stopProxies()
	var failed error
	if s.stack != nil {
		if !ok {
			saved := filepath.Join(filepath.Dir(s.cfg.Dir), fmt.Sprintf("fault-failed-%d", s.cfg.Seed))
			failed = keepLogs(s.cfg.Dir, saved)
			s.say("the logs are in %s", saved)
		}
		failed = errors.Join(failed, s.stack.remove())
	}
	return failed
}

// keepLogs copies every log below from.
func keepLogs(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".log") ||
			strings.Contains(path, "/kafka") && strings.Contains(path, "/data/") {
			return nil // a folder removed during the walk holds no log of this run
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		target := filepath.Join(to, filepath.Base(path))
		return errors.Join(os.MkdirAll(to, 0o755), os.WriteFile(target, data, 0o644))
	})
}
