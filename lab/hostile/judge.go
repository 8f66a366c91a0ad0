package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
	"adnet/lab/process"
)

// creditValue is the default value of one Credit: 0.005 USD.
const creditValue = 5_000

// repeatBound limits the charged clicks of one address in a run: those of four people, three each
// in ten minutes (ADNET_CLICK_RATES).
const repeatBound = 12

// postedShare limits the charged share of clicks reported by a publisher's server. The rest exceeds
// the network's click rate.
const postedShare = 0.5

// judge waits until everything is settled and archived, and checks the attackers' gains against the
// rules.
func (s *suite) judge(ctx context.Context) error {
	s.say("settling")
	_ = schedule.Pause(ctx, 3*time.Second) // Credits are released by a task
	out, err := s.world.command(ctx, "verify", "--wait=60s")
	for line := range strings.Lines(string(out)) {
		s.say("verify: %s", strings.TrimSpace(line))
	}
	if err != nil {
		s.breach("verify is not clean")
	}
	for _, check := range []func(context.Context) error{
		s.judgeCharges, s.judgeCredits, s.judgeCases, s.judgeRows, s.judgeTheft, s.judgeNeeds, s.judgeSeries,
	} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	s.judgeProcess()
	return nil
}

// sum queries one number of the archive.
func (s *suite) sum(ctx context.Context, query string, args ...any) (n int64, err error) {
	name := strings.ReplaceAll(s.world.Prefix, "-", "_")
	err = s.world.Events.QueryRow(ctx, strings.ReplaceAll(query, "EVENTS", name+".events"), args...).Scan(&n)
	return n, err
}

// judgeCharges checks the charges: a campaign pays only for acts of readers or of its advertiser.
func (s *suite) judgeCharges(ctx context.Context) (err error) {
	if s.report.Charges, err = s.sum(ctx, `SELECT toInt64(sum(charge)) FROM EVENTS`); err != nil {
		return err
	}
	converted, err := s.sum(ctx, `SELECT toInt64(sum(charge)) FROM EVENTS WHERE campaign_id = ?`, s.world.cpa)
	if err != nil {
		return err
	}
	// Only link previews clicked this campaign's ads on honest publishers' pages.
	unfurled, err := s.sum(ctx,
		`SELECT toInt64(sum(charge)) FROM EVENTS WHERE campaign_id = ? AND developer_id IN (?, ?, ?)`, s.world.cpc,
		s.world.publishers[0].developer, s.world.publishers[1].developer, s.world.publishers[2].developer)
	if err != nil {
		return err
	}
	repeated, err := s.sum(ctx, `SELECT toInt64(countIf(charge > 0)) FROM EVENTS WHERE campaign_id = ?`, s.world.repeat)
	if err != nil {
		return err
	}
	posted, err := s.sum(
		ctx, `SELECT toInt64(count()) FROM EVENTS WHERE campaign_id = ? AND type = 'click' AND developer_id = ?`,
		s.world.cpc, s.liar.developer,
	)
	if err != nil {
		return err
	}
	charged, err := s.sum(
		ctx,
		`SELECT toInt64(countIf(charge > 0)) FROM EVENTS WHERE campaign_id = ? AND type = 'click' AND developer_id = ?`,
		s.world.cpc, s.liar.developer,
	)
	if err != nil {
		return err
	}
	s.report.VictimCharged = converted + unfurled
	if converted > 0 {
		s.breach("%d micro-USD were charged for conversions that the advertiser never reported", converted)
	}
	if unfurled > 0 {
		s.breach("%d micro-USD were charged for clicks of link previews", unfurled)
	}
	if repeated > repeatBound {
		s.breach("%d clicks of one address were charged, at most %d", repeated, repeatBound)
	}
	if posted > 50 && float64(charged) > postedShare*float64(posted) {
		s.breach("%d of %d clicks that a publisher's server reported were charged", charged, posted)
	}
	s.say(
		"charged %d micro-USD; of %d posted clicks %d; %d of an address that repeats", s.report.Charges, posted, charged,
		repeated,
	)
	if s.report.UnapprovedShown > 0 {
		s.breach("%d times an ad led to an unapproved page", s.report.UnapprovedShown)
	}
	return nil
}

