package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"google.golang.org/protobuf/proto"

	"adnet/consumers/settle/settletest"
	"adnet/schemas/event"
)

// unitsCmd measures the cost of one ad request, one beacon and one event, the base figures of
// lab/bench/scale.md.
type unitsCmd struct {
	Events    int           `name:"events" default:"200000" help:"Number of events to put on the log, settle and archive."`
	Campaigns int           `name:"campaigns" default:"1000" help:"Number of campaigns of the events, with a Zipf distribution; at most 10000."`
	Sample    time.Duration `name:"sample" default:"4s" help:"Length of each measurement over HTTP."`
}

// units is the result. CPU is µs of processor time per unit, by process. Servers under other load
// appear too expensive. Bytes count one copy, before replication.
type units struct {
	Machine   string                        `json:"machine"`
	Events    int                           `json:"events"`
	Campaigns int                           `json:"campaigns"`
	CPU       map[string]map[string]float64 `json:"cpu_us"`
	Kafka     map[string]float64            `json:"kafka_bytes"`
	// Per event, by table with its indexes. It includes data that grows with batches, campaigns and
	// minutes instead of events.
	Postgres map[string]float64 `json:"postgres_bytes_per_event"`
	// The server's whole write-ahead log meanwhile, an upper bound if the server has other users.
	WAL float64 `json:"postgres_wal_bytes_per_event"`
	// ClickHouse's tables, all parts merged into one.
	ClickHouse map[string]tableSize `json:"clickhouse"`
}

type tableSize struct {
	Rows   float64 `json:"rows"`
	PerRow float64 `json:"bytes_per_row"`
	Plain  float64 `json:"uncompressed_bytes_per_row"`
}

// Run implements kong's command.
func (c *unitsCmd) Run(ctx context.Context) (err error) {
	if c.Events < 1 || c.Campaigns < 2 || c.Campaigns > 10_000 {
		return errors.New("--events must be positive, --campaigns between 2 and 10000")
	}
	s, err := newSession(&runCmd{Samples: 1, Sample: c.Sample})
	if err != nil {
		return err
	}
	s.row = row{name: "units"}
	defer func() { err = errors.Join(err, s.close()) }()
	u := &units{
		Machine: describeMachine(), Events: c.Events, Campaigns: c.Campaigns, CPU: map[string]map[string]float64{},
		Kafka: map[string]float64{},
	}
	if err := s.units(ctx, u); err != nil {
		return err
	}
	text, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return nil
}

func (s *session) units(ctx context.Context, u *units) error {
	p, err := s.pipeline(ctx)
	if err != nil {
		return err
	}
	if err := p.logUnits(ctx, u); err != nil {
		return err
	}
	if err := p.httpUnits(ctx, u); err != nil {
		return err
	}
	s.say("letting the site's consumers archive what the HTTP part produced ...")
	if err := p.catchUp(ctx); err != nil {
		return err
	}
	p.store.Close()
	u.ClickHouse, err = p.mergedSizes(ctx)
	return errors.Join(err, p.events.Close())
}

// costing runs work of n units and stores the cost per unit.
func (u *units) costing(s *session, name string, n float64, work func() error) error {
	counted := s.begin()
	if err := work(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	u.CPU[name], _ = counted.end(n)
	s.say("%s: CPU µs a unit: %s", name, costs(u.CPU[name]))
	return nil
}

// logUnits measures an event's path through Kafka, settlement and the archive. The components run
// in this process, so their part is "generator".
func (p *pipeline) logUnits(ctx context.Context, u *units) error {
	n := float64(u.Events)
	record, err := p.variety(ctx, u.Campaigns)
	if err != nil {
		return err
	}
	_, value, err := record(0)
	if err != nil {
		return err
	}
	u.Kafka["event_value"] = float64(len(value))
	log, err := p.logBytes(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	if err := u.costing(p.s, "produced_event", n, func() error { return p.put(ctx, u.Events, record) }); err != nil {
		return err
	}
	after, err := p.logBytes(ctx, event.TopicEvents)
	if err != nil {
		return err
	}
	u.Kafka["event_full_batches"] = rounded((after - log) / n)
	tables, err := p.tableBytes(ctx)
	if err != nil {
		return err
	}
	wal, err := p.walPosition(ctx)
	if err != nil {
		return err
	}
	err = u.costing(p.s, "settled_event", n, func() error { _, err := p.settleAll(ctx, u.Events); return err })
	if err != nil {
		return err
	}
	end, err := p.walPosition(ctx)
	if err != nil {
		return err
	}
	u.WAL = rounded((end - wal) / n)
	if u.Postgres, err = p.tableBytes(ctx); err != nil {
		return err
	}
	for table, bytes := range u.Postgres {
		if u.Postgres[table] = rounded((bytes - tables[table]) / n); u.Postgres[table] == 0 {
			delete(u.Postgres, table)
		}
	}
	return u.costing(p.s, "archived_row", n, func() error { _, err := p.archiveAll(ctx, u.Events); return err })
}

// variety returns impressions that compress no better than real ones: distinct sessions, many
// campaigns, unequal placements.
func (p *pipeline) variety(ctx context.Context, campaigns int) (func(int) (key, value []byte, err error), error) {
	db, err := pgx.Connect(ctx, p.site.Database)
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	rows, err := db.Query(ctx, "SELECT id FROM campaign WHERE name = 'bench' ORDER BY id LIMIT $1", campaigns)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) == 0 {
		return nil, errors.Join(err, errors.New("the site has no campaigns"))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	popular := rand.NewZipf(rng, 1.1, 1, uint64(len(ids)-1))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	owner, publisher := uuid.MustParse(p.site.owner.ID), uuid.MustParse(p.site.publisher.ID)
	return func(int) (key, value []byte, err error) {
		id, auction, campaign := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), ids[popular.Uint64()]
		e := &event.Event{
			EventId: id[:], Type: event.Type_IMPRESSION, Proof: event.Proof_SIGNED,
			ReceivedAtUs: time.Now().UnixMicro(), AuctionId: auction[:],
			CampaignId: campaign[:], AdvertiserId: owner[:], DeveloperId: publisher[:],
			PriceMicros: 1000 + rng.Int64N(20_000), BillingModel: event.BillingModel_CPM,
			Placement: &event.Placement{
				Format: pick("image", "text", "native"), IntegrationMethod: pick("rest", "mcp", "js_snippet"),
				Surface: pick("chat", "sidebar", "tool"),
				Region:  pick("US", "GB", "DE", "FR", "IN"), Language: pick("en", "en", "de", "fr"),
				HostApp: pick("discord", "slack", "vscode", "web", "terminal"),
			},
			SessionHash: binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, rng.Uint64()), rng.Uint64()),
		}
		settletest.Sign(p.site.Ring, e)
		value, err = proto.Marshal(e)
		return auction[:], value, err
	}, nil
}

