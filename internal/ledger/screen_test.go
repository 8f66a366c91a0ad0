package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	. "adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
	"adnet/internal/traffic"
)

func click(n int) Event {
	return with(
		impression(n), func(e *Event) { e.Type, e.BillingModel, e.CampaignID = Click, campaign.CPC, campaignA2 },
	)
}

func view(n int) Event {
	return with(impression(n), func(e *Event) { e.Type, e.BillingModel = Viewable, campaign.VCPM })
}

// verdicts of [screened].
const (
	counts  = "counts"
	early   = "early"
	refused = "refused"
)

// screened cuts a log into batches and returns what becomes of each record, as a store that holds
// early events settles them. A record is early if it still waits at the end.
func screened(log []Event, cuts []int) []string {
	seen, out := map[uuid.UUID]map[EventType]bool{}, make([]string, len(log))
	var held []int // by place in the log
	for from := 0; from < len(log); {
		to := len(log)
		if len(cuts) > 0 {
			to, cuts = min(to, from+cuts[0]), cuts[1:]
		}
		places := slices.Clone(held)
		for i := from; i < to; i++ {
			places = append(places, i)
		}
		run := Run{}
		for i, place := range places {
			run.Records = append(run.Records, Record{Event: log[place]})
			if i < len(held) {
				SetStored(&run.Records[i])
			}
		}
		b := batchOf(noon, run)
		known := func(ids []uuid.UUID, of EventType) map[uuid.UUID]bool {
			found := map[uuid.UUID]bool{}
			for _, id := range ids {
				found[id] = seen[id][of]
			}
			return found
		}
		impressions, clicks := known(Clicked(b), Impression), known(Converted(b), Click)
		for range 2 { // again changes nothing
			b.Screen(impressions, clicks)
		}
		held = nil
		for i, place := range places {
			r := &b.Runs[0].Records[i]
			switch {
			case IsEarly(r):
				out[place], held = early, append(held, place)
			case r.Event.InvalidTraffic != log[place].InvalidTraffic || r.Event.Proof != log[place].Proof:
				out[place] = refused
			default:
				out[place] = counts
				if r.Event.InvalidTraffic == "" && r.Event.Proof == Signed {
					if seen[r.Event.AuctionID] == nil {
						seen[r.Event.AuctionID] = map[EventType]bool{}
					}
					seen[r.Event.AuctionID][r.Event.Type] = true
				}
			}
		}
		from = to
	}
	return out
}

func sale(n int) Event {
	return with(click(n), func(e *Event) { e.Type, e.BillingModel = Conversion, campaign.CPA })
}

func TestClickNeedsAnImpression(t *testing.T) {
	bot := func(e *Event) { e.InvalidTraffic = traffic.RuleBot }
	repeated := func(n int, more ...Event) []Event { return append(slices.Repeat([]Event{click(1)}, n), more...) }
	for _, c := range []struct {
		name string
		log  []Event
		want []string
	}{
		{"after its impression", []Event{impression(1), click(1)}, []string{counts, counts}},
		{"before it", []Event{click(1), impression(1)}, []string{counts, counts}},
		{"without one", []Event{click(1), impression(2)}, []string{early, counts}},
		{"impression of a robot", []Event{with(impression(1), bot), click(1)}, []string{counts, early}},
		{
			"expired impression", []Event{with(impression(1), func(e *Event) { e.Proof = Expired }), click(1)},
			[]string{counts, early},
		},
		{"found invalid before", []Event{with(click(1), bot), impression(1)}, []string{counts, counts}},
		{"sandbox", []Event{with(click(1), func(e *Event) { e.Sandbox = true })}, []string{counts}},
		{"no token", []Event{with(click(1), func(e *Event) { e.Proof = UnsignedBillable })}, []string{counts}},
		{"a paid view before its impression", []Event{view(1), impression(1)}, []string{counts, counts}},
		{"a paid view without one", []Event{view(1)}, []string{early}},
		{
			"a view that costs nothing",
			[]Event{with(view(1), func(e *Event) { e.BillingModel = campaign.CPM })}, []string{counts},
		},
		{"a sale without a click", []Event{impression(1), sale(1)}, []string{counts, early}},
		{"a sale before all", []Event{sale(1), click(1), impression(1)}, []string{counts, counts, counts}},
		{
			"a sale after a click that waits",
			[]Event{click(1), sale(1), impression(1)}, []string{counts, counts, counts},
		},
		{"a sale of a click that waits for ever", []Event{click(1), sale(1)}, []string{early, early}},
		{"a robot's click", []Event{impression(1), with(click(1), bot), sale(1)}, []string{counts, counts, early}},
		{
			"more than wait", repeated(MaxEarly+1, sale(1), click(2), impression(1)),
			slices.Concat(slices.Repeat([]string{counts}, MaxEarly), []string{refused, refused, early, counts}),
		},
		{
			"more than wait, of both kinds", []Event{sale(1), sale(1), click(1), sale(1), click(1), impression(1)},
			[]string{counts, counts, counts, counts, refused, counts},
		},
	} {
		require.Equal(t, c.want, screened(c.log, nil), c.name)
		ones := slices.Repeat([]int{1}, len(c.log))
		require.Equal(t, c.want, screened(c.log, ones), "%s, a batch each", c.name)
	}
}

func TestScreeningDoesNotDependOnTheCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []Event
		for range rapid.IntRange(1, 30).Draw(t, "records") {
			n := rapid.IntRange(1, 4).Draw(t, "auction")
			e := rapid.SampledFrom([]Event{impression(n), click(n), click(n), view(n), sale(n)}).Draw(t, "event")
			if rapid.IntRange(0, 5).Draw(t, "bot") == 0 {
				e.InvalidTraffic = traffic.RuleBot
			}
			log = append(log, e)
		}
		cuts := rapid.SliceOfN(rapid.IntRange(1, 5), 30, 30).Draw(t, "cuts")
		require.Equal(t, screened(log, nil), screened(log, cuts))
	})
}

// The place of the impression does not matter while no more wait than may.
func TestOrderOfIndependentEventsDoesNotDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := []Event{impression(1), click(1), view(1), sale(1), impression(2), click(2), sale(2)}
		shuffled := rapid.Permutation(log).Draw(t, "order")
		cuts := rapid.SliceOfN(rapid.IntRange(1, 5), 7, 7).Draw(t, "cuts")
		require.Equal(t, slices.Repeat([]string{counts}, len(log)), screened(shuffled, cuts))
	})
}

// After a change of the number of partitions an auction's impression may be in one run of the batch
// and its click in another, which has no impression, as the first has no click.
func TestScreeningCoversEveryRun(t *testing.T) {
	runOf := func(number int32, events ...Event) Run {
		r := Run{Range: stream.Range{
			Partition: stream.Partition{Stream: "s", Number: number}, Next: int64(len(events)),
		}}
		for _, e := range events {
			r.Records = append(r.Records, Record{Event: e})
		}
		return r
	}
	b := batchOf(noon, runOf(0, impression(1)), runOf(1, click(1), click(2), click(3)), runOf(2, impression(2)))
	b.Screen(nil, nil)
	for i, early := range []bool{false, false, true} {
		require.Equal(t, early, IsEarly(&b.Runs[1].Records[i]))
	}
}

// decided is one batch over fresh keys.
func decided(books Books, limit money.Credits, events ...Event) Effects {
	books.Campaigns = map[uuid.UUID]*CampaignBook{}
	for id, book := range plainBooks() {
		book.DailyBudget, book.TotalBudget = money.USD, money.USD
		books.Campaigns[id] = &book
	}
	run := Run{Range: stream.Range{Partition: stream.Partition{Stream: "s"}, Next: int64(len(events))}}
	for _, e := range events {
		run.Records = append(run.Records, Record{Event: e})
	}
	b := batchOf(noon, run)
	b.MintCap = limit
	return Decide(b, slices.Repeat([]bool{true}, len(Candidates(b))), books)
}

func TestMintCap(t *testing.T) {
	date, plain := day.Of(noon), Outcome{Verdict: OK, Charge: 5_000, Minted: 1}
	capped := Outcome{Verdict: OK, Charge: 5_000, Credit: CreditCapped}
	yesterday := with(impression(3), func(e *Event) { e.ReceivedAt = noon.Add(-24 * time.Hour) })
	for _, c := range []struct {
		name  string
		limit money.Credits
		book  PublisherBook
		want  []Outcome
	}{
		{"none", 0, PublisherBook{MintedOn: map[day.Day]int64{date: 1 << 40}}, []Outcome{plain, plain, plain}},
		{"reached in the batch", 1, PublisherBook{}, []Outcome{plain, capped, plain}},
		{"reached before", 7, PublisherBook{MintedOn: map[day.Day]int64{date: 7}}, []Outcome{capped, capped, plain}},
		{"another day's", 7, PublisherBook{MintedOn: map[day.Day]int64{date - 1: 7}}, []Outcome{plain, plain, capped}},
		{"a higher one of its own", 1, PublisherBook{HasCap: true, Cap: 9}, []Outcome{plain, plain, plain}},
		{"nothing at all", 0, PublisherBook{HasCap: true}, []Outcome{capped, capped, capped}},
	} {
		effects := decided(
			Books{Publishers: map[uuid.UUID]PublisherBook{publisher: c.book}}, c.limit, impression(1), impression(2),
			yesterday,
		)
		require.Equal(t, c.want, effects.Applied[0].Outcomes, c.name)
		var minted, noted int64
		for i, o := range c.want {
			minted += int64(o.Minted)
			if o.Credit == CreditCapped {
				noted++
			}
			_ = i
		}
		var sum traffic.PublisherDay
		for _, d := range effects.Publishers {
			sum.Add(d)
		}
		require.Equal(t, traffic.PublisherDay{Minted: minted, Capped: noted, Impressions: 3}, sum, c.name)
	}
}

