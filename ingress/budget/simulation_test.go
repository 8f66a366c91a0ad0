package budget_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/budget"
	"adnet/ingress/budget/budgettest"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/store/memory"
)

// The simulation of a network: N nodes with the production leases over the Go reference of Redis,
// and the production ledger.Decide as settlement, in simulated time. Seeds fix traffic and faults.
//
// What it shows, at 1, 10 and 100 nodes:
//   - nothing is ever charged above a day's budget, a total budget or a balance;
//   - free delivery is 0 through crashed nodes, lost answers, slow answers, outages, rebuilds of the store, also when
//     nodes died before or are cut off (their journals speak for them), late beacons, and settlement that lags for up to a
//     minute (a reservation outlives its ad by that);
//   - what else can be free is named and bounded: ads that settlement did not reach before their reservation ended.

const (
	adLife     = time.Minute // an impression's life, shorter than in production so that reservations end in the run
	simulated  = 5 * time.Minute
	settleTick = 500 * time.Millisecond
)

// faults are what happens to a run.
type faults struct {
	name      string
	crashes   int           // nodes that die and are replaced, of each 10 (at least one)
	lost      float64       // of answers
	slow      time.Duration // longest answer
	outage    time.Duration // of the store, once
	rebuilds  int           // times that the store loses everything
	cutOff    bool          // one node in 10 cannot reach the store while it is rebuilt
	stall     time.Duration // of settlement, once
	mayBeFree bool
}

func TestSimulatedNetworkKeepsTheBudgets(t *testing.T) {
	table := fmt.Sprintf(
		"%-24s %5s %9s %9s %12s %12s %12s %12s %12s", "faults", "nodes", "ads", "beacons", "budgets", "charged",
		"free µUSD", "forgotten", "N × price",
	)
	for _, f := range []faults{
		{
			name: "crashes, losses, lag", crashes: 3, lost: 0.05, slow: 8 * time.Millisecond, outage: 4 * time.Second,
			stall: 50 * time.Second,
		},
		{name: "rebuilds", rebuilds: 2, lost: 0.02},
		{name: "rebuild, nodes unheard", rebuilds: 1, crashes: 3, cutOff: true},
		{name: "lag beyond reservations", stall: 4 * time.Minute, mayBeFree: true},
	} {
		for _, n := range []int{1, 10, 100} {
			if n == 1 && f.cutOff {
				continue // no other node could sell its share
			}
			t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(f.name, " ", "_"), n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { table += "\n" + newNetwork(t, n, f).run(t) })
			})
		}
	}
	t.Log("\n" + table)
}

// network is one run. Time stands still while a member runs, so one lock is enough.
type network struct {
	faults faults
	store  *budgettest.Store
	copies *memory.Stores // the nodes' journals
	rng    *rand.Rand     // of the driver's goroutine

	mu    sync.Mutex
	names int
	live  []*member
	lines []*line
	by    map[uuid.UUID]*line

	coming  []beacon // not received yet, in no order
	arrived []beacon // received and acknowledged, not settled
	seen    map[ledger.Key]bool

	shelf sync.Map // rooms by campaign, as last published

	count, served, received int
	looked                  day.Minute // for ends of reservations
	balances                map[uuid.UUID]money.Micros
}

// line is a campaign and what became of it.
type line struct {
	auction  *auction.Campaign
	book     *ledger.CampaignBook
	version  int64
	released map[day.Minute]money.Micros
	pending  map[uuid.UUID]beacon // ads that may still be charged, by auction

	charged, free, allowed money.Micros
}

// Room is the catalog of the member: it never keeps the node from selling what the store grants.
func (m *member) Room(campaign uuid.UUID) (reserve.Room, bool) {
	room, known := m.net.shelf.Load(campaign)
	if !known {
		return reserve.Room{}, false
	}
	return room.(reserve.Room), true
}

// beacon is an ad's impression on its way.
type beacon struct {
	line   *line
	node   *member
	id     uuid.UUID
	minute day.Minute
	served time.Time
	due    time.Time
	came   bool // received within its life
	ended  bool // its reservation ended, or was forgotten, before it was settled
}

// member is a node and its connection.
type member struct {
	*node
	name   string
	rng    *rand.Rand
	net    *network
	joined map[int64]bool // epochs in which it has told everything
	dead   bool
	cut    bool
	stop   chan struct{}
	done   sync.WaitGroup
}

