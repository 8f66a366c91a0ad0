package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"adnet/internal/ledger"
	"adnet/internal/process/schedule"
	"adnet/schemas/event"
)

// The kinds of faults.
const (
	ingressKill       = "ingress_kill"          // SIGKILL with requests in flight
	bothIngressKill   = "both_ingress_kill"     // of both nodes at once
	spoolKill         = "ingress_kill_on_spool" // with acknowledged beacons that are not on the log yet
	consumersKill     = "consumers_kill"        // SIGKILL at any moment
	betweenCommits    = "consumers_kill_between_postgres_and_offset_commit"
	betweenInsertMark = "archive_kill_between_insert_and_mark"
	brokerKill        = "broker_kill"
	kafkaCut          = "kafka_connections_cut"
	postgresRestart   = "postgres_immediate_restart"
	commitCut         = "connection_cut_mid_commit"
	redisFlush        = "redis_flushall"
	redisOldDump      = "redis_restart_from_old_dump"
	clickhouseDown    = "clickhouse_down"
	clickhouseReply   = "clickhouse_reply_lost_after_insert"
	spoolFull         = "spool_disk_full"
	consumerStopped   = "consumer_stopped_beyond_session_timeout"
	campaignPause     = "pause"
	dayBoundary       = "day_boundary"
)

// promised limits the time from healing to no lag. It has no slack: a killed consumer's partitions
// wait for the end of its session (10 s), which with two rebalances takes 9 to 14 s on 2 cores, the
// longest of all kinds. A shared machine needs a lower --rate, as in short runs.
const promised = 30 * time.Second

// outstanding exceeds the delay of any beacon of the load after its ad.
const outstanding = 15 * time.Second

type fault struct {
	kind  string
	short bool // part of a short run
	redis bool // Redis is not healthy while it lasts
	run   func(context.Context) error
}

func (s *suite) kinds() []fault {
	return []fault{
		{ingressKill, true, false, s.killIngress},
		{bothIngressKill, false, false, s.killBothIngress},
		{spoolKill, true, false, s.killOnSpool},
		{consumersKill, true, false, s.killConsumers},
		{betweenCommits, true, false, s.killBetweenCommits},
		{betweenInsertMark, true, false, s.killBetweenInsertAndMark},
		{brokerKill, true, false, s.killBroker},
		{kafkaCut, false, false, s.cutKafka},
		{postgresRestart, true, false, s.restartPostgres},
		{commitCut, true, false, s.cutCommits},
		{redisFlush, true, true, s.flushRedis},
		{redisOldDump, false, true, s.restartOldRedis},
		{clickhouseDown, false, false, s.stopClickHouse},
		{clickhouseReply, true, false, s.loseReply},
		{spoolFull, false, false, s.fillSpool},
		{consumerStopped, false, false, s.stopConsumer},
		{campaignPause, true, false, s.pauseOne},
	}
}

// windows are periods of the machine's clock.
type windows []struct{ from, to time.Time }

func (w windows) contain(at time.Time) bool {
	return slices.ContainsFunc(
		w, func(inject struct{ from, to time.Time }) bool { return !at.Before(inject.from) && !at.After(inject.to) },
	)
}

// tries is the number of attempts at a fault that misses its moment.
const tries = 3

// faults runs every kind once, in random order, then random kinds until the limit. Each is healed,
// and recovery awaited, before the next begins. A run without one of its kinds is a breach.
func (s *suite) faults(ctx context.Context) error {
	_ = schedule.Pause(ctx, 3*time.Second) // some traffic first
	if err := s.keepRedis(); err != nil {
		return err
	}
	begin := time.Now()
	var kinds, plan []fault
	for _, f := range s.kinds() {
		_, skip := s.report.Skipped[f.kind]
		wanted := !s.cfg.Short || f.short
		if len(s.cfg.Only) > 0 {
			wanted = slices.Contains(s.cfg.Only, f.kind)
		}
		if wanted && !skip {
			kinds = append(kinds, f)
		}
	}
	plan = s.shuffled(kinds)
	before, missed := s.now(), make(map[string]int)
	for i := 0; ctx.Err() == nil; i++ {
		if i == len(plan) {
			if s.cfg.Short || len(s.cfg.Only) > 0 {
				break
			}
			plan = append(plan, s.shuffled(kinds)...)
		}
		f, late := plan[i], time.Since(begin) > s.cfg.Limit
		if late && s.report.Faults[f.kind] > 0 {
			break
		}
		if err := s.inject(ctx, f); err != nil {
			return err
		}
		if missed[f.kind]++; s.report.Faults[f.kind] == 0 && missed[f.kind] < tries {
			plan = slices.Insert(plan, i+1, f)
		} else if s.report.Faults[f.kind] == 0 {
			s.breach("%s: missed its moment in %d tries", f.kind, tries)
		}
		if now := s.now(); now.Truncate(24*time.Hour) != before.Truncate(24*time.Hour) {
			s.say("a day ended during the run (%s)", now.Truncate(24*time.Hour).Format(time.DateOnly))
			s.report.Faults[dayBoundary]++
			before = now
		}
	}
	if s.shifted && ctx.Err() == nil && s.report.Faults[dayBoundary] == 0 {
		s.breach("no day ended in the run")
	}
	return ctx.Err()
}

