package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/internal/day"
	"adnet/lab/process"
)

// settleAccounts waits until nothing is in flight and compares the acknowledged events with the
// decided ones.
func (s *suite) settleAccounts(ctx context.Context) error {
	s.report.Acknowledged = s.load.acknowledged.Load()
	s.say(
		"the load has ended: %d ads requested, %d filled; unfilled: %s", s.load.requested.Load(), s.load.filled.Load(),
		s.load.misses(),
	)
	end := time.Now()
	if err := s.spoolsEmpty(ctx); err != nil {
		return err
	}
	lag, err := s.caughtUp(ctx, end, 2*time.Minute)
	if err != nil {
		return err
	}
	s.report.FinalLag = float64(lag.Milliseconds()) / 1000
	if lag > promised {
		s.breach("lag %.1f s after the end", lag.Seconds())
	}
	if !s.cfg.Short && len(s.cfg.Only) == 0 && s.report.Acknowledged < enough {
		s.breach("only %d beacons were acknowledged, of %d", s.report.Acknowledged, enough)
	}
	if err := s.verify(ctx); err != nil {
		return err
	}
	decided, err := s.decided(ctx)
	if err != nil {
		return err
	}
	if err := s.readEarly(ctx); err != nil {
		return err
	}
	s.compare(decided)
	s.books(decided)
	return s.ledger(ctx)
}

// spoolsEmpty waits until both ingress processes have delivered the events on their disks.
func (s *suite) spoolsEmpty(ctx context.Context) error {
	for _, n := range s.nodes.ingress {
		err := s.until(ctx, time.Minute, func() (bool, error) {
			left, err := process.Metric(ctx, n.admin, "adnet_spool_bytes")
			return err == nil && left == 0, nil // an error: the process is starting
		})
		if errors.Is(err, errMissed) {
			s.breach("the spool of %s is not empty a minute after the end", n.name)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// verify runs adnet's own check.
func (s *suite) verify(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, s.stack.bin, "verify", "--wait=30s")
	cmd.Env = s.nodes.consumers[0].env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.Output()
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		s.say("verify: %s", line)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		s.breach("verify is not clean: %s", exit.Stderr)
		return ctx.Err()
	}
	return err
}

// row is one record of the log in ClickHouse.
type row struct {
	beacon
	verdict, campaign, day string
	price, charge, minted  int64
	received               time.Time
}

// decided reads every row.
func (s *suite) decided(ctx context.Context) ([]row, error) {
	body, err := s.stack.clickhouse(ctx,
		`SELECT auction_id, type, verdict, campaign_id, day, price, charge, minted, toUnixTimestamp64Micro(received_at)
		FROM events FORMAT TabSeparated`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	var rows []row
	for lines := bufio.NewScanner(body); ; {
		if !lines.Scan() {
			return rows, lines.Err()
		}
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 9 {
			return nil, fmt.Errorf("clickhouse answered %q", lines.Text())
		}
		auction, err := uuid.Parse(f[0])
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			beacon: beacon{auction, f[1]}, verdict: f[2], campaign: f[3], day: f[4],
			price: parseInt(f[5]), charge: parseInt(f[6]), minted: parseInt(f[7]),
			received: time.UnixMicro(parseInt(f[8])).UTC(),
		})
	}
}

// readEarly counts the events of each auction that wait for their impression or click, without a
// row in ClickHouse.
func (s *suite) readEarly(ctx context.Context) error {
	rows, err := s.stack.db.Query(ctx, `SELECT auction_id, count(*) FROM early_event GROUP BY 1`)
	if err != nil {
		return err
	}
	s.early = make(map[uuid.UUID]int)
	var auction uuid.UUID
	var n int
	_, err = pgx.ForEachRow(rows, []any{&auction, &n}, func() error { s.early[auction] = n; return nil })
	return err
}

