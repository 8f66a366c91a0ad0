package storetest

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

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

var archiveCases = []ledgerCase{
	{"WholeRangesUpToTheLimit", planSizes},
	{"NoMoreThanIsHeld", planHeld},
	{"SeveralPartitionsAreOnePlan", planSeveral},
	{"PlanIsStable", planIsStable},
	{"TwoOwnersGetOnePlan", onePlan},
	{"OwnersOfOtherPartitions", overlappingPlans},
	{"MarkRefusesAnotherPlan", markRefuses},
	{"Totals", archivedTotals},
}

// applyPoison applies ranges of the given lengths, back to back from first. A dead record needs no
// campaign.
func applyPoison(t *testing.T, l Ledger, p stream.Partition, first int64, lengths ...int) {
	t.Helper()
	for _, n := range lengths {
		records := make([]ledger.Record, n)
		for i := range records {
			records[i].Problem = "x"
		}
		_, err := apply(t.Context(), l.Settler, batchOf(p, first, records...))
		require.NoError(t, err)
		first += int64(n)
	}
}

// everything returns ranges that cover all applied records of some partitions.
func everything(partitions ...stream.Partition) (held []stream.Range) {
	for _, p := range partitions {
		held = append(held, stream.Range{Partition: p, Next: math.MaxInt64})
	}
	return held
}

func nextPlan(t *testing.T, l Ledger, maxRows int, held ...stream.Range) ledger.Planned {
	t.Helper()
	plan, err := l.Archive.NextPlan(t.Context(), held, maxRows)
	require.NoError(t, err)
	require.NotEmpty(t, plan)
	for _, c := range plan {
		require.NotEmpty(t, c.Outcomes)
		require.Len(t, c.Outcomes, int(c.Next-c.First))
	}
	return plan
}

// spans returns the ranges of a plan by partition.
func spans(plan ledger.Planned) (list [][3]int64) {
	for _, c := range plan {
		list = append(list, [3]int64{int64(c.Number), c.First, c.Next})
	}
	return list
}

func planSizes(t *testing.T, l Ledger) {
	p := partition(0)
	none, err := l.Archive.NextPlan(t.Context(), everything(p), 10)
	require.NoError(t, err)
	require.Empty(t, none)
	applyPoison(t, l, p, 100, 4, 4, 3, 12, 1)
	applyPoison(t, l, partition(1), 0, 5)
	// 4+4 | 3 | 12 alone is above the limit | 1
	for _, want := range [][3]int64{{0, 100, 108}, {0, 108, 111}, {0, 111, 123}, {0, 123, 124}} {
		plan := nextPlan(t, l, 10, everything(p)...)
		require.Equal(t, [][3]int64{want}, spans(plan))
		require.NoError(t, l.Archive.MarkArchived(t.Context(), plan.Plan()))
		archived, err := l.Archive.Archived(t.Context(), []stream.Partition{p})
		require.NoError(t, err)
		require.Equal(t, map[stream.Partition]int64{p: want[2]}, archived)
	}
	none, err = l.Archive.NextPlan(t.Context(), everything(p), 10)
	require.NoError(t, err)
	require.Empty(t, none)
	applyPoison(t, l, p, 124, 2)
	require.Equal(t, [][3]int64{{0, 124, 126}}, spans(nextPlan(t, l, 10, everything(p)...)))
	requireClean(t, l, ledger.VerifyOptions{})
}

// Ranges that the caller cannot carry out at once are not planned.
func planHeld(t *testing.T, l Ledger) {
	p := partition(0)
	applyPoison(t, l, p, 0, 4, 4)
	none, err := l.Archive.NextPlan(t.Context(), []stream.Range{{Partition: p, Next: 3}}, 10)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Equal(t, [][3]int64{{0, 0, 4}}, spans(nextPlan(t, l, 10, stream.Range{Partition: p, Next: 7})))
}

