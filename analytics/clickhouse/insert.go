package clickhouse

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"adnet/internal/report"
)

const (
	// Columns in the order of fillEvents, fillAuctions and fillNotices.
	insertEvents = `INSERT INTO events (event_id, received_at, type, verdict, price, charge, minted, credit, auction_id, campaign_id, advertiser_id, developer_id, billing_model, format, integration_method, surface, region, language, host_app, session, conversion_type, conversion_value, currency, external_id, network_mark)`

	insertAuctions = `INSERT INTO auctions (auction_id, at, developer_id, campaign_id, reason, price, ecpm, format, creative_format, integration_method, surface, region, language, host_app, sandbox, took_us, tokens, tools, floor, candidate_ids, candidate_ecpms, candidate_reasons, more_candidates, model_version, explores, consent, house_id, suitability, suitability_by, age_adult)`

	insertNotices = `INSERT INTO notices (auction_id, at, kind, proof, campaign_id, developer_id, impression_id, price, reason, sandbox)`
)

// ErrNoToken is the error of an insert without a token: a repeat would count twice.
var ErrNoToken = errors.New("insert without a deduplication token")

// Insert writes rows as one block under token (see the package contract). Without rows it does
// nothing. It returns after the server committed the block and everything computed from it. Errors:
// [ErrNoToken]; errs.Unavailable when the outcome is unknown or the server is overloaded. The same
// call may then be repeated.
func (s *Store) Insert(ctx context.Context, token string, rows []report.Row) error {
	return send(ctx, s, insertion{insertEvents, token, "insert events"}, rows, fillEvents)
}

// InsertAuctions writes the outcomes of auctions, by the rules of [Store.Insert].
func (s *Store) InsertAuctions(ctx context.Context, token string, rows []report.Auction) error {
	if err := send(ctx, s, insertion{insertAuctions, token, "insert auctions"}, rows, fillAuctions); err != nil {
		return err
	}
	return s.insertLearning(ctx, token, rows)
}

// InsertNotices writes the notices of exchanges, by the rules of [Store.Insert].
func (s *Store) InsertNotices(ctx context.Context, token string, rows []report.Notice) error {
	return send(ctx, s, insertion{insertNotices, token, "insert notices"}, rows, fillNotices)
}

// packetRows bounds the rows of one message to the server. The columns of a whole block outgrow the
// processor's caches, and the driver would enlarge them step by step from nothing: that took a
// quarter of the archive's processor time (benchmark row archive). The server reads a message while
// the next one is built.
const packetRows = 8_192

type insertion struct{ statement, token, what string }

// insertSettings returns the settings on which the guarantee of one token depends, whatever the
// server's defaults.
func insertSettings(token string) clickhouse.Settings {
	return clickhouse.Settings{
		"insert_deduplicate":                                 1,
		"insert_deduplication_token":                         token,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		// An asynchronous insert would return earlier, or merge blocks of several tokens.
		"async_insert": 0,
		// A view that fails must fail the insert: the repeat then completes it.
		"materialized_views_ignore_errors": 0,
		// Each view's part is synced to disk. One after the other, these syncs take most of an
		// insert's time.
		"parallel_view_processing": 1,
		// The server gathers the messages of an insert in one block, however large.
		"min_insert_block_size_rows":  int64(1) << 40,
		"min_insert_block_size_bytes": 0,
		// The server accepts plain strings and builds the dictionaries itself, several times
		// cheaper than here.
		"low_cardinality_allow_in_native_format": 0,
	}
}

func send[T any](ctx context.Context, s *Store, in insertion, rows []T, fill func(*block, []T)) (err error) {
	if len(rows) == 0 {
		return nil
	}
	if in.token == "" {
		return ErrNoToken
	}
	batch, err := s.conn.PrepareBatch(
		clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings(in.token))), in.statement,
	)
	if err != nil {
		return failure(err, in.what)
	}
	page := s.pages.get(min(len(rows), packetRows))
	defer s.pages.put(page)
	for {
		packet := rows[:min(len(rows), packetRows)]
		rows = rows[len(packet):]
		b := &block{batch: batch, page: page, err: ctx.Err()}
		fill(b, packet)
		if b.err == nil && len(rows) > 0 {
			b.err = batch.Flush() // its memory takes the next packet
		}
		if b.err != nil {
			return errors.Join(failure(b.err, in.what), batch.Abort())
		}
		if len(rows) == 0 {
			return failure(batch.Send(), in.what)
		}
	}
}