// first reports whether a verdict belongs to the first record of an event. Every event may have
// only one such record.
func first(verdict string) bool {
	switch verdict {
	case "duplicate", "expired", "unsigned", "bad_signature", "unverified", "poison":
		return false
	}
	return !strings.HasPrefix(verdict, "invalid_traffic:")
}

// compare checks the acknowledgements against the rows: each must have a row, and every event takes
// effect once.
func (s *suite) compare(rows []row) {
	type tally struct{ rows, firsts, charges, mints int }
	have := make(map[beacon]*tally, len(rows))
	s.report.Verdicts = make(map[string]int64)
	for i := range rows {
		r := &rows[i]
		s.report.Verdicts[r.verdict]++
		t := have[r.beacon]
		if t == nil {
			t = &tally{}
			have[r.beacon] = t
		}
		t.rows++
		if first(r.verdict) {
			t.firsts++
		}
		if r.charge > 0 {
			t.charges++
		}
		t.mints += int(r.minted)
	}
	example := ""
	for b, answers := range s.load.acks {
		t := have[b]
		if t == nil {
			t = &tally{}
		}
		if t.rows+s.early[b.auction] < answers {
			s.report.Lost += int64(answers - t.rows)
			example = fmt.Sprintf("%s of auction %s: %d answers, %d rows", b.kind, b.auction, answers, t.rows)
		}
	}
	if s.report.Lost > 0 {
		s.breach("%d acknowledged beacons are lost, for example %s", s.report.Lost, example)
	}
	for b, t := range have {
		if b.auction != uuid.Nil && (t.firsts > 1 || t.charges > 1 || t.mints > 1) {
			s.report.Doubled++
			example = fmt.Sprintf("%s of auction %s: %+v", b.kind, b.auction, *t)
		}
	}
	if s.report.Doubled > 0 {
		s.breach("%d events took effect twice, for example %s", s.report.Doubled, example)
	}
}

// books checks the rows against the budgets and the pauses.
func (s *suite) books(rows []row) {
	campaigns := make(map[string]*budget)
	for _, b := range s.site.campaigns() {
		campaigns[b.id] = b
	}
	// each campaign's free ads: first and last in seconds into the run, and their number
	spans := make(map[string][3]float64)
	perDay, perCampaign, perAdvertiser := make(map[[2]string]int64), make(map[string]int64), make(map[string]int64)
	free, freeFaulty, price := make(map[string]int64), make(map[string]int64), make(map[string]int64)
	for i := range rows {
		r := &rows[i]
		perDay[[2]string{r.campaign, r.day}] += r.charge
		perCampaign[r.campaign] += r.charge
		if b := campaigns[r.campaign]; b != nil {
			perAdvertiser[b.advertiser] += r.charge
		}
		s.report.Charged += r.charge
		for _, p := range s.site.pauses {
			if p.campaign == r.campaign && r.charge > 0 && r.received.After(p.from) && r.received.Before(p.to) {
				s.report.AfterPause++
			}
		}
		if b := campaigns[r.campaign]; b == nil || r.kind != shows[b.model] || !r.free() {
			continue
		}
		price[r.campaign] = max(price[r.campaign], r.price)
		created := createdAt(r.auction).Add(-s.clock).Sub(s.began).Seconds()
		span := spans[r.campaign]
		if span[0] == 0 || created < span[0] {
			span[0] = created
		}
		spans[r.campaign] = [3]float64{span[0], max(span[1], created), span[2] + 1}
		if s.faulty.contain(createdAt(r.auction).Add(-s.clock)) {
			freeFaulty[r.campaign] += r.price - r.charge
		} else {
			free[r.campaign] += r.price - r.charge
		}
	}
	if s.report.AfterPause > 0 {
		s.breach("%d events were charged after the reply to a pause", s.report.AfterPause)
	}
	for key, spent := range perDay {
		if b := campaigns[key[0]]; b != nil && spent > b.daily {
			s.report.Overspend = max(s.report.Overspend, spent-b.daily)
			s.breach("campaign %s was charged %d on %s, its daily budget is %d", key[0], spent, key[1], b.daily)
		}
	}
	for id, spent := range perCampaign {
		if b := campaigns[id]; b != nil && spent > b.total {
			s.report.Overspend = max(s.report.Overspend, spent-b.total)
			s.breach("campaign %s was charged %d, its total budget is %d", id, spent, b.total)
		}
	}
	for id, spent := range perAdvertiser {
		if paid := s.site.deposits[id]; spent > paid {
			s.report.Overspend = max(s.report.Overspend, spent-paid)
			s.breach("advertiser %s was charged %d, its deposits are %d", id, spent, paid)
		}
	}
	s.spent = perAdvertiser
	s.exhausted()
	for id, span := range spans {
		s.say(
			"for free: %.0f ads of campaign %s at %d micro-USD, asked for between %.1f and %.1f s", span[2], id,
			price[id], span[0], span[1],
		)
	}
	s.freeDelivery(free, freeFaulty, price)
}

