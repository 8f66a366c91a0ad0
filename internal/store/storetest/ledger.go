package storetest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/stream"
)

// Settler holds the store methods that settlement needs.
type Settler interface {
	InTx(ctx context.Context, fn func(ledger.Tx) error) error
	Offsets(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error)
}

// Archive holds the store methods that the archive needs.
type Archive interface {
	Archived(ctx context.Context, partitions []stream.Partition) (map[stream.Partition]int64, error)
	NextPlan(ctx context.Context, held []stream.Range, maxRows int) (ledger.Planned, error)
	MarkArchived(ctx context.Context, p stream.Plan) error
	Judged(ctx context.Context, limit int) ([]ledger.Judged, error)
	JudgedWithin(ctx context.Context, r stream.Range) ([]ledger.Judged, error)
	ArchivedTotals(ctx context.Context) (ledger.Totals, error)
}

// Accounts answers questions about money.
type Accounts interface {
	Verify(ctx context.Context, o ledger.VerifyOptions) ([]ledger.Check, error)
	AdvertiserBalance(ctx context.Context, id uuid.UUID) (money.Micros, error)
	CreditBalance(ctx context.Context, developer uuid.UUID) (ledger.CreditBalance, error)
	DisputeOpen(ctx context.Context, advertiser uuid.UUID) (bool, error)
}

// RoomReader reads budgets for the projection.
type RoomReader interface {
	Rooms(ctx context.Context, cursor int64) (rooms []reserve.Room, next int64, err error)
}

// Ledger is the ledger side of the implementation under test, empty.
type Ledger struct {
	Stores
	Settler  Settler
	Archive  Archive
	Accounts Accounts
	Rooms    func(reserve.RoomOptions) RoomReader
	// Deposit credits an advertiser's cash account with a balanced transaction.
	Deposit func(ctx context.Context, advertiser uuid.UUID, amount money.Micros) error
	// Deposits holds the methods for payments of providers.
	Deposits Deposits
	// Dead lists the dead letters.
	Dead func(ctx context.Context) ([]ledger.DeadLetter, error)
	// Corrupt damages the store behind its back, so that the named check must fail.
	Corrupt map[string]func(ctx context.Context) error
	// Join makes an account one of a family.
	Join func(ctx context.Context, account, family uuid.UUID) error
}

type ledgerCase struct {
	name string
	run  func(t *testing.T, l Ledger)
}

// RunLedger runs every case of the ledger. newLedger opens an empty store that is closed by the
// test's own clean-up.
func RunLedger(t *testing.T, newLedger func(t *testing.T) Ledger) {
	for _, group := range []struct {
		name  string
		cases []ledgerCase
	}{
		{"Settle", settleCases}, {"Archive", archiveCases}, {"Rooms", roomCases}, {"Audit", verifyCases},
		{"Deposits", depositCases}, {"Publishers", publisherCases}, {"Release", releaseCases}, {"Acts", actsCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, newLedger(t)) })
			}
		})
	}
	t.Run("VerifyFindsDamage", func(t *testing.T) { verifyFindsDamage(t, newLedger) })
}

var settleCases = []ledgerCase{
	{"OffsetsMoveWithTheBatch", offsetsMove},
	{"ReplayIsFenced", replayIsFenced},
	{"OneOfTwoClaimersWins", oneClaimerWins},
	{"ClaimRefusesWhatIsNoRange", claimRefusesNonsense},
	{"RollbackLeavesNothing", rollbackLeavesNothing},
	{"MarkFirst", markFirst},
	{"MarkFirstAtOnce", markFirstAtOnce},
	{"Books", books},
	{"BooksInactive", booksInactive},
	{"BudgetAtOnce", budgetAtOnce},
	{"PrepaidBalance", prepaidBalance},
	{"Conversions", conversions},
	{"ClicksOfNetworks", networkClicks},
	{"ClicksOfNetworksAtOnce", networkClicksAtOnce},
	{"ConversionsOfCountedClicks", networkConversions},
	{"EarlyEvents", earlyEvents},
	{"EarlyEventsInAnyOrder", earlyInAnyOrder},
	{"EarlyEventsAreFew", earlyAreFew},
	{"EarlyEventsExpire", earlyExpire},
	{"EarlyEventsAtOnce", earlyAtOnce},
	{"EarlyEventsAreArchivedOnce", earlyArchived},
	{"ConversionsOfOneClick", conversionsOfOneClick},
	{"PauseGetsThrough", pauseGetsThrough},
	{"WriteRefuses", writeRefuses},
	{"DeadLetters", deadLetters},
	{"AdReports", adReports},
	{"SuspendedAdvertiserPays", suspendedAdvertiserPays},
	{"Movements", movements},
	{"Verifications", verifications},
}