// judgeCredits compares the value of Credits with the charges of advertisers, for all publishers
// and for the colluders alone.
func (s *suite) judgeCredits(ctx context.Context) error {
	all := append(slices.Clone(s.world.publishers), s.liar, s.colluder)
	for i, p := range all {
		reply, err := s.world.call(
			ctx, request{Method: "GET", Path: "/api/billing?action=balance", Bearer: p.bearer, Want: 200},
		)
		if err != nil {
			return err
		}
		spent, err := s.spentCredits(ctx, p)
		if err != nil {
			return err
		}
		// Credits of a quarantine case are listed among the held ones and cannot be spent.
		have := int64(reply.Number("credits")+reply.Number("credits_held")-reply.Number("credits_quarantined")) + spent
		s.report.SpendableCredits += have
		if i < len(s.world.publishers) {
			continue
		}
		paid, err := s.sum(ctx, `SELECT toInt64(sum(charge)) FROM EVENTS WHERE developer_id = ?`, p.developer)
		if err != nil {
			return err
		}
		if have*creditValue > paid {
			s.breach("a thief has %d Credits, worth %d micro-USD, for charges of %d", have, have*creditValue, paid)
		}
		s.say(
			"thief: %d Credits, %d of them spent, %v pending, charges %d micro-USD", have, spent,
			reply["credits_pending"], paid,
		)
	}
	s.report.CreditsWorth = s.report.SpendableCredits * creditValue
	if s.report.CreditsWorth > s.report.Charges {
		s.breach("Credits are worth %d micro-USD, but only %d were charged", s.report.CreditsWorth, s.report.Charges)
	}
	return nil
}

// spentCredits returns the number of Credits spent on campaigns of the account.
func (s *suite) spentCredits(ctx context.Context, p person) (spent int64, err error) {
	for next := ""; ; {
		page, err := s.world.call(
			ctx,
			request{
				Method: "GET", Path: "/api/billing?action=history&asset=CREDIT&limit=500" + next, Bearer: p.bearer,
				Want: 200,
			},
		)
		if err != nil {
			return 0, err
		}
		entries, _ := page["entries"].([]any)
		for _, item := range entries {
			line, _ := item.(map[string]any)
			if object(line).Text("kind") == "credit_fund" {
				spent -= int64(object(line).Number("amount"))
			}
		}
		if page.Text("next") == "" {
			return spent, nil
		}
		next = "&before=" + page.Text("next")
	}
}

// judgeCases checks that no honest publisher is in quarantine.
func (s *suite) judgeCases(ctx context.Context) error {
	reply, err := s.world.call(
		ctx, request{Method: "GET", Path: "/api/billing?action=quarantine", Bearer: s.world.admin.bearer, Want: 200},
	)
	if err != nil {
		return err
	}
	cases, _ := reply["cases"].([]any)
	for _, item := range cases {
		fields, _ := item.(map[string]any)
		for _, p := range s.world.publishers {
			if object(fields).Text("developer_id") == p.developer {
				s.report.HonestHeld++
				s.breach("an honest publisher is in quarantine: %v", fields["rule"])
			}
		}
	}
	return nil
}