// Exchange is the way to the store and back.
func (m *member) Exchange(ctx context.Context, call reserve.Call) (reserve.Reply, error) {
	m.net.mu.Lock()
	away := m.dead || m.cut
	wait := time.Duration(m.rng.Int64N(int64(max(m.net.faults.slow, 300*time.Microsecond))))
	lost := m.rng.Float64() < m.net.faults.lost
	m.net.mu.Unlock()
	if away {
		return reserve.Reply{}, budgettest.ErrDown
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return reserve.Reply{}, ctx.Err()
	}
	reply, err := m.net.store.Exchange(ctx, call)
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	if err == nil && reply.State == reserve.Counted && len(call.Requests) == 0 {
		m.joined[call.Epoch] = true // a node beats in an epoch only after it told everything
	}
	if m.dead || m.cut || lost {
		return reserve.Reply{}, budgettest.ErrDown
	}
	return reply, err
}

// KeepPage is the way to the journal's store, which a node that is cut off from the other may
// reach.
func (m *member) KeepPage(ctx context.Context, p reserve.Page) error {
	m.net.mu.Lock()
	away := m.dead
	m.net.mu.Unlock()
	if away {
		return budgettest.ErrDown
	}
	time.Sleep(3 * time.Millisecond)
	return m.net.copies.Journal.KeepPage(ctx, p)
}

func newNetwork(t *testing.T, count int, f faults) *network {
	seed := uint64(len(f.name))
	n := &network{
		faults: f, count: count, rng: rand.New(rand.NewPCG(seed, uint64(count))), seen: map[ledger.Key]bool{},
		store: &budgettest.Store{Now: time.Now, Nodes: count}, copies: memory.New(time.Now), by: map[uuid.UUID]*line{},
		balances: map[uuid.UUID]money.Micros{},
	}
	// Midnight comes in the middle of the run.
	time.Sleep(24*time.Hour - simulated/2)
	prices := func(price, daily, total, balance int64) {
		// A part of a price is left over everywhere: the last charge may be cut.
		part := price / 3
		n.campaign(
			money.Micros(price), money.Micros(price*daily+part), money.Micros(price*total+part),
			money.Micros(price*balance+part),
		)
	}
	many := int64(count)
	prices(5000, 3, 5, 1_000_000)                // less than one price for every node
	prices(7, 9_999, many+1, 1_000_000)          // about one for each
	prices(900, 120*many, 200*many, 100_000_000) // a day's budget that is spent and comes anew
	prices(11, 1_000_000, 1_000_000, 90*many)    // a balance …
	shared := n.lines[len(n.lines)-1].auction.Advertiser
	prices(11, 1_000_000, 1_000_000, 90*many) // … for two campaigns
	second := n.lines[len(n.lines)-1]
	delete(n.balances, second.book.AdvertiserID)
	second.auction.Advertiser, second.book.AdvertiserID = shared, uuid.UUID(shared)
	n.publish()
	n.store.Open(1)
	t.Cleanup(func() { // of a run that failed
		for len(n.live) > 0 {
			n.leave(n.live[0], true)
		}
	})
	for range count {
		n.join(t)
	}
	time.Sleep(2 * time.Second)
	return n
}

func (n *network) campaign(price, daily, total, balance money.Micros) {
	c := perMille(price)
	l := &line{
		auction: c, released: map[day.Minute]money.Micros{}, pending: map[uuid.UUID]beacon{},
		book: &ledger.CampaignBook{
			AdvertiserID: uuid.UUID(c.Advertiser), BillingModel: campaign.CPM, Bid: c.Bid, DailyBudget: daily,
			TotalBudget: total,
			SpentOn:     map[day.Day]money.Micros{},
		},
	}
	n.lines, n.by[uuid.UUID(c.ID)], n.balances[uuid.UUID(c.Advertiser)] = append(n.lines, l), l, balance
}

func (l *line) price() money.Micros { return ranker.CPM.Price(l.auction.Bid, l.auction.Bid) }