// partition returns a partition of the suite.
func partition(n int32) stream.Partition { return stream.Partition{Stream: "a1b2c3", Number: n} }

// now is the time of the suite's events, inside one UTC day.
var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// apply settles a batch like the consumer. The records of its events are their JSON.
func apply(ctx context.Context, s Settler, b ledger.Batch) (ledger.Effects, error) {
	b.Runs = slices.Clone(b.Runs)
	for i := range b.Runs {
		records := slices.Clone(b.Runs[i].Records)
		for j := range records {
			r := &records[j]
			if r.Problem == "" {
				r.Raw, _ = json.Marshal(r.Event)
			}
			if r.Written.IsZero() {
				r.Written = b.At
			}
		}
		b.Runs[i].Records = records
	}
	var effects ledger.Effects
	err := s.InTx(ctx, func(tx ledger.Tx) (err error) {
		effects, err = ledger.Settle(ctx, tx, &b, decoded)
		return err
	})
	return effects, err
}

// decoded is the inverse of the JSON in apply.
func decoded(value []byte, written time.Time) ledger.Record {
	r := ledger.Record{Raw: value, Written: written}
	if err := json.Unmarshal(value, &r.Event); err != nil {
		r.Problem = err.Error()
	}
	return r
}

// batchOf returns a batch of one run.
func batchOf(p stream.Partition, first int64, records ...ledger.Record) ledger.Batch {
	r := stream.Range{Partition: p, First: first, Next: first + int64(len(records))}
	return ledger.Batch{At: now, Runs: []ledger.Run{{Range: r, Records: records}}}
}

// eventOf returns a valid event of a new auction of the campaign at its bid.
func eventOf(t *testing.T, c campaign.Campaign, developer uuid.UUID, kind ledger.EventType) ledger.Record {
	t.Helper()
	price := c.BidAmount
	if c.BillingModel == campaign.CPM {
		price = price.PerMille()
	}
	return ledger.Record{Event: ledger.Event{
		Type: kind, Proof: ledger.Signed, ReceivedAt: now, AuctionID: newID(t), CampaignID: c.ID,
		AdvertiserID: c.AdvertiserID,
		DeveloperID:  developer, Price: price, BillingModel: c.Billing(),
	}}
}

// priced stores an active campaign that costs one cent per impression.
func priced(t *testing.T, l Ledger, owner account.User, daily, total money.Micros) campaign.Campaign {
	t.Helper()
	c := NewCampaign(t, owner.ID)
	c.BillingModel, c.BidAmount, c.DailyBudget, c.TotalBudget = campaign.CPM, 10*money.USD, daily, total
	c.ConversionType = ""
	c, err := l.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
		Campaign: c, Admit: func(bool) campaign.Status { return campaign.Active },
	})
	require.NoError(t, err)
	return c
}

func requireClean(t *testing.T, l Ledger, o ledger.VerifyOptions) {
	t.Helper()
	checks, err := l.Accounts.Verify(t.Context(), o)
	require.NoError(t, err)
	require.NotEmpty(t, checks)
	for _, c := range checks {
		require.Truef(t, c.OK(), "%s: want %d, got %d: %s", c.Name, c.Want, c.Got, c.Detail)
	}
}

