package project

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"adnet/internal/ledger/reserve"
)

const (
	gatherFor  = time.Second            // shortest time for nodes to report before an epoch grants
	gatherMost = 4 * time.Second        // the longest wait for a live node
	watchEvery = 500 * time.Millisecond // interval of this process's signs of life
)

// epochs is this process's state towards the target's reservations.
type epochs struct {
	epoch   int64     // 0 before it is known
	opened  time.Time // when it was opened, or found not to grant
	grants  bool      // nothing is outstanding
	beaten  time.Time // the last beat in it
	watched time.Time
	blind   bool // this process just started, and none was at work before it
}

// watch records that this process is at work. A round continues only after that succeeded: while no
// process can record it, nodes serve without pages of the journal, and their reservations are
// unknown.
func (p *Projector) watch(ctx context.Context) error {
	if time.Since(p.watched) < watchEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	missed, err := p.deps.Source.Watch(ctx, 0)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	p.blind = p.watched.IsZero() && missed
	p.watched = time.Now()
	return nil
}

// follows checks that this process and the target are in the last epoch of the source. If they are
// not, next is the epoch to rebuild under.
func (p *Projector) follows(ctx context.Context) (next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	current, err := p.deps.Target.Beat(ctx, p.epoch)
	if err != nil {
		return 0, fmt.Errorf("beat: %w", err)
	}
	if current == p.epoch && current != 0 {
		return 0, p.heard(ctx)
	}
	stored, err := p.deps.Source.Epoch(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the epoch: %w", err)
	}
	if current == stored && current != 0 {
		joined, err := p.join(ctx, current)
		if joined || err != nil {
			return 0, err
		}
	}
	p.epoch = 0
	if next, err = p.deps.Source.NextEpoch(ctx); err != nil {
		return 0, fmt.Errorf("begin an epoch: %w", err)
	}
	return next, nil
}