// join starts a node with traffic of its own.
func (n *network) join(t *testing.T) {
	n.mu.Lock()
	n.names++
	m := &member{
		name: fmt.Sprint("n", n.names), net: n, joined: map[int64]bool{}, stop: make(chan struct{}),
		rng: rand.New(rand.NewPCG(uint64(n.names), uint64(len(n.faults.name)))),
	}
	n.live = append(n.live, m)
	n.mu.Unlock()
	m.node = startFor(t, m, m.name, adLife, m)
	m.done.Go(func() { m.traffic(t) })
	time.Sleep(time.Duration(n.rng.Int64N(int64(time.Millisecond))))
}

// traffic is auctions about a second apart; each wants one of the campaigns, and the next if that
// has no room.
func (m *member) traffic(t *testing.T) {
	for {
		m.net.mu.Lock()
		wait := time.Duration(m.rng.Int64N(int64(time.Second)))
		first := m.rng.IntN(len(m.net.lines))
		m.net.mu.Unlock()
		select {
		case <-m.stop:
			return
		case <-time.After(wait):
		}
		for i := range m.net.lines {
			if m.offer(m.net.lines[(first+i)%len(m.net.lines)]) {
				break
			}
		}
	}
}

// offer is one auction that only this campaign can win.
func (m *member) offer(l *line) bool {
	now := time.Now()
	if !m.Live(now) {
		return false
	}
	var r budget.Reservation
	b := beacon{line: l, node: m, id: auctionID(now), minute: day.MinuteOf(now), served: now}
	r.Begin(m.Leases, b.id, now, false)
	if r.Check(l.auction, offered(l.auction, l.auction.Bid)) != "" {
		return false
	}
	n := m.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if m.dead {
		return true // died before it answered: reserved, and never shown
	}
	n.served++
	l.pending[b.id] = b
	switch dice := m.rng.Float64(); {
	case dice < 0.10: // never shown
		return true
	case dice < 0.20: // shown late, some too late
		b.due = now.Add(time.Duration(m.rng.Float64() * 1.1 * float64(adLife)))
	default:
		b.due = now.Add(time.Duration(m.rng.Int64N(int64(6 * time.Second))))
	}
	n.coming = append(n.coming, b)
	if m.rng.IntN(30) == 0 { // sent twice
		b.due = b.due.Add(time.Duration(m.rng.Int64N(int64(time.Minute))))
		n.coming = append(n.coming, b)
	}
	return true
}

// occasion is a fault at its time.
type occasion struct {
	at time.Time
	do func()
}

// occasions lists the faults of the run in their order.
func (n *network) occasions(t *testing.T) (list []occasion) {
	begun, epoch := time.Now(), int64(1)
	add := func(part float64, do func()) {
		list = append(list, occasion{begun.Add(time.Duration(part * float64(simulated))), do})
	}
	if n.faults.crashes > 0 {
		crashes := max(1, n.count*n.faults.crashes/10)
		for i := range crashes {
			add((float64(i)+0.5)/float64(crashes), func() { n.crash(t, n.live[n.rng.IntN(len(n.live))]) })
		}
	}
	if n.faults.outage > 0 {
		add(0.1, func() { n.down(t, n.faults.outage) })
	}
	for i := range n.faults.rebuilds {
		add((float64(i)+1)/float64(n.faults.rebuilds+1), func() { epoch++; n.rebuild(t, epoch) })
	}
	slices.SortStableFunc(list, func(a, b occasion) int { return a.at.Compare(b.at) })
	return list
}

// run plays the faults and settlement, judges after every step, and tells the run's figures.
func (n *network) run(t *testing.T) string {
	begun, faults := time.Now(), n.occasions(t)
	stalled := begun.Add(simulated / 20)
	for time.Since(begun) < simulated {
		time.Sleep(settleTick)
		for len(faults) > 0 && !faults[0].at.After(time.Now()) {
			faults[0].do()
			faults = faults[1:]
		}
		n.receive()
		if now := time.Now(); now.Before(stalled) || now.After(stalled.Add(n.faults.stall)) {
			n.settle(t)
		}
		n.publish()
		n.judge(t)
	}
	for len(n.live) > 0 {
		n.leave(n.live[0], false)
	}
	for over := time.Now(); time.Since(over) < adLife+2*time.Minute; time.Sleep(settleTick) {
		n.receive()
		n.settle(t)
		n.publish()
	}
	n.judge(t)
	return n.report(t)
}