func requireOffset(t *testing.T, l Ledger, p stream.Partition, want int64) {
	t.Helper()
	offsets, err := l.Settler.Offsets(t.Context(), []stream.Partition{p, partition(99)})
	require.NoError(t, err)
	require.Equal(t, map[stream.Partition]int64{p: want}, offsets)
}

func offsetsMove(t *testing.T, l Ledger) {
	offsets, err := l.Settler.Offsets(t.Context(), []stream.Partition{partition(0)})
	require.NoError(t, err)
	require.Empty(t, offsets)

	c := priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD)
	developer := newID(t)
	// a log without its head
	effects, err := apply(
		t.Context(), l.Settler, batchOf(partition(0), 40, eventOf(t, c, developer, ledger.Impression)),
	)
	require.NoError(t, err)
	require.Equal(t, []ledger.Outcome{{Verdict: ledger.OK, Charge: 10_000, Minted: 1}}, effects.Applied[0].Outcomes)
	requireOffset(t, l, partition(0), 41)
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 41, eventOf(t, c, developer, ledger.Impression)))
	require.NoError(t, err)
	requireOffset(t, l, partition(0), 42)

	other := stream.Partition{Stream: "ffff", Number: 0} // a topic that was re-created
	offsets, err = l.Settler.Offsets(t.Context(), []stream.Partition{other})
	require.NoError(t, err)
	require.Empty(t, offsets)

	requireCredits(t, l, developer, 2)
	balance, err := l.Accounts.AdvertiserBalance(t.Context(), c.AdvertiserID)
	require.NoError(t, err)
	require.EqualValues(t, -20_000, balance)
	stored, err := l.Campaigns.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	require.EqualValues(t, 20_000, stored.SpentTotal)
	requireClean(t, l, ledger.VerifyOptions{})
}

func replayIsFenced(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD)
	batch := batchOf(partition(0), 0, eventOf(t, c, newID(t), ledger.Impression))
	_, err := apply(t.Context(), l.Settler, batch)
	require.NoError(t, err)
	_, err = apply(t.Context(), l.Settler, batch)
	require.ErrorIs(t, err, ledger.ErrFenced)
	// ahead of the stored offset
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 5, batch.Runs[0].Records...))
	require.ErrorIs(t, err, ledger.ErrFenced)
	requireOffset(t, l, partition(0), 1)

	// One fenced partition fences the whole batch.
	both := batchOf(partition(1), 0, eventOf(t, c, newID(t), ledger.Impression))
	both.Runs = append(both.Runs, batch.Runs...)
	_, err = apply(t.Context(), l.Settler, both)
	require.ErrorIs(t, err, ledger.ErrFenced)
	requireOffset(t, l, partition(0), 1)
	offsets, err := l.Settler.Offsets(t.Context(), []stream.Partition{partition(1)})
	require.NoError(t, err)
	require.Empty(t, offsets)

	// The same event elsewhere in the log is a repeat.
	effects, err := apply(t.Context(), l.Settler, batchOf(partition(1), 0, batch.Runs[0].Records...))
	require.NoError(t, err)
	require.Equal(t, ledger.Duplicate, effects.Applied[0].Outcomes[0].Verdict)
	requireClean(t, l, ledger.VerifyOptions{})
}

func oneClaimerWins(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD)
	for round := range int64(5) { // the first round adds the offset, the others move it
		batch := batchOf(partition(0), round, eventOf(t, c, newID(t), ledger.Impression))
		var won, fenced atomic.Int64
		together(4, func(int) {
			switch _, err := apply(t.Context(), l.Settler, batch); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, ledger.ErrFenced):
				fenced.Add(1)
			default:
				t.Error(err)
			}
		})
		require.EqualValues(t, 1, won.Load())
		require.EqualValues(t, 3, fenced.Load())
	}
	requireOffset(t, l, partition(0), 5)
	requireClean(t, l, ledger.VerifyOptions{})
}

