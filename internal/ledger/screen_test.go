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

// screened cuts a log into batches and says which records [Screen] left or made invalid, as a store
// that remembers impressions would.
func screened(log []Event, cuts []int) []string {
	seen := map[uuid.UUID]bool{}
	var out []string
	for from := 0; from < len(log); {
		to := len(log)
		if len(cuts) > 0 {
			to, cuts = min(to, from+cuts[0]), cuts[1:]
		}
		run := Run{}
		for _, e := range log[from:to] {
			run.Records = append(run.Records, Record{Event: e})
		}
		b := batchOf(noon, run)
		known := map[uuid.UUID]bool{}
		for _, id := range Clicked(b) {
			known[id] = seen[id]
		}
		for range 2 { // again changes nothing
			Screen(b, known)
		}
		for _, r := range b.Runs[0].Records {
			out = append(out, r.Event.InvalidTraffic)
			if r.Event.Type == Impression && r.Event.InvalidTraffic == "" && r.Event.Proof == Signed {
				seen[r.Event.AuctionID] = true
			}
		}
		from = to
	}
	return out
}

func TestClickNeedsAnImpressionBefore(t *testing.T) {
	bot := func(e *Event) { e.InvalidTraffic = traffic.RuleBot }
	for _, c := range []struct {
		name string
		log  []Event
		want string // of the last
	}{
		{"after its impression", []Event{impression(1), click(1)}, ""},
		{"without one", []Event{click(1)}, traffic.RuleNoImpression},
		{"before it", []Event{impression(2), click(1)}, traffic.RuleNoImpression},
		{"impression of a robot", []Event{with(impression(1), bot), click(1)}, traffic.RuleNoImpression},
		{
			"expired impression", []Event{with(impression(1), func(e *Event) { e.Proof = Expired }), click(1)},
			traffic.RuleNoImpression,
		},
		{"found invalid before", []Event{impression(1), with(click(1), bot)}, traffic.RuleBot},
		{"sandbox", []Event{with(click(1), func(e *Event) { e.Sandbox = true })}, ""},
		{"no token, no auction", []Event{with(click(1), func(e *Event) { e.Proof = UnsignedBillable })}, ""},
		{"a paid view after its impression", []Event{impression(1), view(1)}, ""},
		{"a paid view without one", []Event{view(1)}, traffic.RuleNoImpression},
		{"a view that costs nothing", []Event{with(view(1), func(e *Event) { e.BillingModel = campaign.CPM })}, ""},
		{"a conversion is none", []Event{with(click(1), func(e *Event) { e.Type = Conversion })}, ""},
	} {
		got := screened(c.log, nil)
		require.Equal(t, c.want, got[len(got)-1], c.name)
		ones := slices.Repeat([]int{1}, len(c.log))
		require.Equal(t, got, screened(c.log, ones), "%s, a batch each", c.name)
	}
}

func TestScreeningDoesNotDependOnTheCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []Event
		for range rapid.IntRange(1, 20).Draw(t, "records") {
			n := rapid.IntRange(1, 4).Draw(t, "auction")
			e := rapid.SampledFrom([]Event{impression(n), click(n), click(n)}).Draw(t, "event")
			if rapid.IntRange(0, 5).Draw(t, "bot") == 0 {
				e.InvalidTraffic = traffic.RuleBot
			}
			log = append(log, e)
		}
		cuts := rapid.SliceOfN(rapid.IntRange(1, 5), 20, 20).Draw(t, "cuts")
		require.Equal(t, screened(log, nil), screened(log, cuts))
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
	b := batchOf(noon, runOf(0, impression(1)), runOf(1, click(1), click(2)), runOf(2, impression(2)))
	Screen(b, nil)
	require.Empty(t, b.Runs[1].Records[0].Event.InvalidTraffic)
	require.Equal(t, traffic.RuleNoImpression, b.Runs[1].Records[1].Event.InvalidTraffic, "its impression comes later")
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