// judgeRows counts the rows and keys caused by strangers.
func (s *suite) judgeRows(ctx context.Context) (err error) {
	if s.report.UnprovenRows, err = s.sum(
		ctx, `SELECT toInt64(count()) FROM EVENTS WHERE verdict IN ('unsigned', 'bad_signature')`,
	); err != nil {
		return err
	}
	var counts int64
	if err := s.world.rows.QueryRow(ctx, `SELECT count(*) FROM unproven_minute`).Scan(&counts); err != nil {
		return err
	}
	s.report.UnprovenRows += counts
	if s.report.UnprovenRows > rowBound {
		s.breach("%d rows of unverified events, at most %d", s.report.UnprovenRows, rowBound)
	}
	forms, err := s.sum(ctx, `SELECT toInt64(uniqExact(format, integration_method)) FROM EVENTS`)
	if err != nil {
		return err
	}
	if forms > 50 {
		s.breach("%d groups in statistics were created by strangers", forms)
	}
	if err := s.world.rows.QueryRow(
		ctx, `SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM campaign GROUP BY advertiser_id) of_account`,
	).Scan(&s.report.Campaigns); err != nil {
		return err
	}
	if s.report.Campaigns > campaignBound {
		s.breach("a new account has %d campaigns, at most %d", s.report.Campaigns, campaignBound)
	}
	kinds := map[string]int{}
	keys, err := s.world.Keys(ctx, func(key string) error {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, s.world.Prefix+":"), ":")
		kinds[kind]++
		return nil
	})
	if err != nil {
		return err
	}
	// A sold ad has a session and marks of its events, which a stranger cannot create.
	sold, err := s.sum(
		ctx, `SELECT toInt64(uniqExact(auction_id)) FROM EVENTS WHERE verdict NOT IN ('unsigned', 'bad_signature')`,
	)
	if err != nil {
		return err
	}
	// A counted click has counts of its reader and address.
	clicked, err := s.sum(
		ctx, `SELECT toInt64(uniqExact(auction_id)) FROM EVENTS WHERE type = 'click' AND NOT startsWith(verdict, 'invalid_traffic:')`,
	)
	if err != nil {
		return err
	}
	if s.report.RedisKeys = keys - 2*sold - 2*clicked; s.report.RedisKeys > keyBound {
		s.breach("%d Redis keys besides the keys of ads, at most %d: %v", s.report.RedisKeys, keyBound, kinds)
	}
	s.say("%d Redis keys: %v; ads with events were %d, honest visits %d", keys, kinds, sold, s.honest.visits)
	return nil
}

// judgeSeries compares the series of each process with their bound: what attackers send must not
// become labels.
func (s *suite) judgeSeries(ctx context.Context) error {
	for name, admin := range map[string]string{
		"ingress": s.world.ingress.admin, "consumers": s.world.consumers.admin,
	} {
		n, err := process.Series(ctx, admin)
		if err != nil {
			return err
		}
		s.report.MostSeries = max(s.report.MostSeries, n)
		if n > obs.MaxSeries {
			s.breach("%s has %d series, at most %d", name, n, obs.MaxSeries)
		}
	}
	return nil
}

// judgeProcess compares memory, descriptors and refusals with their bounds.
func (s *suite) judgeProcess() {
	if grown := s.report.PeakRSS - s.report.IdleRSS; grown > rssBound {
		s.breach("memory grew by %d MB, at most %d", grown>>20, rssBound>>20)
	}
	if s.report.PeakFiles > fileLimit-spareFiles {
		s.breach("%d of %d descriptors were open", s.report.PeakFiles, fileLimit)
	}
	if share := float64(s.report.HonestRefused) / float64(max(1, s.honest.visits)); share > 0.01 {
		s.breach("%.1f %% of honest visits were refused", 100*share)
	}
	s.say(
		"memory +%d MB, %d descriptors, %d unverified rows", (s.report.PeakRSS-s.report.IdleRSS)>>20, s.report.PeakFiles,
		s.report.UnprovenRows,
	)
}

// judgeTimes compares latencies with their bounds, unless other processes or the attackers
// themselves keep the machine busy.
func (s *suite) judgeTimes(context.Context) error {
	if s.report.Waited > waitBound {
		s.say(
			"ingress had no processor for %.0f %% of the time that it wanted one (alone %.0f %%): times are not judged",
			100*s.report.Waited, 100*s.report.WaitedAlone,
		)
		return nil
	}
	if s.report.MachineBusy > busyBound {
		s.say("others took %.0f %% of the processors: times are not judged", 100*s.report.MachineBusy)
		return nil
	}
	if s.report.AttackedP99 > slowerBound*max(s.report.AloneP99, leastP99) {
		s.breach("honest p99 is %.1f ms, alone %.1f ms", s.report.AttackedP99, s.report.AloneP99)
	}
	if s.report.PausesFlooded > max(pauseBound, slowerBound*s.report.PausesAlone) {
		s.breach(
			"p99 of a pause is %.1f ms beside another tenant's flood of changes, alone %.1f ms", s.report.PausesFlooded,
			s.report.PausesAlone,
		)
	}
	return nil
}

// waitBound limits the share of its runnable time that ingress may wait for a processor. Above it,
// times reflect the machine, which attackers and all servers share: waiting takes as long as the
// work.
const waitBound = 0.5

// leastP99 is a latency in ms that is too short to measure on a machine with all servers and
// attackers.
const leastP99 = 25
