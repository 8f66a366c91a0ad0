package project_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adnet/consumers/project"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/memory"
	"adnet/internal/store/redis"
	"adnet/internal/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 60 * time.Second

var config = project.Config{Every: 2 * time.Millisecond, RepairEvery: time.Hour, Page: 2, Timeout: 5 * time.Second}

// source is the in-memory mode's store as the wiring puts it together.
type source struct {
	*memory.Campaigns
	*memory.RoomReader
	stores *memory.Stores
}

func newSource() source {
	stores := memory.New(time.Now)
	return source{stores.Campaigns, stores.Campaigns.RoomReader(reserve.RoomOptions{}), stores}
}

func (s source) add(t *testing.T, n int) (ids []uuid.UUID) {
	t.Helper()
	user := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Email: uuid.NewString() + "@example.com"}
	require.NoError(t, s.stores.Accounts.CreateUser(t.Context(), user))
	for range n {
		c, err := s.CreateCampaign(t.Context(), campaign.NewCampaign{
			Campaign: campaign.Campaign{
				ID: uuid.New(), AdvertiserID: user.ID, BillingModel: campaign.CPM, DailyBudget: 100, TotalBudget: 1_000,
			},
			Admit: func(bool) campaign.Status { return campaign.Active },
		})
		require.NoError(t, err)
		ids = append(ids, c.ID)
	}
	return ids
}

func (s source) rename(t *testing.T, id uuid.UUID, name string) {
	t.Helper()
	_, err := s.UpdateCampaign(t.Context(), id, func(c *campaign.Campaign) error { c.Name = name; return nil })
	require.NoError(t, err)
}

// spend charges a campaign the way settlement does.
func (s source) spend(t *testing.T, id uuid.UUID, first int64, amount money.Micros) {
	t.Helper()
	r := stream.Range{Partition: stream.Partition{Stream: "s"}, First: first, Next: first + 1}
	require.NoError(t, s.stores.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		return errors.Join(tx.AdvanceOffsets(t.Context(), []stream.Range{r}), tx.Write(t.Context(), ledger.Effects{
			Applied: []ledger.AppliedRange{{Range: r, Outcomes: make([]ledger.Outcome, 1)}},
			Spend:   []ledger.Spend{{CampaignID: id, Day: day.Of(time.Now()), Amount: amount}},
		}))
	}))
}