// page holds one reusable column of each kind. The driver copies its input, so one page serves
// every column of a block in turn.
type page struct {
	ids     []uuid.UUID
	times   []time.Time
	texts   []string
	numbers []int64
	flags   []bool
}

type pages struct{ pool sync.Pool }

func (p *pages) get(rows int) *page {
	if c, ok := p.pool.Get().(*page); ok && cap(c.ids) >= rows {
		return c
	}
	return &page{
		ids: make([]uuid.UUID, rows), times: make([]time.Time, rows), texts: make([]string, rows),
		numbers: make([]int64, rows), flags: make([]bool, rows),
	}
}

func (p *pages) put(c *page) {
	clear(c.texts[:cap(c.texts)]) // keeps no text of the rows alive
	p.pool.Put(c)
}

// block fills the columns of a batch from left to right and keeps the first error.
type block struct {
	batch driver.Batch
	page  *page
	next  int
	err   error
}

func (b *block) add(column any) {
	if b.err == nil {
		b.err = b.batch.Column(b.next).Append(column)
	}
	b.next++
}

// column fills buffer with one value per row and adds it.
func column[T, V any](b *block, buffer []V, rows []T, value func(*T) V) {
	buffer = buffer[:len(rows)]
	for i := range rows {
		buffer[i] = value(&rows[i])
	}
	b.add(buffer)
}

func fillEvents(b *block, rows []report.Row) {
	ids := func(f func(*report.Row) uuid.UUID) { column(b, b.page.ids, rows, f) }
	texts := func(f func(*report.Row) string) { column(b, b.page.texts, rows, f) }
	numbers := func(f func(*report.Row) int64) { column(b, b.page.numbers, rows, f) }

	ids(func(r *report.Row) uuid.UUID { return r.EventID })
	column(b, b.page.times, rows, func(r *report.Row) time.Time { return storable(r.ReceivedAt) })
	texts(func(r *report.Row) string { return string(r.Type) })
	texts(func(r *report.Row) string { return string(r.Verdict) })
	numbers(func(r *report.Row) int64 { return int64(r.Price) })
	numbers(func(r *report.Row) int64 { return int64(r.Charge) })
	numbers(func(r *report.Row) int64 { return int64(r.Minted) })
	texts(func(r *report.Row) string { return r.Credit.String() })
	ids(func(r *report.Row) uuid.UUID { return r.AuctionID })
	ids(func(r *report.Row) uuid.UUID { return r.CampaignID })
	ids(func(r *report.Row) uuid.UUID { return r.AdvertiserID })
	ids(func(r *report.Row) uuid.UUID { return r.DeveloperID })
	texts(func(r *report.Row) string { return r.BillingModel })
	texts(func(r *report.Row) string { return r.Format })
	texts(func(r *report.Row) string { return r.IntegrationMethod })
	texts(func(r *report.Row) string { return r.Surface })
	texts(func(r *report.Row) string { return r.Region })
	texts(func(r *report.Row) string { return r.Language })
	texts(func(r *report.Row) string { return r.HostApp })
	texts(func(r *report.Row) string { return r.Session })
	texts(func(r *report.Row) string { return r.ConversionType })
	numbers(func(r *report.Row) int64 { return int64(r.ConversionValue) })
	texts(func(r *report.Row) string { return r.Currency })
	texts(func(r *report.Row) string { return r.ExternalID })
	numbers(func(r *report.Row) int64 { return r.NetworkMark })
}

