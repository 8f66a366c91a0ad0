package project

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/reserve"
)

// Config is what an operator may choose.
type Config struct {
	Every       time.Duration `name:"project-every" env:"ADNET_PROJECT_EVERY" default:"200ms" help:"How often changes are looked for and published."`
	RepairEvery time.Duration `name:"project-repair-every" env:"ADNET_PROJECT_REPAIR_EVERY" default:"30s" help:"How long after every campaign's room to spend was published that begins again."`
	Page        int           `name:"project-page" env:"ADNET_PROJECT_PAGE" default:"1000" help:"Most campaigns published at once."`
	Timeout     time.Duration `name:"project-timeout" env:"ADNET_PROJECT_TIMEOUT" default:"10s" help:"Longest time for one question to the source or the target."`
}

// Source is where the truth is.
type Source interface {
	// ChangedCampaigns is as [campaign.Changes] says.
	ChangedCampaigns(ctx context.Context, since int64, limit int) (changed []campaign.Campaign, head int64, err error)
	// Rooms lists what changed after cursor and the cursor to go on with; every room for cursor 0.
	Rooms(ctx context.Context, cursor int64) (rooms []reserve.Room, next int64, err error)
	Epochs
}

// Epochs remembers under which epoch the target's reservations were last rebuilt.
type Epochs interface {
	Epoch(ctx context.Context) (int64, error)
	// NextEpoch is higher than every epoch before.
	NextEpoch(ctx context.Context) (int64, error)
	// Prune forgets what was released of minutes before minute.
	Prune(ctx context.Context, minute day.Minute) error
	Journal
}

// Journal is what nodes have said of their reservations, and the projectors of themselves; see
// [reserve.Page].
type Journal interface {
	// Watch says that a projector is at work. silent is for how long the nodes did not hear of one
	// though the target's reservations stayed; missed, that none was at work for a while.
	Watch(ctx context.Context, silent time.Duration) (missed bool, err error)
	Journal(ctx context.Context) (reserve.Journal, error)
	// Entries are those of a node's pages, the older first.
	Entries(ctx context.Context, node string) ([]reserve.Entry, error)
}

// Target is the projection. Several processes write it at once: values are absolute and versioned,
// and an older version never replaces a newer one.
type Target interface {
	// Head is the version up to which the target's campaigns are complete. found is false when it
	// has none: it is new, was emptied or was replaced.
	Head(ctx context.Context) (version int64, found bool, err error)
	// PublishCampaigns keeps changed, then raises the head to head; it never lowers it. Head 0
	// promises nothing: the target is still being filled.
	PublishCampaigns(ctx context.Context, changed []campaign.Campaign, head int64) error
	// PublishRooms keeps rooms, and what was released of them for the reservations of epoch, which
	// need not be open yet.
	PublishRooms(ctx context.Context, epoch int64, rooms []reserve.Room) error
	Reservations
}

// Reservations is the part of the target that nodes reserve prices in. It lives in epochs: what was
// lost, or comes back older than this process has seen it, is rebuilt under the next.
type Reservations interface {
	// Beat says that this process is at work in epoch, and answers the epoch of the target; 0 when
	// its reservations are lost, older than what was seen, or were never built.
	Beat(ctx context.Context, epoch int64) (current int64, err error)
	// Open lets nodes say in epoch, whose rooms are all published, what they have reserved; the
	// answer is a later one when another process was quicker. Nothing is granted before Grant.
	Open(ctx context.Context, epoch int64) (current int64, err error)
	// Tell says in the name of a node what it has reserved.
	Tell(ctx context.Context, epoch int64, call reserve.Call) error
	Grant(ctx context.Context, epoch int64) error
	Grants(ctx context.Context, epoch int64) (bool, error)
	// Knows says whether the target has heard of calls: the last ones of nodes, by their numbers.
	Knows(ctx context.Context, epoch int64, calls map[string]int64) (bool, error)
}

// Deps are what a [Projector] works with. All but Wake are required.
type Deps struct {
	// Wake calls wake whenever something was changed that nodes wait for, until ctx ends or it
	// fails: it only saves waiting for the next round.
	Wake    func(ctx context.Context, wake func()) error
	Source  Source
	Target  Target
	Log     *slog.Logger
	Metrics prometheus.Registerer
}