func (s *suite) shuffled(list []fault) []fault {
	list = slices.Clone(list)
	s.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// errMissed reports that a fault missed its moment. The attempt does not count.
var errMissed = errors.New("the fault missed its moment")

func (s *suite) inject(ctx context.Context, f fault) error {
	s.say("%s", f.kind)
	began := time.Now()
	err := f.run(ctx)
	healed := time.Now()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errMissed):
		s.say("%s: %v", f.kind, err)
	case err != nil:
		return fmt.Errorf("%s: %w", f.kind, err)
	default:
		s.report.Faults[f.kind]++
	}
	took, err := s.caughtUp(ctx, healed, 2*time.Minute)
	if err != nil {
		return err
	}
	if f.redis {
		// Ads shown before Redis lost their reservations may also find the budget exhausted.
		s.faulty = append(s.faulty, struct{ from, to time.Time }{began.Add(-outstanding), time.Now().Add(time.Second)})
	}
	if took > promised {
		s.breach("%s: %.1f s from healing to no lag", f.kind, took.Seconds())
	}
	s.report.Recovery[f.kind] = max(s.report.Recovery[f.kind], float64(took.Milliseconds())/1000)
	s.say("%s is over: settled and archived %.1f s after healing", f.kind, took.Seconds())
	if !s.cfg.Short {
		_ = schedule.Pause(ctx, time.Duration(s.rng.IntN(2000))*time.Millisecond)
	}
	return nil
}

// caughtUp waits until all processes are ready and all records on the log at the healing are
// settled and archived. Exceeding the limit is a breach, not an error.
func (s *suite) caughtUp(ctx context.Context, healed time.Time, limit time.Duration) (time.Duration, error) {
	var ends kadm.ListedOffsets
	reported := time.Now()
	for {
		missing := ""
		if ends == nil {
			if listed, err := s.stack.log.ListEndOffsets(ctx, event.TopicEvents); err == nil && listed.Error() == nil {
				ends = listed
			} else {
				missing = "the log does not answer"
			}
		}
		if ends != nil {
			missing = s.behind(ctx, ends)
		}
		if missing == "" {
			return time.Since(healed), nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if time.Since(healed) > limit {
			s.breach("not caught up %s after healing: %s", limit, missing)
			return time.Since(healed), nil
		}
		if time.Since(reported) > 5*time.Second {
			reported = time.Now()
			s.say("waiting: %s", missing)
		}
		_ = schedule.Pause(ctx, 100*time.Millisecond)
	}
}

// behind describes what is missing, or returns "" when nothing is.
func (s *suite) behind(ctx context.Context, ends kadm.ListedOffsets) string {
	for _, n := range s.nodes.all() {
		if err := n.ready(ctx, time.Second); err != nil {
			return n.name + " is not ready"
		}
	}
	settled, err := s.offsets(ctx, `SELECT partition, max(next_offset) FROM consumer_offset WHERE stream <> $1 GROUP BY 1`)
	if err != nil {
		return err.Error()
	}
	archived, err := s.offsets(ctx, `SELECT partition, max(archived_next) FROM archive_progress WHERE stream <> $1 GROUP BY 1`)
	if err != nil {
		return err.Error()
	}
	// Events that waited for an impression are judged in a stream of their own, which no log holds.
	var judged int64
	if err := s.stack.db.QueryRow(ctx, `
		SELECT count(*) FROM consumer_offset o LEFT JOIN archive_progress a USING (stream, partition)
		WHERE o.stream = $1 AND coalesce(a.archived_next, 0) < o.next_offset`, ledger.EarlyStream).Scan(&judged); err != nil {
		return err.Error()
	}
	if judged > 0 {
		return fmt.Sprintf("%d partitions of judged early events are not archived", judged)
	}
	missing := ""
	ends.Each(func(o kadm.ListedOffset) {
		if settled[o.Partition] < o.Offset {
			missing = fmt.Sprintf("partition %d is settled to %d of %d", o.Partition, settled[o.Partition], o.Offset)
		} else if archived[o.Partition] < o.Offset {
			missing = fmt.Sprintf("partition %d is archived to %d of %d", o.Partition, archived[o.Partition], o.Offset)
		}
	})
	return missing
}

// offsets reads offsets by partition, where $1 of the statement is the stream of judged early
// events. This stack has one topic of events.
func (s *suite) offsets(ctx context.Context, sql string) (map[int32]int64, error) {
	rows, err := s.stack.db.Query(ctx, sql, ledger.EarlyStream)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[int32]int64)
	for rows.Next() {
		var partition int32
		var offset int64
		if err := rows.Scan(&partition, &offset); err != nil {
			return nil, err
		}
		all[partition] = offset
	}
	return all, rows.Err()
}

