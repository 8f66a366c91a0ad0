package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"adnet/consumers/archive"
	"adnet/consumers/settle"
	"adnet/consumers/settle/settletest"
	"adnet/internal/kafka"
	"adnet/internal/kafka/kafkatest"
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/store/memory"
	"adnet/internal/stream"
	"adnet/internal/token"
	"adnet/schemas/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 60 * time.Second

var config = archive.Config{
	ChunkRows: 100, Linger: 5 * time.Millisecond, Tick: 2 * time.Millisecond, BufferRecords: 1_000,
	BufferBytes:   1 << 20,
	InsertTimeout: 5 * time.Second,
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

var errSink = errors.New("analytics store is out of reach")

// sink keeps blocks by token, as the analytics store does: the same token again changes nothing.
// One in three inserts fails, half of those after the rows were kept.
type sink struct {
	mu     sync.Mutex
	rand   *rand.Rand // nil: never fails
	blocks map[string][]report.Row
	rows   []report.Row
	differ int // repeats of a token with other rows
}

func newSink(r *rand.Rand) *sink { return &sink{rand: r, blocks: make(map[string][]report.Row)} }

func (s *sink) Insert(_ context.Context, token string, rows []report.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fail, late := false, false
	if s.rand != nil {
		fail, late = s.rand.IntN(3) == 0, s.rand.IntN(2) == 0
	}
	if fail && !late {
		return errSink
	}
	if before, ok := s.blocks[token]; ok {
		if !equalRows(before, rows) {
			s.differ++
		}
	} else {
		s.blocks[token] = append([]report.Row(nil), rows...)
		s.rows = append(s.rows, rows...)
	}
	if fail {
		return errSink
	}
	return nil
}

func equalRows(a, b []report.Row) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (s *sink) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows)
}