// leave ends a node: by a crash, so that nothing is said, or in order.
func (n *network) leave(m *member, crash bool) {
	n.mu.Lock()
	m.dead = crash
	n.live = slices.DeleteFunc(n.live, func(other *member) bool { return other == m })
	n.mu.Unlock()
	close(m.stop)
	m.done.Wait()
	m.node.stop()
	n.store.Lock()
	n.store.Nodes = max(1, len(n.live))
	n.store.Unlock()
}

func (n *network) crash(t *testing.T, m *member) {
	n.leave(m, true)
	n.join(t)
	n.store.Lock()
	n.store.Nodes = len(n.live)
	n.store.Unlock()
}

// down is an outage: from a second after its beginning nothing is served.
func (n *network) down(t *testing.T, d time.Duration) {
	set := func(down bool) { n.store.Lock(); n.store.Down = down; n.store.Unlock() }
	set(true)
	time.Sleep(time.Second)
	n.mu.Lock()
	before := n.served
	n.mu.Unlock()
	time.Sleep(d - time.Second)
	n.mu.Lock()
	after := n.served
	n.mu.Unlock()
	require.Equal(t, before, after, "served without the store")
	set(false)
}

// rebuild loses the store; a moment later the projector builds it anew.
func (n *network) rebuild(t *testing.T, epoch int64) {
	n.mu.Lock()
	for i, m := range n.live {
		m.cut = n.faults.cutOff && i%10 == 0
	}
	n.mu.Unlock()
	n.store.Lose()
	time.Sleep(time.Duration(n.rng.Int64N(int64(3 * time.Second))))
	n.publish()
	n.store.Open(epoch)
	time.Sleep(budgettest.GatherFor - time.Millisecond)
	holdBack(t, n.store, n.copies.Campaigns.RoomReader(reserve.RoomOptions{}), epoch, n.rooms())
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.live {
		m.cut = false
	}
}

// receive moves beacons that are due to the log.
func (n *network) receive() {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	rest := n.coming[:0]
	for _, b := range n.coming {
		if b.due.After(now) {
			rest = append(rest, b)
			continue
		}
		n.received++
		if ad, pending := b.line.pending[b.id]; pending && !b.late() {
			ad.came = true
			b.line.pending[b.id] = ad
		}
		n.arrived = append(n.arrived, b)
	}
	n.coming = rest
	// Time comes from the projector: an unsettled amount is no longer reserved once its reservation
	// ends.
	if n.looked == day.MinuteOf(now) {
		return
	}
	n.looked = day.MinuteOf(now)
	for _, l := range n.lines {
		for id, b := range l.pending {
			if !b.ended && !reserves(b.minute, now) {
				if !b.came {
					delete(l.pending, id) // it cannot be charged any more
					continue
				}
				b.ended = true
				l.pending[id], l.allowed = b, l.allowed+l.price()
			}
		}
	}
}

// reserves says whether reservations of ads of the minute still count.
func reserves(minute day.Minute, now time.Time) bool {
	return minute+day.Minute(adLife/time.Minute)+2 > day.MinuteOf(now)
}

// late says that the beacon comes after the ad's life.
func (b *beacon) late() bool { return b.due.After(b.served.Add(adLife)) }

// settle applies the log in batches, by the production's rules.
func (n *network) settle(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.arrived) > 0 {
		part := n.arrived[:min(len(n.arrived), 500)]
		batch := ledger.Batch{Prepaid: true, At: time.Now(), Runs: []ledger.Run{{}}}
		for _, b := range part {
			proof := ledger.Signed
			if b.late() {
				proof = ledger.Expired
			}
			batch.Runs[0].Records = append(batch.Runs[0].Records, ledger.Record{Event: ledger.Event{
				Type: ledger.Impression, Proof: proof, ReceivedAt: b.due, AuctionID: b.id,
				CampaignID:   uuid.UUID(b.line.auction.ID),
				AdvertiserID: b.line.book.AdvertiserID, Price: b.line.price(), BillingModel: campaign.CPM,
			}})
		}
		var fresh []bool
		for _, key := range ledger.Candidates(batch) {
			fresh = append(fresh, !n.seen[key])
			n.seen[key] = true
		}
		books := ledger.Books{Campaigns: map[uuid.UUID]*ledger.CampaignBook{}, Balances: n.balances}
		for id, l := range n.by {
			books.Campaigns[id] = l.book
		}
		n.take(t, part, ledger.Decide(batch, fresh, books))
		n.arrived = n.arrived[len(part):]
	}
	n.arrived = nil
}