func claimRefusesNonsense(t *testing.T, l Ledger) {
	for _, r := range []stream.Range{
		{Partition: partition(0), First: 3, Next: 3}, {Partition: partition(0), First: 3, Next: 2},
		{Partition: partition(0), First: -1, Next: 2},
	} {
		err := l.Settler.InTx(
			t.Context(), func(tx ledger.Tx) error { return tx.AdvanceOffsets(t.Context(), []stream.Range{r}) },
		)
		require.Error(t, err, r.String())
	}
}

func rollbackLeavesNothing(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), 10*money.USD, 10*money.USD)
	developer := newID(t)
	batch := batchOf(
		partition(0), 0, eventOf(t, c, developer, ledger.Impression), ledger.Record{Problem: "cut", Raw: []byte{1}},
	)
	crash := errors.New("crash")
	var first ledger.Effects
	err := l.Settler.InTx(t.Context(), func(tx ledger.Tx) error {
		require.NoError(t, tx.AdvanceOffsets(t.Context(), []stream.Range{batch.Runs[0].Range}))
		fresh, err := tx.MarkFirst(t.Context(), ledger.Candidates(batch))
		require.NoError(t, err)
		books, err := tx.Books(t.Context(), ledger.NeedOf(batch))
		require.NoError(t, err)
		first = ledger.Decide(batch, fresh, books)
		require.NoError(t, tx.Write(t.Context(), first))
		return crash
	})
	require.ErrorIs(t, err, crash)
	offsets, err := l.Settler.Offsets(t.Context(), []stream.Partition{partition(0)})
	require.NoError(t, err)
	require.Empty(t, offsets)
	requireCredits(t, l, developer, 0)
	dead, err := l.Dead(t.Context())
	require.NoError(t, err)
	require.Empty(t, dead)
	plan, err := l.Archive.NextPlan(t.Context(), everything(partition(0)), 10)
	require.NoError(t, err)
	require.Empty(t, plan)
	requireClean(t, l, ledger.VerifyOptions{})

	again, err := apply(t.Context(), l.Settler, batch)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func markFirst(t *testing.T, l Ledger) {
	date := day.Of(now)
	timed := func(d day.Day) uuid.UUID { // a UUIDv7 of that day
		id := newID(t)
		ms := d.Time().UnixMilli()
		for i := range 6 {
			id[i] = byte(ms >> (8 * (5 - i)))
		}
		return id
	}
	key := func(id uuid.UUID, kind ledger.EventType) ledger.Key {
		return ledger.Key{Day: day.OfUUID(id), Auction: id, Type: kind}
	}
	today, before, untimed := timed(date), timed(date-3), uuid.NewSHA1(uuid.NameSpaceURL, []byte("a"))
	require.Equal(t, date, day.OfUUID(today))
	require.Zero(t, day.OfUUID(untimed))
	mark := func(keys ...ledger.Key) (fresh []bool) {
		require.NoError(t, l.Settler.InTx(t.Context(), func(tx ledger.Tx) (err error) {
			fresh, err = tx.MarkFirst(t.Context(), keys)
			return err
		}))
		return fresh
	}
	require.Empty(t, mark())
	// Repeats inside a batch count only at their first position.
	require.Equal(t, []bool{true, false, true, true, false, true}, mark(
		key(today, ledger.Impression), key(today, ledger.Impression), key(today, ledger.Click),
		key(before, ledger.Impression), key(today, ledger.Click), key(untimed, ledger.Conversion)))
	require.Equal(t, []bool{false, false, true, false, true, false}, mark(
		key(untimed, ledger.Conversion), key(before, ledger.Impression), key(before, ledger.Click),
		key(today, ledger.Impression), key(untimed, ledger.EventType("unheard_of")),
		key(untimed, ledger.EventType("unheard_of"))))
}

