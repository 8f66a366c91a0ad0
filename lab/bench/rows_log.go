package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	chdriver "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/alecthomas/kong"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"adnet/analytics/clickhouse"
	"adnet/consumers/archive"
	"adnet/consumers/settle"
	"adnet/consumers/settle/settletest"
	"adnet/internal/day"
	"adnet/internal/kafka"
	"adnet/internal/store/postgres"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// pipeline holds the consumers' components on a site with stopped consumers, so that each is
// measured alone.
type pipeline struct {
	s         *session
	site      *site
	store     *postgres.Stores
	events    *clickhouse.Store
	kafka     kafka.Config
	settle    settle.Config
	archive   archive.Config
	log       *slog.Logger
	campaigns []uuid.UUID
}

// pipeline opens the stores of a small site with default settings.
func (s *session) pipeline(ctx context.Context) (*pipeline, error) {
	t, err := s.at(ctx, s.size(10_000))
	if err != nil {
		return nil, err
	}
	t.rest()
	p := &pipeline{s: s, site: t, log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var defaults struct {
		Settle  settle.Config  `embed:""`
		Archive archive.Config `embed:""`
	}
	parser, err := kong.New(&defaults)
	if err == nil {
		_, err = parser.Parse(nil)
	}
	if err != nil {
		return nil, err
	}
	p.settle, p.archive = defaults.Settle, defaults.Archive
	p.kafka = kafka.Config{Brokers: []string{s.Kafka}, TopicPrefix: t.Prefix + "."}
	if p.store, err = postgres.Open(ctx, postgres.Config{URL: t.Database, MaxConns: 8}); err != nil {
		return nil, err
	}
	if p.events, err = clickhouse.Open(ctx, clickhouse.Config{URL: t.Analytics}); err != nil {
		return nil, err
	}
	db, err := pgx.Connect(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	rows, err := db.Query(ctx, "SELECT id FROM campaign WHERE name = 'bench' ORDER BY id LIMIT 50")
	if err != nil {
		return nil, err
	}
	p.campaigns, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return p, err
}

func (p *pipeline) close() error {
	p.store.Close()
	return p.events.Close()
}

// impression returns record i of adnet.events: an impression of a new auction that costs and mints.
func (p *pipeline) impression(i int) (key, value []byte, err error) {
	return p.record(p.event(i, uuid.Must(uuid.NewV7())))
}

// views returns a function that creates records of a campaign that pays for views. Each auction has
// an impression, then a view, which costs and mints.
func (p *pipeline) views() func(i int) (key, value []byte, err error) {
	var auction uuid.UUID
	return func(i int) (key, value []byte, err error) {
		view := i%2 == 1
		if !view {
			auction = uuid.Must(uuid.NewV7())
		}
		e := p.event(i/2, auction)
		e.BillingModel, e.Placement.IntegrationMethod = event.BillingModel_VCPM, "js_snippet"
		if view {
			e.Type = event.Type_VIEWABLE
		}
		return p.record(e)
	}
}

// event returns an impression of campaign i.
func (p *pipeline) event(i int, auction uuid.UUID) *event.Event {
	id := uuid.Must(uuid.NewV7())
	campaign := p.campaigns[i%len(p.campaigns)]
	owner, publisher := uuid.MustParse(p.site.owner.ID), uuid.MustParse(p.site.publisher.ID)
	return &event.Event{
		EventId: id[:], Type: event.Type_IMPRESSION, Proof: event.Proof_SIGNED, ReceivedAtUs: time.Now().UnixMicro(),
		AuctionId:  auction[:],
		CampaignId: campaign[:], AdvertiserId: owner[:], DeveloperId: publisher[:], PriceMicros: 5000,
		BillingModel: event.BillingModel_CPM,
		Placement: &event.Placement{
			Format: "image", IntegrationMethod: "rest", Surface: "chat", Region: "US", Language: "en",
			HostApp: "discord",
		}, SessionHash: make([]byte, 16),
	}
}

// record signs an event and encodes it as a record.
func (p *pipeline) record(e *event.Event) (key, value []byte, err error) {
	settletest.Sign(p.site.Ring, e)
	value, err = proto.Marshal(e)
	return e.AuctionId, value, err
}

// batch returns the number of events in one measurement of the log's consumers.
func (s *session) batch() int {
	if s.cfg.Smoke {
		return 4_000
	}
	return 200_000
}

// fill puts n events on the log.
func (p *pipeline) fill(ctx context.Context, n int) error { return p.put(ctx, n, p.impression) }

// put writes n records of adnet.events.
func (p *pipeline) put(ctx context.Context, n int, record func(i int) (key, value []byte, err error)) error {
	client, err := p.client(kgo.DefaultProduceTopic(p.kafka.TopicPrefix + event.TopicEvents))
	if err != nil {
		return err
	}
	defer client.Close()
	var failed atomic.Pointer[error]
	for i := range n {
		key, value, err := record(i)
		if err != nil {
			return err
		}
		client.Produce(ctx, &kgo.Record{Key: key, Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (p *pipeline) client(more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(
		append(
			[]kgo.Opt{
				kgo.SeedBrokers(p.s.Kafka), kgo.ProducerLinger(2 * time.Millisecond),
				kgo.RequiredAcks(kgo.AllISRAcks()),
			}, more...,
		)...,
	)
}

// sample ends a stretch of n processed units. If components or the baseline run in this process,
// its processor time belongs to the side.
func (w *stretch) sample(n float64, without ...string) (result sample) {
	result.rate = n / time.Since(w.began).Seconds()
	var cost map[string]float64
	cost, result.stolen = w.end(n)
	result.cpu = total(cost, without...)
	return result
}

// tidy runs the garbage collector before a sample, so that the sample does not include the cost of
// creating its input.
func tidy() { runtime.GC() }

// meter counts processed records, from the first to the last.
type meter struct {
	s     *session
	mu    sync.Mutex
	want  int
	seen  int
	first *stretch
	ended chan sample // after want records
}

func (s *session) newMeter(want int) *meter {
	tidy()
	return &meter{s: s, want: want, ended: make(chan sample, 1)}
}

func (m *meter) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == nil {
		m.first = m.s.begin()
	}
}

func (m *meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen += n; m.seen >= m.want && m.first != nil {
		m.ended <- m.first.sample(float64(m.seen))
		m.first = nil
	}
}

// wait returns the measurement after all records were processed.
func (m *meter) wait(ctx context.Context, running <-chan error) (sample, error) {
	limit := time.NewTimer(5 * time.Minute)
	defer limit.Stop()
	select {
	case result := <-m.ended:
		return result, nil
	case err := <-running:
		return sample{}, fmt.Errorf("the component ended: %w", err)
	case <-limit.C:
		return sample{}, fmt.Errorf("%d of %d records were processed in 5 minutes", m.seen, m.want)
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
}

// meteredGroup records the first records and, if settled is set, the result for each.
type meteredGroup struct {
	*kafka.Group
	meter   *meter
	settled bool
	polled  int
}

func (g *meteredGroup) Poll(ctx context.Context, limit int) ([]event.Record, error) {
	records, err := g.Group.Poll(ctx, limit)
	if len(records) > 0 {
		g.meter.start()
		g.polled += len(records)
	}
	return records, err
}

func (g *meteredGroup) Done(ctx context.Context) error {
	if g.settled {
		g.meter.add(g.polled)
		g.polled = 0
	}
	return g.Group.Done(ctx)
}

// runs runs a component until its meter is full.
func runs(ctx context.Context, m *meter, group *kafka.Group, run func(context.Context) error) (sample, error) {
	working, cancel := context.WithCancel(ctx)
	running := make(chan error, 1)
	go func() { running <- run(working) }()
	result, err := m.wait(ctx, running)
	cancel()
	if err == nil {
		err = <-running
	}
	leave, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	group.Close(leave)
	return result, err
}

// settleAll settles the records on the log and measures the settlement.
func (p *pipeline) settleAll(ctx context.Context, n int) (sample, error) {
	group, err := kafka.NewGroup(
		p.kafka, kafka.GroupConfig{Group: "adnet-settle", Topic: event.TopicEvents, Stored: p.store.Ledger.Offsets},
		kafka.Deps{Log: p.log},
	)
	if err != nil {
		return sample{}, err
	}
	m := p.s.newMeter(n)
	settler, err := settle.New(
		p.settle,
		settle.Deps{
			Records: &meteredGroup{Group: group, meter: m, settled: true}, Store: p.store.Ledger, Keys: p.site.Ring,
			Log: p.log, Metrics: prometheus.NewRegistry(),
		},
	)
	if err != nil {
		return sample{}, err
	}
	return runs(ctx, m, group, settler.Run)
}

func settling(ctx context.Context, s *session) (r result, err error) {
	p, err := s.pipeline(ctx)
	if err != nil {
		return r, err
	}
	n := s.batch()
	db, err := pgx.Connect(ctx, p.site.Database)
	if err != nil {
		return r, err
	}
	defer db.Close(ctx)
	// The same columns under the same unique key, as one plain table.
	if _, err := db.Exec(
		ctx, "DROP TABLE IF EXISTS bench_copy; CREATE TABLE bench_copy (LIKE billed_event INCLUDING ALL)",
	); err != nil {
		return r, err
	}
	bare := func(ctx context.Context) (sample, error) {
		rows := make([][]any, n)
		for i := range rows {
			id := uuid.Must(uuid.NewV7())
			rows[i] = []any{int32(day.OfUUID(id)), id, "impression"}
		}
		tidy()
		counted := s.begin()
		_, err := db.CopyFrom(
			ctx, pgx.Identifier{"bench_copy"}, []string{"auction_day", "auction_id", "event_type"},
			pgx.CopyFromRows(rows),
		)
		return counted.sample(float64(n)), err
	}
	if r, err = s.alternate(ctx, p.settled(n, p.impression), bare); err != nil {
		return r, err
	}
	return r, p.close()
}

// settled measures the settlement of n records.
func (p *pipeline) settled(n int, record func(i int) (key, value []byte, err error)) sampler {
	return func(ctx context.Context) (sample, error) {
		if err := p.put(ctx, n, record); err != nil {
			return sample{}, err
		}
		return p.settleAll(ctx, n)
	}
}

// settlingViews compares the settlement for campaigns that pay for views with campaigns that pay
// for impressions.
func settlingViews(ctx context.Context, s *session) (r result, err error) {
	p, err := s.pipeline(ctx)
	if err != nil {
		return r, err
	}
	n := s.batch()
	if r, err = s.alternate(ctx, p.settled(n, p.views()), p.settled(n, p.impression)); err != nil {
		return r, err
	}
	return r, p.close()
}

// meteredPlans counts rows that are confirmed in ClickHouse.
type meteredPlans struct {
	archive.Plans
	meter *meter
}

func (p meteredPlans) MarkArchived(ctx context.Context, plan stream.Plan) error {
	err := p.Plans.MarkArchived(ctx, plan)
	if err == nil {
		p.meter.add(plan.Rows())
	}
	return err
}

// archiveAll copies the settled records and measures the copy.
func (p *pipeline) archiveAll(ctx context.Context, n int) (sample, error) {
	group, err := kafka.NewGroup(
		p.kafka, kafka.GroupConfig{Group: "adnet-archive", Topic: event.TopicEvents, Stored: p.store.Archive.Archived},
		kafka.Deps{Log: p.log},
	)
	if err != nil {
		return sample{}, err
	}
	m := p.s.newMeter(n)
	archiver, err := archive.New(p.archive, archive.Deps{
		Records: &meteredGroup{Group: group, meter: m}, Plans: meteredPlans{p.store.Archive, m}, Sink: p.events,
		Log:     p.log,
		Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		return sample{}, err
	}
	return runs(ctx, m, group, archiver.Run)
}

func archiving(ctx context.Context, s *session) (r result, err error) {
	p, err := s.pipeline(ctx)
	if err != nil {
		return r, err
	}
	n := s.batch()
	options, err := chdriver.ParseDSN(p.site.Analytics)
	if err != nil {
		return r, err
	}
	options.Compression = &chdriver.Compression{Method: chdriver.CompressionLZ4}
	conn, err := chdriver.Open(options)
	if err != nil {
		return r, err
	}
	defer conn.Close()
	// Records of earlier rows are archived first, because only a measurement's own rows count.
	if err := p.catchUp(ctx); err != nil {
		return r, err
	}
	if err := conn.Exec(
		ctx,
		"CREATE OR REPLACE TABLE bench_rows AS events ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY "+
			"(campaign_id, day, type, auction_id)",
	); err != nil {
		return r, err
	}
	ours := func(ctx context.Context) (sample, error) {
		if err := p.fill(ctx, n); err != nil {
			return sample{}, err
		}
		if _, err := p.settleAll(ctx, n); err != nil {
			return sample{}, err
		}
		return p.archiveAll(ctx, n)
	}
	bare := func(ctx context.Context) (sample, error) { return s.bareInsert(ctx, conn, n, p.archive.ChunkRows) }
	if r, err = s.alternate(ctx, ours, bare); err != nil {
		return r, err
	}
	return r, p.close()
}

// catchUp lets the site's own consumers finish the records on the log.
func (p *pipeline) catchUp(ctx context.Context) error {
	defer p.site.rest()
	return p.site.catchUp(ctx)
}

// catchUp starts the consumers and waits until they have settled and archived every event of the
// log.
func (t *site) catchUp(ctx context.Context) error {
	if err := t.consume(ctx); err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, t.Database)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	client, err := kgo.NewClient(kgo.SeedBrokers(t.s.Kafka))
	if err != nil {
		return err
	}
	defer client.Close()
	return t.consumers.Await(ctx, startWait, func(ctx context.Context) error {
		end, err := t.written(ctx, client)
		if err != nil {
			return err
		}
		var applied, archived int64
		err = db.QueryRow(
			ctx,
			"SELECT (SELECT coalesce(sum(next_offset), 0) FROM consumer_offset WHERE stream <> 'early')::bigint, "+
				"(SELECT "+
				"coalesce(sum(archived_next), 0) FROM archive_progress WHERE stream <> 'early')::bigint",
		).Scan(&applied, &archived)
		if err == nil && (applied < end || archived < end) {
			err = fmt.Errorf("%d written, %d applied, %d archived", end, applied, archived)
			time.Sleep(100 * time.Millisecond)
		}
		return err
	})
}

// bareInsert writes n rows of events in batches, as in the driver's documentation.
func (s *session) bareInsert(ctx context.Context, conn chdriver.Conn, n, perBatch int) (sample, error) {
	rows, err := conn.Query(ctx, fmt.Sprintf("SELECT * FROM events LIMIT %d", n))
	if err != nil {
		return sample{}, err
	}
	var all [][]any
	for rows.Next() {
		into := make([]any, len(rows.ColumnTypes()))
		for i, column := range rows.ColumnTypes() {
			into[i] = reflect.New(column.ScanType()).Interface()
		}
		if err := rows.Scan(into...); err != nil {
			return sample{}, err
		}
		for i := range into {
			into[i] = reflect.ValueOf(into[i]).Elem().Interface()
		}
		all = append(all, into)
	}
	if err := rows.Err(); err != nil {
		return sample{}, err
	}
	names := ""
	for i, name := range rows.Columns() {
		if i > 0 {
			names += ", "
		}
		names += name
	}
	tidy()
	counted := s.begin()
	for from := 0; from < len(all); from += perBatch {
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO bench_rows ("+names+")")
		if err != nil {
			return sample{}, err
		}
		for _, row := range all[from:min(from+perBatch, len(all))] {
			if err := batch.Append(row...); err != nil {
				return sample{}, err
			}
		}
		if err := batch.Send(); err != nil {
			return sample{}, err
		}
	}
	return counted.sample(float64(len(all))), nil
}

func producing(ctx context.Context, s *session) (r result, err error) {
	p, err := s.pipeline(ctx)
	if err != nil {
		return r, err
	}
	n, err := p.site.ingress(ctx)
	if err != nil {
		return r, err
	}
	batches := p.site.batches(n.addr)
	ours := func(ctx context.Context) (sample, error) {
		counted := s.begin()
		m, err := batches.peak(ctx, s.cfg.Sample)
		measured := counted.sample(m.count*perBatch, generator)
		measured.rate = m.perSecond * perBatch
		return measured, err
	}
	bare := func(ctx context.Context) (sample, error) { return p.bareProduce(ctx, s.cfg.Sample) }
	if r, err = s.alternate(ctx, ours, bare); err != nil {
		return r, err
	}
	n.Stop()
	return r, p.close()
}

// unmeasured is the number of records sent to a new topic before the clock starts.
const unmeasured = 1_000

// bareProduce writes records like a beacon's for d, to a topic of the same shape, and measures the
// acked ones.
func (p *pipeline) bareProduce(ctx context.Context, d time.Duration) (sample, error) {
	topic := "bench-bare-" + rand.Text()[:8]
	client, err := p.client(kgo.DefaultProduceTopic(topic))
	if err != nil {
		return sample{}, err
	}
	defer client.Close()
	if err := p.makeTopic(ctx, client, topic); err != nil {
		return sample{}, err
	}
	var acked atomic.Int64
	var failed atomic.Pointer[error]
	produce := func(i int) error {
		key, value, err := p.impression(i)
		if err != nil {
			return err
		}
		client.Produce(ctx, &kgo.Record{Key: key, Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
				return
			}
			acked.Add(1)
		})
		return nil
	}
	// Until the broker leads every partition of a new topic, the client waits for seconds between
	// its metadata requests.
	for i := range unmeasured {
		if err := produce(i); err != nil {
			return sample{}, err
		}
	}
	if err := client.Flush(ctx); err != nil {
		return sample{}, err
	}
	acked.Store(0)
	counted := p.s.begin()
	for i := 0; time.Since(counted.began) < d; i++ {
		if err := produce(i); err != nil {
			return sample{}, err
		}
	}
	if err := client.Flush(ctx); err != nil {
		return sample{}, err
	}
	result := counted.sample(float64(acked.Load()))
	if err := failed.Load(); err != nil {
		return sample{}, *err
	}
	return result, p.dropTopic(ctx, client, topic)
}