// take writes the effects as PostgreSQL would.
func (n *network) take(t *testing.T, part []beacon, effects ledger.Effects) {
	for i, out := range effects.Applied[0].Outcomes {
		l := part[i].line
		switch out.Verdict {
		case ledger.OK, ledger.OverBudget, ledger.OverBalance:
			l.charged, l.free = l.charged+out.Charge, l.free+l.price()-out.Charge
			delete(l.pending, part[i].id)
		case ledger.Duplicate, ledger.VerdictExpired:
		default:
			t.Fatalf("verdict %s", out.Verdict)
		}
	}
	for _, s := range effects.Spend {
		l := n.by[s.CampaignID]
		l.book.SpentTotal += s.Amount
		l.book.SpentOn[s.Day] += s.Amount
		n.balances[l.book.AdvertiserID] -= s.Amount
	}
	for _, r := range effects.Released {
		n.by[r.CampaignID].released[r.Minute] += r.Amount
	}
}

// publish is a projector's round.
func (n *network) publish() {
	for _, room := range n.rooms() {
		n.store.Publish(room)
		n.shelf.Store(room.CampaignID, room)
	}
	n.store.Beat(time.Now())
}

// rooms is what every campaign may spend now.
func (n *network) rooms() (rooms []reserve.Room) {
	n.mu.Lock()
	defer n.mu.Unlock()
	date := day.Of(time.Now())
	for id, l := range n.by {
		l.version++
		room := reserve.Room{
			CampaignID: id, AdvertiserID: l.book.AdvertiserID, Version: l.version, Day: date, Daily: l.book.DailyBudget,
			Today: l.book.DailyBudget - l.book.SpentOn[date], Total: l.book.TotalBudget - l.book.SpentTotal,
			Balance: n.balances[l.book.AdvertiserID], Price: l.price(),
		}
		for minute, amount := range l.released {
			room.Released = append(room.Released, reserve.Released{CampaignID: id, Minute: minute, Amount: amount})
		}
		rooms = append(rooms, room)
	}
	return rooms
}

// judge holds the run to the bounds.
func (n *network) judge(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, l := range n.lines {
		require.LessOrEqual(t, l.charged, l.book.TotalBudget, "campaign %d", i)
		for date, spent := range l.book.SpentOn {
			require.LessOrEqual(t, spent, l.book.DailyBudget, "campaign %d on %s", i, date)
		}
		require.GreaterOrEqual(t, n.balances[l.book.AdvertiserID], money.Micros(0), "balance of campaign %d", i)
		if !n.faults.mayBeFree {
			require.Zero(t, l.free, "campaign %d delivered for free", i)
			require.Zero(t, l.allowed, "nothing of campaign %d was forgotten", i)
		}
	}
	// A balance is one for several campaigns: the free amount of one campaign may be used by
	// another of its advertiser.
	free, allowed := map[uuid.UUID]money.Micros{}, map[uuid.UUID]money.Micros{}
	for _, l := range n.lines {
		free[l.book.AdvertiserID] += l.free
		allowed[l.book.AdvertiserID] += l.allowed
	}
	for owner := range free {
		require.LessOrEqual(t, free[owner], allowed[owner], "more is free than was forgotten or ended unsettled")
	}
}

// report is a line of the table. Budgets is the most that could be charged on two days.
func (n *network) report(t *testing.T) string {
	var budgets, charged, free, allowed, promised money.Micros
	for i, l := range n.lines {
		require.Positive(t, l.charged, "campaign %d is delivered", i)
		charged, free, allowed, promised = charged+l.charged, free+l.free, allowed+l.allowed,
			promised+money.Micros(n.count)*l.price()
		if i < 3 {
			budgets += min(l.book.TotalBudget, 2*l.book.DailyBudget)
		}
	}
	budgets += n.lines[3].charged + n.lines[4].charged + n.balances[n.lines[3].book.AdvertiserID]
	require.Greater(
		t, float64(charged), 0.8*float64(budgets), "budgets are wanted and delivered: otherwise nothing was at stake",
	)
	return fmt.Sprintf(
		"%-24s %5d %9d %9d %12d %12d %12d %12d %12d", n.faults.name, n.count, n.served, n.received, budgets, charged,
		free, allowed, promised,
	)
}