// heard handles a beat that the target answered. After a long silence, nodes may have served
// without pages of the journal, so the gap is recorded.
func (p *Projector) heard(ctx context.Context) error {
	silent := time.Since(p.beaten)
	if !p.beaten.IsZero() && silent > reserve.GapAfter {
		if _, err := p.deps.Source.Watch(ctx, silent); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	p.beaten = time.Now()
	return nil
}

// join continues in an epoch of another process, or of this one's predecessor, and publishes
// everything again to be sure. It refuses when no live process can confirm that the store is the
// same, and the journals show that it is not.
func (p *Projector) join(ctx context.Context, epoch int64) (joined bool, err error) {
	if p.blind {
		if same, err := p.same(ctx, epoch); err != nil || !same {
			return false, err
		}
		p.blind = false
	}
	if p.grants, err = p.deps.Target.Grants(ctx, epoch); err != nil {
		return false, fmt.Errorf("read the target's epoch: %w", err)
	}
	p.epoch, p.cursor, p.opened, p.beaten = epoch, 0, time.Now(), time.Time{}
	p.metrics.epoch.Set(float64(epoch))
	current, err := p.deps.Target.Beat(ctx, epoch)
	if err != nil || current != epoch {
		return false, nil
	}
	return true, p.heard(ctx)
}

// same reports whether the target knows the last calls of the dead nodes. What it may have lost
// after those calls is reported to it in their names.
func (p *Projector) same(ctx context.Context, epoch int64) (bool, error) {
	j, err := p.deps.Source.Journal(ctx)
	if err != nil {
		return false, fmt.Errorf("read the journal: %w", err)
	}
	dead := j.Dead(epoch)
	if len(dead) == 0 {
		return true, nil
	}
	calls := make(map[string]int64, len(dead))
	for _, w := range dead {
		calls[w.Node] = w.Acked
	}
	if known, err := p.deps.Target.Knows(ctx, epoch, calls); err != nil || !known {
		return false, err
	}
	j.Gaps = nil // nothing was lost, so what a gap hides is there
	return true, p.tell(ctx, holding{journal: j, nodes: dead, epoch: epoch, tail: true})
}

// open lets nodes report their reservations. It follows the publication of the rooms, because
// nothing may be granted from the rooms of an earlier epoch.
func (p *Projector) open(ctx context.Context, next int64) (err error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	level := slog.LevelWarn
	if p.epoch == 0 { // a process that starts reads the current epoch
		level = slog.LevelDebug
	}
	if p.epoch, err = p.deps.Target.Open(ctx, next); err != nil {
		p.epoch = 0
		return fmt.Errorf("open the reservations: %w", err)
	}
	if p.epoch != next {
		p.cursor = 0 // this process published to an epoch that is not in use
	}
	p.grants, p.opened, p.beaten, p.blind = false, time.Now(), time.Time{}, false
	p.metrics.epochs.Inc()
	p.metrics.epoch.Set(float64(p.epoch))
	p.deps.Log.Log(ctx, level, "reservations were rebuilt: the target had none, or older ones", "epoch", p.epoch)
	return nil
}

// grant lets a new epoch grant, as soon as the live nodes have reported their reservations and the
// journals of the others were replayed. Until then every round tries again.
func (p *Projector) grant(ctx context.Context) error {
	since := time.Since(p.opened)
	if p.grants || since < gatherFor {
		return nil
	}
	j, err := p.readJournal(ctx)
	if err != nil {
		return err
	}
	if since < gatherMost && j.Awaited(p.epoch) {
		return nil
	}
	unheard := j.Unheard(p.epoch)
	if err := p.tell(ctx, holding{journal: j, nodes: unheard, epoch: p.epoch}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if err := p.deps.Target.Grant(ctx, p.epoch); err != nil {
		return fmt.Errorf("let the reservations grant: %w", err)
	}
	p.grants = true
	if len(unheard) > 0 {
		p.deps.Log.Warn(
			"nodes that do not answer may have reserved budget: it is held back", "epoch", p.epoch, "nodes",
			len(unheard),
		)
	}
	return nil
}

func (p *Projector) readJournal(ctx context.Context) (reserve.Journal, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if _, err := p.deps.Source.Watch(ctx, 0); err != nil { // a gap that lasts until now counts
		return reserve.Journal{}, fmt.Errorf("watch: %w", err)
	}
	j, err := p.deps.Source.Journal(ctx)
	if err != nil {
		return j, fmt.Errorf("read the journal: %w", err)
	}
	return j, nil
}

// holding is the amount held back for nodes.
type holding struct {
	journal reserve.Journal
	nodes   []reserve.Writer
	epoch   int64
	tail    bool // the target knows all but the last steps, which are reported beside
}

// tell reports possible reservations in the name of nodes.
func (p *Projector) tell(ctx context.Context, h holding) error {
	if len(h.nodes) == 0 {
		return nil
	}
	entries := make(map[string][]reserve.Entry, len(h.nodes))
	for _, w := range h.nodes {
		ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
		found, err := p.deps.Source.Entries(ctx, w.Node)
		cancel()
		if err != nil {
			return fmt.Errorf("read a node's journal: %w", err)
		}
		if entries[w.Node] = found; h.tail {
			entries[w.Node] = w.Tail(found)
		}
	}
	rooms, _, err := p.readRooms(ctx, 0)
	if err != nil {
		return err
	}
	for _, call := range reserve.HoldBack(h.journal, h.nodes, entries, rooms) {
		if h.tail {
			call.Node = "tail/" + call.Node
		}
		for rest := call.Requests; len(rest) > 0; {
			call.Requests = rest[:min(p.cfg.Page, len(rest))]
			rest = rest[len(call.Requests):]
			if err := p.tellPage(ctx, h.epoch, call); err != nil {
				return err
			}
			if err := p.meanwhile(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Projector) tellPage(ctx context.Context, epoch int64, call reserve.Call) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if err := p.deps.Target.Tell(ctx, epoch, call); err != nil {
		return fmt.Errorf("report a node's reservations: %w", err)
	}
	return nil
}