// hold waits for a random time while a fault is active.
func (s *suite) hold(ctx context.Context, least, most time.Duration) {
	_ = schedule.Pause(ctx, least+time.Duration(s.rng.Int64N(int64(most-least))))
}

func (s *suite) killIngress(ctx context.Context) error {
	n := s.nodes.ingress[s.rng.IntN(2)]
	n.kill()
	s.hold(ctx, 200*time.Millisecond, 3*time.Second)
	return n.start()
}

func (s *suite) killBothIngress(ctx context.Context) error {
	for _, n := range s.nodes.ingress {
		n.kill()
	}
	s.hold(ctx, 100*time.Millisecond, time.Second)
	return errors.Join(s.nodes.ingress[0].start(), s.nodes.ingress[1].start())
}

// killOnSpool disconnects Kafka, lets both nodes acknowledge beacons that exist only on their
// disks, and kills both. The connections return when the new processes may already read their
// spools.
func (s *suite) killOnSpool(ctx context.Context) error {
	for _, c := range s.proxy.kafka {
		c.Stop()
	}
	// exceeds ingress's wait for Kafka: events acknowledged from here on are not on the log
	_ = schedule.Pause(ctx, time.Second)
	before := s.load.acknowledged.Load()
	err := s.until(ctx, 15*time.Second, func() (bool, error) { return s.load.acknowledged.Load() >= before+40, nil })
	for _, n := range s.nodes.ingress {
		n.kill()
	}
	s.hold(ctx, 100*time.Millisecond, time.Second)
	for _, n := range s.nodes.ingress {
		err = errors.Join(err, n.start())
	}
	s.hold(ctx, 100*time.Millisecond, 2*time.Second)
	for _, c := range s.proxy.kafka {
		err = errors.Join(err, c.Start())
	}
	return err
}

func (s *suite) killConsumers(ctx context.Context) error {
	n := s.nodes.consumers[s.rng.IntN(2)]
	n.kill()
	s.hold(ctx, 100*time.Millisecond, 2*time.Second)
	return n.start()
}

// killBetweenCommits slows PostgreSQL until a settlement is in progress, blocks Kafka, lets the
// settlement commit, and kills the consumer. The offsets are then in PostgreSQL but not in Kafka.
func (s *suite) killBetweenCommits(ctx context.Context) error {
	if err := s.proxy.postgres.slow(250 * time.Millisecond); err != nil {
		return err
	}
	slow := true
	quick := func() error {
		if !slow {
			return nil
		}
		slow = false
		return s.proxy.postgres.Toxics.RemoveToxic(ctx, "slow")
	}
	err := s.until(ctx, 10*time.Second, func() (bool, error) {
		var n int
		err := s.stack.db.QueryRow(ctx, `SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			WHERE c.relname = 'consumer_offset' AND l.mode = 'RowExclusiveLock' AND l.granted AND l.pid <> pg_backend_pid()`).Scan(&n)
		return n > 0, err
	})
	if err != nil {
		return errors.Join(err, quick())
	}
	for _, c := range s.proxy.kafka {
		if err := c.block(); err != nil {
			return err
		}
	}
	before, err := s.settledTotal(ctx)
	if err == nil {
		err = quick()
	}
	if err == nil {
		err = s.until(ctx, 10*time.Second, func() (bool, error) {
			now, err := s.settledTotal(ctx)
			return now > before, err
		})
	}
	for _, n := range s.nodes.consumers {
		n.kill()
	}
	if err == nil {
		err = s.hintIsBehind(ctx)
	}
	for _, c := range s.proxy.kafka {
		err = errors.Join(err, c.Toxics.RemoveToxic(ctx, "block"), c.cut())
	}
	return errors.Join(err, quick(), s.nodes.consumers[0].start(), s.nodes.consumers[1].start())
}

