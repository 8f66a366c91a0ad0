package catalog

import (
	"context"
	"encoding/binary"
	"maps"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/train"
	"adnet/internal/adtext"
	"adnet/internal/campaign"
	"adnet/internal/ranking"
)

// Weights is where learnt weights are kept; see internal/ranking.
type Weights interface {
	WeightState(ctx context.Context) (ranking.State, error)
	WeightData(ctx context.Context, number int64) ([]byte, error)
}

// weightsEvery is how often a node asks which weights decide: a rollback is everywhere within 2 s.
const weightsEvery = 500 * time.Millisecond

// trial is the campaigns by the weights on trial. It is beside the snapshot, so that neither a
// stage nor a rollback has to build anything; until it ends, a node has the campaigns in two
// orders.
type trial struct {
	snapshot *auction.Snapshot
	number   int64
	share    uint32 // of auctions, parts per million
	stage    ranking.Stage
}

// decidesAll says that the weights on trial decide every auction.
func (t *trial) decidesAll() bool { return t != nil && t.share == ranking.AllShare }

// following is what a node knows of learnt weights; of Run's goroutine alone.
type following struct {
	state  ranking.State
	table  ranker.Table // of the version on trial
	making compaction   // of its snapshot
}

// weightsChange is a newer state with the versions that it names.
type weightsChange struct {
	state       ranking.State
	live, trial *ranker.Learnt // nil for the first day's
}

// Trial is the campaigns by the weights on trial, nil while there are none or they decide all, and
// whether they decide the auction: a share of all auctions by a hash of their ids.
func (c *Catalog) Trial(id uuid.UUID) (snapshot *auction.Snapshot, decides bool) {
	t := c.trial.Load()
	if t == nil || t.decidesAll() {
		return nil, false
	}
	return t.snapshot, binary.BigEndian.Uint32(id[12:])%ranking.AllShare < t.share
}

// Model is the version of the weights that decide, but for the share of a trial, and the version on
// trial with its stage: 0 and empty without one.
func (c *Catalog) Model() (deciding string, trial int64, stage ranking.Stage) {
	if t := c.trial.Load(); t != nil {
		trial, stage = t.number, t.stage
	}
	return c.Snapshot().Model(), trial, stage
}

// followWeights asks for the state until ctx ends. What cannot be read changes nothing.
func (c *Catalog) followWeights(ctx context.Context) {
	if c.deps.Weights == nil {
		return
	}
	every := time.NewTicker(weightsEvery)
	defer every.Stop()
	var known ranking.State
	for {
		if state, err := c.deps.Weights.WeightState(ctx); err == nil && state != known {
			next := weightsChange{state: state}
			if next.live, err = c.readWeights(ctx, state.Live); err == nil {
				next.trial, err = c.readWeights(ctx, state.Trial)
			}
			if err == nil {
				known = state
				c.queue(ctx, change{weights: &next})
			} else if ctx.Err() == nil {
				c.log.Warn(ctx, "learnt weights cannot be used: this node goes on by those it has", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

func (c *Catalog) readWeights(ctx context.Context, number int64) (*ranker.Learnt, error) {
	if number == 0 {
		return nil, nil
	}
	data, err := c.deps.Weights.WeightData(ctx, number)
	if err != nil {
		return nil, err
	}
	return train.Decode(data)
}

// setWeights serves by another state: at once where the snapshots are there, else when they are
// made.
func (c *Catalog) setWeights(next *weightsChange) {
	before := c.weights.state
	c.weights.state = next.state
	onTrial := c.trial.Load()
	if next.state.Live != before.Live {
		c.table = ranker.Version2().With(next.live)
		if onTrial != nil && onTrial.number == next.state.Live {
			c.snapshot.Store(onTrial.snapshot) // what was on trial is live
			c.compacting = compaction{}
		} else {
			c.rebuild()
		}
	}
	switch {
	case next.state.Trial == 0:
		c.trial.Store(nil)
		c.weights.making = compaction{}
	case next.state.Trial == before.Trial:
		if onTrial != nil {
			c.trial.Store(&trial{onTrial.snapshot, onTrial.number, next.state.Stage.Share(), next.state.Stage})
		}
	default:
		c.trial.Store(nil)
		c.weights.table = ranker.Version2().With(next.trial)
		c.makeTrial()
	}
}

// rebuild makes the snapshot anew by the table in force; the old one serves until it is there.
func (c *Catalog) rebuild() {
	done, old, table := make(chan *auction.Snapshot, 1), c.snapshot.Load(), c.table
	c.compacting = compaction{done: done, missed: map[auction.ID]*auction.Campaign{}}
	c.background.Go(func() { done <- old.With(table) })
}

// makeTrial makes the snapshot of the version on trial.
func (c *Catalog) makeTrial() {
	if c.weights.state.Trial == 0 {
		return
	}
	done, base, table := make(chan *auction.Snapshot, 1), c.snapshot.Load(), c.weights.table
	c.weights.making = compaction{done: done, missed: map[auction.ID]*auction.Campaign{}}
	c.background.Go(func() { done <- base.With(table) })
}

func (c *Catalog) finishTrial(next *auction.Snapshot) {
	c.trial.Store(&trial{
		next.Apply(changesOf(c.weights.making.missed)), c.weights.state.Trial, c.weights.state.Stage.Share(),
		c.weights.state.Stage,
	})
	c.weights.making = compaction{}
}

// applyToTrial lets the trial follow the campaigns: it must not serve one that was paused.
func (c *Catalog) applyToTrial(newer map[auction.ID]*auction.Campaign) {
	if t := c.trial.Load(); t != nil {
		c.trial.Store(&trial{t.snapshot.Apply(changesOf(newer)), t.number, t.share, t.stage})
	}
	if c.weights.making.done != nil {
		maps.Copy(c.weights.making.missed, newer)
	}
}

// Entry is the auction's view of a campaign.
func Entry(k *campaign.Campaign) auction.Campaign {
	entry := bare(k)
	entry.LandingDomain, entry.Headline, entry.Subtext = adtext.Host(k.CTAURL), k.Headline, k.Subtext
	entry.Targeting = newTargetings().of(k)
	return entry
}
