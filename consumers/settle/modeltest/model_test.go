// Package modeltest holds settlement on PostgreSQL against a naive reference, event by event, over
// generated histories. It needs a real server (internal/testenv).
package modeltest

import (
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"adnet/consumers/settle/settletest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres"
	"adnet/internal/store/storetest"
	"adnet/internal/stream"
	"adnet/internal/testenv"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// modelSteps is how many steps the histories have together; -model.steps changes it.
var modelSteps = flag.Int("model.steps", 10_000, "steps of generated histories, on both funding modes together")

const (
	partitions = 3
	mintCap    = 4

	conversionCap = 1
)

func TestMain(m *testing.M) {
	flag.Parse()
	long := true
	flag.Visit(func(f *flag.Flag) { long = long && f.Name != "rapid.steps" })
	if long {
		_ = flag.Set("rapid.steps", "120") // long enough for budgets to run out
	}
	os.Exit(m.Run())
}

// After every step of every history, what PostgreSQL says (verdict, charge and Credit of each
// record, balances, spend of campaigns and days) is what the reference says.
func TestSettlementEqualsTheReference(t *testing.T) {
	for _, prepaid := range []bool{false, true} {
		t.Run(fmt.Sprintf("prepaid=%t", prepaid), func(t *testing.T) {
			url := testenv.Postgres(t)
			app := testenv.PostgresApp(t, url)
			require.NoError(t, postgres.Migrate(t.Context(), url, func(string) {}))
			require.NoError(t, postgres.Grant(t.Context(), url, app, func(string) {}))
			db, err := postgres.Open(t.Context(), postgres.Config{URL: app, MaxConns: 8})
			require.NoError(t, err)
			t.Cleanup(db.Close)
			w := &world{t: t, db: db, read: testenv.Reader(t, url), prepaid: prepaid}
			for w.steps < *modelSteps/2 { // each round is a hundred histories, or as many as -rapid.checks says
				rapid.Check(t, func(r *rapid.T) {
					if w.steps < *modelSteps/2 || r.Failed() {
						w.history(r)
					}
				})
				if t.Failed() {
					break
				}
			}
			t.Logf("%d steps in %d histories, %d records settled in %d transactions, %d of them after a lost "+
				"connection or a crash",
				w.steps, w.histories, w.records, w.transactions, w.faults)
			for _, verdict := range slices.Sorted(maps.Keys(w.verdicts)) {
				t.Logf("%8d %s", w.verdicts[verdict], verdict)
			}
			if *modelSteps >= 10_000 && !t.Failed() { // the histories must reach what they are about
				require.GreaterOrEqual(t, w.steps, *modelSteps/2)
				// after a way of many steps
				for _, rare := range []string{"conversion_cap", "over_budget", "waited, then ok"} {
					require.Positive(t, w.verdicts[rare], rare)
				}
				for _, verdict := range []string{
					"ok", "duplicate", "unverified", "paused", "house", "self_served", "unknown_campaign", "poison",
					"credit capped", "credit held", "invalid_traffic:click_without_impression",
					"early", "waited, then unverified",
				} {
					require.Greater(t, w.verdicts[verdict], 20, verdict)
				}
				require.Equal(t, prepaid, w.verdicts["over_balance"] > 20, "over_balance")
			}
		})
	}
}

// world is one database; every history in it has accounts, campaigns and a topic of its own.
type world struct {
	t       *testing.T
	db      *postgres.Stores
	read    func(sql string, args ...any) [][]any
	prepaid bool

	steps, histories, records, transactions, faults int
	verdicts                                        map[string]int
}

// logged is one record of the topic and what the test knows of it.
type logged struct {
	record event.Record
	what   happening
	lost   bool // the log does not have it any more
	moved  bool // not in the partition of its auction
}

type history struct {
	*rapid.T
	w       *world
	ref     *reference
	commits commits
	workers [2]*applier
	stream  string
	log     [partitions][]logged
	next    [partitions]int64 // where each partition is settled to
	house   map[string]int64  // balances of the house before this history

	advertisers []account.User
	publishers  []uuid.UUID
	campaigns   []uuid.UUID
	auctions    []happening // the facts that a token carries
	payments    int
	today       time.Duration // how far the clock is ahead
}

func (w *world) history(r *rapid.T) {
	h := &history{T: r, w: w, stream: hex.EncodeToString(newID()), ref: &reference{
		prepaid: w.prepaid, seen: map[string]bool{}, campaigns: map[uuid.UUID]*refCampaign{},
		payments: map[string]*refPayment{},
		cash:     map[uuid.UUID]int64{}, credits: map[uuid.UUID]int64{}, minted: map[string]int64{}, mintCap: mintCap,
		sold: map[string]int64{}, conversionCap: conversionCap,
		ownCap: map[uuid.UUID]int64{}, cases: map[uuid.UUID]*refCase{},
		pending: map[uuid.UUID]int64{}, days: map[refDay]*refCredits{}, back: map[uuid.UUID]int64{},
	}}
	w.histories++
	h.house = h.balances(houseAccounts)
	for range 2 {
		u := storetest.AddUser(w.t, storetest.Stores{Users: w.db.Accounts})
		h.advertisers, h.publishers = append(h.advertisers, u), append(h.publishers, u.DeveloperID)
	}
	h.publishers = append(h.publishers, newUUID(), newUUID(), newUUID(), newUUID(), uuid.Nil)
	for i := range h.workers {
		h.workers[i] = startApplier(w.t, w.db, &h.commits, w.prepaid)
	}
	defer func() {
		for _, a := range h.workers {
			a.stop()
		}
	}()
	h.addCampaign()
	h.addCampaign()
	h.Repeat(map[string]func(*rapid.T){
		"events": h.do(h.produce), "more events": h.do(h.produce), "many events": h.do(h.produce),
		"replay": h.do(h.replay),
		"settle": h.do(h.settleOne), "settle more": h.do(h.settleOne), "settle together": h.do(h.settleBoth),
		"state": h.do(h.changeState), "budget": h.do(h.changeBudget), "campaign": h.do(h.addCampaign),
		"money": h.do(h.notice), "quarantine": h.do(h.quarantine), "mint cap": h.do(h.ownCap),
		"release": h.do(h.release), "sales": h.do(h.sales), "next day": h.do(h.midnight),
	})
	h.settle(plan{worker: 0, parts: []int{0, 1, 2}, records: 1 << 20})
	h.verify()
}

// do makes a step of an action: what it did is compared at once.
func (h *history) do(action func()) func(*rapid.T) {
	return func(r *rapid.T) {
		h.T = r
		action()
		h.compare()
		h.w.steps++
	}
}

// number is drawn evenly, in at most 1,000 steps: the generators of integers prefer small ones, and
// budgets would hardly ever bind.
func (h *history) number(low, high int, label string) int {
	if span := high - low; span >= len(thousand) {
		return low + span*rapid.SampledFrom(thousand[:]).Draw(h.T, label)/(len(thousand)-1)
	}
	return low + rapid.SampledFrom(thousand[:high-low+1]).Draw(h.T, label)
}

var thousand = func() (all [1000]int) {
	for i := range all {
		all[i] = i
	}
	return all
}()

// once is true once in n.
func (h *history) once(n int, label string) bool { return h.number(1, n, label) == n }

func (h *history) now() time.Time { return time.Now().UTC().Add(h.today).Truncate(time.Microsecond) }

func (h *history) midnight() {
	if h.once(6, "midnight") {
		h.today += 24 * time.Hour
	}
}

func (h *history) addCampaign() {
	if len(h.campaigns) > 2 && !h.once(4, "one more") { // few, so that their budgets run out
		return
	}
	owner := rapid.SampledFrom(h.advertisers).Draw(h.T, "advertiser")
	c := storetest.NewCampaign(h.w.t, owner.ID)
	c.ConversionType = ""
	c.BillingModel = rapid.SampledFrom([]campaign.BillingModel{
		campaign.CPM, campaign.CPC, campaign.CPA,
	}).Draw(h.T, "model")
	if c.BillingModel == campaign.CPM && h.once(3, "paid on view") {
		c.BillingEvent = campaign.OnView
	}
	c.BidAmount = money.Micros(h.number(1, 9_000_000, "bid"))
	c.DailyBudget, c.TotalBudget = money.Micros(h.number(1, 6_000, "daily")), money.Micros(h.number(1, 40_000, "total"))
	cost := int64(0)
	if have := h.ref.credits[owner.DeveloperID]; have > 0 && h.once(2, "by credits") {
		cost = int64(h.number(1, int(have), "credits"))
	}
	value := money.Micros(0)
	if cost > 0 {
		value, c.TotalBudget = creditValue, money.Micros(cost)*creditValue-money.Micros(
			h.number(0, creditValue-1, "odd"),
		)
	}
	_, err := h.w.db.Campaigns.CreateCampaign(h.w.t.Context(), campaign.NewCampaign{
		Campaign: c, CreditValue: value, Admit: func(bool) campaign.Status { return campaign.Active },
	})
	require.NoError(h, err)
	h.ref.credits[owner.DeveloperID] -= cost
	h.ref.creditSpent += cost
	h.ref.campaigns[c.ID] = &refCampaign{
		owner: owner.ID, ownDeveloper: owner.DeveloperID, model: string(c.Billing()), bid: int64(c.BidAmount),
		daily: int64(c.DailyBudget), total: int64(c.TotalBudget), byCredits: cost > 0, spentOn: map[string]int64{},
	}
	h.campaigns = append(h.campaigns, c.ID)
}

func (h *history) update(edit func(*campaign.Campaign, *refCampaign)) {
	id := rapid.SampledFrom(h.campaigns).Draw(h.T, "campaign")
	ref := h.ref.campaigns[id]
	c, err := h.w.db.Campaigns.UpdateCampaign(
		h.w.t.Context(), id, func(c *campaign.Campaign) error { edit(c, ref); return nil },
	)
	require.NoError(h, err)
	ref.bid, ref.daily, ref.total = int64(c.BidAmount), int64(c.DailyBudget), int64(c.TotalBudget)
	switch active := len(ref.pausedFrom) == len(ref.pausedTo); {
	case active && c.Status != campaign.Active:
		ref.pausedFrom = append(ref.pausedFrom, c.UpdatedAt)
	case !active && c.Status == campaign.Active:
		ref.pausedTo = append(ref.pausedTo, c.UpdatedAt)
	}
}

func (h *history) changeState() {
	to := rapid.SampledFrom([]campaign.Status{
		campaign.Paused, campaign.InReview, campaign.Active, campaign.Active, campaign.Active,
	}).Draw(h.T, "state")
	h.update(func(c *campaign.Campaign, _ *refCampaign) { c.Status = to })
}

func (h *history) changeBudget() {
	daily, total, bid := h.number(1, 8_000, "daily"), h.number(1, 60_000, "total"), h.number(1, 9_000_000, "bid")
	h.update(func(c *campaign.Campaign, ref *refCampaign) {
		// A budget that is set below what was spent stays there: nothing is charged, nothing is
		// taken back.
		c.DailyBudget, c.TotalBudget, c.BidAmount = money.Micros(daily), money.Micros(total), money.Micros(bid)
	})
}

// notice is a provider's message: a payment or a refund, of a new or a known payment, in any order.
func (h *history) notice() {
	if h.payments == 0 || h.once(2, "new payment") {
		h.payments++
	}
	id := fmt.Sprintf("%s_%d", h.stream, h.number(1, h.payments, "payment"))
	amount := h.number(1, 60_000, "amount")
	n := ledger.Notice{
		Provider: ledger.Stripe, EventID: uuid.NewString(), PaymentID: id, Amount: money.Micros(amount), At: h.now(),
	}
	switch h.number(0, 3, "notice") {
	case 0:
		n.Kind, n.RefundID = ledger.NoticeRefunded, fmt.Sprintf("%s_r%d", id, h.number(1, 3, "refund"))
		h.ref.refund(id, n.RefundID, int64(amount))
	case 1:
		n.Kind = ledger.NoticeRefundedTo
		h.ref.refundTo(id, int64(amount))
	default:
		payer := rapid.SampledFrom(h.advertisers).Draw(h.T, "payer").ID
		n.Kind, n.Names = ledger.NoticePaid, []uuid.UUID{payer}
		h.ref.pay(id, payer, int64(amount))
	}
	for range h.number(1, 2, "deliveries") {
		_, err := h.w.db.Payments.ApplyNotice(h.w.t.Context(), n)
		require.NoError(h, err)
	}
}

// quarantine opens a publisher's case or ends the open one.
func (h *history) quarantine() {
	developer := rapid.SampledFrom(h.publishers[:len(h.publishers)-1]).Draw(h.T, "publisher")
	open := h.ref.cases[developer]
	if open == nil {
		c := ledger.Quarantine{
			ID: newUUID(), DeveloperID: developer, Evidence: traffic.Evidence{Rule: traffic.QuarantineManual},
			OpenedAt: h.now(),
		}
		opened, err := h.w.db.Publishers.OpenQuarantine(h.w.t.Context(), c)
		require.NoError(h, err)
		require.True(h, opened)
		h.ref.cases[developer] = &refCase{
			id: c.ID, minted: map[string]int64{}, charged: map[uuid.UUID]map[string]int64{},
		}
		return
	}
	v := ledger.QuarantineVerdict{
		Case: open.id, Decision: ledger.QuarantineRelease, By: h.advertisers[0].ID, At: h.now(),
	}
	if h.once(2, "claw back") {
		v.Decision = ledger.QuarantineClawback
	}
	for range h.number(1, 2, "requests") {
		_, err := h.w.db.Publishers.EndQuarantine(h.w.t.Context(), v)
		require.NoError(h, err)
	}
	h.ref.endCase(developer, v.Decision == ledger.QuarantineClawback)
}

// release releases Credits, then again: a second run finds nothing to do but debts that the first
// made.
func (h *history) release() {
	rules := ledger.CreditRules{Value: creditValue, Now: h.now()}
	for range h.number(1, 2, "runs") {
		_, err := h.w.db.Ledger.ReleaseCredits(h.w.t.Context(), rules)
		require.NoError(h, err)
		h.ref.release()
	}
}

// verify expects a clean audit. A release that a refund needs may be due, and in a chain of debts
// several.
func (h *history) verify() {
	for owed := -1; ; {
		h.release()
		h.compare()
		now := 0
		for _, n := range h.ref.credits {
			now += int(min(0, n))
		}
		if now == owed {
			break
		}
		owed = now
	}
	checks, err := h.w.db.Ledger.Verify(h.w.t.Context(), ledger.VerifyOptions{Prepaid: h.w.prepaid})
	require.NoError(h, err)
	for _, c := range checks {
		require.Truef(h, c.OK(), "%s: want %d, got %d: %s", c.Name, c.Want, c.Got, c.Detail)
	}
}

// ownCap gives a publisher a mint cap of its own, or takes it away.
func (h *history) ownCap() {
	developer := rapid.SampledFrom(h.publishers[:len(h.publishers)-1]).Draw(h.T, "publisher")
	c := ledger.MintCap{DeveloperID: developer, By: h.advertisers[0].ID, At: h.now()}
	delete(h.ref.ownCap, developer)
	if h.once(2, "own") {
		limit := money.Credits(h.number(0, 10, "cap"))
		c.Cap, h.ref.ownCap[developer] = &limit, int64(limit)
	}
	require.NoError(h, h.w.db.Publishers.SetMintCap(h.w.t.Context(), c))
}

// settleBoth has two appliers at work at once, perhaps on the same partitions. What settlement
// promises about clicks holds while an auction's events are in one partition: as long as some are
// not, the two take turns.
func (h *history) settleBoth() {
	first, second := h.draw(0), h.draw(1)
	moved := slices.ContainsFunc(h.ref.waiting, func(e entry) bool { return e.moved })
	for i := range h.log {
		moved = moved || slices.ContainsFunc(h.log[i][h.next[i]:], func(l logged) bool { return l.moved })
	}
	if moved {
		h.settle(first)
		h.settle(second)
		return
	}
	h.settle(first, second)
}

func (h *history) settleOne() { h.settle(h.draw(h.number(0, 1, "applier"))) }

// plan is what one applier polls: records of each partition from a few before the stored offset on.
type plan struct {
	worker, records int
	back            int // how many applied records come again
	parts           []int
	fault           fault
	second          bool // the same plan again after a fence
}

func (h *history) draw(worker int) plan {
	p := plan{worker: worker, records: h.number(1, 40, "records"), back: max(0, h.number(-8, 8, "redelivered"))}
	for i := range partitions {
		if h.once(3, "leave out") {
			continue
		}
		p.parts = append(p.parts, i)
	}
	if h.once(4, "fault") {
		p.fault = fault(h.number(int(lostBefore), int(crashAfter), "which"))
	}
	return p
}

func (h *history) settle(plans ...plan) {
	var all sync.WaitGroup
	how := make([]string, len(plans))
	fresh := make([]bool, len(plans)) // something new was polled
	for i, p := range plans {
		var records []event.Record
		for _, part := range p.parts {
			first := max(0, h.next[part]-int64(p.back))
			last := min(h.next[part]+int64(p.records), int64(len(h.log[part])))
			for _, l := range h.log[part][first:last] {
				if !l.lost {
					records = append(records, l.record)
					fresh[i] = fresh[i] || l.record.Offset >= h.next[part]
				}
			}
		}
		if len(records) == 0 {
			continue
		}
		if p.fault != noFault && fresh[i] {
			h.w.faults++
		}
		all.Go(func() { how[i] = h.workers[p.worker].settle(records, p.fault) })
	}
	all.Wait()
	moved := h.follow()
	for i, p := range plans {
		switch how[i] {
		case "dead":
			h.workers[p.worker].stop()
			h.workers[p.worker] = startApplier(h.w.t, h.w.db, &h.commits, h.w.prepaid)
			require.True(h, p.fault == crashBefore || p.fault == crashAfter, "an applier died of nothing")
		case "done":
			require.True(
				h, len(plans) > 1 || moved == fresh[i], "done: moved %t, polled something new %t, %+v", moved, fresh[i],
				p,
			)
		}
		h.workers[p.worker].store.next = noFault // a batch without anything new met no fault
	}
	if len(plans) == 1 && how[0] == "reset" && plans[0].fault == noFault { // its memory was old: now it knows better
		require.False(h, moved)
		again := plans[0]
		again.second = true
		require.False(h, plans[0].second, "an applier that has read the stored offset is fenced by it")
		h.settle(again)
	}
}

// follow lets the reference see what was committed, in that order, and compares the verdicts.
func (h *history) follow() (moved bool) {
	var want [partitions][]result
	waited := map[entry]result{}
	for _, c := range h.commits.take() {
		h.w.transactions++
		var batch []entry
		for _, r := range c.ranges {
			require.Equal(h, h.next[r.Number], r.First, "a range is applied once, without gap or overlap")
			for _, l := range h.log[r.Number][r.First:r.Next] {
				e := entry{l.what, int(r.Number), l.record.Offset, l.record.Time, l.moved}
				if l.lost {
					e.written = time.Time{}
				}
				batch = append(batch, e)
			}
			h.next[r.Number], moved = r.Next, true
		}
		results, late := h.ref.batch(batch)
		for i, e := range batch {
			want[e.part] = append(want[e.part], results[i])
		}
		maps.Copy(waited, late)
	}
	h.compareWaited(waited)
	for i := range want {
		p := stream.Partition{Stream: h.stream, Number: int32(i)}
		if len(want[i]) == 0 {
			continue
		}
		plan, err := h.w.db.Archive.NextPlan(h.w.t.Context(), []stream.Range{{Partition: p, Next: h.next[i]}}, 1<<20)
		require.NoError(h, err)
		require.Len(h, plan, 1)
		chunk := plan[0]
		require.Equal(h, h.next[i], chunk.Next)
		require.Len(h, chunk.Outcomes, len(want[i]))
		for j, got := range chunk.Outcomes {
			offset := chunk.First + int64(j)
			is := result{string(got.Verdict), int64(got.Charge), int64(got.Minted), got.Credit.String()}
			if is != want[i][j] { // rapid forgets what failed when it cannot make it fail again
				h.w.t.Logf(
					"%d:%d is %+v, must be %+v: %+v of %+v", i, offset, is, want[i][j], h.log[i][offset].what,
					h.ref.campaigns[h.log[i][offset].what.campaign],
				)
			}
			require.Equal(h, want[i][j], is)
			h.count(string(got.Verdict))
			if note := got.Credit.String(); note != "" {
				h.w.verdicts["credit "+note]++
			}
		}
		require.NoError(h, h.w.db.Archive.MarkArchived(h.w.t.Context(), plan.Plan()))
	}
	return moved
}

// compareWaited compares the last verdicts of events that waited.
func (h *history) compareWaited(waited map[entry]result) {
	for e, want := range waited {
		places, err := h.w.db.Archive.EarlyVerdicts(
			h.w.t.Context(), stream.Partition{Stream: h.stream, Number: int32(e.part)},
		)
		require.NoError(h, err)
		place, judged := places[e.offset]
		require.True(h, judged, "%+v must be %+v", e, want)
		var got []result
		require.NoError(h, h.w.db.Archive.AppliedBelow(
			h.w.t.Context(), place.Partition, place.Next, func(c ledger.AppliedRange) error {
				for i, o := range c.Outcomes {
					if c.First+int64(i) == place.First {
						got = append(
							got, result{string(o.Verdict), int64(o.Charge), int64(o.Minted), o.Credit.String()},
						)
					}
				}
				return nil
			}))
		require.Equal(h, []result{want}, got, "%+v", e)
		h.count(want.verdict)
		h.w.records--
		h.w.verdicts["waited, then "+want.verdict]++
	}
}

func (h *history) count(verdict string) {
	if h.w.verdicts == nil {
		h.w.verdicts = map[string]int{}
	}
	h.w.verdicts[verdict]++
	h.w.records++
}

var houseAccounts = []string{
	"house:revenue", "house:credit_funding", "house:deposits", "house:mint", "house:credit_spent",
}

func (h *history) balances(accounts []string) map[string]int64 {
	found := map[string]int64{}
	for _, row := range h.w.read(
		`SELECT account, sum(amount)::bigint FROM balance WHERE account = ANY($1) GROUP BY account`, accounts,
	) {
		found[row[0].(string)] = row[1].(int64)
	}
	return found
}

// compare holds every sum of the store against the reference.
func (h *history) compare() {
	want := map[string]int64{
		"house:revenue": h.ref.revenue, "house:credit_funding": h.ref.creditFunding, "house:deposits": h.ref.deposits,
		"house:mint": h.ref.mint, "house:credit_spent": h.ref.creditSpent,
	}
	accounts := slices.Clone(houseAccounts)
	for account, before := range h.house {
		want[account] += before
	}
	for _, u := range h.advertisers {
		accounts = append(accounts, "advertiser:"+u.ID.String())
		want["advertiser:"+u.ID.String()] = h.ref.cash[u.ID]
	}
	for _, id := range h.publishers {
		accounts = append(accounts, "developer:"+id.String(), "developer-pending:"+id.String())
		want["developer:"+id.String()], want["developer-pending:"+id.String()] = h.ref.credits[id], h.ref.pending[id]
		if held := h.ref.cases[id]; held != nil {
			accounts = append(accounts, "held:"+held.id.String())
			want["held:"+held.id.String()] = held.held
		}
	}
	got := h.balances(accounts)
	for account, amount := range want {
		require.Equal(h, amount, got[account], account)
	}
	h.compareSpend()
}

func (h *history) compareSpend() {
	want := map[string]int64{}
	ids := make([]string, len(h.campaigns))
	for i, id := range h.campaigns {
		c := h.ref.campaigns[id]
		ids[i] = id.String()
		if c.spent > 0 {
			want[id.String()] = c.spent
		}
		for date, amount := range c.spentOn {
			if amount > 0 {
				want[id.String()+" "+date] = amount
			}
		}
	}
	got := map[string]int64{}
	for _, row := range h.w.read(`SELECT campaign_id::text, spent - refunded FROM campaign_total WHERE campaign_id = ANY($1::uuid[]) AND spent <> refunded
		UNION ALL SELECT campaign_id::text || ' ' || (date '1970-01-01' + day)::text, amount - refunded FROM campaign_spend
		WHERE campaign_id = ANY($1::uuid[]) AND amount <> refunded`, ids) {
		got[row[0].(string)] = row[1].(int64)
	}
	require.Equal(h, want, got)
}

func (h *history) produce() {
	for range h.number(1, 16, "events") {
		h.append(h.event())
	}
}

// replay writes a record again: a producer's retry, a restored topic, a pixel that fires twice.
// Mostly where its auction lives, sometimes elsewhere, as after a change of the number of
// partitions.
func (h *history) replay() {
	for range h.number(1, 8, "again") {
		part := h.number(0, partitions-1, "from")
		if len(h.log[part]) == 0 {
			continue
		}
		old := h.log[part][h.number(0, len(h.log[part])-1, "which")]
		if old.lost {
			continue
		}
		to := part
		if h.once(4, "elsewhere") {
			to = h.number(0, partitions-1, "to")
		}
		h.write(to, old.record.Value, old.what)
		h.log[to][len(h.log[to])-1].moved = to != int(old.what.auction[15])%partitions
	}
}

// auction is the facts of a new token, or of one that was handed out before.
func (h *history) auction() happening {
	if n := len(h.auctions); n > 0 && !h.once(2, "new auction") {
		return h.auctions[h.number(max(0, n-8), n-1, "auction")]
	}
	a := happening{
		auction: auctionAt(h.now().Add(-time.Duration(h.number(0, 30, "age")) * time.Hour)), campaign: newUUID(),
		developer: rapid.SampledFrom(h.publishers).Draw(h.T, "publisher"),
		price:     int64(9_000 - h.number(0, 9_000, "price off")),
		model:     rapid.SampledFrom([]string{"cpm", "cpc", "cpa", "vcpm"}).Draw(h.T, "model"),
		sandbox:   h.once(20, "sandbox"), house: h.once(20, "house"),
	}
	if !h.once(20, "unknown campaign") {
		a.campaign = rapid.SampledFrom(h.campaigns).Draw(h.T, "campaign")
	}
	a.auction[15] = byte(h.number(0, partitions-1, "partition")) // drawn, so that a failure can be found again
	h.auctions = append(h.auctions, a)
	return a
}

// proofs are drawn from: mostly what can cost something.
var proofs = []string{
	"signed", "signed", "signed", "signed", "signed", "signed", "signed", "signed", "signed", "unsigned_billable",
	"unsigned_billable",
	"expired", "unsigned", "bad_signature",
}

func (h *history) event() happening {
	e := h.auction()
	kinds := []string{
		"impression", "click", "conversion", "close", "skip", "video_complete", "viewable", "impression", "impression",
	}
	kinds = append(
		kinds,
		map[string][]string{"cpm": kinds[:1], "cpc": kinds[1:2], "cpa": kinds[1:3], "vcpm": kinds[6:7]}[e.model]...,
	)
	e.kind = rapid.SampledFrom(kinds).Draw(h.T, "kind")
	e.proof = rapid.SampledFrom(proofs).Draw(h.T, "proof")
	if e.proof != "signed" { // only a token says so
		e.house = false
	}
	if e.proof == "unsigned_billable" { // named by a hash, never by a token's auction
		part := e.auction[15]
		e.auction = uuid.NewSHA1(e.auction, []byte("unsigned"))
		e.auction[15] = part
	}
	e.at = h.now()
	if h.once(8, "odd time") {
		e.at = e.at.Add(time.Duration(h.number(-20, 20, "hours")) * time.Hour)
	}
	e.byOwner = e.kind == "conversion" && !h.once(4, "without credentials")
	if e.kind == "conversion" && h.once(2, "goal") {
		e.goal = rapid.SampledFrom([]string{"sale", "Sale ", "lead"}).Draw(h.T, "type")
		e.order = rapid.SampledFrom([]string{"", "o1"}).Draw(h.T, "order")
	}
	if h.once(12, "invalid") {
		e.invalid = "bot"
	}
	e.broken = h.once(40, "broken")
	return e
}

// sales writes whole ways to a conversion, more of a campaign and publisher in an hour than the cap
// lets be charged. Single events seldom make one.
func (h *history) sales() {
	e := h.auction()
	e.model, e.proof, e.at, e.sandbox, e.house = "cpa", "signed", h.now(), false, false
	for range h.number(2, 4, "sales") {
		part := e.auction[15]
		e.auction = auctionAt(h.now())
		e.auction[15] = part
		for _, e.kind = range []string{"impression", "click", "conversion"} {
			e.byOwner = e.kind == "conversion"
			h.append(e)
		}
	}
}

func (h *history) append(e happening) {
	value := []byte{0xff, byte(h.number(0, 255, "garbage"))}
	if !e.broken {
		var err error
		value, err = proto.Marshal(message(e))
		require.NoError(h, err)
	}
	h.write(int(e.auction[15])%partitions, value, e)
}

func (h *history) write(part int, value []byte, e happening) {
	l := logged{what: e, lost: len(h.log[part]) > 0 && h.once(60, "lost")} // a log that lost its head just begins later
	l.what.broken = e.broken || l.lost
	l.record = event.Record{
		Topic: "adnet.events", TopicID: h.stream, Partition: int32(part), Offset: int64(len(h.log[part])), Value: value,
		Time: h.now(),
	}
	h.log[part] = append(h.log[part], l)
}

// ring signs the events.
var ring = settletest.NewRing()

func message(e happening) *event.Event {
	m := &event.Event{
		EventId: newID(), Type: event.Type(event.Type_value[strings.ToUpper(e.kind)]),
		Proof:        event.Proof(event.Proof_value[strings.ToUpper(e.proof)]),
		ReceivedAtUs: e.at.UnixMicro(), AuctionId: e.auction[:], CampaignId: e.campaign[:], DeveloperId: e.developer[:],
		PriceMicros: e.price, BillingModel: event.BillingModel(event.BillingModel_value[strings.ToUpper(e.model)]),
		Sandbox: e.sandbox, House: e.house,
		InvalidTraffic: e.invalid,
		Conversion:     &event.Conversion{Type: e.goal, ExternalHash: []byte(e.order), Verified: e.byOwner},
	}
	settletest.Sign(ring, m)
	return m
}

func newUUID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func newID() []byte {
	id := newUUID()
	return id[:]
}

// auctionAt is an auction id made at a time.
func auctionAt(at time.Time) uuid.UUID {
	id, ms := newUUID(), at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	return id
}