func planSeveral(t *testing.T, l Ledger) {
	applyPoison(t, l, partition(0), 0, 4, 4)
	applyPoison(t, l, partition(1), 7, 3)
	applyPoison(t, l, partition(3), 0, 5, 1)
	held := everything(partition(3), partition(2), partition(1), partition(0))
	first := nextPlan(t, l, 12, held...) // 4+4+3, then 5 is above the limit and the rest must wait
	require.Equal(t, [][3]int64{{0, 0, 8}, {1, 7, 10}}, spans(first))
	require.Equal(t, 11, first.Plan().Rows())
	for _, part := range []stream.Partition{partition(0), partition(1)} { // an owner of a part gets the whole plan
		require.Equal(t, first, nextPlan(t, l, 1, everything(part)...))
	}
	second := nextPlan(t, l, 12, everything(partition(3))...) // nothing else is pending
	require.Equal(t, [][3]int64{{3, 0, 6}}, spans(second))
	require.NotEqual(t, first.Plan().Token(), second.Plan().Token())
	applyPoison(t, l, partition(1), 10, 2)
	require.NoError(t, l.Archive.MarkArchived(t.Context(), first.Plan()))
	archived, err := l.Archive.Archived(
		t.Context(), []stream.Partition{partition(0), partition(1), partition(2), partition(3)},
	)
	require.NoError(t, err)
	require.Equal(t, map[stream.Partition]int64{partition(0): 8, partition(1): 10, partition(3): 0}, archived)
	require.NoError(t, l.Archive.MarkArchived(t.Context(), second.Plan()))
	third := nextPlan(t, l, 12, held...)
	require.Equal(t, [][3]int64{{1, 10, 12}}, spans(third))
	require.NoError(t, l.Archive.MarkArchived(t.Context(), first.Plan())) // once more, late
	require.Equal(t, third, nextPlan(t, l, 12, held...))
	requireClean(t, l, ledger.VerifyOptions{})
}

func planIsStable(t *testing.T, l Ledger) {
	p := partition(3)
	applyPoison(t, l, p, 0, 4, 4)
	planned := nextPlan(t, l, 6, everything(p)...)
	require.Equal(t, "a1b2c3/3:0-4", planned.Plan().Token())
	applyPoison(t, l, p, 8, 9)
	applyPoison(t, l, partition(4), 0, 9)
	for _, maxRows := range []int{1, 6, 1000} { // no new rows or limit change a plan that may be half inserted
		require.Equal(t, planned, nextPlan(t, l, maxRows, everything(p, partition(4))...))
	}
	require.NoError(t, l.Archive.MarkArchived(t.Context(), planned.Plan()))
	next := nextPlan(t, l, 1000, everything(p)...)
	require.Equal(t, [][3]int64{{3, 4, 17}}, spans(next))
	require.NoError(t, l.Archive.MarkArchived(t.Context(), planned.Plan())) // once more, late
	require.Equal(t, next, nextPlan(t, l, 1, everything(p)...))
	requireClean(t, l, ledger.VerifyOptions{})
}