// walPosition returns the server's position in its write-ahead log, in bytes.
func (p *pipeline) walPosition(ctx context.Context) (at float64, err error) {
	db, err := pgx.Connect(ctx, p.site.Database)
	if err != nil {
		return 0, err
	}
	defer db.Close(ctx)
	err = db.QueryRow(ctx, "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8").Scan(&at)
	return at, err
}

// httpUnits measures a node's cost of a request, and the bytes that its requests leave on the log.
func (p *pipeline) httpUnits(ctx context.Context, u *units) error {
	n, err := p.site.ingress(ctx)
	if err != nil {
		return err
	}
	defer n.Stop()
	ads, err := p.site.adRequests(n.addr)
	if err != nil {
		return err
	}
	for name, part := range map[string]struct {
		topic   string
		traffic traffic
	}{
		"ad_request": {event.TopicAuctions, ads},
		"beacon":     {event.TopicEvents, p.site.beacons(n.addr)},
	} {
		log, err := p.logBytes(ctx, part.topic)
		if err != nil {
			return err
		}
		counted := p.s.begin()
		m, err := part.traffic.peak(ctx, p.s.cfg.Sample)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		u.CPU[name], _ = counted.end(m.count)
		p.s.say("%s: %.0f requests, CPU µs each: %s", name, m.count, costs(u.CPU[name]))
		time.Sleep(time.Second) // auction outcomes are batched
		after, err := p.logBytes(ctx, part.topic)
		if err != nil {
			return err
		}
		u.Kafka[name] = rounded((after - log) / m.count)
	}
	return nil
}

// logBytes returns the size of one replica of a topic's log over its partitions.
func (p *pipeline) logBytes(ctx context.Context, topic string) (sum float64, err error) {
	client, err := p.client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	topic = p.kafka.TopicPrefix + topic
	admin := kadm.NewClient(client)
	described, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	brokers, err := admin.DescribeAllLogDirs(ctx, described.TopicsSet())
	if err != nil {
		return 0, err
	}
	largest := map[int32]int64{}
	brokers.Each(func(dir kadm.DescribedLogDir) {
		dir.Topics.Each(func(partition kadm.DescribedLogDirPartition) {
			largest[partition.Partition] = max(largest[partition.Partition], partition.Size)
		})
	})
	for _, size := range largest {
		sum += float64(size)
	}
	return sum, nil
}

// tableBytes returns the size of every table with its indexes and out-of-line storage; partitions
// count for their parent.
func (p *pipeline) tableBytes(ctx context.Context) (map[string]float64, error) {
	db, err := pgx.Connect(ctx, p.site.Database)
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	rows, err := db.Query(ctx, `
SELECT coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid))::float8
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY 1`)
	if err != nil {
		return nil, err
	}
	sizes := map[string]float64{}
	var table string
	var bytes float64
	_, err = pgx.ForEachRow(rows, []any{&table, &bytes}, func() error { sizes[table] = bytes; return nil })
	return sizes, err
}

// mergedSizes returns the sizes of the ClickHouse tables after merging their parts, as they are a
// day later.
func (p *pipeline) mergedSizes(ctx context.Context) (map[string]tableSize, error) {
	options, err := clickhouse.ParseDSN(p.site.Analytics)
	if err != nil {
		return nil, err
	}
	options.ReadTimeout = 2 * time.Minute
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	read := func() (map[string]tableSize, error) {
		rows, err := conn.Query(ctx, `
SELECT table, sum(rows)::Float64, sum(bytes_on_disk)::Float64, sum(data_uncompressed_bytes)::Float64
FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table HAVING sum(rows) > 0`)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		sizes := map[string]tableSize{}
		for rows.Next() {
			var table string
			var count, disk, plain float64
			if err := rows.Scan(&table, &count, &disk, &plain); err != nil {
				return nil, err
			}
			sizes[table] = tableSize{Rows: count, PerRow: rounded(disk / count), Plain: rounded(plain / count)}
		}
		return sizes, rows.Err()
	}
	sizes, err := read()
	if err != nil {
		return nil, err
	}
	for _, table := range slices.Sorted(maps.Keys(sizes)) {
		if err := conn.Exec(ctx, "OPTIMIZE TABLE `"+table+"` FINAL"); err != nil {
			return nil, fmt.Errorf("merge %s: %w", table, err)
		}
	}
	return read()
}