func fillAuctions(b *block, rows []report.Auction) {
	ids := func(f func(*report.Auction) uuid.UUID) { column(b, b.page.ids, rows, f) }
	texts := func(f func(*report.Auction) string) { column(b, b.page.texts, rows, f) }
	numbers := func(f func(*report.Auction) int64) { column(b, b.page.numbers, rows, f) }

	ids(func(r *report.Auction) uuid.UUID { return r.AuctionID })
	column(b, b.page.times, rows, func(r *report.Auction) time.Time { return storable(r.At) })
	ids(func(r *report.Auction) uuid.UUID { return r.DeveloperID })
	ids(func(r *report.Auction) uuid.UUID { return r.CampaignID })
	texts(func(r *report.Auction) string { return string(r.Reason) })
	numbers(func(r *report.Auction) int64 { return int64(r.Price) })
	numbers(func(r *report.Auction) int64 { return int64(r.ECPM) })
	texts(func(r *report.Auction) string { return r.Format })
	texts(func(r *report.Auction) string { return r.CreativeFormat })
	texts(func(r *report.Auction) string { return r.IntegrationMethod })
	texts(func(r *report.Auction) string { return r.Surface })
	texts(func(r *report.Auction) string { return r.Region })
	texts(func(r *report.Auction) string { return r.Language })
	texts(func(r *report.Auction) string { return r.HostApp })
	column(b, b.page.flags, rows, func(r *report.Auction) bool { return r.Sandbox })
	numbers(func(r *report.Auction) int64 { return r.Took.Microseconds() })
	numbers(func(r *report.Auction) int64 { return r.Tokens })
	numbers(func(r *report.Auction) int64 { return r.Tools })
	numbers(func(r *report.Auction) int64 { return int64(r.Floor) })
	b.add(perCandidate(rows, func(c *report.Candidate) uuid.UUID { return c.CampaignID }))
	b.add(perCandidate(rows, func(c *report.Candidate) int64 { return int64(c.ECPM) }))
	b.add(perCandidate(rows, func(c *report.Candidate) string { return c.Reason }))
	column(b, b.page.flags, rows, func(r *report.Auction) bool { return r.MoreCandidates })
	texts(func(r *report.Auction) string { return r.ModelVersion })
	column(b, b.page.flags, rows, func(r *report.Auction) bool { return r.Explores })
	texts(func(r *report.Auction) string { return r.Consent })
	ids(func(r *report.Auction) uuid.UUID { return r.HouseID })
	texts(func(r *report.Auction) string { return r.Suitability })
	texts(func(r *report.Auction) string { return r.SuitabilityBy })
	column(b, b.page.flags, rows, func(r *report.Auction) bool { return r.AgeAdult })
}

// perCandidate returns a column of arrays, one value for each candidate of each row.
func perCandidate[V any](rows []report.Auction, value func(*report.Candidate) V) [][]V {
	lists := make([][]V, len(rows))
	for i := range rows {
		lists[i] = make([]V, len(rows[i].Candidates))
		for j := range rows[i].Candidates {
			lists[i][j] = value(&rows[i].Candidates[j])
		}
	}
	return lists
}

func fillNotices(b *block, rows []report.Notice) {
	ids := func(f func(*report.Notice) uuid.UUID) { column(b, b.page.ids, rows, f) }
	texts := func(f func(*report.Notice) string) { column(b, b.page.texts, rows, f) }
	numbers := func(f func(*report.Notice) int64) { column(b, b.page.numbers, rows, f) }

	ids(func(r *report.Notice) uuid.UUID { return r.AuctionID })
	column(b, b.page.times, rows, func(r *report.Notice) time.Time { return storable(r.At) })
	texts(func(r *report.Notice) string { return r.Kind })
	texts(func(r *report.Notice) string { return r.Proof })
	ids(func(r *report.Notice) uuid.UUID { return r.CampaignID })
	ids(func(r *report.Notice) uuid.UUID { return r.DeveloperID })
	texts(func(r *report.Notice) string { return r.ImpressionID })
	numbers(func(r *report.Notice) int64 { return int64(r.Price) })
	numbers(func(r *report.Notice) int64 { return r.Reason })
	column(b, b.page.flags, rows, func(r *report.Notice) bool { return r.Sandbox })
}

// earliest and latest bound the times that the day column can hold. A time outside is moved to the
// nearer end, so that a record with a wrong clock is stored like any other: a repeat of the block
// must build the same rows.
var earliest, latest = time.Unix(0, 0).UTC(), time.Date(2105, 12, 31, 0, 0, 0, 0, time.UTC)

func storable(t time.Time) time.Time {
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t
}