func onePlan(t *testing.T, l Ledger) {
	p := []stream.Partition{partition(0), partition(1)}
	applyPoison(t, l, p[0], 0, 3, 3, 3, 3)
	applyPoison(t, l, p[1], 0, 3, 3, 3, 3)
	for range 2 { // the first plan adds the rows, the second finds them
		var plans [4]ledger.Planned
		together(len(plans), func(i int) {
			plan, err := l.Archive.NextPlan(t.Context(), everything(p[i%2], p[(i+1)%2]), 9)
			if err != nil {
				t.Errorf("no plan: %v", err)
			}
			plans[i] = plan
		})
		for _, plan := range plans {
			require.NotEmpty(t, plan)
			require.Equal(t, plans[0], plan)
		}
		together(len(plans), func(i int) {
			if err := l.Archive.MarkArchived(t.Context(), plans[i].Plan()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Concurrent owners of some of the same partitions, as during a rebalance, archive each offset
// under one token.
func overlappingPlans(t *testing.T, l Ledger) {
	for n := range int32(4) {
		applyPoison(t, l, partition(n), 0, 2, 2, 2, 2, 2)
	}
	var mu sync.Mutex
	tokens := make(map[[2]int64]string) // of each partition and offset
	together(4, func(i int) {
		held := everything(partition(int32(i)), partition(int32(i+1)%4))
		for {
			plan, err := l.Archive.NextPlan(t.Context(), held, 7)
			if errs.Is(err, errs.Unavailable) {
				continue
			}
			if err != nil {
				t.Error(err)
				return
			}
			if len(plan) == 0 {
				return
			}
			mu.Lock()
			for _, c := range plan {
				for at := c.First; at < c.Next; at++ {
					key := [2]int64{int64(c.Number), at}
					if before, again := tokens[key]; again && before != plan.Plan().Token() {
						t.Errorf(
							"offset %d of partition %d is in two plans: %s and %s", at, c.Number, before,
							plan.Plan().Token(),
						)
					}
					tokens[key] = plan.Plan().Token()
				}
			}
			mu.Unlock()
			if err := l.Archive.MarkArchived(t.Context(), plan.Plan()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	require.Len(t, tokens, 40)
}

func markRefuses(t *testing.T, l Ledger) {
	p := partition(0)
	applyPoison(t, l, p, 0, 3, 3)
	applyPoison(t, l, partition(1), 0, 3)
	unplanned := ledger.Planned{{Range: stream.Range{Partition: p, First: 0, Next: 3}}}
	require.True(t, errs.Is(l.Archive.MarkArchived(t.Context(), unplanned.Plan()), errs.Conflict))
	planned := nextPlan(t, l, 9, everything(p, partition(1))...)
	require.True(t, errs.Is(l.Archive.MarkArchived(t.Context(), unplanned.Plan()), errs.Conflict))
	require.True(
		t, errs.Is(l.Archive.MarkArchived(t.Context(), planned[1:].Plan()), errs.Conflict),
		"a part of a plan is not in the store under its token",
	)
	require.Equal(t, planned, nextPlan(t, l, 6, everything(p)...))
}

func archivedTotals(t *testing.T, l Ledger) {
	totals, err := l.Archive.ArchivedTotals(t.Context())
	require.NoError(t, err)
	require.Zero(t, totals.Rows)

	c := priced(t, l, AddUser(t, l.Stores), money.USD, money.USD)
	e := eventOf(t, c, newID(t), ledger.Impression)
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 0, e, e, ledger.Record{Problem: "x"}))
	require.NoError(t, err)
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 3, eventOf(t, c, newID(t), ledger.Impression)))
	require.NoError(t, err)
	require.NoError(t, l.Archive.MarkArchived(t.Context(), nextPlan(t, l, 3, everything(partition(0))...).Plan()))
	nextPlan(t, l, 3, everything(partition(0))...) // planned, not archived
	totals, err = l.Archive.ArchivedTotals(t.Context())
	require.NoError(t, err)
	require.Equal(t, ledger.Totals{
		Rows: 3, Charge: 10_000, Minted: 1,
		ByVerdict: map[ledger.Verdict]int64{ledger.OK: 1, ledger.Duplicate: 1, ledger.Poison: 1},
	}, totals)
}

var roomCases = []ledgerCase{
	{"FollowSpendAndBudget", roomsFollow},
	{"PrepaidBalance", roomsPrepaid},
	{"UnprovenCampaigns", roomsUnproven},
	{"ReleasedReservations", roomsRelease},
	{"Epochs", roomsEpochs},
	{"StatesThatNeverSpend", roomsStates},
	{"Journal", roomsJournal},
	{"JournalGaps", roomsJournalGaps},
}

// follower holds the newest room of each campaign, like the projection.
type follower struct {
	t      *testing.T
	reader RoomReader
	cursor int64
	rooms  map[uuid.UUID]reserve.Room
}

func follow(t *testing.T, reader RoomReader) *follower {
	return &follower{t: t, reader: reader, rooms: make(map[uuid.UUID]reserve.Room)}
}

// read takes the changes and returns the campaigns with a newer version.
func (f *follower) read() map[uuid.UUID]bool {
	f.t.Helper()
	rooms, next, err := f.reader.Rooms(f.t.Context(), f.cursor)
	require.NoError(f.t, err)
	require.Positive(f.t, next)
	f.cursor = next
	raised := make(map[uuid.UUID]bool)
	for _, r := range rooms {
		old, known := f.rooms[r.CampaignID]
		require.GreaterOrEqual(f.t, r.Version, old.Version)
		if known && r.Version == old.Version {
			old.Day, old.Today = r.Day, r.Today // midnight alone changes no version
			old.Open = r.Open                   // nor does another campaign of the family
			require.Equal(f.t, old, r)
		}
		if r.Version > old.Version {
			raised[r.CampaignID] = true
			f.rooms[r.CampaignID] = r
		}
	}
	return raised
}

func roomsFollow(t *testing.T, l Ledger) {
	f := follow(t, l.Rooms(reserve.RoomOptions{}))
	require.Empty(t, f.read())
	owner := AddUser(t, l.Stores)
	a, b := priced(t, l, owner, 2*money.USD, 5*money.USD), priced(t, l, owner, 3*money.USD, 4*money.USD)
	require.Equal(t, map[uuid.UUID]bool{a.ID: true, b.ID: true}, f.read())
	require.Equal(t, 2*money.USD, f.rooms[a.ID].Left(f.rooms[a.ID].Day))
	require.Empty(t, f.read())

	e := eventOf(t, a, newID(t), ledger.Impression)
	today := f.rooms[a.ID].Day
	e.Event.ReceivedAt = today.Time()
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, e))
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]bool{a.ID: true}, f.read())
	got := f.rooms[a.ID]
	require.Equal(t, 2*money.USD, got.Daily)
	require.Equal(t, 5*money.USD-10_000, got.Total)
	if got.Day == today {
		require.Equal(t, 2*money.USD-10_000, got.Today)
	}

	_, err = l.Campaigns.UpdateCampaign(
		t.Context(), b.ID, func(c *campaign.Campaign) error { c.DailyBudget = money.USD; return nil },
	)
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]bool{b.ID: true}, f.read())
	require.Equal(t, money.USD, f.rooms[b.ID].Today)

	all := follow(t, l.Rooms(reserve.RoomOptions{})) // a reader that lost everything
	require.Len(t, all.read(), 2)
	require.Equal(t, f.rooms, all.rooms)
}