func (s *suite) settledTotal(ctx context.Context) (n int64, err error) {
	err = s.stack.db.QueryRow(ctx,
		`SELECT coalesce(sum(next_offset), 0)::bigint FROM consumer_offset WHERE stream <> $1`, ledger.EarlyStream,
	).Scan(&n)
	return n, err
}

// hintIsBehind verifies that the offsets in Kafka are behind those in PostgreSQL.
func (s *suite) hintIsBehind(ctx context.Context) error {
	stored, err := s.offsets(ctx, `SELECT partition, max(next_offset) FROM consumer_offset WHERE stream <> $1 GROUP BY 1`)
	if err != nil {
		return err
	}
	// Retried because the suite's own connection may be to a killed broker. The consumers are dead,
	// so the answer does not change meanwhile.
	var hints kadm.OffsetResponses
	err = s.until(ctx, 10*time.Second, func() (bool, error) {
		var failed error
		hints, failed = s.stack.log.FetchOffsets(ctx, "adnet-settle")
		return failed == nil, nil
	})
	if err != nil {
		return err
	}
	for partition, offset := range stored {
		if hint, ok := hints.Lookup(event.TopicEvents, partition); !ok || hint.At < offset {
			return nil
		}
	}
	return errMissed
}

// until polls until the answer is true. It returns errMissed at the limit.
func (s *suite) until(ctx context.Context, limit time.Duration, ask func() (bool, error)) error {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		yes, err := ask()
		if yes || err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		_ = schedule.Pause(ctx, 10*time.Millisecond)
	}
	return errMissed
}

// darkInsert drops ClickHouse's answers once the rows of an insert are sent, and waits until it has
// applied them.
func (s *suite) darkInsert(ctx context.Context) error {
	const rows = `SELECT count() FROM events`
	before, err := s.stack.count(ctx, rows)
	if err != nil {
		return err
	}
	if err := s.proxy.clickhouse.gate.wait(ctx, insertData); err != nil {
		return err
	}
	return s.until(ctx, 10*time.Second, func() (bool, error) {
		now, err := s.stack.count(ctx, rows)
		return now > before, err
	})
}

