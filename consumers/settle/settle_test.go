package settle_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"adnet/consumers/settle"
	"adnet/consumers/settle/settletest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/kafka"
	"adnet/internal/kafka/kafkatest"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/memory"
	"adnet/internal/stream"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 60 * time.Second

var config = settle.Config{MaxBatch: 100, TxTimeout: 5 * time.Second, RetryMax: 20 * time.Millisecond}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// world is a store with one advertiser's campaign (cpm 5 USD, 5,000 micro-USD an impression).
type world struct {
	store     *memory.Stores
	campaign  uuid.UUID
	publisher uuid.UUID
}

func newWorld(t testing.TB, total money.Micros) world {
	t.Helper()
	store := memory.New(time.Now)
	user := account.User{ID: uuid.New(), DeveloperID: uuid.New(), Email: "a@example.com"}
	require.NoError(t, store.Accounts.CreateUser(t.Context(), user))
	c, err := store.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
		Campaign: campaign.Campaign{
			ID: uuid.New(), AdvertiserID: user.ID, BillingModel: campaign.CPM, BidAmount: 5 * money.USD,
			DailyBudget: 1_000 * money.USD, TotalBudget: total,
		},
		Admit: func(bool) campaign.Status { return campaign.Active },
	})
	require.NoError(t, err)
	return world{store, c.ID, uuid.New()}
}

func (w world) impression() *event.Event {
	return &event.Event{
		EventId: newID(), Type: event.Type_IMPRESSION, Proof: event.Proof_SIGNED, ReceivedAtUs: time.Now().UnixMicro(),
		AuctionId: newID(), CampaignId: w.campaign[:], DeveloperId: w.publisher[:], PriceMicros: 5_000,
		BillingModel: event.BillingModel_CPM,
	}
}

func newID() []byte {
	id := uuid.Must(uuid.NewV7())
	return id[:]
}

// ring signs the events of these tests.
var ring = settletest.NewRing()

func marshal(t testing.TB, e *event.Event) []byte {
	t.Helper()
	settletest.Sign(ring, e)
	value, err := proto.Marshal(e)
	require.NoError(t, err)
	return value
}

// faulty makes one in four calls of the store fail, half of the transactions only after they were
// committed.
type faulty struct {
	*memory.Ledger
	mu   sync.Mutex
	rand *rand.Rand
}

var errStore = errors.New("store is out of reach")

func (f *faulty) dice() (fail, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rand.IntN(4) == 0, f.rand.IntN(2) == 0
}

func (f *faulty) InTx(ctx context.Context, apply func(ledger.Tx) error) error {
	fail, late := f.dice()
	if fail && !late {
		return errStore
	}
	if err := f.Ledger.InTx(ctx, apply); err != nil {
		return err
	}
	if fail {
		return fmt.Errorf("answer of the commit was lost: %w", errStore)
	}
	return nil
}

func (f *faulty) Offsets(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error) {
	if fail, _ := f.dice(); fail {
		return nil, errStore
	}
	return f.Ledger.Offsets(ctx, partitions)
}

// run starts a component and gives a function that stops it and waits.
func run(t testing.TB, component func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- component(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-ended)
		})
	}
	t.Cleanup(stop)
	return stop
}

// logged is a topic on a broker inside the test.
type logged struct {
	cfg    kafka.Config
	refuse func(commits int)
}

func newLog(t *testing.T) logged {
	t.Helper()
	brokers, cluster := kafkatest.New(t)
	cfg := kafka.Config{Brokers: brokers, Partitions: 3, TopicPrefix: "t.", SessionTimeout: 6 * time.Second}
	require.NoError(t, kafka.EnsureTopics(t.Context(), cfg, kafka.Deps{}))
	return logged{cfg, func(n int) { kafkatest.RefuseCommits(cluster, "t.settle", n) }}
}

// write produces records; keys decide partitions.
func (l logged) write(t *testing.T, keys, values [][]byte) {
	t.Helper()
	p, err := kafka.NewProducer(l.cfg, kafka.Deps{})
	require.NoError(t, err)
	stop := run(t, p.Run)
	var done sync.WaitGroup
	errs := make([]error, len(values))
	for i := range values {
		done.Add(1)
		p.Produce(event.TopicEvents, keys[i], values[i], func(err error) { errs[i] = err; done.Done() })
	}
	done.Wait()
	require.NoError(t, errors.Join(errs...))
	stop()
}