// start runs a projector like a process of its own.
func start(
	t *testing.T, cfg project.Config, from project.Source, to project.Target,
) (p *project.Projector, stop func()) {
	t.Helper()
	p, err := project.New(cfg, project.Deps{
		Source: from, Target: to, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Metrics: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	require.Error(t, p.Ready(), "nothing is published yet")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return p, stop
}

// server is a Redis inside the test that can lose everything.
type server struct {
	port int
	stop func()
}

// newRedis starts a server and a client of it.
func newRedis(t *testing.T) (*server, *redis.Client) {
	t.Helper()
	s := &server{}
	addr := s.run(t)
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	s.port, err = strconv.Atoi(port)
	require.NoError(t, err)
	t.Cleanup(func() { s.stop() })
	client, err := redis.Open(redis.Config{Addr: addr}, redis.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return s, client
}

func (s *server) run(t *testing.T) (addr string) {
	t.Helper()
	embedded, err := redis.NewEmbedded(redis.EmbeddedConfig{Port: s.port})
	require.NoError(t, err)
	require.NoError(t, embedded.Start())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- embedded.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	return embedded.Addr()
}

// lose replaces the server by an empty one at the same address.
func (s *server) lose(t *testing.T) {
	t.Helper()
	s.stop()
	s.run(t)
}

// equal waits until the catalog shows exactly the source's campaigns and rooms.
func equal(t *testing.T, s source, client *redis.Client) {
	t.Helper()
	campaigns, projected := redis.NewCampaigns(client), redis.NewRooms(client)
	require.Eventually(t, func() bool {
		ctx := context.Background()
		want, head, err := s.ChangedCampaigns(ctx, 0, 10_000)
		got, gotHead, gotErr := campaigns.All(ctx)
		if err != nil || gotErr != nil || head != gotHead || len(want) != len(got) {
			return false
		}
		for i := range want {
			if want[i].ID != got[i].ID || want[i].ConfigVersion != got[i].ConfigVersion || want[i].Name != got[i].Name {
				return false
			}
		}
		rooms, _, err := s.Rooms(ctx, 0)
		displayed, shownErr := projected.All(ctx)
		if err != nil || shownErr != nil || len(rooms) != len(displayed) {
			return false
		}
		byID := make(map[uuid.UUID]reserve.Room)
		for _, r := range displayed {
			byID[r.CampaignID] = r
		}
		for _, r := range rooms {
			r.Released, r.Price = nil, 0 // only reservations hear of them
			if !reflect.DeepEqual(byID[r.CampaignID], r) {
				return false
			}
		}
		return true
	}, patience, 5*time.Millisecond)
}

func TestCatalogFollowsTheStore(t *testing.T) {
	s := newSource()
	ids := s.add(t, 5)
	_, client := newRedis(t)
	p, _ := start(t, config, s, redis.NewProjection(client))
	equal(t, s, client)
	require.Eventually(t, func() bool { return p.Ready() == nil }, patience, time.Millisecond)

	s.rename(t, ids[2], "new name")
	s.spend(t, ids[3], 0, 40)
	equal(t, s, client)
	s.add(t, 3)
	s.spend(t, ids[3], 1, 60)
	equal(t, s, client)
}

func TestLostCatalogIsPublishedAgain(t *testing.T) {
	s := newSource()
	ids := s.add(t, 5)
	server, client := newRedis(t)
	start(t, config, s, redis.NewProjection(client))
	equal(t, s, client)
	server.lose(t)
	equal(t, s, client)
	s.spend(t, ids[0], 0, 1)
	server.lose(t)
	s.rename(t, ids[1], "while it was empty")
	equal(t, s, client)
}

func TestSeveralProjectorsAgree(t *testing.T) {
	s := newSource()
	ids := s.add(t, 7)
	server, client := newRedis(t)
	start(t, config, s, redis.NewProjection(client))
	_, stop := start(t, config, s, redis.NewProjection(client))
	start(t, config, s, redis.NewProjection(client))
	for i := range 60 {
		s.rename(t, ids[i%len(ids)], uuid.NewString())
		s.spend(t, ids[i*3%len(ids)], int64(i), 1)
		if i%20 == 10 {
			server.lose(t)
		}
		if i == 30 {
			stop()
		}
	}
	equal(t, s, client)
}

// target records heads, and fails when told to.
type target struct {
	mu     sync.Mutex
	fail   int
	head   int64
	found  bool
	stored map[uuid.UUID]int64
	heads  []int64 // as they were given
	rooms  map[uuid.UUID]int64
	pages  int           // of rooms
	slow   time.Duration // each page of rooms takes this long

	epoch    int64         // open; 0 for none
	ready    map[int64]int // rooms by the epoch they went to
	reported []reserve.Call
	grant    int64            // the epoch that grants
	calls    map[string]int64 // the last ones it knows
}

var errTarget = errors.New("target is out of reach")

func (g *target) Head(context.Context) (int64, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.head, g.found, nil
}

func (g *target) PublishCampaigns(_ context.Context, changed []campaign.Campaign, head int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail > 0 {
		g.fail--
		return errTarget
	}
	for _, c := range changed {
		g.stored[c.ID] = max(g.stored[c.ID], c.ConfigVersion)
	}
	g.heads = append(g.heads, head)
	g.head, g.found = max(g.head, head), true
	return nil
}

func (g *target) PublishRooms(ctx context.Context, epoch int64, rooms []reserve.Room) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(g.slow):
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages++
	if g.rooms == nil {
		g.rooms = make(map[uuid.UUID]int64)
	}
	for _, r := range rooms {
		g.rooms[r.CampaignID] = r.Version
	}
	if g.ready == nil {
		g.ready = make(map[int64]int)
	}
	g.ready[epoch] += len(rooms)
	return nil
}

func (g *target) Beat(_ context.Context, epoch int64) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.epoch < epoch {
		g.epoch = 0
	}
	return g.epoch, nil
}

func (g *target) Tell(_ context.Context, epoch int64, call reserve.Call) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	call.Epoch = epoch
	g.reported = append(g.reported, call)
	return nil
}

func (g *target) Grant(_ context.Context, epoch int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grant = epoch
	return nil
}

func (g *target) Grants(_ context.Context, epoch int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.grant == epoch, nil
}

func (g *target) Knows(_ context.Context, _ int64, calls map[string]int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for node, seq := range calls {
		if g.calls[node] < seq {
			return false, nil
		}
	}
	return true, nil
}

func (g *target) Open(_ context.Context, epoch int64) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.epoch = max(g.epoch, epoch)
	return g.epoch, nil
}

// Reservations that are gone, or of an epoch of before, are rebuilt under a higher one, after every
// room went there.
func TestReservationsAreRebuiltUnderANewEpoch(t *testing.T) {
	s := newSource()
	ids := s.add(t, 3)
	g := &target{stored: map[uuid.UUID]int64{}}
	_, stop := start(t, config, s, g)
	epoch := func(above int64) (epoch int64) {
		require.Eventually(t, func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			epoch = g.epoch
			return epoch > above
		}, patience, time.Millisecond)
		stored, err := s.Epoch(t.Context())
		require.NoError(t, err)
		require.Equal(t, epoch, stored)
		g.mu.Lock()
		defer g.mu.Unlock()
		require.GreaterOrEqual(t, g.ready[epoch], len(ids))
		return epoch
	}
	set := func(to int64) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.epoch = to
	}
	first := epoch(0)
	set(0) // emptied
	second := epoch(first)
	set(first) // an old dump
	third := epoch(second)
	stop()
	// A process that starts goes on where the reservations are, and repeats what it publishes.
	_, stop = start(t, config, s, g)
	require.Equal(t, third, epoch(0))
	stop()
}