// wait arms the gate and waits for its moment.
func (g *gate) wait(ctx context.Context, what int32) error {
	g.armed.Store(what)
	select {
	case <-g.met:
		return nil
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	if !g.armed.CompareAndSwap(what, disarmed) {
		<-g.met
		return nil
	}
	return errors.Join(ctx.Err(), errMissed)
}

func (s *suite) killBetweenInsertAndMark(ctx context.Context) error {
	err := s.darkInsert(ctx)
	for _, n := range s.nodes.consumers {
		n.kill()
	}
	if err == nil { // the plan of the insert must still be pending
		var pending int
		err = s.stack.db.QueryRow(
			ctx, `SELECT count(*) FROM archive_progress WHERE planned_to IS NOT NULL`,
		).Scan(&pending)
		if err == nil && pending == 0 {
			err = errMissed
		}
	}
	return errors.Join(err, s.proxy.clickhouse.cut(), s.nodes.consumers[0].start(), s.nodes.consumers[1].start())
}

func (s *suite) loseReply(ctx context.Context) error {
	err := s.darkInsert(ctx)
	s.hold(ctx, 100*time.Millisecond, 2*time.Second)
	return errors.Join(err, s.proxy.clickhouse.cut())
}

func (s *suite) killBroker(ctx context.Context) error {
	if err := s.stack.signal(brokerName(s.rng.IntN(brokers)), syscall.SIGKILL); err != nil {
		return err
	}
	s.hold(ctx, 2*time.Second, 8*time.Second)
	return s.stack.up(ctx)
}

func (s *suite) cutKafka(ctx context.Context) error {
	for _, c := range s.proxy.kafka {
		c.Stop()
	}
	s.hold(ctx, 2*time.Second, 8*time.Second)
	var failed error
	for _, c := range s.proxy.kafka {
		failed = errors.Join(failed, c.Start())
	}
	return failed
}

func (s *suite) restartPostgres(ctx context.Context) error {
	if err := s.stack.signal("postgres", syscall.SIGQUIT); err != nil {
		return err
	}
	s.hold(ctx, 100*time.Millisecond, 3*time.Second)
	return s.stack.up(ctx)
}

// cutCommits cuts connections at COMMIT: half of the time the server never receives it, half of the
// time its answer is lost.
func (s *suite) cutCommits(ctx context.Context) error {
	for range 6 {
		if err := s.proxy.postgres.gate.wait(ctx, commitBefore+int32(s.rng.IntN(2))); err != nil {
			return err
		}
		_ = schedule.Pause(ctx, 100*time.Millisecond) // lets a received commit finish
		if err := s.proxy.postgres.cut(); err != nil {
			return err
		}
		s.hold(ctx, 50*time.Millisecond, 800*time.Millisecond)
	}
	return nil
}

func (s *suite) flushRedis(context.Context) error {
	answer, err := s.stack.redis("FLUSHALL")
	if err == nil && answer != "+OK" {
		err = errors.New(answer)
	}
	return err
}

func (s *suite) redisDir() string { return filepath.Join(s.stack.folder(), "redis") }

// keepRedis copies the current files of Redis for a later restore.
func (s *suite) keepRedis() error {
	old := s.redisDir() + ".old"
	return errors.Join(os.RemoveAll(old), os.CopyFS(old, os.DirFS(s.redisDir())))
}

func (s *suite) restartOldRedis(ctx context.Context) error {
	if err := s.stack.signal("redis", syscall.SIGKILL); err != nil {
		return err
	}
	s.hold(ctx, 100*time.Millisecond, 3*time.Second)
	err := errors.Join(os.RemoveAll(s.redisDir()), os.CopyFS(s.redisDir(), os.DirFS(s.redisDir()+".old")))
	return errors.Join(err, s.stack.up(ctx))
}

func (s *suite) stopClickHouse(ctx context.Context) error {
	if err := s.stack.signal("clickhouse", syscall.SIGKILL); err != nil {
		return err
	}
	s.say("ClickHouse is down for a minute")
	_ = schedule.Pause(ctx, time.Minute)
	return s.stack.up(ctx)
}

// fillSpool leaves 64 KiB free on the disks of both spools and disconnects Kafka until beacons are
// refused.
func (s *suite) fillSpool(ctx context.Context) error {
	var failed error
	for i := range 2 {
		failed = errors.Join(failed, fill(spoolDir(s.cfg.Dir, i), 64<<10))
	}
	for _, c := range s.proxy.kafka {
		c.Stop()
	}
	before := s.load.refused.Load()
	if failed == nil {
		failed = s.until(ctx, 40*time.Second, func() (bool, error) { return s.load.refused.Load() > before+20, nil })
		s.say("the disks of the spools are full")
		_ = schedule.Pause(ctx, 2*time.Second)
	}
	for i := range 2 {
		failed = errors.Join(failed, os.Remove(filepath.Join(spoolDir(s.cfg.Dir, i), filler)))
	}
	for _, c := range s.proxy.kafka {
		failed = errors.Join(failed, c.Start())
	}
	return failed
}

const filler = "somebody-elses-file"

// fill uses all but free bytes of the disk of dir.
func fill(dir string, free int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filler), make([]byte, max(0, int64(disk.Bavail)*disk.Bsize-free)), 0o600)
}

func (s *suite) stopConsumer(ctx context.Context) error {
	n := s.nodes.consumers[s.rng.IntN(2)]
	if err := n.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, 14*time.Second) // its session ends after 10
	return n.signal(syscall.SIGCONT)
}

// pauseOne pauses a campaign under traffic.
func (s *suite) pauseOne(ctx context.Context) error {
	b := s.site.campaigns()[s.rng.IntN(4)] // a campaign with plenty of budget
	return s.site.pauseCampaign(ctx, b, 4*time.Second)
}