// settler starts one process's settler and gives its stop.
func (l logged) settler(t *testing.T, store settle.Store) (stop func()) {
	t.Helper()
	return l.settlerOf(t, store, config)
}

func (l logged) settlerOf(t *testing.T, store settle.Store, config settle.Config) (stop func()) {
	t.Helper()
	group, err := kafka.NewGroup(
		l.cfg, kafka.GroupConfig{Group: "settle", Topic: event.TopicEvents, Stored: store.Offsets}, kafka.Deps{},
	)
	require.NoError(t, err)
	s, err := settle.New(
		config, settle.Deps{Records: group, Store: store, Keys: ring, Log: quiet(), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	end := run(t, s.Run)
	var once sync.Once
	stop = func() {
		once.Do(func() {
			end()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			group.Close(ctx)
		})
	}
	t.Cleanup(stop)
	return stop
}

// applied counts outcomes and asserts that each partition's ranges follow each other without a gap.
func applied(
	t *testing.T, store *memory.Stores, partitions []stream.Partition,
) (n int, verdicts map[ledger.Verdict]int) {
	t.Helper()
	verdicts = make(map[ledger.Verdict]int)
	for _, p := range partitions {
		var next int64
		for {
			plan, err := store.Archive.NextPlan(
				t.Context(), []stream.Range{{Partition: p, Next: math.MaxInt64}}, 1_000_000,
			)
			require.NoError(t, err)
			if len(plan) == 0 {
				break
			}
			chunk := plan[0]
			require.Equal(t, next, chunk.First)
			next = chunk.Next
			for _, o := range chunk.Outcomes {
				verdicts[o.Verdict]++
				n++
			}
			require.NoError(t, store.Archive.MarkArchived(t.Context(), plan.Plan()))
		}
	}
	return n, verdicts
}

// seen records which partitions a store was asked about, since stream ids belong to the broker.
type seen struct {
	settle.Store
	mu         sync.Mutex
	partitions []stream.Partition
}

func (s *seen) Offsets(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error) {
	s.mu.Lock()
	for _, p := range partitions {
		if !slices.Contains(s.partitions, p) {
			s.partitions = append(s.partitions, p)
		}
	}
	s.mu.Unlock()
	return s.Store.Offsets(ctx, partitions)
}

func (s *seen) applied(t *testing.T) (total int64) {
	s.mu.Lock()
	partitions := slices.Clone(s.partitions)
	s.mu.Unlock()
	inner, ok := s.Store.(*faulty)
	require.True(t, ok)
	offsets, err := inner.Ledger.Offsets(t.Context(), partitions)
	require.NoError(t, err)
	for _, next := range offsets {
		total += next
	}
	return total
}

// Two processes share the group, one of them is replaced again and again; the store fails before
// and after commits, the broker refuses commits of offsets. Nothing may be lost, nothing may count
// twice.
func TestNothingIsLostAndNothingIsDoubled(t *testing.T) {
	l := newLog(t)
	w := newWorld(t, 1_000*money.USD)
	store := &seen{Store: &faulty{Ledger: w.store.Ledger, rand: rand.New(rand.NewPCG(1, 2))}}

	const unique = 1_500
	var keys, values [][]byte
	add := func(key, value []byte) { keys, values = append(keys, key), append(values, value) }
	for i := range unique {
		e := w.impression()
		add(e.AuctionId, marshal(t, e))
		if i%10 == 0 { // fired twice
			e.EventId = newID()
			add(e.AuctionId, marshal(t, e))
		}
		if i%50 == 0 {
			add(binary.BigEndian.AppendUint64(nil, uint64(i)), []byte("no protobuf"))
			forged := w.impression()
			forged.Proof = event.Proof_BAD_SIGNATURE
			add(forged.AuctionId, marshal(t, forged))
		}
	}
	l.refuse(20)
	l.settler(t, store)
	for at := 0; at < len(values); at += 300 {
		end := min(at+300, len(values))
		stop := l.settler(t, store)
		l.write(t, keys[at:end], values[at:end])
		stop()
	}
	require.Eventually(t, func() bool { return store.applied(t) == int64(len(values)) }, patience, 20*time.Millisecond)

	n, verdicts := applied(t, w.store, store.partitions)
	require.Equal(t, len(values), n, "every record has one outcome")
	require.Equal(t, map[ledger.Verdict]int{
		ledger.OK: unique, ledger.Duplicate: unique / 10, ledger.Poison: unique / 50, ledger.VerdictForged: unique / 50,
	}, verdicts)
	c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
	require.NoError(t, err)
	require.Equal(t, money.Micros(unique*5_000), c.SpentTotal)
	credits, err := w.store.Ledger.CreditBalance(t.Context(), w.publisher)
	require.NoError(t, err)
	require.Equal(t, money.Credits(unique), credits.Pending)
}

// scripted is a log of one partition that hands out what the test says.
type scripted struct {
	mu     sync.Mutex
	polls  [][]event.Record
	dones  int
	resets int
	idle   chan struct{} // closed when everything was handed out and taken
	once   sync.Once
}

func newScripted(polls ...[]event.Record) *scripted {
	return &scripted{polls: polls, idle: make(chan struct{})}
}

func (s *scripted) Poll(ctx context.Context, _ int) ([]event.Record, error) {
	s.mu.Lock()
	if len(s.polls) > 0 {
		defer s.mu.Unlock()
		records := s.polls[0]
		s.polls = s.polls[1:]
		return records, nil
	}
	s.mu.Unlock()
	s.once.Do(func() { close(s.idle) })
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *scripted) Done(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dones++
	return errors.New("the hint may fail")
}

func (s *scripted) Reset(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resets++
	return nil
}

var partition = stream.Partition{Stream: "00ff", Number: 2}

func records(first int64, values ...[]byte) []event.Record {
	list := make([]event.Record, len(values))
	for i, v := range values {
		list[i] = event.Record{
			TopicID: partition.Stream, Partition: partition.Number, Offset: first + int64(i), Value: v,
			Time: time.Now(),
		}
	}
	return list
}

// through settles everything that the log has, then stops.
func through(t testing.TB, cfg settle.Config, log *scripted, store settle.Store) *settle.Settler {
	t.Helper()
	s, err := settle.New(
		cfg, settle.Deps{Records: log, Store: store, Keys: ring, Log: quiet(), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	stop := run(t, s.Run)
	<-log.idle
	stop()
	return s
}

func TestRedeliveryIsLeftOut(t *testing.T) {
	w := newWorld(t, money.USD)
	a, b, c := marshal(t, w.impression()), marshal(t, w.impression()), marshal(t, w.impression())
	log := newScripted(records(0, a, b), records(0, a, b, c), records(0, a))
	through(t, config, log, w.store.Ledger)
	n, verdicts := applied(t, w.store, []stream.Partition{partition})
	require.Equal(t, 3, n)
	require.Equal(t, 3, verdicts[ledger.OK])
	require.Equal(t, 3, log.dones)
	require.Zero(t, log.resets)
}

func TestOffsetsThatTheLogLostArePoisonAndNeverBlock(t *testing.T) {
	w := newWorld(t, money.USD)
	a, b := marshal(t, w.impression()), marshal(t, w.impression())
	cfg := config
	cfg.MaxBatch = 3
	through(t, cfg, newScripted(records(0, a), records(8, b)), w.store.Ledger)
	n, verdicts := applied(t, w.store, []stream.Partition{partition})
	require.Equal(t, 9, n)
	require.Equal(t, map[ledger.Verdict]int{ledger.OK: 2, ledger.Poison: 7}, verdicts)
}

func TestLogWhoseHeadWasRemovedStartsWhereItStarts(t *testing.T) {
	w := newWorld(t, money.USD)
	through(t, config, newScripted(records(1_000_000, marshal(t, w.impression()))), w.store.Ledger)
	offsets, err := w.store.Ledger.Offsets(t.Context(), []stream.Partition{partition})
	require.NoError(t, err)
	require.EqualValues(t, 1_000_001, offsets[partition])
}

// stolen moves the partition under the settler's feet, as another process would.
type stolen struct {
	*memory.Ledger
	once sync.Once
}

func (s *stolen) InTx(ctx context.Context, apply func(ledger.Tx) error) error {
	s.once.Do(func() {
		_ = s.Ledger.InTx(ctx, func(tx ledger.Tx) error {
			other := stream.Range{Partition: partition, First: 0, Next: 5}
			return errors.Join(tx.AdvanceOffsets(ctx, []stream.Range{other}), tx.Write(ctx, ledger.Effects{
				Applied: []ledger.AppliedRange{{Range: other, Outcomes: make([]ledger.Outcome, 5)}},
			}))
		})
	})
	return s.Ledger.InTx(ctx, apply)
}

func TestFencedBatchIsDroppedAndReadAgain(t *testing.T) {
	w := newWorld(t, money.USD)
	a, b := marshal(t, w.impression()), marshal(t, w.impression())
	log := newScripted(records(0, a), records(5, b))
	through(t, config, log, &stolen{Ledger: w.store.Ledger})
	require.Equal(t, 1, log.resets)
	c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
	require.NoError(t, err)
	require.Equal(t, money.Micros(5_000), c.SpentTotal, "only the record after the other's range")
}

// slow lets a transaction wait until the test allows it to go on.
type slow struct {
	*memory.Ledger
	entered, allowed chan struct{}
}

func (s *slow) InTx(ctx context.Context, apply func(ledger.Tx) error) error {
	close(s.entered)
	<-s.allowed
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Ledger.InTx(ctx, apply)
}

func TestStopFinishesTheRunningTransaction(t *testing.T) {
	w := newWorld(t, money.USD)
	store := &slow{Ledger: w.store.Ledger, entered: make(chan struct{}), allowed: make(chan struct{})}
	log := newScripted(records(0, marshal(t, w.impression())))
	s, err := settle.New(
		config, settle.Deps{Records: log, Store: store, Keys: ring, Log: quiet(), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-store.entered
	cancel()
	close(store.allowed)
	require.NoError(t, <-ended)
	n, _ := applied(t, w.store, []stream.Partition{partition})
	require.Equal(t, 1, n)
	require.Equal(t, 1, log.dones)
}

// down is a store that never answers well.
type down struct{ *memory.Ledger }

func (down) InTx(context.Context, func(ledger.Tx) error) error { return errStore }

func TestStoreOutOfReachMakesNotReadyAndDoesNotDelayTheStop(t *testing.T) {
	w := newWorld(t, money.USD)
	log := newScripted(records(0, marshal(t, w.impression())))
	s, err := settle.New(
		config,
		settle.Deps{
			Records: log, Store: down{w.store.Ledger}, Keys: ring, Log: quiet(), Metrics: prometheus.NewRegistry(),
		},
	)
	require.NoError(t, err)
	require.NoError(t, s.Ready())
	stop := run(t, s.Run)
	require.Eventually(t, func() bool { return errors.Is(s.Ready(), errStore) }, patience, time.Millisecond)
	stop()
	require.Zero(t, log.dones, "what was not applied is not reported as done")
}

func TestBudgetBindsThroughTheWholeRoad(t *testing.T) {
	w := newWorld(t, 12_000)
	log := newScripted(
		records(0, marshal(t, w.impression()), marshal(t, w.impression())),
		records(2, marshal(t, w.impression()), marshal(t, w.impression())),
	)
	through(t, config, log, w.store.Ledger)
	c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
	require.NoError(t, err)
	require.Equal(t, money.Micros(12_000), c.SpentTotal)
	_, verdicts := applied(t, w.store, []stream.Partition{partition})
	require.Equal(t, map[ledger.Verdict]int{ledger.OK: 3, ledger.OverBudget: 1}, verdicts)
}

// Who can write to the log, with an ordinary client and without ingress, moves no money: the
// records become dead letters that say why, and the real event of the auction still counts.
func TestWhoWritesToTheLogMovesNoMoney(t *testing.T) {
	w := newWorld(t, 100*money.USD)
	l := newLog(t)
	stop := l.settler(t, w.store.Ledger)
	real := w.impression()
	var keys, values [][]byte
	add := func(e *event.Event, token []byte) {
		e.Token = token
		value, err := proto.Marshal(e)
		require.NoError(t, err)
		keys, values = append(keys, e.AuctionId), append(values, value)
	}
	for range 20 {
		e := w.impression()
		e.PriceMicros = int64(money.USD)
		add(e, nil)
	}
	forged := w.impression()
	settletest.Sign(settletest.NewRing(), forged)
	add(forged, forged.Token)
	settletest.Sign(ring, real)
	dearer := proto.CloneOf(real)
	dearer.PriceMicros = int64(money.USD)
	add(dearer, real.Token)
	stolen := w.impression() // the token of one auction under the id of another
	add(stolen, real.Token)
	unsigned := w.impression()
	unsigned.Proof = event.Proof_UNSIGNED_BILLABLE
	add(unsigned, nil)
	add(real, real.Token)
	l.write(t, keys, values)
	require.Eventually(t, func() bool {
		c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
		return err == nil && c.SpentTotal > 0
	}, patience, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		letters, err := w.store.Letters.DeadLetters(t.Context(), ledger.DeadLetterQuery{Limit: 100})
		return err == nil && len(letters) == 23
	}, patience, 10*time.Millisecond)
	stop()
	c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
	require.NoError(t, err)
	require.EqualValues(t, 5_000, c.SpentTotal, "the real event alone")
	credits, err := w.store.Ledger.CreditBalance(t.Context(), w.publisher)
	require.NoError(t, err)
	require.EqualValues(t, 1, credits.Pending)
}

// What a writer to Redis can still do, as SECURITY.md states: with the click rule switched off there,
// settlement charges a campaign for a bounded number of clicks of a network and day.
func TestSettlementCountsTheClicksOfANetwork(t *testing.T) {
	w := newWorld(t, 100*money.USD)
	l := newLog(t)
	limited := config
	limited.NetworkClicks = 2
	stop := l.settlerOf(t, w.store.Ledger, limited)
	var keys, values [][]byte
	for _, mark := range []uint32{7, 7, 7, 7, 8, 0, 0, 1 << 20, 1 << 30} { // marks beyond the last are unknown
		e := w.impression()
		e.BillingModel = event.BillingModel_CPC
		for _, kind := range []event.Type{event.Type_IMPRESSION, event.Type_CLICK} {
			if e.EventId, e.Type = newID(), kind; kind == event.Type_CLICK {
				e.NetworkMark = mark
			}
			keys, values = append(keys, e.AuctionId), append(values, marshal(t, e))
		}
	}
	l.write(t, keys, values)
	spent := func() money.Micros {
		c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
		require.NoError(t, err)
		return c.SpentTotal
	}
	require.Eventually(t, func() bool { return spent() >= 5*5_000 }, patience, 10*time.Millisecond)
	time.Sleep(200 * time.Millisecond)
	stop()
	require.EqualValues(t, 5*5_000, spent())
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	_, err := settle.New(settle.Config{}, settle.Deps{})
	require.ErrorContains(t, err, "positive")
	_, err = settle.New(config, settle.Deps{})
	require.ErrorContains(t, err, "required")
}

// BenchmarkSettle is the whole road of a batch but the broker and the database: decode, transaction
// in the memory store, verdicts. A tenth of the events are duplicates.
func BenchmarkSettle(b *testing.B) {
	const polls, size = 20, 5_000
	cfg := config
	cfg.MaxBatch = size
	w := newWorld(b, money.Max)
	values := make([][]byte, 0, polls*size)
	for len(values) < cap(values) {
		value := marshal(b, w.impression())
		values = append(values, value)
		if len(values)%10 == 9 {
			values = append(values, value)
		}
	}
	b.ReportAllocs()
	var at int64
	for b.Loop() {
		log := newScripted()
		for i := range polls {
			log.polls = append(log.polls, records(at, values[i*size:(i+1)*size]...))
			at += size
		}
		through(b, cfg, log, w.store.Ledger) // from the second round on everything is a duplicate
	}
	b.ReportMetric(float64(at)/b.Elapsed().Seconds(), "events/s")
}

// What ingress found and what settlement finds, through the decoder: recorded with a reason, never
// billed, never minted.
func TestInvalidTrafficThroughTheWholeRoad(t *testing.T) {
	w := newWorld(t, 100*money.USD)
	view := w.impression()
	of := func(auction []byte, kind event.Type, rule string) []byte {
		e := w.impression()
		e.AuctionId, e.Type, e.InvalidTraffic = auction, kind, rule
		return marshal(t, e)
	}
	var values [][]byte
	for _, rule := range traffic.InvalidRules() {
		values = append(values, of(newID(), event.Type_IMPRESSION, rule))
	}
	self := w.impression()
	self.DeveloperId = nil
	c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
	require.NoError(t, err)
	owner, err := w.store.Accounts.User(t.Context(), c.AdvertiserID)
	require.NoError(t, err)
	self.DeveloperId = owner.DeveloperID[:]
	values = append(values,
		of(view.AuctionId, event.Type_CLICK, ""), // before its impression
		marshal(t, view), of(view.AuctionId, event.Type_CLICK, ""), of(view.AuctionId, event.Type_CLICK, ""),
		of(newID(), event.Type_CLICK, ""), marshal(t, self))
	cut := len(traffic.InvalidRules()) + 1 // the click is in a batch before its impression's
	log := newScripted(records(0, values[:cut]...), records(int64(cut), values[cut:]...))
	through(t, config, log, w.store.Ledger)
	_, verdicts := applied(t, w.store, []stream.Partition{partition, earlyPartition})
	want := map[ledger.Verdict]int{ledger.OK: 2, ledger.Duplicate: 2, ledger.SelfServed: 1, ledger.VerdictEarly: 2}
	for _, rule := range traffic.InvalidRules() {
		want[ledger.InvalidTraffic+ledger.Verdict(rule)]++
	}
	require.Equal(t, want, verdicts)
	c, err = w.store.Campaigns.Campaign(t.Context(), w.campaign)
	require.NoError(t, err)
	require.Equal(t, money.Micros(5_000), c.SpentTotal, "one impression")
	credits, err := w.store.Ledger.CreditBalance(t.Context(), w.publisher)
	require.NoError(t, err)
	require.EqualValues(t, 1, credits.Pending)
	own, err := w.store.Ledger.CreditBalance(t.Context(), owner.DeveloperID)
	require.NoError(t, err)
	require.Zero(t, own)
}

// earlyPartition has the early events of partition.
var earlyPartition = stream.Partition{Stream: ledger.EarlyStream, Number: partition.Number}

// A click before its impression waits in the store, through a restart. When its time is over it is
// judged although the log is silent.
func TestEarlyEventsThroughTheWholeRoad(t *testing.T) {
	w := newWorld(t, 100*money.USD)
	view, lonely := w.impression(), w.impression()
	of := func(view *event.Event, kind event.Type) []byte {
		e := w.impression()
		e.AuctionId, e.Type = view.AuctionId, kind
		return marshal(t, e)
	}
	through(
		t, config, newScripted(records(0, of(view, event.Type_CLICK), of(lonely, event.Type_CLICK))), w.store.Ledger,
	)
	through(t, config, newScripted(records(2, marshal(t, view))), w.store.Ledger)
	_, verdicts := applied(t, w.store, []stream.Partition{partition, earlyPartition})
	require.Equal(t, map[ledger.Verdict]int{ledger.OK: 2, ledger.VerdictEarly: 2}, verdicts)

	log := newScripted(records(3, of(w.impression(), event.Type_CLOSE)))
	s, err := settle.New(config, settle.Deps{
		Records: log, Store: w.store.Ledger, Keys: ring, Log: quiet(), Metrics: prometheus.NewRegistry(),
		Now: func() time.Time { return time.Now().Add(ledger.EarlyFor) },
	})
	require.NoError(t, err)
	s.SweepEvery(time.Millisecond)
	stop := run(t, s.Run)
	require.Eventually(t, func() bool {
		offsets, err := w.store.Ledger.Offsets(
			t.Context(), []stream.Partition{earlyPartition, {Stream: ledger.EarlyStream}},
		)
		require.NoError(t, err)
		return offsets[stream.Partition{Stream: ledger.EarlyStream}] == 1
	}, 5*time.Second, time.Millisecond)
	stop()
	_, verdicts = applied(t, w.store, []stream.Partition{{Stream: ledger.EarlyStream}})
	require.Equal(t, map[ledger.Verdict]int{ledger.InvalidTraffic + traffic.RuleNoImpression: 1}, verdicts)
}

// The daily mint cap is a setting of settlement.
func TestMintCapThroughTheWholeRoad(t *testing.T) {
	w := newWorld(t, 100*money.USD)
	capped := config
	capped.MintCap = 2
	log := newScripted(
		records(0, marshal(t, w.impression()), marshal(t, w.impression()), marshal(t, w.impression())),
		records(3, marshal(t, w.impression())),
	)
	through(t, capped, log, w.store.Ledger)
	credits, err := w.store.Ledger.CreditBalance(t.Context(), w.publisher)
	require.NoError(t, err)
	require.EqualValues(t, 2, credits.Pending)
	c, err := w.store.Campaigns.Campaign(t.Context(), w.campaign)
	require.NoError(t, err)
	require.Equal(t, money.Micros(20_000), c.SpentTotal, "billed normally")
}