func (s *sink) all() []report.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]report.Row(nil), s.rows...)
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func impression() *event.Event {
	eventID, auction, campaign, developer := newID(), newID(), newID(), newID()
	return &event.Event{
		EventId: eventID[:], Type: event.Type_IMPRESSION, Proof: event.Proof_SIGNED,
		ReceivedAtUs: time.Now().UnixMicro(),
		AuctionId:    auction[:], CampaignId: campaign[:], DeveloperId: developer[:], PriceMicros: 5,
		BillingModel: event.BillingModel_CPM,
		Placement: &event.Placement{
			Format: "image", IntegrationMethod: "mcp", Surface: "chat", Region: "AT", Language: "de", HostApp: "app",
		},
		SessionHash: make([]byte, 16),
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	if e, is := m.(*event.Event); is {
		settletest.Sign(ring, e)
	}
	value, err := proto.Marshal(m)
	require.NoError(t, err)
	return value
}

// ring signs the events of these tests.
var ring = settletest.NewRing()

// run starts a component and gives a function that stops it and waits.
func run(t *testing.T, component func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- component(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// member runs a component on a group of its own, as one process would, and closes the group after
// it.
func member(
	t *testing.T, cfg kafka.Config, g kafka.GroupConfig, start func(*kafka.Group) func(context.Context) error,
) (stop func()) {
	t.Helper()
	group, err := kafka.NewGroup(cfg, g, kafka.Deps{})
	require.NoError(t, err)
	end := run(t, start(group))
	stop = sync.OnceFunc(func() {
		end()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		group.Close(ctx)
	})
	t.Cleanup(stop)
	return stop
}

// Events go through a broker, settlement and two archivers, one of which is replaced again and
// again, into a sink that fails before and after it kept the rows.
func TestEveryOffsetIsOneRow(t *testing.T) {
	brokers, _ := kafkatest.New(t)
	cfg := kafka.Config{Brokers: brokers, Partitions: 3, SessionTimeout: 6 * time.Second}
	require.NoError(t, kafka.EnsureTopics(t.Context(), cfg, kafka.Deps{}))
	store := memory.New(time.Now)
	into := newSink(rand.New(rand.NewPCG(3, 4)))

	member(t, cfg, kafka.GroupConfig{
		Group: "settle", Topic: event.TopicEvents, Stored: store.Ledger.Offsets,
	}, func(g *kafka.Group) func(context.Context) error {
		s, err := settle.New(settle.Config{MaxBatch: 70, TxTimeout: time.Second, RetryMax: time.Second},
			settle.Deps{Records: g, Store: store.Ledger, Keys: ring, Log: quiet(), Metrics: prometheus.NewRegistry()})
		require.NoError(t, err)
		return s.Run
	})
	archiver := func() (stop func()) {
		return member(t, cfg, kafka.GroupConfig{
			Group: "archive", Topic: event.TopicEvents, Stored: store.Archive.Archived,
		}, func(g *kafka.Group) func(context.Context) error {
			a, err := archive.New(
				config,
				archive.Deps{
					Records: g, Plans: store.Archive, Sink: into, Log: quiet(), Metrics: prometheus.NewRegistry(),
				},
			)
			require.NoError(t, err)
			return a.Run
		})
	}
	producer, err := kafka.NewProducer(cfg, kafka.Deps{})
	require.NoError(t, err)
	run(t, producer.Run)

	const total = 1_200
	want := make(map[uuid.UUID]bool)
	poison := 0
	archiver()
	for range 4 {
		stop := archiver()
		for range total / 4 {
			e := impression()
			key, value := e.AuctionId, marshal(t, e)
			if len(want)%40 == 39 && poison < len(want)/40+1 {
				value = []byte("no protobuf")
				poison++
			} else {
				want[uuid.UUID(e.EventId)] = true
			}
			producer.Produce(event.TopicEvents, key, value, func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		require.NoError(t, producer.Flush(t.Context()))
		stop()
	}
	require.Eventually(t, func() bool {
		totals, err := store.Archive.ArchivedTotals(context.Background())
		return err == nil && totals.Rows == total
	}, patience, 10*time.Millisecond)

	got := make(map[uuid.UUID]bool)
	poisoned := 0
	for _, row := range into.all() {
		if row.Verdict == ledger.Poison {
			require.Zero(t, row.EventID)
			poisoned++
			continue
		}
		require.False(t, got[row.EventID], "twice in the sink")
		got[row.EventID] = true
		require.Equal(t, ledger.UnknownCampaign, row.Verdict)
	}
	require.Equal(t, want, got)
	require.Equal(t, poison, poisoned)
	require.Zero(t, into.differ, "a repeated block must be the same block")
}

var partition = stream.Partition{Stream: "00ff", Number: 1}

// scripted is what polls bring of one partition, and what the log has of it when it is read
// directly.
type scripted struct {
	mu    sync.Mutex
	polls [][]event.Record
	log   []event.Record
	reads int
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
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *scripted) Done(context.Context) error { return nil }

func (s *scripted) Read(_ context.Context, r stream.Range) (records []event.Record, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	for _, record := range s.log {
		if (stream.Partition{Stream: record.TopicID, Number: record.Partition}) == r.Partition &&
			record.Offset >= r.First && record.Offset < r.Next {
			records = append(records, record)
		}
	}
	return records, nil
}

func record(t *testing.T, offset int64, m proto.Message) event.Record {
	return recordOf(t, partition.Number, offset, m)
}

func recordOf(t *testing.T, number int32, offset int64, m proto.Message) event.Record {
	return event.Record{
		TopicID: partition.Stream, Partition: number, Offset: offset, Value: marshal(t, m),
		Time: time.UnixMilli(1_700_000_000_000 + offset),
	}
}

// settled makes outcomes for a range in the store.
func settled(t *testing.T, store *memory.Stores, first int64, outcomes ...ledger.Outcome) {
	t.Helper()
	settledOf(t, store, partition.Number, first, outcomes...)
}

func settledOf(t *testing.T, store *memory.Stores, number int32, first int64, outcomes ...ledger.Outcome) {
	t.Helper()
	r := stream.Range{
		Partition: stream.Partition{Stream: partition.Stream, Number: number}, First: first,
		Next: first + int64(len(outcomes)),
	}
	require.NoError(t, store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
		return errors.Join(
			tx.AdvanceOffsets(t.Context(), []stream.Range{r}),
			tx.Write(t.Context(), ledger.Effects{Applied: []ledger.AppliedRange{{Range: r, Outcomes: outcomes}}}),
		)
	}))
}

func start(
	t *testing.T, cfg archive.Config, log archive.Records, store archive.Plans, into archive.Sink,
) (*archive.Archiver, func()) {
	t.Helper()
	a, err := archive.New(
		cfg, archive.Deps{Records: log, Plans: store, Sink: into, Log: quiet(), Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
	return a, run(t, a.Run)
}

func (s *sink) await(t *testing.T, n int) []report.Row {
	t.Helper()
	require.Eventually(t, func() bool { return s.len() >= n }, patience, time.Millisecond)
	return s.all()
}

func TestRowHasTheEventAndItsOutcome(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	e := impression()
	e.SessionHash = bytes.Repeat([]byte{1}, 16)
	advertiser := newID()
	e.Type, e.AdvertiserId = event.Type_CONVERSION, advertiser[:]
	e.Conversion = &event.Conversion{
		Type: "sale", ValueMicros: 19_990_000, Currency: "USD", ExternalHash: bytes.Repeat([]byte{2}, 16),
	}
	poison := record(t, 1, e)
	poison.Value = []byte{0xff}
	settled(
		t, store, 0, ledger.Outcome{Verdict: ledger.OK, Charge: 5, Minted: 1}, ledger.Outcome{Verdict: ledger.Poison},
	)
	start(t, config, &scripted{polls: [][]event.Record{{record(t, 0, e), poison}}}, store.Archive, into)
	require.Equal(t, []report.Row{
		{
			EventID: uuid.UUID(e.EventId), ReceivedAt: time.UnixMicro(e.ReceivedAtUs).UTC(), Type: ledger.Conversion,
			Verdict: ledger.OK,
			Price:   5, Charge: 5, Minted: 1, AuctionID: uuid.UUID(e.AuctionId), CampaignID: uuid.UUID(e.CampaignId),
			AdvertiserID: advertiser,
			DeveloperID:  uuid.UUID(e.DeveloperId), BillingModel: "cpm", Format: "image", IntegrationMethod: "mcp",
			Surface: "chat",
			Region:  "AT", Language: "de", HostApp: "app", Session: token.Pseudonym(e.SessionHash).String(),
			ConversionType: "sale", ConversionValue: 19_990_000,
			Currency: "USD", ExternalID: token.Pseudonym(e.Conversion.ExternalHash).String(),
		},
		{Verdict: ledger.Poison, ReceivedAt: poison.Time.UTC()},
	}, into.await(t, 2))
}

func ok(n int) []ledger.Outcome {
	list := make([]ledger.Outcome, n)
	for i := range list {
		list[i] = ledger.Outcome{Verdict: ledger.OK}
	}
	return list
}

func TestEventsWaitForTheirVerdict(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	log := &scripted{polls: [][]event.Record{{
		record(t, 0, impression()), record(t, 1, impression()), record(t, 2, impression()),
	}}}
	start(t, config, log, store.Archive, into)
	settled(t, store, 0, ok(2)...)
	require.Len(t, into.await(t, 2), 2)
	settled(t, store, 2, ok(1)...)
	require.Len(t, into.await(t, 3), 3)
	require.Zero(t, log.reads)
}

// With a backlog the least time between small inserts is not waited for: after the first record,
// inserted at once, the next would be due in an hour.
func TestBacklogDoesNotLinger(t *testing.T) {
	const backlog = 500
	store, into := memory.New(time.Now), newSink(nil)
	cfg := config
	cfg.Linger, cfg.ChunkRows = time.Hour, backlog
	log := &scripted{polls: [][]event.Record{{record(t, 0, impression())}}}
	for i := int64(1); i <= backlog; i++ {
		log.polls = append(log.polls, []event.Record{record(t, i, impression())})
	}
	settled(t, store, 0, ok(1)...)
	start(t, cfg, log, store.Archive, into)
	require.Len(t, into.await(t, 1), 1)
	settled(t, store, 1, ok(backlog)...)
	require.Len(t, into.await(t, 1+backlog), 1+backlog)
}

// What little each partition has is one insert, up to the size of a block.
func TestPartitionsShareABlock(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	log := &scripted{polls: [][]event.Record{nil}}
	for _, n := range []int32{2, 0, 1, 3} {
		log.polls[0] = append(log.polls[0], recordOf(t, n, 0, impression()), recordOf(t, n, 1, impression()))
		settledOf(t, store, n, 0, ok(2)...)
	}
	cfg := config
	cfg.ChunkRows = 6
	start(t, cfg, log, store.Archive, into)
	require.Len(t, into.await(t, 8), 8)
	require.Len(t, into.blocks, 2)
	var sizes []int
	for _, block := range into.blocks {
		sizes = append(sizes, len(block))
	}
	require.Equal(t, []int{4, 4}, sizes)
}

// Another process planned a block of two partitions, inserted it and died before the mark; one of
// its partitions came here.
func TestPlanOfOthersIsEndedAsItBegan(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	log := &scripted{}
	var held []stream.Range
	for n := range int32(2) {
		settledOf(t, store, n, 0, ok(3)...)
		for i := range int64(3) {
			log.log = append(log.log, recordOf(t, n, i, impression()))
		}
		held = append(held, stream.Range{Partition: stream.Partition{Stream: "00ff", Number: n}, Next: 3})
	}
	planned, err := store.Archive.NextPlan(t.Context(), held, 50_000)
	require.NoError(t, err)
	require.Len(t, planned, 2)
	// of neither
	a, stop := start(
		t, config, &scripted{polls: [][]event.Record{{recordOf(t, 7, 0, impression())}}, log: log.log}, store.Archive,
		into,
	)
	time.Sleep(20 * time.Millisecond)
	stop()
	require.NoError(t, a.Ready())
	require.Zero(t, into.len())

	log.polls = [][]event.Record{log.log[3:4]} // the first record of the second one
	_, stop = start(t, config, log, store.Archive, into)
	require.Len(t, into.await(t, 6), 6)
	block := into.blocks[planned.Plan().Token()]
	require.Len(t, block, 6)
	for i, row := range block {
		var e event.Event
		require.NoError(t, proto.Unmarshal(log.log[i].Value, &e))
		require.Equal(t, uuid.UUID(e.EventId), row.EventID)
	}
	require.Eventually(t, func() bool {
		archived, err := store.Archive.Archived(t.Context(), []stream.Partition{held[0].Partition, held[1].Partition})
		return err == nil && archived[held[0].Partition] == 3 && archived[held[1].Partition] == 3
	}, patience, time.Millisecond)
	stop()
}

// A plan from before a restart may be larger than the buffer.
func TestPlanLargerThanTheBufferIsCarriedOut(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	settled(t, store, 0, ok(6)...)
	planned, err := store.Archive.NextPlan(t.Context(), []stream.Range{{Partition: partition, Next: 6}}, 50_000)
	require.NoError(t, err)
	cfg := config
	cfg.BufferRecords = 2
	log := &scripted{}
	for i := range int64(6) {
		log.log = append(log.log, record(t, i, impression()))
		log.polls = append(log.polls, log.log[i:])
	}
	start(t, cfg, log, store.Archive, into)
	require.Len(t, into.await(t, 6), 6)
	require.Len(t, into.blocks[planned.Plan().Token()], 6)
}

func TestFullBufferStopsReadingUntilSettlementCatchesUp(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	cfg := config
	cfg.BufferRecords = 2
	log := &scripted{}
	for i := range int64(5) {
		log.log = append(log.log, record(t, i, impression()))
		log.polls = append(log.polls, log.log[i:])
	}
	left := func() int { log.mu.Lock(); defer log.mu.Unlock(); return len(log.polls) }
	registry := prometheus.NewRegistry()
	a, err := archive.New(
		cfg, archive.Deps{Records: log, Plans: store.Archive, Sink: into, Log: quiet(), Metrics: registry},
	)
	require.NoError(t, err)
	run(t, a.Run)
	require.Eventually(t, func() bool { return waits(t, registry) >= 5 }, patience, time.Millisecond)
	require.Equal(t, 3, left(), "nothing was read while the buffer was full")
	settled(t, store, 0, ok(5)...) // as one: more than the buffer takes
	for _, row := range into.await(t, 5) {
		require.NotZero(t, row.EventID)
	}
}

// waits is how often reading waited for settlement.
func waits(t *testing.T, registry *prometheus.Registry) float64 {
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "adnet_archive_buffer_full_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

func TestRecordsThatWereSkippedAreReadAgain(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	a, b, c := record(t, 0, impression()), record(t, 1, impression()), record(t, 2, impression())
	settled(t, store, 0, ok(3)...)
	log := &scripted{polls: [][]event.Record{{a, c}}, log: []event.Record{a, b, c}}
	start(t, config, log, store.Archive, into)
	for _, row := range into.await(t, 3) {
		require.NotZero(t, row.EventID)
	}
	require.Equal(t, 1, log.reads)
}

func TestRecordsThatAreGoneKeepTheirVerdictAndCharge(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	a, c := record(t, 0, impression()), record(t, 2, impression())
	outcomes := ok(3)
	outcomes[1].Charge = 7
	settled(t, store, 0, outcomes...)
	log := &scripted{polls: [][]event.Record{{a, c}}, log: []event.Record{a, c}}
	start(t, config, log, store.Archive, into)
	require.Equal(t, report.Row{Verdict: ledger.OK, Charge: 7, ReceivedAt: c.Time.UTC()}, into.await(t, 3)[1])
	require.Equal(t, 1, log.reads)
}

// Their rows take the time of the next record, in the chunk or after it.
func TestOffsetsThatSettlementFoundLostAreRowsToo(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	lost := ledger.Outcome{Verdict: ledger.Poison}
	settled(t, store, 0, lost, lost)
	found := record(t, 2, impression())
	log := &scripted{polls: [][]event.Record{{found}}, log: []event.Record{found}}
	start(t, config, log, store.Archive, into)
	for _, row := range into.await(t, 2) {
		require.Equal(t, report.Row{Verdict: ledger.Poison, ReceivedAt: found.Time.UTC()}, row)
	}
	settled(t, store, 2, ok(1)...)
	require.Len(t, into.await(t, 3), 3)
	require.Equal(t, 1, log.reads)
}

func TestWhatOthersArchivedIsForgotten(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	cfg := config
	cfg.BufferRecords = 1
	log := &scripted{polls: [][]event.Record{
		{record(t, 0, impression()), record(t, 1, impression())}, {record(t, 2, impression())},
	}}
	settled(t, store, 0, ok(2)...)
	plan, err := store.Archive.NextPlan(t.Context(), []stream.Range{{Partition: partition, Next: 2}}, 10)
	require.NoError(t, err)
	require.NoError(t, store.Archive.MarkArchived(t.Context(), plan.Plan()))
	start(t, cfg, log, store.Archive, into)
	settled(t, store, 2, ok(1)...)
	require.Len(t, into.await(t, 1), 1)
	require.Contains(t, into.blocks, stream.Range{Partition: partition, First: 2, Next: 3}.String())
}

// broken is a sink that never answers well.
type broken struct{}

func (broken) Insert(context.Context, string, []report.Row) error { return errSink }

func TestSinkOutOfReachMakesNotReadyAndDoesNotDelayTheStop(t *testing.T) {
	store := memory.New(time.Now)
	settled(t, store, 0, ok(1)...)
	a, stop := start(
		t, config, &scripted{polls: [][]event.Record{{record(t, 0, impression())}}}, store.Archive, broken{},
	)
	require.Eventually(t, func() bool { return errors.Is(a.Ready(), errSink) }, patience, time.Millisecond)
	stop()
	archived, err := store.Archive.Archived(t.Context(), []stream.Partition{partition})
	require.NoError(t, err)
	require.Zero(t, archived[partition])
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	_, err := archive.New(archive.Config{}, archive.Deps{})
	require.ErrorContains(t, err, "positive")
	_, err = archive.New(config, archive.Deps{})
	require.ErrorContains(t, err, "required")
	_, err = archive.NewAuctions(config, archive.CopyDeps[report.Auction]{})
	require.ErrorContains(t, err, "required")
}

// An early event has one row, when it is judged. Its own place in the log has none, and a block may
// be empty.
func TestEarlyEventHasOneRow(t *testing.T) {
	store, into := memory.New(time.Now), newSink(nil)
	view, click, lonely := impression(), impression(), impression()
	click.AuctionId, click.Type, lonely.Type = view.AuctionId, event.Type_CLICK, event.Type_CLICK
	records := []event.Record{record(t, 0, click), record(t, 1, view), record(t, 2, lonely)}
	next := int64(0)
	settle := func(records ...event.Record) {
		run := ledger.Run{Range: stream.Range{
			Partition: partition, First: next, Next: next + int64(len(records)),
		}}
		decode := func(value []byte, written time.Time) ledger.Record {
			var m event.Event
			require.NoError(t, proto.Unmarshal(value, &m))
			kind := map[event.Type]ledger.EventType{
				event.Type_IMPRESSION: ledger.Impression, event.Type_CLICK: ledger.Click,
			}[m.Type]
			return ledger.Record{Raw: value, Written: written, Event: ledger.Event{
				Type: kind, Proof: ledger.Signed, AuctionID: uuid.UUID(m.AuctionId), ReceivedAt: written,
			}}
		}
		for _, r := range records {
			run.Records = append(run.Records, decode(r.Value, r.Time))
		}
		next = run.Next
		require.NoError(t, store.Ledger.InTx(t.Context(), func(tx ledger.Tx) error {
			_, err := ledger.Settle(t.Context(), tx, &ledger.Batch{At: time.Now(), Runs: []ledger.Run{run}}, decode)
			return err
		}))
	}
	settle(records[0])
	settle(records[1])
	settle(records[2])
	start(t, config, &scripted{polls: [][]event.Record{records}}, store.Archive, into)
	into.await(t, 2)
	require.Eventually(t, func() bool {
		judged, err := store.Archive.Judged(t.Context(), 9)
		archived, err2 := store.Archive.Archived(t.Context(), []stream.Partition{partition})
		return err == nil && err2 == nil && len(judged) == 0 && archived[partition] == 3
	}, patience, time.Millisecond)
	rows := into.all()
	require.Len(t, rows, 2)
	of := map[ledger.EventType]report.Row{rows[0].Type: rows[0], rows[1].Type: rows[1]}
	require.Equal(t, uuid.UUID(click.EventId), of[ledger.Click].EventID)
	require.Equal(t, uuid.UUID(view.EventId), of[ledger.Impression].EventID)
	require.NotEqual(t, ledger.VerdictEarly, of[ledger.Click].Verdict)
}
