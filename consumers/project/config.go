package project

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger/reserve"
)

// Config holds the operator's settings.
type Config struct {
	Every       time.Duration `name:"project-every" env:"ADNET_PROJECT_EVERY" default:"200ms" help:"How often changes are looked for and published."`
	RepairEvery time.Duration `name:"project-repair-every" env:"ADNET_PROJECT_REPAIR_EVERY" default:"30s" help:"How long after every campaign's room to spend was published that begins again."`
	Page        int           `name:"project-page" env:"ADNET_PROJECT_PAGE" default:"1000" help:"Most campaigns published at once."`
	Timeout     time.Duration `name:"project-timeout" env:"ADNET_PROJECT_TIMEOUT" default:"10s" help:"Longest time for one question to the source or the target."`
}

// Source is the authoritative store.
type Source interface {
	// ChangedCampaigns follows the contract of [campaign.Changes].
	ChangedCampaigns(ctx context.Context, since int64, limit int) (changed []campaign.Campaign, head int64, err error)
	// Rooms lists the rooms changed after cursor and the next cursor; cursor 0 lists every room.
	Rooms(ctx context.Context, cursor int64) (rooms []reserve.Room, next int64, err error)
	Epochs
}

// Epochs stores the epoch under which the target's reservations were last rebuilt.
type Epochs interface {
	Epoch(ctx context.Context) (int64, error)
	// NextEpoch returns a number above every earlier epoch.
	NextEpoch(ctx context.Context) (int64, error)
	// Prune removes the releases of minutes before minute.
	Prune(ctx context.Context, minute day.Minute) error
	Journal
}

// Journal holds the nodes' reports of their reservations, and the projectors' signs of life; see
// [reserve.Page].
type Journal interface {
	// Watch records that a projector is at work. silent is how long nodes have not heard from one
	// while the target's reservations stayed. missed reports a period without any projector.
	Watch(ctx context.Context, silent time.Duration) (missed bool, err error)
	Journal(ctx context.Context) (reserve.Journal, error)
	// Entries returns the entries of a node's pages, oldest first.
	Entries(ctx context.Context, node string) ([]reserve.Entry, error)
}

// Target is the projection. Several processes write it concurrently: values are absolute and
// versioned, and an older version never replaces a newer one.
type Target interface {
	// Head returns the version up to which the target's campaigns are complete. found is false when
	// it has none: it is new, was emptied or was replaced.
	Head(ctx context.Context) (version int64, found bool, err error)
	// PublishCampaigns stores changed, then raises the head to head; it never lowers it. Head 0
	// promises nothing: the target is still being filled.
	PublishCampaigns(ctx context.Context, changed []campaign.Campaign, head int64) error
	// PublishRooms stores rooms, and their releases for the reservations of epoch, which need not
	// be open yet.
	PublishRooms(ctx context.Context, epoch int64, rooms []reserve.Room) error
	Reservations
}

// Reservations is the part of the target in which nodes reserve prices. It lives in epochs: lost
// reservations, and those older than this process has seen, are rebuilt under the next epoch.
type Reservations interface {
	// Beat records that this process is at work in epoch, and returns the epoch of the target. It
	// is 0 when its reservations are lost, were never built, or are older than this process has
	// seen.
	Beat(ctx context.Context, epoch int64) (current int64, err error)
	// Open lets nodes report their reservations in epoch, whose rooms are all published. It returns
	// a later epoch when another process was faster. Nothing is granted before Grant.
	Open(ctx context.Context, epoch int64) (current int64, err error)
	// Tell reports the reservations of a node in its name.
	Tell(ctx context.Context, epoch int64, call reserve.Call) error
	Grant(ctx context.Context, epoch int64) error
	Grants(ctx context.Context, epoch int64) (bool, error)
	// Knows reports whether the target has seen calls: the numbers of the nodes' last calls.
	Knows(ctx context.Context, epoch int64, calls map[string]int64) (bool, error)
}

// Deps holds the dependencies of a [Projector]. All but Wake are required.
type Deps struct {
	// Wake calls wake on every change that nodes wait for, until ctx ends or it fails. It only
	// shortens the wait for the next round.
	Wake    func(ctx context.Context, wake func()) error
	Source  Source
	Target  Target
	Log     *slog.Logger
	Metrics prometheus.Registerer
}