func markFirstAtOnce(t *testing.T, l Ledger) {
	const appliers, n = 6, 300
	keys := make([]ledger.Key, n)
	for i := range keys {
		id := newID(t)
		keys[i] = ledger.Key{Day: day.OfUUID(id), Auction: id, Type: ledger.Impression}
	}
	var wins [n]atomic.Int64
	together(appliers, func(a int) {
		mine := slices.Clone(keys)
		if a%2 == 1 {
			slices.Reverse(mine)
		}
		err := l.Settler.InTx(t.Context(), func(tx ledger.Tx) error {
			fresh, err := tx.MarkFirst(t.Context(), mine)
			for i, first := range fresh {
				if first && a%2 == 1 {
					i = n - 1 - i
				}
				if first {
					wins[i].Add(1)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	for i := range wins {
		require.EqualValues(t, 1, wins[i].Load(), "key %d", i)
	}
}

func books(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, 2*money.USD, 5*money.USD)
	developer := newID(t)
	impression, click := eventOf(t, c, developer, ledger.Impression), eventOf(t, c, developer, ledger.Click)
	click.Event.AuctionID = impression.Event.AuctionID
	yesterday := eventOf(t, c, developer, ledger.Impression)
	yesterday.Event.ReceivedAt = now.Add(-24 * time.Hour)
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, impression, click, yesterday))
	require.NoError(t, err)
	require.NoError(t, l.Deposit(t.Context(), owner.ID, money.USD))

	unknown, date := newID(t), day.Of(now)
	need := ledger.Need{Campaigns: []uuid.UUID{c.ID, unknown}, Days: []day.Day{date}, Prepaid: true}
	got := readBooks(t, l, need)
	require.Equal(t, &ledger.CampaignBook{
		AdvertiserID: owner.ID, DeveloperID: owner.DeveloperID, BillingModel: campaign.CPM, Bid: 10 * money.USD,
		DailyBudget: 2 * money.USD, TotalBudget: 5 * money.USD, SpentTotal: 20_000,
		SpentOn: map[day.Day]money.Micros{date: 10_000},
	}, got.Campaigns[c.ID])
	require.Len(t, got.Campaigns, 1)
	require.Equal(t, map[uuid.UUID]money.Micros{owner.ID: money.USD - 20_000}, got.Balances)

	clicked := []uuid.UUID{
		yesterday.Event.AuctionID, click.Event.AuctionID, uuid.NewSHA1(uuid.NameSpaceURL, []byte("b")),
	}
	require.Equal(t, map[uuid.UUID]bool{click.Event.AuctionID: true}, readRecorded(t, l, ledger.Click, clicked))
	require.Equal(
		t, map[uuid.UUID]bool{click.Event.AuctionID: true, yesterday.Event.AuctionID: true},
		readRecorded(t, l, ledger.Impression, clicked),
	)

	need.Days, need.Prepaid = []day.Day{date - 1, date}, false
	got = readBooks(t, l, need)
	require.Equal(t, map[day.Day]money.Micros{date - 1: 10_000, date: 10_000}, got.Campaigns[c.ID].SpentOn)
	require.Empty(t, got.Balances)
	require.Empty(t, readBooks(t, l, ledger.Need{}).Campaigns)
}

func readRecorded(t *testing.T, l Ledger, of ledger.EventType, auctions []uuid.UUID) (got map[uuid.UUID]bool) {
	t.Helper()
	require.NoError(t, l.Settler.InTx(t.Context(), func(tx ledger.Tx) (err error) {
		got, err = tx.Recorded(t.Context(), of, auctions)
		return err
	}))
	return got
}

// conversions are charged up to the cap of their campaign, publisher and hour, whatever the cut of
// the log; those above the cap, and unverified ones, use no part of it.
func conversions(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, 50*money.USD, 50*money.USD)
	left, other := newID(t), newID(t)
	sale := func(developer uuid.UUID, at time.Time, more ...ledger.EventType) (records []ledger.Record) {
		first := eventOf(t, c, developer, ledger.Impression)
		for _, kind := range append([]ledger.EventType{ledger.Impression}, more...) {
			r := first
			r.Event.Type, r.Event.BillingModel, r.Event.Price, r.Event.ReceivedAt = kind, campaign.CPA, money.USD, at
			records = append(records, r)
		}
		return records
	}
	const click, sold = ledger.Click, ledger.Conversion
	claimed := sale(left, now, click, sold, sold, sold)
	claimed[2].Event.Proof, claimed[3].Event.Proof = ledger.Unverified, ledger.Unverified
	next := int64(0)
	settled := func(records ...[]ledger.Record) (verdicts []ledger.Verdict, charged money.Micros) {
		b := batchOf(partition(0), next, slices.Concat(records...)...)
		b.ConversionCap = 2
		next = b.Runs[0].Next
		effects, err := apply(t.Context(), l.Settler, b)
		require.NoError(t, err)
		for i, o := range effects.Applied[0].Outcomes {
			charged += o.Charge
			if b.Runs[0].Records[i].Event.Type == sold {
				verdicts = append(verdicts, o.Verdict)
			}
		}
		return verdicts, charged
	}
	verdicts, charged := settled(claimed, sale(left, now, sold), sale(left, now, sold, click))
	require.Equal(
		t,
		[]ledger.Verdict{
			ledger.VerdictUnverified, ledger.Duplicate, ledger.OK, ledger.VerdictEarly, ledger.OK,
		}, verdicts,
	)
	require.Equal(t, 2*money.USD, charged)
	left = newID(t)
	_, charged = settled(sale(left, now, click, sold))
	require.Equal(t, money.USD, charged)
	verdicts, charged = settled(
		sale(left, now, click, sold), sale(left, now, click, sold), sale(other, now, click, sold),
		sale(left, now.Add(time.Hour), click, sold),
	)
	require.Equal(t, []ledger.Verdict{ledger.OK, ledger.ConversionCapped, ledger.OK, ledger.OK}, verdicts)
	require.Equal(t, 3*money.USD, charged)
	hour := ledger.ConversionHour{CampaignID: c.ID, DeveloperID: left, Hour: ledger.HourOf(now)}
	later, none := hour, hour
	later.Hour, none.DeveloperID = hour.Hour+1, newID(t)
	got := readBooks(t, l, ledger.Need{Conversions: []ledger.ConversionHour{hour, later, none}}).Conversions
	require.Equal(t, []int64{2, 1, 0}, []int64{got[hour], got[later], got[none]})
}

func readBooks(t *testing.T, l Ledger, need ledger.Need) (got ledger.Books) {
	t.Helper()
	require.NoError(t, l.Settler.InTx(t.Context(), func(tx ledger.Tx) (err error) {
		got, err = tx.Books(t.Context(), need)
		return err
	}))
	return got
}

// moveTo moves a campaign to a state at the store's clock.
func moveTo(t *testing.T, l Ledger, id uuid.UUID, status campaign.Status) {
	t.Helper()
	_, err := l.Campaigns.UpdateCampaign(
		t.Context(), id, func(c *campaign.Campaign) error { c.Status = status; return nil },
	)
	require.NoError(t, err)
}

func booksInactive(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), money.USD, money.USD)
	started := time.Now()
	moveTo(t, l, c.ID, campaign.Paused)
	moveTo(t, l, c.ID, campaign.Active)
	moveTo(t, l, c.ID, campaign.Paused)
	intervals, err := l.Inside.Inactive(t.Context(), c.ID)
	require.NoError(t, err)
	require.Len(t, intervals, 2)

	on := func(days ...day.Day) []ledger.Interval {
		return readBooks(t, l, ledger.Need{Campaigns: []uuid.UUID{c.ID}, Days: days}).Campaigns[c.ID].Inactive
	}
	first, last := day.Of(started), day.Of(time.Now())
	if first == last {
		require.Equal(t, intervals, on(first))
		require.Equal(t, intervals, on(first-40, first)) // a late event and one of today in a batch
	}
	require.Empty(t, on(first-1))                       // before any interval
	require.Equal(t, intervals[1:], on(last+1))         // only the open one can cover a later day
	require.Equal(t, intervals[1:], on(last+1, last+9)) // also with further days

	// An event received while the campaign is paused costs nothing and mints nothing.
	e := eventOf(t, c, newID(t), ledger.Impression)
	e.Event.ReceivedAt = intervals[1].From.Add(time.Second)
	effects, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, e))
	require.NoError(t, err)
	require.Equal(t, []ledger.Outcome{{Verdict: ledger.VerdictPaused}}, effects.Applied[0].Outcomes)
	requireClean(t, l, ledger.VerifyOptions{})
}