// roomsRelease: a settled event releases its ad's price once, in the room of the same instant,
// regardless of verdict.
func roomsRelease(t *testing.T, l Ledger) {
	f := follow(t, l.Rooms(reserve.RoomOptions{}))
	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, 25_000, 5*money.USD)
	f.read()
	// Three ads of 0.01 USD, for a budget of two and a half; the fourth is a repeat.
	records := make([]ledger.Record, 4)
	for i := range records[:3] {
		records[i] = eventOf(t, c, newID(t), ledger.Impression)
	}
	records[3] = records[0]
	want := make(map[day.Minute]money.Micros)
	for _, r := range records[:3] {
		minute, dated := day.MinuteOfUUID(r.Event.AuctionID)
		require.True(t, dated)
		want[minute] += r.Event.Price
	}
	released := func() map[day.Minute]money.Micros {
		got := make(map[day.Minute]money.Micros)
		for _, r := range f.rooms[c.ID].Released {
			require.Equal(t, c.ID, r.CampaignID)
			got[r.Minute] += r.Amount
		}
		return got
	}
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, records...))
	require.NoError(t, err)
	require.True(t, f.read()[c.ID])
	require.Equal(t, want, released())
	require.Equal(t, 5*money.USD-25_000, f.rooms[c.ID].Total)

	// Nothing is left to charge: a release alone also makes a new version.
	late := eventOf(t, c, newID(t), ledger.Impression)
	minute, _ := day.MinuteOfUUID(late.Event.AuctionID)
	want[minute] += late.Event.Price
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 4, late))
	require.NoError(t, err)
	require.True(t, f.read()[c.ID])
	require.Equal(t, want[minute], released()[minute])
	require.Equal(t, 5*money.USD-25_000, f.rooms[c.ID].Total)

	// An expired amount, or one never reserved, releases nothing.
	old, unsigned := eventOf(t, c, newID(t), ledger.Impression), eventOf(t, c, newID(t), ledger.Impression)
	old.Event.ReceivedAt = minute.Time().Add(2 * time.Hour)
	unsigned.Event.Proof = ledger.UnsignedBillable
	_, err = apply(t.Context(), l.Settler, batchOf(partition(0), 5, old, unsigned))
	require.NoError(t, err)
	all := follow(t, l.Rooms(reserve.RoomOptions{}))
	all.read()
	f.rooms = all.rooms
	require.Equal(t, want, released())

	epochs := l.Rooms(reserve.RoomOptions{}).(interface {
		Prune(ctx context.Context, minute day.Minute) error
	})
	require.NoError(t, epochs.Prune(t.Context(), minute+1))
	all = follow(t, l.Rooms(reserve.RoomOptions{}))
	all.read()
	require.Empty(t, all.rooms[c.ID].Released)
	requireClean(t, l, ledger.VerifyOptions{})
}

func roomsEpochs(t *testing.T, l Ledger) {
	epochs := l.Rooms(reserve.RoomOptions{}).(interface {
		Epoch(ctx context.Context) (int64, error)
		NextEpoch(ctx context.Context) (int64, error)
	})
	last, err := epochs.Epoch(t.Context())
	require.NoError(t, err)
	require.Zero(t, last)
	for range 3 {
		next, err := epochs.NextEpoch(t.Context())
		require.NoError(t, err)
		require.Greater(t, next, last)
		last, err = epochs.Epoch(t.Context())
		require.NoError(t, err)
		require.Equal(t, next, last)
	}
}