func (g *target) lose() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.head, g.found, g.stored, g.heads = 0, false, make(map[uuid.UUID]int64), nil
}

func (g *target) state() (head int64, stored int, heads []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.head, len(g.stored), append([]int64(nil), g.heads...)
}

func TestHeadIsRaisedOnlyAfterTheLastPageOfAFill(t *testing.T) {
	s := newSource()
	s.add(t, 5)
	_, head, err := s.ChangedCampaigns(t.Context(), 0, 10)
	require.NoError(t, err)
	g := &target{stored: make(map[uuid.UUID]int64)}
	start(t, config, s, g)
	for range 2 {
		require.Eventually(t, func() bool { h, _, _ := g.state(); return h == head }, patience, time.Millisecond)
		_, stored, heads := g.state()
		require.Equal(t, 5, stored)
		require.Equal(t, []int64{0, 0, 0, head}, heads)
		g.lose()
	}
}

func TestLostRoomsAreRepaired(t *testing.T) {
	s := newSource()
	ids := s.add(t, 3)
	s.spend(t, ids[0], 0, 1)
	cfg := config
	cfg.RepairEvery = 10 * time.Millisecond
	g := &target{stored: make(map[uuid.UUID]int64)}
	start(t, cfg, s, g)
	for range 2 { // the second time nothing has changed: only the repair brings them back
		require.Eventually(t, func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return len(g.rooms) == len(ids)
		}, patience, time.Millisecond)
		g.mu.Lock()
		clear(g.rooms)
		g.mu.Unlock()
	}
}

// The time limit is of a page: many campaigns take longer, and do not begin again and again.
func TestManyRoomsTakeLongerThanOneTimeout(t *testing.T) {
	s := newSource()
	s.add(t, 100)
	cfg := config
	cfg.Timeout = 100 * time.Millisecond
	g := &target{stored: make(map[uuid.UUID]int64), slow: 10 * time.Millisecond} // 50 pages
	p, _ := start(t, cfg, s, g)
	require.Eventually(t, func() bool { return p.Ready() == nil }, patience, time.Millisecond)
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Equal(t, 50, g.pages, "each page once")
}

// A change of a campaign, which may be a pause, does not wait for all rooms, neither when they are
// published for the first time nor when they are repaired.
func TestChangesGoBetweenPagesOfRooms(t *testing.T) {
	s := newSource()
	ids := s.add(t, 400)
	cfg := config
	cfg.RepairEvery = time.Millisecond
	g := &target{stored: make(map[uuid.UUID]int64), slow: 5 * time.Millisecond} // 200 pages
	p, _ := start(t, cfg, s, g)
	pages := func() int { g.mu.Lock(); defer g.mu.Unlock(); return g.pages }
	change := func() {
		s.rename(t, ids[7], uuid.NewString())
		before := pages()
		_, head, err := s.ChangedCampaigns(t.Context(), 0, 1_000)
		require.NoError(t, err)
		require.Eventually(t, func() bool { h, _, _ := g.state(); return h == head }, patience, time.Millisecond)
		require.Less(t, pages()-before, 50)
	}
	require.Eventually(t, func() bool { return pages() > 10 }, patience, time.Millisecond)
	change()
	require.Error(t, p.Ready(), "still publishing for the first time")
	require.Eventually(t, func() bool { return pages() > 210 }, patience, time.Millisecond)
	require.NoError(t, p.Ready())
	change()
}

func TestFailuresSkipNothing(t *testing.T) {
	s := newSource()
	ids := s.add(t, 5)
	g := &target{stored: make(map[uuid.UUID]int64), fail: 3}
	p, _ := start(t, config, s, g)
	require.Eventually(
		t, func() bool { _, stored, _ := g.state(); return stored == 5 && p.Ready() == nil }, patience, time.Millisecond,
	)
	g.mu.Lock()
	g.fail = 2
	g.mu.Unlock()
	for _, id := range ids {
		s.rename(t, id, "changed")
	}
	_, head, err := s.ChangedCampaigns(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		h, _, _ := g.state()
		return h == head
	}, patience, time.Millisecond)
	changed, _, err := s.ChangedCampaigns(t.Context(), 0, 10)
	require.NoError(t, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range changed {
		require.Equal(t, c.ConfigVersion, g.stored[c.ID])
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	_, err := project.New(project.Config{}, project.Deps{})
	require.ErrorContains(t, err, "positive")
	_, err = project.New(config, project.Deps{})
	require.ErrorContains(t, err, "required")
}