func budgetAtOnce(t *testing.T, l Ledger) {
	const appliers, rounds, size = 4, 5, 20 // 400 impressions of 1 cent for budgets of 1 and 2 USD
	owner := AddUser(t, l.Stores)
	daily := priced(t, l, owner, money.USD, 100*money.USD)
	total := priced(t, l, owner, 100*money.USD, 2*money.USD)
	developer := newID(t)
	var batches [appliers][rounds]ledger.Batch
	for a := range batches {
		for r := range batches[a] {
			var records []ledger.Record
			for range size {
				records = append(
					records, eventOf(t, daily, developer, ledger.Impression),
					eventOf(t, total, developer, ledger.Impression),
				)
			}
			batches[a][r] = batchOf(partition(int32(a)), int64(r*len(records)), records...)
		}
	}
	together(appliers, func(a int) {
		for _, batch := range batches[a] {
			if _, err := apply(t.Context(), l.Settler, batch); err != nil {
				t.Error(err)
			}
		}
	})
	for id, want := range map[uuid.UUID]money.Micros{daily.ID: money.USD, total.ID: 2 * money.USD} {
		c, err := l.Campaigns.Campaign(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, c.SpentTotal)
	}
	requireCredits(t, l, developer, 300) // of the impressions that were charged, one cent each
	requireClean(t, l, ledger.VerifyOptions{})
}

