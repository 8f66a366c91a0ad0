// Command hostile simulates attackers of adnet and measures their gains: strangers, colluding
// accounts, a dishonest publisher, an advertiser that changes its page, a reader that repeats
// clicks, slow or greedy clients, advertisers and publishers that show ads to people in crisis, and
// writers to Redis and Kafka.
// Each has a budget of requests. Honest traffic continues meanwhile.
//
//	make hostile             6 minutes; HOSTILE_SEED=n repeats the random choices
//	make hostile SHORT=1     2 minutes, which CI runs
//	make hostile-breaks      builds adnet without a cure, once for each: each run must notice
//
// It creates its own databases, topics and keys on the servers of the stack, and starts one ingress
// and one consumers process of the real binary with production settings.
//
// Contract: progress goes to standard error; the last line of standard output is one JSON object
// ([report]); the exit code is 1 on any breach. Nothing keeps running afterwards.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"adnet/lab/hostile/ring"
	"adnet/lab/process"
)

type settings struct {
	Seed  uint64 `name:"seed" env:"HOSTILE_SEED" help:"Seed of the random choices; 0 takes one from the clock."`
	Short bool   `name:"short" help:"Run for 2 minutes."`
	Break string `name:"break" help:"Build adnet without this protection; the run must fail. --cures lists them."`
	Cures bool   `name:"cures" help:"List the protections that a build can omit."`
}

// The bounds for strangers.
const (
	// bytes above idle: 100 MB, and four hashes of passwords of 19 MB, two as garbage
	rssBound      = 176 << 20
	rowBound      = 1_000 // rows of unverified events in ClickHouse and PostgreSQL
	keyBound      = 2_000 // Redis keys in addition to those of sold ads
	spareFiles    = 64    // descriptors left when strangers hold all connections they can get
	campaignBound = 150   // of an account with one approved campaign
	slowerBound   = 3.0   // honest p99 under attack ÷ alone
	busyBound     = 0.5   // share of the processors that others may use before times are ignored
	pauseBound    = 100.0 // p99 of a pause beside another tenant's flood of changes, ms
)

// report is the last line of the output.
type report struct {
	Seed     uint64           `json:"seed"`
	Requests map[string]int64 `json:"requests"` // by attacker

	Charges          int64 `json:"charges_micros"`        // of all advertisers
	SpendableCredits int64 `json:"spendable_credits"`     // including held and spent ones
	CreditsWorth     int64 `json:"credits_worth_micros"`  // value of SpendableCredits
	VictimCharged    int64 `json:"victim_charged_micros"` // for conversions and clicks without a reader
	HonestHeld       int64 `json:"honest_quarantines"`    // cases against honest publishers
	// number of times that an unapproved page was reached or advertised
	UnapprovedShown int64 `json:"unapproved_pages_shown"`
	UnprovenRows    int64 `json:"unproven_rows"`
	RedisKeys       int64 `json:"redis_keys_added"`
	Campaigns       int64 `json:"most_campaigns_of_an_account"`

	Stolen *lootReport    `json:"stolen_key,omitempty"`
	Needs  *needReport    `json:"people_in_need,omitempty"`
	Thief  *thiefReport   `json:"free_accounts,omitempty"`
	Rings  []ring.Outcome `json:"patient_rings,omitempty"`
	Siege  *siegeReport   `json:"siege,omitempty"`
	Writer *writerReport  `json:"writer,omitempty"`

	IdleRSS       int64   `json:"idle_rss_bytes"`
	PeakRSS       int64   `json:"peak_rss_bytes"`
	PeakFiles     int     `json:"peak_descriptors"`
	MostSeries    int     `json:"most_series"` // in the metrics of a process at the end
	FileLimit     int     `json:"descriptor_limit"`
	AloneP99      float64 `json:"honest_p99_alone_ms"`
	AttackedP99   float64 `json:"honest_p99_attacked_ms"`
	HonestRefused int64   `json:"honest_refused"`
	// share of its runnable time that ingress waited for a processor
	WaitedAlone   float64          `json:"ingress_waited_alone"`
	Waited        float64          `json:"ingress_waited_attacked"` // the same under attack
	AnsweredAlone float64          `json:"ingress_p99_alone_ms"`    // upper bound for ad requests, measured in ingress
	Answered      float64          `json:"ingress_p99_attacked_ms"`
	PausesAlone   float64          `json:"pause_p99_alone_ms"`
	PausesFlooded float64          `json:"pause_p99_flooded_ms"` // while another tenant floods adnet with changes
	Changes       map[string]int64 `json:"flood_of_changes"`     // responses to that flood by HTTP status
	// largest share used by others while the suite waited
	MachineBusy float64  `json:"machine_busy"`
	Broken      string   `json:"built_without,omitempty"`
	Noticed     bool     `json:"noticed,omitempty"` // the breach of the missing cure is among Breaches
	Breaches    []string `json:"breaches"`
	Seconds     float64  `json:"seconds"`
}

// suite is one run.
type suite struct {
	cfg    settings
	began  time.Time
	rng    *rand.Rand
	world  *world
	honest *honest

	colluder, liar person // publishers
	stolen         stolen
	thief          thief
	needs          needs
	report         report
}