// exhausted counts the exhausted budgets. A run without any does not test budgets.
func (s *suite) exhausted() {
	s.report.Exhausted = map[string]int{dailyBudget: 0, totalBudget: 0, balance: 0}
	for _, b := range s.site.campaigns() {
		if b.limit != "" && b.refused.Load() {
			s.report.Exhausted[b.limit]++
		}
	}
	if len(s.cfg.Only) > 0 {
		return
	}
	for what, n := range s.report.Exhausted {
		if n == 0 {
			s.breach("no %s was exhausted", what)
		}
	}
}

// free reports whether the event was shown but not fully paid for because a budget or balance was
// exhausted.
func (r *row) free() bool {
	return r.verdict == "over_budget" || r.verdict == "over_balance" || r.verdict == "ok" && r.charge < r.price
}

// freeDelivery reports the campaign with the most free delivery, relative to the limit of one price
// per node.
func (s *suite) freeDelivery(free, faulty, price map[string]int64) {
	worst := ""
	for id, amount := range free {
		if worst == "" || amount*price[worst] > free[worst]*price[id] {
			worst = id
		}
	}
	if worst != "" {
		s.report.FreeDelivery, s.report.FreeBound = free[worst], 2*price[worst]
		if s.report.FreeDelivery > s.report.FreeBound {
			s.breach(
				"campaign %s delivered %d micro-USD for free while Redis was healthy; two nodes may %d", worst,
				s.report.FreeDelivery, s.report.FreeBound,
			)
		}
	}
	for _, amount := range faulty {
		s.report.FreeDeliveryFaulty = max(s.report.FreeDeliveryFaulty, amount)
	}
}

// ledger checks the rows against the balances.
func (s *suite) ledger(ctx context.Context) error {
	rows, err := s.stack.db.Query(ctx, `SELECT account, amount::bigint FROM balance WHERE asset = 'USD'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	balances := make(map[string]int64)
	for rows.Next() {
		var account string
		var amount int64
		if err := rows.Scan(&account, &amount); err != nil {
			return err
		}
		balances[account] = amount
	}
	s.balances(balances)
	return rows.Err()
}

// balances compares the charges in ClickHouse with the ledger's balances, micro-USD by account.
func (s *suite) balances(balances map[string]int64) {
	if revenue := balances["house:revenue"]; revenue != s.report.Charged {
		s.breach("ClickHouse has charges of %d, the ledger %d micro-USD", s.report.Charged, revenue)
	}
	for id, paid := range s.site.deposits {
		if left := balances["advertiser:"+id]; left != paid-s.spent[id] {
			s.breach(
				"advertiser %s has deposits of %d and charges of %d, but a balance of %d micro-USD", id, paid, s.spent[id],
				left,
			)
		}
	}
}

// createdAt returns the time of a UUIDv7, in adnet's clock.
func createdAt(id uuid.UUID) time.Time {
	at, _ := day.TimeOfUUID(id)
	return at
}