func TestQuarantineHoldsCreditsAndNotesCharges(t *testing.T) {
	held := testID(77)
	books := Books{Publishers: map[uuid.UUID]PublisherBook{publisher: {Case: held}}}
	self := with(impression(5), func(e *Event) { e.DeveloperID = annaDev })
	effects := decided(
		books, 0, impression(1), impression(2), click(1),
		with(impression(4), func(e *Event) { e.InvalidTraffic = traffic.RuleBot }), self,
	)
	require.Equal(t, []Outcome{
		{Verdict: OK, Charge: 5_000, Minted: 1, Credit: CreditHeld},
		{Verdict: OK, Charge: 5_000, Minted: 1, Credit: CreditHeld},
		{Verdict: OK, Charge: 5_000}, {Verdict: InvalidTraffic + traffic.RuleBot}, {Verdict: SelfServed},
	}, effects.Applied[0].Outcomes)
	charge := func(campaign uuid.UUID) uuid.UUID {
		i := slices.IndexFunc(
			effects.Transactions, func(t Transaction) bool { return t.Kind == KindCharge && t.Subject == campaign },
		)
		return effects.Transactions[i].ID
	}
	require.Equal(t, []HeldCharge{
		{held, charge(campaignA1), campaignA1, day.Of(noon), 10_000},
		{held, charge(campaignA2), campaignA2, day.Of(noon), 5_000},
	}, effects.HeldCharges)
	require.Equal(
		t,
		[]traffic.PublisherDay{{
			DeveloperID: publisher, Day: day.Of(noon), Minted: 2, Impressions: 2, Clicks: 1, Invalid: 1,
		}}, effects.Publishers,
	)
	i := slices.IndexFunc(effects.Transactions, func(t Transaction) bool { return t.Kind == KindMint })
	require.ElementsMatch(
		t, []Entry{{HeldCredits(held), Credit, 2}, {Mint, Credit, -2}}, effects.Transactions[i].Entries,
	)
}

func TestEndQuarantineIsBalanced(t *testing.T) {
	c := Quarantine{ID: testID(1), DeveloperID: publisher, Held: 7}
	date := day.Of(noon)
	books := QuarantineBooks{FirstMint: testID(7), Charges: []RefundableCharge{
		{HeldCharge{c.ID, testID(8), campaignB, date, 30}, bert, true},
		{HeldCharge{c.ID, testID(9), campaignA1, date, 15}, anna, false},
		{HeldCharge{c.ID, testID(10), campaignA1, date - 1, 5}, anna, false},
	}}
	release := EndQuarantine(c, QuarantineVerdict{Decision: QuarantineRelease, At: noon}, books)
	require.Len(t, release, 1)
	require.Equal(
		t, []Entry{{HeldCredits(c.ID), Credit, -7}, {PendingCredits(publisher), Credit, 7}}, release[0].Entries,
	)
	require.Zero(t, release[0].Reverses, "a release takes nothing back")
	clawback := EndQuarantine(c, QuarantineVerdict{Decision: QuarantineClawback, At: noon}, books)
	require.Len(t, clawback, 3)
	require.Contains(t, clawback[0].Entries, Entry{Mint, Credit, 7})
	require.Contains(t, clawback[1].Entries, Entry{AdvertiserCash(anna), USD, 20})
	require.Contains(t, clawback[2].Entries, Entry{CreditFunding, USD, 30})
	require.Equal(
		t, []uuid.UUID{testID(7), testID(10), testID(8)},
		[]uuid.UUID{clawback[0].Reverses, clawback[1].Reverses, clawback[2].Reverses},
	)
	for _, written := range append(release, clawback...) {
		require.NoError(t, written.Balanced())
		require.Equal(t, c.ID.String(), written.Ref)
	}
}
