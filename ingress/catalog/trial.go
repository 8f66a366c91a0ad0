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
	"adnet/internal/campaign"
	"adnet/internal/compliance/adtext"
	"adnet/internal/ranking"
)

// Weights is the store of learnt weights; see internal/ranking.
type Weights interface {
	WeightState(ctx context.Context) (ranking.State, error)
	WeightData(ctx context.Context, number int64) ([]byte, error)
}

// weightsEvery is the interval at which a node reads which weights decide, so that a rollback
// reaches all nodes within 2 s.
const weightsEvery = 500 * time.Millisecond

// trial holds the campaigns by the weights on trial. It exists beside the snapshot, so that neither
// a stage nor a rollback has to build anything; until it ends, a node has the campaigns in two
// orders.
type trial struct {
	snapshot *auction.Snapshot
	number   int64
	share    uint32 // share of auctions, parts per million
	stage    ranking.Stage
}

// decidesAll reports whether the weights on trial decide every auction.
func (t *trial) decidesAll() bool { return t != nil && t.share == ranking.AllShare }

// following is a node's state of learnt weights, used by Run's goroutine only.
type following struct {
	state  ranking.State
	table  ranker.Table // table of the version on trial
	making compaction   // its snapshot being built
}

// weightsChange is a newer state with the versions in it.
type weightsChange struct {
	state       ranking.State
	live, trial *ranker.Learnt // nil for the built-in weights
}

// Trial returns the campaigns by the weights on trial, nil if there are none or they decide all,
// and reports whether they decide the auction: a share of all auctions by a hash of their ids.
func (c *Catalog) Trial(id uuid.UUID) (snapshot *auction.Snapshot, decides bool) {
	t := c.trial.Load()
	if t == nil || t.decidesAll() {
		return nil, false
	}
	return t.snapshot, binary.BigEndian.Uint32(id[12:])%ranking.AllShare < t.share
}

// Model returns the version of the deciding weights, apart from the share of a trial, and the
// version on trial with its stage; 0 and empty without a trial.
func (c *Catalog) Model() (deciding string, trial int64, stage ranking.Stage) {
	if t := c.trial.Load(); t != nil {
		trial, stage = t.number, t.stage
	}
	return c.Snapshot().Model(), trial, stage
}

// followWeights polls the state until ctx ends. An unreadable state changes nothing.
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
				c.log.Warn(ctx, "learnt weights cannot be used; this node keeps its current ones", "error", err)
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

// setWeights switches to another state: at once if the snapshots exist, else when they are built.
func (c *Catalog) setWeights(next *weightsChange) {
	before := c.weights.state
	c.weights.state = next.state
	onTrial := c.trial.Load()
	if next.state.Live != before.Live {
		c.table = ranker.Version2().With(next.live)
		if onTrial != nil && onTrial.number == next.state.Live {
			c.snapshot.Store(onTrial.snapshot) // the weights on trial are now live
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

// rebuild rebuilds the snapshot with the current table. The old one serves until the new one is
// ready.
func (c *Catalog) rebuild() {
	done, old, table := make(chan *auction.Snapshot, 1), c.snapshot.Load(), c.table
	c.compacting = compaction{done: done, missed: map[auction.ID]*auction.Campaign{}}
	c.background.Go(func() { done <- old.With(table) })
}

// makeTrial builds the snapshot of the version on trial.
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

// applyToTrial applies changed campaigns to the trial, which must not serve a paused campaign.
func (c *Catalog) applyToTrial(newer map[auction.ID]*auction.Campaign) {
	if t := c.trial.Load(); t != nil {
		c.trial.Store(&trial{t.snapshot.Apply(changesOf(newer)), t.number, t.share, t.stage})
	}
	if c.weights.making.done != nil {
		maps.Copy(c.weights.making.missed, newer)
	}
}

// Entry returns the auction's view of a campaign.
func Entry(k *campaign.Campaign) auction.Campaign {
	entry := bare(k)
	entry.LandingDomain, entry.Headline, entry.Subtext = adtext.Host(k.CTAURL), k.Headline, k.Subtext
	entry.Targeting = newTargetings().of(k)
	return entry
}