func roomsPrepaid(t *testing.T, l Ledger) {
	rich, poor := AddUser(t, l.Stores), AddUser(t, l.Stores)
	a, b := priced(t, l, rich, 9*money.USD, 9*money.USD), priced(t, l, poor, 9*money.USD, 9*money.USD)
	f, open := follow(t, l.Rooms(reserve.RoomOptions{Prepaid: true})), follow(t, l.Rooms(reserve.RoomOptions{}))
	f.read()
	open.read()
	require.Zero(t, f.rooms[a.ID].Balance)
	require.NoError(t, l.Deposit(t.Context(), rich.ID, 3*money.USD))
	require.Equal(t, map[uuid.UUID]bool{a.ID: true}, f.read())
	require.Equal(t, 3*money.USD, f.rooms[a.ID].Balance)
	require.Zero(t, f.rooms[b.ID].Left(f.rooms[b.ID].Day))
	require.Empty(t, open.read()) // cash does not limit there
	require.Equal(t, 9*money.USD, open.rooms[b.ID].Left(open.rooms[b.ID].Day))
}

// roomsUnproven: the campaigns of a family that pay per act share its allowance until an act of one
// of them is charged. A person's approval raises it.
func roomsUnproven(t *testing.T, l Ledger) {
	f := follow(t, l.Rooms(reserve.RoomOptions{}))
	owner, relative, stranger := AddUser(t, l.Stores), AddUser(t, l.Stores), AddUser(t, l.Stores)
	require.NoError(t, l.Join(t.Context(), relative.ID, owner.ID))
	perAct := func(of account.User, model campaign.BillingModel) campaign.Campaign {
		c := NewCampaign(t, of.ID)
		c.BillingModel, c.BidAmount, c.DailyBudget, c.TotalBudget = model, money.USD, 9*money.USD, 9*money.USD
		c.ConversionType = ""
		c, err := l.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
			Campaign: c, Admit: func(bool) campaign.Status { return campaign.Active },
		})
		require.NoError(t, err)
		return c
	}
	open := func(c campaign.Campaign) money.Micros {
		f.read()
		return f.rooms[c.ID].Open
	}
	thousands := priced(t, l, owner, 2*money.USD, 5*money.USD)
	require.Zero(t, open(thousands), "what it shows is charged")
	first := perAct(owner, campaign.CPC)
	require.Equal(t, 6*money.USD, open(first))
	require.Equal(t, 3*money.USD, open(perAct(owner, campaign.CPA)))
	second := perAct(relative, campaign.CPC)
	require.Equal(t, 2*money.USD, open(second), "the family has one allowance")
	require.Equal(t, 6*money.USD, open(perAct(stranger, campaign.CPA)))

	approve := func(c campaign.Campaign, by uuid.UUID) {
		_, err := l.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
			e.Review = &campaign.Review{Decision: "approved", ReviewerID: by, At: now}
			return nil
		})
		require.NoError(t, err)
	}
	approve(second, uuid.Nil)
	require.Equal(t, 2*money.USD, open(second), "no person approved it")
	approve(second, owner.ID)
	require.Equal(t, 20*money.USD, open(second))

	impression := eventOf(t, thousands, newID(t), ledger.Impression)
	_, err := apply(t.Context(), l.Settler, batchOf(partition(0), 0, impression))
	require.NoError(t, err)
	require.Equal(t, 20*money.USD, open(second), "a charged impression is no act")
	view := eventOf(t, first, newID(t), ledger.Impression)
	click := view
	click.Event.Type = ledger.Click
	effects, err := apply(t.Context(), l.Settler, batchOf(partition(0), 1, view, click))
	require.NoError(t, err)
	require.Equal(t, money.USD, effects.Applied[0].Outcomes[1].Charge)
	require.Zero(t, open(first))
	all := follow(t, l.Rooms(reserve.RoomOptions{}))
	all.read()
	require.Zero(t, all.rooms[second.ID].Open, "the family was charged")
	require.Zero(t, open(perAct(relative, campaign.CPA)))
}

func roomsStates(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	delivering := make(map[uuid.UUID]bool)
	for _, status := range []campaign.Status{campaign.Draft, campaign.InReview, campaign.Active, campaign.Paused} {
		delivering[AddCampaign(t, l.Stores, owner.ID, status).ID] = true
	}
	AddCampaign(t, l.Stores, owner.ID, campaign.Rejected)
	AddCampaign(t, l.Stores, owner.ID, campaign.Archived)
	require.Equal(t, delivering, follow(t, l.Rooms(reserve.RoomOptions{})).read())
}