func prepaidBalance(t *testing.T, l Ledger) {
	const appliers, size = 4, 20
	owner := AddUser(t, l.Stores)
	a, b := priced(t, l, owner, 100*money.USD, 100*money.USD), priced(t, l, owner, 100*money.USD, 100*money.USD)
	require.NoError(t, l.Deposit(t.Context(), owner.ID, money.USD))
	var batches [appliers]ledger.Batch
	for i := range batches {
		var records []ledger.Record
		for range size {
			records = append(
				records, eventOf(t, a, newID(t), ledger.Impression), eventOf(t, b, newID(t), ledger.Impression),
			)
		}
		batches[i] = batchOf(partition(int32(i)), 0, records...)
		batches[i].Prepaid = true
	}
	together(appliers, func(i int) {
		if _, err := apply(t.Context(), l.Settler, batches[i]); err != nil {
			t.Error(err)
		}
	})
	balance, err := l.Accounts.AdvertiserBalance(t.Context(), owner.ID)
	require.NoError(t, err)
	require.Zero(t, balance)
	requireClean(t, l, ledger.VerifyOptions{Prepaid: true})
}

// pauseGetsThrough settles a campaign from several sides and repeatedly pauses and resumes it. The
// changes must get their turn long before the appliers run out of batches.
func pauseGetsThrough(t *testing.T, l Ledger) {
	const appliers, rounds, changes = 4, 3000, 10
	c := priced(t, l, AddUser(t, l.Stores), 1000*money.USD, 1000*money.USD)
	records := make([]ledger.Record, appliers)
	for a := range records {
		records[a] = eventOf(t, c, newID(t), ledger.Impression)
	}
	busy := make(chan struct{}) // closed once settlement is under way
	var done atomic.Bool
	var ranOut atomic.Int64
	together(appliers+1, func(a int) {
		if a == appliers {
			defer done.Store(true)
			<-busy
			for i := range changes {
				_, err := l.Campaigns.UpdateCampaign(t.Context(), c.ID, func(c *campaign.Campaign) error {
					c.Status = []campaign.Status{campaign.Paused, campaign.Active}[i%2]
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			return
		}
		for round := range int64(rounds) {
			if a == 0 && round == 5 {
				close(busy)
			}
			if done.Load() {
				return
			}
			if _, err := apply(t.Context(), l.Settler, batchOf(partition(int32(a)), round, records[a])); err != nil {
				t.Error(err)
				return
			}
		}
		ranOut.Add(1)
	})
	require.Zero(t, ranOut.Load(), "a change of the campaign starved")
}

func writeRefuses(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), money.USD, money.USD)
	batch := batchOf(partition(0), 0, eventOf(t, c, newID(t), ledger.Impression))
	r := batch.Runs[0].Range
	good, err := apply(t.Context(), l.Settler, batchOf(partition(1), 0, eventOf(t, c, newID(t), ledger.Impression)))
	require.NoError(t, err)
	outcomes := []ledger.Outcome{{Verdict: ledger.OK}}
	transfer := func(ref string, amounts ...int64) ledger.Transaction {
		x := ledger.Transaction{ID: newID(t), Kind: ledger.KindCharge, Ref: ref, Subject: c.ID, At: now}
		for i, amount := range amounts {
			x.Entries = append(
				x.Entries,
				ledger.Entry{
					Account: []ledger.Account{ledger.Revenue, ledger.AdvertiserCash(c.AdvertiserID)}[i],
					Asset:   ledger.USD, Amount: amount,
				},
			)
		}
		return x
	}
	applied := []ledger.AppliedRange{{Range: r, Outcomes: outcomes}}
	for name, effects := range map[string]ledger.Effects{
		"nothing applied":  {},
		"outcomes missing": {Applied: []ledger.AppliedRange{{Range: r}}},
		"other range": {Applied: []ledger.AppliedRange{{
			Range: stream.Range{Partition: r.Partition, First: 1, Next: 2}, Outcomes: outcomes,
		}}},
		"applied twice": {Applied: []ledger.AppliedRange{applied[0], applied[0]}},
		"not balanced":  {Applied: applied, Transactions: []ledger.Transaction{transfer("x", 5, -4)}},
		"no entries":    {Applied: applied, Transactions: []ledger.Transaction{transfer("x")}},
		"zero entries":  {Applied: applied, Transactions: []ledger.Transaction{transfer("x", 0, 0)}},
		"same cause twice": {
			Applied: applied, Transactions: []ledger.Transaction{transfer("x", 5, -5), transfer("x", 5, -5)},
		},
		"written before": {
			Applied: applied, Transactions: []ledger.Transaction{transfer(good.Transactions[0].Ref, 5, -5)},
		},
		"spend of nobody":     {Applied: applied, Spend: []ledger.Spend{{CampaignID: newID(t), Day: 1, Amount: 5}}},
		"spend of nothing":    {Applied: applied, Spend: []ledger.Spend{{CampaignID: c.ID, Day: 1}}},
		"spend that is given": {Applied: applied, Spend: []ledger.Spend{{CampaignID: c.ID, Day: 1, Amount: -5}}},
	} {
		effects.At = now
		err := l.Settler.InTx(t.Context(), func(tx ledger.Tx) error {
			require.NoError(t, tx.AdvanceOffsets(t.Context(), []stream.Range{r}))
			return tx.Write(t.Context(), effects)
		})
		require.Error(t, err, name)
		if name == "written before" || name == "same cause twice" {
			require.True(t, errs.Is(err, errs.Conflict), "%s: %v", name, err)
		}
	}
	_, err = apply(t.Context(), l.Settler, batch) // nothing of it stayed
	require.NoError(t, err)
	requireClean(t, l, ledger.VerifyOptions{})
}

func deadLetters(t *testing.T, l Ledger) {
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 7,
		ledger.Record{Problem: "bad \xff\x00 bytes", Raw: []byte{0, 0xff, 1}}, ledger.Record{Problem: "empty"}))
	require.NoError(t, err)
	dead, err := l.Dead(t.Context())
	require.NoError(t, err)
	require.Len(t, dead, 2)
	require.Equal(t, partition(0), dead[0].Partition)
	require.EqualValues(t, 7, dead[0].Offset)
	require.Equal(t, []byte{0, 0xff, 1}, dead[0].Raw)
	require.EqualValues(t, 8, dead[1].Offset)
	require.Equal(t, "empty", dead[1].Problem)
	require.Empty(t, dead[1].Raw)
	requireClean(t, l, ledger.VerifyOptions{})
}