func main() {
	var cfg settings
	kong.Parse(
		&cfg, kong.Name("hostile"), kong.Description("Simulates attackers of adnet and counts their gains."),
	)
	if cfg.Cures {
		breaks.Print()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	result, err := run(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
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

func (s *suite) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%7.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// breach records a violated rule.
func (s *suite) breach(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.say("BREACH: %s", text)
	s.report.Breaches = append(s.report.Breaches, text)
}

// alone returns the length of the phase without attackers.
func (s *suite) alone() time.Duration {
	if s.cfg.Short {
		return 6 * time.Second
	}
	return 20 * time.Second
}

// pausing returns the length of each half of the measurement of pauses.
func (s *suite) pausing() time.Duration {
	if s.cfg.Short {
		return 5 * time.Second
	}
	return 20 * time.Second
}

func (s *suite) attacked() time.Duration {
	if s.cfg.Short {
		return 28 * time.Second
	}
	return 3 * time.Minute
}

// run executes one run and stops all processes.
func run(ctx context.Context, cfg settings) (result *report, err error) {
	if cfg.Seed == 0 {
		cfg.Seed = uint64(time.Now().UnixNano() % 1_000_000_000)
	}
	s := &suite{cfg: cfg, began: time.Now(), rng: rand.New(rand.NewPCG(cfg.Seed, 2))}
	s.report = report{
		Seed: cfg.Seed, Broken: cfg.Break, Requests: map[string]int64{}, Changes: map[string]int64{},
		Breaches: []string{},
	}
	s.honest = newHonest(s)
	s.say("HOSTILE_SEED=%d", cfg.Seed)
	if err := s.months(ctx); err != nil {
		return nil, err
	}
	if s.world, err = openWorld(ctx, s); err != nil {
		return nil, errors.Join(err, s.world.close())
	}
	defer func() { err = errors.Join(err, s.world.close()) }()
	for _, step := range []func(context.Context) error{
		s.measureOthers, s.measureAlone, s.measurePauses, s.thieve, s.besiege, s.write, s.measureOthers, s.attack,
		s.measureAlone, s.judge, s.measureOthers, s.judgeTimes,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.report.Noticed = breaks.Noticed(cfg.Break, s.report.Breaches)
	s.report.Seconds = time.Since(s.began).Round(100 * time.Millisecond).Seconds()
	return &s.report, nil
}

// months plays a month of patient rings: all strategies and three drawn ones, or two and one in a
// short run. A build without a protection plays none, because they run in this process.
func (s *suite) months(ctx context.Context) error {
	if s.cfg.Break != "" {
		return nil
	}
	strategies := ring.Strategies()
	s.rng.Shuffle(len(strategies), func(i, j int) { strategies[i], strategies[j] = strategies[j], strategies[i] })
	drawn := 3
	if s.cfg.Short {
		strategies, drawn = strategies[:2], 1
	}
	for range drawn {
		strategies = append(strategies, ring.Drawn(s.rng))
	}
	s.say("a month of %d patient rings", len(strategies))
	outcomes := make([]ring.Outcome, len(strategies))
	under, part := errgroup.WithContext(ctx)
	under.SetLimit(2)
	for i := range strategies {
		under.Go(func() (err error) {
			outcomes[i], err = ring.Month(part, strategies[i], s.cfg.Seed)
			return err
		})
	}
	if err := under.Wait(); err != nil {
		return err
	}
	s.report.Rings = outcomes
	for i := range outcomes {
		o := &outcomes[i]
		s.say("ring that %s", o.Strategy)
		s.say("  takes out %s USD, pays in %s USD", o.Takes(), o.Pays())
		if text := o.Breach(); text != "" {
			s.breach("%s", text)
		}
	}
	return nil
}

// measureOthers measures how busy the machine is while the suite is idle.
func (s *suite) measureOthers(ctx context.Context) error {
	share, err := process.Busy(ctx, time.Second)
	s.report.MachineBusy = max(s.report.MachineBusy, share)
	return err
}

// measureAlone runs honest traffic without attackers, before and after them. The slower p99 counts,
// because the speed of a shared machine varies.
func (s *suite) measureAlone(ctx context.Context) error {
	s.say("honest traffic alone, %s", s.alone())
	part, cancel := context.WithTimeout(ctx, s.alone())
	defer cancel()
	began, err := s.begin(ctx)
	if err != nil {
		return err
	}
	s.honest.run(part)
	waited, answered, err := s.end(ctx, began)
	if err != nil {
		return err
	}
	s.report.WaitedAlone, s.report.AnsweredAlone = max(s.report.WaitedAlone, waited), max(
		s.report.AnsweredAlone, answered,
	)
	s.report.AloneP99 = max(s.report.AloneP99, s.honest.p99())
	if s.report.IdleRSS != 0 {
		return ctx.Err()
	}
	if s.report.IdleRSS, err = s.world.ingress.RSS(); err != nil {
		return err
	}
	s.say("honest p99 %.1f ms, memory %d MB", s.report.AloneP99, s.report.IdleRSS>>20)
	return ctx.Err()
}
